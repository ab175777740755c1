"""Verbs that make templates, compare them, or bring the account to them: synth, diff, deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from speech_infra.cli.choices import (
    DigestOption,
    DockerfileOption,
    InstancesOption,
    InstanceTypeOption,
    KmsOption,
    MaxInstancesOption,
    StrategyOption,
    TagOption,
    TopicOption,
    VpcOption,
    WeightsOption,
    endpoint_options,
    image_recipe,
    prepared_weights,
)
from speech_infra.cli.outcome import SmokeOption, finish, run_doctor
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

app = typer.Typer()


@app.command(epilog="Example: speech-infra synth kokoro-82m --instances 2")
@situated
def synth(
    model: ModelArgument,
    *,
    here: Situation,
    instance_type: InstanceTypeOption = None,
    instances: InstancesOption = None,
    max_instances: MaxInstancesOption = None,
    strategy: StrategyOption = None,
    vpc: VpcOption = False,
    kms_key: KmsOption = None,
    alarm_topic: TopicOption = None,
    tags: TagOption = None,
    image_digest: DigestOption = None,
    output: Annotated[Path | None, typer.Option(help="Default: cdk.out/, a folder for each deployment.")] = None,
) -> None:
    """Make the CloudFormation templates, without credentials and without asking AWS.

    Where account, region or image are not known, the templates name a placeholder: zeros.
    """
    from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION

    from speech_infra.deployment import make_assembly
    from speech_infra.names import Names
    from speech_infra.release import NO_DIGEST, Release

    target = here.target(model)
    options = endpoint_options(
        target.model,
        tags,
        instance_type=instance_type,
        instances=instances,
        max_instances=max_instances,
        strategy=strategy,
        use_vpc=vpc,
        kms_key=kms_key,
        alarm_topic=alarm_topic,
    )
    release = Release(image_digest or NO_DIGEST, "0" * 32, options)
    names = Names(here.stage, target.model.name, PLACEHOLDER_ACCOUNT, here.region or PLACEHOLDER_REGION)
    assembly = make_assembly(target, names, release, output or target.assembly_directory)
    here.console.result({"directory": str(assembly.directory), "stacks": assembly.stacks})
    for stack in assembly.stacks:
        here.console.line(f"{assembly.directory / stack}.template.json")


@app.command(epilog="Example: speech-infra diff kokoro-82m")
@situated
def diff(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, dockerfile: DockerfileOption = None) -> None:
    """Show what `deploy` would change, with the options of what is live. Nothing is changed."""
    from speech_infra.difference import show_difference

    show_difference(here.target(model), dockerfile)


@app.command(epilog="Example: speech-infra deploy kokoro-82m --region us-east-1 --instances 2 --max-instances 4")
@situated
def deploy(
    model: ModelArgument,
    *,
    here: Situation,
    instance_type: InstanceTypeOption = None,
    instances: InstancesOption = None,
    max_instances: MaxInstancesOption = None,
    strategy: StrategyOption = None,
    vpc: VpcOption = False,
    kms_key: KmsOption = None,
    alarm_topic: TopicOption = None,
    tags: TagOption = None,
    weights: WeightsOption = None,
    dockerfile: DockerfileOption = None,
    image_digest: DigestOption = None,
    smoke_test: SmokeOption = True,
) -> None:
    """Bring a speech endpoint up, or up to date: checks, storage, weights, image, endpoint, proof.

    Every step looks first whether it is done, so it may be interrupted and run again, and a second run changes nothing.
    An update that fails its alarms goes back by itself; a creation that failed is cleared away by the next run.
    """
    from infra_common.container_engine import ContainerEngine

    from speech_infra.deployment import Deployment
    from speech_infra.kept_key import with_kept_key

    target = here.target(model)
    options = endpoint_options(
        target.model,
        tags,
        instance_type=instance_type,
        instances=instances,
        max_instances=max_instances,
        strategy=strategy,
        use_vpc=vpc,
        kms_key=kms_key,
        alarm_topic=alarm_topic,
    )
    recipe = image_recipe(target, dockerfile, image_digest)
    engine = ContainerEngine()
    run_doctor(target, options, recipe, engine)
    ready = prepared_weights(target, weights)
    options = with_kept_key(target, options)
    outcome = Deployment(target, options).deploy(ready, recipe, image_digest, engine)
    finish(target, outcome, prove=smoke_test)
