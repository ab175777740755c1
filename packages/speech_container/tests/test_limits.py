"""Rates and memory."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from speech_container.limits import (
    MEMORY_SHARE,
    Memory,
    RequestRate,
    allow_descriptors,
    read_allowed_bytes,
    read_resident_bytes,
)


def test_a_minutes_requests_may_come_at_once_and_no_more() -> None:
    rate = RequestRate(3, now_s=100.0)
    assert [rate.take(100.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert rate.take(100.0) == pytest.approx(20.0)
    assert rate.take(119.0) == pytest.approx(1.0)
    assert rate.take(120.0) == 0.0


def test_a_long_rest_earns_one_minute_and_not_more() -> None:
    rate = RequestRate(2, now_s=0.0)
    assert [rate.take(3600.0) > 0 for _ in range(3)] == [False, False, True]


def test_a_steady_listener_is_never_refused() -> None:
    rate = RequestRate(60, now_s=0.0)
    assert not any(rate.take(float(second)) for second in range(1000))


@pytest.mark.parametrize(("resident", "is_full"), [(899, False), (901, True), (None, False)])
def test_memory_is_full_past_its_share(resident: int | None, is_full: bool) -> None:
    assert MEMORY_SHARE == 0.9
    assert Memory(1000, lambda: resident).is_full is is_full


def test_a_system_that_does_not_tell_has_no_limit(tmp_path: Path) -> None:
    assert read_resident_bytes(tmp_path / "none") is None
    assert read_allowed_bytes(tmp_path / "none", ()) is None
    memory = Memory(1000)
    memory.allowed_bytes = None
    assert not memory.is_full


def test_the_container_counts_where_it_is_smaller_than_the_machine(tmp_path: Path) -> None:
    machine, container = tmp_path / "meminfo", tmp_path / "memory.max"
    machine.write_text("MemTotal:       2048 kB\nMemFree: 1 kB\n")
    container.write_text("max\n")
    assert read_allowed_bytes(machine, (container,)) == 2048 * 1024
    container.write_text("1000000\n")
    assert read_allowed_bytes(machine, (container,)) == 1_000_000


def test_this_process_uses_less_than_it_may() -> None:
    resident, allowed = read_resident_bytes(), read_allowed_bytes()
    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux tells")
    assert resident is not None
    assert allowed is not None
    assert 1024 * 1024 < resident < allowed <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.fixture
def descriptors() -> Iterator[tuple[int, int]]:
    """The soft and the hard limit, which are there again afterwards."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield limits
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_soft_limit_on_descriptors_is_raised_as_far_as_needed(descriptors: tuple[int, int]) -> None:
    _, hard = descriptors
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    assert allow_descriptors(300) == 300
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (300, hard)
    assert allow_descriptors(200) == 300, "and is not lowered"


def test_a_hard_limit_on_descriptors_is_told(descriptors: tuple[int, int]) -> None:
    _, hard = descriptors
    assert allow_descriptors(hard + 1) == hard
