"""
Places that others chose: HumanEval-FIM, one line, by Qwen2.5-Coder's makers, with four ways to ask.

    pip install pyarrow && sh scripts/get-qwen 0.5b
    python -m benchmarks.humaneval_fim FILE --limit 300
    python -m benchmarks.humaneval_fim FILE --arms raw,hand --rest 0 --languages js,java

FILE is the parquet file of the places: *prompt* and *suffix* around a line that is missing, without the line breaks
around it. All arms ask one llama.cpp server, greedy: `raw` with the makers' own prompt, `infill` by `/infill`, `hand`
through a session of fim-lsp that opened the file and rested, when its user asks, `auto` the same when the line's
indentation was just typed. An answer is right if its first line is the missing line, without the blanks at both ends.
`--look 1536` takes the place of a rest: all of the window is shown at once, as where it is read in no time.
Places whose line has three characters or fewer (brackets) are reported apart. With `--json FILE`
each answer is a line of that file; a later run asks only for those that it lacks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks import markdown
from benchmarks.arguments import add_model, names, parser
from benchmarks.serve import serving
from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.prompt import window
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from fim_lsp.suggest.lines import indent
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer

SEED = 1
SHORT = 3  # characters of a missing line, at most, that say nothing
N_TOKENS = 48  # a line
REST_S = 5.0  # from opening the file to the request, at most: until all is evaluated that is to be
PATIENCE_S = 300.0
RAW = "<|fim_prefix|>{above}<|fim_suffix|>{below}<|fim_middle|>"
SUFFIXES = {"py": ("python", ".py"), "js": ("javascript", ".js"), "java": ("java", ".java")}
PATIENT = {"completion.deadlineMs": 60_000, "completion.patienceMs": 60_000}
ALONE = {"completion.candidates": 1}  # which counts; the model is not asked for other choices


class Place(NamedTuple):
    """A missing *line* between two texts, which end and begin with a line break."""

    name: str
    language: str
    above: str
    line: str
    below: str

    @property
    def is_short(self) -> bool:
        """Return whether the line is little more than a bracket."""
        return len(self.line.strip()) <= SHORT


Arm = Callable[[Place], Awaitable[str]]


def places(file: Path, languages: Sequence[str], limit: int) -> list[Place]:
    """Return the places of some languages in a seeded order, *limit* long ones, and short ones between."""
    try:
        from pyarrow import parquet  # noqa: PLC0415 (only this benchmark needs it)
    except ImportError:
        raise SystemExit("reading FILE needs pyarrow: pip install pyarrow") from None
    rows = parquet.read_table(file).to_pylist()
    chosen = [
        Place(
            row["name"], row["language"], row["prompt"] + "\n", row["canonical_solution"],
            "\n" + row["suffix"],
        )
        for row in rows
        if row["language"] in languages
    ]  # fmt: skip
    random.Random(SEED).shuffle(chosen)
    long = [n for n, place in enumerate(chosen) if not place.is_short]
    return chosen[: long[limit - 1] + 1] if 0 < limit < len(long) else chosen


def is_right(answer: str, place: Place) -> bool:
    """Return whether the first line of an answer with something on it is the missing one."""
    return answer.strip().partition("\n")[0].rstrip() == place.line.strip()


async def raw(client: httpx.AsyncClient, place: Place) -> str:
    """Return what the model writes behind its makers' own prompt."""
    text = RAW.format(above=place.above, below=place.below)
    body = {"prompt": text, "n_predict": N_TOKENS, "temperature": 0}
    return str((await client.post("/completion", json=body)).json()["content"])


async def infill(client: httpx.AsyncClient, place: Place) -> str:
    """Return what the server's own `/infill` says."""
    body = {
        "input_prefix": place.above, "input_suffix": place.below, "prompt": "",
        "n_predict": N_TOKENS, "temperature": 0, "cache_prompt": False,
    }  # fmt: skip
    return str((await client.post("/infill", json=body)).json()["content"])


async def ours(url: str, place: Place, rest_s: float, *, invoked: bool) -> str:
    """Return what fim-lsp shows in a file of its own, in a folder with nothing else."""
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    session = Session(make_config(PATIENT | ALONE), lambda _: server)
    language, suffix = SUFFIXES[place.language]
    width = indent(place.line)
    typed = width[:-1] if not invoked else width  # the last blank is a key, which asks by itself
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"task{suffix}")
        opened = _open_file(file, language, place.above + typed + place.below)
        at = Position(place.above.count("\n"), len(typed))
        try:
            session.handle(events.FoldersChanged((Path(folder).as_uri(),)))
            session.handle(opened)
            session.handle(events.CursorMoved(file.as_uri(), at))
            await session.connection.wait_ready()
            await _rest(session, rest_s)
            if typed != width:
                session.handle(events.Changed(file.as_uri(), 2, (Edit(at, at, width[-1:]),)))
            at = at._replace(column=len(width))
            answer = await session.complete(file.as_uri(), at, invoked=invoked)
            return answer.suggestions[0].text if answer.suggestions else ""
        finally:
            await session.aclose()


