"""
`fim-lsp doctor --speculation`: are drafted tokens worth their cost, on this machine and code?

A server cannot switch drafting per request. But a request for one token leaves nothing to draft: so
at each position the same text is generated in one request, as the session does it, and then token by
token, both timed by the server itself. Both evaluate one token per step, so they
differ by the drafts alone. The long request comes first: n-grams learn from earlier text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fim_lsp.cli.layouts import Trial, completed, prompt_at
from fim_lsp.cli.terminal import Screen
from server_bridge.protocol import Backend, Prompt, Request, Stop, extended

N_PLACES = 16  # half a minute at 30 ms a token
TOKENS = 32  # three lines
PAYS = 1.15  # times as fast; two runs on a busy machine differ by less


@dataclass(slots=True)
class Cost:
    """Tokens generated, the server's milliseconds for them, tokens drafted, and drafts accepted."""

    written: int = 0
    ms: float = 0.0
    drafted: int = 0
    accepted: int = 0

    @property
    def ms_per_token(self) -> float:
        """The mean."""
        return self.ms / max(1, self.written)


async def report(backend: Backend, where: Sequence[Trial], screen: Screen) -> None:
    """Generate at all positions with and without drafts, and print which is better."""
    with_drafts, without, n_same = Cost(), Cost(), 0
    for idx, trial in enumerate(where):
        screen.status(f"place {idx + 1} of {len(where)}")
        prompt = prompt_at(backend, trial, classic=False)
        text = await _write(backend, prompt, TOKENS, with_drafts)
        if not backend.state.drafts:
            screen.status("")
            screen.line("The server does not speculate; `fim-lsp serve` starts one that does.")
            return
        if text == await _write(backend, prompt, 1, without):
            n_same += 1
    screen.status("")
    screen.line(
        f"{with_drafts.accepted} of {with_drafts.drafted} drafted tokens were right "
        f"({backend.state.drafters}); the text is the same at {n_same} of {len(where)} places"
    )
    screen.line(
        f"{with_drafts.ms_per_token:.1f} ms a token with drafts, "
        f"{without.ms_per_token:.1f} ms without"
    )
    screen.line(verdict(with_drafts, without))


def verdict(with_drafts: Cost, without: Cost) -> str:
    """What to do about it."""
    if not with_drafts.ms or not without.ms:
        return "Nothing was generated here: name other files."
    faster = without.ms_per_token / with_drafts.ms_per_token
    if faster >= PAYS:
        return f"It pays here: {faster:.1f} times as fast."
    if faster > 1 / PAYS:
        return "It makes no difference here."
    return (
        f"It does not pay here: {1 / faster:.1f} times as slow. "
        "Start the server without --spec-type (fim-lsp serve --no-speculation)."
    )


async def _write(backend: Backend, prompt: Prompt, portion: int, cost: Cost) -> str:
    """Generate in requests of *portion* tokens and add up the *cost*, without evaluating the prompt."""
    text, n_left, is_read = "", TOKENS, False
    while n_left > 0:
        reply = await completed(backend, Request(prompt, min(portion, n_left)))
        took = reply.timings
        cost.written += took.predicted_n
        cost.ms += took.predicted_ms
        if is_read:
            cost.ms += took.prompt_ms
        cost.drafted += took.draft_n
        cost.accepted += took.draft_accepted_n
        text += reply.text
        n_left -= max(1, took.predicted_n)
        if reply.stop is not Stop.LIMIT:
            break
        prompt, is_read = extended(prompt, reply), True
    return text
