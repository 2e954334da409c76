"""
The process with llama.cpp inside: settings come in on stdin, the server's address goes out on stdout.

    in    {"model": …, "key": …, "n_threads": …, "n_slots": …, "n_ctx": …, "slots_dir": …,
           "port": …}
    out   {"url": "http://127.0.0.1:…", "engine": version}   or   {"error": …}

A process of its own because one process can serve only one vocabulary, because decoding must not
share a GIL with an editor session, and because a crash in native code must not take the session
along. The key never appears in arguments or environment, where other users could read it. The
process ends when stdin does, so it cannot outlive its parent, however that one died.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from server_bridge import memory

PR_SET_PDEATHSIG = 1  # linux/prctl.h
N_BATCH = 512  # tokens between two looks at the queue: a new request waits for one batch at most


def main() -> None:
    """Serve until the parent is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.umask(0o077)  # what it saves of prompts is nobody else's
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what native code prints is log, not answer
    settings = json.loads(sys.stdin.readline())
    watcher = threading.Thread(target=_end_with_stdin)
    watcher.start()
    try:
        import xllamacpp  # noqa: PLC0415 (a failing import is an answer too)

        server = xllamacpp.Server(_parameters(settings, xllamacpp.CommonParams()))
        answer = {"url": server.listening_address, "engine": xllamacpp.__version__}
    except Exception as error:  # noqa: BLE001 (the parent is told, whatever it was)
        answer = {"error": str(error) or type(error).__name__}
    print(json.dumps(answer), file=out, flush=True)
    if "error" in answer:
        os.write(2, f"error: {answer['error']}\n".encode())
        os._exit(1)
    watcher.join()


def _parameters(settings: dict[str, Any], params: Any) -> Any:
    """The server's parameters."""
    n_slots = settings["n_slots"]
    params.model.path = settings["model"]
    params.hostnames, params.port = ["127.0.0.1"], settings["port"]
    params.api_keys = [settings["key"]] if settings["key"] else []
    params.n_parallel = n_slots
    params.ctx_shift = (
        True  # for text longer than the context; prompts that long are refused anyway
    )
    params.kv_unified = False  # unified slots clear each other's cache
    facts = memory.facts(Path(settings["model"]))
    there = memory.physical()
    params.n_ctx = n_slots * memory.context(facts, n_slots, settings["n_ctx"], there)
    params.n_batch = params.n_ubatch = N_BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["n_threads"]
    params.cache_ram_mib = there // memory.SHARE >> 20
    params.endpoint_slots = True
    if settings["slots_dir"]:
        Path(settings["slots_dir"]).mkdir(parents=True, exist_ok=True)
        params.slot_save_path = settings["slots_dir"] + os.sep  # it must end with one
    return params


def _end_with_stdin() -> None:
    while sys.stdin.readline():
        pass
    os._exit(0)  # native threads know no other end


if __name__ == "__main__":
    main()
