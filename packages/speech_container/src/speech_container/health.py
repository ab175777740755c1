"""`python -m speech_container.health`: whether the server on this machine is ready, for an image's HEALTHCHECK.

A module of its own, because it starts every few seconds beside the engine: it imports no web framework, and takes a
tenth of the time that the command would.
"""

import http.client
import sys
from http import HTTPStatus
from typing import Final

from .settings import Settings

_ANSWER_S: Final = 4.0  # the image gives the check five
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names what is listened on, to find it


def status(host: str, port: int) -> int | None:
    """What `/ping` answers there, or None where nobody does."""
    connection = http.client.HTTPConnection(_EVERYWHERE.get(host, host), port, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/ping")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def main() -> int:
    """0 where `/ping` is 200, else 1 with one line on stdout, which `docker inspect` shows."""
    settings = Settings.from_environment()
    found = status(settings.host, settings.port)
    if found == HTTPStatus.OK:
        return 0
    where = f"port {settings.port} of {settings.host}"
    sys.stdout.write(f"/ping at {where}: expected 200, {f'{found} came' if found else 'nobody answers'}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
