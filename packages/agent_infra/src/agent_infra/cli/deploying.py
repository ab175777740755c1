"""Verbs that make templates, compare them, or bring the account to them: synth, diff, deploy."""

from __future__ import annotations

import typer
from infra_common.choices import AssemblyOption, DigestOption, DockerfileOption, ImageChoices

from agent_infra.cli.choices import (
    AgentChoices,
    BuilderOption,
    LiveModelIdOption,
    builder_of,
    image_recipe,
)
from agent_infra.cli.situation import DEFAULT_AGENT, AgentOption, Situation, situated

app = typer.Typer()


@app.command(epilog="Example: agent-infra synth --bedrock-model-id us.amazon.nova-lite-v1:0")
@situated
def synth(
    *,
    here: Situation,
    choices: AgentChoices,
    agent: AgentOption = DEFAULT_AGENT,
    image_digest: DigestOption = None,
    builder: BuilderOption = "docker",
    output: AssemblyOption = None,
) -> None:
    """Make the CloudFormation templates, without credentials and without asking AWS.

    Where account, region or image are not known, the templates name a placeholder: zeros. The regions of an inference
    profile come from cdk.context.json, where `doctor` and `deploy` note them.
    """
    from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION
    from infra_common.release_record import NO_DIGEST

    from agent_infra.deployment import make_assembly, removal_command
    from agent_infra.model_access import partition_of
    from agent_infra.names import Names
    from agent_infra.plan import Plan
    from agent_infra.release import Release
    from agent_infra.voice import Voice

    target = here.target(agent)
    options = choices.options()
    names = Names(here.stage, agent, PLACEHOLDER_ACCOUNT, here.region or PLACEHOLDER_REGION)
    endpoint = f"speech-{here.stage}-{options.speech_model}"
    arn = f"arn:{partition_of(names.region)}:sagemaker:{names.region}:{names.account}:endpoint/{endpoint}"
    plan = Plan(
        Release(image_digest or NO_DIGEST, Voice(endpoint, arn), options),
        target.profiles.require(options.bedrock_model_id, names.region),
        removal_command(target),
        enables_tracing=options.use_transaction_search,
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
    choices: AgentChoices,
    agent: AgentOption = DEFAULT_AGENT,
    image: ImageChoices,
    builder: BuilderOption = "docker",
) -> None:
    """Bring an agent up, or up to date: checks, repository and role, image, runtime, endpoint.

    It speaks with the endpoint that `speech-infra deploy` has brought up in the same stage. Every step looks first
    whether it is done, so it may be interrupted and run again, and a second run changes nothing.
    """
    from infra_common.checks import require
    from infra_common.container_engine import ContainerEngine
    from infra_common.status import show_outcome

    from agent_infra.deployment import Deployment
    from agent_infra.doctor import checks
    from agent_infra.status import gather

    target = here.target(agent)
    who = builder_of(builder)
    options = choices.options()
    recipe = image_recipe(target, image)
    engine = ContainerEngine()
    require(checks(target, options, recipe, engine, who), here.console)
    outcome = Deployment(target, options, who).deploy(recipe, image.image_digest, engine)
    show_outcome(outcome.changed, gather(target), target.names.deployment, here.console)
