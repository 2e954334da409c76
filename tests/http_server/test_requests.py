"""Bodies as the clients send them, and the answers in their shapes."""

from __future__ import annotations

from typing import Any

import pytest

from fim_lsp.http_server import dialects
from fim_lsp.http_server.dialects import AnswerLimits, ClientRequest
from fim_lsp.http_server.excerpt import Excerpt
from server_bridge.protocol import Chunk, Timings

VIM: dict[str, Any] = {
    "id_slot": 0,
    "input_prefix": "import os\n",
    "input_suffix": ")\n\nprint(x)\n",
    "input_extra": [{"text": "def f(x):\n", "time": [1, 2], "filename": "a.py"}],
    "prompt": "x = str(",
    "n_predict": 128,
    "t_max_predict_ms": 250,
    "response_fields": ["content", "timings/prompt_n", "truncated", "tokens_cached"],
}
ZETA = (
    "<[fim-suffix]>\nprint(area(2, 3))\n<[fim-prefix]><filename>edit_history\n--- a/geo.py\n+++ b/geo.py\n"
    "@@ -1 +1 @@\n-x\n+y\n\n<filename>src/geo.py\nimport math\n\n<<<<<<< CURRENT\ndef area(width, height):\n"
    "    return wid<|user_cursor|>\n\n=======\n<[fim-middle]>"
)


RING = (Chunk("a.py", "def f(x):\n"),)
EMPTY = {"input_prefix": "", "input_suffix": "", "prompt": "", "response_fields": [""]}
AT_LINE = Excerpt("import os\nx = str(", ")\n\nprint(x)\n")


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({}, ClientRequest(AT_LINE, RING)),
        ({"t_max_predict_ms": 1000}, ClientRequest(AT_LINE, RING, ahead=True)),
        (EMPTY | {"n_predict": 0}, ClientRequest(Excerpt("", ""), RING, is_warm_up=True)),
        # The line end that it puts before the first line is not in the file.
        ({"input_prefix": "\n"}, ClientRequest(AT_LINE._replace(before="x = str("), RING)),
    ],
)
def test_llama_vim(changed: dict[str, Any], asked: ClientRequest) -> None:
    """Both halves of the line and its neighbours; ahead of its user; its ring alone; at the first line."""
    assert dialects.read_infill(VIM | changed) == asked


@pytest.mark.parametrize(
    "body",
    [
        {"input_prefix": [1, 2], "input_suffix": "", "prompt": ""},
        {"prompt": [1, 2]},
        {"prompt": ""},
        {"prompt": "Once upon a time"},
    ],
)
def test_what_is_no_completion_at_a_cursor(body: dict[str, Any]) -> None:
    """Token ids, plain text to go on with: other requests."""
    read = dialects.read_infill if "input_prefix" in body else dialects.read_completion
    assert read(body) is None


def test_a_suffix_beside_the_prompt() -> None:
    """minuet's own template: two lines about the file are not of it."""
    head = "# language: python\n# indentation: use 4 spaces for a tab\n"
    asked = dialects.read_completion({"prompt": head + "def f(x):\n    ", "suffix": "\n"})
    assert asked == ClientRequest(Excerpt("def f(x):\n    ", "\n", language="python"))


def test_zeta2_is_no_completion() -> None:
    """It has the tokens of a family, but its answer takes the place of a region."""
    assert dialects.read_completion({"prompt": ZETA}) is None


def test_answers_have_the_fields_that_were_asked_for() -> None:
    """Flat names, as llama.cpp gives them; a list where several texts were asked for."""
    cost = Timings(3, 400, 5, 10.0, 20.0)
    found = dialects.write_infill(VIM, "x)", cost, "m")
    several = dialects.write_infill({"n_cmpl": 3}, "x)", cost, "m")
    assert found == {
        "content": "x)", "timings/prompt_n": 3, "truncated": False, "tokens_cached": 408,
    }  # fmt: skip
    assert isinstance(several, list)
    assert several[0]["timings"]["cache_n"] == 400


@pytest.mark.parametrize(
    ("text", "replaced", "inserted"),
    [
        ("a, b", "", "a, b"),
        ("a, b)", ")", "a, b"),
        ("a, b):\n    pass", "):", "a, b"),
        ("a\nb", ")", ""),
    ],
)
def test_a_client_that_can_only_insert(text: str, replaced: str, inserted: str) -> None:
    """What stands right of the cursor is not inserted again."""
    assert dialects.insertion(text, replaced) == inserted


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        (VIM, AnswerLimits(128, 250)),
        ({"max_tokens": 56, "stop": "\n\n"}, AnswerLimits(56, None, ("\n\n",))),
        ({"n_predict": -1, "stop": []}, AnswerLimits()),
        (
            {"max_tokens": float("nan"), "t_max_predict_ms": float("inf"), "stop": [3, ""]},
            AnswerLimits(),
        ),
        ({"max_tokens": True, "n_predict": 10**400, "stop": {}}, AnswerLimits()),
    ],
)
def test_how_long_an_answer_may_be(body: dict[str, Any], limits: AnswerLimits) -> None:
    """Nonsense is no limit: ours holds."""
    assert dialects.read_limits(body) == limits


def test_a_text_ends_before_the_first_stop() -> None:
    assert AnswerLimits(stops=("c", "b")).cut_at_stop("abc") == "a"
    assert AnswerLimits(stops=("d",)).cut_at_stop("abc") == "abc"
