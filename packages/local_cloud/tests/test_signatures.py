import datetime as dt
from urllib.parse import urlsplit

import pytest
from aws_sdk_signers import AsyncEventSigner, AWSCredentialIdentity, SigV4SigningProperties
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from local_cloud.errors import SignatureRefused
from local_cloud.event_stream import decode_frame
from local_cloud.signatures import ChunkVerifier, Credentials, Signature, SignatureVerifier, SignedRequest, utc_now
from smithy_aws_event_stream.events import EventHeaderEncoder, EventMessage

URL = "http://127.0.0.1:9000/model/us.some%3Amodel/converse-stream?b=2&a=1%2F"
BODY = b'{"messages": []}'


def verifier(credentials: Credentials, later: dt.timedelta = dt.timedelta(0)) -> SignatureVerifier:
    return SignatureVerifier(credentials, service="bedrock", region="us-east-1", clock=lambda: utc_now() + later)


def signed(credentials: Credentials, service: str = "bedrock", region: str = "us-east-1") -> SignedRequest:
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key, credentials.session_token)
    request = AWSRequest("POST", URL, {"Content-Type": "application/json"}, BODY)
    SigV4Auth(known, service, region).add_auth(request)
    return as_received(request, BODY)


def as_received(request: AWSRequest, body: bytes) -> SignedRequest:
    parts = urlsplit(request.url)
    headers = {name.lower(): value for name, value in request.headers.items()} | {"host": parts.netloc}
    return SignedRequest(request.method, f"{parts.path}?{parts.query}", list(headers.items()), body)


def changed(request: SignedRequest, **headers: str | None) -> SignedRequest:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = [(name, value) for name, value in request.headers if name not in given]
    added = [(name, value) for name, value in given.items() if value is not None]
    return SignedRequest(request.method, request.target, kept + added, request.body)


def code_of(credentials: Credentials, request: SignedRequest) -> str:
    with pytest.raises(SignatureRefused) as refused:
        verifier(credentials).verify(request)
    return refused.value.code


def test_a_request_signed_by_botocore_is_accepted(credentials: Credentials) -> None:
    signature = verifier(credentials).verify(signed(credentials))
    assert (signature.region, signature.service) == ("us-east-1", "bedrock")
    assert len(signature.value) == 64


def test_a_session_token_is_part_of_who_signs(credentials: Credentials) -> None:
    with_token = Credentials(credentials.access_key_id, credentials.secret_access_key, "a-token")
    verifier(with_token).verify(signed(with_token))
    assert code_of(with_token, signed(credentials)) == "UnrecognizedClientException"


def test_the_wrong_secret_is_refused(credentials: Credentials) -> None:
    wrong = Credentials(credentials.access_key_id, "guess")
    assert code_of(credentials, signed(wrong)) == "InvalidSignatureException"


def test_somebody_unknown_is_refused(credentials: Credentials) -> None:
    assert code_of(credentials, signed(Credentials("AKIAOTHER", "s"))) == "UnrecognizedClientException"


def test_an_unsigned_request_is_refused(credentials: Credentials) -> None:
    unsigned = changed(signed(credentials), authorization=None)
    assert code_of(credentials, unsigned) == "MissingAuthenticationTokenException"


@pytest.mark.parametrize("header", ["Bearer abc", "AWS4-HMAC-SHA256 Credential=x", "AWS4-HMAC-SHA256 "])
def test_an_unreadable_authorization_is_refused(credentials: Credentials, header: str) -> None:
    assert code_of(credentials, changed(signed(credentials), authorization=header)) == "IncompleteSignatureException"


def test_a_credential_without_its_scope_is_refused(credentials: Credentials) -> None:
    header = f"AWS4-HMAC-SHA256 Credential=AKIALOCALTEST/2026, SignedHeaders=host, Signature={'0' * 64}"
    assert code_of(credentials, changed(signed(credentials), authorization=header)) == "IncompleteSignatureException"


@pytest.mark.parametrize("scope", [{"service": "sagemaker"}, {"region": "eu-west-1"}])
def test_a_signature_for_elsewhere_is_refused(credentials: Credentials, scope: dict[str, str]) -> None:
    assert code_of(credentials, signed(credentials, **scope)) == "InvalidSignatureException"


def test_a_tampered_request_is_refused(credentials: Credentials) -> None:
    good = signed(credentials)
    other_body = SignedRequest(good.method, good.target, good.headers, b'{"messages": [1]}')
    other_path = SignedRequest(good.method, good.target.replace("some", "other"), good.headers, good.body)
    other_query = SignedRequest(good.method, good.target.replace("b=2", "b=3"), good.headers, good.body)
    other_header = changed(good, content_type="text/plain")
    for request in (other_body, other_path, other_query, other_header):
        assert code_of(credentials, request) == "InvalidSignatureException"


