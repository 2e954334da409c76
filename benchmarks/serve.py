"""
A llama.cpp server for measuring, in a child process: one model, flags that favour no client.

    python -m benchmarks.serve MODEL '{"n_batch": 1024}'

prints its address and serves until its stdin ends. `serving` does that from a benchmark.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server_bridge.process.command_line import DRAFT_MATCH, DRAFT_MAX, DRAFT_MIN

BUNDLED = Path(__file__).parent.parent / "server_bridge" / "models" / "fim-tiny-q8_0.gguf"
N_CTX = 16384  # tokens per slot: a full ring of 16 chunks of 64 lines is about 12,000
N_SLOTS = 2  # two files can alternate
# llama.cpp's FIM presets; `/infill` sends at most 768 + 254 tokens around the cursor
N_BATCH = 1024
CACHE_RAM_MIB = 1024


@contextlib.contextmanager
def serving(model: Path = BUNDLED, **flags: Any) -> Iterator[str]:
    """The address of a server that runs *model* until the block ends; exits if llama.cpp cannot load it."""
    command = [sys.executable, "-m", "benchmarks.serve", str(model), json.dumps(flags)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            if not (address := child.stdout.readline().decode().strip()):
                raise SystemExit(f"{model} is no model that llama.cpp loads: is the file whole?")
            yield address
        finally:
            child.stdin.close()


def main() -> None:
    """Serve until stdin ends."""
    import xllamacpp  # noqa: PLC0415 (only the child needs it)

    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = N_SLOTS
    params.kv_unified = False
    params.n_batch = params.n_ubatch = N_BATCH
    params.cache_ram_mib = CACHE_RAM_MIB
    params.endpoint_slots = params.endpoint_metrics = params.endpoint_props = True
    params.n_ctx = N_CTX * N_SLOTS
    with tempfile.TemporaryDirectory() as folder:
        params.slot_save_path = folder + "/"  # without one, slots cannot be erased
        _serve(params, json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))


def _serve(params: Any, flags: dict[str, Any]) -> None:
    import xllamacpp  # noqa: PLC0415

    n_threads = flags.pop("n_threads", 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
    if flags.pop("ngrams", False):  # as `fim-lsp serve` drafts
        params.speculative.types = [
            xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MOD
        ]
        ngrams = params.speculative.ngram_mod
        ngrams.n_match = DRAFT_MATCH
        ngrams.n_min = DRAFT_MIN
        ngrams.n_max = DRAFT_MAX
    for name, value in flags.items():
        setattr(params, name, value)
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
