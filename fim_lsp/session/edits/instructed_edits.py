"""
Edits by instruction: lines of an open document and an instruction into the lines that take their
place.

The prompt begins as one for a suggestion does, so most of it is evaluated already; the lines and
the instruction stand behind. A document keeps what its last instruction was asked behind
(`Dialogue`), so the next one costs its own turn only. While an answer is written, requests for
suggestions come in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from fim_lsp.documents import Document, Position, TextPlace
from fim_lsp.instruct.answer import Reading, place_lines, read
from fim_lsp.instruct.blocks import TOO_LARGE, Found, find_block
from fim_lsp.instruct.dialogue import (
    Dialogue,
    Edited,
    Instruction,
    Selection,
    ask_whole,
    continue_dialogue,
    fix,
    is_too_long,
    select_lines,
    turn,
)
from fim_lsp.instruct.refusals import Refusal
from fim_lsp.session.framing import Framing
from fim_lsp.session.judging import Judging
from fim_lsp.session.lane import Lane, Permit, Withdrawn
from fim_lsp.session.state.open_document import CHANGED, OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.tasks import Newest
from server_bridge.protocol import BackendError, PromptTooLong, Reply, Request, Stop, Timings

LEAST_TOKENS = 256  # of an answer: a docstring, or a few lines more than there were
BROKE_OFF = "the answer was too long and broke off: select fewer lines"
TOO_LONG = "the selection is too long for the model: select fewer lines"
GROWTH = 3  # how many times longer than the selection an answer may be

# Between two looks at an answer that is being written, each of which reads all of it: seconds, or
# times its length.
LOOK_S = 0.1
GREW = 1.1

CANCELLED = "it was cancelled"
EDIT = "edit"
PREPARE = "prepare"
OnProgress = Callable[[Sequence[str]], bool]  # gets the lines so far; whether to go on


@dataclass(eq=False, repr=False)
class Work:
    """
    One edit under way: what the model wrote so far (*text*), and what it cost.

    *can_rest*: the answer was begun for the model, so it can be interrupted and resumed. *told* are
    the lines that the user was told last.
    """

    dialogue: Dialogue
    on_progress: OnProgress
    told: Sequence[str] = ()
    text: str = ""
    can_rest: bool = False
    stop: Stop = Stop.LIMIT
    cost: Timings = field(default_factory=Timings)
    # at the answer: when (loop time), and how many characters it had
    _looked: tuple[float, int] = (0.0, 0)

    def begin(self, dialogue: Dialogue, n_evaluated: int) -> None:
        """Begin the answer, after evaluating so many tokens of the question."""
        self.dialogue = dialogue
        self.text = ""
        self.cost = self.cost.plus(Timings(prompt_n=n_evaluated))

    def take(self, reply: Reply) -> bool:
        """
        Record a piece of the answer, the first one tells how that was begun; return whether to go
        on.
        """
        if not self.text:
            self.text = b"".join(token.text for token in reply.middle).decode()
            self.can_rest = bool(self.text)
        self.text += reply.text
        self.stop = reply.stop
        self.cost = self.cost.plus(reply.timings)
        if not self._is_due():
            return True
        self.told = self.lines()
        found = self.block()
        return not (self.why_over() or found.is_whole or found.why == TOO_LARGE)

    def why_over(self) -> str:
        """Return why it is over without a change, "" while it goes on."""
        return _why_cancelled(self.on_progress, self.told)

    def _is_due(self) -> bool:
        """Return whether to look at the answer: it grew by a tenth, or some time has passed."""
        now = asyncio.get_running_loop().time()
        n = len(self.text)
        if n < self._looked[1] * GREW and now < self._looked[0] + LOOK_S:
            return False
        self._looked = now, n
        return True

    def block(self, *, ended: bool = False) -> Found:
        """Return the code in the answer."""
        selection = self.dialogue.selection
        return find_block(self.text, selection.clean, selection.language, ended=ended)

    def lines(self) -> tuple[str, ...]:
        """Return the code so far as it belongs in the document."""
        return place_lines(self.dialogue.selection, self.block().lines)


@dataclass(eq=False, repr=False)
class InstructedEdits:
    """
    Edits by instruction, one at a time in a document. State: the newest edit, and the newest
    preparation, that is under way in each.
    """

    _lane: Lane
    _framing: Framing
    _open: OpenDocuments
    _judging: Judging
    _newest: Newest[tuple[str, str]] = field(default_factory=Newest)

    async def prepare(self, uri: str, start: Position, end: Position) -> None:
        """Evaluate all of a prompt but the instruction, which the user is typing."""
        with contextlib.suppress(Withdrawn, BackendError), self._start(uri, PREPARE) as why_over:
            doc = await self._admit(uri)
            document = doc.document
            last = doc.view.dialogue
            permit = doc.permit(document, why_over)
            dialogue = await self._begin(doc, permit, _select(document, start, end), "")
            if last is None or dialogue.context is not last.context:
                doc.view.keep_dialogue(dialogue)  # else the last one may still be asked for again
            prompt = dialogue.prompt(document.language)
            await self._lane.evaluate(permit, prompt, to_end=True)

    async def edit(self, uri: str, wanted: Instruction, on_progress: OnProgress) -> Edited:
        """
        Return the lines that come of *wanted*; *on_progress* gets them as they are written.

        A change of the document ends it, and so does another edit of it.
        """
        work = None
        try:
            with self._start(uri, EDIT) as why_over:
                doc = await self._admit(uri)
                document = doc.document
                view = doc.view
                selection = _select(document, wanted.start, wanted.end)
                begun = doc.permit(document, lambda: why_over() or _why_cancelled(on_progress, ()))
                dialogue = await self._question(doc, begun, selection, wanted)
                view.keep_dialogue(dialogue)
                work = Work(dialogue, on_progress)
                permit = doc.permit(document, lambda: why_over() or work.why_over())
                await self._answer(work, permit, document)
                lines, refusal = await self._read(doc, work, selection)
                if refusal is not None and refusal.again:
                    work.dialogue = ask_whole(work.dialogue, work.text)
                    await self._answer(work, permit, document)
                    lines, refusal = await self._read(doc, work, selection)
                permit(work.dialogue.context)
            if refusal is not None:
                return Edited(note=refusal.why, cost=work.cost)
        except (Withdrawn, BackendError) as error:
            return Edited(note=str(error), cost=work.cost if work else Timings())
        view.keep_dialogue(replace(work.dialogue, answer=work.text, result=lines))
        return Edited(document, selection.first, selection.last, lines, "", work.cost)

    async def _read(self, doc: OpenDocument, work: Work, replaced: Selection) -> Reading:
        """Return what the answer means, where it is to take the place of *replaced*."""
        if work.stop in (Stop.LIMIT, Stop.FULL) and not work.block(ended=True).is_whole:
            return Reading((), Refusal(BROKE_OFF))
        asked = work.dialogue, doc.document, replaced
        return await asyncio.to_thread(read, work.text, *asked, doc.workspace.reader.count_errors)

    async def _admit(self, uri: str) -> OpenDocument:
        """
        Return the document, where it may be shown to a model that can do it. Raises Withdrawn.
        """
        asked = self._open.document(uri)  # what the positions of the client count on
        state = await self._lane.connection.wait_ready()
        doc = await self._judging.admit(uri)
        await doc.workspace.refresh(self._lane.connection.config.privacy)
        if not state.is_ready:
            raise Withdrawn(state.message or "there is no model server")
        if state.fills_only:
            raise Withdrawn(state.fills_only)
        if doc.document is not asked:
            raise Withdrawn(CHANGED)
        return doc

    @contextlib.contextmanager
    def _start(self, uri: str, kind: str) -> Iterator[Callable[[], str]]:
        """
        Begin an edit of a document, which ends all that is under way there, or a preparation, which
        ends the one before; yield what says why it is over, "" while it goes on.
        """
        mine = self._newest.claim((uri, kind))
        if kind == EDIT:
            self._newest.drop((uri, PREPARE))
        try:
            yield lambda: "" if mine.is_newest else "another edit was asked for"
        finally:
            mine.release()

    async def _question(
        self, doc: OpenDocument, permit: Permit, selection: Selection, wanted: Instruction
    ) -> Dialogue:
        """
        Return the question: the next turn of the last dialogue where that goes on, else the first
        of a new one.
        """
        if dialogue := continue_dialogue(self._last(doc), wanted, selection.lines):
            return dialogue
        instruction = wanted.instruction
        if not instruction and wanted.problems:
            _, instruction = fix(wanted.problems)
        if not instruction:
            raise Withdrawn("there is no instruction")
        return await self._begin(doc, permit, selection, instruction)

    @staticmethod
    def _last(doc: OpenDocument) -> Dialogue | None:
        """Return the last dialogue, where all that it shows of other files may still be shown."""
        last = doc.view.dialogue
        chunks = last.context.chunks if last else ()
        return last if all(doc.workspace.shows(chunk.name) for chunk in chunks) else None

    async def _begin(
        self, doc: OpenDocument, permit: Permit, selection: Selection, instruction: str
    ) -> Dialogue:
        """
        Return the first question about *selection*, behind what the last one in the document was
        asked behind.
        """
        document = doc.document
        question = turn(selection, doc.file.path, document.language, instruction)
        last = self._last(doc)
        if last is not None and selection.first in last.shown:
            return Dialogue(last.context, last.shown, selection, (question,), instruction)
        cursor = doc.place and doc.place.position
        is_inside = cursor and selection.first <= cursor.line <= selection.last
        at = document.clamp(cursor if cursor and is_inside else Position(selection.first, 0))
        place = TextPlace(document, at)
        frame = await self._lane.run(permit, partial(self._framing.best, doc, place))
        context = replace(frame.prompt(place), middle="", tape=(), forced="")
        end = frame.window.anchor + frame.window.suffix.count("\n") + 1
        shown = range(frame.window.first, end)
        return Dialogue(context, shown, selection, (question,), instruction)

    async def _answer(self, work: Work, permit: Permit, document: Document) -> None:
        """Have the model answer, shown less where all of the context is too long for it."""
        context = work.dialogue.context
        bare = replace(context, chunks=(), prefix="", suffix="")
        n_chars = sum(map(len, work.dialogue.selection.clean))
        per_token = self._lane.connection.state.chars_per_token
        n_predict = LEAST_TOKENS + int(GROWTH * n_chars / per_token)
        for shown in dict.fromkeys((context, replace(context, chunks=()), bare)):
            dialogue = replace(work.dialogue, context=shown)
            prompt = dialogue.prompt(document.language)
            request = Request(prompt, n_predict, sample=dialogue.sample)
            try:
                work.begin(dialogue, await self._lane.evaluate(permit, prompt))
                await self._lane.write(permit, request, work.take, lambda: work.can_rest)
            except PromptTooLong:
                if shown is bare:
                    raise Withdrawn(TOO_LONG) from None
            else:
                return


def _why_cancelled(on_progress: OnProgress, lines: Sequence[str]) -> str:
    return "" if on_progress(lines) else CANCELLED


def _select(document: Document, start: Position, end: Position) -> Selection:
    if is_too_long(document, start, end):
        raise Withdrawn(TOO_LONG)
    return select_lines(document, start, end)
