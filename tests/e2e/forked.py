"""
Servers without their start-up, which is most of what a short test costs: forked from a process that has imported everything.

What happens in one is what happens in a server that was started, from `main` on: its own process, pipes, environment and
exit. Some of tests/e2e/test_life.py are started as an editor does it; so is every one where processes cannot be forked so.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NoReturn

from tests.watchdog import look_now_and_then, watch

ROOT = Path(__file__).parents[2]
CAN_FORK = sys.platform == "linux"
# As an editor's child has them: tests that run in the background of a shell, or under nohup, ignore the first two.
SIGNALS: dict[int, Any] = (
    {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
        signal.SIGTERM: signal.SIG_DFL,
    }
    if CAN_FORK
    else {}
)
START_S = LEAVE_S = 60.0
# What a server has imported once its client has asked for something: in each of them it would be most of the work.
IMPORTED = (
    "fim_lsp.lsp.run", "fim_lsp.session.session", "server_bridge.bridge", "httpx", "httpcore",
    "anyio._backends._asyncio", "fim_lsp.http_server.local_port",
)  # fmt: skip
LONGEST = 1 << 18  # bytes of a request: an environment, and the code that a test has run first


class Forked:
    """One server, with as much of `subprocess.Popen` as tests use."""

    def __init__(self, template: Template, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._template = template

    def wait(self, timeout: float | None = None) -> int:
        return self._template.wait(self.pid, timeout)

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
            return
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Template:
    """
    The process that servers are forked from; *too_long*: see tests/watchdog.py.

    Threads may use it at once: one listens, so that no news is taken by one that waits for other news.
    """

    def __init__(self, too_long: Path) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(too_long)]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()
        self._starting = threading.Lock()
        self._started = queue.SimpleQueue[int]()
        self._codes: dict[int, int] = {}  # of the servers that have ended, by their ids
        self._ended = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, arguments: Sequence[str], before: str, env: dict[str, str]) -> Forked:
        """Return a server with *arguments* that runs the code *before* first."""
        read_in, write_in = os.pipe()
        read_out, write_out = os.pipe()
        theirs = [read_in, write_out, os.dup(2)]
        request = {"arguments": arguments, "before": before, "env": env}
        with self._starting:
            socket.send_fds(self._socket, [json.dumps(request).encode()], theirs)
            for fd in theirs:
                os.close(fd)
            pid = self._started.get(timeout=START_S)
        return Forked(self, pid, os.fdopen(write_in, "wb"), os.fdopen(read_out, "rb"))

    def wait(self, pid: int, timeout: float | None) -> int:
        """Return the exit code of a server."""
        with self._ended:
            if not self._ended.wait_for(lambda: pid in self._codes or self._is_over, timeout):
                raise subprocess.TimeoutExpired("a server", timeout or 0)
            return self._codes[pid]

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # ends what listens, here and there
        try:
            self._process.wait(LEAVE_S)
        finally:
            self._process.kill()
            self._socket.close()

    def _listen(self) -> None:
        """Hear that a server was started, or has ended."""
        while told := self._socket.recv(LONGEST):
            news: dict[str, int] = json.loads(told)
            if "started" in news:
                self._started.put(news["started"])
                continue
            with self._ended:
                self._codes[news["ended"]] = news["code"]
                self._ended.notify_all()
        with self._ended:
            self._is_over = True
            self._ended.notify_all()


def serve(requests: socket.socket) -> None:
    """Fork a server for each request, and tell the codes that they end with."""
    for name in IMPORTED:
        importlib.import_module(name)
    pids: dict[int, int] = {}
    while True:
        for ready in select.select([requests.fileno(), *pids], [], [])[0]:
            if ready in pids:
                pid, status = os.waitpid(pids.pop(ready), 0)
                os.close(ready)
                code = os.waitstatus_to_exitcode(status)
                requests.send(json.dumps({"ended": pid, "code": code}).encode())
                continue
            request, fds, _, _ = socket.recv_fds(requests, LONGEST, 3)
            if not request:
                return
            if (pid := os.fork()) == 0:
                requests.close()
                _become(fds, **json.loads(request))
            for fd in fds:
                os.close(fd)
            pids[os.pidfd_open(pid)] = pid
            requests.send(json.dumps({"started": pid}).encode())


def _become(fds: list[int], arguments: list[str], before: str, env: dict[str, str]) -> NoReturn:
    """Be the server, to the end of this process."""
    code: object = 1
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        os.environ.clear()
        os.environ.update(env)
        for number, handler in SIGNALS.items():
            signal.signal(number, handler)
        look_now_and_then()
        exec(before, {})
        from fim_lsp.__main__ import main  # noqa: PLC0415

        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:  # noqa: BLE001 (as Python does at the end of a program)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


@contextlib.contextmanager
def template(too_long: Path) -> Iterator[Template]:
    """A process to fork servers from, to its end."""
    with closing(Template(too_long)) as found:
        yield found


if __name__ == "__main__":
    watch(Path(sys.argv[2]))
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        serve(requests)
