"""
Evaluation before a request needs it, and loading of saved states in place of evaluation.

`prefill` evaluates what requests at a resting cursor need, and what the next ones will want; in
steps, while no request waits. `save` and `restore` have the backend write down what it evaluated
and load it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from fim_lsp.documents import TextPlace
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt.frame import Frame
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, Permit, PermittedModel, step_tokens
from fim_lsp.session.state.frame_ladder import FrameLadder
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.why import why_disabled
from server_bridge.protocol import Prompt, PromptTooLong

# Kinds of background work.
CURSOR = "prefill cursor"
NEXT = "prefill next"
IDLE_S = 0.3  # quiet before background work: longer than a pause between two keys of fast typing
SHORTEST_S = 1e-3  # less is no reason to look again
REST_S = 0.1  # the user stays at a place where the cursor rests this long
TRIES = 8  # at a backend that is reached and fails at each prompt


@dataclass(eq=False, repr=False)
class Prefill:
    """
    Evaluates ahead, in steps, what the next requests will need in the document where the user is;
    again each time that the backend was reached, until that was of no use *_tries* times.
    """

    _lane: Lane
    _stats: Stats
    _framing: Framing
    _open: OpenDocuments
    _tries: int = 0

    def prefill(self, doc: OpenDocument) -> None:
        """
        If the user is in *doc* and the cursor rests, evaluate what a request there would need
        first; where the user only moved it, then what one at the end of the line would: `A` goes
        there, and `o` opens a line below. While idle, choose chunks and evaluate what the next
        request will want.

        A user who moves the cursor, looks, and types then waits only for what was typed. Where
        nothing is suggested by itself, nothing is evaluated ahead.
        """
        entries = self._lane.connection.config.completion.disabled_for
        is_off = why_disabled(entries, doc.uri, doc.document.language, doc.file.path)
        if self._open.here is not doc or is_off:
            return
        if not self._lane.connection.is_ready:
            self._tries = 0  # the server was away: it is asked again when it is back
        self._lane.stir()
        step, delay = (self._rest_step, IDLE_S) if self._open.rests else (self._cursor_step, REST_S)
        self._lane.background(CURSOR, partial(step, doc), delay=delay)
        self._lane.background("choose chunks", partial(self._choose_chunks, doc), delay=IDLE_S)
        self._lane.background(NEXT, partial(self._next_step, doc), delay=IDLE_S)

    async def restore(self, doc: OpenDocument, frame: Frame, typed: str) -> bool:
        """
        Restore what the backend saved of a prompt of *doc*, or at least of its beginning; return
        whether the frame may be of use then.
        """
        if doc.current is None or not self._lane.connection.is_ready:
            return True
        prompt = frames.compose(frame, typed)

        async def load(model: PermittedModel) -> int:
            await model.restore(prompt)
            measure = await model.measure(prompt)
            return measure.total - measure.cached

        if (await self._lane.run(doc.permit(), load)) > step_tokens(self._lane.connection.state):
            return False
        doc.workspace.note_evaluated(frame.header.chunks)
        return True

    async def save(self, doc: OpenDocument, frame: Frame, typed: str) -> bool:
        """Have the backend save what it evaluated of a prompt; whether it did."""
        if not self._lane.connection.is_ready:
            return False
        prompt = frames.compose(frame, typed)
        files = doc.uri, *doc.workspace.uris_of(prompt.chunks)
        return await self._lane.look(doc.permit(), lambda model: model.save(prompt, files)) > 0

    async def _choose_chunks(self, doc: OpenDocument) -> bool:
        """While idle: choose chunks for the window that the next request will want."""
        # Where an earlier run left something, its frame comes first, and the ring that it was
        # evaluated behind.
        is_new = doc.view.restoring is None and not doc.workspace.memory.ring.chunks
        if (doc.view.ladder.current is not None or is_new) and doc.place:
            config = doc.workspace.settings(self._lane.connection.config)
            viewport = doc.viewport(self._framing.widest(doc, doc.place))
            n_chars = frames.ring_chars(config, self._lane.connection.state)
            await doc.workspace.update_ring(viewport, n_chars, config)
        return False

    async def _cursor_step(self, doc: OpenDocument) -> bool:
        """
        Make one step of the frame that a request at the cursor would get; return True while there
        is more.
        """
        if (place := self._place_of(doc)) is None:
            return False
        model = await self._lane.model(self._permit(doc, place))
        frame = await self._framing.best(doc, place, model)
        _ladder_of(doc, place).prefer(frame)
        return await self._step(CURSOR, frame.prompt(place), model, is_first=True) > 0

    async def _rest_step(self, doc: OpenDocument) -> bool:
        """
        Make one step of what requests at the cursor and at the end of its line would need, once the
        user has rested for as long as that takes; return True while there is more.
        """
        if (here := self._place_of(doc)) is None:
            return False
        model = await self._lane.model(self._permit(doc, here))
        for place in (here, here._replace(position=here.document.end_of(here.position.line))):
            frame = await self._framing.best(doc, place, model)
            prompt = frame.prompt(place)
            if missing := await self._missing_rest(prompt, model):
                self._lane.again(CURSOR, partial(self._rest_step, doc), delay=missing)
                return False
            prompt = replace(prompt, aside=place != here)
            left = await self._step(CURSOR, prompt, model, is_first=False)
            if prompt.aside:  # the server may have it of before
                _ladder_of(doc, place).put_aside(frame)
            if left:
                return True
        return False

    async def _next_step(self, doc: OpenDocument) -> bool:
        """
        Make one step of the prompt of the next request at the cursor; return True while there is
        more.
        """
        if (place := self._place_of(doc)) is None:
            return False
        frame = self._framing.ahead(doc, place)
        prompt = frame.prompt(place)
        try:
            model = await self._lane.model(self._permit(doc, place))
            if missing := await self._missing_rest(prompt, model):
                self._lane.again(NEXT, partial(self._next_step, doc), delay=missing)
                return False
            left = await self._step(NEXT, prompt, model, is_first=doc.view.ladder.current is None)
        except PromptTooLong as error:
            return self._framing.shrunk(doc, frame, error)
        if left or not doc.current:
            return left > 0
        doc.workspace.note_evaluated(frame.header.chunks)
        if frame is doc.view.ladder.current:
            return False
        if doc.view.ladder.advance(frame):
            self._lane.stir()  # the next rung waits for as much rest again
        return True

    async def _missing_rest(self, prompt: Prompt, model: PermittedModel) -> float:
        """
        Return for how many seconds the user has to rest until it is as long as evaluating *prompt*
        takes.

        So background work takes at most half of the user's pauses. To wait for as long as the work
        takes costs at most twice the least possible, whatever comes (ski rental: Karlin et al.
        1988).
        """
        state = self._lane.connection.state
        measure = await model.measure(prompt)
        seconds = (measure.total - measure.cached) / max(1.0, state.prefill_per_s)
        missing = seconds - self._lane.quiet_s
        return missing if missing > SHORTEST_S else 0.0

    def _place_of(self, doc: OpenDocument) -> TextPlace | None:
        """Return the cursor, if the user is in *doc* and the backend is ready."""
        return doc.place if self._open.here is doc and self._lane.connection.is_ready else None

    def _permit(self, doc: OpenDocument, place: TextPlace) -> Permit:
        """Return the permit for work that is wanted while the user is at *place*."""

        def why_over() -> str:
            here = self._place_of(doc)
            return "" if here and here.position == place.position else "the user is elsewhere"

        return doc.permit(place.document, why_over)

    def go_on(self, *, is_new: bool) -> None:
        """Begin where the user is: the backend is ready now, one that *is_new* with all tries."""
        self._tries = 1 if is_new else self._tries + 1
        if self._open.here is not None and self._tries <= TRIES:
            self.prefill(self._open.here)

    async def _step(
        self, kind: str, prompt: Prompt, model: PermittedModel, *, is_first: bool
    ) -> int:
        """Evaluate a step of *prompt*; how many tokens are left."""
        warmed = await self._lane.ahead(kind, prompt, model)
        self._tries = 0
        self._stats.count_warm(warmed, waited_for=False, is_first=is_first)
        return warmed.left


def _ladder_of(doc: OpenDocument, place: TextPlace) -> FrameLadder:
    """Return where a frame for *place* goes: an unused ladder if the text was changed."""
    return doc.view.ladder if place.document is doc.document else FrameLadder(doc.file)
