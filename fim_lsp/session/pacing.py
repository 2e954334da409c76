"""How much to ask of the backend at a time, by its measured speed; and when a text is whole. Pure."""

from __future__ import annotations

from functools import partial

from fim_lsp.session.generation import Terms
from fim_lsp.suggest import boundary
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.repeats import looping_lines, stuttering
from fim_lsp.suggest.request import CompletionRequest
from server_bridge.protocol import State

STEP_S = 0.25  # a step of prefill: what a request that comes meanwhile may have to wait for
STEP_TOKENS = (64, 4096)
BURST_S = 0.05  # of decoding on the wire: a newer key waits for it, and its delay is not felt
# Two, so that a server's drafts are of use; eight, because a suggestion of a line is about as long, and
# whatever is decoded past its end is waited for, too.
BURST_TOKENS = (2, 8)


def step_tokens(state: State) -> int:
    """How many tokens the backend evaluates in one step of about `STEP_S`."""
    low, high = STEP_TOKENS
    return max(low, min(high, int(state.prefill_per_s * STEP_S)))


def burst_tokens(state: State) -> int:
    """How many tokens the backend decodes in one burst of about `BURST_S`."""
    low, high = BURST_TOKENS
    return max(low, min(high, int(1e3 * BURST_S / state.decode_ms)))


def terms(request: CompletionRequest, sample: int = 0) -> Terms:
    """How long and in what portions to decode: until the text is syntactically whole."""
    return Terms(
        burst=burst_tokens(request.state),
        n_predict=request.config.completion.max_tokens,
        step=step_tokens(request.state),
        enough=partial(enough, cursor=request.cursor),
        stop=boundary.stops(request.cursor),
        sample=sample,
    )


def enough(text: str, cursor: Cursor) -> bool:
    """Whether decoding can stop: the text is whole, or it went into a loop that would be cut."""
    candidate = Candidate(text, whole=False)
    loops = any(step(candidate, cursor).text != text for step in (stuttering, looping_lines))
    return loops or boundary.enough(text, cursor)
