"""What this package refuses beyond infra_common's tree; the exit codes are the base classes'.

InfraError (infra_common.errors)
├── UsageError
│   ├── ModelUnknown          a model name that the catalogue does not have
│   └── NothingToRollBack     there is no earlier release
├── PreconditionError
│   └── EndpointInUse         an agent would lose its voice
└── OutcomeError
    ├── RuleBroken            a stack that breaks one of our own rules
    ├── SmokeTestFailed       the endpoint answered, but not as it should
    └── UploadCorrupt         what arrived in the bucket is not what was sent
"""

from infra_common.errors import OutcomeError, PreconditionError, UsageError


class ModelUnknown(UsageError):
    """No such model."""


class NothingToRollBack(UsageError):
    """There is no earlier release."""


class EndpointInUse(PreconditionError):
    """Somebody uses the endpoint that is to go."""


class RuleBroken(OutcomeError):
    """A template that breaks a rule."""


class SmokeTestFailed(OutcomeError):
    """The endpoint does not speak as it should."""


class UploadCorrupt(OutcomeError):
    """An object differs from the file that it was made from."""
