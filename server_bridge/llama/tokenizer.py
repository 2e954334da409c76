"""
Texts into a llama.cpp server's token ids, each asked for once; and ids back into bytes.

User text is never read as control tokens (`parse_special` is false). Frozen texts (chunks, windows)
are kept as packed ids, middles as tokens with their bytes, so that a key inside a word costs no
request.

A server has a chat template in any case: for a model without one of its own it takes ChatML. It is
the model's if the marks in it are single tokens there.
"""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from xxhash import xxh3_128_digest

from server_bridge.fim.chat import (
    ASK,
    CHAT,
    GAP,
    NO_THINKING,
    OPEN,
    TASK,
    Turn,
    dialogues,
    parse_turn,
)
from server_bridge.fim.layout import Ids, find_spelling, ids
from server_bridge.fim.tokens import PLAIN, Specials, families, specials
from server_bridge.http.responses import ServerError, UnexpectedAnswer, answer_error
from server_bridge.llama import answers
from server_bridge.llama.link import WITHOUT, Link
from server_bridge.protocol import Token
from server_bridge.speeds import Speeds

N_TEXTS = 256  # a ring of 16 chunks many times over; some megabytes
N_PIECES = 1 << 16  # a user's files have some thousand different tokens; some megabytes
N_RUNS = 256  # middles of some hundred characters, a few kilobytes each
# stands in no vocabulary, so that it is a byte of its own and never part of a longer token
GUARD = "\x01"
SPACE = "\u2581"  # how SentencePiece writes one

# A BOS token, the guard, and the space that SentencePiece puts first; no other token is less than a
# byte.
MOST_EXTRA = 8

T = TypeVar("T", answers.TokenIds, answers.Pieces)
V = TypeVar("V")


