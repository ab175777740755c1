"""boto3 clients of one account and region, with bounded waits, made when they are first wanted."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, Final

from infra_common.errors import UsageError

CONNECT_S: Final = 5
READ_S: Final = 30
ATTEMPTS: Final = 6
"""botocore's standard mode: throttling is waited out with growing, jittered pauses, about half a minute together."""
PRICE_REGION: Final = "us-east-1"


class AwsSession:
    """`region` and `profile` as a person gave them; None for what the environment says."""

    def __init__(self, region: str | None = None, profile: str | None = None) -> None:
        self._asked_region = region
        self.profile = profile
        self._clients: dict[tuple[str, str], Any] = {}

    @cached_property
    def region(self) -> str:
        """Raises UsageError where nobody has named one."""
        found = self._asked_region or self._session.region_name or os.environ.get("AWS_REGION")
        if not found:
            raise UsageError(
                "no AWS region is set", fix="add --region us-east-1, or set AWS_REGION, or run `aws configure`"
            )
        return str(found)

    @cached_property
    def account(self) -> str:
        """The account's number, asked once. Raises what botocore raises."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def client(self, service: str, region: str | None = None) -> Any:
        """A boto3 client, always the same one."""
        where = region or self.region
        if (service, where) not in self._clients:
            from botocore.config import Config

            config = Config(
                connect_timeout=CONNECT_S,
                read_timeout=READ_S,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                max_pool_connections=16,
            )
            self._clients[service, where] = self._session.client(service, region_name=where, config=config)
        return self._clients[service, where]

    def has_service(self, service: str) -> bool:
        """Whether botocore's own data knows the service in this region; no call."""
        known: list[str] = self._session.get_available_regions(service)
        return not known or self.region in known

    def environment(self) -> dict[str, str]:
        """What a child process needs to be at the same account: the region, and the profile where one was given."""
        given = dict(os.environ) | {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}
        return given | ({"AWS_PROFILE": self.profile} if self.profile else {})

    @cached_property
    def _session(self) -> Any:
        import boto3

        return boto3.Session(profile_name=self.profile)
