"""
One run of a story: the product's own editor without a wire, its session, and a server. What must
hold at every moment is looked at here: nothing private is sent or written, a frame stands where
its text does, the last answer is the newest request's; and what must hold at rest: nothing waits,
and what is shown of the server is true.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fim_lsp import events
from fim_lsp.documents import unix
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.messages import Messages, WorkDone
from fim_lsp.session.session import Session
from fim_lsp.session.state.model_view import Verdict
from fim_lsp.session.state.verdicts import LIMIT_S
from fim_lsp.session.stats import Answer
from fim_lsp.settings.config import Config
from server_bridge.protocol import Health, Prompt
from tests.convergence.server import Machine, Server
from tests.convergence.waits import EPOCH, PLAYER, Delays
from tests.fake_backend import Ids

# Each file has names of its own, by which its text is found in what is sent and written.
FILES = {
    "a": "one/a.py", "b": "one/b.py", "c": "one/c.py", "d": "two/d.py",
    "e": "one/e.py", "f": "one/f.py",
}  # fmt: skip
LETTERS = {file: letter for letter, file in FILES.items()}
WORDS = {"a": "kilo", "b": "lima", "c": "mike", "d": "nova", "e": "oskar", "f": "papa"}
LONG, SHORT = 60, 12  # functions in a file
LATE_S, REST_S = 20.0, 150.0  # after the last message: while waits still take long, and then
MOST_PROMPTS = 4000  # of a story; most have some hundred
TRUE_S = 4.0  # after the server is back, what is shown of it is true
BASE = {
    "completion": {"debounceMs": 0, "minConfidence": 0.0, "candidates": 1, "longTokens": 300},
    "ring": {"chunkLines": 8},
    "backend": {},
    "state": {"save": True},
}

Trouble = tuple[str, str]  # a law, and what does not hold


class QuietMessages(Messages):
    """Messages and progress without a wire."""

    def show(self, *_: Any, **__: Any) -> None:
        pass

    show_problems = show_status = show

    def _begin(self, name: str, *_: Any, **__: Any) -> None:
        self._in_progress.setdefault(name, WorkDone(name, asyncio.Queue()))


class Client(Editor):
    """An editor without a wire, with the settings of *play*; it answers questions late."""

    def __init__(self, play: Play) -> None:
        super().__init__(play.open_session, {})
        self._play, self.messages = play, QuietMessages(self)
        self._log = Config().log

    def start(self, roots: tuple[str, ...]) -> None:
        """Open the session, as `begin` does."""
        self.roots = roots
        self.sources.say("initializationOptions", BASE)
        self._read_files()
        self.session = self._open_session(self._config())
        self._is_open = True
        self.session.on_status = lambda status: self._play.note_health(status.state.health)
        self.session.handle(events.FoldersChanged(roots))
        self.later(self.pull(), "pull")

    def offers(self, *_: Any, **__: Any) -> bool:
        return True

    async def workspace_configuration_async(self, *_: Any) -> Any:
        seconds = self._play.delays("configuration")
        asked = json.dumps(self._play.settings)
        await asyncio.sleep(abs(seconds))
        return [json.loads(asked if seconds > 0 else json.dumps(self._play.settings))]


class Play:
    """The state of one run. *troubles* are the laws that did not hold; *n_prompts* are prompts."""

    def __init__(self, delays: Delays, folder: Path) -> None:
        self.delays = delays
        self.folder = folder
        self.folder_uri = folder.as_uri()
        self.troubles: set[Trouble] = set()
        self.settings: dict[str, Any] = json.loads(json.dumps(BASE))
        self.ignored = set[str]()
        self.excluded = set[str]()
        self.gone = set[str]()
        self.were_private = set[str]()
        self.is_again = False  # a second session on the same cache
        self.n_prompts = 0
        self.disk = list[Ids]()
        self.machines: dict[str, Machine] = {}
        self.roots: tuple[str, ...] = (self.uri("one"),)
        self.opened = set[str]()  # folders whose rules this session knows, or knew
        self.asked: list[asyncio.Task[Any]] = []
        self.newest: dict[str, object] = {}  # request by URI
        self.answers: dict[object, Answer | None] = {}
        self.true_at = 0.0
        self.shown = Health.UNKNOWN

    def uri(self, name: str) -> str:
        """Return the URI of a file by its letter, or of a folder."""
        return f"{self.folder_uri}/{FILES.get(name, name)}"

    def name(self, uri: str) -> str:
        """Return the letter of a file."""
        path = uri.removeprefix(f"{self.folder_uri}/")
        return LETTERS.get(path, path)

    @property
    def session(self) -> Session:
        return self.editor.session

    def begin(self) -> None:
        """Start an editor and its session."""
        self.editor, self.opened = Client(self), {*self.roots}
        self.editor.start(self.roots)

    def open_session(self, config: Config) -> Session:
        """Return a session that notes the newest request of each document."""
        session = Session(config, self.open_backend, self.folder / "cache")
        loop = asyncio.get_running_loop()
        session._quiet._wall = lambda: datetime.fromtimestamp(EPOCH + loop.time(), UTC)
        session._quiet._until = session._quiet._wall()
        real = session.complete

        async def complete(uri: str, *args: Any, **kwargs: Any) -> Answer:
            mine = self.newest[uri] = object()
            self.answers[mine] = None
            self.answers[mine] = answer = await real(uri, *args, **kwargs)
            return answer

        session.complete = complete
        return session

    def open_backend(self, config: Config) -> Server:
        """Return the way to the server that the settings name."""
        url = config.backend.url or ""
        machine = self.machines.setdefault(url, Machine())
        self.server = Server(machine, self.delays, self.look, self.disk)
        return self.server

    @property
    def machine(self) -> Machine:
        """The one that the client's settings name, whether they have come or not."""
        return self.machines.setdefault(self.settings["backend"].get("url", ""), Machine())

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Let *work* of a request go on beside the story."""

        def note(task: asyncio.Task[Any]) -> None:
            if not task.cancelled() and (error := task.exception()):
                self.blame("error", f"{name}: {error!r}")

        self.asked.append(asyncio.get_running_loop().create_task(work, name=name))
        self.asked[-1].add_done_callback(note)

    def blame(self, law: str, what: str) -> None:
        self.troubles.add((law, what))

    def private(self) -> set[str]:
        """Return the files that may not be sent: by the rules on disk, or gone and closed."""
        closed = {name for name in self.gone if self.uri(name) not in self.session.documents}
        excluded = self.excluded if self.uri("one") in self.roots else set()
        return self.ignored | excluded | closed

    def look(self, prompt: Prompt) -> None:
        """Look at what the server is shown."""
        self.n_prompts += 1
        if self.n_prompts > MOST_PROMPTS:
            self.blame("rest", "the model is asked without end")
            raise RuntimeError
        texts = (*(c.text for c in prompt.chunks), prompt.prefix, prompt.suffix, prompt.middle)
        shown = "".join((*texts, *prompt.turns))
        for name in self.private():
            if WORDS[name] in shown:
                self.blame("private", f"{name} is sent")
        self.check()

    def check(self) -> None:
        """Check what holds at every moment."""
        private = (doc for doc in self.session._open if doc.view.verdict is Verdict.PRIVATE)
        self.were_private |= {self.name(doc.uri) for doc in private}
        if self.is_again:
            return  # a frame that was restored is of the text that was saved: `fit` judges it
        for doc in self.session._open:
            whole = unix("".join(doc.document.lines))
            for frame in doc.view.ladder.at_hand if doc.current else ():
                at = whole.find(frame.window.prefix) if len(frame.window.prefix) > 100 else -1
                if at >= 0 and whole.count("\n", 0, at) != frame.window.first:
                    self.blame("frame", f"{self.name(doc.uri)}: it stands elsewhere than its text")

    def check_health(self) -> None:
        """Check that the server is shown as it is, once that can be known."""
        is_due = asyncio.get_running_loop().time() > self.true_at + TRUE_S
        health = self.shown, self.session.status().state.health
        is_well = not (self.machine.is_gone or self.machine.is_sick)
        if is_due and is_well and Health.DOWN in health:
            self.blame("rest", "a server that is back is shown as down")

    def note_health(self, health: Health) -> None:
        self.shown = health

    async def rest(self) -> None:
        """Wait until nothing has a reason to wait, and check what holds then."""
        await asyncio.sleep(LATE_S)
        self.delays.are_over = True
        await asyncio.sleep(REST_S)
        for task in self.asked:
            if not task.done():
                self.blame("rest", f"{task.get_name()} never ends")
                task.cancel()
        if not self.session._lane.idle:
            self.blame("rest", f"work is left: {[*self.session._lane._jobs]}")
        if self.editor.messages._in_progress:
            self.blame("rest", "progress is shown")
        self.check_health()
        for doc in self.session._open:
            mine = self.answers.get(self.newest.get(doc.uri))
            last = doc.requests.last_answer
            if mine and last and last.answer is not mine:
                self.blame("newest", f"{self.name(doc.uri)}: the last answer is an older request's")
        for doc in self.session._open:
            for chunk in doc.workspace.memory.ring.chunks:
                if self.name(chunk.uri) in self.private() and any(p.fresh for p in chunk.pieces):
                    self.blame("private", f"{self.name(chunk.uri)} is in the ring")

    async def end(self) -> None:
        """Close the session, and check that nothing goes on, at once and a while later."""
        await self.editor.aclose(EPOCH)
        assert self.editor._closing is not None
        if error := self.editor._closing.exception():
            self.blame("rest", f"aclose: {error!r}")
        self.check_end({asyncio.current_task(), *self.asked, *self.editor._later})
        n_prompts = self.n_prompts
        await asyncio.sleep(LATE_S)
        self.check_end({asyncio.current_task()})
        if n_prompts != self.n_prompts:
            self.blame("rest", "a prompt is sent after aclose")
        waits = self.delays.used.items()
        is_late = any(
            name.startswith("_read ") or (name == "list_private" and abs(seconds) > LIMIT_S)
            for (name, _), seconds in waits
        )
        if is_late and not self.delays.are_over:
            return  # settings or a disk that did not answer before the end: the next one judges
        if not self.session.config.state.save and [*self._saved_files()]:
            self.blame("private", "saving is off, and something is on disk")
        known = {name for name in self.private() if self.uri(name).startswith((*self.opened,))}
        for path, text in self._saved_files():
            for name in known:  # the next session with its folder judges another one
                if WORDS[name] in text:
                    self.blame("private", f"{name} is on disk in {path.name}")

    def check_end(self, ours: set[asyncio.Task[Any] | None]) -> None:
        """Check that no task is alive but *ours*, and those that are cancelled before they begin."""
        for task in asyncio.all_tasks() - ours:
            work = task.get_coro()
            is_begun = (
                not inspect.iscoroutine(work)
                or inspect.getcoroutinestate(work) != inspect.CORO_CREATED
            )
            if task.cancelling() and not is_begun:
                continue
            coro = getattr(work, "__qualname__", "?")
            name = coro if task.get_name().startswith("Task-") else task.get_name()
            self.blame("rest", f"alive after aclose: {name}")

    def saved_documents(self) -> list[str]:
        """Return the documents of which something is on disk."""
        return sorted(
            self.name(uri)
            for path, text in self._saved_files()
            if "workspaces" in path.parts
            for uri in json.loads(text)["documents"]
        )

    def _saved_files(self) -> Iterator[tuple[Path, str]]:
        for path in (self.folder / "cache").rglob("*.json"):
            yield path, path.read_text()

    async def stop_process(self) -> None:
        """End all that is left of the session, as the end of its process does."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        asyncio.get_running_loop()._scheduled.clear()  # type: ignore[attr-defined]
        self.newest.clear()
        self.is_again = True


def name_player() -> None:
    """Let the task that plays the story be known as such."""
    task = asyncio.current_task()
    assert task is not None
    task.set_name(PLAYER)
