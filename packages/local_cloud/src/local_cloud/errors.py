"""Everything this package refuses, as one tree, so that the edges turn a type and not a message into an answer.

LocalCloudError
├── AddressInUse        a fixed port that somebody else holds
├── MalformedFrame      bytes that are not an AWS event stream, or one that is too large
├── SignatureRefused    unsigned, wrongly signed, or signed too long ago (carries the service's error code)
├── RequestRefused      a request that the real service would answer with an error (carries status and error type)
├── ContainerFailed     the model container or the agent could not be reached, or refused
│   └── ContainerClosed …went away while it was being written to
├── CallerGone          the caller hung up; nobody is left to answer
├── TextUnreadable      a text that is not UTF-8, or a standard input that is closed
├── ModelSpecInvalid    a --model that names no model
├── ModelUnavailable    a model that cannot run on this machine
├── ServiceFailed       a service of the stack did not start, or ended by itself
└── AnswerFailed        the agent could not be asked, or its answer is none
"""


class LocalCloudError(Exception):
    """Root of the tree. The message says what was expected, what came, and what to do."""


class AddressInUse(LocalCloudError):
    """A service was told a port and the port is taken."""


class MalformedFrame(LocalCloudError):
    """Bytes do not frame as application/vnd.amazon.eventstream, or announce more than the limit."""


class SignatureRefused(LocalCloudError):
    """A request or a chunk is not signed by the credentials of this local cloud.

    `code` is the AWS error code (for example ``InvalidSignatureException``); AWS answers them all with status 403.
    """

    status = 403

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class RequestRefused(LocalCloudError):
    """A request that the real service refuses.

    `code` is the error's name without a namespace, `status` the HTTP status, `extra` further members of its body.
    The message is written for the caller and holds nothing of this machine.
    """

    def __init__(self, status: int, code: str, message: str, extra: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.extra = extra or {}


class ContainerFailed(LocalCloudError):
    """The process behind a data plane did not answer as it should. The message is fit for the caller."""


class ContainerClosed(ContainerFailed):
    """The container's socket is closed; how it closed is told by whoever reads from it."""


class CallerGone(LocalCloudError):
    """The caller closed its connection or reset its stream."""


class TextUnreadable(LocalCloudError):
    """A text on the command line or on standard input cannot be read."""


class ModelSpecInvalid(LocalCloudError):
    """``--model`` was given something that names no language model."""


class ModelUnavailable(LocalCloudError):
    """A language model cannot be used on this machine; the message says why and what to use instead."""


class ServiceFailed(LocalCloudError):
    """A service in a process of its own did not start, did not get ready, or ended; the message has its last words."""


class AnswerFailed(LocalCloudError):
    """The agent answered with an error, stopped in mid answer, or could not be asked."""
