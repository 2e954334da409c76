"""
The frame of a request: which part of a document the model is shown, and after which chunks.

`best` is the frame for a request that waits, the cheapest to evaluate; `ahead` the one to evaluate
while none does.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fim_lsp.documents import TextPlace
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Chunks, Frame, affordable, chunks_for_window
from fim_lsp.prompt.report import PromptReport, describe
from fim_lsp.prompt.window import Window
from fim_lsp.session.lane import Lane, PermittedModel, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from server_bridge.protocol import BackendError, Measure, Prompt, PromptTooLong, State

# tokens to evaluate, about as many as a first look (`window.FIRST_TOKENS`): a new one may be
# cheaper
COLD = 128
# How much larger than now the largest window may turn out: a token has more characters than was
# thought.
SPARE = 1.25

log = logging.getLogger(__name__)

# Times the prefix of the cheapest frame, for which a user who asked by hand waits: a line more than
# what is evaluated may take seconds.
MORE = 1.5


class Terms(NamedTuple):
    """
    What one choice of a frame is made by, all of one moment: the *budget* of its window, of that
    the *first_share* for a first look at a place, the *most* tokens to evaluate for it, and how
    many chunks the user allows.
    """

    budget: window.Budget
    first_share: float
    most: int
    n_chunks: int


class Framing:
    """The frames that a request may be asked with, measured on the model."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def next_prompt(self, doc: OpenDocument, place: TextPlace) -> Prompt:
        """Return the prompt for *place* in the newest frame, evaluated or not."""
        terms = self._prepare(doc)
        usable = doc.view.ladder.usable(place, terms.budget)
        return (usable or quick_frames(doc, place, terms))[0].prompt(place)

    async def best(
        self, doc: OpenDocument, place: TextPlace, model: PermittedModel, *, by_hand: bool = False
    ) -> Frame:
        """
        Return the frame that is cheapest to evaluate: one at hand, or a new small one.

        Prefilling one may have put another out of the cache (one slot, one common beginning).
        A user who asks *by_hand* waits for the one that shows most of what can be evaluated
        meanwhile, if that is much `MORE`.
        """
        terms = self._prepare(doc, by_hand=by_hand)
        usable = doc.view.ladder.usable(place, terms.budget)

        async def measure(frame: Frame) -> Measure:
            return await model.measure(frame.prompt(place))

        costs = [((m := await measure(frame)).total - m.cached, frame) for frame in usable]
        if by_hand or all(cost >= COLD for cost, _ in costs):
            for frame in quick_frames(doc, place, terms):
                costs += await _costs_by_chunks(frame, measure)
        _, cheapest = min(costs, key=lambda option: option[0])
        shown = {frame: len(frame.window.prefix) for cost, frame in costs if cost <= terms.most}
        largest = max(shown, key=shown.__getitem__, default=cheapest)
        is_much = shown.get(largest, 0) >= MORE * len(cheapest.window.prefix)
        return largest if by_hand and is_much else cheapest

    def ahead(self, doc: OpenDocument, place: TextPlace) -> Frame:
        """Return the frame that the next request should find evaluated."""
        terms = self._prepare(doc)

        def ring(shown: Window) -> Chunks:
            return doc.workspace.chunks(doc.viewport(shown), self._lane.connection.config)

        return doc.view.ladder.climb(place, terms.budget, terms.first_share, ring)

    def widest(self, doc: OpenDocument, place: TextPlace) -> Window:
        """
        Return the window at the top of the ladder: chunks that are chosen for it can stand beside
        each one below.
        """
        frame = doc.view.ladder.current
        if frame is not None and frame.window.share >= 1:
            return frame.window
        budget = self._budget(doc, self._lane.connection.state, SPARE)
        return window.place_window(*place, budget, None, 1.0)

    def shrunk(self, doc: OpenDocument, frame: Frame | None, error: PromptTooLong) -> bool:
        """Show less in *doc* than *frame* does, if less can be shown."""
        if frame is None:
            return False
        log.info("showing less of and around %s: %s", doc.file.path, error)
        self._fit(doc)  # it may be another server than the prompt was made for
        return doc.view.ladder.shrink(frame)

    async def report(self, doc: OpenDocument) -> PromptReport:
        """
        Return the prompt at the cursor in *doc*, measured where the backend is ready; this does not
        delay evaluation ahead.
        """
        if (place := doc.place) is None:
            return PromptReport("nothing yet, no suggestion was asked for here")
        prompt = self.next_prompt(doc, place)
        measure: Measure | None = None

        async def look(model: PermittedModel) -> tuple[Prompt, Measure]:
            shown = (await self.best(doc, place, model)).prompt(place)
            return shown, await model.measure(shown)

        if self._lane.connection.is_ready:
            with contextlib.suppress(BackendError, Withdrawn):
                prompt, measure = await self._lane.look(doc.permit(place.document), look)
        return describe(prompt, measure, doc.workspace.memory.ring.chunks)

    def _prepare(self, doc: OpenDocument, *, by_hand: bool = False) -> Terms:
        """
        Have the frames of *doc* show what may be shown now, and as much as the server takes; return
        the terms for another one.
        """
        state = self._fit(doc)
        n_chunks = doc.workspace.settings(self._lane.connection.config).ring.chunks
        doc.view.ladder.cut_withdrawn(doc.workspace.shows, n_chunks)
        budget = self._budget(doc, state)
        n_first = window.first_tokens(state.prefill_per_s, by_hand=by_hand)
        share = min(1.0, n_first * state.chars_per_token / max(1, budget.prefix + budget.suffix))
        return Terms(budget, share, COLD + n_first, n_chunks)

    def _fit(self, doc: OpenDocument) -> State:
        """Have the frames of *doc* show as much as the server of now takes; return its state."""
        state = self._lane.connection.state
        doc.view.ladder.fit_to((state.url, state.model, state.n_ctx))
        return state

    def _budget(self, doc: OpenDocument, state: State, share: float = 1.0) -> window.Budget:
        config = doc.workspace.settings(self._lane.connection.config)
        return frames.budget(config, state, doc.view.ladder.scale * share)


def quick_frames(doc: OpenDocument, place: TextPlace, terms: Terms) -> list[Frame]:
    """
    Return new frames with small windows, which continue what the backend may hold: the windows at
    hand, and the chunks that were evaluated lately, or are being evaluated.
    """
    at_hand = [frame for frame in (doc.view.ladder.current, doc.view.ladder.next) if frame]
    windows = dict.fromkeys(
        window.place_window(*place, terms.budget, old, terms.first_share)
        for old in (*(frame.window for frame in at_hand), None)
    )
    known = [doc.workspace.evaluated[: terms.n_chunks], *(f.header.chunks for f in at_hand)]
    made = (
        Frame(doc.view.ladder.header(chunks_for_window(run, doc.file.path, shown)), shown)
        for shown in windows
        for run in dict.fromkeys(known)
    )
    return list(dict.fromkeys(made))


async def _costs_by_chunks(
    frame: Frame, measured: Callable[[Frame], Awaitable[Measure]]
) -> list[tuple[int, Frame]]:
    """
    Return *frame* with ever fewer chunks, each with what is to be evaluated in it.

    Where the backend holds a part of the chunks, a prompt with that part alone may still find less
    of it: its state may not have been kept at that very token.
    """
    costs: list[tuple[int, Frame]] = []
    while not costs or frame is not costs[-1][1]:
        measure = await measured(frame)
        costs.append((measure.total - measure.cached, frame))
        frame = affordable(frame, measure)
    return costs
