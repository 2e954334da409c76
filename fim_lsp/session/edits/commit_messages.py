"""
The subject of the next commit, written by the model from what is staged, in the form of the last
subjects.

This is the one use of a file in `.git`: the document itself stays private, so it is in no other
prompt and in no ring. Of it are used its first line, and the diff that `git commit --verbose` puts
below its scissors; else git is asked (`workspace.git_commit`). Each file of a diff is judged before
it is shown, and secrets are redacted.

State: what git said last, for which index; the subject that is being written, or was written last.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from fim_lsp.documents import Document
from fim_lsp.prompt import commit_message
from fim_lsp.prompt.commit_message import SUBJECT_TOKENS
from fim_lsp.session.lane import Lane, Permit, Withdrawn
from fim_lsp.session.state.verdicts import judge_apart
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.workspace import paths
from fim_lsp.workspace.staged import KnownCommit, Rules, Staged, of_index, of_message
from server_bridge.protocol import BackendError, Prompt, PromptTooLong, Reply, Request

NOTHING_SAID = "the model wrote nothing here"
REPEATED = "the model only repeats an earlier subject"
SAMPLES = 3  # different answers that are asked for
# of a diff; a prompt that is too long even then cannot be made to fit by showing less
LEAST_CHARS = 200
PAUSE_S = 0.2  # without a key, before a model is asked for the rest of what is typed

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Writing:
    """
    A subject that begins with *typed*: what *task* wrote so far behind it (*text*), and what went
    wrong.
    """

    staged: Staged
    typed: str
    n_rules: int  # see `Workspaces`
    text: str = ""
    trouble: str = ""
    task: asyncio.Task[None] | None = None

    def agrees(self, typed: str) -> bool:
        """Return whether a user who *typed* so much may come to this subject."""
        whole = self.typed + self.text
        is_over = self.task is not None and self.task.done()
        return whole.startswith(typed) or (not is_over and typed.startswith(whole))


class CommitMessages:
    """The subjects that are written, one at a time, and what git said last."""

    def __init__(self, lane: Lane, workspaces: Workspaces) -> None:
        self._lane = lane
        self._workspaces = workspaces
        self._known: KnownCommit | None = None
        self._writing: Writing | None = None
        self._beginning: asyncio.Task[tuple[str, str]] | None = None

    def begin(self, request: CompletionRequest) -> None:
        """Have the subject of a message that was just opened written ahead of a request."""
        if self._beginning is not None:
            self._beginning.cancel()
        self._beginning = asyncio.create_task(self.suggest(request), name="begin commit message")

    async def suggest(self, request: CompletionRequest) -> tuple[str, str]:
        """
        Return the text to insert at the end of a message's first line; elsewhere nothing, and why.
        """
        at, line = request.position, request.document.lines[0].rstrip("\r\n")
        if at.line or at.column < len(line) or line.startswith("#"):
            return "", "the model writes only the first line of a commit message"
        if line and not request.invoked:
            await asyncio.sleep(PAUSE_S)
        return await self.write(request.document, line)

    async def write(self, place: Document | Path, typed: str) -> tuple[str, str]:
        """
        Return the rest of the subject after *typed*, or else why there is none: for the message in
        a document, or for what is staged in the work tree with this top.
        """
        n_rules = self._workspaces.n_rules
        if isinstance(place, Document):
            file = paths.local_path(place.uri)
            if not isinstance(file, type(PurePath())):
                return "", "the message is not a file of this machine"
            below = commit_message.below_scissors("".join(place.lines))
            look = partial(of_message, Path(file.parent), below, self._rules, self._known)
            staged, self._known = await judge_apart(look)
        else:
            staged = await judge_apart(partial(of_index, place, self._rules))
        return await self.write_subject(staged, typed, n_rules)

    async def aclose(self) -> None:
        """End what is being written."""
        for task in (self._beginning, self._writing.task if self._writing else None):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @property
    def _rules(self) -> Rules:
        return Rules(self._workspaces.roots, self._lane.connection.config.privacy.exclude)

    async def write_subject(self, staged: Staged, typed: str, n_rules: int) -> tuple[str, str]:
        """
        Return the rest of a subject after *typed* for what is *staged*, or else why there is none.

        Its files were judged by the rules number *n_rules*.
        """
        if staged.note:
            return "", staged.note
        if not (state := await self._lane.connection.wait_ready()).is_ready:
            return "", state.message or "there is no model server"
        while True:
            writing = self._writing
            key = (staged, n_rules)
            if (
                writing is None
                or (writing.staged, writing.n_rules) != key
                or not writing.agrees(typed)
            ):
                writing = self._writing = Writing(staged, typed, n_rules)
                writing.task = asyncio.create_task(self._write(writing), name="commit message")
            assert writing.task is not None
            await asyncio.shield(writing.task)
            if writing.trouble:
                return "", writing.trouble
            whole = writing.typed + writing.text
            if whole.startswith(typed):
                rest = whole[len(typed) :]
                return rest, "" if rest else NOTHING_SAID
            if self._writing is not writing:
                return "", "another one was asked for"

    async def _write(self, writing: Writing) -> None:
        """
        Have the model write; what another writing took the place of ends with its step. What went
        wrong is asked for again by the next request.
        """
        try:
            await self._write_new(writing)
        except Withdrawn as why:
            writing.trouble = str(why)
        except BackendError as error:
            log.warning("no commit message: %s", error)
            writing.trouble = str(error)
        except Exception:
            log.exception("no commit message")
            writing.trouble = Outcome.FAILED.words
        if writing.trouble and self._writing is writing:
            self._writing = None

    async def _write_new(self, writing: Writing) -> None:
        """
        Have the model write a subject that is no earlier one: a small model may repeat one, and is
        asked for another answer then. Raises Withdrawn, BackendError.
        """
        permit, staged = self._permit(writing), writing.staged
        n_chars, sample = commit_message.n_characters(self._lane.connection.state), 0
        while not writing.trouble:
            parts = (staged.repo, staged.diffs, staged.subjects, writing.typed, n_chars)
            prompt = commit_message.prompt_of(*parts, state=self._lane.connection.state)
            try:
                await self._lane.evaluate(permit, prompt)
                await self._say(writing, permit, prompt, sample)
                if not commit_message.repeats(writing.typed + writing.text, staged.subjects):
                    return
                writing.text, sample = "", sample + 1
                writing.trouble = REPEATED if sample == SAMPLES else ""
            except PromptTooLong:
                n_chars //= 2
                if n_chars < LEAST_CHARS:
                    raise

    async def _say(self, writing: Writing, permit: Permit, prompt: Prompt, sample: int) -> None:
        request = Request(prompt, SUBJECT_TOKENS, stop=("\n",), sample=sample)
        text = ""

        def take(reply: Reply) -> bool:
            nonlocal text
            text += reply.text
            writing.text = commit_message.line_of(text, prompt, writing.typed)
            return True

        await self._lane.write(permit, request, take)
        writing.text = writing.text.rstrip()

    def _permit(self, writing: Writing) -> Permit:
        """
        Return the permit of a subject: it ends with another one, and with a change of the rules of
        what is private.
        """

        def check(_prompt: Prompt) -> None:
            if self._writing is not writing:
                raise Withdrawn("another one was asked for")
            if writing.n_rules != self._workspaces.n_rules:
                raise Withdrawn("the rules of what is private changed")

        return check
