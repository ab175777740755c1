"""A deployment of the cpu image as people deploy it: from its own Dockerfile, live by the digest of what was built."""

import json

import pytest

from tests.fake_aws.harness import fake_aws
from tests.images.conftest import Image
from tests.infrastructure.conftest import Shell

pytestmark = [pytest.mark.images, pytest.mark.weights, pytest.mark.timeout(900)]

MODEL = "kokoro-82m-cpu"


def test_what_is_live_is_the_image_that_the_dockerfile_makes(
    cpu_image: Image, tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine = cpu_image.engine
    docker = {name: engine.environment[name] for name in ("DOCKER_HOST", "DOCKER_CONFIG", "CDK_DOCKER")}
    with fake_aws(tmp_path_factory.mktemp("aws")) as aws:
        aws.bootstrap()
        shell = Shell(aws, aws.environment(**docker))
        shell.run("doctor", MODEL)
        live = shell.run("deploy", MODEL, "--no-smoke-test", "--json").json["endpoint"]["image"]
        again = shell.run("deploy", MODEL, "--no-smoke-test")
        pushed = aws.registry.image(f"speech/dev/{MODEL}", live)
    assert pushed is not None
    assert json.loads(pushed.manifest)["config"]["digest"] == engine.inspect("image", cpu_image.name)["Id"]
    assert "Nothing has changed" in again.out
