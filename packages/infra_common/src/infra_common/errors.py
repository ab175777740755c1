"""What the deployment commands refuse, as one tree whose branches are the exit codes.

    InfraError                     exit code
    ├── CheckFailed              1   a preflight check failed; its result and its fix have been shown
    ├── UsageError               2   the command line asks for what cannot be
    │   └── OptionRefused            options that no deployment can have, with the ones that would do
    ├── LeftoversRemain          3   something that costs money is still there
    ├── AwsError                 4   AWS refuses to talk to us
    │   ├── CredentialsMissing       none, or expired, or refused
    │   ├── AccessDenied             known, but without the permission
    │   └── AwsUnreachable           no answer: network, region or address
    ├── PreconditionError        5   something must be done first; the message names the command
    │   ├── NotOurs                  a resource under our name that somebody else made
    │   ├── NotDeployed              the command needs an endpoint or an agent that is not there
    │   └── ArtefactMissing          an image or weights that should be there
    ├── OutcomeError             6   it was tried and it did not work out
    │   ├── DeploymentFailed         a stack failed; what is known has been explained
    │   └── ToolFailed               the CDK CLI, npm or the container engine failed
    └── StillGoing               7   we stopped waiting; AWS goes on without us

0 is done, 1 also anything unforeseen, 130 an interrupt.
"""

from __future__ import annotations


class InfraError(Exception):
    """Root. `fix` is the one command (or action) that helps, where there is one."""

    exit_code = 1

    def __init__(self, message: str, *, fix: str | None = None) -> None:
        super().__init__(message)
        self.fix = fix


class CheckFailed(InfraError):
    """A preflight check failed."""

    exit_code = 1


class UsageError(InfraError):
    """The command line asks for what cannot be."""

    exit_code = 2


class OptionRefused(UsageError):
    """Options that do not fit each other or the platform."""


class LeftoversRemain(InfraError):
    """Something that costs money is still there."""

    exit_code = 3


class AwsError(InfraError):
    """AWS refuses to talk to us."""

    exit_code = 4


class CredentialsMissing(AwsError):
    """No credentials, or none that are accepted."""


class AccessDenied(AwsError):
    """The credentials lack a permission."""


class AwsUnreachable(AwsError):
    """No answer."""


class PreconditionError(InfraError):
    """Something must be done first."""

    exit_code = 5


class NotOurs(PreconditionError):
    """A resource with our name and without our tags."""


class NotDeployed(PreconditionError):
    """What the command is about, or its foundation, is not there."""


class ArtefactMissing(PreconditionError):
    """An image or weights that should be there."""


class OutcomeError(InfraError):
    """It was tried and it did not work out."""

    exit_code = 6


class DeploymentFailed(OutcomeError):
    """A stack failed."""


class ToolFailed(OutcomeError):
    """A program that we run failed."""


class StillGoing(InfraError):
    """We stopped waiting, AWS did not."""

    exit_code = 7
