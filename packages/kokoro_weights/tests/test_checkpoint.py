"""Torch files are read without torch, and nothing that a pickle names is ever executed."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kokoro_weights.checkpoint import read_checkpoint
from kokoro_weights.errors import CheckpointRefused

if TYPE_CHECKING:
    from pathlib import Path

TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"
FLOATS = b"ctorch\nFloatStorage\n"


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def numbers(*values: int) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(*, kind: bytes = FLOATS, key: str = "0", length: int = 4) -> bytes:
    return b"(" + text("storage") + kind + text(key) + text("cpu") + number(length) + b"tQ"


def tensor(
    *, of: bytes | None = None, offset: int = 0, size: tuple[int, ...] = (4,), stride: tuple[int, ...] = (1,)
) -> bytes:
    """The opcodes of one tensor, as torch.save writes them."""
    arguments = (storage() if of is None else of) + number(offset) + numbers(*size) + numbers(*stride)
    return TENSOR + b"(" + arguments + b"\x89" + b"ccollections\nOrderedDict\n)R" + b"tR"


def write(path: Path, opcodes: bytes, *, members: dict[str, bytes] | None = None, compression: int = 0) -> Path:
    """A file in the form of torch.save around hand-made opcodes."""
    contents = {"data/0": np.arange(4, dtype="<f4").tobytes()} if members is None else members
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("x/data.pkl", b"\x80\x02" + opcodes + b".")
        for name, data in contents.items():
            archive.writestr(f"x/{name}", data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(CheckpointRefused) as caught:
        read_checkpoint(path)
    return str(caught.value)


def test_a_genuine_checkpoint_gives_its_tensors(data: Path) -> None:
    checkpoint: Any = read_checkpoint(data / "checkpoint.pth")
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected: dict[str, dict[str, Any]] = {
        "bert": {
            "module.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
            "module.bias": np.array([0.5, -0.5], dtype=np.float32),
        },
        "decoder": {
            "module.half": np.array([1.0, 0.5, -2.0], dtype=np.float16),
            "module.transposed": grid.T,
            "module.column": grid[:, 2],
            "module.ids": np.array([[1, 2], [3, -4]]),
            "module.flags": np.array([True, False]),
            "module.scalar": np.array(7.25, dtype=np.float32),
            "module.empty": np.zeros((0, 4), dtype=np.float32),
            "module.parameter": np.ones(2, dtype=np.float32),
        },
    }
    assert {part: set(state) for part, state in checkpoint.items()} == {p: set(s) for p, s in expected.items()}
    for part, state in expected.items():
        for name, array in state.items():
            found = checkpoint[part][name]
            assert (found.dtype, found.shape) == (array.dtype, array.shape), name
            np.testing.assert_array_equal(found, array, err_msg=name)


def test_a_genuine_voice_with_a_stride_of_zero_is_read(data: Path) -> None:
    voice = read_checkpoint(data / "voice.pt")
    assert isinstance(voice, np.ndarray)
    assert voice.shape == (510, 1, 256)
    assert voice.dtype == np.float32
    np.testing.assert_array_equal(voice[509, 0], np.arange(256, dtype=np.float32) / 256)


def test_a_type_that_numpy_lacks_is_refused_by_name(data: Path) -> None:
    assert "torch.BFloat16Storage" in refusal(data / "bfloat16.pth")


def test_the_hand_made_form_is_the_real_one(tmp_path: Path) -> None:
    array: Any = read_checkpoint(write(tmp_path / "a.pth", tensor()))
    np.testing.assert_array_equal(array, [0, 1, 2, 3])


def test_tensors_are_read_only(tmp_path: Path) -> None:
    array: Any = read_checkpoint(write(tmp_path / "a.pth", tensor()))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


class Hostile:
    """Pickles as a call of os.system."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def test_a_pickle_that_calls_the_system_is_refused_and_not_run(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    opcodes = pickle.dumps(Hostile(f"touch {proof}"), protocol=2)[2:-1]
    message = refusal(write(tmp_path / "evil.pth", opcodes))
    assert "posix.system" in message
    assert message.startswith("evil.pth")
    assert not proof.exists()


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval",
        "builtins getattr",
        "builtins dict",
        "os system",
        "subprocess Popen",
        "collections OrderedDict.fromkeys",
        "collections defaultdict",
        "torch load",
        "torch _utils._rebuild_tensor_v2",
        "torch.storage _load_from_bytes",
        "torch._utils _rebuild_sparse_tensor",
        "torch.jit load",
        "numpy fromfile",
        "kokoro_weights.checkpoint read_checkpoint",
        "importlib import_module",
    ],
)
def test_a_name_that_is_not_on_the_list_is_refused_by_name(tmp_path: Path, name: str) -> None:
    module, attribute = name.split()
    opcodes = f"c{module}\n{attribute}\n".encode() + b"(" + text("/etc/passwd") + b"tR"
    assert f"{module}.{attribute}" in refusal(write(tmp_path / "evil.pth", opcodes))


