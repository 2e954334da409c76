"""
What a user means to write, a row for each kind of text, and a model server that writes it.

The server is a real llama.cpp with the bundled model. A proxy before it reads how far the prompt's last line is with
one of the rows, and adds a grammar of the one text that is left: what a client does with a text does not depend then on
what a small model happens to say.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, groupby
from typing import Any, NamedTuple, Protocol

import httpx

from server_bridge.llama.completion import grammar
from tests.llama_server import llama_server
from tests.models import BUNDLED

# A connection each: llama.cpp closes one that rests, and the next request may be on its way then.
ONE_EACH = httpx.Limits(max_keepalive_connections=0)
N_TAIL = 48  # tokens, more than a row's line has
FORCED = re.compile(r'root ::= "(.*)" \.\*')
LINE_START = re.compile(r"\n|<\|fim_middle\|>")  # the cursor's line may be all of the middle
ESCAPED = re.compile(r'\\U([0-9A-F]{8})|\\(["\\])')


class Row(NamedTuple):
    """A line as the file has it, what is typed behind that, and what the line and those below are meant to be."""

    lead: str
    typed: str
    meant: str


# Of a file from its top; each line begins as no other one does.
ROWS = {
    "a word": Row("    total = ", "qu", "    total = quantity"),
    "a line": Row("    ", "for q", "    for quarter in year:"),
    "a block": Row("    ", "with l", "    with ledger as book:\n        book.add(1)"),
    "a bracket behind": Row("    while any", "(v", "    while any(values):"),
    "dollars": Row("    path = ", "ro", '    path = root + "${HOME} $1 $$"'),
    "tabs": Row("\t", "while d", "\twhile door.is_open():\n\t\tdoor.push()"),
}  # fmt: skip
LEADS = "".join(f"def f{n}(x):\n{row.lead}\n\n\n" for n, row in enumerate(ROWS.values()))


class Client(Protocol):
    """A client with a file of `LEADS` open."""

    def go_to(self, line: int) -> None:
        """Put the cursor at the end of a line, from 0."""

    def type(self, text: str) -> None:
        """Type, without waiting for anything."""

    def accept(self, row: Row) -> None:
        """Have the suggestion inserted that is the row's, if it comes."""

    def text(self) -> str:
        """Return the text of the file as it is now."""


def write_all(client: Client) -> dict[str, str]:
    """Type all rows, from the last one, so that lines above stay where they are; returns what is there then."""
    for name, row in reversed(ROWS.items()):
        client.go_to(line_of(name))
        client.type(row.typed)
        client.accept(row)
    text = client.text()
    return {name: text_of(text, name) for name in ROWS}


def line_of(name: str) -> int:
    """Return the line of a row's lead in `LEADS`, from 0."""
    return 1 + 4 * [*ROWS].index(name)


def text_of(written: str, name: str) -> str:
    """Return what stands now in the place of a row: what the function of that name has, without blank lines behind."""
    n = [*ROWS].index(name)
    body = written.partition(f"def f{n}(x):\n")[2].partition(f"def f{n + 1}(")[0]
    return body.rstrip("\n")


def rest(line: str) -> str:
    """Return what is left to be written of the row that *line* begins; "" where that is none, or several."""
    left = {row.meant[len(line) :] for row in ROWS.values() if row.meant.startswith(line)}
    return left.pop() if len(left) == 1 else ""


class Proxy(BaseHTTPRequestHandler):
    """Passes all on to the server, and adds the grammar."""

    protocol_version = "HTTP/1.1"
    url: str
    client: httpx.Client

    def do_GET(self) -> None:
        self._pass_on(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/completion":
            asked = json.loads(body)
            if asked.get("n_predict"):
                asked["grammar"] = self._grammar(asked)
            body = json.dumps(asked).encode()
        self._pass_on(body)

    def _grammar(self, asked: Mapping[str, Any]) -> str:
        """Return the grammar of what was forced already (half a word, typed before the cursor) and the row's rest."""
        found = FORCED.fullmatch(asked.get("grammar", ""))
        forced = ESCAPED.sub(_unescape, found[1]) if found else ""
        said = f"{self._tail(asked['prompt'])}{forced}"
        text = forced + rest(LINE_START.split(said)[-1])
        return grammar(text).removesuffix(" .*") if text else 'root ::= ""'

    def _tail(self, prompt: str | list[int | str]) -> str:
        """Return the text of the prompt's end: tokens are spelled, as many in one request as stand together."""
        parts = prompt[-N_TAIL:] if isinstance(prompt, list) else [prompt]
        runs = ([*run] for _, run in groupby(parts, type))
        return "".join(self._spell(run) for run in runs)

    def _spell(self, run: list[int | str]) -> str:
        if isinstance(run[0], str):
            return "".join(map(str, run))
        answer = self.client.post(f"{self.url}/detokenize", json={"tokens": run})
        return str(answer.json()["content"])

    def _pass_on(self, body: bytes) -> None:
        """Ask the server, and hand on its answer while the other side listens: it ends a text early."""
        headers = {"Content-Type": "application/json"} if body else {}
        asked = self.client.stream(
            self.command, self.url + self.path, content=body, headers=headers
        )
        with asked as answer:
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            with suppress(ConnectionError):
                for part in chain(answer.iter_raw(), (b"",)):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                return
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else found[2]


CONFIG = """\
[backend]
kind = "llama-server"
url = "{}"
[completion]
deadlineMs = 20000
patienceMs = 20000
minConfidence = 0.0
"""


class Server(ThreadingHTTPServer):
    """Connections that the other side resets are no errors."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def model_server() -> Iterator[str]:
    """A running server that writes what is meant; yields its address."""
    with llama_server(BUNDLED) as url, httpx.Client(timeout=60, limits=ONE_EACH) as client:
        handler = type("Handler", (Proxy,), {"url": url, "client": client})
        server = Server(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
