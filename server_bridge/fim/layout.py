"""
A prompt into an ordered list of segments, and tokens into what llama.cpp's JSON wants. Pure.

Token ids are kept the way they are used: as text for the request's body and as packed integers for
the mirror, both made once per text. A prompt of 8,000 tokens is then joined, not built.

For backends that take no token ids the same is written as text (`render`): only there the special
tokens are spelled out, and what looks like one in the user's text is broken by a space, so that it
cannot become one.

A chat model that has no tokens for a gap is asked in words. All that is frozen is the question. The
answer is begun for the model, with the code from the anchor to the cursor in an open block, and it
goes on from there: so nothing has to be parsed out of what it says, what is typed comes at the end,
as for other families, and an answer ends where the block does. What stands between a question and
an answer is the template's of the model. It is read off a dialogue that the server writes with it,
twice: as what comes next, thinking switched off, and as what came before a later question.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Generic, Literal, NamedTuple, TypeVar

from xxhash import xxh3_128_digest

from server_bridge.fim.tokens import CONTROLS, PLAIN_HEAD, Family, Specials, specials
from server_bridge.protocol import Prompt, Token


class Part(NamedTuple):
    """A piece of a prompt as it is sent."""

    kind: Kind
    text: str


def render(prompt: Prompt, family: Family) -> list[Part]:
    """Return the prompt in the family's order, without what is forced; the middle stands last."""
    spellings = family.spellings
    marks = specials(family, {spelling: (n,) for n, spelling in enumerate(spellings)}, start=())
    assert marks is not None
    parts = []
    for kind, numbers, text in layout(prompt, marks):
        text = prompt.middle if kind == "middle" else text  # noqa: PLW2901
        parts.append(Part(kind, _spell_marks(spellings, numbers) + neutral(text, family)))
    return parts


@lru_cache(maxsize=64)  # frozen texts come with every key
def neutral(text: str, family: Family) -> str:
    """
    Return the text with a space in everything that the family's tokenizer would take for a special
    token.
    """
    special = _looks_special(family)
    while special.search(text):  # one may stand in another: `<[/INST]>`
        text = special.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)
    return text


@lru_cache(maxsize=64)  # there are fewer families
def _looks_special(family: Family) -> re.Pattern[str]:
    own = [re.escape(spelling.lstrip("▁")) for spelling in family.spellings]
    return re.compile("|".join((*own, *CONTROLS, *filter(None, (family.controls,)))))


def _spell_marks(spellings: tuple[str, ...], numbers: tuple[int, ...]) -> str:
    """
    Return the special tokens as one writes them: a piece that begins with U+2581 begins with a
    space.
    """
    return "".join(re.sub("^▁", " ", spellings[number]) for number in numbers)


Kind = Literal["repo", "chunk", "path", "prefix", "suffix", "turn", "middle"]
WIDTH = array("i").itemsize  # bytes of one packed token id
V = TypeVar("V")


class Segment(NamedTuple):
    """Control tokens, then text of which no part is read as a control token."""

    kind: Kind
    marks: tuple[int, ...]
    text: str


class Ids(NamedTuple):
    """A run of token ids: *packed* to compare, *listed* (comma-separated) to send."""

    packed: bytes
    listed: str

    @property
    def n(self) -> int:
        """Return how many there are."""
        return len(self.packed) // WIDTH


def ids(numbers: Sequence[int]) -> Ids:
    """Make `Ids` of token ids."""
    return Ids(array("i", numbers).tobytes(), ",".join(map(str, numbers)))


def join_runs(runs: Iterable[Ids]) -> Ids:
    """Join several runs."""
    runs = [run for run in runs if run.packed]
    return Ids(b"".join(r.packed for r in runs), ",".join(r.listed for r in runs))


def head(run: Ids, n: int) -> Ids:
    """Return the first *n* ids of a run."""
    return ids(array("i", run.packed[: n * WIDTH])) if n < run.n else run


def layout(prompt: Prompt, fim: Specials) -> list[Segment]:
    """
    Return the prompt in the order the model was trained on, as far as that leaves stable parts
    first.

    The middle is always last and its text is given by tokens (see `split_tape`), not here.
    Instructions come behind what prompts to fill the gap share, so that what was evaluated for one
    kind serves the other.
    """
    family = fim.family
    head = family.head.format
    inside = fim.prefix if family.named_inside and prompt.path else ()
    segments = []
    is_named = family.named_alone or prompt.chunks
    if prompt.repo and family.repo and is_named:
        segments.append(Segment("repo", fim.repo, family.title.format(name=prompt.repo)))
    segments += [Segment("chunk", fim.file, head(name=c.name) + c.text) for c in prompt.chunks]
    if prompt.path and is_named:
        segments.append(Segment("path", fim.file + inside, head(name=prompt.path)))
    prefix = Segment("prefix", () if inside else fim.prefix, family.lead + prompt.prefix)
    suffix = Segment("suffix", fim.suffix, prompt.suffix if family.suffix else "")
    segments += (suffix, prefix) if family.suffix_first else (prefix, suffix)
    if prompt.turns:
        begin = itertools.chain((fim.ask,), itertools.cycle((fim.answer, fim.again)))
        segments += [Segment("turn", *turn) for turn in zip(begin, prompt.turns, strict=False)]
    segments.append(Segment("middle", fim.answer if prompt.turns else fim.middle, ""))
    segments[0] = segments[0]._replace(marks=fim.start + segments[0].marks)
    return segments


