"""Verbs that bring what is deployed to another state: rollback, recover, pause, resume."""

from __future__ import annotations

import typer

from speech_infra.cli.proving import SmokeOption, finish
from speech_infra.cli.situation import DEFAULT_MODEL, ModelArgument, Situation, situated

app = typer.Typer()


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
    from infra_common.errors import NotDeployed

    from speech_infra.deployment import Deployment, current_release
    from speech_infra.removal import require_unused

    target = here.target(model)
    target.require_deployed()
    release = current_release(target)
    if release is None:
        raise NotDeployed(f"{target.names.endpoint} has no release", fix=target.command("deploy"))
    if is_paused:
        for user in require_unused(target, force=True):
            here.console.warn(f"{user.kind} {user.name} is without a voice until `{target.command('resume')}`")
        here.console.confirm(f"Take {target.names.endpoint} away? Whoever speaks to it now is cut off.", "yes")
    outcome = Deployment(target, release.options).release(release.paused(is_paused=is_paused))
    finish(target, outcome, prove=prove)
