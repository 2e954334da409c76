"""
Places that others chose, with several ways to ask for what is missing there.

    sh scripts/tools/get-qwen 0.5b
    python -m benchmarks.infilling HumanEval-SingleLineInfilling.jsonl.gz 0.5b --limit 300 --json single.jsonl
    python -m benchmarks.infilling HumanEval-MultiLineInfilling.jsonl.gz 0.5b --limit 200 --json multi.jsonl
    python -m benchmarks.infilling api_completion.jsonl.gz 0.5b --arms raw,hand,auto

PATH is a file of HumanEval-Infilling (openai/human-eval-infilling), of SAFIM's API calls (`data` in the history of
gonglinyuan/safim), or of HumanEval-FIM as parquet (Qwen2.5-Coder's evaluation, which needs pyarrow).
All arms ask one llama.cpp server, greedy: `raw` with the makers' own prompt, the texts as published; `opened` with the
same prompt around the line that an editor has opened and indented; `infill` by `/infill`; `hand` through a session of
fim-lsp that has the file with the opened line, when its user asks; `auto` the same when the last character before the
cursor was just typed.

HumanEval-Infilling counts an answer that passes its tests, run without a network (Linux); SAFIM one that is the call
by its syntax; HumanEval-FIM the missing line. Where one line is missing, one line of an answer counts.
By default all of the window is shown at once, as where it is read in no time; `--look 0 --rest 5` has the first look
that this machine allows. With `--json FILE` each answer is a line of that file; a later run asks only for those that
it lacks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from unittest.mock import patch

import httpx

from benchmarks import markdown
from benchmarks.arguments import model_file, names, parser
from benchmarks.infilling import arms, execution
from benchmarks.infilling.places import LANGUAGES, Measure, Place, UnknownFormatError, choose, read
from benchmarks.infilling.verdicts import BEGINNING, NOTHING, OTHER, RIGHT, WRONG, fill, judge
from benchmarks.progress import tell
from benchmarks.serve import serving
from fim_lsp.prompt import window
from server_bridge.protocol import BackendError

Verdicts = dict[str, dict[Place, str]]  # by arm
BEGIN = '{"model": "'  # of an answer's line
VERDICTS = (RIGHT, BEGINNING, OTHER, WRONG, NOTHING)


def read_known(file: Path | None) -> dict[tuple[str, ...], tuple[str, str]]:
    """
    Return verdicts and texts that earlier runs wrote to *file*, by model, place and arm; a line that is cut is asked again.

    Raises `UnknownFormatError` where there is something else in it, `OSError`.
    """
    known: dict[tuple[str, ...], tuple[str, str]] = {}
    text = file.read_text("utf-8", "replace") if file and file.exists() else ""
    for line in text.splitlines():
        if not BEGIN.startswith(line[: len(BEGIN)]):
            raise UnknownFormatError(f"{file} has lines that are no answers: name another file")
        try:
            model, place, arm, verdict, answer = json.loads(line).values()
            known[model, place, arm] = verdict, answer
        except (ValueError, AttributeError):
            print(f"{file}: a line is cut, and is asked for again", file=sys.stderr)
    if file and text[-1:] not in ("", "\n"):
        _append(file, "\n")
    return known


async def ask(url: str, places: Sequence[Place], options: argparse.Namespace) -> Verdicts:
    """Return what each arm's answer is at each place; what is not in a file is asked, and added to it."""
    family = await arms.find_family(url)
    file = options.json
    known = read_known(options.json)
    verdicts = Verdicts()
    right = defaultdict[Place, list[str]](list)
    async with arms.arms(url, family, options.rest) as ways:
        model = options.model.name
        steps = [*product(places, options.arms)]
        unknown = [place for place, arm in steps if (model, place.name, arm) not in known]
        asking = tell(unknown, len(unknown))
        for place, arm in steps:
            if (model, place.name, arm) in known:
                verdict, text = known[model, place.name, arm]
            else:
                next(asking)
                text = await ways[arm](place)
                is_opened = arm in arms.OPENED
                verdict = judge(place, text, is_opened=is_opened, right=right[place])
                row = {"model": model, "place": place.name, "arm": arm}
                row |= {"verdict": verdict, "text": text}
                print(json.dumps(row), f"not {place.missing!r}", file=sys.stderr, flush=True)
                if file:
                    _append(file, json.dumps(row) + "\n")
            verdicts.setdefault(arm, {})[place] = verdict
            if verdict == RIGHT:
                right[place].append(fill(place, text, is_opened=arm in arms.OPENED))
    return verdicts


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as rows:
        rows.write(text)


