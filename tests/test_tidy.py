"""
The architecture and the habits, as a test.

The code map in docs/ARCHITECTURE.md is the reading order: a module imports only what stands above it
there, so the arrows cannot turn around. `ONLY` says which modules may touch the outside world.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from fim_lsp import __version__

ROOT = Path(__file__).parent.parent
CONTRACT = {
    "server_bridge.protocol", "server_bridge.machine.addresses", "server_bridge.machine.executables", "server_bridge.machine.owners",
    "server_bridge.machine.private_files", "server_bridge.machine.sockets", "server_bridge.weights.table", "server_bridge.fim.reading",
}  # fmt: skip

# Folders of decisions: values in, values out.
PURE = (
    "server_bridge.fim", "fim_lsp.context", "fim_lsp.prompt", "fim_lsp.quiet", "fim_lsp.suggest", "fim_lsp.next_edit",
    "fim_lsp.instruct",
)  # fmt: skip
IMPURE = {
    "asyncio", "threading", "concurrent", "time", "random", "os", "io", "shutil", "tempfile", "socket",
    "subprocess", "httpx", "logging",
}  # fmt: skip

ONLY = {
    "asyncio": {"fim_lsp.model_files", "fim_lsp.session", "fim_lsp.workspace", "fim_lsp.lsp", "fim_lsp.http_server", "fim_lsp.cli", "server_bridge"},
    "h11": {"fim_lsp.http_server.connections", "server_bridge.http.plain"},
    "httpx": {"server_bridge.http.client", "server_bridge.http.plain", "server_bridge.weights.download"},
    "lsprotocol": {"fim_lsp.lsp.types", "fim_lsp.cli"},
    "pygls": {
        "fim_lsp.lsp.rpc", "fim_lsp.lsp.messages", "fim_lsp.lsp.editor", "fim_lsp.lsp.offer",
        "fim_lsp.lsp.commands",
        "fim_lsp.lsp.server", "fim_lsp.cli",
    },
    "subprocess": {"server_bridge.machine.executables", "fim_lsp.cli.service"},
    "xllamacpp": {"server_bridge.process.embedded_child"},
    "server_bridge": {"fim_lsp.__main__", "fim_lsp.model_files", "fim_lsp.model_server"},
    "fim_lsp": set[str](),
    "time": {
        "fim_lsp.session.open_documents", "fim_lsp.session.completer", "fim_lsp.session.session", "fim_lsp.lsp.server", "fim_lsp.cli",
        "server_bridge",
    },
    "random": set[str](),
}  # fmt: skip


def code_map() -> list[str]:
    """Every module and folder the map names, dotted, in its order; a folder's modules follow its row."""
    text = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8").partition("## Code map")[2]
    tables: dict[str, list[str]] = {}
    for heading, body in re.findall(
        r"### `([\w/]+)`.*\n((?:(?!#+ ).*\n)*)", text.partition("\n## ")[0]
    ):
        tables[heading] = re.findall(r"^\| `(\w+/?)` \|", body, re.MULTILINE)
    order: list[str] = []

    def take(folder: str) -> None:
        for row in tables.pop(folder):
            order.append(f"{folder}/{row}".rstrip("/").replace("/", "."))
            if row.endswith("/"):
                take(f"{folder}/{row[:-1]}")

    take("server_bridge")
    take("fim_lsp")
    assert not tables, f"not in the table of their package: {[*tables]}"
    return order


ORDER = code_map()
PATHS = [
    path
    for package in ("server_bridge", "fim_lsp")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "sample" not in path.parts
]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """Every module *path* imports, dotted; of our own packages the module, not what it holds."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            inner = {f"{module}.{alias.name}" for alias in node.names}
            found |= (inner & {*ORDER}) or {module}
    return found


def inside(module: str, names: set[str] | tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


def test_the_map_names_every_module_once() -> None:
    """ARCHITECTURE's map is complete, and names nothing that is not there."""
    ours = {name_of(path) for path in PATHS} - {"server_bridge", "fim_lsp"}

    assert sorted(ORDER) == sorted(ours)


