"""
A model server in virtual time, which says what was recorded (`recordings`), as fast as is told.

It keeps what two slots were shown last, as a llama-server does, counts tokens by characters, and takes the time for what
is not kept and for each token that it decodes. Who closes a stream waits for the token that is being decoded.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.real_sessions.recordings import Said
from fim_lsp.documents import n_common
from server_bridge.llama.backend import join
from server_bridge.protocol import (
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    State,
    Stop,
    Timings,
    Token,
    Warmed,
)

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
N_CTX = 16384  # tokens of a slot, as `benchmarks.serve` has
CHARS_PER_TOKEN = 3.4  # Qwen2.5-Coder in the code of the sessions
PROMPT_PER_TOKEN = 4  # tokens of a prompt that are evaluated in the time of one that is decoded
TENTH = 10  # a slot with less of a prompt is no help
# Behind what was recorded nothing is shown: the session was not sure there.
FILLER = Token(0, b" ?", math.log(0.01))


class Speed(NamedTuple):
    """Tokens a second: of a prompt, and decoded."""

    prompt_per_s: float
    decode_per_s: float


def speed(decode_per_s: float) -> Speed:
    """Return the speed of a machine that decodes so many tokens a second."""
    return Speed(decode_per_s * PROMPT_PER_TOKEN, decode_per_s)


class ReplayedModel:
    """*says* gives what is said behind a middle and half a word, None where nothing is known."""

    def __init__(self, says: Callable[[str, str], Said | None], pace: Speed) -> None:
        self.state = State(
            Health.READY, "replayed", model=MODEL, n_ctx=N_CTX, slots=2, chars_per_token=CHARS_PER_TOKEN,
            prefill_per_s=pace.prompt_per_s, decode_ms=1000 / pace.decode_per_s,
        )  # fmt: skip
        self.on_change: Callable[[], None] = lambda: None
        self.prompts: list[Prompt] = []
        self.n_decoded = self.n_evaluated = 0
        self.busy_s = 0.0
        self._says = says
        self._pace = pace
        self._free_at = 0.0
        self._slots, self._aside = ["", ""], [""]  # the one used last stands last

    async def connect(self) -> ReplayedModel:
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        parts = [
            ("repo", prompt.repo), *(("chunk", chunk.name + chunk.text) for chunk in prompt.chunks),
            ("path", prompt.path), ("prefix", prompt.prefix), ("suffix", prompt.suffix), ("middle", prompt.middle),
        ]  # fmt: skip
        counts = [(kind, _n_tokens(len(text) + 1)) for kind, text in parts]
        total = sum(n for _, n in counts)
        text = _text(prompt)
        return Measure.of(counts, min(total - 1, total - _n_tokens(len(text) - self._n_held(text))))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        text = _text(prompt)
        held = self._n_held(text)
        upto = min(len(text), held + int(step * CHARS_PER_TOKEN))
        n_now = _n_tokens(upto - held)
        n_left = _n_tokens(len(text) - upto)
        await self._compute(n_now / self._pace.prompt_per_s)
        self._put(text[:upto], self._slots_for(prompt))
        self.n_evaluated += n_now
        return Warmed(n_now, n_left)

    async def complete(self, request: Request) -> Reply:
        return await join(self.stream(request))

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        prompt = request.prompt
        token_s = 1 / self._pace.decode_per_s
        self.prompts.append(prompt)
        text = _text(prompt)
        slots = self._slots_for(prompt)
        n_new = max(1, _n_tokens(len(text) - self._n_held(text)))
        await self._compute(max(n_new / self._pace.prompt_per_s, token_s))
        self._put(text, slots)
        self.n_evaluated += n_new
        said = self._says(prompt.middle, prompt.forced)
        timings = Timings(prompt_n=n_new, cache_n=_n_tokens(len(text)) - n_new, predicted_n=1)
        middle: tuple[Token, ...] = ()
        for tokens, piece, stop in _pieces(said, request):
            self.n_decoded += 1
            self.busy_s += token_s
            slots[-1] += piece
            # the server begins the next token, whether it is wanted or not
            self._free_at = asyncio.get_running_loop().time() + (
                token_s if stop is Stop.LIMIT else 0
            )
            yield Reply(piece, tokens, middle, stop, timings)
            await self._compute(0.0)
            middle += tokens
            timings = Timings(predicted_n=1)

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        del prompt, files
        return 0

    async def restore(self, prompt: Prompt) -> int:
        del prompt
        return 0

    async def aclose(self) -> None:
        self._slots = ["", ""]
        self._aside = [""]

    async def _compute(self, seconds: float) -> None:
        """Take so long, once what is being computed is done."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + seconds
        self.busy_s += seconds
        await asyncio.sleep(self._free_at - now)

    def _slots_for(self, prompt: Prompt) -> list[str]:
        return self._aside if prompt.aside else self._slots

    def _n_held(self, text: str) -> int:
        return max(n_common(text, slot) for slot in (*self._slots, *self._aside))

    def _put(self, text: str, slots: list[str]) -> None:
        """Put *text* into the slot with most of it, or the one used least lately."""
        best = max(slots, key=lambda slot: n_common(text, slot))
        slots.remove(best if n_common(text, best) > len(text) // TENTH else slots[0])
        slots.append(text)


def _pieces(said: Said | None, request: Request) -> Iterator[tuple[tuple[Token, ...], str, Stop]]:
    """Yield the tokens of an answer with their text, and why it ends, if it does."""
    tokens, end = said or ((), Stop.END)
    for n in range(request.n_predict):
        if n >= len(tokens) and end is not Stop.LIMIT:
            yield (), "", end
            return
        token = tokens[n] if n < len(tokens) else FILLER
        text = token.text.decode("utf-8", "replace")
        if stops := [at for stop in request.stop if (at := text.find(stop)) >= 0]:
            left = text[: min(stops)]
            yield ((token._replace(text=left.encode()),) if left else ()), left, Stop.WORD
            return
        yield (token,), text, Stop.LIMIT


def _text(prompt: Prompt) -> str:
    """Return all that a prompt shows, in the order in which it is evaluated."""
    chunks = (f"{chunk.name}\0{chunk.text}" for chunk in prompt.chunks)
    shown: Sequence[str] = (prompt.repo, *chunks, prompt.path, prompt.prefix, prompt.suffix)
    return "\0".join((*shown, prompt.middle))


def _n_tokens(n_chars: int) -> int:
    return math.ceil(n_chars / CHARS_PER_TOKEN)
