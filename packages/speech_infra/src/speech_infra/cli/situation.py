"""What every command is given: the common options, and the model that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from infra_common.situation import CommonOptions, with_common_options

if TYPE_CHECKING:
    from speech_infra.target import Target

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="kokoro-82m or kokoro-82m-cpu; `speech-infra list` tells them apart.")
]
DEFAULT_MODEL = "kokoro-82m"


class Situation(CommonOptions):
    """What was asked for, before AWS is asked anything."""

    def target(self, model: str) -> Target:
        """One model in this stage. Raises ModelUnknown and OptionRefused."""
        from speech_infra.target import Target

        return Target.of(model, self.stage, self.session(), self.console)


situated = with_common_options("speech-infra", Situation)
