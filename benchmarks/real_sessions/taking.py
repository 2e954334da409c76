"""
What a typist takes of a suggestion that was read, and what that comes to: counts and tables. Pure.

Keys are characters and Enter; the editor indents. A suggestion is worth taking if that saves `LEAST` keys: all of it
where it is right, else its first line, else words, by the keys of the plugins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmarks import markdown
from benchmarks.real_sessions.scores import Played
from fim_lsp.documents import n_common

LEAST = 2
INDENT = re.compile(r"(?:^|(?<=\n))[ \t]+")
WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")
PARTS = ("all", "line", "word")


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


HEAD = (
    "client", "keys", "saved", "completed", "characters taken", "read", "taken", "wrong",
    "seconds", "alone", "model CPU s", "others' CPU s",
)  # fmt: skip


def table(played: Mapping[str, Sequence[Played]]) -> str:
    """Return a row per client; *completed* is the share of the characters that were accepted."""
    return markdown.table(HEAD, [_row(client, sessions) for client, sessions in played.items()])


def _row(client: str, played: Sequence[Played]) -> tuple[object, ...]:
    sessions = [one.accepted for one in played if one.accepted]
    alone = sum(one.n_alone for one in sessions)
    pressed = sum(one.n_pressed for one in sessions)
    reads = [read for one in sessions for read in one.reads]
    n_taken = sum(bool(read.taken) for read in reads)
    n_chars = sum(len(read.taken) for read in reads)
    completed = n_chars / max(1, sum(one.n_chars for one in sessions))
    return (
        client, alone, f"{1 - pressed / max(1, alone):.1%}", f"{completed:.1%}", n_chars, len(reads), n_taken, len(reads) - n_taken,
        f"{sum(one.seconds for one in sessions):.0f}", f"{sum(one.alone_s for one in sessions):.0f}",
        f"{sum(one.cpu_s for one in played):.0f}", f"{sum(one.others_s for one in played):.0f}",
    )  # fmt: skip


def explain(played: Played) -> str:
    """Return what was read and taken."""
    rows = [f"## {played.client}: {played.session}"]
    for read in played.accepted.reads if played.accepted else ():
        took = f"took {read.taken!r}" if read.taken else "took nothing"
        rows.append(f"{read.at:4}: read {read.text!r}, {took}, of {read.expected!r}")
    return "\n".join(rows)
