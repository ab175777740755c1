"""Weights in a bucket: what changed there after the upload is found and replaced, and refused where it was fetched."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from infra_common.console import Console
from kokoro_weights import WeightsDirectory, prepare
from kokoro_weights.errors import HashMismatch
from speech_infra.errors import UploadCorrupt
from speech_infra.weights import pieces_of, sync

from tests.fake_aws.harness import FakeAws

pytestmark = [pytest.mark.infra, pytest.mark.weights]

BUCKET = "weights"


@pytest.fixture
def s3(aws: FakeAws) -> Any:
    client = aws.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture
def weights() -> WeightsDirectory:
    return prepare("packages")


def test_an_object_that_changed_after_the_upload_is_sent_again(s3: Any, weights: WeightsDirectory) -> None:
    console = Console("speech-infra", as_json=True)
    first = sync(s3, BUCKET, weights, console)
    assert sync(s3, BUCKET, weights, console).sent_files == 0
    voice = next(piece for piece in pieces_of(weights) if piece.key.endswith("voices/af_heart.bin"))
    content = bytearray(voice.path.read_bytes())
    content[1000] ^= 1
    s3.put_object(Bucket=BUCKET, Key=voice.key, Body=bytes(content), ChecksumAlgorithm="SHA256")
    again = sync(s3, BUCKET, weights, console)
    assert (again.sent_files, again.sent_bytes, again.kept_files) == (1, voice.size_bytes, first.sent_files - 1)
    assert s3.get_object(Bucket=BUCKET, Key=voice.key)["Body"].read() == voice.path.read_bytes()


def test_an_object_that_changed_is_refused_by_name_where_it_is_mounted(
    s3: Any, weights: WeightsDirectory, tmp_path: Path
) -> None:
    sync(s3, BUCKET, weights, Console("speech-infra", as_json=True))
    pieces = pieces_of(weights)
    changed = next(piece for piece in pieces if piece.key.endswith("model.int8.onnx"))
    s3.put_object(Bucket=BUCKET, Key=changed.key, Body=bytes(changed.size_bytes))
    for piece in pieces:
        target = tmp_path / piece.path.relative_to(weights.path)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(s3.get_object(Bucket=BUCKET, Key=piece.key)["Body"].read())
    with pytest.raises(HashMismatch, match=r"model\.int8\.onnx"):
        WeightsDirectory.open(tmp_path).verify()


def test_a_file_that_changed_before_the_upload_is_refused_by_s3(
    s3: Any, weights: WeightsDirectory, tmp_path: Path
) -> None:
    copy = tmp_path / "weights"
    shutil.copytree(weights.path, copy, copy_function=os.link)
    opened = WeightsDirectory.open(copy)
    voice = copy / "voices" / "af_heart.bin"
    content = bytearray(voice.read_bytes())
    content[1000] ^= 1
    voice.unlink()
    voice.write_bytes(content)
    with pytest.raises(UploadCorrupt, match=r"af_heart\.bin"):
        sync(s3, BUCKET, opened, Console("speech-infra", as_json=True))
    listed = s3.list_objects_v2(Bucket=BUCKET, MaxKeys=1000).get("Contents", [])
    assert not any(each["Key"].endswith("manifest.json") for each in listed), "a prefix without a manifest is not whole"
