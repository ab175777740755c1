"""What the faces answer with instead of a result.

AwsRefusal            any AWS error: a code, a sentence, an HTTP status
└── ResourceRefused   a resource that could not be made, changed or deleted: the reason goes into the stack's events
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .stack import Made


class AwsRefusal(Exception):
    """An error in the form the real service would give it."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class ResourceRefused(AwsRefusal):
    """Raised by a provider; `message` is what CloudFormation shows as the status reason.

    `made`: what is there all the same, and has to be rolled back.
    """

    def __init__(self, message: str, made: "Made | None" = None) -> None:
        super().__init__("GeneralServiceException", message)
        self.made = made


def validation(message: str) -> AwsRefusal:
    """CloudFormation's most frequent refusal."""
    return AwsRefusal("ValidationError", message)
