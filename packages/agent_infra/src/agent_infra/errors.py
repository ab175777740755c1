"""What this package refuses beyond infra_common's tree; the exit codes are the base classes'.

InfraError (infra_common.errors)
├── PreconditionError
│   ├── VoiceMissing          there is no speech endpoint for the agent to speak with
│   └── ProfileUnknown        an inference profile whose regions nobody has looked up yet
└── OutcomeError
    ├── BuildFailed           CodeBuild could not make the image
    └── AskingFailed          the agent was asked, and did not answer as it should
"""

from infra_common.errors import OutcomeError, PreconditionError


class VoiceMissing(PreconditionError):
    """No speech endpoint."""


class ProfileUnknown(PreconditionError):
    """An inference profile that is not in the cache, and nobody to ask."""


class BuildFailed(OutcomeError):
    """CodeBuild could not make the image."""


class AskingFailed(OutcomeError):
    """The agent did not answer as it should."""
