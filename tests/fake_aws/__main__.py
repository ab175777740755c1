"""`python -m tests.fake_aws --registry DIR`: serve an account on a free port of loopback until SIGTERM.

The first line of standard output is JSON: `url` of the account and `registry`, host and port of the container registry.
"""

import argparse
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from werkzeug.serving import make_server

from .ports import free_port


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.fake_aws")
    parser.add_argument("--registry", type=Path, required=True, help="where the container registry keeps its images")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        del os.environ[name]  # the account's own clients must follow nobody's settings
    os.environ["MOTO_ENABLE_ISO_REGIONS"] = "false"
    port = arguments.port or free_port()
    url = f"http://127.0.0.1:{port}"

    from moto.server import MotoRequestHandler

    from .account import FakeAccount
    from .application import Application
    from .registry import running_registry

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with running_registry(arguments.registry) as registry:
        server = make_server(
            "127.0.0.1",
            port,
            Application(FakeAccount(url, registry)),
            threaded=True,
            request_handler=MotoRequestHandler,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        print(json.dumps({"url": url, "registry": registry.host}), flush=True)  # noqa: T201 - read by who started this
        server.serve_forever()
    sys.exit(0)


if __name__ == "__main__":
    main()
