"""Writes the transcripts of docs/operations.md: what the commands really say, against the stand-in for AWS.

    make operations

The CDK command, the engine, the registry, the client and the speech container are real; the account is tests/fake_aws,
whose endpoints start at once, and the image is a few bytes, because what it holds does not show. Written only when
every command has ended as it should.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.docker_engine import docker_engine
from tests.fake_aws.harness import ROOT, fake_aws
from tests.infrastructure.conftest import data_plane
from tests.infrastructure.transcript import with_block

MODEL = "kokoro-82m-cpu"
DOCUMENT = ROOT / "docs" / "operations.md"
SCRIPT = Path(sys.executable).with_name("speech-infra")
DOCKERFILE = "FROM scratch AS cpu\nCOPY voice /voice\n"
Run = Callable[..., str]


def main() -> None:
    """Live a whole life, then write."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for folder in ("aws", "engine", "gateway"):
            (directory / folder).mkdir()
        with (
            fake_aws(directory / "aws") as aws,
            docker_engine(directory / "engine") as engine,
            data_plane(f"speech-dev-{MODEL}", "onnx", directory / "gateway") as speaking,
        ):
            aws.bootstrap()
            said = transcripts(directory, _runner(aws.environment(**engine, **speaking)))
            said = {name: text.replace(engine["CDK_DOCKER"], "docker") for name, text in said.items()}
    document = DOCUMENT.read_text(encoding="utf-8")
    for name, text in said.items():
        document = with_block(document, name, text)
    DOCUMENT.write_text(document, encoding="utf-8")


def transcripts(directory: Path, run: Run) -> dict[str, str]:
    """By the name of their block."""
    source = directory / "image"
    source.mkdir()
    (source / "Dockerfile").write_text(DOCKERFILE)
    (source / "voice").write_bytes(b"one")
    build = ("--dockerfile", str(source / "Dockerfile"))
    said = {"doctor": run("doctor", MODEL, hidden=build), "deploy": run("deploy", MODEL, hidden=build)}
    said["again"] = run("deploy", MODEL, hidden=(*build, "--no-smoke-test"))
    (source / "voice").write_bytes(b"two")
    run("deploy", MODEL, hidden=(*build, "--no-smoke-test"))
    said["status"] = run("status", MODEL)
    said["rollback"] = run("rollback", MODEL, "--yes")
    said["destroy"] = run("destroy", MODEL, "--yes")
    said["cleanup"] = run("cleanup", code=3)
    said["purge"] = run("cleanup", "--purge", "--yes")
    return said


def _runner(environment: dict[str, str]) -> Run:
    def run(*arguments: str, hidden: tuple[str, ...] = (), code: int = 0) -> str:
        """Both streams as a person sees them, below the command without what is particular to this script."""
        done = subprocess.run(
            [SCRIPT, *arguments, *hidden],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != code:
            raise SystemExit(f"speech-infra {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
        return f"$ speech-infra {' '.join(arguments)}\n{done.stdout}"

    return run


if __name__ == "__main__":
    main()
