"""What every command is given: the common options, and the agent that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from infra_common.situation import CommonOptions, with_common_options

if TYPE_CHECKING:
    from agent_infra.target import Target

DEFAULT_AGENT = "voice"
AgentOption = Annotated[
    str, typer.Option("--agent", help="Which of the stage's agents.", metavar="NAME", show_default=True)
]


class Situation(CommonOptions):
    """What was asked for, before AWS is asked anything."""

    def target(self, agent: str) -> Target:
        """One agent in this stage. Raises OptionRefused."""
        from agent_infra.target import Target

        return Target.of(agent, self.stage, self.session(), self.console)


situated = with_common_options("agent-infra", Situation)
