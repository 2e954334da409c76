"""
What a real model says inside words while lines are typed, and how the words before the cursor are spelled to it.

    python -m benchmarks.spelling --model qwen2.5-coder-0.5b-instruct-q4_k_m.gguf REPOSITORY…
    python -m benchmarks.spelling --model … --lead 12 REPOSITORY…     # more lines behind the middle mark

Lines that came into git *repositories* since 2025, which no model here was trained on, are typed key by key; every few
keys the model is asked as a session asks it. An answer that is the rest of the line is accepted. Characters are right up
to the first that is not what stood there. Words that the file does not have, but nearly, are listed: read them, some are
broken and others plurals.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import random
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from benchmarks.serve import BUNDLED, serving
from fim_lsp.documents import Document, Position, open_document
from fim_lsp.prompt import compose, window
from fim_lsp.prompt.frame import Frame, Header
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.link import Link
from server_bridge.llama.tokenizer import Tokenizer
from server_bridge.protocol import Prompt, Request

SEED, SINCE = 11, 1735689600  # 1 January 2025
SUFFIXES = {".py", ".lua", ".go", ".ts", ".rs", ".c", ".js"}
SIZES = range(3_000, 80_000)  # bytes of a file
N_FILES = 12  # looked at in each repository
N_LINES = 2  # typed at a place
SHORTEST = 24  # characters of its first line
EVERY = 3  # keys
N_PREDICT = 16
NEAR = 0.85  # of `difflib`'s ratio
BUDGET = window.Budget(prefix=900, suffix=300, middle=1600)  # characters
WORD = re.compile(r"[A-Za-z_]{5,}")


class Place(NamedTuple):
    """Lines of a file, from *line* on, that are typed."""

    path: str
    text: str
    line: int


class Ask(NamedTuple):
    """One answer, beside what stood there; *prompt_n* tokens were evaluated for it."""

    said: str
    rest: str
    inside: bool  # a word
    misspelled: bool
    doubtful: list[str]
    prompt_n: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, default=BUNDLED, help="a GGUF file")
    parser.add_argument("--url", default="", help="a llama.cpp server that runs already")
    parser.add_argument("--places", type=int, default=36)
    parser.add_argument("--lead", type=int, default=window.LEAD)
    options = parser.parse_args()
    window.LEAD = options.lead
    where = places(options.repositories)[: options.places]
    if options.url:
        asks = asyncio.run(_measured(options.url, where))
    else:
        with serving(options.model) as url:
            asks = asyncio.run(_measured(url, where))
    print(summary(asks))


def places(repositories: list[Path]) -> list[Place]:
    """New lines of each repository, in an order that is the same every time."""
    rng = random.Random(SEED)
    by_repository = []
    for repository in repositories:
        found = [place for path in _files(repository, rng) for place in _places(repository, path)]
        rng.shuffle(found)
        by_repository.append(found)
    return [place for row in zip(*by_repository, strict=False) for place in row]


def summary(asks: list[Ask]) -> str:
    """Return the figures of all answers, in lines."""
    inside = [ask for ask in asks if ask.inside]
    costs = sorted(ask.prompt_n for ask in asks)
    right = sum(_n_right(ask) for ask in inside)
    wrong = sum(len(ask.said) - _n_right(ask) for ask in inside)
    doubtful = [word for ask in asks for word in ask.doubtful]
    return (
        f"{len(asks)} answers, {len(inside)} inside words: {sum(a.said == a.rest for a in inside)} lines exact, "
        f"{right} characters right, {wrong} wrong\n"
        f"misspelled middles {sum(ask.misspelled for ask in asks)}, doubtful words {doubtful}\n"
        f"tokens evaluated: mean {sum(costs) / len(costs):.2f}, p50 {costs[len(costs) // 2]}, "
        f"p95 {costs[len(costs) * 95 // 100]}"
    )


async def _measured(url: str, where: list[Place]) -> list[Ask]:
    backend, link, asks = LlamaServer(Http(url, patience_s=600.0)), Link(Http(url)), list[Ask]()
    await link.meet()
    tokenizer = Tokenizer(link, 3.0)
    await tokenizer.specials("")
    for place in where:
        asks += [ask async for ask in _typed(backend, tokenizer, place)]
    await backend.aclose()
    await link.aclose()
    return asks


async def _typed(backend: LlamaServer, tokenizer: Tokenizer, place: Place) -> AsyncIterator[Ask]:
    """Type the lines, asking every few keys."""
    lines = place.text.splitlines(keepends=True)
    wanted = "".join(lines[place.line : place.line + N_LINES])
    above, below = "".join(lines[: place.line]), "".join(lines[place.line + N_LINES :])
    empty = open_document("file:///" + place.path, "python", 1, f"{above}\n{below}")
    shown = window.place_window(empty, Position(place.line, 0), BUDGET, None)
    frame = Frame(Header("", (), place.path), shown)
    at, is_first = len(wanted) - len(wanted.lstrip()) + EVERY, True
    while at < len(wanted):
        typed, rest = wanted[:at], wanted[at:].partition("\n")[0]
        if not rest:
            at += 1
            continue
        document = open_document(empty.uri, "python", 1, f"{above}{typed}\n{below}")
        end = Position(place.line + typed.count("\n"), len(typed) - typed.rfind("\n") - 1)
        prompt = _prompt(frame, document, end)
        reply = await backend.complete(Request(prompt, N_PREDICT, stop=("\n",)))
        said = reply.text[len(prompt.forced) :].rstrip()
        if not is_first:
            yield Ask(
                said, rest.rstrip(), wanted[at - 2 : at + 1].isalpha(),
                [t.id for t in reply.middle] != [t.id for t in await tokenizer.run(prompt.middle)],
                _doubtful(typed, said, place.text), reply.timings.prompt_n,
            )  # fmt: skip
        is_first = False
        at += len(rest) + 1 if said == rest.rstrip() else EVERY


def _prompt(frame: Frame, document: Document, position: Position) -> Prompt:
    return compose.compose(frame, window.middle(frame.window, document, position))


def _n_right(ask: Ask) -> int:
    pairs = zip(ask.said, ask.rest, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(ask.said), len(ask.rest)))


def _doubtful(typed: str, said: str, text: str) -> list[str]:
    """Words of an answer that look like a slip of one that the file has."""
    half = re.split(r"[^A-Za-z_]", typed)[-1]
    known = set(WORD.findall(text))
    words = set(WORD.findall(half + said)) - known
    return [word for word in words if difflib.get_close_matches(word, known, 1, NEAR)]


def _files(repository: Path, rng: random.Random) -> list[str]:
    names = git(repository, "ls-files").splitlines()
    found = [name for name in names if _is_code(repository / name)]
    rng.shuffle(found)
    return found[:N_FILES]


def _is_code(path: Path) -> bool:
    return path.suffix in SUFFIXES and path.is_file() and path.stat().st_size in SIZES


def _places(repository: Path, path: str) -> Iterator[Place]:
    blamed = list(_blamed(git(repository, "blame", "--line-porcelain", "--", path)))
    text = "".join(line + "\n" for line, _ in blamed)
    n = 12
    while n < len(blamed) - N_LINES - 5:
        (line, since), (after, _) = blamed[n : n + 2]
        if since >= SINCE and len(line.strip()) >= SHORTEST and after.strip() and text.isascii():
            yield Place(path, text, n)
            n += 40
        n += 1


def _blamed(porcelain: str) -> Iterator[tuple[str, int]]:
    """Yield each line with the time at which it was written."""
    since = 0
    for line in porcelain.split("\n"):
        if line.startswith("author-time "):
            since = int(line.split()[1])
        elif line.startswith("\t"):
            yield line[1:], since


if __name__ == "__main__":
    main()
