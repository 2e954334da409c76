"""
The server is at rest after silence: a law, whatever happened before.

After random sessions, beside another client of a model server that is killed and started again, every
request has had its answer, and both stop computing once the pause's background work is done.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests import architectures, llama_server
from tests.architectures import RECURRENT, SLIDING
from tests.e2e.client import INLINE, Editor, at, insertion
from tests.e2e.forked import Template
from tests.models import BUNDLED
from tests.real_code import LONG, MIDDLING, SHORT, read_code

pytestmark = pytest.mark.promise("answers-are-bounded")

SESSIONS = int(os.environ.get("FIM_SESSIONS", "2"))  # scripts/test-security sets more
AT_ONCE = 4  # sessions: they mostly wait
STEPS = 24 if SESSIONS > 6 else 12
WINDOW_S, REST_CPU_S = 4.0, 0.08  # as 0.4 s in 20; a resting server takes 0.1
LOOK_S = 1.0  # between the beginnings of two such windows
LIMIT_S = 300.0  # until the background work that a pause pays for is done, beside other sessions
TEXTS = [read_code(name).splitlines() for name in (LONG, MIDDLING, SHORT)]
TYPED = ("\n    return ", "\n", " = ", "(", "\nif x:\n    ", "self.", "x")


class Kind(NamedTuple):
    """What completes: *backend* settings but the address, the slots of the server, its *model*."""

    backend: str
    n_slots: int = 1
    model: str = ""  # of `architectures`; "" is the bundled one


KINDS = (  # the first four differ most
    Kind("embedded"),
    Kind("llama-server", 2),
    Kind("llama-server", 4, RECURRENT[0]),
    Kind("openai", 2),
    Kind("llama-server", 4, SLIDING[0]),
    Kind("embedded", 0, RECURRENT[0]),
    *(Kind("llama-server", n) for n in (1, 4)),
    *(Kind("llama-server", n, name) for n in (1, 2) for name in (RECURRENT[0], SLIDING[0])),
)


class ModelServer:
    """A llama.cpp server that can be killed and started again at its port."""

    def __init__(self, model: Path, n_slots: int) -> None:
        port = llama_server.free_port()
        settings = {"port": port, "n_parallel": n_slots, "n_ctx": 4096 * n_slots}
        settings["endpoint_slots"] = True
        self._command = [sys.executable, llama_server.__file__, str(model), json.dumps(settings)]
        self.address = ("127.0.0.1", port)
        self.start()

    def start(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def kill(self) -> None:
        with self.process as process:
            process.kill()

    def complete(self, prompt: str) -> None:
        """Complete as another client does, which knows nothing of ours."""
        body = {"prompt": prompt, "n_predict": 4, "temperature": 0, "cache_prompt": True}
        connection = HTTPConnection(*self.address, timeout=60)
        with suppress(OSError, HTTPException):
            header = {"Content-Type": "application/json"}
            connection.request("POST", "/completion", json.dumps(body), header)
            connection.getresponse().read()
        connection.close()


@contextmanager
def running(kind: Kind, folder: Path) -> Iterator[tuple[ModelServer | None, dict[str, object]]]:
    """Yield a model server, where one runs beside the language server, and the settings for it."""
    model = architectures.write(folder / "model.gguf", kind.model) if kind.model else BUNDLED
    if kind.backend == "embedded":
        yield None, {"kind": "embedded", "model": str(model)}
        return
    server = ModelServer(model, kind.n_slots)
    url = "http://{}:{}".format(*server.address) + "/v1" * (kind.backend == "openai")
    try:
        yield server, {"kind": kind.backend, "url": url}
    finally:
        server.kill()


class Session:
    """One user's random session, and what it sent."""

    def __init__(
        self, editor: Editor, server: ModelServer | None, folder: Path, rng: random.Random
    ) -> None:
        self.editor = editor
        self.server = server
        self.rng = rng
        files = ((folder / f"file{n}.py").as_uri() for n in range(len(TEXTS)))
        self.texts = {uri: [*lines] for uri, lines in zip(files, TEXTS, strict=True)}
        self.versions: dict[str, int] = {}

    def step(self) -> None:
        """Do something in one of the files, or beside it."""
        rng = self.rng
        editor = self.editor
        uri = rng.choice([*self.texts])
        lines = self.texts[uri]
        if uri not in self.versions:
            self.versions[uri] = 1
            editor.open(uri, "\n".join(lines))
        row = rng.randrange(len(lines))
        place = {"line": row, "character": len(lines[row])}
        editor.notify("textDocument/didFocus", {"textDocument": {"uri": uri}})
        editor.notify("fim/didMoveCursor", {"textDocument": {"uri": uri}, "position": place})
        if rng.random() < 0.6:
            row = self._type(uri, row, rng.choice(TYPED))
            self._ask(uri, row, len(lines[row]))
        if rng.random() < 0.1:
            del self.versions[uri]
            editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        if self.server is not None:
            self._disturb(self.server)
        time.sleep(rng.choice((0.0, 0.02, 0.1, 0.4)))

    def _type(self, uri: str, row: int, text: str) -> int:
        """Type *text* at the end of a row; return the row of the cursor then."""
        lines = self.texts[uri]
        self.versions[uri] += 1
        self.editor.change(uri, self.versions[uri], insertion(row, len(lines[row]), text))
        new = (lines[row] + text).split("\n")
        lines[row : row + 1] = new
        return row + len(new) - 1

    def _ask(self, uri: str, row: int, column: int) -> None:
        number = self.editor.ask(INLINE, at(uri, row, column, self.rng.choice((1, 2, 2))))
        what = self.rng.random()
        if what < 0.3:
            time.sleep(self.rng.choice((0.0, 0.05)))
            self.editor.notify("$/cancelRequest", {"id": number})
        elif what < 0.8:
            self.editor.answer(number)

    def _disturb(self, server: ModelServer) -> None:
        """Use the server as another client does, or have it killed and started."""
        if self.rng.random() < 0.4:
            text = self.rng.choice(TEXTS)
            server.complete("\n".join(text[: self.rng.choice((3, 20, 60))]))
        elif self.rng.random() < 0.04:
            server.kill()
            server.start()


