"""Case 17 in Chromium: what the server writes to a file plays, and AAC plays from its fragments as they come."""

import base64
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.behaviour.served import Served, served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

TEXT = "Hello there. This is what a browser plays."
SUFFIXES = {"wav": "wav", "mp3": "mp3", "opus": "ogg", "aac": "m4a"}
WAYS = {"whole": 0.01, "streamed": 0.07, "session": 0.07}
"""And how many seconds longer the file may be: a stream of MP3 or AAC says nothing of the silence at its ends."""
AAC = 'audio/mp4; codecs="mp4a.40.2"'

PLAY = """
async ({address, encoded}) => {
  const audio = new Audio(address);
  await new Promise((resolve, reject) => {
    audio.oncanplay = resolve;
    audio.onerror = () => reject(new Error(audio.error.message));
  });
  const durationAtFirst = audio.duration;
  const times = [];
  audio.ontimeupdate = () => times.push(audio.currentTime);
  const ended = new Promise((resolve, reject) => {
    audio.onended = resolve;
    audio.onerror = () => reject(new Error(audio.error.message));
  });
  await audio.play();
  await ended;
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const decoded = await new OfflineAudioContext(1, 1, 24000).decodeAudioData(bytes.buffer);
  const samples = decoded.getChannelData(0);
  return {
    durationAtFirst,
    times,
    endedAt: audio.currentTime,
    peak: samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0),
  };
}
"""

APPEND = """
async ({fragments, type, playAfter}) => {
  if (!MediaSource.isTypeSupported(type)) throw new Error(`Chromium does not play ${type} from fragments`);
  const source = new MediaSource();
  const audio = new Audio(URL.createObjectURL(source));
  await new Promise((resolve) => { source.onsourceopen = resolve; });
  const buffer = source.addSourceBuffer(type);
  const ends = [];
  let playing;
  for (const [index, fragment] of fragments.entries()) {
    await new Promise((resolve, reject) => {
      buffer.onupdateend = resolve;
      buffer.onerror = () => reject(new Error(`fragment ${index} cannot be appended`));
      buffer.appendBuffer(Uint8Array.from(atob(fragment), (character) => character.charCodeAt(0)));
    });
    if (buffer.buffered.length > 1) throw new Error(`there is a gap before fragment ${index}`);
    ends.push(buffer.buffered.length ? buffer.buffered.end(0) : 0);
    if (index === playAfter) {
      playing = new Promise((resolve) => { audio.ontimeupdate = () => audio.currentTime > 0 && resolve(); });
      await audio.play();
      await playing;
    }
  }
  const ended = new Promise((resolve, reject) => {
    audio.onended = resolve;
    audio.onerror = () => reject(new Error(audio.error.message));
  });
  source.endOfStream();
  await ended;
  return {ends, endedAt: audio.currentTime, duration: audio.duration};
}
"""


@dataclass(frozen=True)
class Spoken:
    """The same text in every format and by every way. `duration_s`: of its pcm."""

    directory: Path
    duration_s: float

    def file(self, audio_format: str, way: str) -> Path:
        return self.directory / f"{way}.{SUFFIXES[audio_format]}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def spoken(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Spoken]:
    """Files, as a client that does nothing but write down what comes would have them."""
    directory = tmp_path_factory.mktemp("spoken")
    (directory / "empty.html").write_text("<!doctype html><title>Playing</title>", "utf-8")
    async with served(directory / "log", "tone", look_ahead_s=3600) as server:
        pcm = await over_session(server, "pcm")
        result = Spoken(directory, len(pcm) / 48_000)
        for audio_format in SUFFIXES:
            for way in WAYS:
                audio = await over_session(server, audio_format) if way == "session" else b""
                body = {"text": TEXT, "format": audio_format, "stream": way == "streamed"}
                audio = audio or (await server.http.post("/invocations", json=body)).content
                result.file(audio_format, way).write_bytes(audio)
    yield result


async def over_session(server: Served, audio_format: str) -> bytes:
    async with server.session() as listener:
        return (await listener.ask(text=TEXT, format=audio_format)).audio


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("audio_format", SUFFIXES)
async def test_a_file_plays_to_its_end(page: Page, spoken: Spoken, audio_format: str, way: str) -> None:
    file = spoken.file(audio_format, way)
    await page.goto((spoken.directory / "empty.html").as_uri())
    encoded = base64.b64encode(file.read_bytes()).decode()
    played: dict[str, Any] = await page.evaluate(PLAY, {"address": file.name, "encoded": encoded})
    assert 0 <= played["durationAtFirst"] - spoken.duration_s < WAYS[way]
    assert played["endedAt"] == played["durationAtFirst"]
    times = played["times"]
    assert times == sorted(times)
    assert len(set(times)) > 3
    assert 0.3 < played["peak"] < 0.8, "the beeps' own is 0.5"


async def test_aac_plays_from_its_fragments_before_the_last_is_there(page: Page, spoken: Spoken) -> None:
    fragments = list(split(spoken.file("aac", "session").read_bytes()))
    assert len(fragments) > 10
    await page.goto((spoken.directory / "empty.html").as_uri())
    encoded = [base64.b64encode(fragment).decode() for fragment in fragments]
    played = await page.evaluate(APPEND, {"fragments": encoded, "type": AAC, "playAfter": len(fragments) // 2})
    ends = played["ends"]
    assert ends[0] == 0, "the header alone is nothing to hear"
    assert all(one < other for one, other in itertools.pairwise(ends)), "each fragment adds to it"
    assert ends[-1] == pytest.approx(spoken.duration_s, abs=0.05)
    assert played["endedAt"] == ends[-1]


def split(file: bytes) -> Iterator[bytes]:
    """The header of a fragmented MP4, then one fragment (moof and mdat) after the other."""
    start, at = 0, 0
    while at < len(file):
        size, kind = int.from_bytes(file[at : at + 4]), file[at + 4 : at + 8]
        if kind == b"moof" and at > start:
            yield file[start:at]
            start = at
        at += size
    yield file[start:]