def split_tape(middle: str, tape: tuple[Token, ...]) -> tuple[str, tuple[Token, ...]]:
    """
    Return *middle* up to where *tape* spells it, text still to be tokenised, and the tape.

    A tape may begin inside a character; then its first tokens are left out.
    """
    data, spelled = middle.encode(), b"".join(token.text for token in tape)
    assert data.endswith(spelled), "the tape must end the middle"
    at = len(data) - len(spelled)
    while tape and _inside_character(data, at):
        at += len(tape[0].text)
        tape = tape[1:]
    return data[:at].decode(), tape


def find_spelling(
    numbers: Sequence[int], pieces: Mapping[int, bytes], text: str
) -> tuple[Token, ...]:
    """
    Return the longest run of these tokens that spells a beginning of *text* in whole characters.

    A stop string may cut the text inside a token, and a limit inside a character; such a token is
    left out.
    """
    data, at, tokens, whole = text.encode(), 0, [], 0
    for number in numbers:
        piece = pieces.get(number)
        if piece is None or not data.startswith(piece, at):
            break
        at += len(piece)
        tokens.append(Token(number, piece))
        if not _inside_character(data, at):
            whole = len(tokens)
    return tuple(tokens[:whole])


def _inside_character(data: bytes, at: int) -> bool:
    """Return whether UTF-8 goes on with a continuation byte (10xxxxxx) here."""
    return at < len(data) and data[at] & 0xC0 == 0x80  # noqa: PLR2004


def grammar(forced: str) -> str:
    """
    Return a GBNF grammar of all texts that begin with *forced* (llama.cpp, grammars/README.md).
    """
    return f'root ::= "{"".join(map(_escape, forced))}" .*'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


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


S = TypeVar("S", str, bytes)


def common_prefix(a: S, b: S) -> int:
    """
    Return how many characters (bytes) *a* and *b* share at their beginning.

    By bisection: comparing slices is a `memcmp`, many times faster than a loop over characters.
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:  # invariant: the first *low* agree, the first *high* + 1 do not
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


GAP = "<GAP/>"
OPEN, CLOSE = "```\n", "```"
TASK = f"In the last one of these files the code is missing that belongs where {GAP} stands."
ASK = (
    f"\n\nWrite the code that belongs where {GAP} stands, in one block, and nothing else. "
    "Begin and end it exactly where it is missing: repeat nothing of what stands before it or after it."
)
CHAT = Family("chat", "", GAP, ASK, head=PLAIN_HEAD, stop=CLOSE)

# Templates of models that may think ask for one of these, and ignore the others.
NO_THINKING = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
# Words that a template hands on as they are
QUESTION, ANSWER = "qqQuestionqq", "qqAnswerqq"


class Turn(NamedTuple):
    """
    The text that a model's template puts before a question, between it and the answer, and before a
    further one ("" where it takes none).
    """

    before: str
    between: str
    again: str = ""


def dialogues() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """
    Return the two dialogues to have written: a question, and one that was answered before another.
    """
    question = {"role": "user", "content": QUESTION}
    answer = {"role": "assistant", "content": ANSWER}
    return [question], [question, answer, question]


def parse_turn(question: str, answered: str) -> Turn | None:
    """
    Return the turn in what the server made of the `dialogues`; None where the question is not in
    it.

    What stands before an answer of long ago (`answered`) counts where it says more, as the channel
    of gpt-oss, or where the model would think first.
    """
    before, is_there, between = question.partition(QUESTION)
    if not is_there:
        return None
    then, is_there, rest = answered.partition(QUESTION)[2].partition(ANSWER)
    if is_there and (then.startswith(between) or _thinks(between)):
        between = then
    again, is_known, _ = rest.partition(QUESTION)
    return Turn(before, between, again if is_known else "")


def _thinks(text: str) -> bool:
    """Return whether *text* ends inside a thought."""
    return text.rfind("<think>") > text.rfind("</think>")
