"""
Texts into a llama.cpp server's token ids, each asked for once; and ids back into bytes.

User text is never read as control tokens. Frozen texts (chunks, windows) are kept as packed ids,
typed runs (a word, a bracket) as tokens with their bytes, so that a key the user has typed before
costs no request.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from server_bridge.encoding import Ids, Lru, ids, spelled
from server_bridge.protocol import Token
from server_bridge.specials import Specials, families, specials

N_TEXTS = 256  # a ring of 16 chunks many times over; some megabytes
N_RUNS = 4096  # a day's vocabulary
SMOOTHING = 0.2  # weight of the newest measurement: settles in about ten texts
GUARD = "\n"  # a byte of its own in the vocabularies of SentencePiece
ENOUGH_CHARS = 200  # shorter texts say little about characters per token

Post = Callable[[str, str], Awaitable[dict[str, Any]]]


class Tokenizer:
    """The tokenizer of one model behind *post*."""

    def __init__(self, post: Post, chars_per_token: float) -> None:
        self._post = post
        self._texts: Lru[Ids] = Lru(N_TEXTS)
        self._runs: Lru[tuple[Token, ...]] = Lru(N_RUNS)
        self._pieces: dict[int, bytes] = {}  # the bytes of every token seen; at most the vocabulary
        self.chars_per_token = chars_per_token  # a running mean
        self._guard: list[int] = []

    async def text(self, text: str) -> Ids:
        """A text that will not change as ids."""
        if (known := self._texts.get(text)) is not None or not text:
            return known or ids(())
        found = ids(await self._apart(text))
        if len(text) >= ENOUGH_CHARS:
            self.chars_per_token += SMOOTHING * (len(text) / found.n - self.chars_per_token)
        return self._texts.put(text, found)

    async def run(self, text: str) -> tuple[Token, ...]:
        """A few words as tokens with their bytes."""
        if (known := self._runs.get(text)) is not None or not text:
            return known or ()
        found = []
        for entry in await self._apart(text, with_pieces=True):
            piece = entry["piece"]  # a list of bytes where it is not valid UTF-8 by itself
            token = Token(entry["id"], piece.encode() if isinstance(piece, str) else bytes(piece))
            self._pieces[token.id] = token.text
            found.append(token)
        return self._runs.put(text, tuple(found))

    async def spelled(
        self, numbers: Sequence[int], rated: Sequence[Any], text: str
    ) -> tuple[Token, ...]:
        """
        The tokens just made, as far as they spell *text*.

        An entry's own `bytes` are what was sent with it, which half a character or half a stop
        string delays; those of its best candidate are the token's. Greedy choices are their own
        best candidate. For forced and sampled ones we ask how *text* is spelled, then one by one.
        """
        for entry in rated:
            for best in entry["top_logprobs"]:
                self._pieces[best["id"]] = bytes(best["bytes"])
        if self._unknown(numbers):
            await self.run(text)
        for number in self._unknown(numbers):
            answer = await self._post("/detokenize", json.dumps({"tokens": [number]}))
            if "\ufffd" not in answer["content"]:  # which stands for half a character
                self._pieces[number] = answer["content"].encode()
        return spelled(numbers, self._pieces, text)

    async def own(self, tape: tuple[Token, ...]) -> tuple[Token, ...]:
        """As much of *tape* as is spelled in this model's tokens: another server may have made it."""
        for n, token in enumerate(tape):
            known = self._pieces.get(token.id)
            if known is None and await self._spells(tape[n:]):
                return tape
            if known != token.text:
                return tape[:n]
        return tape

    async def _spells(self, tape: tuple[Token, ...]) -> bool:
        """Whether these ids stand for these texts here; one question for all, as after a restart."""
        numbers = [token.id for token in tape]
        if min(numbers) < 0:  # made by a server that told no ids
            return False
        answer = await self._post("/detokenize", json.dumps({"tokens": numbers}))
        if answer["content"].encode() != b"".join(token.text for token in tape):
            return False
        self._pieces.update((token.id, token.text) for token in tape)
        return True

    def _unknown(self, numbers: Sequence[int]) -> set[int]:
        return set(numbers) - self._pieces.keys()

    async def specials(self, model: str) -> Specials | None:
        """The first family all of whose spellings are one token each for this model."""
        start = await self._tokenize("", add_special=True)
        first, *others = await self._tokenize(GUARD, with_pieces=True)
        self._guard = [first["id"], *(other["id"] for other in others)] if others else []
        numbers: dict[str, int] = {}
        for family in families(model):
            for spelling in family.spellings:
                if spelling not in numbers:
                    found = await self._tokenize(spelling, parse_special=True)
                    if len(found) != 1:
                        break
                    numbers[spelling] = found[0]
            if known := specials(family, numbers, start[0] if start else None):
                return known
        return None

    async def _apart(self, text: str, *, with_pieces: bool = False) -> list[Any]:
        """
        The tokens of a text that others stand before.

        SentencePiece models (Codestral, CodeLlama) put a space before whatever they are given; it
        ends up before the guard, which never becomes one token with what follows.
        """
        found = await self._tokenize(GUARD * bool(self._guard) + text, with_pieces=with_pieces)
        return found[len(self._guard) :]

    async def _tokenize(self, text: str, **flags: bool) -> list[Any]:
        """Ids, or with pieces objects of `id` and `piece`; control tokens only where asked for."""
        question = {"content": text, "add_special": False, "parse_special": False, **flags}
        tokens: list[Any] = (await self._post("/tokenize", json.dumps(question)))["tokens"]
        return tokens
