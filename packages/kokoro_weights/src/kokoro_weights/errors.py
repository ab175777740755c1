"""Every way in which weights can be refused, as one tree, so that a caller catches exactly what it can act on.

    WeightsError
    ├── SourceError                   the place the weights come from cannot deliver them
    │   ├── SourceUnknown             no source has that name, or it was asked for with the wrong arguments
    │   ├── SourceMissing             a program or package that the source needs is not installed
    │   └── SourceUnavailable         the source did not answer: no network, refused, timed out
    ├── DirectoryError                a prepared directory is not one
    │   ├── NotPrepared               there is no directory, or no manifest in it
    │   ├── ManifestInvalid           the manifest cannot be read, contradicts itself, or contradicts the pinned hashes
    │   │   └── PathUnsafe            it names a path outside the directory, or one that is reached through a link
    │   └── VoiceMissing              no voice has that name
    ├── FileRefused                   the bytes are not the ones that were promised
    │   ├── FileMissing
    │   ├── SizeMismatch
    │   ├── HashMismatch
    │   ├── CheckpointRefused         a model file holds something other than it should, or is broken
    │   └── StatisticsRefused         a table of norm statistics is broken, or belongs to other weights
    └── StorageError                  the weights cannot be written where they should go
        └── CacheBusy                 another process has been preparing there for too long

A message says what was expected, what came, and what to do. Messages name files and are for operators: they never go
to the clients of a server.
"""


class WeightsError(Exception):
    """Root of the tree: the weights cannot be used, and the message says why."""


class SourceError(WeightsError):
    """The place the weights come from cannot deliver them."""


class SourceUnknown(SourceError):
    """No source has that name, or it was asked for with the wrong arguments."""


class SourceMissing(SourceError):
    """A program or package that the source needs is not installed."""


class SourceUnavailable(SourceError):
    """The source did not answer: no network, refused, timed out."""


class DirectoryError(WeightsError):
    """A prepared directory is not one."""


class NotPrepared(DirectoryError):
    """There is no directory, or no manifest in it."""


class ManifestInvalid(DirectoryError):
    """The manifest cannot be read, contradicts itself, or contradicts the pinned hashes."""


class PathUnsafe(ManifestInvalid):
    """The manifest names a path outside the directory, or one that is reached through a link."""


class VoiceMissing(DirectoryError):
    """No voice has that name."""


class FileRefused(WeightsError):
    """The bytes are not the ones that were promised."""


class FileMissing(FileRefused):
    """A file that the manifest or a source promises is not there."""


class SizeMismatch(FileRefused):
    """A file has another length than was promised: most often it is truncated."""


class HashMismatch(FileRefused):
    """A file has the promised length and other bytes."""


class CheckpointRefused(FileRefused):
    """A model file holds something other than it should, or is broken: a torch file, an ONNX export."""


class StatisticsRefused(FileRefused):
    """A table of norm statistics is broken, or belongs to other weights than the ones beside it."""


class StorageError(WeightsError):
    """The weights cannot be written where they should go."""


class CacheBusy(StorageError):
    """Another process has been preparing in the same place for longer than we wait."""
