"""What Linux says of its processors is read, and what nobody says is not assumed."""

from pathlib import Path

import pytest
from speech_container.processor import BFLOAT16, processor_flags

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
flags\t\t: fpu avx512f {first}

processor\t: 1
flags\t\t: fpu
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "cpuinfo"
    file.write_text(text, encoding="ascii")
    return file


def test_the_flags_are_those_of_the_first_processor(tmp_path: Path) -> None:
    assert processor_flags(write(tmp_path, CPUINFO.format(first="amx_bf16"))) == {"fpu", "avx512f", "amx_bf16"}


@pytest.mark.parametrize(("flags", "multiplies"), [("amx_bf16 amx_tile", True), ("avx512_bf16", True), ("avx2", False)])
def test_either_kind_of_instruction_will_do(tmp_path: Path, flags: str, multiplies: bool) -> None:
    assert bool(processor_flags(write(tmp_path, CPUINFO.format(first=flags))) & BFLOAT16) is multiplies


def test_an_arm_processor_names_its_features_otherwise(tmp_path: Path) -> None:
    assert processor_flags(write(tmp_path, "processor\t: 0\nFeatures\t: fp asimd bf16\n")) == frozenset()


def test_a_system_without_the_file_has_no_flags(tmp_path: Path) -> None:
    assert processor_flags(tmp_path / "cpuinfo") == frozenset()
