"""
IPython's lines in Python: shell commands and magics as Python that names what they use; and the
languages of cells that a magic runs. Pure.

A shell command, and a magic that runs no Python, uses a variable in `{…}` and behind `$` only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fim_lsp.context.grammars import types

PYTHON = types("""
  capture debug heat lprun memit mprun prun px pyinstrument pypy python python2 python3 scalene
  snakeviz time timeit""")
"""Magics behind which stands Python."""

_LANGUAGES = {
    "bash": "shellscript", "cmd": "bat", "css": "css", "html": "html", "javascript": "javascript",
    "js": "javascript", "latex": "latex", "markdown": "markdown", "md": "markdown",
    "perl": "perl", "r": "r", "ruby": "ruby", "sh": "shellscript", "sql": "sql", "svg": "html",
}  # fmt: skip
_CELL = re.compile(r"\s*%%(!|\w+)")
_LINE = re.compile(r"(?P<before>\s*+(?:[\w,][\w, ]*=\s*+)?)(?P<mark>!|%%?(?P<magic>[^\W\d]\w*))")
_USE = re.compile(r"\{\{|\}\}|\{(?P<code>[^{}]+)\}|\$(?P<name>[^\W\d]\w*)")


def language_of_cell(language: str, text: str) -> str:
    """Return the language of a notebook's cell: that of the program that its first line runs."""
    magic = _CELL.match(text) if language == "python" else None
    if magic is None or magic[1] in PYTHON:
        return language
    return _LANGUAGES.get(magic[1].lower(), "plaintext")


def read_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return *lines* with those of IPython as Python, in which the names keep their columns."""
    return [_read(line) for line in lines]


def _read(line: str) -> str:
    match = _LINE.match(line)
    if match is None:
        return line
    rest = line[match.end() :]
    if match["magic"] not in PYTHON:
        kept = ""
        end = 0
        for use in _USE.finditer(rest):
            code = use["code"] or use["name"]
            kept += " " * (use.start() - end) + (f";{code}" if code else "")
            kept = kept.ljust(use.end())
            end = use.end()
        rest = kept
    mark = "0;".ljust(len(match["mark"]))[: len(match["mark"])]
    return f"{match['before']}{mark}{rest}"
