"""A throw-away certificate authority, because the SageMaker HTTP/2 client speaks nothing but TLS with ALPN h2.

The authority signs one certificate for localhost and 127.0.0.1 and its key is forgotten at once: nothing else can
ever be signed by it. Only the server's key is written, readable by its owner alone."""

import datetime as dt
import ipaddress
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_FOR = dt.timedelta(days=7)
"""A stack lives for hours; a forgotten directory should not stay trusted for long."""


@dataclass(frozen=True)
class Certificates:
    """Where the PEM files lie: `ca` is what clients trust, `server` and `server_key` are the gateway's own."""

    ca: Path
    server: Path
    server_key: Path

    def server_context(self) -> ssl.SSLContext:
        """A TLS 1.2+ server context that offers HTTP/2 and nothing else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.server, self.server_key)
        context.set_alpn_protocols(["h2"])
        return context


def create_certificates(directory: Path, now: dt.datetime | None = None) -> Certificates:
    """Write a new authority's certificate and a server certificate signed by it into `directory`.

    The directory is made (0700) where it is missing; files of an earlier run are replaced. `now` defaults to the clock.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    begins = (now or dt.datetime.now(dt.UTC)) - dt.timedelta(hours=1)
    ends = begins + VALID_FOR
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("Local voice stack, throw-away authority")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), begins, ends)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    server = (
        _builder(_name("localhost"), ca_name, server_key.public_key(), begins, ends)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    made = Certificates(directory / "ca.pem", directory / "server.pem", directory / "server.key")
    _write(made.ca, ca.public_bytes(serialization.Encoding.PEM), mode=0o644)
    _write(made.server, server.public_bytes(serialization.Encoding.PEM), mode=0o644)
    key = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(made.server_key, key, mode=0o600)
    return made


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begins: dt.datetime, ends: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace `path` in one step, so that a reader never sees half a file or a key with a wider mode."""
    scratch = path.with_suffix(path.suffix + f".{os.getpid()}")
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
    scratch.replace(path)
