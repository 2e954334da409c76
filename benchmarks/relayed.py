"""
What a key costs by the records of a tool that is not ours: kvprof's relay in front of a llama-server.

    python3 -m venv /tmp/kvprof && /tmp/kvprof/bin/pip install kvprof==0.2.0
    python -m benchmarks.relayed /tmp/kvprof/bin/kvprof [KEYS]

The same keys are typed into our session and asked for as llama.vim asks (`keystrokes`), each at a server of its own. The
relay passes all on unchanged and writes down each request with what the server said of it; these files are read here. Its
own analysis is of chats only.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks import markdown
from benchmarks.progress import tell
from benchmarks.serve import serving
from tests.llama_server import free_port

CLIENTS = ("ours", "llama.vim")
PATHS = "/completion,/infill"
KEYS = 60
START_S = 30.0
HEAD = ("requests of", "recorded", "evaluated", "of tokens sent", "median", "most")


def record(program: str, client: str, n_keys: int, folder: Path) -> list[tuple[int, int]]:
    """Return the tokens of each recorded request of *client* that were evaluated, and that were reused."""
    port = free_port()
    with serving() as url:
        tap = [program, "tap", "--upstream", url, "--listen", f"127.0.0.1:{port}"]
        tap += ["--trace-dir", str(folder / client), "--record-paths", PATHS, "--quiet"]
        with subprocess.Popen(tap, stdout=subprocess.DEVNULL) as relay:
            try:
                _wait_open(port)
                typed = [sys.executable, "-m", "benchmarks.keystrokes", "--traces", "straight"]
                typed += ["--url", f"http://127.0.0.1:{port}", "--clients", client]
                typed += ["--limit", str(n_keys), "--out", str(folder)]
                subprocess.run(typed, stdout=subprocess.DEVNULL, check=True)
            finally:
                relay.terminate()
    files = sorted((folder / client).glob("*.json"))
    told = [json.loads(file.read_text("utf-8"))["usage"].get("timings") for file in files]
    return [(each["prompt_n"], each["cache_n"]) for each in told if each]  # none: left at once


def _wait_open(port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise SystemExit("the relay does not start")


def main() -> None:
    """Print a row for each client."""
    n_keys = int(sys.argv[2]) if len(sys.argv) > 2 else KEYS
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for client in tell(CLIENTS, len(CLIENTS), str):
            found = record(sys.argv[1], client, n_keys, Path(folder))
            evaluated = [new for new, _ in found]
            sent = sum(new + kept for new, kept in found)
            middle = f"{median(evaluated):.0f}"
            rows.append((client, len(found), sum(evaluated), sent, middle, max(evaluated)))
    print(markdown.table(HEAD, rows))


if __name__ == "__main__":
    main()
