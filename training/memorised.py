"""
How much of its training set a model repeats word for word, beyond what is in its prompt.

    python -m training.memorised ~/fim-data fim-small-q8_0.gguf --prompts 1000

The prompts are examples of the training set itself, as a session would send them, where memorised text shows most.
Counted is the longest run of words of an answer that stands anywhere in the training set; a run that
stands in more than a few packages is an idiom (a licence header, a loop), and so is one of few words.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.serve import serving
from fim_lsp.context.similarity import WORD
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt
from training.asking import complete_by_model
from training.duplicates import hash_of
from training.examples import example
from training.neighbourhood import neighbourhoods
from training.shards import Entry, read

SEED = 99
GRAM = 8  # words: a shorter run is no quotation
COMMON = 3  # packages a run may stand in before it is an idiom
ROW_TOKENS = 4096  # of prompts, as in training
LONG = (10, 20, 40, 80)  # words, in the table

Grams = NDArray[np.uint64]


class Run(NamedTuple):
    """The longest run of an answer that is the training set's: words, and in how many packages it stands."""

    n_words: int
    n_packages: int
    text: str


def grams(words: list[str]) -> Grams:
    """Return each run of `GRAM` words as a number."""
    hashes = np.array([hash_of(word) for word in words], np.uint64)
    n_runs = max(0, len(words) - GRAM + 1)
    runs = np.zeros(n_runs, np.uint64)
    for n in range(GRAM):
        runs = runs * np.uint64(0x9E3779B97F4A7C15) + hashes[n : n + n_runs]
    return runs


def longest(answers: list[tuple[str, str]], entries: Iterable[Entry]) -> list[Run]:
    """Return the longest run of each answer that stands in *entries* but not in its prompt; answers come with it."""
    texts = [WORD.findall(answer) for _, answer in answers]
    wanted: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # run → answer, place in it
    for idx, (prompt, _) in enumerate(answers):
        shown = set(grams(WORD.findall(prompt)).tolist())
        for at, gram in enumerate(grams(texts[idx]).tolist()):
            if gram not in shown:
                wanted[gram].append((idx, at))
    keys = np.array(sorted(wanted), np.uint64)
    best: dict[int, tuple[int, int]] = {}  # answer → grams in a row, end
    packages: defaultdict[int, set[str]] = defaultdict(set)
    for entry in entries:
        hashes = grams(WORD.findall(entry.text))
        before: dict[
            tuple[int, int], int
        ] = {}  # places of answers reached with the gram before → its row
        last = -1
        for at in np.flatnonzero(np.isin(hashes, keys)).tolist():
            before = before if at == last + 1 else {}
            packages[int(hashes[at])].add(entry.package)
            places = wanted[int(hashes[at])]
            before = {(idx, n): before.get((idx, n - 1), 0) + 1 for idx, n in places}
            last = at
            for (idx, n), row in before.items():
                best[idx] = max(best.get(idx, (0, 0)), (row, n))
    return [_run(texts[idx], best.get(idx, (0, 0)), packages) for idx in range(len(answers))]


def _run(words: list[str], best: tuple[int, int], packages: dict[int, set[str]]) -> Run:
    row, end = best
    if not row:
        return Run(0, 0, "")
    run = words[end - row + 1 : end + GRAM]
    return Run(len(run), min(len(packages[gram]) for gram in grams(run).tolist()), " ".join(run))


def table(runs: list[Run]) -> str:
    """Return how many answers quote how much."""
    rare = [run for run in runs if run.n_packages <= COMMON]
    lines = [
        "| at least so many words | answers | of them in few packages |",
        "| ---: | ---: | ---: |",
    ]
    for n in LONG:
        counts = (sum(run.n_words >= n for run in some) for some in (runs, rare))
        lines.append(f"| {n} | " + " | ".join(map(str, counts)) + " |")
    top = max(rare, default=Run(0, 0, ""))
    return (
        "\n".join(lines) + f"\n\nThe longest of {len(runs)}: {top.n_words} words: {top.text[:400]}"
    )


def prompts(entries: Iterable[Entry], n: int) -> list[Prompt]:
    """*n* prompts of the training set."""
    rng, places = random.Random(SEED), neighbourhoods(entries)
    chosen: list[Prompt] = []
    weights = [place.weight for place in places]
    while len(chosen) < n:
        one = example(rng, rng.choices(places, weights)[0], ROW_TOKENS)
        if one and one.prompt.prefix:
            chosen.append(one.prompt)
    return chosen


async def answered(url: str, prompts: list[Prompt]) -> list[tuple[str, str]]:
    """Return each prompt as one text, and what the model says, as long as it goes on."""
    server = LlamaServer(url)
    await server.connect()
    answers_so_far = []
    for prompt in prompts:
        text, _ = await complete_by_model(server, prompt)
        chunks = "\n".join(chunk.text for chunk in prompt.chunks)
        shown = "\n".join((chunks, prompt.suffix, prompt.prefix + prompt.middle))
        answers_so_far.append((shown, prompt.middle[-200:] + prompt.forced + text))
    await server.aclose()
    return answers_so_far


def main() -> None:
    """Ask, compare with the whole training set, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompts", type=int, default=1000)
    options = parser.parse_args()
    corpus = options.folder / "train.jsonl"
    with serving(options.model) as url:
        answers = asyncio.run(answered(url, prompts(read(corpus), options.prompts)))
    print(table(longest(answers, read(corpus))))


if __name__ == "__main__":
    main()
