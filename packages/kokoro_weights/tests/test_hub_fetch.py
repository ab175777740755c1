"""The real huggingface_hub client against a hub on loopback."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from kokoro_weights.errors import SourceMissing, SourceUnavailable
from kokoro_weights.hub_fetch import HubFetch
from kokoro_weights.pins import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PINS = load().hub
CONTENT = b"0123456789" * 1000


class Handler(BaseHTTPRequestHandler):
    """Serves one file at the pinned revision the way the hub does, and 404 for the rest."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        found = self.path == f"/{PINS.repository}/resolve/{PINS.revision}/config.json"
        self.send_response(200 if found else 404)
        if found:
            self.send_header("ETag", f'"{hashlib.sha256(CONTENT).hexdigest()}"')
            self.send_header("X-Repo-Commit", PINS.revision)
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(CONTENT)) if found else "0")
        self.end_headers()
        if found and body:
            self.wfile.write(CONTENT)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Tests are quiet."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_of_the_pinned_revision_is_fetched_and_reported(endpoint: str, tmp_path: Path) -> None:
    reports: list[tuple[int, int | None]] = []
    path = HubFetch(PINS, endpoint=endpoint, cache=tmp_path)("config.json", lambda *report: reports.append(report))
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(tmp_path)
    assert reports[-1] == (len(CONTENT), len(CONTENT))


def test_a_file_that_is_not_there_is_named(endpoint: str, tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"did not deliver voices/x\.pt of hexgrad/Kokoro-82M at f3ff3571791e"):
        HubFetch(PINS, endpoint=endpoint, cache=tmp_path)("voices/x.pt", lambda *_: None)


def test_what_was_fetched_once_needs_no_network(endpoint: str, tmp_path: Path) -> None:
    HubFetch(PINS, endpoint=endpoint, cache=tmp_path)("config.json", lambda *_: None)
    nowhere = HubFetch(PINS, endpoint="http://127.0.0.1:9", cache=tmp_path)
    assert nowhere("config.json", lambda *_: None).read_bytes() == CONTENT


def test_the_clients_own_notices_are_quiet_only_meanwhile(endpoint: str, tmp_path: Path) -> None:
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    with pytest.raises(SourceUnavailable):
        HubFetch(PINS, endpoint=endpoint, cache=tmp_path)("nothing", lambda *_: None)
    assert logger.level == before


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SourceMissing, match=r"kokoro-weights\[hub\]"):
        HubFetch(PINS)("config.json", lambda *_: None)
