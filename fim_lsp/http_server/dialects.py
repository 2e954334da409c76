"""
A message of another program's completion client into the request that it means, and a completion
into the JSON that the client expects. Pure.

A body is read into the text around its cursor, the other files it shows, and how the answer is to
be spelled; None stands for a request that is no completion at a cursor. Sources: llama.cpp's server
documentation, the plugins llama.vim, llama.vscode and minuet, Zed's sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.next_edit.formats import CURSOR, SUFFIX
from server_bridge.fim import reading
from server_bridge.protocol import Chunk, Timings

Body = Mapping[str, Any]

# llama.vim says which fields it reads, and allows 250 ms to a request that the user waits for and
# more to the one that goes ahead of the user
VIM_AHEAD_MS = 250
MOST = 1e9  # more than anything can be counted up to
# minuet's first two lines are about the file, not of it
MINUET_HEAD = re.compile(
    r"\A[^\n]{0,8}language: (?P<language>[\w.+-]+)[^\n]{0,8}\n[^\n]{0,8}indentation: use [^\n]*\n"
)


class AnswerLimits(NamedTuple):
    """
    The limits of an answer: tokens, the milliseconds after which whole lines are answered with, and
    texts before which it ends. None where the client does not say.
    """

    max_tokens: int | None = None
    patience_ms: int | None = None
    stops: tuple[str, ...] = ()

    def cut_at_stop(self, text: str) -> str:
        """Return *text* up to the first stop in it."""
        places = (text.find(stop) for stop in self.stops)
        return text[: min((at for at in places if at >= 0), default=None)]


class ClientRequest(NamedTuple):
    """
    A request. *ahead*: what comes after the suggestion it was just given, in case the user accepts
    it; *may_be_ahead*: the client asks so, too, without saying it.

    *extras* are other places that the client shows. *is_warm_up*: nothing but these, and no answer
    is read.
    """

    excerpt: Excerpt
    extras: tuple[Chunk, ...] = ()
    ahead: bool = False
    may_be_ahead: bool = False
    is_warm_up: bool = False


def read_infill(body: Body) -> ClientRequest | None:
    """Read llama.cpp's `/infill`, as llama.vim and llama.vscode send it."""
    prefix, suffix, prompt = (_text(body, n) for n in ("input_prefix", "input_suffix", "prompt"))
    if prefix is None or suffix is None or prompt is None:
        return None
    extras = _extras(body.get("input_extra"))
    before = "" if prefix == "\n" else prefix  # at the first line
    if body.get("n_predict") == 0 and not (before or prompt):
        return ClientRequest(Excerpt("", ""), extras, is_warm_up=True)
    limit = body.get("t_max_predict_ms")
    is_vim = "response_fields" in body
    ahead = is_vim and isinstance(limit, int | float) and limit > VIM_AHEAD_MS
    return ClientRequest(Excerpt(before + prompt, suffix), extras, ahead, may_be_ahead=not is_vim)


def read_completion(body: Body) -> ClientRequest | None:
    """
    Read `/v1/completions` and `/completion`: with a `suffix`, or as a prompt with special tokens,
    but not zeta2's, which asks to write a region again.
    """
    prompt = _text(body, "prompt")
    suffix = _text(body, "suffix")
    if not prompt:
        return None
    if suffix is not None and body.get("suffix") is not None:
        return ClientRequest(_about_file(prompt, suffix))
    is_zeta = prompt.startswith(SUFFIX) and CURSOR in prompt
    if is_zeta or (read := reading.read(prompt)) is None:
        return None
    excerpt = _about_file(read.prefix + read.middle, read.suffix)
    return ClientRequest(excerpt._replace(path=excerpt.path or read.path), read.chunks)


def read_limits(body: Body) -> AnswerLimits:
    """Return the limits of the answer that *body* sets, in OpenAI's words or llama.cpp's."""
    stop = body.get("stop")
    stops = stop if isinstance(stop, list) else [stop]
    tokens = _count(body.get("max_tokens")) or _count(body.get("n_predict"))
    texts = tuple(stop for stop in stops if isinstance(stop, str) and stop)
    return AnswerLimits(tokens, _count(body.get("t_max_predict_ms")), texts)


