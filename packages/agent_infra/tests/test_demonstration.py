"""The local demonstration is `voice-local`'s: what it is asked, and its exit code."""

import sys
from pathlib import Path

import pytest
from agent_infra.demonstration import local_demo


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("prompt", ["Why is the sky blue?", "--runs of a river; $(what)?"])
def test_the_local_command_is_asked_the_prompt_whatever_it_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: str, *, as_json: bool
) -> None:
    program, asked = tmp_path / "voice-local", tmp_path / "asked"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {asked}\nexit 7\n')
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert local_demo(prompt, 3, "bm_george", tmp_path / "out", as_json=as_json) == 7
    verb, *options, end, last = asked.read_text().splitlines()
    assert (verb, end, last) == ("ask", "--", prompt)
    assert options[:4] == ["--runs", "3", "--voice", "bm_george"]
    assert options[4:6] == ["--out", str(tmp_path / "out")]
    assert options[6:] == (["--json"] if as_json else [])
