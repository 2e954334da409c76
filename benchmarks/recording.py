"""
A session's prompts into a small file: what a router and its replicas are sent, and when.

    python -m benchmarks.recording                 # half an hour

Our session types the mix with a full ring, through llama.cpp's `/v1/completions` as to vLLM: text, no
slots. The model is the bundled one with a longer context in its header; its text does not matter here,
only where it ends. The times are those of the keys, as on a machine that answers before the next key
and finishes its background work in every pause. Texts are tokenised afterwards. A prompt is stored
as what it adds to an earlier one.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import itertools
import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

from benchmarks.clients import IDLE_MS, Ours, replay
from benchmarks.keystrokes import Streaming
from benchmarks.serve import BUNDLED, N_CTX, serving
from benchmarks.traces import Trace, mix, neighbours
from benchmarks.wire import Wire
from fim_lsp.session.session import Session
from fim_lsp.settings.schema import make_config
from server_bridge.http.shapes import Object

FILE = Path(__file__).parent / "prompts.json.gz"
N_REQUESTS = 1500  # of the editor: five minutes of typing
PATIENCE = (
    1000  # times the length of a pause may pass until all is done that a fast machine does in it
)
LOOK_BACK = 64  # earlier prompts among which the most similar is looked for


class Sent(NamedTuple):
    """
    One request: when (ms from the first), for which step of the trace, which file, and token ids.

    The first *n_prompt* tokens are the prompt, the others the answer.
    """

    ms: int
    step: int
    background: bool
    document: str
    n_prompt: int
    tokens: tuple[int, ...]


class Texts(Wire):
    """Keeps what is sent and what comes back as text."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.texts: list[tuple[str, str]] = []

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """See `Wire`."""
        answer = ""
        try:
            async with aclosing(super().stream(path, body)) as events:
                async for event in events:
                    answer += "".join(choice["text"] for choice in event.get("choices", ()))
                    yield event
        finally:
            self.texts.append((json.loads(body)["prompt"], answer))


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=N_REQUESTS, help="of the editor")
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(shutil.copy(BUNDLED, Path(folder) / BUNDLED.name))
        stretch(model)
        with serving(model) as url:
            sent = asyncio.run(_record(url, options.requests))
    write(options.out, sent)
    print(f"{len(sent)} prompts, {options.out.stat().st_size} bytes")


def stretch(model: Path) -> None:
    """Write a context for two slots of the usual size into a model's header."""
    reader = gguf.GGUFReader(model, "r+")
    for name, field in reader.fields.items():
        if name.endswith(".context_length"):
            field.parts[field.data[0]][:] = np.uint32(2 * N_CTX)


async def _record(url: str, n_requests: int) -> list[Sent]:
    wire = Texts(url)
    server = Streaming(wire, n_ctx=N_CTX)
    await server.connect()
    settings = {"completion.maxTokens": 16, "completion.debounceMs": 0}
    session = Session(make_config(settings), lambda _: server)
    for event in neighbours():
        session.handle(event)
    trace = mix(n_requests)
    await replay(_patient(trace), Ours(session))
    await session.aclose()
    times, found, step = _times(trace), [], 0
    for call, (prompt, answer) in zip(wire.calls, wire.texts, strict=True):
        ids, made_ids = await _ids(wire, prompt), await _ids(wire, answer)
        step = max(step, 0 if call.background else call.request)
        file = trace.steps[step].uri
        found.append(Sent(times[step], step, call.background, file, len(ids), (*ids, *made_ids)))
    await wire.aclose()
    return found


def _patient(trace: Trace) -> Trace:
    """Return the same keys, each waiting for its answer, every pause as long as there is background work."""
    waits = [step.wait_ms * (PATIENCE if step.wait_ms >= IDLE_MS else 1) for step in trace.steps]
    steps = [step._replace(wait_ms=ms) for step, ms in zip(trace.steps, waits, strict=True)]
    return Trace(trace.name, steps)


def _times(trace: Trace) -> list[int]:
    """Return when each step happens, in milliseconds."""
    return [round(ms) for ms in itertools.accumulate(step.wait_ms for step in trace.steps)]


async def _ids(wire: Texts, text: str) -> list[int]:
    answer = await wire.ask("/tokenize", {"content": text, "parse_special": True})
    return list(answer["tokens"])


def write(path: Path, sent: Sequence[Sent]) -> None:
    """Each prompt as (how far back the one it resembles stands, how much of that, what comes then)."""
    rows: list[object] = []
    for n, one in enumerate(sent):
        earlier = range(1, min(n, LOOK_BACK) + 1)
        back = max(earlier, key=lambda b: alike(sent[n - b].tokens, one.tokens), default=0)
        keep = alike(sent[n - back].tokens, one.tokens) if back else 0
        rows.append([*one[:-1], back, keep, one.tokens[keep:]])
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(json.dumps(rows, separators=(",", ":")).encode())


def read(path: Path = FILE) -> list[Sent]:
    """Return what `write` wrote."""
    found: list[Sent] = []
    for row in json.loads(gzip.decompress(path.read_bytes())):
        ms, step, background, document, n_prompt, back, keep, tokens = row
        kept = found[-back].tokens[:keep] if back else ()
        found.append(Sent(ms, step, background, document, n_prompt, (*kept, *tokens)))
    return found


def alike(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens two sequences have in common at their beginning."""
    n = min(len(a), len(b))
    differ = np.flatnonzero(np.asarray(a[:n]) != np.asarray(b[:n]))
    return int(differ[0]) if len(differ) else n


if __name__ == "__main__":
    main()
