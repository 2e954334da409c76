"""
A text at a place that may outgrow the model's context (`fim.continueLong`), filtered as a
suggestion is.

It is streamed as a suggestion is. Once the context is full, the prompt stays, and the older half of
what was written is no longer shown to the model (StreamingLLM: `n_keep` and `n_discard`). A
llama.cpp server moves the newer half up; elsewhere it is evaluated again in steps, one token for
each token that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fim_lsp.documents import Position, TextPlace
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, Permit, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.suggest.cursor import cursor_at
from fim_lsp.suggest.long_text import LongText
from server_bridge.protocol import (
    BackendError,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    Stop,
    append_text,
)

PORTION = 256  # tokens asked for at a time
LEAST = 32  # pieces of text that are dropped, or the context is too small for the prompt
FULL = "the prompt leaves too little room in the model's context"


async def continue_long(
    doc: OpenDocument, place: TextPlace, go_on: Callable[[str], bool], lane: Lane, framing: Framing
) -> tuple[Position, str, str]:
    """
    Return where the text is to be inserted, the text, and why it ended too early or is empty, ""
    where the model ended it.

    *go_on* is given the text so far and says whether to go on.
    """
    document, at = place
    if not (state := await lane.connection.wait_ready()).is_ready:
        return at, "", state.message or "there is no model server"
    cursor = cursor_at(*place, doc.file.path, by_hand=True)
    writing = LongText(cursor, lane.connection.config.completion.long_tokens, go_on)
    permit = doc.permit(document, lambda: "" if go_on(writing.text) else "it was cancelled")
    trouble: str | None = None
    while trouble is None:
        prompt = framing.next_prompt(doc, place)
        try:
            trouble = await _write(prompt, writing, permit, lane)
        except PromptTooLong as error:
            if not framing.shrunk(doc, doc.view.ladder.current, error):
                trouble = str(error)
        except (Withdrawn, BackendError) as error:
            trouble = str(error)
    text, note = writing.finish(trouble)
    return (at, text, note) if doc.current is document else (at, "", "you typed")


async def _write(prompt: Prompt, writing: LongText, permit: Permit, lane: Lane) -> str:
    """
    Have the model write behind *prompt*; return why it cannot go on, "" where it ended, or was
    ended.
    """
    shown: list[Reply] = []  # of what was written
    n_forced, n_portions, stop = len(prompt.forced), 0, Stop.LIMIT

    def take(reply: Reply) -> bool:
        nonlocal n_forced, stop
        shown.append(reply)
        stop = reply.stop
        writing.take(reply.text[n_forced:], reply.n_tokens)
        n_forced = max(0, n_forced - len(reply.text))
        return not writing.is_over

    while stop in (Stop.LIMIT, Stop.FULL) and not writing.is_over:
        n_portions += 1
        request = Request(behind(prompt, shown), min(PORTION, writing.n_left), sample=n_portions)
        try:
            await lane.evaluate(permit, request.prompt)
            await lane.write(permit, request, take)
        except PromptTooLong:
            if not shown:
                raise
            stop = Stop.FULL
        if stop is Stop.FULL:
            if len(shown) < 2 * LEAST:
                return FULL
            shown[:] = newer_half(shown)
            prompt = replace(prompt, forced="", dropped=True)
    return ""


def behind(prompt: Prompt, shown: Sequence[Reply]) -> Prompt:
    """Return the prompt that goes on behind what was written."""
    text = "".join(reply.text for reply in shown)
    return append_text(prompt, text, tuple(token for reply in shown for token in reply.tokens))


def newer_half(shown: Sequence[Reply]) -> Sequence[Reply]:
    """
    Return the newer half of what was written, from the beginning of a line if one begins soon.
    """
    half = len(shown) // 2
    lines = (n for n in range(half, half + half // 2) if shown[n - 1].text.endswith("\n"))
    return shown[next(lines, half) :]
