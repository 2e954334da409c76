"""The instruments: llama.vim's prompt and the figures."""

from __future__ import annotations

import pytest

from benchmarks import metrics
from benchmarks.clients import Answer, llama_vim
from benchmarks.deployment.wire import Call
from benchmarks.figures import row, table
from benchmarks.traces import Step, Trace
from fim_lsp.documents import Position, open_document
from server_bridge.protocol import Chunk

DOCUMENT = open_document("file:///a.py", "python", 1, "".join(f"line {n}\n" for n in range(1000)))
RING = (Chunk("b.py", "def b():\n    line\n"),)


@pytest.mark.parametrize("position", [Position(0, 6), Position(500, 8), Position(1000, 0)])
def test_llama_vim_is_shown_the_text_around_the_cursor(position: Position) -> None:
    """Text left and right of the cursor is in every prompt, in this order."""
    question = llama_vim(DOCUMENT, position, RING)
    assert question is not None
    if position.line > 0:
        assert f"line {position.line - 1}\n" in question["input_prefix"]
    if position.line < 999:
        assert f"line {position.line + 1}\n" in question["input_suffix"]


def test_llama_vim_is_silent_before_text() -> None:
    """It sends nothing with more than eight bytes right of the cursor."""
    document = open_document("file:///a.py", "python", 1, "a = b + long_name\n")
    assert llama_vim(document, Position(0, 0), ()) is None


def call(evaluated: int, *, background: bool = False) -> Call:
    return Call(
        0, background=background, started=0, ended=1, evaluated=evaluated, cached=0, predicted=1,
        prompt=[], made=[],
    )  # fmt: skip


def test_figures_count_every_request_of_a_completion() -> None:
    """Bursts of one completion add up, the background is counted apart, hits do not enter medians."""
    step = Step("key", 80.0, (), "u", Position(0, 0), key=True, asks=True)
    calls = [call(5), call(1), call(1), call(30, background=True)]
    answers = [Answer(0, "shown", 10.0), Answer(1, "shown", 0.1)]
    more = {"n_posts": 4, "server_total": 37, "mirror": {}}
    measured_row = row(Trace("t", [step, step]), "ours", calls, answers, **more)
    assert (measured_row.evaluated, measured_row.background, measured_row.per_key) == ([7], 30, 3.5)
    assert "| ours | 7 | 7 | 7.0 | 7 | 3.5 | 3.5 | 30 | 0.50 | 100% |" in table([measured_row])


VLLM = """\
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="a b"} 1.2e+03
vllm:prompt_tokens_total{engine="1",model_name="a b"} 300.0
vllm:prompt_tokens_cached_total{engine="0",model_name="a b"} 900.0
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 600.0
"""


@pytest.mark.parametrize(
    ("text", "n"),
    [
        (VLLM, 600), ("llamacpp:prompt_tokens_total 41\nllamacpp:prompt_seconds_total 0.5\n", 41),
        ('sglang:prompt_tokens_total{m="x"} 9.0\nsglang:cached_tokens_total{m="x"} 2.0\n', 7),
        ("", metrics.UNKNOWN), ('{"detail": "Not Found"}', metrics.UNKNOWN),
    ],
)  # fmt: skip
def test_servers_count_what_they_evaluate(text: str, n: int) -> None:
    """Prompt tokens less those that were reused, over all engines of a server."""
    assert metrics.count_evaluated(text) == n
