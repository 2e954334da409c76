"""
A completion as far as a model has said it: which middle it began at, what came, what may follow.

It knows the middle that it began at (`typed`) and what came behind it (`text`), so a request at any
middle that `typed + text` begins with is answered by it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fim_lsp.prompt.half_words import Tape, resume
from fim_lsp.prompt.window import Window
from fim_lsp.session.answering.life import ENDED, NEXT, StreamEvent, StreamState
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import NOT_SURE, least, likely, odds
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.repeats import looping_lines, stuttering
from fim_lsp.suggest.known import Known, Said
from fim_lsp.suggest.request import CompletionRequest
from server_bridge.protocol import Prompt, Reply, Request, Stop

LOOK_TOKENS = 8  # a loop is a dozen tokens and more


@dataclass(slots=True, eq=False, repr=False)
class Completion:
    """
    *typed* is the middle at the cursor of *request*, where it began, *prompt* the one it began
    with, in *window*. *left* is how many tokens it may still have, *sample* 0 for the likeliest
    text. *raw* is all that came: it begins with what the prompt forced, and *tokens* spell it.
    *is_unsure*: no more than a beginning of it can be shown where it began.
    """

    request: CompletionRequest
    window: Window
    typed: str
    prompt: Prompt
    left: int
    sample: int = 0
    raw: str = ""
    tokens: Tape = ()
    _logprob: float = 0.0  # of the text, as far as the tokens tell
    state: StreamState = StreamState.GENERATING
    is_unsure: bool = False
    _least: float = field(init=False)  # that it must have to be shown
    _n_judged: int = 0  # of *tokens*, when it was last seen whether they are enough

    def __post_init__(self) -> None:
        self._least = least(self.request.config.sure)

    @property
    def rest(self) -> Prompt:
        """The prompt that goes on behind all that came."""
        return resume(self.prompt, self.raw, self.tokens)

    @property
    def next_request(self) -> Request:
        """The request for what it may still say."""
        return Request(self.rest, self.left, boundary.stops(self.request.cursor), self.sample)

    @property
    def is_over(self) -> bool:
        """Return whether nothing more is to come."""
        return self.state in ENDED

    @property
    def text(self) -> str:
        """The text after the cursor it began at."""
        forced = self.prompt.forced
        return self.raw[len(forced) :] if self.raw.startswith(forced) else ""

    def agrees(self, window: Window, middle: str) -> bool:
        """Return whether it has text for a request at *middle*, or may still have."""
        if window != self.window or not middle.startswith(self.typed):
            return False
        so_far = self.typed + self.text
        return so_far.startswith(middle) or (not self.is_over and middle.startswith(so_far))

    def is_on_the_way(self, window: Window, middle: str) -> bool:
        """Return whether a user who typed *middle* can still type this."""
        return self.agrees(window, middle) or (
            window == self.window and self.typed.startswith(middle)
        )

    def at(self, request: CompletionRequest, *, was_shown: bool = False) -> Known:
        """Return what it says to *request* by now; *was_shown*: a part of it was, to another."""
        typed = request.document.before(request.position, self.window.anchor)
        its_odds = odds(self.tokens, self.prompt.forced, self.text)
        is_whole = self.state is StreamState.WHOLE
        said = Said(self.typed + self.text, len(self.typed), is_whole, its_odds)
        is_typed = self.is_over and said.is_typed(typed, request.cursor)
        if is_typed or not self.agrees(self.window, typed):
            return Known()
        left = said.find_rest(typed) or Candidate("")
        unsure = typed != self.typed or self.is_unsure
        return Known(
            (left,),
            is_over=self.state is not StreamState.GENERATING,
            is_settled=unsure and likely(left, request.sure).why == NOT_SURE,
            has_line="\n" in left.text.lstrip(),
            was_shown=was_shown,
        )

    def happen(self, event: StreamEvent) -> bool:
        """Go to the state after *event*; return whether that is another one."""
        before = self.state
        self.state = NEXT[before].get(event, before)
        return self.state is not before

    def take(self, reply: Reply) -> bool:
        """Append what a reply brought; return whether that ends it."""
        if len(self.raw) >= len(self.prompt.forced):
            self._logprob += sum(token.logprob or 0.0 for token in reply.tokens)
            self.is_unsure = self._logprob < self._least
        self.raw += reply.text
        self.tokens += reply.tokens
        self.left -= reply.n_tokens
        if reply.stop in (Stop.END, Stop.WORD) or self._is_enough(reply.text):
            return self.happen(StreamEvent.COMPLETE)
        is_cut = reply.stop is Stop.FULL or self.left <= 0
        # of a server that does not write what it is forced to, no text will ever count
        is_other = self.raw[: len(self.prompt.forced)] != self.prompt.forced[: len(self.raw)]
        return (is_cut or is_other) and self.happen(StreamEvent.CUT)

    def _is_enough(self, new: str) -> bool:
        """
        Return whether the text is whole: asked at line ends, where it may be, and now and then
        because of loops.
        """
        if "\n" not in new and len(self.tokens) - self._n_judged < LOOK_TOKENS:
            return False
        self._n_judged = len(self.tokens)
        return enough(self.text, self.request.cursor)


def enough(text: str, cursor: Cursor) -> bool:
    """
    Return whether decoding can stop: the text is whole, or it went into a loop that would be cut.
    """
    candidate = Candidate(text, whole=False)
    loops = any(step(candidate, cursor).text != text for step in (stuttering, looping_lines))
    return loops or boundary.enough(text, cursor)
