"""
A text at a place that may outgrow the model's context (`fim.continueLong`), filtered as a
suggestion is.

It is streamed as a suggestion is. Once the context is full, the prompt stays, and the older half of
what was written is no longer shown to the model (StreamingLLM: `n_keep` and `n_discard`). A
llama.cpp server moves the newer half up; elsewhere it is evaluated again in steps, one token for
each token that is written. `LongText` says which part of it to insert: the filters of a suggestion,
but those that end it with a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fim_lsp.documents import Position, TextPlace
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, Permit, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.suggest.cursor import Candidate, Cursor, cursor_at
from fim_lsp.suggest.filters.foreign import other_text, special_tokens
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.filters.repeats import LOOP_LINES, looping_lines, stuttering
from fim_lsp.suggest.reasons import Outcome
from server_bridge.protocol import BackendError, Prompt, PromptTooLong, Reply, Request, Stop, behind

PORTION = 256  # tokens asked for at a time
LEAST = 32  # pieces of text that are dropped, or the context is too small for the prompt
FULL = "the prompt leaves too little room in the model's context"
# These would cut a long text to the statement at the cursor, or to what parses without the rest of
# it.
OFF = frozenset({"extent", "closed_below", "opened_here", "unfinished", "right_text", "parses"})
# From these on a model writes no more of what was asked for.
ENDS: tuple[Callable[[Candidate, Cursor], Candidate], ...] = (
    special_tokens, other_text, stuttering, looping_lines,
)  # fmt: skip
LOOKED_AT = 3 * LOOP_LINES  # the last lines, in which a loop is found


@dataclass(slots=True)
class LongText:
    """
    A text at *cursor* that may take *n_left* more tokens: what came so far, and whether it
    *goes_wrong*, or was ended by *go_on* (*is_cut*).
    """

    cursor: Cursor
    n_left: int
    go_on: Callable[[str], bool] = lambda _: True
    text: str = ""
    goes_wrong: bool = False
    is_cut: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether no more is to be written."""
        return self.goes_wrong or self.is_cut or self.n_left <= 0

    def take(self, piece: str, n_tokens: int = 1) -> None:
        """Append what came, and look at it where a line is whole."""
        self.text += piece
        self.n_left -= n_tokens
        self.is_cut = not self.go_on(self.text)
        if "\n" in piece:
            self.goes_wrong = self._is_wrong()

    def finish(self, trouble: str = "") -> tuple[str, str]:
        """Return the text to insert, and why that is not all, "" where it is."""
        text = self.text
        if trouble or self.is_over:  # without the line in which it was cut off
            text = text.rpartition("\n")[0] or text
        left = polish(Candidate(text), self.cursor, off=OFF)
        cut = next((cut for cut in left.cuts if cut.filter in _ENDS), None)
        if trouble or (cut is None and left.text):
            return left.text, trouble
        cut = cut or left.cuts[-1]
        return left.text, Outcome(cut.filter).words

    def _is_wrong(self) -> bool:
        """Return whether the last lines are such that what follows would be cut."""
        lines = self.text.split("\n")
        tail = "\n".join(lines[-LOOKED_AT:])
        is_all = len(lines) <= LOOKED_AT
        cursor = self.cursor if is_all else Cursor(self.cursor.language, self.cursor.path)
        candidate = Candidate(tail, whole=False)
        return any(step(candidate, cursor).text != tail for step in ENDS)


_ENDS = frozenset(step.__name__ for step in ENDS)


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
    n_forced = len(prompt.forced)
    n_portions = 0
    stop = Stop.LIMIT

    def take(reply: Reply) -> bool:
        nonlocal n_forced, stop
        shown.append(reply)
        stop = reply.stop
        writing.take(reply.text[n_forced:], reply.n_tokens)
        n_forced = max(0, n_forced - len(reply.text))
        return not writing.is_over

    while stop in (Stop.LIMIT, Stop.FULL) and not writing.is_over:
        n_portions += 1
        request = Request(behind(prompt, *shown), min(PORTION, writing.n_left), sample=n_portions)
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


def newer_half(shown: Sequence[Reply]) -> Sequence[Reply]:
    """
    Return the newer half of what was written, from the beginning of a line if one begins soon.
    """
    half = len(shown) // 2
    lines = (n for n in range(half, half + half // 2) if shown[n - 1].text.endswith("\n"))
    return shown[next(lines, half) :]
