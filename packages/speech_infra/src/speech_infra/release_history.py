"""The release record in SSM, read: what is live, and what was before."""

from __future__ import annotations

from typing import Any

from infra_common.parameters import parameter_text, parameter_texts

from speech_infra.release import Release


def live_release(ssm: Any, parameter: str) -> Release | None:
    """What the endpoint's stack says is live; None where there is no such stack."""
    text = parameter_text(ssm, parameter)
    return None if text is None else Release.parse(text)


def release_history(ssm: Any, parameter: str) -> list[Release]:
    """Every version, oldest first; empty where there is none."""
    return [Release.parse(text) for text in parameter_texts(ssm, parameter)]