def _count(value: object) -> int | None:
    """
    Return a number above 0, None for anything else; clients write -1 for as many as there are.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < MOST:
        return None
    return int(value) or None


def _about_file(before: str, after: str) -> Excerpt:
    if head := MINUET_HEAD.match(before):
        return Excerpt(before[head.end() :], after, language=head["language"])
    return Excerpt(before, after)


def _text(body: Body, name: str) -> str | None:
    """
    Return a text, also one in a list, "" where there is none; None where it is something else, such
    as token ids.
    """
    value = body.get(name)
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    value = "" if value is None else value
    return _replace_halves(value) if isinstance(value, str) else None


def _replace_halves(text: str) -> str:
    """Return *text* without the halves of characters that JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _extras(shown: object) -> tuple[Chunk, ...]:
    files = shown if isinstance(shown, list) else ()
    return tuple(
        Chunk(_text(file, "filename") or "", _replace_halves(text))
        for file in files
        if isinstance(file, dict) and isinstance(text := file.get("text"), str)
    )


MANY = 1e6  # tokens per second where nothing was to be done
ID = "cmpl-fim-lsp"
OBJECT = "text_completion"


def write_infill(body: Body, text: str, cost: Timings, model: str) -> object:
    """
    Return the answer of llama.cpp's `/infill` and `/completion`; a list where several texts were
    asked for.
    """
    n_prompt = cost.prompt_n + cost.cache_n
    whole = write_infill_piece(text, model) | {
        "stop": True, "stop_type": "eos", "stopping_word": "", "truncated": False,
        "has_new_line": "\n" in text, "tokens_predicted": cost.predicted_n,
        "tokens_evaluated": n_prompt, "tokens_cached": n_prompt + cost.predicted_n,
        "timings": _timings(cost),
    }  # fmt: skip
    answer = _choose_fields(whole, body.get("response_fields"))
    n_texts = body.get("n_cmpl")
    return [answer] if isinstance(n_texts, int) and n_texts > 1 else answer


def write_infill_piece(text: str, model: str) -> dict[str, Any]:
    """Return the next *text* of such an answer, before its last event."""
    return {"index": 0, "content": text, "id_slot": 0, "stop": False, "model": model}


def write_completion_piece(text: str, model: str, reason: str | None = None) -> dict[str, Any]:
    """Return the next *text* of what `write_completion` answers; without a *reason* it goes on."""
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": reason}
    return {"id": ID, "object": OBJECT, "created": 0, "model": model, "choices": [choice]}


def write_completion(text: str, cost: Timings, model: str) -> dict[str, Any]:
    """Return the answer of OpenAI-style servers at `/v1/completions`, with llama.cpp's timings."""
    n_prompt = cost.prompt_n + cost.cache_n
    usage = {
        "prompt_tokens": n_prompt, "completion_tokens": cost.predicted_n,
        "total_tokens": n_prompt + cost.predicted_n,
        "prompt_tokens_details": {"cached_tokens": cost.cache_n},
    }  # fmt: skip
    return write_completion_piece(text, model, "stop") | {"usage": usage, "timings": _timings(cost)}


def insertion(text: str, replaced: str) -> str:
    """
    Return *text* for a client that can only insert, where it was meant to replace *replaced*, right
    of the cursor.

    The part to be replaced stands in the text again; the part before it is inserted.
    """
    if text.endswith(replaced):
        return text.removesuffix(replaced)
    first = text.partition("\n")[0]
    return first[: max(0, first.rfind(replaced))]


def _timings(cost: Timings) -> dict[str, float]:
    of_prompt = "prompt", cost.prompt_n, cost.prompt_ms
    timings: dict[str, float] = {"cache_n": cost.cache_n}
    for name, n, ms in (of_prompt, ("predicted", cost.predicted_n, cost.predicted_ms)):
        per_second = min(MANY, 1000 * n / ms) if ms else MANY
        timings |= {f"{name}_n": n, f"{name}_ms": ms, f"{name}_per_second": per_second}
        timings[f"{name}_per_token_ms"] = ms / max(1, n)
    return timings


def _choose_fields(whole: Mapping[str, Any], names: object) -> dict[str, Any]:
    """
    Return the fields that `response_fields` names, `a/b` for one of an object; all where it names
    none.
    """
    if not isinstance(names, list):
        return dict(whole)
    chosen: dict[str, Any] = {}
    for name in names:
        outer, _, inner = str(name).partition("/")
        value = whole.get(outer)
        value = value.get(inner) if inner and isinstance(value, dict) else value
        if value is not None:
            chosen[str(name)] = value
    return chosen
