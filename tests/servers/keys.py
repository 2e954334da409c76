"""
What typing costs a real server, in this checkout and in another one, in turns.

    python -m tests.servers.keys OLD_CHECKOUT [SERVER [ROUNDS [PAUSE_S]]]      # mlx_lm.server where none is named

A client types a line, a key each 0.3 s or so, asks after each and withdraws what is not answered by then, as editors do; a
relay counts the requests for texts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.client import AUTOMATIC, INLINE, Client, at, insertion
from tests.servers.relay import Relay, relay
from tests.servers.servers import KEY, KEY_VARIABLE, ROOT, SERVERS, running

FILE = "class Cart:\n    def __init__(self, items):\n        self.items = items\n\n    def total(self):\n"
LINE = "        return sum(item.price "
PAUSE_S = 0.3
REST_S = 2.0  # before the first key: what is evaluated ahead is no key's


class Typed(NamedTuple):
    """Requests for texts, keys with a text, and tokens that were evaluated (None: not told)."""

    n_keys: int
    n_requests: int
    n_answered: int
    evaluated: int | None
    message: str

    def __str__(self) -> str:
        tokens = "not told" if self.evaluated is None else f"{self.evaluated / self.n_keys:.1f}"
        return f"{self.n_requests / self.n_keys:.2f} requests, {tokens} tokens"


@contextmanager
def client_of(
    checkout: Path, settings: Mapping[str, Any], root: Path | None = None
) -> Iterator[Client]:
    """A client of LSP of the product of *checkout*, with a home of its own, in the folder *root*."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "PYTHONPATH": str(checkout), "HOME": home, "XDG_CONFIG_HOME": home}
        env |= {"XDG_CACHE_HOME": f"{home}/cache", "XDG_STATE_HOME": f"{home}/state"}
        env[KEY_VARIABLE] = KEY
        command = [sys.executable, "-m", "fim_lsp", "--stdio"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=home, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        ) as server:
            try:
                assert server.stdin
                assert server.stdout
                client = Client(server.stdin, server.stdout)
                uri = root and root.as_uri()
                client.initialize(initializationOptions=settings, rootUri=uri)
                yield client
            finally:
                server.kill()


def type_line(
    checkout: Path, url: str, settings: Mapping[str, Any], pause_s: float = PAUSE_S
) -> Typed:
    """Type `LINE` with the product of *checkout* at the server at *url*."""
    with relay(url) as counted:
        backend = {**settings, "url": counted.url}
        with client_of(checkout, {"backend": backend}) as client:
            return _type(client, counted, pause_s)


def _type(client: Client, counted: Relay, pause_s: float) -> Typed:
    uri = "untitled:cart.py"
    client.open(uri, FILE)
    row = FILE.count("\n")
    client.request(INLINE, at(uri, row, 0))
    time.sleep(REST_S)
    n_before = counted.n_asked
    evaluated = client.request("fim/stats")["tokens"]["evaluated"]
    asked: list[int] = []
    for n, key in enumerate(LINE):
        client.change(uri, n + 2, insertion(row, n, key))
        asked.append(client.ask(INLINE, at(uri, row, n + 1, AUTOMATIC)))
        time.sleep(pause_s)
        if not client.answers[asked[-1]]:
            client.notify("$/cancelRequest", {"id": asked[-1]})
    results = [client.answer(number).get("result") for number in asked]
    texts = [each["items"] if isinstance(each, dict) else each for each in results]
    stats = client.request("fim/stats")
    is_guess = "cached" in stats["backend"].get("guessed", ())
    cost = None if is_guess else stats["tokens"]["evaluated"] - evaluated
    n_asked = counted.n_asked - n_before
    return Typed(len(LINE), n_asked, sum(map(bool, texts)), cost, stats["backend"]["message"])


def main() -> None:
    """Print what each checkout asks for, in turns, and the share of the sums."""
    old = Path(sys.argv[1]).resolve()
    name = sys.argv[2] if len(sys.argv) > 2 else "mlx_lm.server"
    n_rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    pause_s = float(sys.argv[4]) if len(sys.argv) > 4 else PAUSE_S
    server = next(each for each in SERVERS if each.name.startswith(name))
    asked = {old: 0, ROOT: 0}
    for _ in range(n_rounds):
        for checkout in asked:
            with tempfile.TemporaryDirectory() as folder, running(server, Path(folder)) as it:
                typed = type_line(checkout, it.url, it.settings, pause_s)
            asked[checkout] += typed.n_requests
            print(f"{checkout.name}: {json.dumps(typed._asdict())}", flush=True)
    print(f"requests: {asked[ROOT]} to {asked[old]}, {asked[ROOT] / asked[old]:.2f}")


if __name__ == "__main__":
    main()
