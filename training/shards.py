"""
A corpus into compressed shards small enough to send to a GPU machine, and back.

    python -m training.shards ~/fim-data 2 48 .shards      2 shards of at most 48 MiB: .shards/0.jsonl.xz …

What does not fit is left out, packages in hash order until a language has its share: a shard is a sample
of the corpus with all languages in it, and no file is in two.
"""

from __future__ import annotations

import json
import lzma
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

MIB = 1 << 20
PRESET = (
    9 | lzma.PRESET_EXTREME
)  # code in many languages: 0.158 of its bytes; zstd 0.161, bzip2 0.167
SLACK = 2 * MIB  # what the compressor may still hold
UNIT = 1_000_000  # characters of neighbouring files that stay together
# How often each language is shown: by use, not by how much there is of it
SHARES = {
    "python": 0.26, "typescript": 0.14, "javascript": 0.12, "go": 0.10, "rust": 0.10, "cpp": 0.09, "c": 0.08,
    "java": 0.07, "shellscript": 0.02, "lua": 0.02, "typescriptreact": 0.02, "javascriptreact": 0.01,
}  # fmt: skip


class Entry(NamedTuple):
    """
    One file of the corpus; *language* as LSP names it, *text* with `\\n` line ends.

    *cuts* are the first and one past the last line of each piece that the ring would show, flat.
    """

    package: str
    language: str
    path: str
    text: str
    cuts: list[int]


def read(path: Path) -> Iterator[Entry]:
    """Yield the entries of a corpus or of a shard."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield Entry(*json.loads(line))


Unit = list[Entry]


def units(entries: Iterable[Entry]) -> list[Unit]:
    """Return files of one language of one package, at most about `UNIT` together, in the order they come in."""
    all_units: list[Unit] = []
    last: dict[tuple[str, str], Unit] = {}
    for entry in entries:
        key = (entry.package, entry.language)
        unit = last.get(key)
        if unit is None or sum(len(entry.text) for entry in unit) > UNIT:
            unit = last[key] = []
            all_units.append(unit)
        unit.append(entry)
    return all_units


def dealt(entries: Iterable[Entry], n_shards: int) -> list[list[Unit]]:
    """Return all units dealt to *n_shards*, each in an order in which every beginning has languages by `SHARES`."""
    queues: defaultdict[str, list[Unit]] = defaultdict(list)
    for unit in units(entries):
        queues[unit[0].language].append(unit)
    shards: list[list[tuple[float, Unit]]] = [[] for _ in range(n_shards)]
    for language, queue in queues.items():
        queue.sort(key=lambda unit: zlib.crc32(f"{unit[0].package} {unit[0].path}".encode()))
        sizes = [0.0] * n_shards
        for n, unit in enumerate(queue):
            shards[n % n_shards].append((sizes[n % n_shards], unit))
            size = sum(len(entry.text) for entry in unit)
            sizes[n % n_shards] += size / SHARES.get(language, 0.01)
    return [[unit for _, unit in sorted(shard, key=itemgetter(0))] for shard in shards]


def pack(shard: list[Unit], path: Path, n_bytes: int) -> int:
    """As many units as fit *n_bytes*, compressed; returns how many characters of code these are."""
    compressor, written, n_chars = lzma.LZMACompressor(preset=PRESET), 0, 0
    with path.open("wb") as file:
        for unit in shard:
            lines = "".join(json.dumps(entry) + "\n" for entry in unit)
            written += file.write(compressor.compress(lines.encode()))
            n_chars += sum(len(entry.text) for entry in unit)
            if written > n_bytes - SLACK:
                break
        file.write(compressor.flush())
    return n_chars


def main() -> None:
    """Write the shards and print what they hold."""
    folder, n_shards, n_mib, out = (
        Path(sys.argv[1]),
        int(sys.argv[2]),
        float(sys.argv[3]),
        sys.argv[4],
    )
    Path(out).mkdir(exist_ok=True)
    for n, shard in enumerate(dealt(read(folder / "train.jsonl"), n_shards)):
        path = Path(out) / f"{n}.jsonl.xz"
        n_chars = pack(shard, path, int(n_mib * MIB))
        print(f"{path}: {path.stat().st_size / MIB:.1f} MiB, {n_chars / 1e6:.0f} MB of code")


if __name__ == "__main__":
    main()
