"""
Prefill: what is evaluated before anybody asks, and what is loaded so that it need not be.

`glance` evaluates what a request at a resting cursor would need, `warm` what the next ones will
want; in steps, while nobody waits. `save` and `revive` have the backend write down what it
evaluated and take it back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from fim_lsp import engine
from fim_lsp.documents import Document, Position
from fim_lsp.framing import Framing
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.stats import Stats
from fim_lsp.tape import Tape
from fim_lsp.view import Frame, Header, View
from fim_lsp.window import Window
from server_bridge.protocol import Health, PromptTooLong, Saves

NOWHERE = Window(0, 0, "", "")
IDLE_S = 0.3  # quiet before background work: longer than a pause between two keys of fast typing
GLANCE_S = 0.1  # a cursor that rests so long has come to stay, or to be typed at

Current = Callable[[], Document | None]  # the text when its turn comes; None once it is closed


class Prefill:
    """See the module. *prepare* is called while idle, before a view is warmed, to choose its chunks."""

    def __init__(
        self,
        link: Link,
        stats: Stats,
        framing: Framing,
        lane: Scheduler,
        prepare: Callable[[View], Awaitable[bool]],
    ) -> None:
        self._link = link
        self._stats = stats
        self._framing = framing
        self._lane = lane
        self._prepare = prepare

    def glance(self, view: View, document: Current) -> None:
        """
        Should the cursor of *view* rest, evaluate what a request there would need first.

        So who moves it, looks, and types waits for what was typed only.
        """
        self._lane.background("glance", partial(self._glance_step, view, document), delay=GLANCE_S)

    def warm(self, view: View, document: Current) -> None:
        """While idle, evaluate what the next request in *view* will want."""
        self._lane.background("prepare", partial(self._prepare, view), delay=IDLE_S)
        self._lane.background("warm", partial(self._warm_step, view, document), delay=IDLE_S)

    async def revive(self, view: View, header: Header, typed: str) -> None:
        """
        Have the backend load what it saved: of *view*, or at least of what its prompts begin with.

        Where that is of no use, *view* begins anew.
        """
        backend, frame = self._link.backend, view.frame or Frame(header, NOWHERE)
        if not isinstance(backend, Saves) or self._link.state.health is not Health.READY:
            return
        prompt = self._framing.compose(frame, typed, view.tape)

        async def load() -> int:
            await backend.restore(prompt)
            measure = await backend.measure(prompt)
            return measure.total - measure.cached

        left = await self._lane.foreground(load)
        if left <= engine.step_tokens(self._link.state):
            self._framing.settle(view, frame)
        elif view.frame is frame:
            view.forget()

    async def save(self, frame: Frame, typed: str, tape: Tape) -> bool:
        """Have the backend save what it evaluated of a prompt; whether it did."""
        backend, ready = self._link.backend, self._link.state.health is Health.READY
        if not ready or not isinstance(backend, Saves):
            return False
        prompt = self._framing.compose(frame, typed, tape)
        return await self._lane.foreground(partial(backend.save, prompt)) > 0

    async def _glance_step(self, view: View, current: Current) -> bool:
        """One step of the frame that a request at the cursor would get; True while there is more."""
        document = current()
        if document is None or view.position is None or not self._ready:
            return False
        position = document.clamp(view.position)
        frame = await self._framing.best(view, document, position)
        if frame is not view.frame:
            view.next = frame
        return await self._step(view, frame, document, position) > 0

    async def _warm_step(self, view: View, current: Current) -> bool:
        """One step of what the next request at the view's cursor will want; True while there is more."""
        document = current()
        if document is None or view.position is None or not self._ready:
            return False
        position = document.clamp(view.position)
        frame = self._framing.ahead(view, document, position)
        try:
            left = await self._step(view, frame, document, position)
        except PromptTooLong as error:
            return self._framing.shrunk(view, frame, error)
        if left == 0:
            self._framing.settle(view, frame)
            if frame is not view.frame:
                view.take(frame)
        return left > 0

    @property
    def _ready(self) -> bool:
        return self._link.state.health is Health.READY

    async def _step(self, view: View, frame: Frame, document: Document, position: Position) -> int:
        """Evaluate a step of *frame* up to *position*; how many tokens are left."""
        prompt = self._framing.prompt(view, frame, document, position)
        warmed = await self._link.backend.warm(prompt, engine.step_tokens(self._link.state))
        self._stats.warmed(warmed, waited_for=False)
        return warmed.left
