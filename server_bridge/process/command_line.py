"""
A machine, a model's header, a build of llama-server and what is wanted into that server's command
line.

Nothing is left to llama-server's defaults that decides how fast completions are: slots of their own
instead of one cache that they clear for each other, prompts set aside in the memory, states on
disk, drafts by n-grams. What a build does not have is left out: builds are told apart by their
`--help`, which is exact, where version numbers of distributions are not.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from server_bridge.llama.checkpoints import CLOSE_STEP, Kind, ModelMemory
from server_bridge.machine.addresses import USUAL_PORTS

# -- sizing ------------------------------------------------------------------------------------
# A model's header and this machine's memory into what its server may take: tokens per slot, and
# copies of a state.
#
# A context costs memory whether it is used or not: 28 KB a token for a model of 1.5B parameters, 57
# KB for one of 7B. So it is as long as the model was trained for, as a full ring needs, and as an
# eighth of the memory allows, whichever is least. Another eighth holds prompts that are set aside
# (see `slots`: that is why two slots are enough); the rest is for the model itself and all other
# programs. A recurrent state is small, but the server keeps copies of it to go back to
# (`checkpoints`): 19 MiB each for Qwen3.5-2B, 75 MiB for Qwen3-Coder-Next. They come out of the
# part for prompts that are set aside.


SHARE = 8  # of the memory: one part for the slots, one for prompts set aside
SMALLEST_CTX = 2048  # tokens; with less there is no room for other files
USUAL_BYTES = 32 << 10  # a token, where the header does not tell
USUAL_MEMORY = 8 << 30  # where the system does not tell
F16, F32 = 2, 4  # bytes of a number in the cache, and in a state
# Copies of a recurrent state; with 16 as little is evaluated again as with 32.
FEWEST_COPIES, MOST_COPIES = 8, 32

_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
MOST_DIMENSIONS = 8  # of a tensor; ggml's have four
UNREADABLE = (OSError, ValueError, struct.error, RecursionError)

Facts = dict[str, Any]


def physical() -> int:
    """Return bytes of memory in this machine."""
    if sys.platform == "win32":
        return USUAL_MEMORY
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return USUAL_MEMORY


def context(facts: Facts, n_slots: int, most: int, memory: int) -> int:
    """
    Return tokens per slot, *most* at most, for a model with these *facts* on a machine with
    *memory* bytes.
    """
    affordable = (memory // SHARE // n_slots - state_bytes(facts)) // bytes_per_token(facts)
    trained = int(facts.get("context_length", most))
    return min(most, trained, max(affordable, SMALLEST_CTX))


def checkpoints(facts: Facts, n_slots: int, memory: int) -> int:
    """Return how many copies of a recurrent state each slot may keep."""
    one = state_bytes(facts) * n_slots
    affordable = memory // SHARE * 3 // 4 // one if one else MOST_COPIES
    return max(FEWEST_COPIES, min(MOST_COPIES, affordable))


def set_aside(facts: Facts, n_slots: int, memory: int) -> int:
    """Return bytes for prompts that are set aside: what copies of states leave."""
    copies = checkpoints(facts, n_slots, memory) * n_slots * state_bytes(facts)
    return max(0, memory // SHARE - copies)


def memory_of(facts: Facts, n_batch: int, n_slots: int, memory: int) -> ModelMemory:
    """
    Return the model's memory on a server that is started as `command_line` and `embedded_child` do.
    """
    return ModelMemory(
        kind=Kind.RECURRENT if state_bytes(facts) else Kind.PLAIN,  # a window is of full size
        n_batch=n_batch,
        n_ubatch=n_batch,
        n_checkpoints=checkpoints(facts, n_slots, memory),
        min_step=CLOSE_STEP,
        state_bytes=state_bytes(facts),
        is_told=bool(facts),
    )


def bytes_per_token(facts: Facts) -> int:
    """
    Return the bytes of keys and values for one token, in 16-bit numbers.

    Layers without attention have none; a number of heads for each layer says which these are, or
    every n-th has.
    """
    try:
        n_layers, width = facts["block_count"], facts["embedding_length"]
        n_heads = _largest(facts["attention.head_count"])
        n_kv = facts.get("attention.head_count_kv", n_heads)
        n_with = n_layers // facts.get("full_attention_interval", 1)
        n_all = sum(n_kv) if isinstance(n_kv, list) else n_with * n_kv
        key = facts.get("attention.key_length", width // n_heads)
        value = facts.get("attention.value_length", width // n_heads)
        return int(n_all * (key + value) * F16) or USUAL_BYTES
    except (KeyError, TypeError, ZeroDivisionError):
        return USUAL_BYTES


def is_sliding(facts: Facts) -> bool:
    """Return whether some layers see the last tokens only."""
    return bool(facts.get("attention.sliding_window"))


def state_bytes(facts: Facts) -> int:
    """
    Return the bytes of the state of its recurrent layers, in 32-bit numbers; 0 for a model without
    any.

    As llama.cpp's `llama_hparams` counts: the last inputs of a convolution, and what the scan
    carries on.
    """
    try:
        n_kv, n_layers = facts.get("attention.head_count_kv", 0), facts["block_count"]
        width, inner = facts["embedding_length"], facts.get("ssm.inner_size", 0)
        n_with = (
            n_layers // facts["full_attention_interval"]
            if "full_attention_interval" in facts
            else 0
        )
        n_recurrent = n_kv.count(0) if isinstance(n_kv, list) else n_layers - n_with
        state = facts.get("ssm.state_size", 0)
        channels = inner + 2 * facts.get("ssm.group_count", 0) * state
        convolved = (facts.get("ssm.conv_kernel", 1) - 1) * channels
        convolved += (facts.get("shortconv.l_cache", 1) - 1) * width
        head = facts.get("wkv.head_size", 0)  # RWKV: a matrix per head, and what two shifts look at
        return int(
            n_recurrent * (convolved + inner * state + head * width + 2 * width * bool(head)) * F32
        )
    except (KeyError, TypeError, ZeroDivisionError):
        return 0


def read_facts(model: Path) -> Facts:
    """
    Return the architecture in a GGUF file's header, keys without its name; empty if unreadable.
    """
    try:
        with model.open("rb") as file:
            fields = dict(_fields(file))
    except UNREADABLE:
        return {}
    prefix = f"{fields.get('general.architecture')}."
    return {
        key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)
    }


def is_cut_off(model: Path) -> bool:
    """Return whether the GGUF file ends before its header, or before its last tensor begins."""
    try:
        with model.open("rb") as file:
            _magic, _version, n_tensors, n_fields = struct.unpack("<4sIQQ", file.read(24))
            for _ in range(n_fields):
                _value(file, _STRING)
                _value(file, *struct.unpack("<I", file.read(4)))
            last = 0
            for _ in range(n_tensors):
                _value(file, _STRING)
                (n_dimensions,) = struct.unpack("<I", file.read(4))
                if n_dimensions > MOST_DIMENSIONS:
                    return True
                *_, offset = struct.unpack(f"<{n_dimensions}QIQ", file.read(8 * n_dimensions + 12))
                last = max(last, offset)
            return file.tell() + last >= model.stat().st_size
    except UNREADABLE:
        return True


def _fields(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Yield the fields up to the vocabulary, which is long (ggml's docs/gguf.md)."""
    magic, _version, _n_tensors, n_fields = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF":
        raise ValueError("not a GGUF file")
    for _ in range(n_fields):
        key = _value(file, _STRING)
        if key.startswith("tokenizer."):
            break
        yield key, _value(file, *struct.unpack("<I", file.read(4)))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        (size,) = struct.unpack("<Q", file.read(8))
        return file.read(min(size, 1 << 16)).decode(errors="replace")
    if kind == _ARRAY:
        kind, n = struct.unpack("<IQ", file.read(12))
        return [_value(file, kind) for _ in range(min(n, 1 << 16))]
    if kind not in _PLAIN:
        raise ValueError(f"no such type: {kind}")
    return struct.unpack(f"<{_PLAIN[kind]}", file.read(struct.calcsize(f"<{_PLAIN[kind]}")))[0]


