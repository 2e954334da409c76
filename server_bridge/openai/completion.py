"""
A `Request` into the options of an OpenAI-style `/v1/completions`, its answer into a `Reply`. Pure.

mlx_lm.server 0.32 is special: it takes a stop string out of the text and goes on where it is not
what the tokenizer makes of it alone, so none is sent (see `backend`).

A chat's server takes no answer that is begun for its model, as llama.cpp does (`fim.layout`); so
the message ends with what is typed, and the model is asked to write the last line once more and go
on. An answer counts only if it does so, in one block of code: then the code behind the cursor is
what follows that line. Everything else is no answer.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from server_bridge.fim import thoughts
from server_bridge.fim.chat import CHAT, GAP, NO_THINKING, TASK
from server_bridge.fim.layout import Part, neutral, render
from server_bridge.openai.stream import StreamedAnswer
from server_bridge.protocol import NO_ID, TEMPERATURE, Prompt, Reply, Request, Stop, Timings, Token

GUIDE = "structured_outputs"  # vLLM's field; others leave it unread
# Fields that a completion can do without, those refused most often first; see `http.fields`.
OPTIONAL = (
    GUIDE, "stream_options", "chat_template_kwargs", "logprobs", "seed", "stop", "temperature",
    "stream",
)  # fmt: skip
MOST_STOPS = 4  # OpenAI's own limit, and that of servers that copy it
HALF = 4  # bytes of a character, each of which is sent as U+FFFD while some are missing
STOPS = {"stop": Stop.END, "length": Stop.LIMIT}
SIGNS = re.compile(r"[\\^$.*+?()\[\]{}|/-]")  # what regular expressions do not take for itself
PREFILL: dict[str, Any] = {"max_tokens": 1, "temperature": 0}  # one token is generated all the same


def options(request: Request, held: str = "", *, guides: bool = False) -> dict[str, Any]:
    """
    Return the options of decoding, where *held* comes before what was asked for; *guides*: the
    server can force a text.
    """
    fields: dict[str, Any] = {"max_tokens": request.n_predict + len(held)}
    fields["temperature"] = TEMPERATURE if request.sample else 0
    if request.sample:
        fields["seed"] = request.sample
    if request.stop:  # every answer is cut here as well, see `reply`
        fields["stop"] = list(request.stop[:MOST_STOPS])
    if guides and request.prompt.forced:
        fields |= guide(request.prompt.forced)
    return fields


def guide(forced: str) -> dict[str, Any]:
    """
    Return the option that makes an answer begin with *forced*; none where no regular expression can
    say it.
    """
    if "\0" in forced:
        return {}
    return {GUIDE: {"regex": SIGNS.sub(r"\\\g<0>", forced) + r"[\s\S]*"}}


def agrees(answer: StreamedAnswer, forced: str) -> bool:
    """Return whether the answer begins with *forced*, as far as it got."""
    is_cut = not answer.ended or (answer.ended == "length" and bool(answer.text))
    return answer.text.startswith(forced) or (is_cut and forced.startswith(answer.text))


class GrowingReplies:
    """
    The replies to *request*, one for each event of a growing answer.

    *before* was asked with, because the answer did not begin with it by itself, and is said first.
    """

    def __init__(self, request: Request, before: str, n_ctx: int) -> None:
        self._request = request
        self._before = before
        self._n_ctx = n_ctx
        self._said = ""
        self._n_pieces = 0
        self._spent: Timings | None = None  # for what was said

    def reply(self, answer: StreamedAnswer) -> Reply:
        """Return the reply with what is new in *answer*; a reply without text where nothing is."""
        stops = self._request.stop
        before = self._before
        text, is_stopped = _until(before + answer.text, stops, len(self._said))
        new = text[len(self._said) :]
        held = self._request.prompt.middle + self._said
        middle = (Token(NO_ID, held.encode()),) if held else ()
        if not (new or is_stopped or answer.ended):
            return Reply("", (), middle, Stop.LIMIT, Timings())
        unasked = new.removeprefix(before) if not self._said else new
        tokens = answer.tokens(unasked, self._n_pieces)
        self._n_pieces += len(tokens)
        if len(unasked) < len(new):
            tokens = (Token(NO_ID, before.encode()), *tokens)
        self._said = text
        cost = answer.cost.since(self._spent) if self._spent else answer.cost
        self._spent = answer.cost if new else self._spent
        stop = _stop(answer, self._request, self._n_ctx) if answer.ended else Stop.LIMIT
        return Reply(new, tokens, middle, Stop.WORD if is_stopped else stop, cost)


def _until(text: str, stops: tuple[str, ...], n_known: int = 0) -> tuple[str, bool]:
    """
    Return the text before the first stop string, and whether there is one; half characters left
    out.

    There is none in the first *n_known* characters.
    """
    start = max(0, n_known - max(map(len, stops), default=0))
    places = (text.find(stop, start) for stop in stops)
    at = min((place for place in places if place >= 0), default=-1)
    if at >= 0:
        return text[:at], True
    return text[:-HALF] + text[-HALF:].rstrip("\ufffd"), False


def _stop(answer: StreamedAnswer, request: Request, n_ctx: int) -> Stop:
    """
    Return why decoding ended; a server tells of a full context as of a limit, and of a stop string
    as of an end.
    """
    made = answer.usage.completion_tokens or request.n_predict
    is_full = made < request.n_predict or answer.usage.prompt_tokens + made >= n_ctx
    if answer.ended == "length" and is_full:
        return Stop.FULL
    return STOPS.get(answer.ended, Stop.END)


ASK = (
    f"\n\nThe code that belongs where {GAP} stands begins as shown below. Answer with one block of code and nothing else: "
    "first the last line of that beginning, copied to the sign and completed, then the lines that belong behind it, "
    f"if any. Repeat nothing of what stands after {GAP}.\n\n"
)
# Tokens that begin or end a turn of Gemma's and of Mistral's, besides `CONTROLS`; which model
# answers is not known here.
TURNS = r"<(?:start|end)_of_turn>|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
MESSAGE = CHAT._replace(middle=ASK, stop="", controls=TURNS)

BLOCK_TOKENS = 16  # of an answer for the marks of its block


def fields(text: str) -> dict[str, Any]:
    """Return the fields of a request besides the options of decoding."""
    message = {"role": "user", "content": TASK + text}
    return {"messages": [message], "chat_template_kwargs": NO_THINKING}


def instructions(prompt: Prompt) -> list[Part]:
    """
    Return the parts of a prompt with turns: the files, then the turns, the first of them in the
    same message as the files.
    """
    files = render(replace(prompt, turns=(), middle=""), MESSAGE)[:-1]
    turns = [Part("turn", neutral(turn, MESSAGE)) for turn in prompt.turns]
    return [*files, turns[0]._replace(text=f"\n\n{turns[0].text}"), *turns[1:]]


def messages(prompt: Prompt) -> dict[str, Any]:
    """Return the fields of a request with turns besides the options of decoding, see `fields`."""
    parts = instructions(prompt)
    n_later = len(prompt.turns) - 1
    first = parts[: len(parts) - n_later]
    later = parts[len(parts) - n_later :]
    request_fields = fields("".join(part.text for part in first))
    roles = ("assistant", "user") * n_later
    request_fields["messages"] += [
        {"role": role, "content": part.text} for role, part in zip(roles, later, strict=False)
    ]
    return request_fields


def chat_options(request: Request) -> dict[str, Any]:
    """
    Return the options of decoding: with room for the line that is written once more, and no stop
    strings, which may stand in it.
    """
    n_more = BLOCK_TOKENS + len(last_line(request.prompt.middle + request.prompt.forced))
    decoding = options(replace(request, stop=()))
    return {**decoding, "max_tokens": request.n_predict + n_more}


def last_line(text: str) -> str:
    """Return the line that an answer has to begin with."""
    return text[text.rfind("\n") + 1 :]


def code(answer: StreamedAnswer, line: str) -> StreamedAnswer:
    """
    Return *answer* with the code behind *line* as its text.

    It has ended where its block has, and where it is not what was asked for: then without a text.
    """
    behind_line, is_whole = behind(answer.text, line)
    if behind_line is None:
        return replace(answer, text="", last="", ended="stop", pieces=[])
    ended = "stop" if is_whole else answer.ended
    return replace(answer, text=behind_line, last="", ended=ended, pieces=[])


def behind(text: str, line: str) -> tuple[str | None, bool]:
    """
    Return the code behind *line* in *text*, which may go on; None where it is not that; and whether
    more cannot come.
    """
    block, is_whole = _find_block(text)
    if block is None:
        return None, True
    if block.startswith(line):
        return block[len(line) :], is_whole
    if line.startswith(block) and not is_whole:
        return "", False
    bare = block.lstrip(" \t")
    wanted = line.lstrip(" \t")
    if not bare.startswith(wanted):
        return ("", False) if wanted.startswith(bare) and not is_whole else (None, True)
    # Indented otherwise: so are its other lines.
    first, newline, _ = bare[len(wanted) :].partition("\n")
    return first, is_whole or bool(newline)


_OPENING = re.compile(r"(`{3,8}|~{3,8})[^`~\n]{0,100}\n")
_CLOSING = re.compile(r"^[ \t]{0,64}(`{3,}|~{3,})", re.MULTILINE)


def _find_block(text: str) -> tuple[str | None, bool]:
    """
    Return the code in the block that *text* is, which may go on; None where it is none; and whether
    more cannot come.
    """
    text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
    at = thoughts.skip(text)
    opening = _OPENING.match(text, at)
    end = next((end for _, end in thoughts.find_ends(text, at)), None)
    if not opening and end is not None:  # the template began the thought
        at = thoughts.skip(text, end)
        opening = _OPENING.match(text, at)
    if not opening:  # prose may turn out to be a thought, until there is a block in it
        is_open = len(_CLOSING.findall(text, at)) < 2  # noqa: PLR2004
        is_open |= thoughts.is_open(text, at)
        return ("", False) if is_open else (None, True)
    fence = opening[1]
    block = text[opening.end() :]
    fences = _CLOSING.finditer(block)
    if closing := next((found for found in fences if found[1].startswith(fence)), None):
        return block[: closing.start()], True
    last = block.rpartition("\n")[2]
    if fence.startswith(last.strip()):  # it may become the end
        block = block[: len(block) - len(last)]
    return block, False
