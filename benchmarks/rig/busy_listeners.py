"""Listeners that keep a server busy while it is profiled: one sends whole texts, one sends them token by token."""

import asyncio
import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from speech_client import ErrorEvent, SpeechContext, SpeechRequestError, SpeechSession, VoiceOptions
from speech_protocol import ErrorCode

from benchmarks.rig.listener import PATIENCE, TEXTS

_OPTIONS: Final = VoiceOptions(timestamps=True)
_TOKEN_S: Final = 0.05
"""Between two tokens of a model that writes 20 a second."""


async def hear_texts(url: str, number: int) -> None:
    """Text after text, each sent whole, until cancelled."""
    async with SpeechSession.connect(url, deadlines=PATIENCE) as session:
        for text in _texts_from(number):
            try:
                async for _ in session.speak(text, _OPTIONS):
                    pass
            except SpeechRequestError as error:
                await _come_back(error)


async def hear_tokens(url: str, number: int) -> None:
    """Text after text, each sent as a model writes it, until cancelled."""
    async with SpeechSession.connect(url, deadlines=PATIENCE) as session:
        for text in _texts_from(number):
            context = await session.open_context(_OPTIONS)
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(_write(context, text))
                writing.add_done_callback(lambda _: session.finish())
                async for answer in session.events():
                    if isinstance(answer.event, ErrorEvent):
                        writing.cancel()
                        await _come_back(SpeechRequestError.of(answer.event))


async def _write(context: SpeechContext, text: str) -> None:
    """One text, token by token, or what of it comes before the server refuses it: the events say why."""
    with suppress(SpeechRequestError):
        for token in re.findall(r"\s*\S+", text):
            await context.write(token)
            await asyncio.sleep(_TOKEN_S)
        await context.finish()


def _texts_from(number: int) -> Iterator[str]:
    """All texts, again and again; not everybody begins with the same one."""
    return itertools.islice(itertools.cycle(TEXTS), number % len(TEXTS), None)


async def _come_back(error: SpeechRequestError) -> None:
    """Stay away for as long as a busy server says. Raises any other error."""
    if error.code != ErrorCode.BUSY or error.retry_after_s is None:
        raise error
    await asyncio.sleep(error.retry_after_s)
