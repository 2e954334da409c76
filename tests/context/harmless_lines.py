"""
Lines that hold no secret: listed, generated, and of real code that stands on every machine.

What counts as harmless is what a user would want a model to read: code about secrets, look-ups,
references to variables, hashes of public things, and values that say of themselves that they are
placeholders. A literal such as `password = "hunter2"` is in neither set.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import _pytest
import httpx
import pygls
import urllib3

from tests.context.secret_maker import ALNUM, BASE36, HEX, URLSAFE, Maker

ROOT = Path(__file__).parents[2]
TELLING = re.compile(r"(?i)key|token|secret|passw|pwd|cred|auth|://|bearer|\bpass\b")

GENERATED = {
    "npm integrity": lambda m: f'      "integrity": "sha512-{m.base64(64)}",',
    "pip hash": lambda m: f"    --hash=sha256:{m.of(HEX, 64)} \\",
    "cargo checksum": lambda m: f'checksum = "{m.of(HEX, 64)}"',
    "go.sum": lambda m: f"golang.org/x/net v0.{m.digits(2)}.0 h1:{m.base64(32)}",
    "yarn": lambda m: f'  resolved "https://registry.yarnpkg.com/ms/-/ms-2.1.3.tgz#{m.of(HEX, 40)}"',
    "poetry": lambda m: f'    {{file = "ms-2.1.3-py3-none-any.whl", hash = "sha256:{m.of(HEX, 64)}"}},',
    "nix": lambda m: f'  sha256 = "{m.of(BASE36, 52)}";',
    "sri": lambda m: f'<script src="a.js" integrity="sha384-{m.base64(48)}"></script>',
    "git sha": lambda m: f"Merge commit '{m.of(HEX, 40)}' into main",
    "action": lambda m: f"      - uses: actions/checkout@{m.of(HEX, 40)} # v4",
    "image": lambda m: f"FROM python:3.12@sha256:{m.of(HEX, 64)}",
    "uuid": lambda m: f'  "id": "{m.uuid()}",',
    "guid": lambda m: f'[Guid("{m.uuid()}")]',
    "uuid key": lambda m: f'<Row key="{m.uuid()}" />',
    "data uri": lambda m: f"  background: url(data:image/png;base64,{m.base64(60)});",
    "font": lambda m: f"src:url(data:font/woff2;base64,{m.base64(90)})format('woff2')",
    "etag": lambda m: f'ETag: W/"{m.of(HEX, 32)}"',
    "chunk": lambda m: f'<script src="/static/js/main.{m.of(HEX, 8)}.js"></script>',
    "css module": lambda m: f".Button_root__{m.of(ALNUM, 5)} {{ color: #{m.of(HEX, 6)}; }}",
    "minified": lambda m: f"function {m.of(ALNUM, 2)}(e,t){{return e.{m.of(ALNUM, 3)}||(e.{m.of(ALNUM, 2)}=t)}}",
    "bytes": lambda m: f"    0x{m.of(HEX, 2)}, 0x{m.of(HEX, 2)}, 0x{m.of(HEX, 2)}, 0x{m.of(HEX, 2)},",
    "colour": lambda m: f'  "accent": "#{m.of(HEX, 6)}",',
    "video": lambda m: f"https://www.youtube.com/watch?v={m.of(URLSAFE, 11)}",
    "sheet": lambda m: f"https://docs.google.com/spreadsheets/d/{m.of(URLSAFE, 44)}/edit",
    "public key": lambda m: f'public_key = "{m.base64(32)}"',
    "subresource": lambda m: f'"fingerprint": "{m.of(HEX, 40)}"',
    "test id": lambda m: f'data-testid="row-{m.of(BASE36, 9)}"',
    "migration": lambda m: f"revision = '{m.of(HEX, 12)}'",
    "svg": lambda m: f'<path d="M{m.digits(2)}.{m.digits(2)} {m.digits(2)}c0-1.1.9-2 2-2h{m.digits(2)}z"/>',
    "version": lambda m: f'"version": "1.{m.digits(2)}.{m.digits(1)}-beta.{m.digits(1)}"',
}  # fmt: skip
EACH = 12
WRITTEN = {".py", ".pyi", ".js", ".ts", ".c", ".h", ".toml"}
MUCH = 200_000  # characters of a file that no user opens


def listed() -> list[str]:
    """Code and prose about secrets in languages and formats that no installed package has."""
    return Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()


def generated() -> list[str]:
    """Hashes, ids and data of every kind that lock files, pages and style sheets hold."""
    maker = Maker(5)
    return [make(maker) for make in GENERATED.values() for _ in range(EACH)]


def telling() -> list[str]:
    """Of the lines of the standard library and of packages, those with a word the rules look for."""
    found = dict.fromkeys(line for line in _library() if TELLING.search(line))
    return list(found)


def files(n_lines: int) -> Iterator[str]:
    """Whole files that people wrote, chosen by chance, until they have so many lines."""
    folders = (Path(os.__file__).parent, Path(httpx.__file__).parent.parent)
    paths = sorted(
        {path for folder in folders for path in folder.rglob("*") if path.suffix in WRITTEN}
    )
    random.Random(11).shuffle(paths)
    for path in paths:
        text = path.read_text("utf-8", "replace")
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
            wanted = path.suffix in {
                ".py",
                ".md",
                ".ts",
                ".js",
                ".json",
                ".lua",
                ".toml",
                ".el",
                ".rs",
            }
            if wanted and "node_modules" not in path.parts:
                found |= dict.fromkeys(path.read_text("utf-8", "replace").splitlines())
    return [line for line in found if line.strip()]


def _library() -> Iterator[str]:
    files = sorted(Path(os.__file__).parent.glob("*.py"))
    for folder in ("asyncio", "email", "http", "json", "logging", "urllib", "xml", "sqlite3"):
        files += sorted((Path(os.__file__).parent / folder).rglob("*.py"))
    for package in (_pytest, httpx, pygls, urllib3):
        files += sorted(
            Path(package.__path__[0] if hasattr(package, "__path__") else "").rglob("*.py")
        )
    for path in files:
        yield from path.read_text("utf-8", "replace").splitlines()
