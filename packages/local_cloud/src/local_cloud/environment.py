"""What services of the local stack inherit from whoever starts it: everything but what would lead an AWS client away.

A person's shell often says whom to be at AWS (AWS_PROFILE, AWS_SESSION_TOKEN), where AWS is (AWS_ENDPOINT_URL,
AWS_USE_FIPS_ENDPOINT) and which proxy the web is behind. Clients of loopback planes must follow none of it, nor the
shared files in the home directory; `client_session` is the same for a client in this process. Proxies stay for whatever
else a service may fetch.
"""

import os
from collections.abc import Mapping
from typing import Final

import botocore.session

LOOPBACK: Final = "127.0.0.1,localhost"
_NO_PROXY: Final = ("no_proxy", "NO_PROXY")
_NO_FILES: Final = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without AWS settings, and with loopback addresses excepted from its proxies."""
    kept = {name: value for name, value in environment.items() if not name.upper().startswith("AWS_")}
    excepted = next((kept[name] for name in _NO_PROXY if kept.get(name)), "")
    no_proxy = f"{excepted},{LOOPBACK}" if excepted else LOOPBACK
    return kept | _NO_FILES | {"AWS_EC2_METADATA_DISABLED": "true"} | dict.fromkeys(_NO_PROXY, no_proxy)


def client_session() -> botocore.session.Session:
    """A botocore session that knows neither the environment's profile nor the shared files."""
    nowhere = (None, None, os.devnull, None)
    return botocore.session.Session(
        session_vars={"profile": (None, None, None, None), "config_file": nowhere, "credentials_file": nowhere}
    )
