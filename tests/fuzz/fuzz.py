"""Looks for plays and bytes that break the server: libFuzzer's mutations, led by the code that they reach.

    make fuzz [SECONDS=600]
    uv run --group fuzz python -m tests.fuzz.fuzz session --seconds 600
    uv run --group fuzz python -m tests.fuzz.fuzz session --keep

What it finds lies in out/fuzz/ as a file that `--replay FILE` plays again. `--keep` adds what reached new code to the
corpus in the repository, of which `make test` plays every file.
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE / "corpus"
OUT: Final = Path("out/fuzz")
TARGETS: Final = ("session", "parsers")
INSTRUMENTED: Final = ["speech_container", "speech_protocol", "speech_text"]
MAX_BYTES: Final = {"session": 4096, "parsers": 1200}
SLOW_S: Final = 60
MEMORY_MIB: Final = 4096


def target(name: str) -> Callable[[bytes], None]:
    """What the bytes go to."""
    if name == "session":
        from tests.fuzz.script import play

        return play
    from tests.fuzz.parsers import read

    return read


def fuzz(name: str, options: list[str]) -> None:
    """Ends the process when libFuzzer has ended, which to merge runs this module again, with options of its own."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        run = target(name)
    found = OUT / name
    found.mkdir(parents=True, exist_ok=True)
    fixed = [
        f"-artifact_prefix={OUT}/{name}-",
        f"-dict={HERE / 'tokens.dict'}",
        f"-max_len={MAX_BYTES[name]}",
        f"-timeout={SLOW_S}",
        f"-rss_limit_mb={MEMORY_MIB}",
        "-print_final_stats=1",
        "-reload=0",
    ]
    command = shlex.join([sys.executable, "-m", "tests.fuzz.fuzz", name])
    atheris.Setup([command, *fixed, *options], run)
    atheris.Fuzz()


def main() -> None:
    """Fuzz, keep, or replay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--keep", action="store_true", help="merge what was found into the repository's corpus")
    parser.add_argument("--replay", type=Path, help="play one file")
    arguments, from_libfuzzer = parser.parse_known_args()
    if arguments.replay is not None:
        target(arguments.target)(arguments.replay.read_bytes())
        return
    if from_libfuzzer:
        fuzz(arguments.target, from_libfuzzer)
    kept, found = CORPUS / arguments.target, OUT / arguments.target
    if arguments.keep:
        fuzz(arguments.target, ["-set_cover_merge=1", "-use_counters=0", str(kept), str(found)])
    else:
        fuzz(
            arguments.target, [f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}", str(found), str(kept)]
        )


if __name__ == "__main__":
    main()
