"""Writes the README's figures: what `make demo` prints, and a timeline of a measured answer. Run on a quiet machine.

    make readme

The block between the `<!-- demo -->` markers is replaced by real output; `docs/timeline.png` is drawn from the ten
sentences of the tests at 20 tokens a second, which is what a mid-size model writes.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VOICE_LOCAL = str(Path(sys.executable).with_name("voice-local"))
SCRIPT = ROOT / "tests" / "end_to_end" / "ten_sentences.txt"


def main() -> None:
    """Run both, and write only when both have worked."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory)
        demo = run(["ask", "Why is the sky blue?", "--out", "out"], out)
        measured = run(
            ["ask", "How do I make tea?", "--model", f"script:{SCRIPT}", "--rate", "20", "--runs", "3", "--out", "tea"],
            out,
        )
        shutil.copyfile(out / "tea" / "timeline.png", ROOT / "docs" / "timeline.png")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = replace(text, "demo", demo)
    text = replace(text, "measured", table_and_ratio(measured))
    readme.write_text(text, encoding="utf-8")


def run(arguments: list[str], directory: Path) -> str:
    """What the command printed as its result."""
    done = subprocess.run([VOICE_LOCAL, *arguments], cwd=directory, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def replace(text: str, marker: str, output: str) -> str:
    """`text` with the block between `<!-- marker -->` and `<!-- /marker -->` replaced by `output`."""
    lines = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    block = f"<!-- {marker} -->\n```text\n{lines}\n```\n<!-- /{marker} -->"
    found = re.compile(rf"<!-- {marker} -->.*?<!-- /{marker} -->", re.DOTALL)
    if not found.search(text):
        raise SystemExit(f"README.md has no block <!-- {marker} --> … <!-- /{marker} -->")
    return found.sub(lambda _match: block, text)


def table_and_ratio(output: str) -> str:
    """The comparison at the end of the output, without the sentences and the files."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.split()[:3] == ["mode", "first", "text"])
    end = next(number for number, line in enumerate(lines) if line.startswith("first audio, bidi / batch"))
    return "\n".join(lines[start : end + 1])


if __name__ == "__main__":
    main()
