"""The command line of llama-server, as a table: machines, builds and wishes."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server_bridge.process import command_line, programs, sizing
from server_bridge.process.command_line import Machine, Plan, arguments, build, gpu

pytestmark = pytest.mark.promise("no-web-page")

GIB = 1 << 30
LAPTOP = Machine(16 * GIB, 8)
MODEL = {
    "block_count": 28,
    "attention.head_count": 12,
    "attention.head_count_kv": 2,
    "embedding_length": 1536,
    "context_length": 32768,
}  # 28 KB a token
PLAN = Plan(model="model.gguf", facts=MODEL, slots_dir="/states", key_file="/the.key")

# As b11669 prints it; the last three are what other builds have instead.
HELP = """\
----- common params -----

-h,    --help, --usage                  print usage and exit
-t,    --threads N                      number of CPU threads to use during generation (default: <num_cpus>)
                                        (env: LLAMA_ARG_THREADS)
-c,    --ctx-size N                     size of the prompt context (default: 0, 0 = loaded from model)
-n,    --predict, --n-predict N         number of tokens to predict (default: -1, -1 = infinity)
-b,    --batch-size N                   logical maximum batch size (default: 2048)
-ub,   --ubatch-size N                  physical maximum batch size (default: 512)
-m,    --model FNAME                    model path to load
--offline                               Offline mode: forces use of cache, prevents network access
--spec-draft-poll, --poll-draft <0|1>   Use polling to wait for draft model work (default: same as --poll)
--spec-draft-model, -md, --model-draft FNAME
                                        draft model for speculative decoding (default: unused)
--spec-type none,draft-simple,draft-eagle3,ngram-simple,ngram-mod
                                        comma-separated list of types of speculative decoding to use (default:
                                        none)
--spec-ngram-mod-n-min N                minimum number of ngram tokens to use for ngram-based speculative
                                        decoding (default: 48)
--spec-ngram-mod-n-max N                maximum number of ngram tokens (default: 64)
--spec-ngram-mod-n-match N              ngram-mod lookup length (default: 24)
--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max or
                                        --spec-ngram-mod-n-max
-cram, --cache-ram N                    set the maximum cache size in MiB (default: 8192, 0 for decision
                                        models, -1 - no limit, 0 - disable)
-kvu,  --kv-unified, -no-kvu, --no-kv-unified
                                        use single unified KV buffer shared across all sequences
-np,   --parallel N                     number of server slots (default: -1, -1 = auto)
--host HOST                             IP addresses to listen on, comma-separated, or UNIX socket paths
--port PORT                             port to listen (default: 9931)
--api-key-file FNAME                    path to file containing API keys, one per line
--cors-origins ORIGINS                  comma-separated list of allowed origins for CORS (default: *)
--cache-reuse N                         min chunk size to attempt reusing from the cache via KV shifting
--sleep-idle-seconds SECONDS            number of seconds of idleness after which the server will sleep
--slot-save-path PATH                   path to save slot kv cache (default: disabled)
--fim-qwen-7b-default                   use default Qwen 2.5 Coder 7B (note: can download weights from the
                                        internet)
