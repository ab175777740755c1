"""Checking AWS Signature Version 4, so that a client which signs wrongly fails here as it would on AWS.

A request is signed once, in a header or in its query string; a signed event stream goes on from there: the signature
of each chunk covers the one before it, beginning with the request's own. Both are recomputed with botocore's signer
from what was received, and compared in constant time. Nothing here does I/O; the clock comes in from outside."""

import datetime as dt
import hashlib
import hmac
import re
import secrets
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import botocore.auth
import botocore.awsrequest
import botocore.credentials
from smithy_aws_event_stream.events import EventMessage

from local_cloud.errors import SignatureRefused

TIMESTAMP = "%Y%m%dT%H%M%SZ"
MAX_SKEW = dt.timedelta(minutes=15)
"""AWS refuses what was signed more than 15 minutes ago, or more than 15 minutes ahead."""

_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=(?P<credential>[^,\s]+), *SignedHeaders=(?P<headers>[^,\s]+), *"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")
_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method."
)


def utc_now() -> dt.datetime:
    """The clock that verifiers use unless they are given another."""
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class Credentials:
    """The one identity that a local cloud knows."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)

    @classmethod
    def generate(cls) -> "Credentials":
        """New random credentials, good for one run of the stack and worth nothing on AWS."""
        return cls("AKIALOCAL" + secrets.token_hex(6)[:11].upper(), secrets.token_urlsafe(30))


@dataclass(frozen=True)
class SignedRequest:
    """A request as it came over the wire.

    `target` is the undecoded path with its query string, `headers` have lower-case names, `body` is None where the
    body is a signed event stream and is checked chunk by chunk."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes | None


@dataclass(frozen=True)
class Signature:
    """A verified signature: what the chain of chunk signatures begins with."""

    value: str
    region: str
    service: str


@dataclass(frozen=True)
class _Claim:
    """What a request says about how it was signed."""

    credential: str
    signed_headers: frozenset[str]
    signature: str
    timestamp: str
    target: str
    token: str | None
    lasts: dt.timedelta


class SignatureVerifier:
    """Checks requests to one service in one region against one set of credentials."""

    def __init__(
        self, credentials: Credentials, *, service: str, region: str, clock: Callable[[], dt.datetime] = utc_now
    ) -> None:
        self._credentials = credentials
        self._service = service
        self._region = region
        self._clock = clock

    def verify(self, request: SignedRequest) -> Signature:
        """Return the request's signature where it is right.

        Raises:
            SignatureRefused: unsigned, unreadable, for another service or region, by somebody else, too old, or
                tampered with.
        """
        headers = dict(request.headers)
        claim = _claim(request, headers)
        key_id, date, region, service = self._scope(claim)
        if key_id != self._credentials.access_key_id or claim.token != self._credentials.session_token:
            raise SignatureRefused(
                "UnrecognizedClientException", "The security token included in the request is invalid."
            )
        if (region, service) != (self._region, self._service):
            raise SignatureRefused(
                "InvalidSignatureException",
                f"Credential should be scoped to {self._service!r} in {self._region!r}, got {service!r} in {region!r}.",
            )
        if date != claim.timestamp[:8]:
            raise SignatureRefused(
                "InvalidSignatureException", "The date in the credential scope is not the date of the request."
            )
        _check_age(claim.timestamp, claim.lasts, self._clock())
        if "host" not in claim.signed_headers:
            raise SignatureRefused("InvalidSignatureException", "'Host' must be a signed header.")
        self._check_body(request.body, headers)
        if not hmac.compare_digest(self._sign(request, claim), claim.signature):
            raise SignatureRefused("InvalidSignatureException", _MISMATCH)
        return Signature(claim.signature, region, service)

    def chunks(self, signature: Signature) -> "ChunkVerifier":
        """The verifier of the event stream that follows a request with this signature."""
        return ChunkVerifier(self._credentials, signature, self._clock)

    def _scope(self, claim: _Claim) -> tuple[str, str, str, str]:
        parts = claim.credential.split("/")
        if len(parts) != 5 or parts[4] != "aws4_request":
            raise SignatureRefused(
                "IncompleteSignatureException",
                "Credential must be <access key>/<date>/<region>/<service>/aws4_request.",
            )
        return parts[0], parts[1], parts[2], parts[3]

    def _check_body(self, body: bytes | None, headers: dict[str, str]) -> None:
        declared = headers.get("x-amz-content-sha256")
        if body is None or declared is None or not _SHA256_HEX.fullmatch(declared):
            return
        if not hmac.compare_digest(declared, hashlib.sha256(body).hexdigest()):
            raise SignatureRefused("InvalidSignatureException", _MISMATCH)

    def _sign(self, request: SignedRequest, claim: _Claim) -> str:
        host = dict(request.headers).get("host", "")
        again = botocore.awsrequest.AWSRequest(
            method=request.method, url=f"http://{host}{claim.target}", data=request.body or b""
        )
        for name, value in request.headers:
            if name in claim.signed_headers:
                again.headers.add_header(name, value)
        again.context["timestamp"] = claim.timestamp
        signer = _signer(self._credentials, self._service, self._region)
        to_sign = signer.string_to_sign(again, signer.canonical_request(again))
        return str(signer.signature(to_sign, again))


