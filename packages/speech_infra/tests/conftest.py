"""One synthesis for all tests of templates: it takes seconds, and nothing of it changes between tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from infra_common.assembly import Assembly, synthesise
from infra_common.ownership import Owner
from speech_infra.catalogue import model_named
from speech_infra.names import Names
from speech_infra.options import EndpointOptions
from speech_infra.release import Release

DIGEST = f"sha256:{'a' * 64}"
WEIGHTS = "b" * 32


def release_of(model: str, *, is_paused: bool = False, **chosen: Any) -> Release:
    """A release with recognisable image and weights."""
    return Release(DIGEST, WEIGHTS, EndpointOptions.for_model(model_named(model), **chosen), is_paused)


def names_of(model: str = "kokoro-82m") -> Names:
    """Names in a made-up account."""
    return Names("dev", model, "123456789012", "us-east-1")


@dataclass(frozen=True)
class Made:
    """One app's templates by the last part of their stack's name."""

    assembly: Assembly

    def __getitem__(self, part: str) -> dict[str, Any]:
        return self.assembly.template(next(name for name in self.assembly.stacks if name.endswith(f"-{part}")))

    def of_type(self, part: str, kind: str) -> list[dict[str, Any]]:
        """The properties of every resource of a type."""
        resources = self[part]["Resources"].values()
        return [each.get("Properties", {}) for each in resources if each["Type"] == kind]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Made]:
    """`plain`, `full` (VPC, key, two instances, topic, a tag, on a CPU), `rolling`, `paused`, `pipeline`."""
    directory = tmp_path_factory.mktemp("templates")
    topic = "arn:aws:sns:us-east-1:123456789012:voice"
    wanted = {
        "plain": ("kokoro-82m", release_of("kokoro-82m")),
        "full": (
            "kokoro-82m-cpu",
            release_of(
                "kokoro-82m-cpu",
                use_vpc=True,
                kms_key="create",
                instances=2,
                max_instances=4,
                alarm_topic=topic,
                tags={"team": "voice"},
            ),
        ),
        "rolling": ("kokoro-82m", release_of("kokoro-82m", instances=4, max_instances=4, strategy="rolling")),
        "paused": ("kokoro-82m", release_of("kokoro-82m", is_paused=True)),
    }
    made = {
        name: Made(synthesise(partial(_app, model, release), directory / name))
        for name, (model, release) in wanted.items()
    }
    return made | {"pipeline": Made(synthesise(_pipeline, directory / "pipeline"))}


def _pipeline(into: Path) -> Any:
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks
    from speech_infra.app import build_pipeline
    from speech_infra.pipeline import Pipeline

    app = build_pipeline(Pipeline(names_of(), "example/voice", "production"), into)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def _app(model: str, release: Release, into: Path) -> Any:
    import aws_cdk as cdk
    from cdk_nag import AwsSolutionsChecks
    from speech_infra.app import build_app

    app = build_app(names_of(model), Owner("dev", model, "speech-infra"), release, into)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


__all__ = ["DIGEST", "WEIGHTS", "Made", "names_of", "release_of"]