"""
DRAFT = "--spec-draft-model d.gguf --spec-type"
BUILD = build(HELP)
WITHOUT_SPEC = build(re.sub(r"(?m)^--spec-.*\n", "-md,   --model-draft FNAME  draft\n", HELP))
BARE = build(
    "-m, --model FNAME  model\n--host HOST  host\n--port PORT  port\n-c, --ctx-size N  size"
)


def line(machine: Machine = LAPTOP, known: command_line.Build = BUILD, **wishes: Any) -> str:
    return " ".join(arguments(machine, known, replace(PLAN, **wishes)))


@pytest.mark.parametrize(
    ("name", "understood"),
    [
        ("--model", True),
        ("-np", True),
        ("--no-kv-unified", True),
        ("--model-draft", True),
        ("--fim-qwen-7b-default", True),
        ("--draft-max", False),  # removed
        ("--spec-draft-n-max", False),  # only named as what to use instead
        ("--poll", False),  # only named in prose
    ],
)
def test_a_build_is_known_by_its_help(*, name: str, understood: bool) -> None:
    """An option counts if the build takes it, not if its help only speaks of it."""
    assert (name in BUILD.options) == understood


def test_the_whole_line() -> None:
    """What a laptop with 16 GB and 8 cores gets for a model of 1.5B parameters."""
    assert line() == (
        "--model model.gguf --offline --host 127.0.0.1 --port 8012 --api-key-file /the.key "
        "--cors-origins localhost "
        "--parallel 2 --no-kv-unified --ctx-size 32768 --predict 128 --batch-size 512 --ubatch-size 512 --threads 4 "
        "--cache-ram 448 --cache-reuse 0 --slot-save-path /states/ "
        "--spec-type ngram-mod --spec-ngram-mod-n-match 12 --spec-ngram-mod-n-min 2 "
        "--spec-ngram-mod-n-max 24"
    )


@pytest.mark.parametrize(
    ("changed", "has", "lacks"),
    [
        ({"machine": Machine(2 * GIB, 1)}, "--ctx-size 9362 ", "--threads 0"),
        ({"machine": Machine(2 * GIB, 1)}, "--threads 1 --cache-ram 256", "--threads 0"),
        ({"machine": Machine(2 * GIB, 2)}, "--threads 2 ", "--threads 1"),
        ({"machine": Machine(2 * GIB, 4, 24 * GIB)}, "--ctx-size 32768", "--ctx-size 9362"),
        ({"facts": {}}, "--ctx-size 32768", "--ctx-size 0"),
        ({"facts": {**MODEL, "context_length": 4096}}, "--ctx-size 8192", "--ctx-size 32768"),
        ({"port": 9000}, "--port 9000", "8012"),
        ({"slots_dir": ""}, "--cache-reuse 0", "--slot-save-path"),
        ({"unload_s": 600}, "--cache-reuse 0 --sleep-idle-seconds 600 --slot-save", "never"),
        ({"unload_s": 0}, "--cache-reuse 0", "--sleep-idle-seconds"),
        ({"speculate": False}, "--cache-reuse 0", "--spec"),
        ({"draft": "d.gguf"}, f"{DRAFT} ngram-mod,draft-simple --spec-ngram", "--model-draft"),
        ({"draft": "d.gguf", "speculate": False}, f"{DRAFT} draft-simple", "ngram"),
        ({"known": WITHOUT_SPEC}, "--slot-save-path", "--spec"),
        ({"known": WITHOUT_SPEC, "draft": "d.gguf"}, "--model-draft d.gguf", "--spec"),
        ({"known": BARE}, "--model model.gguf --host 127.0.0.1 --port 8012 --ctx-size", "--cache"),
    ],
)
def test_every_wish_and_every_machine_shows(changed: dict[str, Any], has: str, lacks: str) -> None:
    """Memory bounds the context, cores the threads; a build gets only what it knows."""
    found = line(**changed)
    assert has in found
    assert lacks not in found


@pytest.mark.parametrize(
    ("printed", "size"),
    [
        ("Available devices:\n  (none)\n", 0),
        ("", 0),
        ("Available devices:\n  BLAS: OpenBLAS (0 MiB, 0 MiB free)\n", 0),
        (
            "  Vulkan0: Intel (7000 MiB, 6000 MiB free)\n  CUDA0: RTX (24 MiB, 20000 MiB free)\n",
            20000 << 20,
        ),
    ],
)
def test_the_largest_gpu_counts(printed: str, size: int) -> None:
    """What is free on it, in bytes."""
    assert gpu(printed) == size


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1),
     ("900000 100000", 8), ("x", 8), (None, 8)],
)  # fmt: skip
def test_a_container_has_as_many_cores_as_it_has_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, cores: int
) -> None:
    """By its control group; otherwise all that the process may run on."""
    monkeypatch.setattr(programs, "CPU_TIME", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    if text is not None:
        (tmp_path / "cpu.max").write_text(text + "\n")
    assert programs.usable_cores() == cores


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_memory_and_cores_are_known_on_other_systems(system: str, monkeypatch, tmp_path) -> None:
    """Windows does not tell the memory; no system but Linux tells which cores may be used."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(programs, "CPU_TIME", tmp_path / "none")
    if system == "win32":
        monkeypatch.delattr(os, "sysconf", raising=False)
        assert sizing.physical() == sizing.USUAL_MEMORY
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert programs.usable_cores() == os.cpu_count()
    assert sizing.physical() >= 1 << 30
