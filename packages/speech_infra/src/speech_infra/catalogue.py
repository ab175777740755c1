"""The models that can be deployed, and what each of them needs: instance, image, weights, driver.

The driver comes from the machine image (`InferenceAmiVersion`), CUDA from the container: they are one tested pair. The
container's torch wheels bring CUDA 13, which needs driver 580; g5's default image has driver 470 and would leave the
endpoint in Creating without a line of log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from speech_infra.errors import ModelUnknown


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """One deployable model."""

    name: str
    summary: str
    instance_type: str
    """The default; `--instance-type` overrides it."""
    image_target: str
    """The stage of the Dockerfile."""
    engine: str
    """SPEECH_ENGINE in the container."""
    engines: tuple[str, ...]
    """Which ones that may turn out to be, as the container's own metrics name them."""
    needs_safetensors: bool
    needs_stages: bool
    gpu_machine_image: str | None
    """InferenceAmiVersion where the instance has a GPU."""
    cuda: str | None
    concurrency: int
    """Sessions that one instance serves before another is wanted; the target of scaling."""


GPU_MACHINE_IMAGE: Final = "al2023-ami-sagemaker-inference-gpu-4-1"
"""Driver 580, CUDA 13.0 (SageMaker developer guide, ProductionVariant.InferenceAmiVersion)."""

MODELS: Final = {
    model.name: model
    for model in (
        SpeechModel(
            name="kokoro-82m",
            summary="Kokoro-82M on one GPU: batches, dozens of listeners an instance",
            instance_type="ml.g5.xlarge",
            image_target="gpu",
            engine="torch",
            engines=("torch",),
            needs_safetensors=True,
            needs_stages=False,
            gpu_machine_image=GPU_MACHINE_IMAGE,
            cuda="13.0",
            concurrency=16,
        ),
        SpeechModel(
            name="kokoro-82m-cpu",
            summary="Kokoro-82M on a CPU: no GPU quota needed, a few listeners an instance",
            instance_type="ml.c7i.2xlarge",
            image_target="cpu",
            engine="auto",  # OpenVINO where the processor multiplies bfloat16, as c7i's does, else ONNX Runtime
            engines=("openvino", "onnx"),
            needs_safetensors=False,
            needs_stages=True,
            gpu_machine_image=None,
            cuda=None,
            concurrency=4,
        ),
    )
}

_GPU_FAMILIES: Final = ("ml.g", "ml.p")


def model_named(name: str) -> SpeechModel:
    """The model of that name. Raises ModelUnknown."""
    if name not in MODELS:
        raise ModelUnknown(f"model {name!r} is not one of {', '.join(MODELS)}; `speech-infra list` shows them")
    return MODELS[name]


def has_gpu(instance_type: str) -> bool:
    """Whether SageMaker's instances of that type have one: families g and p."""
    return instance_type.startswith(_GPU_FAMILIES)
