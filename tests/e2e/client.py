"""
A small editor for tests: starts the real server and talks to it in plain JSON.

It is strict where editors are: every request gets exactly one answer, nothing else is on stdout.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from tests.e2e.forked import ROOT, Template

PATIENCE_S = 60.0  # for a machine that is busy with something else

Message = dict[str, Any]
T = TypeVar("T")
EMBEDDED = {"fim": {"backend": {"kind": "embedded"}}}
INLINE = "textDocument/inlineCompletion"
INVOKED, AUTOMATIC = 1, 2  # kinds of triggers
GHOST_TEXT = {"textDocument": {"inlineCompletion": {"dynamicRegistration": False}}}
# At its end the bundled model writes a block.
CART = """\
class Cart:
    def __init__(self, width, height):
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height

    def __init__(self, name, value):"""


def wait_until(look: Callable[[], T], what: str) -> T:
    """Return what *look* finds at last: what nothing tells of has to be looked for again."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def at(uri: str, line: int, character: int, kind: int = INVOKED) -> dict[str, object]:
    """Return a request for a suggestion there."""
    place = {"line": line, "character": character}
    return {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": kind}}


def insertion(
    line: int, character: int, text: str, end: tuple[int, int] | None = None
) -> dict[str, object]:
    """Return a change that inserts *text*, or writes it over all up to *end*."""
    place = {"line": line, "character": character}
    last = {"line": end[0], "character": end[1]} if end else place
    return {"range": {"start": place, "end": last}, "text": text}


class Client:
    """One connection. *configuration* answers the server's `workspace/configuration`."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.configuration: object = None
        self.results: dict[str, object] = {}  # other answers, by method
        self.unanswered = set[str]()  # methods of the server that get none
        self.asked: list[Message] = []  # requests of the server
        self.told: list[Message] = []  # notifications of the server
        self.answers: dict[object, list[Message]] = {}
        self._ids = itertools.count(1)
        self._reads = True
        self._stdin = stdin
        self._news = threading.Condition()
        threading.Thread(target=self._listen, args=(stdout,), daemon=True).start()

    def write(self, body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> None:
        """Send *body* as it is."""
        self._stdin.write(header.format(len(body)).encode() + body)
        self._stdin.flush()

    def send(self, message: Message) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def notify(self, method: str, params: object = None) -> None:
        self.send(
            {"method": method, "params": params} if params is not None else {"method": method}
        )

    def ask(self, method: str, params: object = None) -> int:
        """Send a request and return its id without waiting for the answer."""
        number = next(self._ids)
        self.answers[number] = []
        message = {"id": number, "method": method}
        self.send({**message, "params": params} if params is not None else message)
        return number

    def answer(self, number: object) -> Message:
        """Wait for the answer to a request."""
        self.wait_for(lambda: bool(self.answers.get(number)), f"an answer to {number}")
        return self.answers[number][0]

    def request(self, method: str, params: object = None) -> Any:
        """Return the result of a request that must succeed."""
        answer = self.answer(self.ask(method, params))
        assert "result" in answer, answer
        return answer["result"]

    def error(self, method: str, params: object = None) -> int:
        """Return the error code of a request that must fail."""
        answer = self.answer(self.ask(method, params))
        assert "error" in answer, answer
        return int(answer["error"]["code"])

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        with self._news:
            assert self._news.wait_for(condition, PATIENCE_S), f"waited in vain for {what}"

    def messages(self, method: str) -> list[Any]:
        """Return the params of all notifications of one kind so far."""
        return [message.get("params") for message in self.told if message["method"] == method]

    def shown(self) -> list[str]:
        """Return the messages that the user was shown."""
        return [params["message"] for params in self.messages("window/showMessage")]

    def questions(self, method: str) -> list[Any]:
        """Return the params of all requests of the server of one kind so far."""
        return [message["params"] for message in self.asked if message["method"] == method]

    def command(self, name: str, *arguments: object) -> Any:
        """Return the result of a command."""
        params = {"command": name, "arguments": list(arguments)}
        return self.request("workspace/executeCommand", params)

    def change(self, uri: str, version: int, *changes: object) -> None:
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": changes}
        self.notify("textDocument/didChange", params)

    def initialize(self, **params: object) -> Any:
        """Say hello and return the server's capabilities."""
        given = {"processId": os.getpid(), "rootUri": None, "capabilities": GHOST_TEXT, **params}
        capabilities = self.request("initialize", given)["capabilities"]
        self.notify("initialized", {})
        return capabilities

    def open(self, uri: str, text: str, language: str = "python") -> None:
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def finish(self) -> None:
        """Every request had exactly one answer, and the server answers still."""
        self.error("no/such/method")
        for number, answers in self.answers.items():
            assert len(answers) == 1, f"request {number} has {len(answers)} answers"

    def stop_reading(self) -> None:
        """Leave what the server sends in the pipe; one more answer is read."""
        self._reads = False
        self.error("no/such/method")

    def _listen(self, stdout: IO[bytes]) -> None:
        while self._reads and (header := stdout.readline()):
            assert header.startswith(b"Content-Length: "), header
            length = int(header.split(b":")[1])
            while stdout.readline().strip():
                pass
            self._hear(json.loads(stdout.read(length)))

    def _result(self, method: str) -> object:
        """Return what this client answers to the server's requests."""
        if method == "workspace/configuration" and method not in self.results:
            return [self.configuration]
        found = {"window/showDocument": {"success": True}, **self.results}.get(method)
        return found() if callable(found) else found

    def _hear(self, message: Message) -> None:
        with self._news:
            if "method" not in message:
                self.answers.setdefault(message["id"], []).append(message)
            elif "id" in message:
                self.asked.append(message)
                if message["method"] not in self.unanswered:
                    self.send({"id": message["id"], "result": self._result(message["method"])})
            else:
                self.told.append(message)
            self._news.notify_all()


def started(arguments: Sequence[str], before: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Return a server as editors start it."""
    code = f"{before}\nfrom fim_lsp.__main__ import main\nmain()"
    program = ["-c", code] if before else ["-m", "fim_lsp"]
    command = [sys.executable, *program, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env)


class Editor(Client):
    """
    A client that started the server itself; *home* is where its user's settings are.

    *before* is code that the server runs first, to have something in it hang. With a *template* it is forked.
    """

    def __init__(
        self, home: Path, *arguments: str, before: str = "", template: Template | None = None
    ) -> None:
        env = os.environ | {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        env |= {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": str(ROOT)}
        arguments = arguments or ("--stdio",)
        start = template.start if template else started
        self.has_ended = False
        self.process = start(arguments, before, env)
        assert self.process.stdin
        assert self.process.stdout
        super().__init__(self.process.stdin, self.process.stdout)

    def bye(self) -> int:
        """Leave as LSP says; returns the exit code."""
        assert self.request("shutdown") is None
        self.notify("exit")
        return self.wait()

    def leave(self) -> int:
        """Say that we leave and do not wait for the answer."""
        self.ask("shutdown")
        return self.hang_up()

    def hang_up(self) -> int:
        """Leave without a word."""
        self._stdin.close()
        return self.wait()

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> int:
        """End the server without its knowledge."""
        self.process.kill()
        return self.wait()

    def wait(self, within_s: float = PATIENCE_S) -> int:
        code = self.process.wait(within_s)
        self.has_ended = True
        return code

    def close(self) -> None:
        """End what is left of the process; tests leave politely before."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
