"""What every test of the client needs: a look at what it leaves behind, and a machine without AWS."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    """Every test ends without a task of its own, and nothing has gone wrong behind its back."""
    trouble: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: trouble.append(context))
    yield
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert trouble == []


@pytest.fixture
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any AWS configuration, credentials or metadata service."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