def _open_file(file: Path, language: str, text: str) -> events.Opened:
    """Write a file, and open it."""
    file.write_text(text, "utf-8")
    return events.Opened(file.as_uri(), language, 1, text)


async def _rest(session: Session, seconds: float) -> None:
    """Wait as a user who reads the file, until nothing is left to do ahead."""
    with suppress(TimeoutError):
        await asyncio.wait_for(session.wait_idle(), seconds)


@asynccontextmanager
async def arms(url: str, rest_s: float) -> AsyncIterator[dict[str, Arm]]:
    """All ways to ask the server at *url*; fim-lsp's after a rest."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:
        yield {
            "raw": lambda place: raw(client, place),
            "infill": lambda place: infill(client, place),
            "hand": lambda place: ours(url, place, rest_s, invoked=True),
            "auto": lambda place: ours(url, place, rest_s, invoked=False),
        }


ARMS = ("raw", "infill", "hand", "auto")
Answers = dict[str, dict[Place, str]]  # by arm


def known_answers(file: Path | None) -> dict[tuple[str, str, str], str]:
    """Return what earlier runs wrote to *file*, by the language and name of the place, and the arm."""
    lines = file.read_text("utf-8").splitlines() if file and file.exists() else []
    rows = map(json.loads, lines)
    return {(row["language"], row["name"], row["arm"]): row["text"] for row in rows}


async def answer(
    url: str, asked_places: Sequence[Place], names: Sequence[str], rest_s: float, file: Path | None
) -> Answers:
    """Return what each arm says at each place; what is not in *file* is asked, and added to it."""
    answers: Answers = {name: {} for name in names}
    known = known_answers(file)
    async with arms(url, rest_s) as ways:
        for place, name in product(asked_places, names):
            text = known.get((place.language, place.name, name))
            if text is None:
                text = await ways[name](place)
                verdict = "right" if is_right(text, place) else "wrong" if text else "nothing"
                where = {"language": place.language, "name": place.name, "arm": name}
                line = json.dumps({**where, "verdict": verdict, "text": text})
                print(line, f"not {place.line!r}", flush=True)
                if file:
                    with file.open("a", encoding="utf-8") as rows:
                        rows.write(line + "\n")
            answers[name][place] = text
    return answers


def table(answers: Answers, *, short: bool) -> str:
    """Return a row per arm, and one per pair of arms, in Markdown; of *short* lines, or of all others."""
    rows = list[tuple[object, ...]]()
    right: dict[str, set[Place]] = {}
    for name, texts in answers.items():
        mine = {place: text for place, text in texts.items() if place.is_short == short}
        right[name] = {place for place, text in mine.items() if is_right(text, place)}
        n_nothing = sum(not text.strip() for text in mine.values())
        n_wrong = len(mine) - len(right[name]) - n_nothing
        share = len(right[name]) / max(1, len(mine))
        rows.append((name, len(mine), f"{len(right[name])} ({share:.1%})", n_nothing, n_wrong))
    text = markdown.table(("arm", "places", "right", "nothing", "wrong"), rows)
    for one, other in combinations(answers, 2):
        gained, lost = len(right[other] - right[one]), len(right[one] - right[other])
        text += f"\n\n{other} against {one}: {gained} gained, {lost} lost."
    return text


def main() -> None:
    """Ask, print, write."""
    options = _options()
    if options.look:
        window.FIRST_TOKENS = window.BY_HAND_TOKENS = (options.look, options.look)
    asked_places = places(options.file, options.languages, options.limit)
    with serving(options.model, n_threads=options.threads) as url:
        answers = asyncio.run(answer(url, asked_places, options.arms, options.rest, options.json))
    print(f"{options.model.name}, {', '.join(options.languages)}\n\n{table(answers, short=False)}")
    print(f"\nLines of {SHORT} characters or fewer:\n\n{table(answers, short=True)}")


def _options() -> argparse.Namespace:
    arguments = parser("humaneval_fim", __doc__)
    add_model(arguments, 1, default="0.5b")
    add = arguments.add_argument
    add("file", type=Path, metavar="FILE", help="HumanEval-FIM, one line, as parquet")
    add("--arms", type=names(ARMS), default=[*ARMS], help=", ".join(ARMS))
    add("--languages", type=names(SUFFIXES), default=["py"], help=", ".join(SUFFIXES))
    add("--limit", type=int, default=0, help="at so many places whose line is no bracket")
    add("--rest", type=float, default=REST_S, help="seconds from opening a file to the request")
    add("--look", type=int, default=0, help="tokens of a first look, instead of few")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
