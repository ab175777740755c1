"""A text that is spoken while it is still being written: the client's half of a context.

The server cuts sentences, so a caller passes on what a model writes as it comes. The context holds its place among the
session's requests from the moment it is opened; its events carry its id and come from the session's `events()`.
"""

from collections.abc import Awaitable, Callable

from speech_protocol import ErrorCode, Text

from .errors import SpeechRequestError, SpeechUsageError


class SpeechContext:
    """Made by `SpeechSession.open_context`. `id` is the `request_id` of its events."""

    def __init__(
        self,
        context_id: str,
        say: Callable[[Text], Awaitable[None]],
        is_over: Callable[[], bool],
        finished: Callable[[], None],
    ) -> None:
        self.id = context_id
        self._say = say
        self._is_over = is_over
        self._finished = finished
        self._is_finished = False

    async def write(self, delta: str, *, cut: bool = False) -> None:
        """Pass on more of the text, of any length; `""` only keeps the context alive.

        `cut`: this ends a sentence, or the caller has cut the text itself: the server speaks what it has at once.

        Waits while the connection takes nothing. Raises `SpeechUsageError` after `finish`, `SpeechRequestError`
        (`cancelled`) once the context was cancelled, or ended by an error that is among the events, and whatever
        ended the session.
        """
        if self._is_finished:
            raise SpeechUsageError("this context was finished: open another one for more text")
        if self._is_over():
            message = "the context has ended, and what is written now would not be spoken; its events say why"
            raise SpeechRequestError(ErrorCode.CANCELLED, message, retryable=False, request_id=self.id)
        await self._say(Text(self.id, delta, cut=cut))

    async def finish(self) -> None:
        """The text is complete; `SynthesisComplete` follows its last audio. Harmless a second time, and at the end."""
        if self._is_finished or self._is_over():
            self._is_finished = True
            return
        self._is_finished = True
        await self._say(Text(self.id, "", flush=True))
        self._finished()
