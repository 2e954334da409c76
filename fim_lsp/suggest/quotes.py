"""
The comments and strings that are open where a text ends, and the code within them. Pure.

Read from left to right by the rows of `quotes.toml`, as a language's own scanner does it, so that
half-typed code is no harder than other code. Quotes that only a parser knows (the text between
tags, `%w(…)`) are left to `scope`. Each sign is read once.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from fim_lsp.context.grammars import ALIASES
from fim_lsp.suggest.lines import CLOSER, mark

SIGN = re.compile(r"[^\n]")
DEPTH = 50  # brackets that are looked at for the partner of a closing one

_SECTIONS: dict[str, list[dict[str, Any]]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "quotes.toml") or b"").decode()
)

# Marks that mean something else, too: `$#`, `a#b`, `#[Attribute]`, `https://`, a string of Vim's.
_MARKS = {
    "shellscript": r"(?<![^\s;(`])#",
    "yaml": r"(?<!\S)#",
    "perl": r"(?<!\$)#",
    "php": r"#(?!\[)|//",
    "vim": r'(?m:^)[ \t]*"',
    "//": r"(?<!:)//",
    **dict.fromkeys(("vue", "svelte", "astro"), ""),
}


class QuoteRow(NamedTuple):
    """A row of `quotes.toml`; *scope* is `comment`, `string`, or "" for code."""

    scope: str
    opens: str
    closes: str
    text: str = ""
    code: str = ""
    long: bool = False
    escape: str = r"\\[\s\S]"


class OpenQuote(NamedTuple):
    """
    A comment, a string or a bracket that is open *at* a place: the text that *opens* it and one
    that *closes* it. *inside* finds what ends it, or goes on with it; None for a bracket, behind
    which is code.
    """

    opens: str
    closes: str
    scope: str = ""
    inside: re.Pattern[str] | None = None
    at: int = 0


def find_opened(text: str, language: str) -> list[OpenQuote]:
    """Return what is open where *text* ends, outermost first."""
    opened: list[OpenQuote] = []
    for _ in _walk(text, language, opened):
        pass
    return opened


def blank_long(text: str, language: str) -> str:
    """Return *text* with spaces for the comments and strings that go on over several lines."""
    opened: list[OpenQuote] = []
    parts: list[str] = []
    done = 0
    start = -1  # of the outermost
    depth = 0
    for match in _walk(text, language, opened):
        if start < 0 and opened and opened[-1].inside:
            start = match.end() if match[0].endswith("\n") else match.start()
            depth = len(opened)
        elif start >= 0 and len(opened) < depth:
            parts += text[done:start], _blank(text[start : match.end()])
            done = match.end()
            start = -1
    start = start if start >= 0 else len(text)
    return "".join((*parts, text[done:start], _blank(text[start:])))


def _blank(quoted: str) -> str:
    """Return spaces and line ends, as they are where it is a single line."""
    return SIGN.sub(" ", quoted) if "\n" in quoted.rstrip("\n") else quoted


def _walk(text: str, language: str, opened: list[OpenQuote]) -> Iterator[re.Match[str]]:
    """Yield what opens or ends something in *text*, each after *opened* was changed by it."""
    language = language.lower()
    language = ALIASES.get(language, language)
    at = 0
    code = outside(language)
    while match := ((opened and opened[-1].inside) or code).search(text, at):
        kind = match.lastgroup or ""
        if kind in ("end", "line"):
            opened.pop()
        elif kind == "close":
            _close(match[0], opened)
        elif kind in ("open", "code"):
            opened.append(OpenQuote(match[0], CLOSER[match[0][-1]], at=match.start()))
        elif kind.startswith("row"):
            row = rows(language)[int(kind.removeprefix("row"))]
            tag = match[f"tag{kind}"] if "?P<tag>" in row.opens else ""
            opened.append(_open(row, match, tag))
        at = match.end()
        yield match


def scope_of(opened: list[OpenQuote]) -> str:
    """Return the scope of a place where all of these are open."""
    return opened[-1].scope if opened else ""


@cache
def rows(language: str) -> list[QuoteRow]:
    """Return the rows of a language, the first of which counts."""
    return [*_find_rows(language)]


def _find_rows(language: str) -> Iterator[QuoteRow]:
    for section, found in _SECTIONS.items():
        scope = "" if section == "code" else section
        for row in found:
            of = row["of"].split()
            others = row.get("not_of", "").split()
            if language in of or (of == ["*"] and language not in others):
                how = {key: row[key] for key in row.keys() & QuoteRow._fields}
                yield QuoteRow(scope, **{"long": section == "comment", **how})
        sign = mark(language)
        if section == "comment" and sign:
            opens = _MARKS.get(language, _MARKS.get(sign, re.escape(sign)))
            yield QuoteRow("comment", opens, r"\n", "\n", long=True, escape="")


@cache
def outside(language: str) -> re.Pattern[str]:
    """Return what is looked for in code: what opens something, and what closes a bracket."""
    parts = [r"(?P<skip>\\[\s\S])"]
    for idx, row in enumerate(rows(language)):
        opens = row.opens.replace("?P<tag>", f"?P<tagrow{idx}>")
        parts.append(f"(?P<row{idx}>{opens})" if opens else "(?!)")
    return re.compile("|".join((*parts, r"(?P<open>[({\[])|(?P<close>[)}\]])")))


def _open(row: QuoteRow, match: re.Match[str], tag: str) -> OpenQuote:
    """Return what a *row* finds, opened by this text."""
    closes = (row.text or re.sub(r"\\(.)", r"\1", row.closes)).replace("{tag}", tag)
    return OpenQuote(match[0], closes, row.scope, inside(row, tag), match.start())


@lru_cache(maxsize=256)
def inside(row: QuoteRow, tag: str) -> re.Pattern[str]:
    """Return what is looked for in a comment or a string: its end, and code."""
    parts = [f"(?P<skip>{row.escape})"] if row.escape else []
    if row.code:
        parts.append(f"(?P<code>{row.code})")
    parts.append(f"(?P<end>{row.closes.replace('{tag}', re.escape(tag))})")
    if not row.long:
        parts.append(r"(?P<line>\n)")
    return re.compile("|".join(parts))


def _close(sign: str, opened: list[OpenQuote]) -> None:
    """Close the innermost bracket that *sign* closes, and those within it; not a string."""
    for idx in range(len(opened) - 1, max(-1, len(opened) - DEPTH), -1):
        if opened[idx].inside:
            return
        if opened[idx].closes == sign:
            del opened[idx:]
            return
