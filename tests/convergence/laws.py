"""
Two runs that must agree, and the smallest story of two that do not.

- *order*: a story ends the same with delays as without.
- *return*: what comes and goes, or changes nothing, leaves no trace.
- *equal*: the same text, come by in another way, is the same.

Besides, what must hold at every moment and at rest (`play`) must hold in each run. A story's
steps are marked `+ ` where only the second run has them; the first waits for as long.

    python -m tests.convergence.laws FIRST N [LAW ...]     each kind of trouble in N seeds, shrunk
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests import disk_calls
from tests.convergence.fields import project
from tests.convergence.play import Trouble, name_player
from tests.convergence.steps import EQUALS, EXCURSIONS, Steps, draw_story
from tests.convergence.waits import Delays, Wait, new_world

TRIES = 200  # of a shrink
LAWS = (*("order", "order", "return") * 4, "equal")
AFTER = ("0.5", "3.0", "12.0")  # seconds behind a step that leaves no trace
# These fields tell of a cause once more; of a server only one that is known can tell (`Server`).
FOLLOWS = (
    "FrameLadder.current", "FrameLadder.max_chunks", "FrameLadder.scale", "Evaluated.cursor",
    "Evaluated.line_end", "EditLog._edits", "Memory._sources", "Memory._yanks",
)  # fmt: skip
CAUSES = ("OpenDocument.cursor", "ModelView.verdict", "OpenDocument.document")
# A text that was private once stays so while its file is gone; but whether a rule was seen that
# stood for a moment is a matter of time.
SEEN = ("refused", "ModelView.verdict", "Workspace._unjudged", "Memory._sources")
RULED = re.compile("exclude|ignore")
NOT_IN = {
    # A request that was overtaken asked no model: nothing is to be saved.
    "order": ("Requests.used", "saved", "answer"),
    "return": ("answer",),
    # What was taken back is an edit, too, and moved what rests.
    "equal": ("Requests.used", "saved", "EditLog._edits", "Evaluated.line_end"),
}
EACH = ("error", "disk", "private", "frame", "newest", "rest", *NOT_IN)
SERVER = {"gone", "sick", "back", "context", "model", "set"}  # what it held may be lost


@dataclass(frozen=True)
class Pair:
    """
    Two runs of a *story*: the second has *delays*, those of a *seed*, or the steps that are marked.
    """

    law: str
    story: tuple[str, ...]
    delays: Mapping[Wait, float]
    seed: int | None = None

    def __str__(self) -> str:
        waits = "; ".join(f"{name} #{n} {s:+}" for (name, n), s in sorted(self.delays.items()))
        return f'("{self.law}", "{"; ".join(self.story)}", "{waits}")'

    def differ(self, wanted: Trouble | None = None) -> dict[Trouble, object]:
        """Return what is wrong, with both values of what differs; or look for what is *wanted*."""
        with_all = [step.removeprefix("+ ") for step in self.story]
        second, run = play(with_all, Delays(self.seed, self.delays))
        wrong: dict[Trouble, object] = dict.fromkeys(run.troubles)
        if self.law not in NOT_IN or (wanted and wanted[0] not in NOT_IN):
            return wrong
        without = ["wait " + s.split()[-1] if s.startswith("+ ") else s for s in self.story]
        first, run = play(without, Delays())
        return {**wrong, **dict.fromkeys(run.troubles), **self._compare(first, second)}

    def _compare(
        self, first: dict[str, object], second: dict[str, object]
    ) -> dict[Trouble, object]:
        out = NOT_IN[self.law]
        if self.law == "return" and SERVER & kinds_of(self.story):
            out += ("Evaluated.cursor", "Evaluated.line_end", "Requests.used", "saved")
        differ = {
            name for name in first.keys() | second.keys() if first.get(name) != second.get(name)
        }
        moved = {name.split()[0] for name in differ if name.endswith(CAUSES)}
        refused = {name for name in [*first, *second] if name.endswith(" refused")}
        seen = {name.split()[0] for name in refused if first.get(name) or second.get(name)}
        ruled = Counter(step.split()[1] for step in self.story if RULED.match(step))
        brief = {file for file, n in ruled.items() if n > 1}  # a rule came and went
        wrong = dict[Trouble, object]()
        for name in sorted(differ):
            field = name.split()[-1]
            lacks = name not in first or name not in second  # where the server is not ready
            follows = field in FOLLOWS and (lacks or name.split()[0] in moved)
            is_seen = field in SEEN and name.split()[0] in seen
            is_seen = is_seen or (field == "Memory._yanks" and name.split()[0] in brief)
            if field not in out and not follows and not is_seen:
                wrong[self.law, name] = first.get(name), second.get(name)
        return wrong


def kinds_of(story: Iterable[str]) -> set[str]:
    """Return the kinds of the steps of *story*."""
    return {step.removeprefix("+ ").split()[0] for step in story}


def read(law: str, story: str, delays: str = "") -> Pair:
    """Return a pair as it is printed."""
    waits = [wait.split() for wait in delays.split("; ") if wait]
    given = {(" ".join(name), int(n.removeprefix("#"))): float(s) for *name, n, s in waits}
    return Pair(law, tuple(story.split("; ")), given)


def play(story: list[str], delays: Delays) -> tuple[dict[str, object], Steps]:
    """Return what *story* ends with, and its run."""
    folder = Path(tempfile.gettempdir()).resolve() / f"fim-lsp-law-{os.getpid()}"
    folder.mkdir()

    async def run(steps: Steps) -> dict[str, object]:
        name_player()
        await steps.run(story)
        ends = project(steps)
        await steps.end()
        return {**ends, "saved": steps.saved_documents()}

    try:
        with new_world(delays) as world, asyncio.Runner(loop_factory=lambda: world) as runner:
            steps = Steps(delays, folder)
            with disk_calls.told(lambda where: steps.blame("disk", where)):
                return runner.run(run(steps)), steps
    finally:
        shutil.rmtree(folder)


def pair_of(seed: int) -> Pair:
    """Return the pair of runs of a seed."""
    rng = random.Random(seed)
    law = LAWS[seed % len(LAWS)]
    story = draw_story(rng)
    if law == "order":
        return Pair(law, tuple(story), {}, seed)
    name = rng.choice("ab")
    if law == "equal":
        return Pair(law, tuple(_mark(rng.choice(EQUALS), name, rng)), {})
    kinds = kinds_of(story)
    server = SERVER if kinds & SERVER else set()
    # One that meets others of its kind would not end as it began.
    fit = [each for each in EXCURSIONS if not kinds_of(each.split("; ")) & (kinds | server)]
    at = rng.randrange(1, len(story) + 1)
    story[at:at] = ["wait 4.0", *_mark(rng.choice(fit or ["wait P"]), name, rng)]
    return Pair(law, tuple(story), {})


def _mark(steps: str, name: str, rng: random.Random) -> Iterator[str]:
    for step in steps.split(";"):
        said = step.strip().replace("F", name).replace("P", rng.choice(AFTER))
        yield said.removeprefix("= ") if said.startswith("= ") else f"+ {said}"


def shrink(pair: Pair, wanted: Trouble) -> Pair:
    """Return the smallest pair that was found to be still wrong in the same way."""
    if pair.seed is not None:
        drawn = Delays(pair.seed)
        play([*pair.story], drawn)
        pair = replace(pair, delays=drawn.used, seed=None)
    tries = 0

    def holds(smaller: Pair) -> bool:
        nonlocal tries
        tries += 1
        return tries <= TRIES and wanted in smaller.differ(wanted)

    before = None
    while before != pair and tries < TRIES:
        before = pair
        names = sorted({name for name, _ in pair.delays})
        for name in ["", *names] if names else []:
            left = {wait: s for wait, s in pair.delays.items() if wait[0] == name}
            pair = next(filter(holds, [replace(pair, delays=left)]), pair)
        for n, size in _slices(len(pair.story)):
            story = pair.story[:n] + pair.story[n + size :]
            marks = [sum(s.startswith("+ ") for s in each) for each in (story, pair.story)]
            if story and marks[0] == marks[1]:
                pair = next(filter(holds, [replace(pair, story=story)]), pair)
        for n, size in _slices(len(pair.delays)):
            waits = [*pair.delays.items()]
            left = dict([*waits[:n], *waits[n + size :]])
            pair = next(filter(holds, [replace(pair, delays=left)]), pair)
    return pair


def _slices(n: int) -> Iterator[tuple[int, int]]:
    """Yield where slices of *n* things begin, and their size: large ones first, from the end."""
    size = n
    while size := size // 2:
        yield from ((at, size) for at in reversed(range(0, n, size)))


def kind_of(trouble: Trouble) -> str:
    """Return what is wrong, whichever file it is about."""
    law, what = trouble
    return f"{law}: " + " ".join(word for word in what.split() if len(word.rstrip(":")) > 1)


def scan(first: int, n: int, laws: Collection[str] = EACH) -> dict[str, str]:
    """Return the smallest story of each kind of trouble with *laws* in *n* seeds."""
    found: dict[str, str] = {}
    for seed in range(first, first + n):
        pair = pair_of(seed)
        if not NOT_IN.keys() & {*laws}:
            pair = replace(pair, law="always")
        for trouble in sorted(pair.differ()):
            if trouble[0] in laws and kind_of(trouble) not in found:
                small = shrink(pair, trouble)
                found[kind_of(trouble)] = f"seed {seed}, {trouble}: {small}"
                print(found[kind_of(trouble)], small.differ().get(trouble), flush=True)
    return found


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    disk_calls.watch(print)
    started = time.process_time()
    first, n, *laws = sys.argv[1:]
    n_kinds = len(scan(int(first), int(n), laws or EACH))
    print(f"{n_kinds} kinds, {time.process_time() - started:.1f} s")
