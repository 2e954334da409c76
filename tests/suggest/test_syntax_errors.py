"""What the user has not closed yet is no error; what the lines below close is closed once."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.cursor import Cursor
from fim_lsp.suggest.syntax_errors import SyntaxErrors


@pytest.mark.parametrize(
    ("language", "above", "here", "below"),
    [
        ("typescript", ("class Cart {", "  total() {"), "    if (a) {", ("}",)),
        ("typescript", ("class Cart {", "  total() {"), "    if (a) {", ("  }", "}")),
        ("typescript", ("class Cart {", "  total() {"), "    return 1", ("  }", "}")),
        ("python", ("x = f(", "    1,"), "    2,", ("y = 1",)),
        ("python", ("x = f(", "    1,"), "    2,", (")",)),
        ("lua", ("function f(a)", "  if a then"), "    return 1", ("end",)),
        ("lua", ("function f(a)",), "  return 1", ("", "function g() end")),
        ("shellscript", (), "if ! $FORCE; then", ()),
        ("sh", ("for f in *; do", '  if [ -f "$f" ]; then'), "    rm $f", ()),
        ("sh", ("while x; do", "  if y; then", "    z", "  else"), "    a", ("done",)),
        ("bash", ("f() {", "  case $1 in"), "    -h)", ("}",)),
    ],
)
def test_code_that_is_typed_line_by_line(
    language: str, above: tuple[str, ...], here: str, below: tuple[str, ...]
) -> None:
    """No line has an error."""
    cursor = Cursor(language=language, above=above, before=here, after="", below=below)
    assert SyntaxErrors(cursor).n(here) == 0
