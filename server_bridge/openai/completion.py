"""
A `Request` into the options of an OpenAI-style `/v1/completions`, its answer into a `Reply`. Pure.

mlx_lm.server 0.32 is special: it takes a stop string out of the text and goes on where it is not what
the tokenizer makes of it alone, so none is sent; and a request there makes one token more than is used
(see `backend`).
"""

from __future__ import annotations

import re

from server_bridge.http.responses import Object
from server_bridge.llama.completion import TEMPERATURE
from server_bridge.openai.stream import NO_ID, StreamedAnswer
from server_bridge.protocol import Reply, Request, Stop, Timings, Token

MOST_STOPS = 4  # OpenAI's own limit, and that of servers that copy it
STOPS = {"stop": Stop.END, "length": Stop.LIMIT}
GUIDE = "structured_outputs"  # vLLM's field; others leave it unread
SIGNS = re.compile(r"[\\^$.*+?()\[\]{}|/-]")  # what regular expressions do not take for itself
PREFILL: Object = {"max_tokens": 1, "temperature": 0}  # one token is generated all the same


def options(request: Request, held: str, *, is_mlx: bool, guides: bool = False) -> Object:
    """
    Return the options of decoding, where *held* comes before what was asked for; *guides*: the
    server can force a text.
    """
    n_spare = 1 if is_mlx else 0
    found: Object = {"max_tokens": request.n_predict + len(held) + n_spare}
    found["temperature"] = TEMPERATURE if request.sample else 0
    if request.sample:
        found["seed"] = request.sample
    if request.stop and not is_mlx:  # every answer is cut here as well, see `reply`
        found["stop"] = list(request.stop[:MOST_STOPS])
    if guides and request.prompt.forced:
        found |= guide(request.prompt.forced)
    return found


def guide(forced: str) -> Object:
    """Return the option that makes an answer begin with *forced*; none where no regular expression can say it."""
    if "\0" in forced:
        return {}
    return {GUIDE: {"regex": SIGNS.sub(r"\\\g<0>", forced) + r"[\s\S]*"}}


def agrees(answer: StreamedAnswer, forced: str) -> bool:
    """Return whether the answer begins with *forced*, as far as it got."""
    text = answer.text
    is_cut = answer.ended == "length" and bool(text)
    return text.startswith(forced) or (is_cut and forced.startswith(text))


class Pieces:
    """
    The replies to *request*, one for each piece of a growing answer.

    *before* was asked with, because the answer did not begin with it by itself, and is said first.
    """

    def __init__(self, request: Request, before: str, n_ctx: int) -> None:
        self._request = request
        self._before = before
        self._n_ctx = n_ctx
        self._said = ""
        self._n_pieces = 0

    def agrees(self, answer: StreamedAnswer) -> bool:
        """Return whether the answer begins with what is forced, as far as it got."""
        said, forced = self._before + answer.text, self._request.prompt.forced
        return said.startswith(forced) or (forced.startswith(said) and not answer.ended)

    def reply(self, answer: StreamedAnswer, timings: Timings) -> Reply | None:
        """Return the reply with what is new in *answer*, None if that is nothing."""
        text, is_stopped = _until(self._before + answer.text, self._request.stop)
        new = text[len(self._said) :]
        is_last = is_stopped or bool(answer.ended)
        if not new and not is_last:
            return None
        known = new.removeprefix(self._before) if not self._said else new
        tokens = answer.tokens(known, self._n_pieces)
        self._n_pieces += len(tokens)
        if len(known) < len(new):
            tokens = (Token(NO_ID, self._before.encode()), *tokens)
        middle = _middle(self._request.prompt.middle + self._said)
        self._said = text
        if is_stopped:
            stop = Stop.WORD
        else:
            stop = _stop(answer, self._request, self._n_ctx) if answer.ended else Stop.LIMIT
        return Reply(new, tokens, middle, stop, timings)


def reply(answer: StreamedAnswer, request: Request, timings: Timings, n_ctx: int) -> Reply:
    """Return the answer to *request*, cut at its stop strings."""
    text, is_stopped = _until(answer.text, request.stop)
    return Reply(
        text=text,
        tokens=answer.tokens(text),
        middle=_middle(request.prompt.middle),
        stop=Stop.WORD if is_stopped else _stop(answer, request, n_ctx),
        timings=timings,
    )


def _middle(text: str) -> tuple[Token, ...]:
    return (Token(NO_ID, text.encode()),) if text else ()


def _until(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """Return the text before the first stop string, and whether there is one; half characters left out."""
    at = min((text.find(stop) for stop in stops if stop in text), default=-1)
    return (text[:at], True) if at >= 0 else (text.rstrip("\ufffd"), False)


def _stop(answer: StreamedAnswer, request: Request, n_ctx: int) -> Stop:
    """Return why decoding ended; a full context looks like a limit on the wire, a stop string like an end."""
    made = answer.n_made or request.n_predict
    is_full = made < request.n_predict or answer.n_prompt + made >= n_ctx
    if answer.ended == "length" and is_full:
        return Stop.FULL
    return STOPS.get(answer.ended, Stop.END)
