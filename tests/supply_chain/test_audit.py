"""What was not asked is never told as clean, and advisories from a file are read as their schema says."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tools.advisories import Advisories
from tools.audit import EXIT_CODES, Check, judged, looked_up

NOW = datetime(2026, 11, 29, tzinfo=UTC)
FOUND = Check("cpu image", (("torch", "2.9.0", "PYSEC-2026-1"),))


def record(identity: str, *, package: str = "torch", aliases: tuple[str, ...] = (), **affected: Any) -> dict[str, Any]:
    about = {"package": {"ecosystem": "PyPI", "name": package}} | affected
    return {"id": identity, "modified": NOW.isoformat(), "aliases": aliases, "affected": [about]}


def events(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"type": "ECOSYSTEM", "events": [{kind: version} for kind, version in pairs]}]


def archive(folder: Path, *records: dict[str, Any]) -> Advisories:
    with zipfile.ZipFile(folder / "all.zip", "w") as file:
        for each in records:
            file.writestr(f"{each['id']}.json", json.dumps(each))
    return Advisories.read(folder / "all.zip")


def test_what_was_not_run_is_not_clean() -> None:
    word, lines = judged([Check("cpu image"), Check("npm", not_run="no answer")], set())
    assert word == "not audited"
    assert EXIT_CODES[word] != 0
    assert lines == ["cpu image: 0 findings, 0 not argued in docs/security.md", "npm: NOT RUN: no answer"]


def test_a_finding_counts_though_other_checks_were_not_run() -> None:
    assert judged([FOUND, Check("npm", not_run="no answer")], set())[0] == "findings"


def test_a_finding_that_is_argued_is_let_through_and_an_argument_without_one_is_not() -> None:
    assert judged([FOUND], {"PYSEC-2026-1"})[0] == "clean"
    assert judged([Check("cpu image")], {"PYSEC-2026-1"})[0] == "findings"
    assert judged([Check("cpu image", not_run="no answer")], {"PYSEC-2026-1"})[0] == "not audited"


@pytest.mark.parametrize(
    ("version", "is_affected"),
    [
        *(("1.9", False), ("2.0", True), ("2.9.1", True), ("2.10", False)),
        *(("3.0rc1", False), ("3.0", True), ("3.1", True), ("3.1.post1", False)),
    ],
)
def test_a_range_begins_where_it_was_introduced_and_ends_where_it_was_fixed(
    version: str, is_affected: bool, tmp_path: Path
) -> None:
    ranges = events(("introduced", "2.0"), ("fixed", "2.10"), ("introduced", "3.0"), ("last_affected", "3.1"))
    found = archive(tmp_path, record("PYSEC-2026-1", ranges=ranges))
    assert found.holes("Torch", version) == (["PYSEC-2026-1"] if is_affected else [])


def test_a_release_that_is_listed_is_affected_however_it_is_written(tmp_path: Path) -> None:
    found = archive(tmp_path, record("PYSEC-2026-1", versions=["1.0", "2.0.0"]))
    assert found.holes("torch", "2.0") == ["PYSEC-2026-1"]
    assert found.holes("torch", "2.0.1") == []


def test_one_hole_has_one_id(tmp_path: Path) -> None:
    everything = events(("introduced", "0"))
    found = archive(
        tmp_path,
        record("GHSA-aaaa", aliases=("CVE-2026-1", "PYSEC-2026-1"), ranges=everything),
        record("PYSEC-2026-1", aliases=("CVE-2026-1",), ranges=everything),
        record("GHSA-bbbb", ranges=everything),
    )
    assert found.holes("torch", "2.15.0") == ["PYSEC-2026-1", "GHSA-bbbb"]


def test_other_packages_and_withdrawn_advisories_do_not_count(tmp_path: Path) -> None:
    everything = events(("introduced", "0"))
    withdrawn = record("PYSEC-2026-2", ranges=everything) | {"withdrawn": NOW.isoformat()}
    found = archive(tmp_path, record("PYSEC-2026-1", package="torchaudio", ranges=everything), withdrawn)
    assert found.holes("torch", "2.15.0") == []
    assert found.holes("torchaudio", "2.15.0") == ["PYSEC-2026-1"]


def test_a_version_that_cannot_be_read_is_for_a_person_to_look_at(tmp_path: Path) -> None:
    assert archive(tmp_path, record("PYSEC-2026-1", versions=["two"])).holes("torch", "2.0") == ["PYSEC-2026-1"]


def test_a_lock_is_looked_up_package_by_package(tmp_path: Path) -> None:
    found = archive(tmp_path, record("PYSEC-2026-1", versions=["2.9.0"]))
    locked = "numpy==2.5.5\ntorch==2.9.0 ; sys_platform == 'linux'\n\n"
    assert looked_up("gpu image", locked, found, NOW) == Check("gpu image", (("torch", "2.9.0", "PYSEC-2026-1"),))


def test_an_old_file_is_no_audit(tmp_path: Path) -> None:
    found = archive(tmp_path, record("PYSEC-2026-1", versions=["2.9.0"]))
    assert "20 days old" in looked_up("gpu image", "", found, NOW + timedelta(days=20)).not_run


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found none"):
        archive(tmp_path)
