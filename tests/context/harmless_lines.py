"""
Lines that hold no secret: listed, generated, and of real code.

Real code is that of `tests.real_code`.

What counts as harmless is what a user would want a model to read: code about secrets, look-ups,
references to variables, hashes of public things, and values that say of themselves that they are
placeholders. A literal such as `password = "hunter2"` is in neither set.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from tests import real_code
from tests.context.shapes import Maker

ROOT = Path(__file__).parents[2]
FORM = re.compile(r"\{([dhHAkwuqb]\d+)\}")  # in a template, see `Maker.made`
TELLING = re.compile(r"(?i)key|token|secret|passw|pwd|cred|auth|://|bearer|\bpass\b")

EACH = 12
OURS = {".py", ".md", ".ts", ".js", ".json", ".lua", ".toml", ".el", ".rs"}
MUCH = 200_000  # characters of a file that no user opens


def listed() -> list[str]:
    """Code and prose about secrets in languages and formats that no installed package has."""
    return Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()


def generated() -> list[str]:
    """Hashes, ids and data of every kind that lock files, pages and style sheets hold."""
    maker = Maker(5)
    templates = Path(__file__).with_name("generated_lines.txt").read_text("utf-8").splitlines()
    return [
        FORM.sub(lambda form: maker.made(form[1]), template)
        for template in templates
        for _ in range(EACH)
    ]


def documented(section: str) -> list[str]:
    """Return the lines of a *section* of what formats and tools show in their own documentation."""
    maker = Maker(64)
    templates = Path(__file__).with_name("documented_lines.txt").read_text("utf-8").splitlines()
    rows = (line.partition("|") for line in templates)
    return [
        FORM.sub(lambda form: maker.made(form[1]), text.replace("\\n", "\n"))
        for named, _, text in rows
        if named == section
    ]


def telling() -> list[str]:
    """Of the lines of packages, those with a word the rules look for."""
    lines = (line for path in real_code.paths() for line in path.read_text("utf-8").splitlines())
    return list(dict.fromkeys(line for line in lines if TELLING.search(line)))


def files(n_lines: int) -> Iterator[str]:
    """Whole files that people wrote, chosen by chance, until they have so many lines."""
    paths = real_code.paths()
    random.Random(11).shuffle(paths)
    for path in paths:
        text = path.read_text("utf-8")
        if len(text) < MUCH:
            yield text
            n_lines -= text.count("\n")
        if n_lines < 0:
            return


def own() -> list[str]:
    """Return the lines of this repository's programs, documents and lock files."""
    found: dict[str, None] = {}
    for folder in ("fim_lsp", "server_bridge", "docs", "editors", "benchmarks", "training"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in OURS and "node_modules" not in path.parts:
                found |= dict.fromkeys(path.read_text("utf-8", "replace").splitlines())
    return [line for line in found if line.strip()]
