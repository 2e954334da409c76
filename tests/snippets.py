"""
What the pages have users copy: blocks, and settings, commands and keys in backticks.

Pages are found, and so is what stands on them; `tests/test_snippets.py` and those in
`tests/editors` run all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
HELP = ROOT / "editors/nvim/doc/fim.txt"
PAGES = [
    ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("editors/*/README.md")), HELP,
]  # fmt: skip
# A block with its language; one without is a diagram. In the help of Neovim, `>lua` begins one.
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$|>(lua)\n(.*?)^(?=\S)", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# What of a line is in backticks, by how it begins; the first that fits. What fits none is a name, a
# key, or an example.
KINDS = (
    ("lua", r"vim\.[\w.]+( = |\()|\{ dir = |(?:fim|keys|ring) = \{|%\{v:lua|\w+ = false$"),
    ("lua name", r"vim\.[\w.]+$"),
    ("kak", r":echo %opt"),
    ("minuet", r"end_point = |api_key = "),
    ("vim", r"let g:|Plug '|:call |:Coc"),
    ("neovim command", r":(?:'<,'>)?[A-Z]\w+|:checkhealth|:help"),
    ("elisp", r"\(\w+"),
    ("toml", r'fim\.[\w.]+ = |template = "'),
    ("json", r"\{ \"|\"[\w.\[\]-]+\": "),
    ("helix", r"config = \{ fim"),
    ("sh", r"(?:\w+=\S+ )?(?:fim-lsp|sh|python3?|\.venv/bin/python|llama-server) "),
)
# A statement of a language that `KINDS` knows, where it begins otherwise: no test would run it.
STATEMENT = re.compile(r"^[\w.'\"-]+\s?(=|:) ?[\[{\"'\w]")


class Snippet(NamedTuple):
    """A piece of a page; *page* is its path in the repository, *line* counts from 1."""

    page: str
    line: int
    language: str
    text: str
    is_block: bool


def snippets_of(page: Path) -> Iterator[Snippet]:
    """Yield the blocks of *page*, and what of its lines is in backticks, with "" if of no kind."""
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT).as_posix()
    for found in FENCE.finditer(text):
        indent, fence, code, vimdoc, help_code = found.groups()
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) if code else help_code
        yield Snippet(
            name, text.count("\n", 0, found.start()) + 2, fence or vimdoc or "", code, True
        )
    lines = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in INLINE.finditer(lines):
        kind = next((kind for kind, begins in KINDS if re.match(begins, found[2])), "")
        yield Snippet(name, lines.count("\n", 0, found.start()) + 1, kind, found[2], False)


SNIPPETS = [snippet for page in PAGES for snippet in snippets_of(page)]


def each(*languages: str, page: str = "", blocks: bool | None = None) -> pytest.MarkDecorator:
    """Return the parameter `snippet`: *languages* on a *page* or all, only *blocks* or the rest."""
    chosen = [
        snippet
        for snippet in SNIPPETS
        if snippet.language in languages
        and snippet.page.startswith(page)
        and blocks in (None, snippet.is_block)
    ]
    assert chosen, languages
    return pytest.mark.parametrize("snippet", chosen, ids=[f"{s.page}:{s.line}" for s in chosen])


def completed(snippet: Snippet, stand_in: str) -> str:
    """Return the code with *stand_in* where a page leaves something to the reader (`…`)."""
    return snippet.text.replace("…", stand_in)
