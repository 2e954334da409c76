"""
What each part of a prompt is worth to a model: the likelihood of what a person wrote next.

    python -m benchmarks.worth 0.5b ~/src/attrs ~/src/cobra --out worth.jsonl --arms window,ring500,ring1500
    python -m benchmarks.worth --out worth.jsonl      # the tables of what is there

The newest commits of each history are replayed as typing (`places`), one place for each. What an arm shows there, the
window alone or a ring besides, is evaluated on one thread, and the next lines of the person behind it, token by token with
the true ones before (`likelihood`). Each place and arm is one line of the file: a run that ends is taken up where it
stopped, and further arms are added to places that are known. `report` says how the tables are made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import arguments
from benchmarks.git import name_of
from benchmarks.progress import tell
from benchmarks.worth.driven import RINGS, chars, rings
from benchmarks.worth.history import History
from benchmarks.worth.likelihood import LanguageModel
from benchmarks.worth.places import Place, find_places
from benchmarks.worth.report import print_tables
from fim_lsp.documents import TextPlace
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import LEAD, Budget
from server_bridge.fim.layout import layout
from server_bridge.fim.tokens import Specials, find_by_name, needs_no_lead, specials
from server_bridge.protocol import Chunk, Prompt

Record = dict[str, Any]
WINDOW = (384, 96)  # tokens above and below: what a slow machine evaluates
MIDDLE = 256
ARMS = ("window", *RINGS)


def main() -> None:
    """Measure what is missing in the file, and print the tables of all that is there."""
    options = _options()
    if options.model:
        _measure(options.model, options.repos, options)
    print_tables([*_read(options.out)], options.base)


def _measure(model: Path, repos: Sequence[Path], options: argparse.Namespace) -> None:
    engine = LanguageModel(model)
    marks = _specials(engine)
    known = {(r["model"], r["repo"], r["commit"], r["arm"]) for r in _read(options.out)}
    names = [*map(name_of, repos)]
    n_known = sum(
        key[0] == model.stem and key[1] in names and key[3] in options.arms for key in known
    )
    n = options.commits * len(names) * len(options.arms) - n_known
    places = [_places(repo, model.stem, options) for repo in repos]
    with options.out.open("a", encoding="utf-8") as out:
        steps = (
            (repo, place, arm)
            # one place of each repository after the other: a run that is stopped has all of them
            for row in itertools.zip_longest(*places)
            for repo, place in zip(names, row, strict=True)
            for arm in (options.arms if place else ())
            if (model.stem, repo, place.commit, arm) not in known
        )
        for repo, place, arm in tell(steps, n, lambda step: f"{step[0]}, {step[2]}"):
            record = _score(engine, marks, place, (arm, repo, model.stem))
            out.write(json.dumps(record) + "\n")
            out.flush()


def budget(model: str) -> Budget:
    """Return the window of a model of this name."""
    above, below = map(chars, WINDOW)
    return Budget(above, below, chars(MIDDLE), lead=0 if needs_no_lead(model) else LEAD)


def compose_arm(arm: str, place: Place, repo: str) -> Prompt:
    """Return what an arm shows at a place, as the session would send it when nothing is typed."""
    chunks = tuple(Chunk(chunk.name, chunk.text) for chunk in place.rings.get(arm, ()))
    frame = Frame(Header(repo, chunks, place.path), place.window)
    return compose(frame, frame.middle(TextPlace(place.document, place.position)))


def _places(repo: Path, model: str, options: argparse.Namespace) -> Iterator[Place]:
    history = History(repo, options.commits)
    return find_places(history, rings(options.arms), budget(model))


def _score(
    engine: LanguageModel, marks: Specials, place: Place, names: tuple[str, str, str]
) -> Record:
    """Return one line of the file: what the person wrote there holds no word of."""
    arm, repo, model = names
    tokens = _tokenize(engine, marks, compose_arm(arm, place, repo))
    written = engine.tokenize("".join(place.written))
    nats = engine.score(tokens, written)
    pieces = [engine.piece(token) for token in written]
    return {
        "model": model,
        "repo": repo,
        "commit": place.commit,
        "arm": arm,
        "n_prompt": len(tokens),
        "lines": [*_lines(pieces, nats, place.commit)],
    }


def _tokenize(engine: LanguageModel, marks: Specials, prompt: Prompt) -> list[int]:
    """Return the prompt as llama.cpp gets it; its middle is whole lines, so nothing is forced."""
    assert not prompt.forced
    *frozen, last = layout(prompt, marks)
    tokens = list[int]()
    for _, numbers, text in (*frozen, last._replace(text=prompt.middle)):
        tokens += (*numbers, *engine.tokenize(text))
    return tokens


def _lines(pieces: Sequence[bytes], nats: Sequence[float], seed: str) -> Iterator[Record]:
    """Yield what each line costs from its start, and from a cursor inside; tokens belong to where they begin."""
    line = list[tuple[bytes, float]]()
    rows = 0
    for piece, score in zip(pieces, nats, strict=True):
        line.append((piece, score))
        if piece.endswith(b"\n"):
            yield _line(line, random.Random(f"{seed}{rows}"))
            line = []
            rows = rows + 1


def _line(line: Sequence[tuple[bytes, float]], chance: random.Random) -> Record:
    inside = [n for n, (piece, _) in enumerate(line) if n > 0 and line[n - 1][0].strip()]
    at = chance.choice(inside[:-1]) if len(inside) > 2 else None
    record = {"start": _sum(line)}
    return record if at is None else {**record, "inside": _sum(line[at:])}


def _sum(tokens: Sequence[tuple[bytes, float]]) -> list[float]:
    """Return nats and characters."""
    return [round(sum(nats for _, nats in tokens), 4), sum(len(piece) for piece, _ in tokens)]


def _specials(engine: LanguageModel) -> Specials:
    family = find_by_name("qwen")
    assert family is not None
    ids = {
        spelling: tuple(engine.tokenize(spelling, special=True)) for spelling in family.spellings
    }
    found = specials(family, {s: n for s, n in ids.items() if len(n) == 1}, start=())
    assert found is not None, "not a model of Qwen's family"
    return found


def _read(file: Path) -> Iterable[Record]:
    return map(json.loads, file.read_text("utf-8").splitlines()) if file.exists() else ()


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.worth", __doc__)
    parser.add_argument("model", nargs="?", type=arguments.model_file, help="0.5b, 1.5b or a file")
    parser.add_argument("repos", nargs="*", type=Path, metavar="REPO")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the lines of JSON")
    parser.add_argument("--commits", type=int, default=12, help="how many of the newest")
    parser.add_argument("--arms", type=arguments.names(ARMS), default=["window", "ring500"])
    parser.add_argument("--base", choices=ARMS, default="window", help="the arm to compare with")
    return parser.parse_args()


if __name__ == "__main__":
    main()
