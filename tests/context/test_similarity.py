"""What holds for the similarity of any two texts, and what it says of typical ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.chunks import SAME, similarity

LINES = ["", "def f(x):", "    return x", "for i in y:", "    x += 1", "print(x, y)", "}", "好 = 1"]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(LINES)).map("\n".join)


@given(TEXTS, TEXTS)
def test_symmetric_and_bounded(a: str, b: str) -> None:
    """Similarity lies in [0, 1], and does not depend on the order."""
    assert 0.0 <= similarity(a, b) == similarity(b, a) <= 1.0


@given(TEXTS)
def test_spacing_makes_no_difference(text: str) -> None:
    """A text is wholly like itself, indented or not."""
    indented = "\n".join("    " + line + "  " for line in text.split("\n"))
    assert similarity(text, indented) == 1.0


def test_no_line_and_no_word_in_common_is_zero() -> None:
    """Different code is told apart, whatever braces it shares."""
    assert similarity("alpha(beta)", "gamma[delta]") == 0.0


def test_a_light_edit_is_the_same_piece_and_a_rewrite_is_not() -> None:
    """One changed line in twenty is still the same chunk; half of them are not."""
    lines = [f"name_{n} = call_{n}(arg_{n})" for n in range(20)]
    light = "\n".join(["name_0 = call_0(other)", *lines[1:]])
    half = "\n".join(lines[:10] + [f"new_{n}()" for n in range(10)])
    assert similarity("\n".join(lines), half) < SAME <= similarity("\n".join(lines), light)