def _largest(value: Any) -> int:
    """Return the largest number: some models have one per layer."""
    return max(value) if isinstance(value, list) else int(value)


# -- the command line ------------------------------------------------------------------------------

HOST = "127.0.0.1"  # there is no switch for another: a server for others needs more thought
N_SLOTS = 2  # serve any number of documents, see `slots`
# Per slot at most: a full ring of 16 chunks of 64 lines takes some 12,000, and a window.
N_CTX = 16384
N_BATCH = 512  # tokens between two looks at the queue: a new request waits for one batch at most
N_PREDICT = 128  # where a request sets no limit: an endless /infill is refused or fills the context

# A draft costs little and is right where code repeats itself. llama.cpp drafts 48 to 64 tokens by
# default and looks 24 back; a line of code has 10 to 20 tokens.
DRAFT_MATCH, DRAFT_MIN, DRAFT_MAX = 12, 2, 24
# The first that has something to propose drafts: n-grams are asked first, whatever the order here.
BY_NGRAMS, BY_MODEL = "ngram-mod", "draft-simple"


class Machine(NamedTuple):
    """
    Bytes of memory, logical cores that we may use, and bytes that are free on the largest GPU (0
    without one). *chip* is the name of one by Apple, whose GPU shares the memory.
    """

    memory: int
    cores: int
    gpu: int = 0
    chip: str = ""


class Build(NamedTuple):
    """The capabilities of a llama-server: its options, and the values of `--spec-type`."""

    options: frozenset[str]
    drafters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Plan:
    """
    The plan of a server: the GGUF file *model*, whose header says *facts*.

    *draft* is a small model of the same vocabulary, "" for none. The server is to ask for the key
    in *key_file*.
    """

    model: str = ""
    facts: Facts = field(default_factory=dict)
    port: int = USUAL_PORTS[0]  # where `auto` looks first
    draft: str = ""
    speculate: bool = True
    slots_dir: str = ""
    key_file: str = ""


