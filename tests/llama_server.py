"""
llama.cpp's HTTP server as a process of its own, as a user would run it.

    with llama_server(model, n_ctx=512) as url: …
    python tests/llama_server.py MODEL '{"n_ctx": 512}'       (prints its address, ends with stdin)

Settings are attributes of llama.cpp's common parameters; see `DEFAULTS`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEFAULTS = {
    "hostnames": ["127.0.0.1"], "port": 0, "n_ctx": 8192, "n_parallel": 2, "kv_unified": False,
}  # fmt: skip


GIVEN = {0}  # ports

# Debian's build, as a user has it; see scripts/test-server.
PROGRAM = os.environ.get("FIM_TEST_LLAMA_SERVER", "")


def free_port() -> int:
    """Return a port at which nothing listens, each time another one."""
    port = 0
    while port in GIVEN:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
    GIVEN.add(port)
    return port


@contextmanager
def llama_server(model: Path, **settings: Any) -> Iterator[str]:
    """A running server; yields its address."""
    command = [sys.executable, __file__, str(model), json.dumps(settings)]
    pipe = subprocess.PIPE
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


def serve(model: str, settings: dict[str, Any]) -> None:
    """Serve until stdin ends."""
    import xllamacpp  # noqa: PLC0415 (only in the process that serves)

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two spin against each other
    if settings.pop("ngrams", False):  # as `fim-lsp serve` drafts, and sooner
        kinds = xllamacpp.common_speculative_type
        params.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]
        params.speculative.ngram_mod.n_match = 4
    for name, value in (DEFAULTS | settings).items():
        setattr(params, name, value)
    server = xllamacpp.Server(params)
    print(server.listening_address, file=out, flush=True)
    watcher = threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)))
    watcher.start()
    watcher.join()


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
