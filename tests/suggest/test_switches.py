"""Where no suggestions come by themselves: the user's list, and prompts."""

from __future__ import annotations

import time

import pytest

from fim_lsp.suggest.reasons import End, Outcome
from fim_lsp.suggest.why import why_disabled

A = "file:///home/me/shop/docs/cart.py"


@pytest.mark.parametrize(
    ("entries", "language", "path", "last"),
    [
        ((), "python", "docs/cart.py", ""),
        (("python",), "python", "docs/cart.py", "python"),
        (("*.py",), "python", "docs/cart.py", "*.py"),
        (("docs/",), "python", "docs/cart.py", "docs/"),
        (("docs",), "python", "docs/cart.py", ""),  # a language of that name
        (("/cart.py",), "python", "docs/cart.py", ""),
        (("docs/**/cart.*",), "python", "docs/cart.py", "docs/**/cart.*"),
        (("*.*", "!python"), "python", "docs/cart.py", ""),
        (("!python", "*.*"), "python", "docs/cart.py", "*.*"),
        (("", "!", "[", "*" * 1000), "c++", "a", "*" * 1000),
    ],
)
def test_the_last_entry_that_names_a_file_counts(
    entries: tuple[str, ...], language: str, path: str, last: str
) -> None:
    """Languages by their names, files as in a .gitignore; `!` takes one back."""
    end = End(Outcome.DISABLED, last) if last else None
    assert why_disabled(entries, A, language, path) == end


@pytest.mark.parametrize(
    ("uri", "language"),
    [
        ("vscode-scm:git/scm0/input", "scminput"),
        ("chatSessionInput:input-0", "plaintext"),
        ("file:///tmp/x", "TelescopePrompt"),
        ("comment:thread", "markdown"),
    ],
)
def test_prompts_get_none(uri: str, language: str) -> None:
    """A commit message, a chat and a picker are no code; no entry takes that back."""
    assert why_disabled(("!*",), uri, language, "x") == End(Outcome.IN_PROMPT)


@pytest.mark.timed
def test_a_long_list_of_a_project_costs_no_key_its_time() -> None:
    """It is gone through once for a file, however many keys are typed there."""
    entries = tuple(f"*{n}z*" for n in range(2_000))
    path = "/".join(["folder"] * 20) + "/cart.py"
    assert why_disabled(entries, A, "python", path) is None
    start = time.thread_time()
    for _ in range(100):
        assert why_disabled(entries, A, "python", path) is None
    assert time.thread_time() - start < 0.5
