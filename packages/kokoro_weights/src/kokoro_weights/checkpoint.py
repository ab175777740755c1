"""Reading the tensors of a torch file without torch, and without running what the file says.

A file of `torch.save` is a zip archive: `<name>/data.pkl` is a pickle that describes the tensors, `<name>/data/<key>`
are their bytes, stored without compression. Unpickling calls whatever the pickle names, so this reader

- first walks the opcodes without executing any, and refuses all that `torch.save` (pickle protocol 2) does not need,
- then resolves names from a list of a dozen, to inert stand-ins defined here: nothing of torch, nothing importable,
- and bounds what a tensor may claim by the bytes that its storage really has.

Anything else is refused by name. Kept out on purpose: bfloat16 (numpy has no such type), sparse and quantised tensors,
whole pickled modules, the tar format from before torch 1.6.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kokoro_weights.errors import CheckpointRefused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

type Tensors = dict[str, Tensors] | NDArray[Any]
"""What a file may hold: a tensor, or tensors by name, nested."""

MAX_PICKLE_BYTES: Final = 16 << 20
"""Kokoro's 688 tensors are described in about 100 kB."""

_STORAGES: Final = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}

_OPCODES: Final = frozenset(
    {
        *("PROTO", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "LONG1", "BINFLOAT"),
        *("BININT", "BININT1", "BININT2", "BINUNICODE", "SHORT_BINUNICODE"),
        *("EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "APPEND", "APPENDS"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
        *("GLOBAL", "REDUCE", "BUILD", "BINPERSID", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
    }
)


_BROKEN_ARCHIVE: Final = (
    *(zipfile.BadZipFile, OSError, EOFError, struct.error),
    ValueError,  # member names that are not UTF-8
    RuntimeError,  # encryption, and NotImplementedError for features that zipfile lacks
)
"""What zipfile raises for files that are broken or were never archives."""


@dataclass(frozen=True, slots=True)
class _StorageType:
    """Stands in for torch.FloatStorage and its kin. It cannot be called."""

    name: str
    dtype: str


class _Mapping(dict[str, Any]):
    """Stands in for OrderedDict; `__setstate__` drops the attributes that a module's state carries (`_metadata`)."""

    def __setstate__(self, state: object) -> None:
        del state


def read_checkpoint(path: Path) -> Tensors:
    """The tensors of a torch file, as read-only numpy arrays that share its storages' memory.

    Raises CheckpointRefused, naming the file and what was refused.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path.name)
    except CheckpointRefused as error:
        raise CheckpointRefused(f"{path.name}: {error}") from error
    except _BROKEN_ARCHIVE as error:
        raise CheckpointRefused(f"{path.name}: expected a zip archive of torch.save, found {error}") from error


def _read(archive: zipfile.ZipFile, name: str) -> Tensors:
    pickles = [entry for entry in archive.namelist() if entry.endswith("/data.pkl") and entry.count("/") == 1]
    if len(pickles) != 1:
        raise CheckpointRefused(f"expected one <name>/data.pkl in the archive, found {len(pickles)}")
    prefix = pickles[0].removesuffix("data.pkl")
    if f"{prefix}byteorder" in archive.namelist():
        order = _member(archive, f"{prefix}byteorder", max_bytes=16)
        if order != b"little":
            raise CheckpointRefused(f"expected byte order 'little', found {order!r}")
    description = _member(archive, pickles[0], max_bytes=MAX_PICKLE_BYTES)
    _require_plain(description)
    try:
        value = _Unpickler(description, lambda key: _member(archive, f"{prefix}data/{key}")).load()
    except CheckpointRefused:
        raise
    except Exception as error:  # a broken pickle may fail as any exception, and none of them is ours
        raise CheckpointRefused(f"data.pkl of {name} is broken ({type(error).__name__})") from error
    return _plain(value, "the file")


def _member(archive: zipfile.ZipFile, name: str, *, max_bytes: int | None = None) -> bytes:
    """The bytes of a stored member. Compressed ones are refused: torch writes none, and they may expand without end."""
    try:
        info = archive.getinfo(name)
    except KeyError as error:
        raise CheckpointRefused(f"expected {name} in the archive, found no such member") from error
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise CheckpointRefused(f"{name}: expected a member without compression")
    if max_bytes is not None and info.file_size > max_bytes:
        raise CheckpointRefused(f"{name}: expected at most {max_bytes} bytes, found {info.file_size}")
    return archive.read(info)


def _require_plain(description: bytes) -> None:
    """Walk the opcodes without executing them; refuse those that torch.save does not write."""
    try:
        for opcode, argument, _ in pickletools.genops(description):
            if opcode.name not in _OPCODES:
                raise CheckpointRefused(f"the pickle opcode {opcode.name} is not one that torch.save writes")
            if opcode.name == "LONG_BINPUT" and isinstance(argument, int) and argument > len(description):
                raise CheckpointRefused(f"the pickle memo index {argument} is larger than the pickle")
    except ValueError as error:
        raise CheckpointRefused(f"data.pkl is not a pickle ({error})") from error


class _Unpickler(pickle.Unpickler):
    """Resolves only the names below, to functions of this module."""

    def __init__(self, description: bytes, read: Callable[[str], bytes]) -> None:
        super().__init__(io.BytesIO(description))
        self._read = read
        self._storages: dict[str, NDArray[Any]] = {}

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return _Mapping
        if (module_name, global_name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if (module_name, global_name) == ("torch._utils", "_rebuild_parameter"):
            return _parameter
        if module_name == "torch" and global_name in _STORAGES:
            return _StorageType(global_name, _STORAGES[global_name])
        raise CheckpointRefused(
            f"the pickle names {module_name}.{global_name}, which is not a tensor of a type that numpy has; "
            "only tensors are read, nothing is executed"
        )

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """A storage: ("storage", type, key, device, number of elements)."""
        match pid:
            case ("storage", _StorageType(name=name, dtype=dtype), str(key), str(), int(length)):
                pass
            case _:
                raise CheckpointRefused("the pickle refers to something that is not a storage of tensors")
        if key not in self._storages:
            data = self._read(key)
            if len(data) != length * np.dtype(dtype).itemsize:
                raise CheckpointRefused(f"data/{key}: expected {length} elements of {name}, found {len(data)} bytes")
            self._storages[key] = np.frombuffer(data, dtype=dtype)
        storage = self._storages[key]
        if storage.dtype != np.dtype(dtype) or storage.size != length:
            raise CheckpointRefused(f"data/{key}: it is referred to with two types or lengths")
        return storage


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> NDArray[Any]:
    """Stands in for torch._utils._rebuild_tensor_v2: a view on the storage; offset and strides count elements."""
    if not isinstance(storage, np.ndarray) or not isinstance(size, tuple) or not isinstance(stride, tuple):
        raise CheckpointRefused("a tensor is described in another form than torch.save writes")
    if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in (offset, *size, *stride)):
        raise CheckpointRefused(f"a tensor has an impossible shape: size {size}, stride {stride}, offset {offset}")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and last >= storage.size:
        raise CheckpointRefused(f"a tensor reaches element {last} of a storage of {storage.size}")
    if 0 in size:
        return np.empty(size, dtype=storage.dtype)
    strides = tuple(step * storage.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(storage[offset:], shape=size, strides=strides, writeable=False)


def _parameter(data: Any, *_: Any) -> NDArray[Any]:
    """Stands in for torch._utils._rebuild_parameter: the tensor itself."""
    if not isinstance(data, np.ndarray):
        raise CheckpointRefused("a parameter is described without a tensor")
    return data


def _plain(value: object, where: str) -> Tensors:
    """Dictionaries of tensors and nothing else, so that callers need not look again."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise CheckpointRefused(f"{where}: expected names as keys, found {type(key).__name__}")
        return {key: _plain(item, f"{where}, {key!r}") for key, item in value.items()}
    raise CheckpointRefused(f"{where}: expected tensors, found {type(value).__name__}")