class ChunkVerifier:
    """Checks the chain of chunk signatures on one signed event stream, in the order in which the chunks come."""

    def __init__(self, credentials: Credentials, signature: Signature, clock: Callable[[], dt.datetime]) -> None:
        self._signer = _signer(credentials, signature.service, signature.region)
        self._prior = signature.value
        self._clock = clock

    def verify(self, chunk: EventMessage) -> None:
        """Return where the chunk is the next one in the chain and whole.

        Raises:
            SignatureRefused: unsigned, too old, changed, left out, repeated or out of order.
        """
        date, signature = chunk.headers.get(":date"), chunk.headers.get(":chunk-signature")
        if not isinstance(date, dt.datetime) or not isinstance(signature, bytes):
            raise SignatureRefused(
                "InvalidSignatureException", "Every event must be signed: expected :date and :chunk-signature."
            )
        timestamp = date.astimezone(dt.UTC).strftime(TIMESTAMP)
        _check_age(timestamp, MAX_SKEW, self._clock())
        at = botocore.awsrequest.AWSRequest()
        at.context["timestamp"] = timestamp
        to_sign = "\n".join(
            (
                "AWS4-HMAC-SHA256-PAYLOAD",
                timestamp,
                self._signer.credential_scope(at),
                self._prior,
                hashlib.sha256(_date_header(date)).hexdigest(),
                hashlib.sha256(chunk.payload).hexdigest(),
            )
        )
        expected = str(self._signer.signature(to_sign, at))
        if not hmac.compare_digest(expected, signature.hex()):
            raise SignatureRefused("InvalidSignatureException", _MISMATCH)
        self._prior = expected


def _claim(request: SignedRequest, headers: dict[str, str]) -> _Claim:
    if authorization := headers.get("authorization"):
        match = _HEADER.fullmatch(authorization.strip())
        if match is None:
            raise SignatureRefused(
                "IncompleteSignatureException",
                "Authorization must be AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature.",
            )
        return _Claim(
            credential=match["credential"],
            signed_headers=frozenset(match["headers"].split(";")),
            signature=match["signature"],
            timestamp=headers.get("x-amz-date", ""),
            target=request.target,
            token=headers.get("x-amz-security-token"),
            lasts=MAX_SKEW,
        )
    path, _, query = request.target.partition("?")
    values = dict(parse_qsl(query, keep_blank_values=True))
    if "X-Amz-Signature" not in values:
        raise SignatureRefused("MissingAuthenticationTokenException", "Missing Authentication Token")
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("X-Amz-Signature="))
    expires = values.get("X-Amz-Expires", "")
    return _Claim(
        credential=values.get("X-Amz-Credential", ""),
        signed_headers=frozenset(values.get("X-Amz-SignedHeaders", "").split(";")),
        signature=values["X-Amz-Signature"],
        timestamp=values.get("X-Amz-Date", ""),
        target=f"{path}?{kept}",
        token=values.get("X-Amz-Security-Token"),
        lasts=dt.timedelta(seconds=int(expires) if expires.isascii() and expires.isdigit() else 0),
    )


def _check_age(timestamp: str, lasts: dt.timedelta, now: dt.datetime) -> None:
    try:
        signed = dt.datetime.strptime(timestamp, TIMESTAMP).replace(tzinfo=dt.UTC)
    except ValueError:
        raise SignatureRefused(
            "IncompleteSignatureException", "Expected a date of the form YYYYMMDDTHHMMSSZ in X-Amz-Date."
        ) from None
    if now - signed > lasts:
        raise SignatureRefused(
            "InvalidSignatureException",
            f"Signature expired: {timestamp} is more than {lasts} before {now:{TIMESTAMP}}.",
        )
    if signed - now > MAX_SKEW:
        raise SignatureRefused(
            "InvalidSignatureException", f"Signature not yet current: {timestamp} is after {now:{TIMESTAMP}}."
        )


def _date_header(date: dt.datetime) -> bytes:
    """The event-stream encoding of ``:date`` (type 8, milliseconds), which is what a chunk's signature covers."""
    return b"\x05:date\x08" + struct.pack("!q", round(date.timestamp() * 1000))


def _signer(credentials: Credentials, service: str, region: str) -> botocore.auth.SigV4Auth:
    known = botocore.credentials.Credentials(
        credentials.access_key_id, credentials.secret_access_key, credentials.session_token
    )
    return botocore.auth.SigV4Auth(known, service, region)
