"""botocore's chain, asked for real against files and processes that the tests write; no test needs a network."""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from speech_client import AwsCredentials, DefaultCredentials, SpeechCredentialsError, StaticCredentials

pytestmark = pytest.mark.usefixtures("no_aws")


def write_config(text: str) -> None:
    Path(os.environ["AWS_CONFIG_FILE"]).write_text(text)


async def test_no_credentials_anywhere_says_what_to_do() -> None:
    with pytest.raises(SpeechCredentialsError, match=r"no AWS credentials found.*aws configure.*execution role"):
        await DefaultCredentials().current()


async def test_the_environment_is_read_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    before = dict(os.environ)
    assert await DefaultCredentials().current() == AwsCredentials("AKID", "secret", "token")
    assert dict(os.environ) == before


async def test_a_profile_is_read_from_the_shared_files() -> None:
    write_config("[profile speech]\naws_access_key_id = AKID\naws_secret_access_key = secret\n")
    assert await DefaultCredentials("speech").current() == AwsCredentials("AKID", "secret")


async def test_a_profile_that_does_not_exist_is_named_as_the_problem() -> None:
    with pytest.raises(SpeechCredentialsError, match="profile asked for does not exist"):
        await DefaultCredentials("nobody").current()


async def test_expiring_credentials_are_renewed_between_connections(tmp_path: Path) -> None:
    counter = tmp_path / "calls"
    expires = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()  # within botocore's mandatory refresh
    keys = {"Version": 1, "SecretAccessKey": "secret", "SessionToken": "token", "Expiration": expires}
    script = tmp_path / "issue.py"
    script.write_text(
        f"import json, pathlib\n"
        f"calls = pathlib.Path({str(counter)!r})\n"
        f"number = int(calls.read_text()) + 1 if calls.exists() else 1\n"
        f"calls.write_text(str(number))\n"
        f"print(json.dumps({json.dumps(keys)} | {{'AccessKeyId': f'AKID{{number}}'}}))\n"
    )
    write_config(f"[default]\ncredential_process = {sys.executable} {script}\n")
    source = DefaultCredentials()
    first, second = await source.current(), await source.current()
    assert first.access_key_id != second.access_key_id
    assert first.session_token == "token"


async def test_a_source_that_fails_is_told_from_one_that_is_missing(tmp_path: Path) -> None:
    write_config(f"[default]\ncredential_process = {sys.executable} {tmp_path / 'missing.py'}\n")
    with pytest.raises(SpeechCredentialsError, match=r"getting them failed.*aws sts get-caller-identity"):
        await DefaultCredentials().current()


async def test_keys_do_not_show_in_a_repr() -> None:
    keys = AwsCredentials("AKID", "the secret", "the token")
    assert "secret" not in repr(keys).replace("secret_access_key", "")
    assert "the token" not in repr(keys)
    assert await StaticCredentials(keys).current() is keys
