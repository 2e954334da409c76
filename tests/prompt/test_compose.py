"""The prompt for a cursor, and the sizes of its parts."""

from __future__ import annotations

import dataclasses

import pytest

from fim_lsp.documents import Position, open_document
from fim_lsp.prompt.frame import Frame, Header, budget, compose, ring_chars
from fim_lsp.prompt.window import Window, place_window
from fim_lsp.settings.config import Config
from server_bridge.protocol import Chunk, Health, State

HEADER = Header("shop", (Chunk("b.py", "rate = 3\n"),), "a.py")
FRAME = Frame(HEADER, Window(0, 1, "import b\n", "\nprint(x)\n"))
READY = State(Health.READY, "llama-server", n_ctx=12_000, chars_per_token=3.0)


def test_the_half_typed_word_is_forced_and_not_shown() -> None:
    """It stays out of the middle, so it never enters the backend's cache."""
    prompt = compose(FRAME, "x = b.ra")
    assert (prompt.middle, prompt.forced) == ("x = b", ".ra")
    assert (prompt.prefix, prompt.suffix) == ("import b\n", "\nprint(x)\n")


def test_a_prompt_grows_by_what_is_typed() -> None:
    """From key to key nothing changes but the end of the middle."""
    first, second = (compose(FRAME, typed) for typed in ("x = b", "x = b.rate"))
    assert dataclasses.replace(second, middle=first.middle, forced=first.forced) == first
    assert second.middle.startswith(first.middle)


@pytest.mark.parametrize(
    ("n_ctx", "prefix", "suffix"), [(0, 682, 256), (600, 100, 50), (1_000_000, 1024, 256)]
)
def test_a_window_takes_no_more_than_a_share_of_a_small_context(
    n_ctx: int, prefix: int, suffix: int
) -> None:
    """A sixth and a twelfth of it, or what the settings say; 4096 tokens are assumed at first."""
    sizes = budget(Config(), dataclasses.replace(READY, n_ctx=n_ctx, chars_per_token=1.0))
    assert (sizes.prefix, sizes.suffix) == (prefix, suffix)


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("/m/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "a = 1\nb = 2\n"),
        ("qwen2.5-coder:latest", "a = 1\nb = 2\n"),  # of 7B
        ("bartowski/Qwen2.5.1-Coder-7B-Instruct-GGUF", "a = 1\nb = 2\n"),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", ""),
        ("Qwen2.5-Coder-Instruct-0_5B", ""),
        ("Qwen3-Coder-30B-A3B", ""),
    ],
)
def test_lines_above_the_cursor_end_the_prompt_of_models_that_gain_by_it(model: str, prefix: str):
    """Of the others, the middle begins with the cursor's line."""
    document = open_document("file:///a.py", "python", 1, "a = 1\nb = 2\nc = \n")
    sizes = budget(Config(), dataclasses.replace(READY, model=model))
    window = place_window(document, Position(2, 4), sizes, None)
    assert (window.prefix, window.anchor) == (prefix, 2 if prefix else 0)


def test_the_ring_has_what_the_largest_window_leaves() -> None:
    """In characters, by the context; none where that is too small."""
    assert 0 < ring_chars(Config(), READY) < 3 * 12_000
    assert ring_chars(Config(), dataclasses.replace(READY, n_ctx=300)) == 0


@pytest.mark.promise("secrets-are-replaced")
def test_a_secret_in_a_name_is_redacted() -> None:
    """Of the workspace and the file; of a file with such a name there is no chunk."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    header = Header(f"{key}-shop", (), f"src/{key}.py")
    prompt = compose(Frame(header, FRAME.window), "x = ")
    assert key not in repr(prompt)
    assert prompt.path.startswith("src/")