@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_imports_point_up_the_map(path: Path) -> None:
    """No cycles, no back doors, no second HTTP client; inside folders, too."""
    module = name_of(path)
    for name in imports(path) - CONTRACT - {module.split(".")[0]}:
        root = name.split(".")[0]
        if root == module.split(".")[0]:
            assert ORDER.index(name) < ORDER.index(module), f"{module} imports {name}"
        elif root in ONLY:
            assert inside(module, ONLY[root]), f"{module} imports {name}"


@pytest.mark.parametrize("path", [p for p in PATHS if inside(name_of(p), PURE)], ids=name_of)
def test_pure_folders_only_compute(path: Path) -> None:
    """No I/O, no clock, no `async` where decisions are made."""
    tree = ast.parse(path.read_text("utf-8"))
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)

    assert not {name.split(".")[0] for name in imports(path)} & IMPURE
    assert not [node for node in ast.walk(tree) if isinstance(node, waiting)]
    assert not re.search(r"\bopen\(|\.(read|write)_(text|bytes)\(", path.read_text("utf-8"))


@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_every_module_says_what_it_is_for_and_stays_short(path: Path) -> None:
    """A module opens with a docstring and can be read in one go."""
    source = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), path
    assert len(source.splitlines()) <= 400, path


REFUSED = r"nobody|whoever|somebody|anew|whither|he|him|his|himself"
# Text that is not ours: models, licences, lock files, code of tests and of the demo, git histories.
NOT_PROSE = (
    "LICENSE", "NOTICE", "tests/suggest/golden/", "tests/context/units/", "fim_lsp/cli/sample/",
    "editors/vscode/package-lock.json", "training/manifest.json", ".gguf", ".gz", ".svg", ".png",
    "CONTRIBUTING.md", "tests/test_tidy.py",  # they quote the words
)  # fmt: skip


def files_of_git() -> list[str]:
    """The paths that git keeps, or none where this is no checkout."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines()
    return [name for name in names if not any(part in name for part in NOT_PROSE)]


def test_the_english_is_plain() -> None:
    """Code, documentation and messages name an actor: a request, the user, a client, a server."""
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in files_of_git()
        if (ROOT / name).exists()  # or it is deleted, but not committed yet
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1)
        if re.search(rf"\b({REFUSED})\b", line, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


def test_the_version_is_the_same_everywhere() -> None:
    """`fim_lsp.__version__` is the source; the extension's own files repeat it."""
    for name in ("package.json", "package-lock.json"):
        manifest = json.loads((ROOT / "editors/vscode" / name).read_text("utf-8"))
        assert manifest["version"] == __version__, name


NO_TEST = "**no test yet**"
ABSOLUTE = r"\b(never|nobody|nothing|none|no one|no others?|no web page|always|everything|alone)\b"
FINDINGS = {f"1.{n}" for n in range(1, 29)} | {f"2.{n}" for n in range(1, 11)}


def test_the_tests_that_security_names_exist() -> None:
    """Every promise of SECURITY.md, and every row of its map, has tests that are there, or says that it has none."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = re.findall(r"^\| .* \| (.*) \|$", text, re.MULTILINE)
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert named or row in ("tests", NO_TEST), row
        assert len(named) == row.count("`tests/"), row
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text + _privacy())
    for path, function in named:
        end = r"\(" if function else ""
        assert re.search(rf"def {function}{end}", (ROOT / path).read_text("utf-8")), (
            path,
            function,
        )


def test_every_finding_stands_in_the_map() -> None:
    """Those of both reviews, by number, each in a row with its tests."""
    table = (ROOT / "SECURITY.md").read_text("utf-8").partition("## What is trusted")[2]
    cells = re.findall(r"^\| .* \| ([^|]*) \| [^|]* \|$", table, re.MULTILINE)
    assert {*re.findall(r"\d\.\d+", " ".join(cells))} == FINDINGS


def test_absolute_words_stand_beside_a_test() -> None:
    """In SECURITY.md and docs/privacy.md "never" and its like are claims: the line names what attacks them."""
    text = (ROOT / "SECURITY.md").read_text("utf-8") + _privacy()
    claims = [line for line in text.splitlines() if re.search(ABSOLUTE, line, re.IGNORECASE)]
    assert [line for line in claims if "`tests/" not in line] == []


def _privacy() -> str:
    return (ROOT / "docs/privacy.md").read_text("utf-8")
