"""Text that outgrows its context, on real llama.cpp with a context of 256 tokens (StreamingLLM)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import BackendUnusable, Prompt, Sink
from tests.llama_server import llama_server
from tests.models import write_model

N_CTX, N_TOKENS = 256, 1000
PROMPT = Prompt(
    "shop", (), "cart.py", "import os\n\n\ndef total(items):\n    ", "\n", "return sum("
)


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model whose text never ends by itself."""
    return write_model(tmp_path_factory.mktemp("model") / "endless.gguf")


@pytest.fixture(scope="module", params=[True, False], ids=["shift", "no shift"])
def server(request: pytest.FixtureRequest, endless: Path) -> Iterator[tuple[str, bool]]:
    flags = {"n_ctx": N_CTX, "n_parallel": 1, "n_batch": 64, "ctx_shift": request.param}
    with llama_server(endless, endpoint_slots=True, **flags) as url:
        yield url, request.param


@pytest.mark.parametrize("sink", Sink)
async def test_text_runs_on_where_the_context_can_be_shifted(
    server: tuple[str, bool], sink: Sink
) -> None:
    """A thousand tokens come out of 256; what is found again afterwards is what was to be kept."""
    url, shifts = server
    backend = open_backend(BackendSettings(kind="llama-server", url=url))
    await backend.connect()
    before = await backend.measure(PROMPT)
    pieces: list[str] = []

    async def continue_long() -> None:
        async for piece in backend.continue_long(PROMPT, N_TOKENS, sink):
            pieces.append(piece)  # noqa: PERF401 (what came before an error counts)

    if not shifts:
        with pytest.raises(BackendUnusable, match="--context-shift"):
            await continue_long()
        assert 0 < len(pieces) < N_CTX
        await backend.aclose()
        return
    await continue_long()
    assert len(pieces) > 2 * N_CTX  # a piece is a token or more
    after = await backend.measure(PROMPT)
    warmed = await backend.warm(PROMPT, N_CTX)
    if sink is Sink.PROMPT:
        assert after.cached == before.total - 1
        assert warmed.evaluated <= 1
    else:
        assert after.cached == 4
        assert warmed.evaluated == before.total - 4
    await backend.aclose()


async def test_memory_stays_what_it_was(endless: Path) -> None:
    """The embedded engine runs on, too, and three thousand tokens need no more memory than one."""
    settings = BackendSettings(kind="embedded", model=str(endless), context_tokens=N_CTX)
    backend = open_backend(settings)
    await backend.connect()
    children = psutil.Process().children()
    [child] = [
        each for each in children if "server_bridge.process.embedded_child" in each.cmdline()
    ]
    sizes = []
    for _ in range(3):
        n_pieces = 0
        async for _ in backend.continue_long(PROMPT, N_TOKENS, Sink.PROMPT):
            n_pieces += 1
        assert n_pieces > 2 * N_CTX
        sizes.append(child.memory_info().rss)
    assert sizes[2] - sizes[0] < 8 << 20
    await backend.aclose()
