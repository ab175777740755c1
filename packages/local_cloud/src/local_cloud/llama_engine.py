"""The llama.cpp side of the local model: one context, its preamble read once, one answer at a time. Blocking; used in a
thread.

The lower interface of cyllama is used instead of its `LLM`, for two things that this one cannot do: the preamble's
200 tokens stay in the key-value cache from answer to answer (0.6 s less before the first word), and the end of the
answer can be forbidden for as long as it is too short."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from cyllama.llama import llama_cpp
from cyllama.llama.token_decoder import TokenDecoder

from local_cloud.llama_text import MAX_TOKENS, PREAMBLE, Answer

THREADS = 1
"""Threads of llama.cpp wait for each other by spinning. Measured on two cores (tokens a second): one thread 43 alone
and 32 beside two busy processes, two threads 48 alone and 3 beside them; and the speech engine is always beside it."""
CONTEXT_TOKENS = 2048
BATCH_TOKENS = 512
REPEAT_PENALTY = 1.1
PENALTY_WINDOW_TOKENS = 256
FORBIDDEN = -1e9
LONGEST_NEWLINE_TOKEN = 31


class LlamaEngine:
    """The model, loaded. Deterministic: greedy choice under a repetition penalty."""

    def __init__(self, path: Path) -> None:
        llama_cpp.disable_logging()
        llama_cpp.ggml_backend_load_all()
        self._model = llama_cpp.LlamaModel(str(path), llama_cpp.LlamaModelParams(), False)
        self._vocab = self._model.get_vocab()
        params = llama_cpp.LlamaContextParams()
        params.n_ctx = CONTEXT_TOKENS
        params.n_batch = BATCH_TOKENS
        params.n_threads = params.n_threads_batch = THREADS
        params.no_perf = True
        self._context = llama_cpp.LlamaContext(self._model, params)
        self._context.install_cancel_callback()
        newlines = (self._tokens("\n" * count) for count in range(1, LONGEST_NEWLINE_TOKEN + 1))
        self._newlines = frozenset(ids[0] for ids in newlines if len(ids) == 1)
        preamble = self._tokens(PREAMBLE, begin=True)
        self._preamble_tokens = len(preamble)
        self._read(preamble, 0)

    def write(self, prompt: str) -> Iterator[str]:
        """The answer to a framed dialogue, in pieces of one token. Ends early after `cancel`."""
        self._context.cancel = False
        self._context.memory_seq_rm(0, self._preamble_tokens, -1)
        asked = self._tokens(prompt)
        answer, decoder = Answer(), TokenDecoder(self._vocab)
        going_on, free = self._sampler(may_end=False), self._sampler(may_end=True)
        try:
            position = self._read(asked, self._preamble_tokens)
            for _ in range(MAX_TOKENS):
                chosen, other = (free, going_on) if answer.may_end else (going_on, free)
                token = chosen.sample(self._context, -1)
                other.accept(token)
                if token in self._newlines or self._vocab.is_eog(token) or self._vocab.is_control(token):
                    break
                piece = decoder.decode(token)
                if answer.ends_before(piece):
                    break
                if said := answer.take(piece):
                    yield said
                position = self._read([token], position)
        except InterruptedError:
            return
        if rest := answer.rest():
            yield rest

    def cancel(self) -> None:
        """From any thread: end the answer being written, inside the token being computed."""
        self._context.cancel = True

    def close(self) -> None:
        """Free the context and the model."""
        self._context.close()
        self._model.close()

    def _tokens(self, text: str, *, begin: bool = False) -> list[int]:
        return list(self._vocab.tokenize(text, add_special=begin, parse_special=False))

    def _read(self, tokens: list[int], position: int) -> int:
        """Put tokens into the context from `position` on; returns the position after them."""
        for batch in itertools.batched(tokens, BATCH_TOKENS):
            self._context.decode(llama_cpp.llama_batch_get_one(list(batch), position))
            position += len(batch)
        return position

    def _sampler(self, *, may_end: bool) -> "llama_cpp.LlamaSampler":
        params = llama_cpp.LlamaSamplerChainParams()
        params.no_perf = True
        sampler = llama_cpp.LlamaSampler(params)
        if not may_end:
            ends = [*self._newlines, self._vocab.token_eos(), self._vocab.token_eot()]
            biases = [(token, FORBIDDEN) for token in ends if token >= 0]
            sampler.add_logit_bias(self._vocab.n_vocab, biases)
        sampler.add_penalties(self._vocab.n_vocab, PENALTY_WINDOW_TOKENS, REPEAT_PENALTY, 0.0, 0.0)
        sampler.add_greedy()
        return sampler
