"""What this package refuses beyond infra_common's tree; the exit codes are the base classes'.

InfraError (infra_common.errors)
├── UsageError
│   └── OptionRefused         options that no agent can have, with the ones that would do
├── PreconditionError
│   ├── VoiceMissing          there is no speech endpoint for the agent to speak with
│   ├── NotDeployed           the command needs an agent that is not there
│   ├── ArtefactMissing       an image that should be there
│   └── ProfileUnknown        an inference profile whose regions nobody has looked up yet
└── OutcomeError
    ├── BuildFailed           CodeBuild could not make the image
    └── AskingFailed          the agent was asked, and did not answer as it should
"""

from infra_common.errors import OutcomeError, PreconditionError, UsageError


class OptionRefused(UsageError):
    """Options that do not fit each other or the platform."""


class VoiceMissing(PreconditionError):
    """No speech endpoint."""


class NotDeployed(PreconditionError):
    """The agent is not there."""


class ArtefactMissing(PreconditionError):
    """An image that should be there."""


class ProfileUnknown(PreconditionError):
    """An inference profile that is not in the cache, and nobody to ask."""


class BuildFailed(OutcomeError):
    """CodeBuild could not make the image."""


class AskingFailed(OutcomeError):
    """The agent did not answer as it should."""
