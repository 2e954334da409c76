"""A model's answer into the block of code in it, while it is written and at its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.instruct.blocks import (
    NO_BLOCK,
    PATCH,
    SEVERAL,
    UNCLEAR,
    find_block,
    is_left_open,
    longest_fence,
)

OLD = ("x = 0",)
TEXT = ("Run it:", "", "```sh", "make", "```", "", "Then look.")
INNER = "Run it:\n\n```sh\nmake all\n```\n\nThen look."
BARE = INNER.replace("```sh", "```")


@pytest.mark.parametrize(
    ("said", "lines", "is_whole"),
    [
        ("```python\nx = 1\n", ("x = 1",), False),
        ("```python\nx = 1\ny", ("x = 1",), False),  # a line that is not whole is none yet
        ("```python\nx = 1\n```", ("x = 1",), False),  # it may become the beginning of another
        ("```python\nx = 1\n```\n", ("x = 1",), True),
        ("```python\nx = 0\n```\n", ("x = 0",), False),  # the old lines, the new ones may follow
        ("Here:\n```py\nx = 1\n```\n", ("x = 1",), False),  # words may introduce several
        ("<think>\nx\n</think>\n```\nx = 1\n```\n", ("x = 1",), True),
        ("<think>\n```\ny = 1\n```\n", (), False),
        ("x = 1\n", (), False),
        ("```python\n\n\nx = 1\n\n```\n", ("x = 1",), True),
        ("```python\nx = 1\n```sh\n", ("x = 1", "```sh"), False),
    ],
)
def test_the_lines_of_a_block_as_they_come(
    said: str, lines: tuple[str, ...], *, is_whole: bool
) -> None:
    """No more is waited for once an answer that begins with its block has ended it."""
    assert find_block(said, OLD)[:2] == (lines, is_whole)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (f"```markdown\n{INNER}\n```", INNER),
        (f"```markdown\n{BARE}\n```", BARE),
        (f"```\n{INNER}\n```", INNER),
        (f"````\n{BARE}\n````\nI added all.", BARE),
        (f"~~~markdown\n{BARE}\n~~~", BARE),
        (f"Here it is:\n\n```md\n{INNER}\n```\n\nI added all.", INNER),
        (f"```markdown\n{INNER}\n", INNER),  # not closed
        (f"1. So:\n\n   ```markdown\n{INNER}\n   ```", INNER),
        (f"<think>\n```\nno\n```\n</think>\n```markdown\n{INNER}\n```", INNER),
        (f"Let me see.\n```\nno\n```\nNo.\n</think>\n\n```markdown\n{INNER}\n```", INNER),
        (f"```markdown\n{INNER}\n```\nI ran:\n```sh\nmake all\n```", INNER),
        ("```markdown\nRun `make`.\n```", "Run `make`."),
    ],
)
def test_the_block_of_a_text_with_fences(said: str, expected: str) -> None:
    """It goes to the fence that ends it, whatever stands in it and around it."""
    assert find_block(said, TEXT, "markdown", ended=True) == (
        tuple(expected.split("\n")), not said.endswith("look.\n"), "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (INNER, UNCLEAR),  # the text itself
        (BARE, UNCLEAR),
        (f"Sure.\n{INNER}", UNCLEAR),
        ("```sh\nmake all\n```", UNCLEAR),
        ("Run this:\n```\nmake all\n```\nand that.", UNCLEAR),
        ("```diff\n-make\n+make all\n```", PATCH),
        ("Run make all.", NO_BLOCK),
        ("", NO_BLOCK),
        ("<think>\nhm\n```markdown\nno\n```", NO_BLOCK),
    ],
)
def test_an_answer_that_can_be_read_otherwise_is_none(said: str, why: str) -> None:
    """A part of it in place of all would lose the rest."""
    assert find_block(said, TEXT, "markdown", ended=True).why == why


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Sure! Here it is:\n\n```py\nx = 1\n```\nI made it 1.", "x = 1"),
        ("```\nx = 1\n  ```", "x = 1"),
        ("```\nx = 1\n  ```\nThere.", "x = 1"),
        ("```python\nx = 0\n```\nbecomes\n```python\nx = 1\n```", "x = 1"),
        ("```python\nx = 1\n```\nUse it so:\n```python\nprint(x)\n```", "x = 1"),
        (
            '```python\nx = """\n    ```sh\n    a\n    ```\n"""\n```',
            'x = """\n    ```sh\n    a\n    ```\n"""',
        ),
        ('```python\nx = """\n```sh\na\n```\n"""\n```', 'x = """\n```sh\na\n```\n"""'),
        ("```python\nx = '</think>'\n```", "x = '</think>'"),
        ("Here:\n```python\nx = '</think>'\n```", "x = '</think>'"),
        ('```python title="a.py"\nx = 1\n```', "x = 1"),
        ("    ```python\n    x = 1\n    ```", "    x = 1"),
        ("Use ```x``` so:\n```\nx = 1\n```", "x = 1"),
    ],
)
def test_the_block_of_code(said: str, expected: str) -> None:
    """Whatever is said around it."""
    assert find_block(said, OLD, "python", ended=True).lines == tuple(expected.split("\n"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("First:\n```python\nimport os\n```\nThen:\n```python\nx = os.sep\n```", SEVERAL),
        ("x = 0\n```python\ny = 1\n```", UNCLEAR),
        ("```diff\n-x = 0\n+x = 1\n```", PATCH),
        ("x = 1", NO_BLOCK),
    ],
)
def test_pieces_are_no_answer(said: str, why: str) -> None:
    """One of several blocks in place of the selection would lose lines."""
    assert find_block(said, ("x = 0",), "python", ended=True).why == why


def test_an_empty_block_is_a_block() -> None:
    """It may be what was asked for."""
    assert find_block("```\n\n```", OLD, ended=True) == ((), True, "")


@pytest.mark.parametrize(
    ("text", "longest", "is_open"),
    [
        ("a", 0, False),
        ("```\na\n```", 3, False),
        ("````\n```\na", 4, True),
        ("~~~\n```\n~~~", 3, False),
        ("```\na\n```sh", 3, True),  # words end no block
        ("x = '```'", 0, False),
    ],
)
def test_the_fences_of_a_text(text: str, longest: int, *, is_open: bool) -> None:
    """As CommonMark defines them."""
    lines = text.split("\n")
    assert (longest_fence(lines), is_left_open(lines)) == (longest, is_open)


SAID = st.lists(
    st.sampled_from(["```", "```py", "````", "~~~", "x = 1", "", "<think>", "  ```", "y"]),
    max_size=12,
)  # fmt: skip


@given(SAID, st.sampled_from(["python", "markdown"]))
def test_what_is_whole_stays(said: list[str], language: str) -> None:
    """An answer that is not read to its end has the lines that it would have then."""
    text = "\n".join(said)
    for end in range(len(text) + 1):
        found = find_block(text[:end], OLD, language)
        if found.is_whole:
            assert find_block(text, OLD, language, ended=True)[:2] == found[:2]
