"""
Framing: which part of a document the model is shown for a request, and after which chunks.

`best` is the frame for somebody who waits, the one of which least is to be evaluated; `ahead` the
one to be evaluated while nobody does. Mutable state: the chunks that were evaluated last.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from fim_lsp import engine, window
from fim_lsp.documents import Document, Position
from fim_lsp.link import Link
from fim_lsp.tape import Tape
from fim_lsp.view import Frame, Header, View
from fim_lsp.window import Window
from server_bridge.protocol import Chunk, Measure, Prompt, PromptTooLong

COLD = 128  # tokens to evaluate; from here on a new small window may be cheaper than one at hand

log = logging.getLogger(__name__)


class Framing:
    """See the module. *header* says what a prompt begins with for a view and a window."""

    def __init__(self, link: Link, header: Callable[[View, Window], Header]) -> None:
        self._link = link
        self._header = header
        self._settled: dict[str, tuple[Chunk, ...]] = {}  # by root

    def compose(self, frame: Frame, typed: str, tape: Tape) -> Prompt:
        """The prompt for a cursor behind *typed*, the middle of the frame's window."""
        classic = self._link.config.prompt.layout == "classic"
        return engine.compose(frame, typed, tape, classic=classic)

    def prompt(self, view: View, frame: Frame, document: Document, position: Position) -> Prompt:
        """The prompt for *position* in *frame*, which may be another than the view's."""
        typed = window.middle(frame.window, document, position)
        same = view.frame is not None and frame.window == view.frame.window
        return self.compose(frame, typed, view.tape if same else ())

    def next_prompt(self, view: View, document: Document) -> Prompt | None:
        """What the model would be shown at the cursor; None where it is not known."""
        if view.position is None:
            return None
        position = document.clamp(view.position)
        frames = view.usable(document, position, self._budget(view))
        frame = (frames or self._quick(view, document, position))[0]
        return self.prompt(view, frame, document, position)

    async def best(self, view: View, document: Document, position: Position) -> Frame:
        """
        The frame of which least is to be evaluated: one at hand, or a new small one.

        Warming one may have put another out of the cache (one slot, one common beginning).
        """

        async def measured(frame: Frame) -> Measure:
            return await self._link.backend.measure(self.prompt(view, frame, document, position))

        usable = view.usable(document, position, self._budget(view))
        costs = [((m := await measured(frame)).total - m.cached, frame) for frame in usable]
        if all(cost >= COLD for cost, _ in costs):
            quick = self._quick(view, document, position)
            costs += [engine.affordable(frame, await measured(frame)) for frame in quick]
        return min(costs, key=lambda each: each[0])[1]

    def ahead(self, view: View, document: Document, position: Position) -> Frame:
        """The frame that the next request should find evaluated."""
        header = partial(self._header, view)
        return view.ahead(document, position, self._budget(view), header)

    def settle(self, view: View, frame: Frame) -> None:
        """Remember that the backend has evaluated the chunks of *frame*."""
        self._settled[view.file.root] = frame.header.chunks

    @staticmethod
    def shrunk(view: View, frame: Frame | None, error: PromptTooLong) -> bool:
        """Show less in *view* than *frame* does, if less can be shown."""
        if frame is None:
            return False
        log.info("showing less of and around %s: %s", view.file.path, error)
        return view.shrink(frame)

    def _budget(self, view: View) -> window.Budget:
        return engine.budget(self._link.config, self._link.state, view.scale)

    def _quick(self, view: View, document: Document, position: Position) -> list[Frame]:
        """New small frames after chunks that were evaluated lately, or are being evaluated."""
        at_hand = [frame.header.chunks for frame in (view.frame, view.next) if frame]
        runs = dict.fromkeys([self._settled.get(view.file.root, ()), *at_hand])

        def header(chunks: tuple[Chunk, ...], shown: Window) -> Header:
            return view.header(engine.beside(chunks, view.file.path, shown))

        return view.quick(document, position, self._budget(view), runs, header)
