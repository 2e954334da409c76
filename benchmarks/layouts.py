"""
Is the growing prompt as good as the classic one, for this model and code?

    python -m benchmarks.layouts                                      # the bundled model, this project's code
    python -m benchmarks.layouts --model qwen.gguf ~/src/shop         # another model, your own code
    python -m benchmarks.layouts --url http://127.0.0.1:8080 ~/src/shop

Models are trained with middles that begin anywhere, so text typed since some lines above should help
them as much after the middle token as before the suffix. This measures it: at positions in the user's
own files, with the line's first part typed, the model's answer is compared with the rest of the line,
for the typed part before the suffix (classic), after the middle token, and there with more and more
earlier lines before it.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Position, body, open_document
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import Budget, Window, place_window
from fim_lsp.session.lane import step_tokens
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, Model, Prompt, Reply, Request

EARLIER = (0, 1, 5, 10, 20)  # lines between the anchor and the cursor's line
TYPED = 0.4  # of the line: enough to know which line it is, and often inside a word
SHORTEST = 8  # characters; shorter lines tell little
N_PLACES = 100  # half a minute on the bundled model
TOKENS = 64  # more than a line
LARGEST = 200_000  # bytes of a file; larger ones are data
OURS = Path(__file__).parent.parent / "fim_lsp"  # code of 2026, which no model has seen


class Trial(NamedTuple):
    """A line of which the first part is typed."""

    document: Document
    path: str
    position: Position
    rest: str


class Score(NamedTuple):
    """The share of all positions at which the rest of the line is exact."""

    layout: str
    exact: float


def trials(files: Sequence[Path], n: int = N_PLACES) -> list[Trial]:
    """*n* places evenly spread over the code lines of *files* and the folders among them."""
    all_trials = [trial for file in _sources(files) for trial in _lines(file)]
    step = max(1, len(all_trials) // n)
    return all_trials[::step][:n]


def main() -> None:
    """Compare at all places, and print the table."""
    parser = arguments.parser("layouts", __doc__)
    parser.add_argument("paths", metavar="PATH", nargs="*", type=Path, default=[OURS])
    parser.add_argument("--model", default="", help="a GGUF file (default: the bundled model)")
    parser.add_argument("--url", default="", help="a llama.cpp server that runs already")
    options = parser.parse_args()
    where = trials([path.resolve() for path in options.paths])
    settings = BackendSettings(kind="embedded", model=options.model)
    if options.url:
        settings = BackendSettings(kind="llama-server", url=options.url)
    print(table(asyncio.run(compare(open_backend(settings), where)), len(where)))


async def compare(backend: Backend, where: Sequence[Trial]) -> list[Score]:
    """One score per layout; raises `BackendError`."""
    layouts: list[tuple[str, int, bool]] = [("classic: typed text before the suffix", 0, True)]
    layouts += [(f"growing: {n} earlier lines" if n else "growing", n, False) for n in EARLIER]
    scores = []
    try:
        model = await backend.connect()
        for name, n_earlier, classic in layouts:
            results = [await _ask(model, trial, n_earlier, classic=classic) for trial in where]
            scores.append(Score(name, statistics.fmean(results)))
    finally:
        await backend.aclose()
    return scores


def table(scores: Sequence[Score], n_places: int) -> str:
    """Return the scores in Markdown, and whether the difference is beyond chance."""
    rows = [f"| layout, {n_places} places | exact |", "| --- | ---: |"]
    rows += [f"| {score.layout} | {score.exact:.1%} |" for score in scores]
    classic, growing = scores[0], scores[1]
    noise = (growing.exact * (1 - growing.exact) / max(1, n_places)) ** 0.5
    if growing.exact + 2 * noise < classic.exact:
        verdict = "The classic layout is better for this model."
    else:
        verdict = "The growing layout is as good or better: keep it."
    return "\n".join((*rows, "", verdict))


async def complete(model: Model, request: Request) -> Reply:
    """Return the answer of a model, after it has evaluated the prompt."""
    while (await model.warm(request.prompt, step_tokens(model.state))).left:
        pass
    return await model.complete(request)


def prompt_at(budget: Budget, trial: Trial, n_earlier: int = 0, *, classic: bool = False) -> Prompt:
    """Return the prompt at a position with a window of *budget*, with *n_earlier* lines after the anchor."""
    document, position = trial.document, trial.position
    line = max(0, position.line - n_earlier)
    window = place_window(document, position, budget, None)
    text = "".join(document.lines[min(window.first, line) : line])
    frame = Frame(Header("", (), trial.path), Window(window.first, line, text, window.suffix))
    typed = document.between(Position(line, 0), position)
    prompt = compose(frame, typed)
    if not classic:
        return prompt
    return replace(prompt, prefix=prompt.prefix + prompt.middle, middle="")


async def _ask(model: Model, trial: Trial, n_earlier: int, *, classic: bool) -> bool:
    prompt = prompt_at(_budget(model), trial, n_earlier, classic=classic)
    reply = await complete(model, Request(prompt, TOKENS, stop=("\n",)))
    return reply.text[len(prompt.forced) :].rstrip() == trial.rest


def _budget(model: Model) -> Budget:
    n_chars = int(model.state.n_ctx / 4 * model.state.chars_per_token)
    return Budget(n_chars, n_chars // 4, n_chars // 4)


def _sources(files: Sequence[Path]) -> Iterator[Path]:
    for file in files:
        inside = sorted(file.rglob("*")) if file.is_dir() else [file]
        for path in inside:
            hidden = any(part.startswith(".") for part in path.relative_to(file).parts)
            if (
                path.is_file()
                and language_of(path.name)
                and not hidden
                and path.stat().st_size < LARGEST
            ):
                yield path


def _lines(file: Path) -> Iterator[Trial]:
    try:
        document = open_document(file.as_uri(), language_of(file.name), 0, file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError):
        return
    for number, line in enumerate(document.lines):
        visible = body(line).strip()
        if len(visible) < SHORTEST or not visible[0].isalpha():
            continue
        column = len(body(line)) - len(body(line).lstrip()) + round(TYPED * len(visible))
        rest = body(line)[column:].rstrip()
        blanked = (
            *document.lines[:number],
            body(line)[:column] + "\n",
            *document.lines[number + 1 :],
        )
        cut = open_document(document.uri, document.language, 0, "".join(blanked))
        yield Trial(cut, file.name, Position(number, column), rest)


if __name__ == "__main__":
    main()
