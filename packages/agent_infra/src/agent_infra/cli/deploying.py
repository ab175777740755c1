"""Verbs that make templates, compare them, or bring the account to them: synth, diff, deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_infra.cli.choices import (
    BuilderOption,
    DigestOption,
    DockerfileOption,
    HeaderOption,
    IdleOption,
    JwtAudienceOption,
    JwtClientOption,
    JwtDiscoveryOption,
    LifeOption,
    LiveModelIdOption,
    LogDaysOption,
    ModelIdOption,
    SettingOption,
    SpeechModelOption,
    TagOption,
    TopicOption,
    TracingOption,
    VpcOption,
    agent_options,
    builder_of,
    image_recipe,
)
from agent_infra.cli.outcome import finish, run_doctor
from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

app = typer.Typer()


@app.command(epilog="Example: agent-infra synth --bedrock-model-id us.amazon.nova-lite-v1:0")
@situated
def synth(
    *,
    here: Situation,
    bedrock_model_id: ModelIdOption,
    agent: AgentOption = DEFAULT_AGENT,
    speech_model: SpeechModelOption = "kokoro-82m",
    vpc: VpcOption = False,
    jwt_discovery: JwtDiscoveryOption = None,
    jwt_clients: JwtClientOption = None,
    jwt_audiences: JwtAudienceOption = None,
    headers: HeaderOption = None,
    idle_s: IdleOption = 900,
    life_s: LifeOption = 28_800,
    log_days: LogDaysOption = 30,
    transaction_search: TracingOption = False,
    alarm_topic: TopicOption = None,
    settings: SettingOption = None,
    tags: TagOption = None,
    image_digest: DigestOption = None,
    builder: BuilderOption = "docker",
    output: Annotated[Path | None, typer.Option(help="Default: cdk.out/, a folder for each deployment.")] = None,
) -> None:
    """Make the CloudFormation templates, without credentials and without asking AWS.

    Where account, region or image are not known, the templates name a placeholder: zeros. The regions of an inference
    profile come from cdk.context.json, where `doctor` and `deploy` note them.
    """
    from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION

    from agent_infra.deployment import make_assembly, removal_command
    from agent_infra.model_access import partition_of
    from agent_infra.names import Names
    from agent_infra.plan import Plan
    from agent_infra.release import NO_DIGEST, Release
    from agent_infra.voice import Voice

    target = here.target(agent)
    options = agent_options(
        bedrock_model_id,
        settings,
        tags,
        speech_model=speech_model,
        use_vpc=vpc,
        jwt_discovery=jwt_discovery,
        jwt_clients=jwt_clients,
        jwt_audiences=jwt_audiences,
        headers=headers,
        idle_s=idle_s,
        life_s=life_s,
        log_days=log_days,
        use_transaction_search=transaction_search,
        alarm_topic=alarm_topic,
    )
    names = Names(here.stage, agent, PLACEHOLDER_ACCOUNT, here.region or PLACEHOLDER_REGION)
    endpoint = f"speech-{here.stage}-{speech_model}"
    arn = f"arn:{partition_of(names.region)}:sagemaker:{names.region}:{names.account}:endpoint/{endpoint}"
    plan = Plan(
        Release(image_digest or NO_DIGEST, Voice(endpoint, arn), options),
        target.profiles.require(bedrock_model_id, names.region),
        removal_command(target),
        enables_tracing=transaction_search,
        has_builder=builder_of(builder) == "codebuild",
    )
    assembly = make_assembly(target, names, plan, output or target.assembly_directory)
    here.console.result({"directory": str(assembly.directory), "stacks": assembly.stacks})
    for stack in assembly.stacks:
        here.console.line(f"{assembly.directory / stack}.template.json")


@app.command(epilog="Example: agent-infra diff")
@situated
def diff(
    *,
    here: Situation,
    agent: AgentOption = DEFAULT_AGENT,
    bedrock_model_id: LiveModelIdOption = None,
    dockerfile: DockerfileOption = None,
) -> None:
    """Show what `deploy` would change, with the options of what is live. Nothing is changed."""
    from agent_infra.difference import show_difference

    show_difference(here.target(agent), dockerfile, bedrock_model_id)


@app.command(epilog="Example: agent-infra deploy --bedrock-model-id us.amazon.nova-lite-v1:0 --region us-east-1")
@situated
def deploy(
    *,
    here: Situation,
    bedrock_model_id: ModelIdOption,
    agent: AgentOption = DEFAULT_AGENT,
    speech_model: SpeechModelOption = "kokoro-82m",
    vpc: VpcOption = False,
    jwt_discovery: JwtDiscoveryOption = None,
    jwt_clients: JwtClientOption = None,
    jwt_audiences: JwtAudienceOption = None,
    headers: HeaderOption = None,
    idle_s: IdleOption = 900,
    life_s: LifeOption = 28_800,
    log_days: LogDaysOption = 30,
    transaction_search: TracingOption = False,
    alarm_topic: TopicOption = None,
    settings: SettingOption = None,
    tags: TagOption = None,
    dockerfile: DockerfileOption = None,
    image_digest: DigestOption = None,
    builder: BuilderOption = "docker",
) -> None:
    """Bring an agent up, or up to date: checks, repository and role, image, runtime, endpoint.

    It speaks with the endpoint that `speech-infra deploy` has brought up in the same stage. Every step looks first
    whether it is done, so it may be interrupted and run again, and a second run changes nothing.
    """
    from infra_common.container_engine import ContainerEngine

    from agent_infra.deployment import Deployment
    from agent_infra.doctor import checks

    target = here.target(agent)
    who = builder_of(builder)
    options = agent_options(
        bedrock_model_id,
        settings,
        tags,
        speech_model=speech_model,
        use_vpc=vpc,
        jwt_discovery=jwt_discovery,
        jwt_clients=jwt_clients,
        jwt_audiences=jwt_audiences,
        headers=headers,
        idle_s=idle_s,
        life_s=life_s,
        log_days=log_days,
        use_transaction_search=transaction_search,
        alarm_topic=alarm_topic,
    )
    recipe = image_recipe(target, dockerfile, image_digest)
    engine = ContainerEngine()
    run_doctor(target, checks(target, options, recipe, engine, who))
    outcome = Deployment(target, options, who).deploy(recipe, image_digest, engine)
    finish(target, outcome)
