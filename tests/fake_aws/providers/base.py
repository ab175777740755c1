"""What every maker has: clients of the account, and the usual answers for what it does not do."""

import random
from collections.abc import Callable, Mapping
from string import ascii_lowercase, digits
from typing import Any

from ..errors import ResourceRefused
from ..stack import Made


class Clients:
    """boto3 clients of this account in one region, made once each."""

    def __init__(self, make: Callable[[str], Any], account_id: str, region: str) -> None:
        self._make = make
        self._made: dict[str, Any] = {}
        self.account_id = account_id
        self.region = region

    def __getitem__(self, service: str) -> Any:
        if service not in self._made:
            self._made[service] = self._make(service)
        return self._made[service]


class Simple:
    """A maker whose resources are replaced when they change, and cannot be adopted."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """See stack_engine.Provider."""
        raise NotImplementedError

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """See stack_engine.Provider."""
        del made, old, new
        return None

    def delete(self, made: Made, properties: Mapping[str, Any]) -> None:
        """See stack_engine.Provider."""

    def adopt(self, properties: Mapping[str, Any]) -> Made | None:
        """See stack_engine.Provider."""
        del properties
        return None


class Nothing(Simple):
    """For types whose effect nobody here looks at."""

    def create(self, name: str, properties: Mapping[str, Any], tags: Mapping[str, str]) -> Made:
        """It exists by its name alone."""
        del properties, tags
        return Made(name)

    def update(self, made: Made, old: Mapping[str, Any], new: Mapping[str, Any]) -> Made | None:
        """Nothing to do."""
        del old, new
        return made


def exists_already(kind: str, name: str) -> ResourceRefused:
    """CloudFormation's words for a name that is taken."""
    return ResourceRefused(f"Resource of type '{kind}' with identifier '{name}' already exists.")


def tag_list(tags: Mapping[str, str], *, keys: tuple[str, str] = ("Key", "Value")) -> list[dict[str, str]]:
    """Tags as most APIs take them, without the reserved ones."""
    return [{keys[0]: key, keys[1]: value} for key, value in tags.items() if not key.startswith("aws:")]


def short_name(name: str, length: int) -> str:
    """A generated name that fits: cut at its front part, never at its unique end."""
    if len(name) <= length:
        return name
    unique = "".join(random.choices(ascii_lowercase + digits, k=12))
    return f"{name[: length - 13]}-{unique}"


def lower_first(value: Any) -> Any:
    """PascalCase keys of a template as the camelCase of a JSON API; not for maps of user data."""
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: lower_first(item) for key, item in value.items()}
    return [lower_first(item) for item in value] if isinstance(value, list) else value
