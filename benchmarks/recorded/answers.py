"""
What a model says in the pauses of a recorded session, before anything is left out of it: recorded once, read again.

    python -m benchmarks.recorded.answers --model 0.5b benchmarks/recorded/data/answers_0.5b.jsonl

The prompt is that of a session's first look (`raw_answers`): some 190 tokens of the file around the cursor. Decoding goes on for `N_TOKENS`,
or to the end of a line that the model believes in less than `DOUBTED`: nothing behind it could be shown by any rule. A file that is
there is gone on with.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import math
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

from benchmarks.arguments import add_model, parser
from benchmarks.raw_answers import BUDGET, PATIENCE_S
from benchmarks.recorded.log import DATA, SESSION, read
from benchmarks.recorded.pauses import Pause, pauses
from benchmarks.serve import serving
from fim_lsp.documents import open_document, unix
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import odds
from fim_lsp.suggest.cursor import Candidate, Odds
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Request, Stop, Token

ANSWERS = DATA / "answers_0.5b.jsonl.gz"
N_TOKENS = 96
DOUBTED = math.log(0.02)


def read_answers(file: Path = ANSWERS) -> dict[int, Candidate]:
    """Return what was said after each change."""
    data = file.read_bytes() if file.exists() else b""
    text = gzip.decompress(data) if file.suffix == ".gz" else data
    rows = map(json.loads, text.decode().splitlines())
    return {
        row["change"]: Candidate(
            row["text"], row["whole"], tuple(Odds(*pair) for pair in row["odds"])
        )
        for row in rows
    }


def is_quiet(pause: Pause) -> bool:
    """Return whether an automatic request gets nothing there."""
    cursor = pause.cursor
    return bool(boundary.quiet(cursor, deleted=False, scope=boundary.scope(cursor), excluded=()))


async def record(url: str, places: Iterable[Pause], file: Path) -> None:
    """Append what the model at *url* says in pauses."""
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    await server.connect()
    with file.open("a", encoding="utf-8") as lines:
        for pause in places:
            said = await _ask(server, pause)
            row = {
                "change": pause.change,
                "text": said.text,
                "whole": said.whole,
                "odds": said.odds,
            }
            print(json.dumps(row), file=lines, flush=True)
    await server.aclose()


async def _ask(server: LlamaServer, pause: Pause) -> Candidate:
    document = open_document("file:///place", pause.cursor.language, 1, unix(pause.text))
    shown = window.place_window(document, pause.position, BUDGET, None)
    frame = Frame(Header("", (), pause.path), shown)
    prompt = compose(frame, window.middle(shown, document, pause.position))
    written, tokens, n_before, is_whole = "", tuple[Token, ...](), 0, False
    async with aclosing(server.stream(Request(prompt, N_TOKENS))) as replies:
        async for reply in replies:
            written, tokens = written + reply.text, tokens + reply.tokens
            is_whole = reply.stop is Stop.END
            if "\n" in reply.text and written[len(prompt.forced) :].strip():
                if sum(token.logprob or 0.0 for token in tokens[n_before:]) < DOUBTED:
                    break
                n_before = len(tokens)
    text = written[len(prompt.forced) :] if written.startswith(prompt.forced) else ""
    return Candidate(text, is_whole, odds(tokens, prompt.forced, text))


def main() -> None:
    """Record what is missing."""
    options = _options()
    known = read_answers(options.file)
    places = [p for p in pauses(read(SESSION)) if p.change not in known and not is_quiet(p)]
    with serving(options.model, n_threads=options.threads) as url:
        asyncio.run(record(url, places, options.file))


def _options() -> argparse.Namespace:
    arguments = parser("recorded.answers", __doc__)
    add_model(arguments, 1, default="0.5b")
    arguments.add_argument("file", type=Path, metavar="FILE", help="of the answers, JSON lines")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
