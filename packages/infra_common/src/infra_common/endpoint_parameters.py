"""Where a speech endpoint is and who uses it, as SSM parameters: the one thing that the two commands tell each other.

`speech-infra` publishes an endpoint under /speech/<stage>/<model>/. Whoever uses it (an agent) writes a parameter of
its own beneath, from the stack that needs the endpoint, so that it goes when the user goes; `speech-infra destroy`
looks there first. Standard parameters are free.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_MOST_USERS: Final = 1000


@dataclass(frozen=True, slots=True)
class EndpointParameters:
    """The names of one endpoint's parameters; `model` is a model of speech-infra's catalogue, such as kokoro-82m."""

    stage: str
    model: str

    @property
    def prefix(self) -> str:
        """What all of them begin with."""
        return f"/speech/{self.stage}/{self.model}"

    @property
    def endpoint_name(self) -> str:
        """The SageMaker endpoint's name."""
        return f"{self.prefix}/endpoint-name"

    @property
    def endpoint_arn(self) -> str:
        """What a user's role must be allowed to invoke."""
        return f"{self.prefix}/endpoint-arn"

    @property
    def region(self) -> str:
        """Where it is."""
        return f"{self.prefix}/region"

    @property
    def release(self) -> str:
        """What is released there; its versions are the history."""
        return f"{self.prefix}/release"

    @property
    def users(self) -> str:
        """The path beneath which users write theirs."""
        return f"{self.prefix}/used-by"

    def user(self, name: str) -> str:
        """The parameter that a user of that name writes, with `EndpointUser.render()` in it. Raises ValueError."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"a user's name: expected 1 to 64 of letters, digits and _.-, found {name!r}")
        return f"{self.users}/{name}"


@dataclass(frozen=True, slots=True)
class EndpointUser:
    """Somebody who uses an endpoint: `kind` as a person says it ("agent"), and the command that takes it down."""

    kind: str
    name: str
    removal: str

    def render(self) -> str:
        """As it is stored. Equal users are equal texts."""
        return json.dumps({"kind": self.kind, "name": self.name, "removal": self.removal}, sort_keys=True)

    @classmethod
    def read(cls, parameter: Mapping[str, Any]) -> Self:
        """From SSM's answer; a value that is not ours still counts as a user, under its parameter's last part."""
        name = str(parameter["Name"]).rpartition("/")[2]
        try:
            value = json.loads(parameter["Value"])
            return cls(str(value["kind"]), str(value["name"]), str(value["removal"]))
        except (ValueError, KeyError, TypeError):
            return cls("user", name, f"aws ssm get-parameter --name {parameter['Name']}   (it says who)")


def users_of(ssm: Any, parameters: EndpointParameters) -> list[EndpointUser]:
    """Everybody who uses the endpoint, by name; empty where nobody does. Raises what botocore raises."""
    pages = ssm.get_paginator("get_parameters_by_path").paginate(
        Path=parameters.users, Recursive=False, PaginationConfig={"MaxItems": _MOST_USERS}
    )
    found = [EndpointUser.read(each) for page in pages for each in page["Parameters"]]
    return sorted(found, key=lambda each: each.name)