@pytest.mark.parametrize(
    ("opcodes", "opcode"),
    [
        (text("os") + text("system") + b"\x93", "STACK_GLOBAL"),
        (b"(ios\nsystem\n", "INST"),
        (b"(cos\nsystem\no", "OBJ"),
        (b"ccollections\nOrderedDict\n)\x81", "NEWOBJ"),
        (b"\x82\x01", "EXT1"),
        (b"P0\n", "PERSID"),
        (b"]\x94", "MEMOIZE"),
        (b"I" + b"9" * 10 + b"\n", "INT"),
    ],
)
def test_an_opcode_that_torch_does_not_write_is_refused(tmp_path: Path, opcodes: bytes, opcode: str) -> None:
    assert f"the pickle opcode {opcode} " in refusal(write(tmp_path / "evil.pth", opcodes))


def test_a_memo_index_that_would_take_all_memory_is_refused(tmp_path: Path) -> None:
    assert "memo index" in refusal(write(tmp_path / "evil.pth", b"}r" + struct.pack("<I", 0xFFFFFFF0)))


def test_attributes_that_a_pickle_sets_are_dropped(tmp_path: Path) -> None:
    opcodes = b"ccollections\nOrderedDict\n)R" + text("a") + tensor() + b"s" + b"}" + text("items") + b"Nsb"
    assert list(read_checkpoint(write(tmp_path / "a.pth", opcodes))) == ["a"]


@pytest.mark.parametrize(
    ("opcodes", "says"),
    [
        (b"N", "expected tensors, found NoneType"),
        (b"}" + text("a") + text("b") + b"s", "'a': expected tensors, found str"),
        (b"}" + number(1) + tensor() + b"s", "expected names as keys, found int"),
        (b"]", "found list"),
        (FLOATS, "found _StorageType"),
        (b"ccollections\nOrderedDict\n", "found type"),
        (FLOATS + b")R", "broken"),
        (b"R", "broken"),
        (b"", "broken"),
        (b"\xff", "not a pickle"),
        (b"X\xff\xff\xff\x7fabc", "not a pickle"),
    ],
)
def test_something_else_than_tensors_is_refused(tmp_path: Path, opcodes: bytes, says: str) -> None:
    assert says in refusal(write(tmp_path / "a.pth", opcodes))


@pytest.mark.parametrize(
    ("opcodes", "says"),
    [
        (tensor(size=(5,)), "reaches element 4 of a storage of 4"),
        (tensor(offset=1), "reaches element 4"),
        (tensor(size=(2, 2), stride=(3, 1)), "reaches element 4"),
        (tensor(size=(2**30, 2**30), stride=(2**30, 1)), "reaches element"),
        (tensor(offset=-1), "impossible shape"),
        (tensor(size=(-4,)), "impossible shape"),
        (tensor(stride=(-1,)), "impossible shape"),
        (tensor(size=(2, 2)), "impossible shape"),
        (tensor(of=text("no storage")), "another form"),
        (tensor(of=storage(length=5)), "expected 5 elements of FloatStorage, found 16 bytes"),
        (tensor(of=storage(length=-4)), "expected -4 elements"),
        (tensor(of=storage(key="../data.pkl")), "no such member"),
        (tensor(of=storage(kind=b"ccollections\nOrderedDict\n")), "not a storage"),
        (tensor(of=text("x") + b"Q"), "not a storage"),
        (
            b"}(" + text("a") + tensor() + text("b") + tensor(of=storage(kind=b"ctorch\nIntStorage\n")) + b"u",
            "two types or lengths",
        ),
        (b"ctorch._utils\n_rebuild_parameter\n(" + text("x") + b"\x89}tR", "parameter is described without a tensor"),
    ],
)
def test_a_tensor_may_claim_only_what_its_storage_has(tmp_path: Path, opcodes: bytes, says: str) -> None:
    assert says in refusal(write(tmp_path / "a.pth", opcodes))


def test_a_compressed_member_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bomb.pth", tensor(), compression=zipfile.ZIP_DEFLATED)
    assert "without compression" in refusal(path)


def test_a_big_endian_file_is_refused(tmp_path: Path) -> None:
    assert "byte order" in refusal(write(tmp_path / "a.pth", tensor(), members={"byteorder": b"big", "data/0": b""}))


def test_a_pickle_that_is_too_long_is_refused(tmp_path: Path) -> None:
    assert "expected at most" in refusal(write(tmp_path / "a.pth", b"N0" * (9 << 20)))


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06 nonsense", b"\x80\x02}."])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pth").write_bytes(content)
    assert "expected a zip archive" in refusal(tmp_path / "a.pth")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "gone.pth: expected a zip archive" in refusal(tmp_path / "gone.pth")


def test_an_archive_with_two_descriptions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02N.")
        archive.writestr("y/data.pkl", b"\x80\x02N.")
    assert "found 2" in refusal(path)


def test_a_truncated_genuine_file_is_refused(data: Path, tmp_path: Path) -> None:
    whole = (data / "checkpoint.pth").read_bytes()
    for size_bytes in range(0, len(whole), 97):
        (tmp_path / "cut.pth").write_bytes(whole[:size_bytes])
        refusal(tmp_path / "cut.pth")


def test_a_flipped_byte_is_refused_or_leaves_only_tensors(data: Path, tmp_path: Path) -> None:
    whole = (data / "checkpoint.pth").read_bytes()
    refused = 0
    for index in range(0, len(whole), 7):
        (tmp_path / "bad.pth").write_bytes(whole[:index] + bytes([whole[index] ^ 0x55]) + whole[index + 1 :])
        try:
            assert isinstance(read_checkpoint(tmp_path / "bad.pth"), dict)
        except CheckpointRefused:
            refused += 1
    assert refused > 50
