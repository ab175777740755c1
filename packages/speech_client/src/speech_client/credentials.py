"""Where the SageMaker client's AWS credentials come from, and how they stay fresh.

The SDK's own chain (smithy-aws-core 0.12) knows the environment, shared config files and `credential_process`. It
does not know container and instance metadata (they need packages of their own), which is where a role comes from on
AgentCore, ECS, EKS and EC2, nor SSO and assumed roles. botocore's chain knows them all and is what every other AWS
client in the process uses, so it is asked here: one session for the life of the source, whose temporary credentials
it renews before they expire.

A stream is signed with one identity from beginning to end: each event's signature continues from the one before with
the key of the request. The SDK would ask its resolver for every event; it is given a fixed identity a connection, so
renewal falls between connections. Nothing here is written to the environment, a file or a log.
"""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any, Protocol

import botocore.exceptions
import botocore.session

from .errors import SpeechCredentialsError


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """One set of keys, as valid now."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


class CredentialSource(Protocol):
    """Asked once for every connection."""

    async def current(self) -> AwsCredentials:
        """Credentials that are valid now. Raises `SpeechCredentialsError`."""


class StaticCredentials:
    """Always the same keys: for tests and for loopback services, which check signatures against keys of their own."""

    def __init__(self, credentials: AwsCredentials) -> None:
        self._credentials = credentials

    async def current(self) -> AwsCredentials:
        """The keys."""
        return self._credentials


class DefaultCredentials:
    """botocore's chain: environment, shared files, SSO, assumed roles, process, container and instance metadata.

    `profile`: a profile of the shared files; AWS_PROFILE or "default" otherwise. Reading may take a second or two
    (files, the metadata service) and happens in a thread.
    """

    def __init__(self, profile: str | None = None) -> None:
        self._profile = profile
        self._lock = threading.Lock()
        self._found: Any = None

    async def current(self) -> AwsCredentials:
        """The chain's credentials, renewed where they are about to expire."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> AwsCredentials:
        try:
            with self._lock:
                if self._found is None:
                    self._found = botocore.session.Session(profile=self._profile).get_credentials()
                frozen = None if self._found is None else self._found.get_frozen_credentials()
        except botocore.exceptions.ProfileNotFound as error:
            raise SpeechCredentialsError(
                "the AWS profile asked for does not exist: `aws configure list-profiles` shows those that do; "
                "AWS_PROFILE names one"
            ) from error
        except (botocore.exceptions.UnauthorizedSSOTokenError, botocore.exceptions.TokenRetrievalError) as error:
            raise SpeechCredentialsError("the AWS SSO session has expired: run `aws sso login`") from error
        except botocore.exceptions.BotoCoreError as error:
            raise SpeechCredentialsError(
                f"AWS credentials are configured, but getting them failed ({type(error).__name__}): "
                f"`aws sts get-caller-identity` shows the same problem"
            ) from error
        if frozen is None or not frozen.access_key or not frozen.secret_key:
            raise SpeechCredentialsError(
                "no AWS credentials found in the environment, shared config files, container or instance metadata: "
                "run `aws configure` or `aws sso login`; on AgentCore or ECS, give the runtime an execution role"
            )
        return AwsCredentials(frozen.access_key, frozen.secret_key, frozen.token)
