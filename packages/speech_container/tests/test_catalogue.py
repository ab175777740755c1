"""What there is to choose from."""

import json
import threading
from typing import Any


async def test_every_voice_has_a_language_and_a_gender_and_says_whether_it_is_offered(start: Any) -> None:
    running = await start()
    listing = json.loads((await running.http("GET", "/v1/audio/voices")).body)
    voices = {voice["name"]: voice for voice in listing["voices"]}
    assert len(voices) == 54
    assert voices["bf_emma"] == {"name": "bf_emma", "language": "en-gb", "gender": "female", "offered": True}
    assert voices["zm_yunxi"] == {"name": "zm_yunxi", "language": "zh", "gender": "male", "offered": True}
    assert listing["blends"]["example"] == "af_heart(2)+af_bella(1)"
    assert listing["openai_voices"]["alloy"] == "af_alloy"
    assert {"pcm", "wav"} <= set(listing["formats"])
    assert 24000 in listing["sample_rates"]
    assert "en-us" in listing["languages"]


async def test_a_voice_whose_language_is_not_spoken_here_is_listed_and_not_offered(
    start: Any, tone_studio: Any
) -> None:
    studio = tone_studio()
    studio.narrator._front_end.languages = ("en-us",)
    running = await start(studio=studio)
    listing = json.loads((await running.http("GET", "/v1/audio/voices")).body)
    offered = {voice["name"]: voice["offered"] for voice in listing["voices"]}
    assert (offered["af_heart"], offered["ff_siwis"]) == (True, False)


async def test_the_example_of_a_blend_is_spoken(start: Any) -> None:
    running = await start()
    listing = json.loads((await running.http("GET", "/v1/audio/voices")).body)
    blend = listing["blends"]["example"]
    mixed, alone, refused = [
        await running.invoke(text="Hi.", voice=voice, format="pcm")
        for voice in (blend, "af_heart", "af_heart(2)+af_bela")
    ]
    assert mixed.status == alone.status == 200
    assert mixed.body != alone.body
    assert (refused.status, refused.error["code"]) == (400, "voice_unknown")
    assert "'af_bela'" in refused.error["message"]


async def test_a_server_that_loads_has_no_voices_yet(start: Any, tone_studio: Any) -> None:
    passed = threading.Event()
    running = await start(studio=tone_studio(checks=(passed.wait,)), until_ready=False)
    listing = json.loads((await running.http("GET", "/v1/audio/voices")).body)
    passed.set()
    assert listing["voices"] == []


async def test_an_unknown_model_is_refused_in_openais_words(start: Any) -> None:
    running = await start()
    reply = await running.http("GET", "/v1/models/gpt-9")
    assert (reply.status, reply.error["code"]) == (404, "model_not_found")
