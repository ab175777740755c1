"""Verbs that make templates, compare them, or bring the account to them: synth, diff, deploy."""

from __future__ import annotations

import typer
from infra_common.choices import AssemblyOption, DigestOption, DockerfileOption, ImageChoices

from speech_infra.cli.choices import EndpointChoices, WeightsOption, image_recipe, prepared_weights
from speech_infra.cli.proving import SmokeOption, finish
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

app = typer.Typer()


@app.command(epilog="Example: speech-infra synth kokoro-82m --instances 2")
@situated
def synth(
    model: ModelArgument,
    *,
    here: Situation,
    endpoint: EndpointChoices,
    image_digest: DigestOption = None,
    output: AssemblyOption = None,
) -> None:
    """Make the CloudFormation templates, without credentials and without asking AWS.

    Where account, region or image are not known, the templates name a placeholder: zeros.
    """
    from infra_common.deployment_target import PLACEHOLDER_ACCOUNT, PLACEHOLDER_REGION
    from infra_common.release_record import NO_DIGEST

    from speech_infra.deployment import make_assembly
    from speech_infra.names import Names
    from speech_infra.release import Release

    target = here.target(model)
    options = endpoint.of(target.model)
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
    endpoint: EndpointChoices,
    weights: WeightsOption = None,
    image: ImageChoices,
    smoke_test: SmokeOption = True,
) -> None:
    """Bring a speech endpoint up, or up to date: checks, storage, weights, image, endpoint, proof.

    Every step looks first whether it is done, so it may be interrupted and run again, and a second run changes nothing.
    An update that fails its alarms goes back by itself; a creation that failed is cleared away by the next run.
    """
    from infra_common.checks import require
    from infra_common.container_engine import ContainerEngine

    from speech_infra.deployment import Deployment
    from speech_infra.doctor import checks
    from speech_infra.kept_key import with_kept_key

    target = here.target(model)
    options = endpoint.of(target.model)
    recipe = image_recipe(target, image)
    engine = ContainerEngine()
    require(checks(target, options, recipe, engine), here.console)
    ready = prepared_weights(target, weights)
    options = with_kept_key(target, options)
    outcome = Deployment(target, options).deploy(ready, recipe, image.image_digest, engine)
    finish(target, outcome, prove=smoke_test)
