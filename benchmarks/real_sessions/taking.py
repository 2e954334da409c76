"""
What a typist takes of a suggestion that was read, and what that comes to: counts and tables. Pure.

Keys are characters and Enter; the editor indents. A suggestion is worth taking if that saves `LEAST` keys: all of it
where it is right, else its first line, else words, by the keys of the plugins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks import markdown
from benchmarks.real_sessions.scores import Played
from fim_lsp.documents import n_common

LEAST = 2
INDENT = re.compile(r"(?:^|(?<=\n))[ \t]+")
WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")
PARTS = ("all", "line", "word")


class Chance(NamedTuple):
    """Where a suggestion could be taken: behind *at* characters of the block, and what of it."""

    at: int
    text: str


def n_keys(text: str, *, starts_line: bool = False) -> int:
    """Return the keys that typing *text* takes; its indentation comes by itself."""
    if not starts_line:
        text = "." + text
    return len(INDENT.sub("", text)) - (not starts_line)


def choose(text: str, expected: str) -> str:
    """Return which of `PARTS` of a suggestion is taken, "" for none, where *expected* is to be typed."""
    n_right = n_common(text, expected)
    first = _first_line(text)
    ends = n_right == len(first) and expected[n_right : n_right + 1] in ("", "\n")
    if n_right == len(text) and n_keys(text) >= LEAST + 1:
        return "all"
    if (n_right > len(first) or ends) and n_keys(first) >= LEAST + 1:
        return "line"
    word = WORD.match(text)
    if word and word.end() <= n_right and n_keys(word[0]) >= LEAST + 1:
        return "word"
    return ""


def take(text: str, expected: str) -> str:
    """Return which beginning of a suggestion is taken by one key, "" for none."""
    match choose(text, expected):
        case "all":
            return text
        case "line":
            return _first_line(text)
        case "word":
            return (WORD.match(text) or [""])[0]
    return ""


def _first_line(text: str) -> str:
    """Return the next line with its line break, where a text continues in it."""
    return text[: (text + "\n").index("\n", 1)] if text[:1] == "\n" else text.partition("\n")[0]


def pieces(text: str, expected: str) -> Iterator[str]:
    """Yield what is taken of a suggestion by one key after the other, as far as it is right."""
    while piece := take(text, expected):
        yield piece
        text, expected = text[len(piece) :], expected[len(piece) :]


def by_parts(chance: Chance, typed: str) -> Iterator[Chance]:
    """
    Yield what the plugins' keys take of a chance where wrong text follows it: lines, then words.
    Words that are as fast to type are typed.
    """
    at, end = chance.at, chance.at + len(chance.text)
    rest = chance.text + ("\n\0" if typed[end:][:1] in ("", "\n") else " \0")
    while at < end:
        piece = take(rest, typed[at:])
        if piece:
            yield Chance(at, piece)
        else:
            piece = (WORD.match(rest) or [rest])[0]
        at, rest = at + len(piece), rest[len(piece) :]


def right_part(text: str, expected: str) -> str:
    """Return a suggestion as far as it is right, up to the end of a word."""
    n_right, end = n_common(text, expected), 0
    while (word := WORD.match(text, end)) and word.end() <= n_right:
        end = word.end()
    return text[:end]


HEAD = (
    "client", "keys", "saved", "by acceptance", "characters taken", "read", "taken", "wrong",
    "seconds", "alone", "model CPU s", "others' CPU s",
)  # fmt: skip


def table(
    played: Mapping[str, Sequence[Played]], n_alone: int, limits: Mapping[str, Sequence[Chance]]
) -> str:
    """Return a row per client, and one per limit, by its name: all chances, of *n_alone* keys."""
    rows = [
        _row(client, [one for one in sessions if one.accepted])
        for client, sessions in played.items()
    ]
    for name, chances in limits.items():
        share, n_chars = n_saved(chances) / n_alone, sum(len(text) for _, text in chances)
        n = len(chances)
        rows.append((name, n_alone, f"{share:.1%}", "", n_chars, n, n, 0, *[""] * 4))
    return markdown.table(HEAD, rows)


def n_saved(chances: Iterable[Chance]) -> int:
    """Return the keys that are saved where each chance is taken by one."""
    return sum(n_keys(text) - 1 for _, text in chances)


def by_acceptance(n_taken: int, n_typed: int) -> float:
    """Return which share of the characters was accepted and not typed, as Google counts it."""
    return n_taken / max(1, n_taken + n_typed)


def _row(client: str, played: Sequence[Played]) -> tuple[object, ...]:
    sessions = [one.accepted for one in played if one.accepted]
    alone, pressed = sum(one.n_alone for one in sessions), sum(one.n_pressed for one in sessions)
    reads = [read for one in sessions for read in one.reads]
    n_taken = sum(bool(read.taken) for read in reads)
    n_chars = sum(len(read.taken) for read in reads)
    return (
        client, alone, f"{1 - pressed / max(1, alone):.1%}", f"{by_acceptance(n_chars, pressed - n_taken):.1%}",
        n_chars, len(reads), n_taken, len(reads) - n_taken,
        f"{sum(one.seconds for one in sessions):.0f}", f"{sum(one.alone_s for one in sessions):.0f}",
        f"{sum(one.cpu_s for one in played):.0f}", f"{sum(one.others_s for one in played):.0f}",
    )  # fmt: skip


def explain(played: Played, chances: Sequence[Chance]) -> str:
    """Return what was read and taken, and for each chance that was missed why, as far as fim-lsp says."""
    accepted = played.accepted
    if not accepted:
        return ""
    rows = [f"## {played.client}: {played.session}"]
    for read in accepted.reads:
        took = f"took {read.taken!r}" if read.taken else "took nothing"
        rows.append(f"{read.at:4}: read {read.text!r}, {took}, of {read.expected!r}")
    missed: Counter[str] = Counter()
    for chance, why in misses(played, chances):
        missed[why.partition(":")[0]] += n_keys(chance.text) - 1
        rows.append(f"{chance.at:4}: missed {chance.text!r}: {why}")
    if missed:
        rows.append("keys missed: " + ", ".join(f"{why} {n}" for why, n in missed.most_common()))
    return "\n".join(rows)


def misses(played: Played, chances: Sequence[Chance]) -> Iterator[tuple[Chance, str]]:
    """Yield the chances of which nothing was taken, and what became of the request there."""
    accepted = played.accepted
    if not accepted:
        return
    pressed = dict(accepted.pressed)
    for chance in chances:
        end = chance.at + len(chance.text)
        if any(read.at < end and chance.at < read.at + len(read.taken) for read in accepted.reads):
            continue
        if chance.at not in pressed:
            yield chance, "taken over: another suggestion was taken there"
            continue
        began = pressed[chance.at]
        later = [at for at in accepted.pressed if at[0] > chance.at]
        ended = later[0][1] if later else began + 1
        here = [text for at, text in accepted.shown if began <= at <= ended and text]
        if here and n_common(here[-1], chance.text):
            yield chance, f"overtaken: {here[-1]!r} did not stand long enough"
            continue
        if here:
            yield chance, f"another text: {here[-1]!r} was shown"
            continue
        noted = [decision for decision in played.decisions if began <= decision.at <= ended]
        outcomes = [decision.words for decision in noted if decision.what == "end"]
        filters = [
            decision.words
            for decision in noted
            if decision.what == "filters" and " by " in decision.words
        ]
        why = outcomes[-1] if outcomes else "nothing was answered before the next key"
        yield chance, why + "".join(f": {words}" for words in filters[-1:])
