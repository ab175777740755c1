"""What is no model is refused by name, in memory and as a file."""

from pathlib import Path

import pytest
from speech_container.errors import EngineUnavailable
from speech_container.onnx_session import open_session


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(EngineUnavailable, match="onnxruntime cannot load the text stage"):
        open_session(b"not a model", threads=1, name="the text stage")


@pytest.mark.parametrize("exists", [False, True])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, exists: bool) -> None:
    file = tmp_path / "model.onnx"
    if exists:
        file.write_bytes(b"not a model")
    with pytest.raises(EngineUnavailable, match="onnxruntime cannot load the text stage"):
        open_session(file, threads=1, name="the text stage")
