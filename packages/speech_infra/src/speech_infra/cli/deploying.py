"""Verbs that make templates or bring the account to them: synth, diff, deploy, rollback, recover, pause, resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

if TYPE_CHECKING:
    from infra_common.container_engine import ContainerEngine

    from speech_infra.deployment import Outcome
    from speech_infra.images import ImageRecipe
    from speech_infra.options import EndpointOptions
    from speech_infra.target import Target

app = typer.Typer()
SmokeOption = Annotated[bool, typer.Option("--smoke-test/--no-smoke-test", help="Let it speak at the end.")]


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
    from speech_infra.deployment import make_assembly
    from speech_infra.names import Names
    from speech_infra.release import NO_DIGEST, Release
    from speech_infra.target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION

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
    outcome = Deployment(target, options).deploy(ready, recipe, image_digest, engine)
    finish(target, outcome, prove=smoke_test)


@app.command(epilog="Example: speech-infra rollback kokoro-82m")
@situated
def rollback(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, smoke_test: SmokeOption = True) -> None:
    """Go back to the release before: its image, its weights and its options."""
    from speech_infra.deployment import Deployment
    from speech_infra.release import previous_release
    from speech_infra.release_history import release_history

    target = here.target(model)
    target.require_deployed()
    history = release_history(target.client("ssm"), target.names.release_parameter)
    release = previous_release(history)
    here.console.confirm(f"Go back to image {release.image_digest[:19]}… of {target.names.endpoint}?", "yes")
    outcome = Deployment(target, release.options).release(release)
    finish(target, outcome, prove=smoke_test)


@app.command(epilog="Example: speech-infra recover kokoro-82m")
@situated
def recover(model: ModelArgument = DEFAULT_MODEL, *, here: Situation) -> None:
    """Bring stuck stacks to where they can be deployed again. `deploy` does this by itself."""
    from infra_common.stack_recovery import needs_recovery, recover_stack

    target = here.target(model)
    done = {}
    for name in target.names.stacks:
        state = target.stack(name)
        why = needs_recovery(state)
        if state is None or not why:
            continue
        here.console.warn(f"stack {name} is in {state.status}: {why}")
        with here.console.step(f"recover {name}") as say:
            after = recover_stack(target.cloudformation, name, say)
        done[name] = "gone" if after is None else after.status
    here.console.result({"recovered": done})
    here.console.line(f"{len(done)} stacks recovered." if done else "No stack needs it.")


@app.command(epilog="Example: speech-infra pause kokoro-82m")
@situated
def pause(model: ModelArgument = DEFAULT_MODEL, *, here: Situation) -> None:
    """Take the endpoint away and keep everything else: it costs nothing by the hour, and `resume` brings it back."""
    _set_paused(here, model, is_paused=True, prove=False)


@app.command(epilog="Example: speech-infra resume kokoro-82m")
@situated
def resume(model: ModelArgument = DEFAULT_MODEL, *, here: Situation, smoke_test: SmokeOption = True) -> None:
    """Bring a paused endpoint back: the same image, weights and options."""
    _set_paused(here, model, is_paused=False, prove=smoke_test)


def _set_paused(here: Situation, model: str, *, is_paused: bool, prove: bool) -> None:
    from speech_infra.deployment import Deployment, current_release
    from speech_infra.errors import NotDeployed

    target = here.target(model)
    target.require_deployed()
    release = current_release(target)
    if release is None:
        raise NotDeployed(f"{target.names.endpoint} has no release", fix=target.command("deploy"))
    if is_paused:
        here.console.confirm(f"Take {target.names.endpoint} away? Whoever speaks to it now is cut off.", "yes")
    outcome = Deployment(target, release.options).release(release.paused(is_paused=is_paused))
    finish(target, outcome, prove=prove)


def run_doctor(target: Target, options: EndpointOptions, recipe: ImageRecipe | None, engine: ContainerEngine) -> None:
    """The checks before a deployment; quiet about what is well, unless a terminal looks. Raises CheckFailed."""
    from infra_common.aws_errors import explained
    from infra_common.checks import require_passed, run_checks

    from speech_infra.doctor import checks

    with target.console.step("doctor") as say:
        found = run_checks(
            checks(target, options, recipe, engine), explained, lambda each: say(f"{each.id}: {each.finding.result}")
        )
        require_passed(found)
    for each in found:
        if each.finding.status == "warning":
            target.console.warn(f"{each.id}: {each.finding.result}")


def finish(target: Target, outcome: Outcome, *, prove: bool) -> None:
    """Smoke test and summary."""
    from speech_infra.cli.proving import run_smoke_test
    from speech_infra.status import gather

    if prove and not outcome.release.is_paused:
        run_smoke_test(target, None)
    status = gather(target)
    console = target.console
    console.result({"changed": list(outcome.changed), **status.as_dict()})
    if outcome.changed:
        console.line("Changed: " + ", ".join(outcome.changed))
    else:
        console.line("Nothing has changed: everything was as wanted already.")
    console.table("", ("", target.names.endpoint), list(status.lines()))
