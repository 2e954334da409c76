"""
One editor, as the server sees it: what it can do, what it set, what it asked last.

State: the session, the editor's column encoding, the workspace's roots, the sources of settings,
and the newest request per document, because an editor that never cancels still wants only that one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from fim_lsp import __version__, events
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.lsp import convert, quirks
from fim_lsp.lsp.local_page import LocalPage
from fim_lsp.lsp.log import log_to
from fim_lsp.lsp.messages import Messages
from fim_lsp.lsp.notebooks import Notebooks
from fim_lsp.lsp.rpc import JsonRpcException, LanguageServer, types
from fim_lsp.settings.config import Config, LogConfig
from fim_lsp.settings.files import PAGE, PROJECT_FILE, Sources, cache_folder, user_file
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import EDITOR, Requester, Suggestion
from fim_lsp.tasks import Newest
from fim_lsp.workspace import paths
from server_bridge.machine.disks import in_disk_thread

if TYPE_CHECKING:
    from fim_lsp.session.session import Session

Ranged = TypeVar("Ranged", Edit, Suggestion)
OpenSession = Callable[[Config], "Session"]

# For saving and ending while the client waits for the answer to `shutdown`: VS Code waits 2 s.
SHUTDOWN_S = 2.0
NAME_CHARS = 80  # of a file in a message
LATE_S = 5.0  # the user is told of longer waits
LOOK_S = 2.0  # a user who runs `fim-lsp setup` beside the editor types on soon afterwards
_OVERTAKEN = "overtaken"  # not -32800, which is for what a client cancels: some show it
_WITHOUT_SESSION = (types.INITIALIZE, types.SHUTDOWN, types.EXIT)
_TEXT_METHODS = {
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
}

log = logging.getLogger(__name__)


class Editor(LanguageServer):
    """
    The client of this process. *open_session* makes the session once the editor has said its
    settings.

    *leave* ends the server as if the editor had gone; *on_state* is called when a state of the
    backend is shown.
    """

    session: Session

    def __init__(self, open_session: OpenSession, flags: Mapping[str, object]) -> None:
        super().__init__("fim-lsp", __version__, _NOTEBOOKS)
        self.encoding = "utf-16"
        self.habits = quirks.Habits()
        self.leave: Callable[[], None] = lambda: None
        self.on_state: Callable[[], None] = lambda: None
        self.messages = Messages(self)
        self.page = LocalPage()
        self.notebooks = Notebooks()
        self.sources = Sources(flags)
        self.roots: tuple[str, ...] = ()
        self.long_texts = Newest[str]()
        self._open_session = open_session
        self._is_open = False
        self._closing: asyncio.Task[None] | None = None
        self._look_at = 0.0
        self._shown_large = False
        self._log: LogConfig | None = None
        self._newest = Newest[tuple[str, str]]()

    def begin(self, params: types.InitializeParams) -> None:
        """Note who the client is, and read the settings that are known so far."""
        self.habits = quirks.read_habits(params)
        agreed = types.PositionEncodingKind(self.workspace.position_encoding).value
        self.encoding = self.habits.counts or agreed
        self.roots = convert.parse_roots(params)
        self.sources.say("initializationOptions", params.initialization_options)
        if self.offers("workspace.configuration"):
            self.sources.expect_answer()  # `pull` asks, once it may
        self._read_files()
        self._config()  # wrong settings are told at once

    def _open(self) -> None:
        """Open the session. Its imports take as long as all before: see `amend`."""
        self.session = self._open_session(self._config())
        self._is_open = True
        self.session.on_status = lambda _: self._show_status()
        self.session.handle(events.FoldersChanged(self.roots))

    def wants_menu(self) -> bool:
        """Return whether suggestions go into the completion menu: there will be no ghost text."""
        config, _ = self.sources.config()
        setting = config.of(paths.file_of(next(iter(self.roots), ""))).completion.fallback
        has_ghosts = self.offers("text_document.inline_completion") and not self.habits.ghost_text
        return setting == "always" or (setting == "auto" and not has_ghosts)

    async def aclose(self, within_s: float) -> None:
        """Save and close; after *within_s* the rest goes on in the background."""
        if self._closing is None:
            self._closing = self.later(self._close(), "close session")
        await asyncio.wait({self._closing}, timeout=within_s)

    async def _close(self) -> None:
        if self._is_open:
            self.messages.close()
            await self.page.aclose()
            with contextlib.suppress(OSError):  # a whole prompt
                await in_disk_thread((cache_folder() / PAGE).unlink, missing_ok=True)
            await self.session.aclose()

    def configure(self) -> None:
        """Go on with what the sources of settings say now, unless the session closes."""
        if self._is_open and self._closing is None:
            self.session.configure(self._config())
            self.open_port()

    def open_port(self) -> None:
        """Open the port for other programs, if it is set."""
        if self.session.config.http.port is not None:
            self.later(self.page.url(self.session, self.roots), "open port")

    async def pull(self) -> None:
        """
        Ask for the settings, of an editor that can be asked.

        Never within a request: a task that awaits the editor must not be cancelled (pygls#621).
        """
        if not self.offers("workspace.configuration"):
            return
        items = types.ConfigurationParams([types.ConfigurationItem(section="fim")])
        mine = self._newest.claim(("pull", ""))
        answers = None
        self.sources.expect_answer()
        self.configure()
        self._tell_late()
        with contextlib.suppress(JsonRpcException):  # it cannot after all
            answers = await self.workspace_configuration_async(items)
        if mine.is_newest:
            self.sources.take_answer(answers)
            self.configure()

    async def register(self) -> None:
        """Register for changes of settings and files, with an editor that supports it."""
        dynamic = "workspace.{}.dynamic_registration".format
        registrations = [
            types.Registration(id=method, method=method, register_options=options)
            for method, capability, options in _REGISTRATIONS
            if self.offers(dynamic(capability))
        ]
        if registrations:
            with contextlib.suppress(JsonRpcException):
                await self.client_register_capability_async(types.RegistrationParams(registrations))

    def open_folders(self, roots: tuple[str, ...]) -> None:
        """Go on with other root folders, and what their files set."""
        self.roots = paths.on_disk(roots)
        self.session.handle(events.FoldersChanged(self.roots))
        self.read_settings()

    def reread_settings(self, uris: Iterable[str]) -> None:
        """Read the settings files again if one of them is among *uris*."""
        names = PROJECT_FILE, user_file().name  # a path of each of thousands takes too long
        near = (uri for uri in uris if any(name in unquote(uri) for name in names))
        files = filter(None, map(paths.file_of, near))
        if any(file.name == PROJECT_FILE or file == user_file() for file in files):
            self.read_settings()

    def read_settings(self) -> None:
        """Read the settings files again and go on with what they say."""
        self._read_files()
        self.configure()

    def _read_files(self) -> None:
        """Read the settings files; all is private until those whose disk does not answer are."""
        loop = asyncio.get_running_loop()
        folders = tuple(Path(path) for root in self.roots if (path := paths.file_of(root)))
        self.sources.read(folders, lambda: loop.call_soon_threadsafe(self._take_late))
        self._tell_late()

    def _tell_late(self) -> None:
        """Tell the user, after a while, what is not known yet of the settings."""
        loop = asyncio.get_running_loop()
        loop.call_later(LATE_S, lambda: self.messages.show_problems(self.sources.list_late()))

    def _take_late(self) -> None:
        """Go on with the settings files whose disk has answered."""
        if self.sources.take():
            self.configure()

    def _look_at_settings(self) -> None:
        """See now and then whether the user's settings were written: editors watch no such file."""
        now = asyncio.get_running_loop().time()
        if now >= self._look_at:
            self._look_at = math.inf  # until the disk has answered
            self.later(self._follow_settings(), "look at settings")

    async def _follow_settings(self) -> None:
        is_stale = await in_disk_thread(self.sources.is_stale)
        self._look_at = asyncio.get_running_loop().time() + LOOK_S
        if is_stale:
            self.read_settings()

    def _config(self) -> Config:
        """Merge the settings of all sources; show what is wrong with them."""
        config, problems = self.sources.config()
        if config.log != self._log:
            self._log = config.log
            problems += (problem,) if (problem := log_to(config.log)) else ()
        problems += tuple(way.warning for way in config.remote_servers if way.warning)
        self.messages.show_problems(problems)
        return config

    def amend(self, call: dict[str, Any]) -> dict[str, Any]:
        """
        Return *call* with what clients leave out, and the URIs of open documents as opened.

        The first call after `initialize`, which has its answer by now, opens the session.
        """
        if not self._is_open and call["method"] not in _WITHOUT_SESSION:
            self._open()
        method = call["method"]
        params = quirks.fill_in(call["method"], call.get("params"))
        match params:
            case {"textDocument": dict(named)} if method != types.TEXT_DOCUMENT_DID_OPEN:
                self._respell(named)
                if method == types.TEXT_DOCUMENT_DID_CHANGE and named.get("version") is None:
                    document = self.document(str(named.get("uri")))
                    named["version"] = document.version + 1 if document else 0
            case {"arguments": list(arguments)}:
                params["arguments"] = [self._respell(argument) for argument in arguments]
        return call if params is None else {**call, "params": params}

    def _respell(self, named: Any) -> Any:
        """Return a URI, or what names one, with that under which the document is open."""
        if isinstance(named, dict) and "uri" in named:
            named["uri"] = self._respell(named["uri"])
        if not self._is_open or not isinstance(named, str) or self.document(named):
            return named
        same = paths.identity(named)
        open_uris = (*self.notebooks.cells, *self.session.documents)
        return next((uri for uri in open_uris if paths.identity(uri) == same), named)

    def document(self, uri: str) -> Document | None:
        """Return an open document, or cell of a notebook, as the editor knows it."""
        return self.notebooks.cells.get(uri) or self.session.document(uri)

    def forward(self, *happened: events.Event) -> None:
        """Hand on what happened; an event of a cell is one of the document that it is part of."""
        for event in happened:
            if isinstance(event, events.Focused | events.Yanked):
                event = event._replace(uri=self.notebooks.place(event.uri)[0])  # noqa: PLW2901
            self.session.handle(event)

    def rest_at(self, uri: str, position: Position) -> None:
        """
        Note that the cursor rests in a document, so that the prompt for the place can be
        evaluated.
        """
        whole, first = self.notebooks.place(uri)
        self.forward(events.CursorMoved(whole, position.down(first)))

    def note_skipped(self, methods: frozenset[str], uris: Iterable[str]) -> None:
        """Go on after a message that was too long: its documents, or files, may be out of step."""
        if not self._is_open:
            return
        if not methods & _TEXT_METHODS:
            self.session.handle(events.RulesChanged())
            return
        for uri in uris:
            self.forward(*self.notebooks.arrange(uri, (), ()), events.Closed(uri))
            self._show_large(uri)

    def _show_large(self, uri: str) -> None:
        """Say of the first such document that it gets no suggestions."""
        log.info("no suggestions in %s: it is too large", uri)
        if not self._shown_large:
            self._shown_large = True
            name = unquote(uri).rpartition("/")[2][:NAME_CHARS]
            self.messages.show(f"fim-lsp: {name} is large; {Outcome.LARGE.words}.")

    async def ask(  # noqa: PLR0913 (what a request may say)
        self,
        method: str,
        document: Document,
        position: Position,
        *,
        invoked: bool,
        selected: Edit | None = None,
        client: Requester = EDITOR,
        show: Callable[[Suggestion], None] | None = None,
    ) -> list[Suggestion]:
        """
        Return the session's suggestions; a newer request of the same method for the document
        ends this one, which gets none.

        Where the client can *show* lines before all of the text is there, it gets them as they
        become known.
        """
        self._look_at_settings()
        task = asyncio.current_task()
        assert task is not None
        uri, first = self.notebooks.place(document.uri)
        asks = self.habits.asks._replace(cancels=client.cancels)
        if show is not None:
            asks = asks._replace(
                on_progress=lambda shown: show(_move(shown, -first)), word_limit_s=math.inf
            )
        mine = self._newest.claim((method, document.uri), partial(task.cancel, _OVERTAKEN))
        try:
            answer = await self.session.complete(
                uri,
                position.down(first),
                invoked=invoked,
                selected=selected and _move(selected, first),
                client=asks,
            )
            if answer.end.outcome is Outcome.LARGE:
                self._show_large(document.uri)
            if invoked and not answer.suggestions:
                self.messages.explain(answer.end.words, again=not answer.end.is_failure)
            return [_move(suggestion, -first) for suggestion in answer.suggestions]
        except asyncio.CancelledError as end:
            if end.args != (_OVERTAKEN,):
                raise
            return []
        finally:
            mine.release()

    def _show_status(self) -> None:
        self.messages.show_status(self.session.status(), notify=self.session.config.status.notify)
        self.on_state()


_NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")])
_REGISTRATIONS = (
    (
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        "did_change_configuration",
        types.DidChangeConfigurationRegistrationOptions(section="fim"),
    ),
    (
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        "did_change_watched_files",
        types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")]),
    ),
)


def _move(ranged: Ranged, n_lines: int) -> Ranged:
    """Return the same, so many lines further down."""
    return ranged._replace(start=ranged.start.down(n_lines), end=ranged.end.down(n_lines))