class Tokenizer:
    """The tokenizer of one model at the other end of *link*; *speeds* learn how long tokens are."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.speeds = Speeds()
        self._texts: Lru[Ids] = Lru(N_TEXTS)
        self._runs: Lru[tuple[Token, ...]] = Lru(N_RUNS)
        self._pieces: dict[int, bytes] = {}  # the bytes of tokens seen

        self._n_guard = 0  # tokens before each text
        self._start: tuple[int, ...] = ()  # what this model's texts begin with, if anything

    async def text(self, text: str) -> Ids:
        """Return a text that will not change as ids."""
        if (packed := self._texts.get(text)) is not None or not text:
            return packed or ids(())
        numbers = await self._numbers(text)
        self.speeds.learn_text(len(text), len(numbers))
        return self._texts.put(text, ids(numbers))

    async def run(self, text: str) -> tuple[Token, ...]:
        """Return a few lines as tokens with their bytes."""
        if (tokens := self._runs.get(text)) is not None or not text:
            return tokens or ()
        pieces = (await self._pieces_of(self._add_guard(text)))[self._n_guard :]
        raw = (p.piece.encode() if isinstance(p.piece, str) else bytes(p.piece) for p in pieces)
        tokens = tuple(map(Token, (piece.id for piece in pieces), raw))
        if b"".join(token.text for token in tokens) != text.encode():
            if SPACE not in text:
                raise self._answer_error("its tokens do not spell the text")
            return self._runs.put(text, await self._around_spaces(text))
        self._note_pieces(token[:2] for token in tokens)
        return self._runs.put(text, tokens)

    def _note_pieces(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        """Keep the bytes of tokens, of the last `N_PIECES`."""
        self._pieces.update(pieces)
        for number in [*itertools.islice(self._pieces, max(0, len(self._pieces) - N_PIECES))]:
            del self._pieces[number]

    async def _around_spaces(self, text: str) -> tuple[Token, ...]:
        """
        Return a run in which `SPACE` stands: SentencePiece takes it for the space that it is
        written for.
        """
        first, *others = text.split(SPACE)
        spaces = tuple(token._replace(text=SPACE.encode()) for token in await self.run(" "))
        tokens = await self.run(first)
        for part in others:
            tokens += spaces + await self.run(part)
        return tokens

    async def find_spelling(
        self, numbers: Sequence[int], rated: Sequence[answers.Entry], text: str
    ) -> tuple[Token, ...]:
        """
        Return the tokens just made, as far as they spell *text*.

        An entry's own `bytes` are what was sent with it, which half a character or half a stop
        string delays; the bytes of its best candidate are the token's. Greedy choices are their own
        best candidate. For forced and sampled ones we ask how *text* is spelled.
        """
        best = (best for entry in rated for best in entry.top_logprobs)
        self._note_pieces((token.id, bytes(token.bytes)) for token in best)
        if not {*numbers} <= self._pieces.keys():
            await self.run(text)
        return find_spelling(numbers, self._pieces, text)

    def own(self, tape: tuple[Token, ...]) -> tuple[Token, ...]:
        """Return *tape*, or nothing where this model did not make it: another server may have."""
        return tape if all(self._pieces.get(token.id) == token.text for token in tape) else ()

    async def specials(self, model: str) -> Specials | None:
        """Return the first family all of whose spellings are one token each for this model."""
        self._start = tuple(await self._tokenize("", add_special=True))[:1]
        await self._find_guard()
        numbers: dict[str, tuple[int, ...]] = {}
        for family in families(model):
            for spelling in family.spellings:
                if spelling not in numbers:
                    marks = await self._tokenize(spelling, parse_special=True)
                    if len(marks) != 1:
                        break
                    numbers[spelling] = tuple(marks)
            if fim := specials(family, numbers, self._start):
                return fim
        return None

    async def plain(self) -> Specials:
        """Return the family for a model that has no tokens for a gap: its text goes on."""
        return Specials(PLAIN, self._start)

    async def add_instructions(self, fills: Specials, turn: Turn) -> Specials:
        """
        Return a family that follows instructions, too: they stand behind its files as if those were
        an answer.
        """
        again = tuple(await self._tokenize(turn.again, parse_special=True))
        answer = tuple(await self._tokenize(turn.between, parse_special=True)) if again else ()
        return fills._replace(ask=again, again=again, answer=answer)

    async def chat(self, turn: Turn) -> Specials:
        """Return the family for a chat model: what is put into words, in its template's *turn*."""
        before = await self._tokenize(turn.before, parse_special=True)
        between = await self._tokenize(turn.between, parse_special=True)
        start = self._start if tuple(before[:1]) != self._start else ()
        gap = await self._numbers(GAP)
        task = await self._numbers(TASK)
        ask = await self._numbers(ASK)
        return Specials(
            CHAT,
            start=(*start, *before, *task),
            suffix=tuple(gap),
            middle=(*ask, *between, *await self._numbers(OPEN)),
            again=tuple(await self._tokenize(turn.again, parse_special=True)),
            answer=tuple(between) if turn.again else (),
        )

    async def read_turn(self) -> Turn | None:
        """
        Return the turn of the model's template, None where it is not for chats or the server cannot
        tell.
        """
        try:
            question, answered = [await self._apply_template(lines) for lines in dialogues()]
        except (*WITHOUT, ServerError):  # an old build, or a template that fails
            return None
        if (turn := parse_turn(question, answered)) is None:
            return None
        text = turn.before + turn.between
        has_marks = await self._tokenize(text, parse_special=True) != await self._tokenize(text)
        return turn if has_marks else None

    async def _apply_template(self, messages: list[dict[str, str]]) -> str:
        question = {"messages": messages, "chat_template_kwargs": NO_THINKING}
        answer = await self._link.post(
            answers.TemplateAnswer, "/apply-template", json.dumps(question)
        )
        return answer.prompt

    async def foreign(self) -> int:
        """Return a token that no prompt begins with: a name of a file or a control token does."""
        return (await self._numbers("x"))[-1]

    async def _find_guard(self) -> None:
        """
        See whether texts need a guard before them.

        SentencePiece models (Codestral, CodeLlama) put a space before whatever they are given; it
        ends up before the guard, which no token goes across.
        """
        pieces = await self._pieces_of(GUARD)
        if not pieces:
            raise self._answer_error("a character has no tokens")
        self._n_guard = len(pieces) if len(pieces) > 1 else 0

    async def _numbers(self, text: str) -> list[int]:
        """Return the ids of a text in the middle of another."""
        if numbers := (await self._tokenize(self._add_guard(text)))[self._n_guard :]:
            return numbers
        raise self._answer_error("a text has no tokens")

    def _add_guard(self, text: str) -> str:
        return GUARD + text if self._n_guard else text

    async def _tokenize(self, text: str, **flags: bool) -> list[int]:
        """Tokenize into ids; control tokens only where asked for."""
        return (await self._ask(answers.TokenIds, text, flags)).tokens

    async def _pieces_of(self, text: str) -> list[answers.SpelledToken]:
        """Tokenize into ids with their texts."""
        return (await self._ask(answers.Pieces, text, {"with_pieces": True})).tokens

    async def _ask(self, kind: type[T], text: str, flags: dict[str, bool]) -> T:
        question = {"content": text, "add_special": False, "parse_special": False, **flags}
        answer = await self._link.post(kind, "/tokenize", json.dumps(question))
        if len(answer.tokens) > len(text.encode()) + MOST_EXTRA:
            raise self._answer_error("more tokens than the text has bytes")
        return answer

    def _answer_error(self, why: str) -> UnexpectedAnswer:
        return answer_error(f"{self._link.url}/tokenize", why)


class Lru(Generic[V]):
    """Values by the text they were made from; keeps the digest of the text, not the text."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[bytes, V] = OrderedDict()

    def get(self, text: str) -> V | None:
        """Return the value made from *text*, if it is still known."""
        key = xxh3_128_digest(text.encode())
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, text: str, value: V) -> V:
        """Keep *value*; forget the one unused for longest when there are too many."""
        self._values[xxh3_128_digest(text.encode())] = value
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)
        return value
