"""Makers of single resources for the stack engine, each through the account's own public API."""

from collections.abc import Callable, Mapping
from typing import Final

from ..errors import ResourceRefused
from . import agentcore, building, egress, hosting, identity, monitoring, network, scaling, storage
from .base import Clients, Simple

_KINDS: Final[Mapping[str, Callable[[Clients], Simple]]] = {
    kind: maker
    for module in (agentcore, building, egress, hosting, identity, monitoring, network, scaling, storage)
    for kind, maker in module.KINDS.items()
}


def provider_for(kind: str, clients: Clients) -> Simple:
    """The maker of resources of a CloudFormation type."""
    maker = _KINDS.get(kind)
    if maker is None:
        raise ResourceRefused(f"Template format error: Unrecognized resource types: [{kind}] (add it to providers)")
    return maker(clients)


__all__ = ["provider_for"]
