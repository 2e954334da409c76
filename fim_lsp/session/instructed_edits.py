"""
Edits by instruction: lines of an open document and an instruction into the lines that take their place.

The prompt begins as one for a suggestion does, so most of it is evaluated already; the lines and the instruction
stand behind. A document keeps what its last instruction was asked behind (`Dialogue`), so the next one costs its own
turn only. While an answer is written, requests for suggestions come in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from fim_lsp.documents import Document, Position
from fim_lsp.instruct import presets
from fim_lsp.instruct.answer import REDACTED, Block, block, loses_secret, place_lines
from fim_lsp.instruct.dialogue import Asked, Dialogue, Edited, Tokens, continue_dialogue
from fim_lsp.instruct.selection import (
    FENCE,
    Selection,
    begin_answer,
    is_too_long,
    select_lines,
    turn,
)
from fim_lsp.session.connection import Connection
from fim_lsp.session.framing import Framing
from fim_lsp.session.generation import step_tokens
from fim_lsp.session.judging import Judging
from fim_lsp.session.open_document import OpenDocument
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.suggest.outcome import reason
from server_bridge.protocol import (
    BackendError,
    Chunk,
    Health,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    Stop,
    rest,
)

LEAST_TOKENS = 256  # of an answer: a docstring, or a few lines more than there were
TOO_LONG = "the selection is too long for the model: select fewer lines"
GROWTH = 3  # how many times longer than the selection an answer may be

Hear = Callable[[Sequence[str]], bool]  # gets the lines so far; whether to go on
GoesOn = Callable[[Sequence[str]], None]  # the same, raises Ended where not


class Ended(Exception):
    """The edit ends without a change; the text says why."""


class Work:
    """
    One edit under way: what is left to ask for, and what was *said* so far.

    *rests*: the answer was begun for the model, so it can be interrupted and resumed.
    """

    def __init__(self, dialogue: Dialogue, goes_on: GoesOn) -> None:
        self.dialogue = dialogue
        self.goes_on = goes_on
        self.request = Request(dialogue.context, 0)
        self.said = ""
        self.rests = False
        self.stop = Stop.LIMIT
        self.tokens = Tokens()

    def add(self, reply: Reply) -> None:
        """Take in a piece of the answer; the first one tells how that was begun."""
        if not self.said:
            self.said = b"".join(token.text for token in reply.middle).decode()
            self.rests = bool(self.said)
        self.said += reply.text
        self.stop = reply.stop
        self.request = rest(self.request, reply)
        self.tokens = self.tokens.plus(reply.timings)

    def block(self, *, ended: bool = False) -> Block:
        """Return the code in what was said."""
        return block(self.said, ended=ended)

    def lines(self, *, ended: bool = False) -> tuple[str, ...]:
        """Return the code as it belongs in the document."""
        return place_lines(self.dialogue.selection, self.block(ended=ended).lines)


class InstructedEdits:
    """See the module. State: the number of the newest edit, which ends the one before."""

    def __init__(
        self,
        connection: Connection,
        scheduler: Scheduler,
        framing: Framing,
        open_documents: OpenDocuments,
        judging: Judging,
    ) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._framing = framing
        self._open = open_documents
        self._judging = judging
        self._n_asked = 0

    async def prepare(self, uri: str, start: Position, end: Position) -> None:
        """Evaluate all of a prompt but the instruction, which the user is typing."""
        with contextlib.suppress(Ended, BackendError):
            doc = await self._admit(uri)
            document = doc.document
            goes_on = self._newest(doc, document, lambda _: True)
            last = doc.dialogue
            dialogue = await self._begin(doc, document, _select(document, start, end), "")
            if last is None or dialogue.context is not last.context:
                doc.discuss(dialogue)  # else the last one may still be asked for again
            await self._evaluate(_prompt(dialogue, document), goes_on)

    async def edit(self, uri: str, asked: Asked, hear: Hear) -> Edited:
        """
        Return the lines that come of *asked*; *hear* gets them as they are written.

        A change of the document ends it, and so does another edit.
        """
        work = None
        try:
            doc = await self._admit(uri)
            document = doc.document
            goes_on = self._newest(doc, document, hear)
            selection = _select(document, asked.start, asked.end)
            dialogue = continue_dialogue(doc.dialogue, asked, selection.lines)
            if dialogue is None:
                problems = asked.problems
                instruction = asked.instruction or self._fix(doc, document, selection, problems)
                dialogue = await self._begin(doc, document, selection, instruction)
            doc.discuss(dialogue)
            work = Work(dialogue, goes_on)
            await self._answer(work, document)
            goes_on(())
            lines = work.lines(ended=True)
            _check(work, lines, selection)
        except (Ended, BackendError) as error:
            return Edited(note=str(error), tokens=work.tokens if work else Tokens())
        answer = f"{work.said}\n{FENCE}" if work.stop is Stop.WORD else work.said
        doc.discuss(replace(work.dialogue, answer=answer, result=lines))
        return Edited(document, selection.first, selection.last, lines, "", work.tokens)

    async def _admit(self, uri: str) -> OpenDocument:
        """Return the document, where it may be shown to a model that can do it."""
        await self._judging.wait_judged()
        state = await self._connection.wait_ready()
        if (doc := self._open.by_uri.get(uri)) is None:
            raise Ended("the document is not open")
        if doc.refusal:
            raise Ended(reason(doc.refusal))
        if state.health is not Health.READY:
            raise Ended(state.message or "there is no model server")
        if state.fills_only:
            raise Ended(state.fills_only)
        return doc

    def _newest(self, doc: OpenDocument, document: Document, hear: Hear) -> GoesOn:
        """Return a function that raises Ended once the text is another one, another edit was asked for, or *hear* returns False."""
        self._n_asked += 1
        number = self._n_asked

        def goes_on(lines: Sequence[str]) -> None:
            if doc.current is not document:
                raise Ended("the text was changed meanwhile")
            if number != self._n_asked:
                raise Ended("another edit was asked for")
            if not hear(lines):
                raise Ended("it was cancelled")

        return goes_on

    async def _begin(
        self, doc: OpenDocument, document: Document, selection: Selection, instruction: str
    ) -> Dialogue:
        """Return the first question about *selection*, behind what the last one in the document was asked behind."""
        question = turn(selection, doc.file.path, document.language, instruction)
        last = doc.dialogue
        shown = {Chunk(each.name, each.text) for each in doc.workspace.memory.ring.chunks}
        if last is not None and last.serves(selection) and shown.issuperset(last.context.chunks):
            return Dialogue(last.context, last.shown, selection, (question,))
        cursor = doc.position
        is_inside = cursor and selection.first <= cursor.line <= selection.last
        place = document.clamp(cursor if cursor and is_inside else Position(selection.first, 0))
        best = partial(self._framing.best, doc, document, place)
        frame = await self._scheduler.foreground(best)
        prompt = self._framing.prompt(frame, document, place)
        context = replace(prompt, middle="", tape=(), forced="")
        end = frame.window.anchor + frame.window.suffix.count("\n") + 1
        return Dialogue(context, range(frame.window.first, end), selection, (question,))

    async def _answer(self, work: Work, document: Document) -> None:
        """Have the model answer, shown less where all of the context is too long for it."""
        context = work.dialogue.context
        bare = replace(context, chunks=(), prefix="", suffix="")
        for each in dict.fromkeys((context, replace(context, chunks=()), bare)):
            work.dialogue = replace(work.dialogue, context=each)
            prompt = _prompt(work.dialogue, document)
            n_chars = sum(map(len, work.dialogue.selection.clean))
            n_predict = LEAST_TOKENS + int(
                GROWTH * n_chars / self._connection.state.chars_per_token
            )
            work.request = Request(prompt, n_predict, (f"\n{FENCE}",), work.dialogue.sample)
            try:
                n_evaluated = await self._evaluate(prompt, work.goes_on)
                work.tokens = work.tokens._replace(evaluated=n_evaluated)
                while await self._scheduler.foreground(partial(self._write, work)):
                    pass
            except PromptTooLong:
                if each is bare:
                    raise Ended(TOO_LONG) from None
            else:
                return

    async def _evaluate(self, prompt: Prompt, goes_on: GoesOn) -> int:
        """Evaluate *prompt* in steps, between which other requests may come; returns how many tokens it took."""
        n_evaluated, left = 0, True
        while left:
            goes_on(())
            model = await self._connection.model()
            step = step_tokens(self._connection.state)
            warmed = await self._scheduler.foreground(partial(model.warm, prompt, step))
            n_evaluated += warmed.evaluated
            left = warmed.left > 0
        return n_evaluated

    async def _write(self, work: Work) -> bool:
        """Write on until the answer ends; True where another request waits, and there is more."""
        model = await self._connection.model()
        replies = model.stream(work.request)
        async with contextlib.aclosing(replies):
            async for reply in replies:
                work.add(reply)
                work.goes_on(work.lines())
                if work.block().is_whole or work.request.n_predict < -LEAST_TOKENS:
                    return False  # or the server does not stop where it was told to
                if self._scheduler.wanted and work.rests and reply.stop is Stop.LIMIT:
                    return work.request.n_predict > 0
        return False

    def _fix(
        self,
        doc: OpenDocument,
        document: Document,
        selection: Selection,
        problems: tuple[str, ...],
    ) -> str:
        """Return the instruction to fix *problems*, with the definitions of what they are about, as far as those are known."""
        if not problems:
            raise Ended("there is no instruction")
        wanted = presets.names(problems, selection.lines)
        known = presets.definitions(wanted, self._texts(doc, selection, document))
        return presets.fix(problems, [*known]).instruction

    def _texts(
        self, doc: OpenDocument, selection: Selection, document: Document
    ) -> Iterator[tuple[str, Sequence[str]]]:
        """
        Yield the texts in which a definition may stand: this document, others that are open in its
        workspace, the ring.
        """
        lines = document.lines
        yield doc.file.path, (*lines[: selection.first], *lines[selection.last :])
        for other in self._open.of(doc.workspace):
            if other is not doc and other.is_usable:
                yield other.file.path, other.document.lines
        for chunk in doc.workspace.memory.ring.chunks:
            yield chunk.name, chunk.text.split("\n")


def _select(document: Document, start: Position, end: Position) -> Selection:
    if is_too_long(document, start, end):
        raise Ended(TOO_LONG)
    return select_lines(document, start, end)


def _prompt(dialogue: Dialogue, document: Document) -> Prompt:
    middle = begin_answer(dialogue.selection, document.language)
    return replace(dialogue.context, turns=dialogue.turns, middle=middle)


def _check(work: Work, lines: tuple[str, ...], replaced: Selection) -> None:
    """Raise Ended where *lines* are no answer that may be applied."""
    selection = work.dialogue.selection
    if work.stop in (Stop.LIMIT, Stop.FULL) and not work.block().is_whole:
        raise Ended("the answer was too long and broke off: select fewer lines")
    if not any(map(str.strip, lines)):
        raise Ended("the model answered with no code")
    if loses_secret(selection, lines):
        raise Ended(REDACTED)
    if lines == replaced.lines:
        raise Ended("the model changed nothing")
