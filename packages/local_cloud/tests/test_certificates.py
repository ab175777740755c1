import datetime as dt
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from local_cloud.certificates import create_certificates


def test_the_server_key_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    made = create_certificates(tmp_path / "new")
    assert stat.S_IMODE(made.server_key.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_nothing_but_three_files_is_left_and_the_authority_key_is_not_one(tmp_path: Path) -> None:
    create_certificates(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.pem", "server.key", "server.pem"]
    assert b"PRIVATE KEY" not in (tmp_path / "ca.pem").read_bytes()


def test_the_certificate_is_for_loopback_and_short_lived(tmp_path: Path) -> None:
    now = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
    made = create_certificates(tmp_path, now)
    server = x509.load_pem_x509_certificate(made.server.read_bytes())
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert server.not_valid_before_utc < now < server.not_valid_after_utc
    assert server.not_valid_after_utc - now < dt.timedelta(days=8)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_shakes_hands_on_h2(tmp_path: Path, host: str) -> None:
    made = create_certificates(tmp_path)
    client_context = ssl.create_default_context(cafile=str(made.ca))
    client_context.set_alpn_protocols(["h2"])
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=host)
    server = made.server_context().wrap_bio(to_server, to_client, server_side=True)
    unfinished = [client, server]
    for _ in range(10):
        for side in list(unfinished):
            try:
                side.do_handshake()
                unfinished.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not unfinished
    assert client.selected_alpn_protocol() == server.selected_alpn_protocol() == "h2"


def test_making_them_again_replaces_them(tmp_path: Path) -> None:
    first = create_certificates(tmp_path).ca.read_bytes()
    assert create_certificates(tmp_path).ca.read_bytes() != first
