"""
The bodies that other programs' completion clients send, into what they ask. Pure.

A request is read into the text around its cursor, the other files it shows, and how the answer is to be spelled;
None stands for what is not a completion at a cursor. Sources: llama.cpp's server documentation, the plugins
llama.vim, llama.vscode and minuet, Zed's sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fim_lsp.http_server import zeta
from fim_lsp.http_server.excerpt import Excerpt
from server_bridge.fim import reading
from server_bridge.protocol import Chunk

Body = Mapping[str, Any]

# llama.vim says which fields it reads, and allows 250 ms to a request that the user waits for and more to the one that goes ahead of the user
VIM_AHEAD_MS = 250
MOST = 1e9  # more than anything can be counted up to
# minuet's first two lines are about the file, not of it
MINUET_HEAD = re.compile(
    r"\A[^\n]{0,8}language: (?P<language>[\w.+-]+)[^\n]{0,8}\n[^\n]{0,8}indentation: use [^\n]*\n"
)


class Limits(NamedTuple):
    """
    The limits of an answer: tokens, the milliseconds after which whole lines are answered with, and texts before
    which it ends. None where the client does not say.
    """

    max_tokens: int | None = None
    patience_ms: int | None = None
    stops: tuple[str, ...] = ()

    def cut_at_stop(self, text: str) -> str:
        """Return *text* up to the first stop in it."""
        found = (text.find(stop) for stop in self.stops)
        return text[: min((at for at in found if at >= 0), default=None)]


class Asked(NamedTuple):
    """
    A request. *ahead*: what comes after the suggestion it was just given, in case the user accepts it;
    *may_be_ahead*: the client asks so, too, without saying it.

    *extras* are other places that the client shows. *is_warm_up*: nothing but these, and no answer is read. *region* is
    what a zeta2 prompt wants written again.
    """

    excerpt: Excerpt
    extras: tuple[Chunk, ...] = ()
    ahead: bool = False
    may_be_ahead: bool = False
    is_warm_up: bool = False
    region: zeta.Region | None = None


def infill(body: Body) -> Asked | None:
    """Read llama.cpp's `/infill`, as llama.vim and llama.vscode send it."""
    prefix, suffix, prompt = (_text(body, n) for n in ("input_prefix", "input_suffix", "prompt"))
    if prefix is None or suffix is None or prompt is None:
        return None
    extras = tuple(_extras(body.get("input_extra")))
    before = "" if prefix == "\n" else prefix  # at the first line
    if body.get("n_predict") == 0 and not (before or prompt):
        return Asked(Excerpt("", ""), extras, is_warm_up=True)
    limit, is_vim = body.get("t_max_predict_ms"), "response_fields" in body
    ahead = is_vim and isinstance(limit, int | float) and limit > VIM_AHEAD_MS
    return Asked(Excerpt(before + prompt, suffix), extras, ahead, may_be_ahead=not is_vim)


def completion(body: Body) -> Asked | None:
    """Read `/v1/completions` and `/completion`: with a `suffix`, as a prompt with special tokens, as zeta2's prompt."""
    prompt, suffix = _text(body, "prompt"), _text(body, "suffix")
    if not prompt:
        return None
    if suffix is not None and "suffix" in body:
        return Asked(_about_file(prompt, suffix))
    if found := zeta.read(prompt):
        return Asked(found[0], region=found[1])
    if (read := reading.read(prompt)) is None:
        return None
    excerpt = _about_file(read.prefix + read.middle, read.suffix)
    return Asked(excerpt._replace(path=excerpt.path or read.path), read.chunks)


def limits(body: Body) -> Limits:
    """Return the limits of the answer that *body* sets, in OpenAI's words or llama.cpp's."""
    given = body.get("stop")
    stops = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    tokens = _count(body.get("max_tokens")) or _count(body.get("n_predict"))
    found = tuple(stop for stop in stops if isinstance(stop, str) and stop)
    return Limits(tokens, _count(body.get("t_max_predict_ms")), found)


def _count(value: object) -> int | None:
    """Return a number above 0, None for anything else; clients write -1 for as many as there are."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MOST:
        return None
    return int(value) or None


def _about_file(before: str, after: str) -> Excerpt:
    if head := MINUET_HEAD.match(before):
        return Excerpt(before[head.end() :], after, language=head["language"])
    return Excerpt(before, after)


def _text(body: Body, name: str) -> str | None:
    """Return a text, "" where there is none; None where it is something else, such as token ids."""
    value = body.get(name, "")
    return _replace_halves(value) if isinstance(value, str) else None


def _replace_halves(text: str) -> str:
    """Return *text* without the halves of characters that JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _extras(found: object) -> list[Chunk]:
    extras = []
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict) and isinstance(text := each.get("text"), str):
            name = _text(each, "filename") or ""
            extras.append(Chunk(name, _replace_halves(text)))
    return extras
