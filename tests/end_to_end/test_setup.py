"""`make` on a machine without a network: works once set up, and says one line where it was never set up.

A network namespace of its own has nothing but a loopback interface, and that one down; `unshare` is Linux's, and so are
these tests.
"""

import shutil
import subprocess
import sys
import wave
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.weights,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's"),
]

ROOT = Path(__file__).parents[2]
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING))
os.execvp(sys.argv[1], sys.argv[1:])
"""
OFFLINE = ["unshare", "--net", "--map-root-user", sys.executable, "-c", LOOPBACK_UP]


def test_the_demo_speaks_with_the_network_cut(tmp_path: Path) -> None:
    demo = ["make", "-C", str(ROOT), "demo", f"OUT={tmp_path}"]
    done = subprocess.run([*OFFLINE, *demo], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with wave.open(str(tmp_path / "answer.wav")) as file:
        assert file.getframerate() == 24_000
        assert file.getnframes() >= 5 * 24_000
    assert (tmp_path / "timeline.png").exists()
    assert "first audio, bidi / batch" in done.stdout


def test_the_first_set_up_without_a_network_is_one_line(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), clone], check=True)
    uv = Path(shutil.which("uv") or ROOT / ".tools" / "uv" / "bin" / "uv")
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{uv.parent}:/usr/bin:/bin:{Path(sys.executable).parent}",
        "UV_CACHE_DIR": str(tmp_path / "empty-cache"),
    }
    done = subprocess.run(
        [*OFFLINE, "make", "-C", str(clone), "demo"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode != 0
    reasons = [line for line in done.stderr.splitlines() if line.startswith("make: the locked packages")]
    assert len(reasons) == 1
    assert "network" in reasons[0]
    assert "Traceback" not in done.stderr + done.stdout