def table(verdicts: Verdicts, *, short: bool) -> str:
    """Return a row per arm, in Markdown, each compared with the first; of *short* places, or of all others."""
    rows = list[tuple[object, ...]]()
    right: dict[str, set[Place]] = {}
    for arm, by_place in verdicts.items():
        mine = {place: verdict for place, verdict in by_place.items() if place.is_short == short}
        counts = [sum(each == verdict for each in mine.values()) for verdict in VERDICTS]
        right[arm] = {place for place, verdict in mine.items() if verdict == RIGHT}
        first = right[next(iter(verdicts))]
        against = f"{len(right[arm] - first)}, {len(first - right[arm])}"
        n_shown = len(mine) - counts[-1]
        good = f"{sum(counts[:3]) / max(1, n_shown):.0%}"
        rows.append((arm, len(mine), *counts, good, against))
    head = ("arm", "places", *VERDICTS, "right or beginning, of those with text", "gained, lost")
    return markdown.table(head, rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Ask, print, write."""
    options = _options(argv)
    try:
        places = choose(read(options.path), options.languages, options.limit, options.skip)
        read_known(options.json)
    except (UnknownFormatError, OSError) as error:
        raise SystemExit(str(error)) from error
    if not places:
        raise SystemExit(f"{options.path}: of these languages, no place is left")
    has_tests = any(place.measure is Measure.TESTS for place in places)
    if has_tests and (why := execution.why_impossible()):
        raise SystemExit(why)
    look = (options.look, options.look) if options.look else window.FIRST_TOKENS
    by_hand = look if options.look else window.BY_HAND_TOKENS
    try:
        with (
            patch.multiple(window, FIRST_TOKENS=look, BY_HAND_TOKENS=by_hand),
            serving(options.model, n_threads=options.threads) as url,
        ):
            verdicts = asyncio.run(ask(url, places, options))
    except (BackendError, httpx.HTTPError, OSError) as error:
        raise SystemExit(str(error) or f"the model server failed: {error!r}") from error
    print(f"{options.model.name}, {options.path.name}\n\n{table(verdicts, short=False)}")
    if any(place.is_short for place in places):
        print(f"\nOf three characters or fewer:\n\n{table(verdicts, short=True)}")


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    arguments = parser("benchmarks.infilling", __doc__)
    add = arguments.add_argument
    languages = LANGUAGES.values()
    add("path", type=Path, metavar="PATH", help="a file of one of the benchmarks")
    add(
        "model",
        type=model_file,
        metavar="MODEL",
        help="0.5b, 1.5b (scripts/tools/get-qwen) or a file",
    )
    add("--arms", type=names(arms.ARMS), default=[*arms.USUAL], help=", ".join(arms.ARMS))
    add("--languages", type=names(languages), default=[], help=", ".join(languages))
    add("--limit", type=int, default=0, help="at so many places of more than three characters")
    add("--skip", type=int, default=0, help="leave out so many of them, which were asked before")
    add("--rest", type=float, default=0.0, help="seconds from opening a file to the request")
    add("--look", type=int, default=1536, help="tokens of the first look, 0: as this machine reads")
    add("--threads", type=int, default=1, help="of the model server")
    add("--json", type=Path, metavar="FILE", help="what was answered: read, and written to")
    return arguments.parse_args(argv)


if __name__ == "__main__":
    main()
