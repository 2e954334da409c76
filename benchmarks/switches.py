"""
What a switch of file costs at a server that keeps one prompt for all, by what is set.

    python -m benchmarks.switches [MODEL.gguf]

llama.cpp's server with one slot and no cache beside it stands for llama-cpp-python's and others of the kind, because it
tells what it evaluated. A user goes to and fro between two files of this repository, rests, and types a line in each.
"""

from __future__ import annotations

import asyncio
import sys
import time
from operator import itemgetter
from pathlib import Path
from statistics import median

from benchmarks.metrics import total
from benchmarks.progress import tell
from tests.e2e.client import INLINE, Client, at, insertion
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.servers.keys import client_of
from tests.servers.servers import CONTEXT

HERE = Path(__file__).resolve().parents[1]
FILES = ("fim_lsp/session/session.py", "server_bridge/openai/backend.py")
OTHERS = (
    "server_bridge/protocol.py",
    "fim_lsp/documents.py",
    "server_bridge/speeds.py",
)  # for the ring
SETTINGS = {
    "as it is": {},
    "no ring": {"ring": {"chunks": 0}},
    "half a window": {"prompt": {"prefixTokens": 512}},
    "no ring, half a window": {"ring": {"chunks": 0}, "prompt": {"prefixTokens": 512}},
    "no ring, a quarter": {"ring": {"chunks": 0}, "prompt": {"prefixTokens": 256}},
}
LINE = "        value = self._"
N_VISITS = 14
REST_S, PAUSE_S = 5.0, 1.0  # before all, and behind a line: then the ring is filled


def open_all(client: Client) -> None:
    """Open the files, and change a line in each of the others, so that the ring has what it has in a day."""
    for name in (*OTHERS, *FILES):
        client.open((HERE / name).as_uri(), (HERE / name).read_text("utf-8"))
    for name in OTHERS:
        row = (HERE / name).read_text("utf-8").count("\n") // 2
        client.change((HERE / name).as_uri(), 2, insertion(row, 0, "\n"))


def visit(client: Client, url: str, name: str, n_visit: int) -> tuple[int, float, int]:
    """Return what the first answer of a visit costs, in tokens and seconds, and the tokens of the line that is typed then."""
    uri = (HERE / name).as_uri()
    row = (HERE / name).read_text("utf-8").count("\n") * 2 // 3 + n_visit
    before = asyncio.run(total([url]))
    began = time.perf_counter()
    client.notify("textDocument/didFocus", {"textDocument": {"uri": uri}})
    client.change(uri, n_visit * 100 + 2, insertion(row, 0, "\n"))
    client.request(INLINE, at(uri, row, 0))
    seconds = time.perf_counter() - began
    arrived = asyncio.run(total([url]))
    for n, key in enumerate(LINE):
        client.change(uri, n_visit * 100 + 3 + n, insertion(row, n, key))
        client.request(INLINE, at(uri, row, n + 1))
    typed = asyncio.run(total([url])) - arrived
    time.sleep(PAUSE_S)
    return arrived - before, seconds, typed


def main() -> None:
    """Print a row for each way to set it."""
    model = Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLED
    print(
        "| set | chunks | first answer | typed line | first answer takes |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for name, settings in tell(SETTINGS.items(), len(SETTINGS), itemgetter(0)):
        with llama_server(
            model, n_ctx=CONTEXT, n_parallel=1, cache_ram_mib=0, endpoint_metrics=True
        ) as url:
            backend = {"kind": "openai", "url": url}
            with client_of(HERE, {**settings, "backend": backend}, HERE) as client:
                open_all(client)
                time.sleep(REST_S)
                visits = [visit(client, url, FILES[n % 2], n) for n in range(N_VISITS)]
                n_chunks = client.request("fim/stats")["ring"]["chunks"]
        print(visits, file=sys.stderr)
        tokens, seconds, typed = (median(each) for each in zip(*visits[2:], strict=True))
        print(
            f"| {name} | {n_chunks} | {tokens:.0f} tokens | {typed:.0f} | {seconds:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
