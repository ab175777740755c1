"""One stack through the pinned CDK command, followed from beside it: phases while it runs, words if it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra_common.assembly import Assembly
from infra_common.cdk_cli import CdkCli, CdkRun
from infra_common.console import Console
from infra_common.errors import DeploymentFailed, ToolFailed
from infra_common.failure import Explanation
from infra_common.stack_events import StackEvent
from infra_common.stack_recovery import needs_recovery, recover_stack
from infra_common.stack_state import StackState, describe_stack
from infra_common.stack_watch import StackWatch, phase

_LOOK_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Deployed:
    """What came of it."""

    state: StackState
    has_changed: bool


@dataclass(frozen=True, slots=True)
class StackDeployment:
    """`explain` turns the events of a failed operation into words."""

    cloudformation: Any
    cdk: CdkCli
    console: Console
    explain: Callable[[Sequence[StackEvent]], Explanation]
    beside: Callable[[], str] = lambda: ""
    """What else to say while a stack is quiet: a resource that takes minutes has phases of its own."""

    def deploy(self, assembly: Assembly, stack: str) -> Deployed:
        """Bring `stack` to what the assembly says, recovering it first where it is stuck. Raises DeploymentFailed.

        Retained resources that exist by name are adopted. A stack that is as wanted already is left alone.
        """
        self._recover(stack)
        with self.console.step(f"stack {stack}") as say:
            watch = StackWatch(self.cloudformation, stack)
            run = self.cdk.start(_arguments(assembly.directory, stack), f"deploy-{stack}")
            code = self._follow(run, watch, stack, say)
            watch.look()
            state = describe_stack(self.cloudformation, stack)
        if code == 0 and state is not None and state.is_good:
            return Deployed(state, has_changed=bool(watch.seen))
        if code == 0 and state is not None and not watch.seen:
            return Deployed(state, has_changed=False)  # an earlier update was taken back, and nothing is to be done
        if not watch.seen:
            raise ToolFailed(f"the CDK command failed before anything was changed: {run.tail()} (all of it: {run.log})")
        found = self.explain(watch.seen)
        status = "is gone" if state is None else f"is in {state.status}"
        raise DeploymentFailed(f"stack {stack} {status}. {found.paragraph}", fix=found.command)

    def _recover(self, stack: str) -> None:
        why = needs_recovery(describe_stack(self.cloudformation, stack))
        if why:
            self.console.warn(f"stack {stack}: {why}")
            with self.console.step(f"recover {stack}") as say:
                recover_stack(self.cloudformation, stack, say)

    def _follow(self, run: CdkRun, watch: StackWatch, stack: str, say: Callable[[str], None]) -> int:
        try:
            while (code := run.ended(_LOOK_S)) is None:
                phrase = phase(watch.look()) or self.beside()
                if phrase:
                    say(phrase)
        except BaseException:
            run.end()
            state = describe_stack(self.cloudformation, stack)
            if state is not None and state.standing == "busy":
                self.console.warn(
                    f"stopped here; CloudFormation goes on with {stack} ({state.status}). "
                    "The same command waits for it and goes on from there."
                )
            raise
        return code


def _arguments(directory: Path, stack: str) -> list[str]:
    return [
        "deploy",
        stack,
        "--exclusively",
        "--app",
        str(directory),
        "--require-approval",
        "never",
        "--import-existing-resources",
        "--progress",
        "events",
        "--ci",
    ]
