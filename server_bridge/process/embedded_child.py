"""
The process with llama.cpp inside: settings come in on stdin, the server's address goes out on
stdout.

    in    {"model": …, "key": …, "n_threads": …, "n_slots": …, "n_ctx": …,
           "n_checkpoints": …, "min_step": …, "aside_mib": …,
           "n_batch": …, "unload_s": …, "slots_dir": …,
           "lock": …, "file": …, "unused_s": …}
    out   {"url": "http://127.0.0.1:…", "engine": version, "not_saved": why,
           "model": name, "key": …, "pid": …}   or   {"error": …}
           or, where its file cannot be written,   {"unshared": …}

With `--list-devices` it prints the GPUs that it would use, as llama-server does.

A process of its own because one process can serve only one vocabulary, because decoding must not
share a GIL with an editor session, and because a crash in native code must not take the session
along. The key never appears in arguments or environment, where other users could read it. The
process ends when stdin does, so it cannot outlive its parent, however that one died. A process that
editors share (`machine.locks`) goes on apart from its parent, says the same in its file, and ends
when no editor has used it for a while.

The server answers only those who have the key, all but `/health`, which tells nothing of prompts.
It cannot check the Host header: a page that has its own name lead here (DNS rebinding) meets the
key.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from server_bridge.machine import executables, locks, pages

PR_SET_PDEATHSIG = 1  # linux/prctl.h
LOOK_S = 1.0  # between two looks for editors


def main() -> None:
    """Serve until the parent is gone, or list the GPUs."""
    if sys.argv[1:] == ["--list-devices"]:  # llama-server's option, answered in its words
        import xllamacpp  # noqa: PLC0415

        sys.stdout.write(list_gpus(xllamacpp.get_device_info()))
        return
    pages.map_large_blocks()
    os.umask(0o077)  # what it saves of prompts, other users may not read
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what native code prints is log, not answer
    settings = json.loads(sys.stdin.readline())
    if (lock := settings["lock"]) is not None:
        executables.detach()
        watcher = threading.Thread(target=_end_unused, args=(settings,))
    else:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        watcher = threading.Thread(target=_end_with_stdin)
    watcher.start()
    answer, _server = _start_server(settings)  # it stops when it is no longer referred to
    if lock is not None:
        answer = _share(lock, answer)
    with suppress(BrokenPipeError), out:  # the editor that started a shared engine may be gone
        print(json.dumps(answer), file=out)
    if "url" not in answer:
        os.write(2, f"error: {', '.join(answer.values())}\n".encode())
        os._exit(1)
    watcher.join()


def _share(lock: int, answer: dict[str, str]) -> dict[str, str]:
    """Write *answer* for other editors; where there is none, or no place for it, unlock."""
    said = json.dumps(answer).encode()
    with suppress(OSError):
        if "url" in answer and os.write(lock, said) == len(said):
            return answer
    locks.release(lock)
    return answer if "error" in answer else {"unshared": "what it says cannot be written"}


def _start_server(settings: dict[str, Any]) -> tuple[dict[str, str], Any]:
    """Start the server; return the message for the parent, and the server."""
    settings["slots_dir"], not_saved = _writable(settings["slots_dir"])
    if not settings["key"]:
        return {"error": "it has no key, and would answer every process on this machine"}, None
    if problem := _problem(Path(settings["model"])):
        return {"error": problem}, None
    try:
        import xllamacpp  # noqa: PLC0415 (a failing import is an answer too)

        params = _parameters(settings, xllamacpp.CommonParams())
        params.fit_params = has_gpu(xllamacpp.get_device_info())
        server = xllamacpp.Server(params)
        with suppress(OSError):  # no request can come before this has told where it is
            pages.give_back_zeros()
        answer = {"url": server.listening_address, "engine": xllamacpp.__version__}
    except Exception as error:  # noqa: BLE001 (the parent gets it, whatever it was)
        return {"error": str(error) or type(error).__name__}, None
    answer |= {"not_saved": not_saved, "model": Path(settings["model"]).name}
    return {**answer, "key": settings["key"], "pid": str(os.getpid())}, server


def list_gpus(devices: Sequence[Mapping[str, Any]]) -> str:
    """
    Return the GPUs among llama.cpp's *devices* that have a memory of their own, or are Apple's.

    A GPU inside a processor is left out: it reads the same memory, no faster.
    """
    return "\n".join(
        f"  {gpu['name']}: {gpu['description']} "
        f"({gpu['memory_total'] >> 20} MiB, {gpu['memory_free'] >> 20} MiB free)"
        for gpu in devices
        if gpu["type"].name.endswith("_GPU")
    )


def has_gpu(devices: Sequence[Mapping[str, Any]]) -> bool:
    """
    Return whether there is a GPU among llama.cpp's *devices*.

    Only then is there anything to fit to its memory. For that llama.cpp reads the model once before
    it loads it, which takes half of the start of Qwen2.5-Coder 0.5B: 2.0 s with it, 1.2 s without.
    """
    return any(device["type"].name.endswith("GPU") for device in devices)


def _problem(model: Path) -> str:
    """Return why *model* cannot be loaded, where llama.cpp would only say that it failed."""
    try:
        with model.open("rb") as file:
            return "" if file.read(4) == b"GGUF" else "it is not a GGUF file"
    except OSError as error:
        return error.strerror or "it cannot be read"


def _writable(folder: str) -> tuple[str, str]:
    """
    Return *folder*, made if it is not there, and ""; or "" and why nothing can be saved in it.
    """
    if not folder:
        return "", ""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return "", str(error)
    return (folder, "") if os.access(folder, os.W_OK | os.X_OK) else ("", f"{folder} is read-only")


def _parameters(settings: dict[str, Any], params: Any) -> Any:
    """Return the server's parameters."""
    n_slots = settings["n_slots"]
    params.model.path = settings["model"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    # Whose web pages may read an answer, if they have the key; by default all.
    params.cors_origins = "localhost"
    params.ui = False
    params.n_parallel = n_slots
    params.kv_unified = False  # unified slots clear each other's cache
    params.n_ctx = n_slots * settings["n_ctx"]
    params.n_batch = params.n_ubatch = settings["n_batch"]
    params.swa_full = True
    params.n_ctx_checkpoints = settings["n_checkpoints"]
    params.checkpoint_min_step = settings["min_step"]
    params.cpuparams.n_threads = settings["n_threads"]
    params.cpuparams_batch.n_threads = settings["n_threads"]
    params.cache_ram_mib = settings["aside_mib"]
    params.endpoint_slots = True
    if settings["unload_s"]:
        params.sleep_idle_seconds = settings["unload_s"]
    if settings["slots_dir"]:
        params.slot_save_path = settings["slots_dir"] + os.sep  # it must end with one
    return params


def _end_with_stdin() -> None:
    while sys.stdin.readline():
        pass
    os._exit(0)  # native threads know no other end


def _end_unused(settings: dict[str, Any]) -> None:
    """
    End once no editor has used it for a while, and leave no file; at once where its file is gone or
    another one: then it is to forget what it holds.
    """
    file = Path(settings["file"])
    used = time.monotonic()
    while locks.is_there(file, settings["lock"]):
        time.sleep(LOOK_S)
        if locks.is_used(file):
            used = time.monotonic()
        elif time.monotonic() >= used + settings["unused_s"] and locks.delete_unused(file):
            break
    os._exit(0)


if __name__ == "__main__":
    main()
