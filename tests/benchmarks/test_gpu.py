"""benchmarks/gpu.py: that it runs, here on a CPU in its shortest form, and that its phonemes are those of its texts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kokoro_weights import prepare
from speech_text import FrontEnd

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BLOCKED = ["misaki", "spacy", "phonemizer", "onnxruntime", "starlette", "uvicorn", "av", "soxr", "prometheus_client"]
"""Of what the server needs, what a machine for the benchmark has no need of."""


@pytest.mark.weights
def test_the_phonemes_are_those_of_the_texts() -> None:
    items = json.loads((BENCHMARKS / "gpu_items.json").read_text("utf-8"))
    front_end = FrontEnd(prepare("packages").vocabulary)
    assert [item["words"] for item in items["lengths"]] == [5, 14, 40]
    for item in items["lengths"] + items["sentences"]:
        (segment,) = front_end.segments(item["text"], "en-us")
        assert segment.phonemes == item["phonemes"]
        assert len(item["text"].split()) == item["words"]


@pytest.mark.torch
@pytest.mark.weights
@pytest.mark.timeout(300)
def test_it_runs_from_a_packed_folder_without_the_project_and_its_front_end(tmp_path: Path) -> None:
    folder, report = tmp_path / "packed", tmp_path / "gpu.json"
    pack = [sys.executable, str(BENCHMARKS / "gpu_pack.py"), str(folder), "--random-weights"]
    subprocess.run(pack, check=True, capture_output=True, timeout=100)
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({BLOCKED!r}))\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "IMAGE_DIGEST": "sha256:0123", "OMP_NUM_THREADS": "2"}
    run = [sys.executable, "gpu.py", "--device", "cpu", "--quick", "--random-weights", "--out", str(report)]
    ran = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(report.read_text("utf-8"))
    assert found["machine"]["image_digest"] == "sha256:0123"
    assert found["weights"] == "random"
    assert [(row["words"], row["batch"]) for row in found["throughput"]] == [(5, 1), (5, 2)]
    assert [(row["listeners"], row["paced"]) for row in found["listening"]] == [(2, True), (2, False)]
    assert all(row["audio_s_a_second"] > 0 for row in found["throughput"] + found["listening"])
    assert all(0 < row["median_ms"] <= row["p95_ms"] for row in found["listening"])
    assert found["parity"]["durations_equal"]
    assert found["skipped"] == []


@pytest.mark.torch
def test_without_a_device_it_says_what_it_is_for(tmp_path: Path) -> None:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), "--out", str(tmp_path / "gpu.json")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 1
    assert "torch sees no CUDA device" in ran.stderr
    assert not (tmp_path / "gpu.json").exists()