def usual_threads(cores: int) -> int:
    """
    Return half of the *cores*; two at least, if there are two.

    Two threads on two cores are 1.2 to 1.9 times as fast as one, on idle cores and on busy ones
    (`supervisor.SPINS`).
    """
    return max(cores // 2, min(2, cores))


def arguments(machine: Machine, build: Build, plan: Plan) -> list[str]:
    """Return the command line without the program's name. The API key is never on it."""
    room = machine.gpu or machine.memory
    n_ctx = context(plan.facts, N_SLOTS, N_CTX, room)
    wanted: list[tuple[str, ...]] = [
        ("--model", plan.model),
        ("--offline",),
        ("--host", HOST),
        ("--port", str(plan.port)),
        ("--api-key-file", plan.key_file),
        ("--cors-origins", "localhost"),  # by default every web page may read its answers
        ("--parallel", str(N_SLOTS)),
        ("--no-kv-unified",),  # with it idle slots are emptied
        ("--ctx-size", str(N_SLOTS * n_ctx)),
        ("--predict", str(N_PREDICT)),
        ("--batch-size", str(N_BATCH)),
        ("--ubatch-size", str(N_BATCH)),
        ("--threads", str(usual_threads(machine.cores))),
        ("--cache-ram", str(set_aside(plan.facts, N_SLOTS, machine.memory) >> 20)),
        # Our prompts grow at their end: there is nothing to shift in the middle, and what is reused
        # that way is not what would have been evaluated. A long text asks for it by itself.
        ("--cache-reuse", "0"),
        *_rolling_back(machine, plan),
        *([("--slot-save-path", plan.slots_dir + "/")] if plan.slots_dir else []),
        ("--log-colors", "off"),  # by default it looks at its terminal, and we read the log
        *_drafting(build, plan),
    ]
    return [word for words in wanted if words[0] in build.options for word in words]


def _rolling_back(machine: Machine, plan: Plan) -> list[tuple[str, ...]]:
    """
    Return the options by which a changed prompt is continued: from a copy of a recurrent state, or
    in a window of full size.
    """
    options: list[tuple[str, ...]] = []
    if not plan.facts or is_sliding(plan.facts):
        options.append(("--swa-full",))
    if not plan.facts or state_bytes(plan.facts):
        copies = checkpoints(plan.facts, N_SLOTS, machine.memory)
        options.append(("--ctx-checkpoints", str(copies)))
        options.append(("--checkpoint-min-step", str(CLOSE_STEP)))
    return options


def _drafting(build: Build, plan: Plan) -> list[tuple[str, ...]]:
    """
    Return the options of speculation; with a named type, since some builds take a draft model and
    ignore it.
    """
    wanted = ((BY_NGRAMS, plan.speculate), (BY_MODEL, plan.draft))
    drafters = [name for name, is_wanted in wanted if is_wanted and name in build.drafters]
    options: list[tuple[str, ...]] = []
    if plan.draft:
        new, old = "--spec-draft-model", "--model-draft"
        options.append((new if new in build.options else old, plan.draft))
    if drafters:
        options.append(("--spec-type", ",".join(drafters)))
    if BY_NGRAMS in drafters:
        options += [
            ("--spec-ngram-mod-n-match", str(DRAFT_MATCH)),
            ("--spec-ngram-mod-n-min", str(DRAFT_MIN)),
            ("--spec-ngram-mod-n-max", str(DRAFT_MAX)),
        ]
    return options


def build(usage: str) -> Build:
    """Parse a `--help` text: all options but those it only names to say they were removed."""
    options: set[str] = set()
    drafters: set[str] = set()
    for entry in re.split(r"\n(?=-)", usage):
        # Names and value stand before the first wide gap that no comma opens; what follows is
        # prose.
        head = re.split(r"(?<![,\s])\s{2,}|\n", entry, maxsplit=1)[0]
        if "has been removed" not in entry:
            options.update(re.findall(r"(?<![\w-])--?[A-Za-z][\w.-]*", head))
        if head.startswith("--spec-type "):
            drafters.update(head.split(" ", 1)[1].strip("[]{}").replace("|", ",").split(","))
    return Build(frozenset(options), frozenset(drafters))


def gpu(devices: str) -> int:
    """
    Return free bytes of the largest device in what `--list-devices` prints, 0 if there is none.
    """
    # Less than nothing, or more than there is, is what a driver says that cannot tell.
    free = re.findall(r"(?m)(?<![-\d])(\d{1,9}) MiB free\)$", devices)
    return max((int(n) << 20 for n in free), default=0)


def apple_chip(devices: str) -> str:
    """Return the name of Apple's chip in what `--list-devices` prints, "" without one."""
    found = re.search(r": (Apple M\d+[ \w]*) \(", devices)
    return found[1] if found else ""
