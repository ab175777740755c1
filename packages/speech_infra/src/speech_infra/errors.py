"""What this package refuses beyond infra_common's tree; the exit codes are the base classes'.

InfraError (infra_common.errors)
├── UsageError
│   ├── ModelUnknown          a model name that the catalogue does not have
│   ├── OptionRefused         options that no endpoint can have, with the ones that would do
│   └── NothingToRollBack     there is no earlier release
├── PreconditionError
│   ├── NotDeployed           the command needs an endpoint that is not there
│   ├── ArtefactMissing       an image or weights that should be there
│   └── EndpointInUse         an agent would lose its voice
└── OutcomeError
    ├── RuleBroken            a stack that breaks one of our own rules
    ├── SmokeTestFailed       the endpoint answered, but not as it should
    └── UploadCorrupt         what arrived in the bucket is not what was sent
"""

from infra_common.errors import OutcomeError, PreconditionError, UsageError


class ModelUnknown(UsageError):
    """No such model."""


class OptionRefused(UsageError):
    """Options that do not fit each other or the platform."""


class NothingToRollBack(UsageError):
    """There is no earlier release."""


class NotDeployed(PreconditionError):
    """The endpoint, or its foundation, is not there."""


class ArtefactMissing(PreconditionError):
    """An image or weights that should be there."""


class EndpointInUse(PreconditionError):
    """Somebody uses the endpoint that is to go."""


class RuleBroken(OutcomeError):
    """A template that breaks a rule."""


class SmokeTestFailed(OutcomeError):
    """The endpoint does not speak as it should."""


class UploadCorrupt(OutcomeError):
    """An object differs from the file that it was made from."""
