"""Making a base model answer: the dialogue it is given to continue, and where its answer ends.

Gemma 3 270M, as packaged, is a base model: it knows no chat roles, follows no system text, and at temperature 0 soon
repeats itself. Given two finished exchanges and a third question it continues in their manner. Measured here:
without a floor it stops after one or two sentences, so the end of the answer is forbidden until three are complete; a
repetition penalty keeps it going."""

import re

from local_cloud.language_model import Conversation, Turn

MIN_SENTENCES = 3
MAX_SENTENCES = 7
WIND_UP_TOKENS = 60
"""From here on the answer ends with the sentence it is in."""
MAX_TOKENS = 220
MAX_HISTORY_CHARS = 2400

PREAMBLE = """\
A listener asks a question, and a kind teacher answers it in one paragraph of five or six clear, complete sentences.

Listener: Why do leaves change colour in autumn?
Teacher: Leaves look green because they are full of chlorophyll, which they use to catch sunlight. When the days grow \
short, the tree stops making chlorophyll and takes it back. The yellow and orange colours that were hidden all summer \
can then be seen. Red colours are made from sugar that is left in the leaf. Soon afterwards the leaves dry out and \
fall to the ground. In spring the tree grows new ones.

Listener: How do I bake good bread?
Teacher: Good bread needs only flour, water, salt and yeast. Mix them well, and knead the dough until it is smooth \
and soft. Then let it rest in a warm place until it is twice as big. Bake it in a very hot oven until the crust is \
brown. Let the bread cool down before you cut it, because it is still cooking inside.
"""

_SENTENCE_END = re.compile(r"[.!?][\"”’)]*(?=\s|$)")
_AT_SENTENCE_END = re.compile(r"[.!?][\"”’)]*$")


def frame(conversation: Conversation) -> str:
    """The conversation as the next exchanges of `PREAMBLE`'s dialogue, up to where the answer begins.

    Old turns are left out where all of them would be longer than `MAX_HISTORY_CHARS`.
    """
    kept: list[str] = []
    length = 0
    for turn in reversed(conversation.turns):
        line = _line(turn)
        length += len(line)
        if kept and length > MAX_HISTORY_CHARS:
            break
        kept.append(line[:MAX_HISTORY_CHARS])
    return "\n" + "".join(reversed(kept)) + "Teacher:"


def _line(turn: Turn) -> str:
    text = " ".join(turn.text.split())
    return f"Listener: {text}\n" if turn.role == "user" else f"Teacher: {text}\n\n"


class Answer:
    """Follows an answer as it is written and says where it may end and where it must."""

    def __init__(self) -> None:
        self._text = ""
        self._tokens = 0

    @property
    def may_end(self) -> bool:
        """Whether the model is allowed to end the answer here: after a whole sentence, when there are enough."""
        return self._between_sentences and self._sentences >= MIN_SENTENCES

    def ends_before(self, piece: str) -> bool:
        """Whether the answer is long enough, and complete, before `piece`."""
        enough = self._sentences >= MAX_SENTENCES or self._tokens >= WIND_UP_TOKENS
        return enough and self._between_sentences and (not piece or piece[0].isspace())

    def take(self, piece: str) -> str:
        """Add what the model wrote, and return what of it is to be said: an answer begins without white space."""
        said = piece if self._text else piece.lstrip()
        self._text += said
        self._tokens += 1
        return said

    def rest(self) -> str:
        """What is missing where the model was stopped inside a sentence: the full stop."""
        return "" if not self._text or self._between_sentences else "."

    @property
    def _between_sentences(self) -> bool:
        return _AT_SENTENCE_END.search(self._text) is not None

    @property
    def _sentences(self) -> int:
        return sum(1 for _ in _SENTENCE_END.finditer(self._text))
