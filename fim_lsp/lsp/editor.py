"""
One editor, as the server sees it: what it can do, what it set, what it asked last.

State: the session, the editor's column encoding, the workspace's roots, the sources of settings,
and the newest request per document, because an editor that never cancels still wants only that one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from fim_lsp import __version__, clients, exposure, paths
from fim_lsp.config import Config, LogConfig
from fim_lsp.documents import Document, Position
from fim_lsp.engine import Selected, Suggestion
from fim_lsp.events import Event, Focused, FoldersChanged, Yanked
from fim_lsp.logs import log_to
from fim_lsp.lsp import types
from fim_lsp.news import News
from fim_lsp.notebooks import Notebooks
from fim_lsp.rpc import LanguageServer
from fim_lsp.session import Session
from fim_lsp.settings_files import PROJECT_FILE, Sources
from server_bridge.protocol import State

Ranged = TypeVar("Ranged", Selected, Suggestion)

CLOSE_S = 5.0  # for saving and letting go: the user has left and nothing may linger

log = logging.getLogger(__name__)


class Editor(LanguageServer):
    """See the module. *open_session* makes the session once the editor has said its settings."""

    session: Session

    def __init__(
        self, open_session: Callable[[Config], Session], flags: Mapping[str, object]
    ) -> None:
        super().__init__("fim-lsp", __version__, _NOTEBOOKS)
        self.encoding = "utf-16"
        self.reads_snippets = False
        self.news = News(self)
        self.notebooks = Notebooks()
        self.sources = Sources(flags)
        self.roots: tuple[str, ...] = ()
        self.current = ""  # the URI asked about last
        self._open_session = open_session
        self._is_open = False
        self._closing: asyncio.Task[None] | None = None
        self._told: set[str] = set()
        self._log: LogConfig | None = None
        self._newest: dict[tuple[str, str], asyncio.Task[Any]] = {}

    def begin(self, params: types.InitializeParams) -> None:
        """Open the session with the settings known so far."""
        self.encoding = types.PositionEncodingKind(self.workspace.position_encoding).value
        name = _name(params)
        self.reads_snippets = clients.reads_snippets(name)
        self.roots = _roots(params)
        self.sources.say("initializationOptions", params.initialization_options)
        self.sources.read(_folders(self.roots))
        self.session = self._open_session(self._config())
        self._is_open = True
        self.session.client_ms = clients.waits_ms(name)
        self.session.link.on_status = self._tell_status
        self.session.on_index(self.news.index)
        self.session.handle(FoldersChanged(self.roots))

    def wants_menu(self, params: types.InitializeParams) -> bool:
        """Whether suggestions go into the completion menu, because there will be no ghost text."""
        setting = self.session.config.completion.fallback
        ghost_text = get_capability(params.capabilities, "text_document.inline_completion")
        without = ghost_text is None and not clients.has_ghost_text_unsaid(_name(params))
        return setting == "always" or (setting == "auto" and without)

    async def aclose(self) -> None:
        """Let the session save and go. An editor that leaves meanwhile does not cut it short."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="close session")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._is_open:
            self.news.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.session.aclose(), CLOSE_S)

    # -- settings --------------------------------------------------------------------------------

    def configure(self) -> None:
        """Go on with what the sources of settings say now."""
        self.session.configure(self._config())

    async def pull(self) -> None:
        """
        Ask for the settings, of an editor that can be asked.

        Never from within a request: pygls cannot have a task cancelled that awaits the editor.
        """
        if not get_capability(self.client_capabilities, "workspace.configuration"):
            return
        items = types.ConfigurationParams([types.ConfigurationItem(section="fim")])
        with contextlib.suppress(JsonRpcException):  # it cannot after all
            said = await self.workspace_configuration_async(items)
            self.sources.say("workspace/configuration", said[0] if said else None)
            self.configure()

    async def register(self) -> None:
        """Ask to hear of settings and files, of an editor that tells only when asked to."""
        dynamic = "workspace.{}.dynamic_registration".format
        registrations = [
            types.Registration(id=method, method=method, register_options=options)
            for method, capability, options in _REGISTRATIONS
            if get_capability(self.client_capabilities, dynamic(capability))
        ]
        if registrations:
            with contextlib.suppress(JsonRpcException):
                await self.client_register_capability_async(types.RegistrationParams(registrations))

    def open_folders(self, roots: tuple[str, ...]) -> None:
        """Go on with other root folders, and what their files set."""
        self.roots = roots
        self.session.handle(FoldersChanged(roots))
        self.sources.read(_folders(roots))
        self.configure()

    def read_again(self, uris: tuple[str, ...]) -> None:
        """Read the settings files again if one of them is among *uris*."""
        if any(uri.endswith("/" + PROJECT_FILE) for uri in uris):
            self.sources.read(_folders(self.roots))
            self.configure()

    def _config(self) -> Config:
        """What the sources add up to; problems that are new are told, once."""
        config, problems = self.sources.config()
        if config.log != self._log:
            self._log = config.log
            problems += (problem,) if (problem := log_to(config.log)) else ()
        problems += tuple(way.warning for way in exposure.ways(config.backend) if way.warning)
        if new := [problem for problem in problems if problem not in self._told]:
            self.news.say(types.MessageType.Warning, "fim-lsp: " + "; ".join(new))
        self._told |= set(problems)
        return config

    # -- documents -------------------------------------------------------------------------------

    def document(self, uri: str) -> Document | None:
        """An open document, or cell of a notebook, as the editor knows it."""
        return self.notebooks.cells.get(uri) or self.session.documents.get(uri)

    def hear(self, *events: Event) -> None:
        """Hand on what happened; what is told of a cell is meant of the document it is part of."""
        for event in events:
            if isinstance(event, Focused | Yanked):
                event = event._replace(uri=self.notebooks.place(event.uri)[0])  # noqa: PLW2901
            self.session.handle(event)

    # -- suggestions -----------------------------------------------------------------------------

    async def ask(
        self,
        method: str,
        document: Document,
        position: Position,
        *,
        invoked: bool,
        selected: Selected | None = None,
    ) -> list[Suggestion]:
        """The session's suggestions; a request of the same kind for the document ends the one before."""
        self.current = document.uri
        task, key = asyncio.current_task(), (method, document.uri)
        assert task is not None
        if previous := self._newest.get(key):
            previous.cancel()  # pygls answers it with -32800
        self._newest[key] = task
        try:
            uri, first = self.notebooks.place(document.uri)
            suggestions = await self.session.complete(
                uri,
                _lower(position, first),
                invoked=invoked,
                selected=selected and _moved(selected, first),
            )
            return [_moved(suggestion, -first) for suggestion in suggestions]
        finally:
            if self._newest.get(key) is task:
                del self._newest[key]

    def _tell_status(self, state: State) -> None:
        self.news.tell(state, notify=self.session.config.status.notify)


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


def _lower(position: Position, n_lines: int) -> Position:
    return position._replace(line=position.line + n_lines)


def _moved(ranged: Ranged, n_lines: int) -> Ranged:
    """The same, so many lines further down."""
    return ranged._replace(start=_lower(ranged.start, n_lines), end=_lower(ranged.end, n_lines))


def _name(params: types.InitializeParams) -> str:
    return params.client_info.name if params.client_info else ""


def _roots(params: types.InitializeParams) -> tuple[str, ...]:
    if params.workspace_folders:
        return tuple(folder.uri for folder in params.workspace_folders)
    if params.root_uri:
        return (params.root_uri,)
    return (Path(params.root_path).as_uri(),) if params.root_path else ()


def _folders(roots: tuple[str, ...]) -> tuple[Path, ...]:
    """The roots that are folders of this machine."""
    return tuple(Path(path) for root in roots if (path := paths.local_path(root)))
