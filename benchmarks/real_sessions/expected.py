"""
Keys saved as an expectation: recorded sessions, typed by many simulated readers in virtual time, by speed of machine.

    python -m benchmarks.real_sessions.expected                             # the table, of what was played
    python -m benchmarks.real_sessions.expected --readers 20 REPO…          # plays more; needs the histories, no model
    python -m benchmarks.real_sessions.expected --record 40 REPO…           # records more; needs the model, too

`record` says what the model was asked, `simulated` how it is played. Both can be stopped at any time, and go on where they
were. REPO are clones of the public histories, named OWNER+NAME: no text of theirs is kept here.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks import markdown, serve
from benchmarks.arguments import model_file, names, parser
from benchmarks.progress import tell
from benchmarks.real_sessions import record, recordings
from benchmarks.real_sessions.choice import SEED, SETS, Written, choose_blocks
from benchmarks.real_sessions.intervals import Interval, bootstrap
from benchmarks.real_sessions.readers import READERS
from benchmarks.real_sessions.recordings import Recording, Spoken, checksum
from benchmarks.real_sessions.replayed import ReplayedModel, speed
from benchmarks.real_sessions.simulated import (
    Outcome,
    play,
    virtual_time,
)
from benchmarks.real_sessions.texts import Text, find_session, read_text
from fim_lsp.context.grammars import language_of
from server_bridge.bridge import BackendSettings, open_backend

DATA = Path(__file__).parent / "data"
PRODUCT = Path(__file__).parent.parent.parent / "fim_lsp"
SPEEDS = (10, 20, 40, 80, 160)  # tokens decoded a second
SLOT_TOKENS = 8192
HEAD = (
    "reader",
    "tokens a second",
    "keys saved",
    "characters completed",
    "texts read",
    "of them wrong",
)

Key = tuple[str, str, int]  # session, reader, speed


class Cell(NamedTuple):
    """What came of a session with *n* readers of a kind at a speed: the sums of `Outcome`."""

    n: int
    sums: tuple[float, ...]

    def add(self, outcome: Outcome) -> Cell:
        """Return the cell with one reader more."""
        return Cell(self.n + 1, tuple(a + b for a, b in zip(self.sums, outcome, strict=True)))

    @property
    def mean(self) -> Outcome:
        """The outcome that is to be expected."""
        return Outcome(*(total / self.n for total in self.sums))  # type: ignore[arg-type]


EMPTY = Cell(0, (0.0,) * len(Outcome._fields))


def main() -> None:
    """Record and play what is wanted, print the table."""
    options = _options()
    sessions = _choose(options)
    if options.record:
        _record(options, sessions)
    if options.readers:
        _, recorded = recordings.load(DATA / f"{options.set}.json.xz")
        _play(options, with_texts(recorded, options.histories))
    print(table(options.set))


class Figures(NamedTuple):
    """Of a reader at a speed: shares of the keys and characters, texts read in 1,000 characters, and those that are wrong."""

    saved: Interval
    completed: Interval
    read: Interval
    wrong: Interval


def figures(part: str) -> tuple[str, dict[tuple[str, int], Figures]]:
    """Return what is known of a set in words, and its figures by reader and speed; none before all were played."""
    _, recorded = recordings.load(DATA / f"{part}.json.xz")
    by, cells = _load(part)
    wanted = [(reader, per_s) for reader in READERS for per_s in SPEEDS]
    found = [one for one in recorded if all((one.name, *kind) in cells for kind in wanted)]
    n = min((cells[one.name, *kind].n for one in found for kind in wanted), default=0)
    repos = {one.repo for one in found}
    kinds = sorted({language_of(one.path) for one in found})
    words = (
        f"{part}: {len(found)} of {len(recorded)} recorded sessions, of {len(repos)} repositories "
        f"({', '.join(kinds)}), at least {n} readers of each kind, product {by}"
    )
    if not found:
        return words, {}
    means = {kind: [cells[one.name, *kind].mean for one in found] for kind in wanted}
    return words, {kind: _figures(outcomes) for kind, outcomes in means.items()}


def _figures(means: Sequence[Outcome]) -> Figures:
    return Figures(
        bootstrap([(one.n_alone - one.n_pressed, one.n_alone) for one in means]),
        bootstrap([(one.n_taken, one.n_chars) for one in means]),
        bootstrap([(1000 * one.n_read, one.n_chars) for one in means]),
        bootstrap([(1000 * one.n_wrong, one.n_chars) for one in means]),
    )


def table(part: str) -> str:
    """Return a row for each reader and speed, with intervals over the sessions."""
    words, found = figures(part)
    rows = [
        (
            reader,
            per_s,
            _percent(one.saved),
            _percent(one.completed),
            _number(one.read),
            _number(one.wrong),
        )
        for (reader, per_s), one in found.items()
    ]
    return f"{words}; [ ]: 95 % over sessions\n\n{markdown.table(HEAD, rows)}"


def _percent(share: Interval) -> str:
    return f"{share.middle:.1%} [{share.low:.1%}, {share.high:.1%}]".replace("%", " %")


def _number(count: Interval) -> str:
    return f"{count.middle:.1f} [{count.low:.1f}, {count.high:.1f}]"


def _choose(options: argparse.Namespace) -> list[Written]:
    if not options.record:
        return []
    return choose_blocks(options.histories, options.record, options.set, options.seed)


def with_texts(
    recorded: Sequence[Recording], histories: Sequence[Path]
) -> Iterator[tuple[Recording, Text]]:
    """Yield the recordings whose history is there, with their texts."""
    by_name = {repo.name: repo for repo in histories}
    for one in recorded:
        if one.repo not in by_name:
            continue
        text = read_text(find_session(one, by_name[one.repo]))
        assert checksum(text.session.block) == one.block, f"{one.name} is another text"
        yield one, text


def _play(options: argparse.Namespace, sessions: Iterator[tuple[Recording, Text]]) -> None:
    """Have readers play, the first ones of all sessions first; after each session what came of it is kept."""
    texts = [*sessions]
    cells = _playable(options.set)
    ways = [*product(options.kinds, SPEEDS)]
    steps = [
        (n, one, text)
        for n, (one, text) in product(range(options.readers), texts)
        if any(cells.get((one.name, *way), EMPTY).n <= n for way in ways)
    ]
    for n, one, text in tell(steps, len(steps), lambda step: f"reader {step[0]}: {step[1].name}"):
        cells = _playable(options.set)
        missing = [key for way in ways if cells.get(key := (one.name, *way), EMPTY).n == n]
        spoken = Spoken(one.streams, text.head, text.block)
        played = {key: play_one(spoken, text, key, n) for key in missing}
        more = {key: cells.get(key, EMPTY).add(outcome) for key, outcome in played.items()}
        _save(options.set, {**cells, **more})


def play_one(spoken: Spoken, text: Text, key: Key, number: int | None) -> Outcome:
    """Return what came of a recorded session with the reader of a number (`simulated.Typist`)."""
    _, reader, per_s = key
    with virtual_time() as run:
        outcome: Outcome = run(
            play(ReplayedModel(spoken.behind, speed(per_s)), text, READERS[reader], number)
        )
    return outcome


def code() -> str:
    """Return the checksum of the product's code, which decides what is shown."""
    found = hashlib.sha256()
    for file in sorted(PRODUCT.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def _load(part: str) -> tuple[str, dict[Key, Cell]]:
    """Return what was played, and by which code."""
    file = DATA / f"{part}.played.json"
    if not file.exists():
        return code(), {}
    data = json.loads(file.read_text("utf-8"))
    rows = data["played"]
    return data["code"], {
        (name, reader, per_s): Cell(n, tuple(sums)) for name, reader, per_s, n, sums in rows
    }


def _playable(part: str) -> dict[Key, Cell]:
    """Return what was played by the code of now: outcomes of two versions are not added up."""
    by, cells = _load(part)
    return cells if by == code() else {}


def _save(part: str, cells: Mapping[Key, Cell]) -> None:
    rows = [
        [*key, cell.n, [round(total, 3) for total in cell.sums]]
        for key, cell in sorted(cells.items())
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    file = DATA / f"{part}.played.json"
    new = file.with_suffix(".part")
    new.write_text(f'{{"code": "{code()}", "played": [\n{lines}\n]}}\n', "utf-8")
    new.replace(file)


def _record(options: argparse.Namespace, sessions: Sequence[Written]) -> None:
    """Record the sessions that are not there, one after the other; each is kept at once."""
    manner = record.MANNERS[options.manner]
    file = DATA / f"{'.'.join(filter(None, (options.set, options.manner)))}.json.xz"
    model = hashlib.sha256(options.model.read_bytes()).hexdigest()
    before, recorded = recordings.load(file)
    if before not in ("", model):
        raise SystemExit(f"{file.name} is of another model")
    there = {(one.repo, one.path, one.start) for one in recorded}
    left = [one for one in sessions if (one.repo.name, one.path, one.start) not in there]
    frames = {one.name: (text := read_text(one), record.frame_of(text)) for one in left}

    async def ask(url: str) -> None:
        backend = open_backend(BackendSettings(kind="llama-server", url=url))
        for one in tell(left, len(left), lambda one: one.name):
            text, frame = frames[one.name]
            recorded.append(await record.record(backend, frame, text, manner))
            recordings.save(file, model, recorded)
        await backend.aclose()

    with serve.serving(
        options.model, n_threads=options.threads, n_parallel=1, n_ctx=SLOT_TOKENS
    ) as url:
        asyncio.run(ask(url))


def _options() -> argparse.Namespace:
    arguments = parser("benchmarks.real_sessions.expected", __doc__)
    add = arguments.add_argument
    add(
        "histories",
        nargs="*",
        type=Path,
        help="clones with code of 2025 or later, named OWNER+NAME",
    )
    add("--set", choices=SETS, default="held-out", help="which half of the files")
    add("--readers", type=int, default=0, help="play so many of each kind")
    add("--kinds", type=names(READERS), default=[*READERS], help=", ".join(READERS))
    add("--record", type=int, default=0, help="record so many sessions")
    add("--manner", choices=[*record.MANNERS], default="", help="for `variants`")
    add("--model", type=model_file, default="0.5b", help="0.5b (scripts/tools/get-qwen) or a file")
    add("--threads", type=int, default=1, help="of the model server")
    add("--seed", type=int, default=SEED)
    return arguments.parse_args()


if __name__ == "__main__":
    main()