def test_a_body_that_is_not_the_declared_one_is_refused(credentials: Credentials) -> None:
    request = AWSRequest("POST", URL, {"X-Amz-Content-SHA256": "0" * 64}, BODY)
    SigV4Auth(
        BotoCredentials(credentials.access_key_id, credentials.secret_access_key), "bedrock", "us-east-1"
    ).add_auth(request)
    assert code_of(credentials, as_received(request, BODY)) == "InvalidSignatureException"


@pytest.mark.parametrize("minutes", [16, -16])
def test_an_old_or_early_signature_is_refused(credentials: Credentials, minutes: int) -> None:
    with pytest.raises(SignatureRefused, match=r"expired|not yet current"):
        verifier(credentials, dt.timedelta(minutes=minutes)).verify(signed(credentials))


def test_a_request_without_a_date_is_refused(credentials: Credentials) -> None:
    assert code_of(credentials, changed(signed(credentials), x_amz_date=None)) == "InvalidSignatureException"


def presigned(credentials: Credentials, expires_s: int = 300) -> SignedRequest:
    request = AWSRequest("GET", "http://127.0.0.1:9000/runtimes/arn%3Aaws/ws?x=1")
    known = BotoCredentials(credentials.access_key_id, credentials.secret_access_key)
    SigV4QueryAuth(known, "bedrock", "us-east-1", expires=expires_s).add_auth(request)
    return as_received(request, b"")


def test_a_presigned_url_is_accepted_until_it_expires(credentials: Credentials) -> None:
    verifier(credentials).verify(presigned(credentials))
    verifier(credentials, dt.timedelta(seconds=298)).verify(presigned(credentials))
    with pytest.raises(SignatureRefused, match="expired"):
        verifier(credentials, dt.timedelta(seconds=302)).verify(presigned(credentials))


def test_a_changed_presigned_url_is_refused(credentials: Credentials) -> None:
    good = presigned(credentials)
    bad = SignedRequest(good.method, good.target.replace("x=1", "x=2"), good.headers, good.body)
    assert code_of(credentials, bad) == "InvalidSignatureException"


async def chain(credentials: Credentials, payloads: list[bytes]) -> list[EventMessage]:
    signer = AsyncEventSigner(initial_signature=b"ab" * 32, event_encoder_cls=EventHeaderEncoder)
    who = AWSCredentialIdentity(
        access_key_id=credentials.access_key_id, secret_access_key=credentials.secret_access_key
    )
    where = SigV4SigningProperties(region="us-east-1", service="sagemaker")
    chunks = [await signer.sign(event=EventMessage(payload=p), identity=who, properties=where) for p in payloads]
    chunks.append(await signer.sign_empty(event=EventMessage(), identity=who, properties=where))
    return [decode_frame(chunk.encode()) for chunk in chunks]


def chunk_verifier(credentials: Credentials, later: dt.timedelta = dt.timedelta(0)) -> ChunkVerifier:
    return ChunkVerifier(credentials, Signature("ab" * 32, "us-east-1", "sagemaker"), lambda: utc_now() + later)


async def test_a_chain_signed_by_the_sdk_is_accepted(credentials: Credentials) -> None:
    verifies = chunk_verifier(credentials)
    for chunk in await chain(credentials, [b"one", b"two", bytes(1000)]):
        verifies.verify(chunk)


async def test_a_chunk_left_out_repeated_or_changed_breaks_the_chain(credentials: Credentials) -> None:
    one, two, end = await chain(credentials, [b"one", b"two"])
    fake = EventMessage(headers=two.headers, payload=b"fake")
    bare = EventMessage(payload=two.payload)
    for sequence in ([two], [one, one], [one, end], [one, fake], [one, bare]):
        verifies = chunk_verifier(credentials)
        for chunk in sequence[:-1]:
            verifies.verify(chunk)
        with pytest.raises(SignatureRefused) as refused:
            verifies.verify(sequence[-1])
        assert refused.value.code == "InvalidSignatureException"


async def test_an_old_chunk_is_refused(credentials: Credentials) -> None:
    one, _ = await chain(credentials, [b"one"])
    with pytest.raises(SignatureRefused, match="expired"):
        chunk_verifier(credentials, dt.timedelta(minutes=16)).verify(one)


def test_generated_credentials_differ_and_hide_their_secret() -> None:
    first, second = Credentials.generate(), Credentials.generate()
    assert first != second
    assert first.secret_access_key not in repr(first)
