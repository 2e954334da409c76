"""
A machine, a model's header, a build of llama-server and what is wanted into that server's command
line.

Nothing is left to llama-server's defaults that decides how fast completions are: slots of their own
instead of one cache that they clear for each other, prompts set aside in the memory, states on
disk, drafts by n-grams. A flag that a build does not have is left out: builds are told apart by
their `--help`, which is exact, where version numbers of distributions are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from server_bridge.machine.addresses import USUAL_PORTS
from server_bridge.process.sizing import (
    ENGINE,
    N_CTX,
    Facts,
    Limits,
    context,
    is_sliding,
    limits,
    memory_of,
    state_bytes,
)

HOST = "127.0.0.1"  # there is no switch for another: a server for others needs more thought
N_SLOTS = 2  # serve any number of documents, see `slots`
N_BATCH = 512  # tokens between two looks at the queue: a new request waits for one batch at most
N_PREDICT = 128  # where a request sets no limit: an endless /infill is refused or fills the context

# A draft costs little and is right where code repeats itself. llama.cpp drafts 48 to 64 tokens by
# default and looks 24 back; a line of code has 10 to 20 tokens.
DRAFT_MATCH = 12
DRAFT_MIN = 2
DRAFT_MAX = 24
# The first that has something to propose drafts: n-grams are asked first, whatever the order here.
BY_NGRAMS = "ngram-mod"
BY_MODEL = "draft-simple"


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
    unload_s: int = 0
    slots_dir: str = ""
    key_file: str = ""


def usual_threads(cores: int) -> int:
    """
    Return half of the *cores*; two at least, if there are two.

    Two threads on two cores are 1.2 to 1.9 times as fast as one, on idle cores and on busy ones
    (`programs.SPINS`).
    """
    return max(cores // 2, min(2, cores))


def count_needs(facts: Facts, n_bytes: int, machine: Machine) -> int:
    """
    Return the bytes of memory that a model of *n_bytes* with these *facts* takes at most with a
    server as it is started here; 0 where its header does not tell.
    """
    if not facts:
        return 0
    n_ctx = context(facts, N_SLOTS, N_CTX, machine.gpu or machine.memory)
    kept = memory_of(facts, N_BATCH, N_SLOTS, machine.memory).most_kept(N_SLOTS, n_ctx)
    return n_bytes + ENGINE + kept


def arguments(machine: Machine, build: Build, plan: Plan) -> list[str]:
    """Return the command line without the program's name. The API key is never on it."""
    room = machine.gpu or machine.memory
    most = limits(plan.facts, N_SLOTS, N_CTX, room, machine.memory)
    wanted: list[tuple[str, ...]] = [
        ("--model", plan.model),
        ("--offline",),
        ("--host", HOST),
        ("--port", str(plan.port)),
        ("--api-key-file", plan.key_file),
        ("--cors-origins", "localhost"),  # by default every web page may read its answers
        ("--parallel", str(N_SLOTS)),
        ("--no-kv-unified",),  # with it idle slots are emptied
        ("--ctx-size", str(N_SLOTS * most.n_ctx)),
        ("--predict", str(N_PREDICT)),
        ("--batch-size", str(N_BATCH)),
        ("--ubatch-size", str(N_BATCH)),
        ("--threads", str(usual_threads(machine.cores))),
        ("--cache-ram", str(most.aside_mib)),
        # Our prompts grow at their end: there is nothing to shift in the middle, and what is reused
        # that way is not what would have been evaluated. A long text asks for it by itself.
        ("--cache-reuse", "0"),
        *_rolling_back(plan, most),
        *([("--sleep-idle-seconds", str(plan.unload_s))] if plan.unload_s else []),
        *([("--slot-save-path", plan.slots_dir + "/")] if plan.slots_dir else []),
        *_drafting(build, plan),
    ]
    return [word for words in wanted if words[0] in build.options for word in words]


def _rolling_back(plan: Plan, most: Limits) -> list[tuple[str, ...]]:
    """
    Return the options by which a changed prompt is continued: from a copy of a recurrent state, or
    in a window of full size.
    """
    options: list[tuple[str, ...]] = []
    if not plan.facts or is_sliding(plan.facts):
        options.append(("--swa-full",))
    if not plan.facts or state_bytes(plan.facts):
        options.append(("--ctx-checkpoints", str(most.n_checkpoints)))
        options.append(("--checkpoint-min-step", str(most.min_step)))
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
        new = "--spec-draft-model"
        old = "--model-draft"
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
        # Names and value stand before the first wide gap that no comma opens; prose follows.
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
