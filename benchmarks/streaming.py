"""
Text longer than the context (StreamingLLM): how much is generated, and what is still cached afterwards.

    python -m benchmarks.streaming                 # a context of 256 tokens, 1,000 to write

A model with random weights, whose text never ends by itself, writes on with and without
`--context-shift`, keeping all of the prompt or only the four first tokens. Then the same prompt is
evaluated again: what it costs is what the next suggestion after a long text would cost.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from benchmarks.serve import serving
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendError, Chunk, Prompt, Sink
from tests.models import write_model

RING = (Chunk("shop/tax.py", "def tax(price):\n    return price * 19 // 100\n"),)
PROMPT = Prompt("shop", RING, "cart.py", "def total(items):\n    ", "\n", "return sum(")


def main() -> None:
    """Measure and print."""
    options = _options()
    print("| server | keeps | pieces of text | ends with | prompt | evaluated for it again |")
    print("| --- | --- | ---: | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "endless.gguf")
        for shift in (False, True):
            flags = {"n_ctx": options.context, "n_parallel": 1, "n_batch": 64, "ctx_shift": shift}
            with serving(model, **flags) as url:
                for sink in Sink:
                    print(asyncio.run(_row(url, sink, options.tokens, shift=shift)), flush=True)


async def _row(url: str, sink: Sink, n_predict: int, *, shift: bool) -> str:
    backend = open_backend(BackendSettings(kind="llama-server", url=url))
    await backend.connect()
    n_pieces, end = 0, "the last token asked for"
    try:
        async for _ in backend.continue_long(PROMPT, n_predict, sink):
            n_pieces += 1
    except BackendError:
        end = "a full context"
    warmed = await backend.warm(PROMPT, n_predict)
    total = (await backend.measure(PROMPT)).total
    await backend.aclose()
    name = "`--context-shift`" if shift else "no shift"
    return f"| {name} | {sink.value} | {n_pieces} | {end} | {total} | {warmed.evaluated} |"


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--context", type=int, default=256, help="tokens of context")
    parser.add_argument("--tokens", type=int, default=1000, help="tokens to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
