"""What the WebSocket clients of a run do, good and bad. Each function is one session from begin to end."""

import asyncio
import json
import random
from typing import Any

from tests.load import texts
from tests.load.caller import Caller
from tests.load.target import Target

_CROSSING_S = 0.4  # within which things are made to cross each other on the way


async def talk(target: Target, chance: random.Random, name: str) -> None:
    """Several requests, one after the other or at once; all are answered, and the session is closed in good order."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(1, 5)):
            await _request(caller, chance)
            if chance.random() < 0.5:
                await caller.answers(left=chance.randint(0, 2))
            if chance.random() < 0.2:
                await caller.send(type="hello")
        await caller.leave()


async def write(target: Target, chance: random.Random, name: str) -> None:
    """Texts that come piece by piece, up to three side by side; some are never finished, and end by themselves."""
    async with Caller.open(target, name) as caller:
        writing = {caller.new_id(): _Writing(chance) for _ in range(chance.randint(1, 3))}
        while writing:
            context_id = chance.choice(list(writing))
            if not await writing[context_id].go_on(caller, context_id):
                del writing[context_id]
            if chance.random() < 0.05:
                await asyncio.sleep(chance.random() * 0.05)
        await caller.answers()
        await caller.leave()


async def interrupt(target: Target, chance: random.Random, name: str) -> None:
    """Barge-ins at random moments, then the next question."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(1, 4)):
            names, open_context = [], None
            for _ in range(chance.randint(1, 3)):
                text = chance.choice((*texts.TEXTS, texts.LONG_TEXT))
                if chance.random() < 0.5:
                    names.append(await _request(caller, chance, text=text))
                    continue
                names.append(caller.new_id())
                is_whole = chance.random() < 0.3
                await caller.send(type="text", context_id=names[-1], delta=text, flush=is_whole)
                open_context = open_context if is_whole else names[-1]
            await asyncio.sleep(chance.random() * _CROSSING_S)
            await _cancel(caller, chance, names)
            if open_context is not None and chance.random() < 0.5:  # the writer has not noticed yet
                await caller.send(type="text", context_id=open_context, delta=" And so on.", flush=True)
            if chance.random() < 0.3:
                await _cancel(caller, chance, names)
        await caller.send(type="cancel")
        await caller.answers()
        await caller.leave()


async def close_early(target: Target, chance: random.Random, name: str) -> None:
    """`close` behind requests that are not answered yet: what is in hand is finished, the rest is cancelled."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(1, 5)):
            await _request(caller, chance)
        await caller.send(type="text", context_id=caller.new_id(), delta="Half a sen")
        await asyncio.sleep(chance.random() * 0.1)
        await caller.leave()


async def drop(target: Target, chance: random.Random, name: str) -> None:
    """The socket goes away, in one of three ways, whatever is going on."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(0, 4)):
            await _request(caller, chance, text=chance.choice((*texts.TEXTS, texts.LONG_TEXT)))
        if chance.random() < 0.5:
            await caller.send(type="text", context_id=caller.new_id(), delta="The kettle is on. It")
        await asyncio.sleep(chance.random() * _CROSSING_S)
        await caller.drop(chance)


async def read_slowly(target: Target, chance: random.Random, name: str) -> None:
    """A listener behind a thin line, who gives up in the end."""
    async with Caller.open(target, name, read_pause_s=0.02 + chance.random() * 0.1) as caller:
        await _request(caller, chance, text=texts.LONG_TEXT)
        await asyncio.sleep(1 + chance.random() * 4)
        if chance.random() < 0.5:
            await caller.drop(chance)
            return
        await caller.send(type="cancel")
        await caller.answers()
        await caller.leave()


async def stop_reading(target: Target, chance: random.Random, name: str) -> None:
    """A client that goes on asking and reads nothing: the server lets go of it, and of its connection, by itself."""
    async with Caller.open(target, name, read_pause_s=None) as caller:
        caller.close_codes = {1006}
        for _ in range(4):
            await caller.send(text=texts.LONG_TEXT, request_id=caller.new_id(), format="wav", sample_rate=48000)
        hellos = asyncio.create_task(_flood(caller))
        try:
            await asyncio.sleep(2 * target.gives_up_s + 5)
            caller.read_on()
            await caller.until_gone(target.gives_up_s)
        finally:
            hellos.cancel()


