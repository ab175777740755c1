"""Whose work a sampled stack is. Frames as py-spy writes them with --full-filenames."""

import pytest

from benchmarks.rig.profile import ENGINE, PROTOCOL, REST, by_owner, owner

PACKAGES = "/env/lib/python3.12/site-packages"
LOOP = f"<module> (/env/bin/speech-container:8);run ({PACKAGES}/uvicorn/server.py:75);run (/lib/asyncio/runners.py:118)"


@pytest.mark.parametrize(
    ("innermost", "whose"),
    [
        ("render_event (/src/speech_protocol/events.py:150)", PROTOCOL),
        ("_send (/src/speech_container/websocket.py:250);dumps (/lib/python3.12/json/__init__.py:231)", PROTOCOL),
        (
            f"_speak (/src/speech_container/onnx_engine.py:74);run ({PACKAGES}/onnxruntime/capi/session.py:220)",
            ENGINE,
        ),
        (
            f"send (/src/speech_container/websocket.py:250);send_data ({PACKAGES}/websockets/protocol.py:5)",
            "WebSocket library",
        ),
        ("_read (/src/speech_container/websocket.py:120)", REST),
        ("select (/lib/python3.12/selectors.py:468)", REST),
    ],
)
def test_a_stack_is_the_work_of_its_innermost_known_module(innermost: str, whose: str) -> None:
    assert owner(f"{LOOP};{innermost}") == whose


def test_samples_are_added_up_and_nobody_is_left_out() -> None:
    counted = by_owner([f"{LOOP};feed (/src/speech_protocol/frames.py:99) 2", f"{LOOP} 5", f"{LOOP};x (y.py:1) 1"])
    assert (counted[PROTOCOL], counted[REST], counted[ENGINE], counted.total()) == (2, 6, 0, 8)
    assert ENGINE in counted
