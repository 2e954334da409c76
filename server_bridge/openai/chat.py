"""
A prompt into a chat message, and what a chat model answers into the code behind the cursor. Pure.

Such a server takes no answer that is begun for its model, as llama.cpp does (`fim.chat`); so the message ends with what
is typed, and the model is asked to write the last line once more and go on. An answer counts only if it does
so, in one block of code: then the code behind the cursor is what follows that line. Everything else is no answer.
"""

from __future__ import annotations

import re
from dataclasses import replace

from server_bridge.fim.chat import CHAT, GAP, NO_THINKING, TASK
from server_bridge.fim.layout import Part, neutral, render
from server_bridge.http.responses import Object
from server_bridge.openai import completion
from server_bridge.openai.stream import StreamedAnswer
from server_bridge.protocol import Prompt, Request

ASK = (
    f"\n\nThe code that belongs where {GAP} stands begins as shown below. Answer with one block of code and nothing else: "
    "first the last line of that beginning, copied to the sign and completed, then the lines that belong behind it, "
    f"if any. Repeat nothing of what stands after {GAP}.\n\n"
)
# What begins or ends a turn of Gemma's and of Mistral's, besides `CONTROLS`; which model answers is not known here.
TURNS = r"<(?:start|end)_of_turn>|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
MESSAGE = CHAT._replace(middle=ASK, stop="", controls=TURNS)

OPENING = re.compile(r"\s{0,8}```[\w+#.-]{0,20}[ \t]{0,8}\n")
CLOSING = re.compile(r"^[ \t]{0,64}```", re.MULTILINE)
# What may yet become one of these
OPENS = re.compile(r"\s{0,8}(?:`{1,3}|```[\w+#.-]{0,20}[ \t]{0,8})?")
CLOSES = re.compile(r"^[ \t]{0,64}`{1,2}\Z", re.MULTILINE)
BLOCK_TOKENS = 16  # of an answer for the marks of its block


def fields(text: str, *, is_told: bool) -> Object:
    """
    Return the fields of a request besides the options of decoding; *is_told*: the server takes
    options of its template.
    """
    found: Object = {"messages": [{"role": "user", "content": TASK + text}]}
    return {**found, "chat_template_kwargs": NO_THINKING} if is_told else found


def instructions(prompt: Prompt) -> list[Part]:
    """Return the parts of a prompt with turns: the files, then the turns, the first of them in the same message as the files."""
    files = render(replace(prompt, turns=(), middle=""), MESSAGE)[:-1]
    turns = [Part("turn", neutral(turn, MESSAGE)) for turn in prompt.turns]
    return [*files, turns[0]._replace(text=f"\n\n{turns[0].text}"), *turns[1:]]


def messages(prompt: Prompt, *, is_told: bool) -> Object:
    """Return the fields of a request with turns besides the options of decoding, see `fields`."""
    parts = instructions(prompt)
    n_later = len(prompt.turns) - 1
    first, later = parts[: len(parts) - n_later], parts[len(parts) - n_later :]
    found = fields("".join(part.text for part in first), is_told=is_told)
    roles = ("assistant", "user") * n_later
    found["messages"] += [
        {"role": role, "content": part.text} for role, part in zip(roles, later, strict=False)
    ]
    return found


def options(request: Request) -> Object:
    """
    Return the options of decoding: with room for the line that is written once more, and no stop
    strings, which may stand in it.
    """
    n_more = BLOCK_TOKENS + len(last_line(request.prompt.middle + request.prompt.forced))
    found = completion.options(replace(request, stop=()), "", is_mlx=False)
    return {**found, "max_tokens": request.n_predict + n_more}


def last_line(text: str) -> str:
    """Return the line that an answer has to begin with."""
    return text[text.rfind("\n") + 1 :]


def code(answer: StreamedAnswer, line: str) -> StreamedAnswer:
    """
    Return *answer* with the code behind *line* as its text.

    It has ended where its block has, and where it is not what was asked for: then without a text.
    """
    found, is_whole = behind(answer.text, line)
    if found is None:
        return replace(answer, text="", last="", ended="stop", pieces=[])
    ended = "stop" if is_whole else answer.ended
    return replace(answer, text=found, last="", ended=ended, pieces=[])


def behind(said: str, line: str) -> tuple[str | None, bool]:
    """Return the code behind *line* in what was *said* so far, None where it is not that; and whether more cannot come."""
    opening = OPENING.match(said)
    if not opening:
        return ("", False) if OPENS.fullmatch(said) else (None, True)
    block = said[opening.end() :]
    closing = CLOSING.search(block)
    is_whole = closing is not None
    if cut := closing or CLOSES.search(block):
        block = block[: cut.start()]
    if block.startswith(line):
        return block[len(line) :], is_whole
    if line.startswith(block) and not is_whole:
        return "", False
    bare, wanted = block.lstrip(" \t"), line.lstrip(" \t")
    if not bare.startswith(wanted):
        return ("", False) if wanted.startswith(bare) and not is_whole else (None, True)
    # Indented otherwise: so are its other lines.
    first, newline, _ = bare[len(wanted) :].partition("\n")
    return first, is_whole or bool(newline)
