"""What the clients of a run say: few texts, so that the same request comes often, and every kind of nonsense."""

import json
import random
from typing import Any, Final

from speech_protocol import AUDIO_FORMATS, SAMPLE_RATES_HZ

SENTENCES: Final = (
    "Hello there.",
    "The kettle is on.",
    "It will take a minute, or perhaps two.",
    "Pay 45 euros by 6:15pm.",
    "Nobody heard the door.",
    "Is it raining in Lisbon?",
    "We spoke of ships, of shoes and of sealing wax.",
    "No!",
)
TEXTS: Final = (*SENTENCES[:3], " ".join(SENTENCES[:4]), " ".join(SENTENCES))
LONG_TEXT: Final = " ".join(SENTENCES * 8)  # some minutes of tones: it is sent at the pace at which it is played
VOICES: Final = ("af_heart", "bm_george", "af_heart(2)+af_bella(1)")
ODD_TEXTS: Final = ("", "   ", "😀", "?!", "a", "x" * 520, "null\0byte", "\u202eright to left\u202c", "word " * 60)
WRONG_OPTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"voice": "nobody"},
    {"voice": "af_heart(0)"},
    {"speed": 9},
    {"format": "flac"},
    {"sample_rate": 44100},
    {"language": "tlh"},
    {"request_timestamp": 1},
    {"lexicon": {"word": 5}},
    {"timestamps": "yes"},
    {"request_id": ""},
)


def options(chance: random.Random) -> dict[str, Any]:
    """How to speak: mostly as most clients ask for it."""
    chosen: dict[str, Any] = {"voice": chance.choice(VOICES)}
    if chance.random() < 0.5:
        chosen["format"] = chance.choice(AUDIO_FORMATS)
    if chance.random() < 0.2:
        chosen["sample_rate"] = chance.choice(SAMPLE_RATES_HZ)
    if chance.random() < 0.3:
        chosen["timestamps"] = True
    return chosen


def pieces(chance: random.Random, text: str) -> list[str]:
    """The text as a model might write it: a few characters at a time."""
    found = []
    while text:
        size = chance.randint(1, 24)
        found.append(text[:size])
        text = text[size:]
    return found


def garbage(chance: random.Random) -> bytes | str:
    """A message that is none, or hardly one."""
    match chance.randrange(8):
        case 0:
            return chance.randbytes(chance.randint(0, 200))
        case 1:
            return "".join(chr(chance.randrange(1, 0xD800)) for _ in range(chance.randint(0, 60)))
        case 2:
            return chance.choice(("[]", '"x"', "{}", "null", '{"type": "zzz"}', '{"type": 7}', '{"text": "a"', "NaN"))
        case 3:
            return "{" * chance.choice((10, 2000, 100_000))
        case 4:
            return b'{"text": "\xff"}'
        case 5:
            whole = json.dumps({"type": "synthesize", "text": "Hello there.", "voice": "af_heart"})
            return whole[: chance.randrange(len(whole))]
        case 6:
            return json.dumps({"type": "text", "delta": chance.choice(("x", 5, None)), "context_id": 7})
        case _:
            return json.dumps({"type": chance.choice(("cancel", "ping")), "request_id": [1], "id": 5, "played_s": "x"})
