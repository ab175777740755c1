"""The advisories about Python packages from a file, for a machine that reaches no advisory service.

The file is OSV's export of the ecosystem PyPI: a zip with one JSON record an advisory (https://ossf.github.io/osv-schema),
which somebody fetched elsewhere. It ages: nothing that was published after its newest record is in it.
"""

from __future__ import annotations

import json
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ECOSYSTEM: Final = "PyPI"


@dataclass(frozen=True, slots=True)
class Advisories:
    """By canonical name of the package. `newest`: when the latest of them was last changed."""

    by_package: dict[str, list[dict[str, Any]]]
    newest: datetime

    @classmethod
    def read(cls, archive: Path) -> Advisories:
        """Raises OSError, ValueError or zipfile.BadZipFile where the file is no such export."""
        by_package: dict[str, list[dict[str, Any]]] = defaultdict(list)
        changed: list[datetime] = []
        with zipfile.ZipFile(archive) as records:
            for member in records.namelist():
                record = json.loads(records.read(member))
                changed.append(datetime.fromisoformat(record["modified"]))
                if "withdrawn" in record:
                    continue
                for name in {_package(affected) for affected in record.get("affected", ())} - {None}:
                    by_package[str(name)].append(record)
        if not changed:
            raise ValueError(f"{archive}: expected one JSON record an advisory, found none")
        return cls(dict(by_package), max(changed))

    def holes(self, name: str, version: str) -> list[str]:
        """The ids of the advisories about a release: one for each hole, PYSEC's where there is one."""
        wanted, release = canonicalize_name(name), Version(version)
        hits = [
            record
            for record in self.by_package.get(wanted, ())
            if any(_package(each) == wanted and _affects(each, release) for each in record["affected"])
        ]
        told: set[str] = set()
        found: list[str] = []
        for record in sorted(hits, key=lambda hit: (not hit["id"].startswith("PYSEC-"), hit["id"])):
            names = {record["id"], *record.get("aliases", ())}
            if not names & told:
                found.append(record["id"])
            told |= names
        return found


def _package(affected: dict[str, Any]) -> str | None:
    package = affected.get("package", {})
    return canonicalize_name(package["name"]) if package.get("ecosystem") == ECOSYSTEM else None


def _affects(affected: dict[str, Any], release: Version) -> bool:
    """As the schema says: listed, or in a range. A version that nobody can read counts, so that a person looks."""
    try:
        listed = {Version(version) for version in affected.get("versions", ())}
        ranges = [each["events"] for each in affected.get("ranges", ()) if each["type"] == "ECOSYSTEM"]
        return release in listed or any(_is_in(events, release) for events in ranges)
    except InvalidVersion:
        return True


def _is_in(events: list[dict[str, str]], release: Version) -> bool:
    at = sorted(
        ((Version(version), kind) for event in events for kind, version in event.items()), key=lambda one: one[0]
    )
    is_affected = False
    for version, kind in at:
        match kind:
            case "introduced" if release >= version:
                is_affected = True
            case "fixed" if release >= version:
                is_affected = False
            case "last_affected" if release > version:
                is_affected = False
            case _:
                pass
    return is_affected