async def babble(target: Target, chance: random.Random, name: str) -> None:
    """Nonsense among good requests: each costs one error, and the good ones are spoken."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(2, 12)):
            match chance.randrange(5):
                case 0:
                    await _request(caller, chance)
                case 1:
                    wrong = chance.choice(texts.WRONG_OPTIONS)
                    fields: dict[str, Any] = {"text": "Hello there.", "request_id": caller.new_id(), **wrong}
                    await caller.send(**fields)
                case 2:
                    await _request(caller, chance, text=chance.choice(texts.ODD_TEXTS))
                case _:
                    await caller.send(texts.garbage(chance))
            if chance.random() < 0.2:
                await caller.answers()
        await caller.answers()
        await caller.leave()


async def cut_frames(target: Target, chance: random.Random, name: str) -> None:
    """Messages in fragments, cut inside characters, with pings between them, as binary and as text."""
    async with Caller.open(target, name) as caller:
        for _ in range(chance.randint(1, 4)):
            fields = {"text": "Pay €45, naïve café. " * 2, "request_id": caller.new_id()}
            data = json.dumps(fields, ensure_ascii=False).encode()
            cuts = sorted(chance.sample(range(len(data)), chance.randint(1, 6)))
            parts = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
            await caller.send_fragments(parts, is_text=chance.random() < 0.3)
            if chance.random() < 0.3:
                await caller.ping()
        await caller.answers()
        await caller.leave()


async def say_too_much(target: Target, chance: random.Random, name: str) -> None:
    """A text, or a whole message, beyond the limit."""
    async with Caller.open(target, name) as caller:
        await _request(caller, chance)
        await caller.send(text="a" * (target.limits.max_text_chars + 1), request_id=caller.new_id())
        await caller.answers()
        if chance.random() < 0.5:
            await caller.leave()
            return
        caller.close_codes = {1009}
        await caller.send("x" * (target.max_message_bytes + 1))
        caller.read_on()
        await caller.until_gone(30)


async def flood(target: Target, chance: random.Random, name: str) -> None:
    """More at once than one session may have: each is answered, some by `busy`."""
    async with Caller.open(target, name) as caller:
        for _ in range(3 * target.limits.max_waiting):
            await _request(caller, chance, text="Hello there.")
        for _ in range(2 * target.limits.max_contexts):
            await caller.send(type="text", context_id=caller.new_id(), delta="Hi", flush=chance.random() < 0.5)
        await caller.answers(left=chance.randint(0, target.limits.max_waiting))
        await caller.send(type="cancel")
        await caller.answers()
        await caller.leave()


async def ask_for_life(target: Target, chance: random.Random, name: str) -> None:
    """Pings of both kinds while something long is spoken."""
    async with Caller.open(target, name) as caller:
        await _request(caller, chance, text=texts.LONG_TEXT)
        for number in range(chance.randint(1, 20)):
            await caller.send(type="ping", id=str(number))
            if chance.random() < 0.2:
                await caller.ping()
            await asyncio.sleep(chance.random() * 0.05)
        await caller.send(type="cancel", played_s=0.5)
        await caller.answers()
        await caller.leave()


class _Writing:
    """One context's text, and how far it has been written."""

    def __init__(self, chance: random.Random) -> None:
        self._text = chance.choice(texts.TEXTS)
        self._left = texts.pieces(chance, self._text)
        self._is_given_up = chance.random() < 0.1
        self._voice = chance.choice(texts.VOICES)
        self._is_first = True
        self._flushes_alone = chance.random() < 0.5

    async def go_on(self, caller: Caller, context_id: str) -> bool:
        """Write the next piece; False when that was the last."""
        fields: dict[str, Any] = {"type": "text", "context_id": context_id}
        sound = None
        if self._is_first:
            fields["voice"] = self._voice
            sound = None if self._is_given_up else ("context", self._text, self._voice)
        self._is_first = False
        if not self._left:
            await caller.send(**fields, delta="", flush=True)
            return False
        fields["delta"] = self._left.pop(0)
        is_last = not self._left and not self._flushes_alone
        await caller.send(**fields, flush=is_last and not self._is_given_up, sound=sound)
        return bool(self._left) or not (is_last or self._is_given_up)


async def _request(caller: Caller, chance: random.Random, text: str | None = None) -> str:
    request_id = caller.new_id()
    text = chance.choice(texts.TEXTS) if text is None else text
    options = texts.options(chance)
    sound = None
    if options.get("format") != "opus":  # whose streams have a number each
        sound = ("whole", text, *(options.get(name) for name in ("voice", "format", "sample_rate")))
    message = json.dumps({"type": "synthesize", "text": text, "request_id": request_id, **options})
    await caller.send(message if chance.random() < 0.5 else message.encode(), sound=sound)
    return request_id


async def _cancel(caller: Caller, chance: random.Random, names: list[str]) -> None:
    fields: dict[str, Any] = {}
    match chance.randrange(3):
        case 0:
            fields["request_id"] = chance.choice(names)
        case 1:
            fields["context_id"] = chance.choice(names)
    if chance.random() < 0.6:
        fields["played_s"] = round(chance.random() * 3, 3)
    await caller.send(type="cancel", **fields)


async def _flood(caller: Caller) -> None:
    """Ask and ask, until the connection takes no more."""
    while not caller.is_cut:
        await caller.send(type="hello")
