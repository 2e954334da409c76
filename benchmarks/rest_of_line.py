r"""
How often a model alone is exactly right about the rest of a line: no session, no filters, no other files.

    python -m benchmarks.rest_of_line                              # the bundled model, 170 places
    python tests/models.py plain.gguf plain && python -m benchmarks.rest_of_line --model plain.gguf
    python -m benchmarks.rest_of_line --model "$(sh scripts/get-gemma)" --every 6

The places are those of `heldout`, in code that no model here was trained on; of its file a model sees some lines
above, and below if it can fill in.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from benchmarks.heldout import PACKAGES, PER_PACKAGE, Files, Hole, fetched, holes
from benchmarks.serve import BUNDLED, serving
from fim_lsp.prompt.healing import heal
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt, Request

ABOVE, LEAD, BELOW = 24, 5, 12  # lines: frozen above, then with the middle, frozen below
N_TOKENS = 32
PATIENCE_S = 600.0
N_HOLES = PER_PACKAGE * len(PACKAGES)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--model", type=Path, default=BUNDLED, help="a GGUF file")
    parser.add_argument("--every", type=int, default=2, help=f"of the {N_HOLES} places")
    parser.add_argument("--packages", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    packages = fetched(options.packages)
    wanted = holes(packages)[:: options.every]
    with serving(options.model) as url:
        n_right = asyncio.run(_right(url, packages, wanted))
    share = 100 * n_right / len(wanted)
    print(f"{options.model.name}: {n_right} of {len(wanted)} exact ({share:.1f} %)")


async def _right(url: str, packages: dict[str, Files], wanted: list[Hole]) -> int:
    """At how many of the places the model says what stood there."""
    server, n_right = LlamaServer(Http(url, patience_s=PATIENCE_S)), 0
    for hole in wanted:
        prompt = _prompt(packages[hole.package][hole.path], hole)
        reply = await server.complete(Request(prompt, N_TOKENS, stop=("\n",)))
        n_right += reply.text[len(prompt.forced) :].rstrip() == hole.rest
    await server.aclose()
    return n_right


def _prompt(text: str, hole: Hole) -> Prompt:
    lines = text.splitlines(keepends=True)
    anchor = max(0, hole.line - LEAD)
    middle, forced = heal("".join(lines[anchor : hole.line]) + hole.typed)
    prefix = "".join(lines[max(0, anchor - ABOVE) : anchor])
    suffix = "\n" + "".join(lines[hole.line + 1 : hole.line + 1 + BELOW])
    return Prompt(hole.package, (), hole.path, prefix, suffix, middle, forced=forced)


if __name__ == "__main__":
    main()
