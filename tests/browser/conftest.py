"""The Chromium of this machine, without a window."""

import os
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--autoplay-policy=no-user-gesture-required", "--mute-audio"]
if os.geteuid() == 0:  # Chromium has no sandbox for root, whom continuous integration runs as; it opens our files only
    ARGUMENTS.append("--no-sandbox")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    """An empty page."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("Chromium is not installed (on Debian: apt-get install chromium)", pytrace=False)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield await browser.new_page()
        await browser.close()