def count_cpu_s(session: Session) -> float:
    """Return the processor seconds of the language server, its children, and the model server."""
    processes = [psutil.Process(session.editor.process.pid)]
    processes += processes[0].children(recursive=True)
    if session.server is not None:
        processes.append(psutil.Process(session.server.process.pid))
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def wait_for_rest(session: Session) -> None:
    """Return once both compute no more than timers take."""
    end = time.monotonic() + LIMIT_S
    n_looks = round(WINDOW_S / LOOK_S)
    spent = [count_cpu_s(session)]
    while time.monotonic() < end:
        time.sleep(LOOK_S)
        spent.append(count_cpu_s(session))
        if len(spent) > n_looks and spent[-1] - spent[-1 - n_looks] <= REST_CPU_S:
            return
    steps = [later - sooner for sooner, later in pairwise(spent)]
    raise AssertionError(f"no rest: {[round(step, 2) for step in steps]} s of each {LOOK_S} s")


def play(seed: int, folder: Path, template: Template | None) -> str:
    """Play one session; return what is wrong at its end, "" for nothing."""
    kind = KINDS[seed % len(KINDS)]
    rng = random.Random(seed)
    folder.mkdir()
    with running(kind, folder) as (server, backend):
        editor = Editor(folder / "home", template=template)
        try:
            options = {"fim": {"backend": backend, "ring": {"chunks": rng.choice((0, 4, 16))}}}
            editor.initialize(rootUri=folder.as_uri(), initializationOptions=options)
            session = Session(editor, server, folder, rng)
            for _ in range(STEPS):
                session.step()
            for number in [*editor.answers]:
                editor.answer(number)
            wait_for_rest(session)
            assert editor.request("fim/stats")["requests"]
            editor.finish()
            assert editor.bye() == 0
        except AssertionError as error:
            return f"seed {seed}, {kind}: {error}"
        finally:
            editor.close()
    return ""


@pytest.mark.timeout(SESSIONS * 45)
def test_after_silence_all_is_at_rest(tmp_path: Path, template: Template | None) -> None:
    """Whatever was done before, with each kind of server and memory, and beside another client."""

    def run(seed: int) -> str:
        return play(seed, tmp_path / str(seed), template)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [problem for problem in pool.map(run, range(SESSIONS)) if problem]
    assert not wrong, "\n".join(wrong)
