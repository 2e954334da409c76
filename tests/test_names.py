"""Names and paths in docstrings, comments and documentation are those of the code."""

from __future__ import annotations

import ast
import builtins
import functools
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.test_tidy import PATHS, ROOT, parsed

PACKAGES = ("fim_lsp", "server_bridge")

# `module.name`, `Class.attribute`, `folder/module`: what is in backticks.
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
SHORT_PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)+(?:\.py)?)`")
# What begins with a folder of the repository is one of its paths, in backticks or not.
FOLDERS = (
    r"\.ci|benchmarks|deploy|docs|editors|fim_lsp|packaging|scripts|server_bridge|tests|training"
)
PATH = re.compile(rf"(?<![\w./~*-])(?<!\]\()((?:{FOLDERS})/[\w./-]*[\w/])(?![\w*-])")
# What a command makes, and what git leaves out.
MADE = re.compile(r"benchmarks/results/|training/build|tests/data/|deploy/vllm/build")
# Settings and messages (tests/test_docs.py has those), files' names, and others' names like ours.
THEIRS = re.compile(
    r"fim[./].*|workspace/.*"
    r"|.*\.(py|md|toml|jsonl?|log|ya?ml|txt|conf|gz|lua|ts|scm|csv|nix|exe|rc)"
)
# Folders of programs beside the product, and what is not ours: of Python, git, LSP and others.
TOOLS = {"benchmarks", "deploy", "tests", "training"}
FOREIGN = {
    *sys.stdlib_module_names, *dir(builtins), "editor", "Node", "Path", "arguments", "core",
    "edit_predictions", "jwt", "keys", "mlx_lm", "other", "parent", "receiver", "recorded",
    "refactor", "self", "stream_options", "text", "vim",
}  # fmt: skip


def documents() -> list[Path]:
    command = ["git", "ls-files", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.split() if name != "CHANGELOG.md"]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and docstrings of a module, or the lines of a document, by number."""
    source = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from enumerate(source.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(parsed(path)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a statement assigns to."""
    if isinstance(node, ast.Assign):
        yield from (
            part
            for target in node.targets
            for part in ast.walk(target)
            if isinstance(part, ast.expr)
        )
    elif isinstance(node, ast.AnnAssign):
        yield node.target


def names_in(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements define."""
    names = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        names |= {target.id for target in targets(node) if isinstance(target, ast.Name)}
    return names


@functools.cache
def attributes() -> dict[str, set[str]]:
    """Return the names that each module, package and class has, by its last name."""
    found: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path in PATHS:
        tree = parsed(path)
        is_package = path.name == "__init__.py"
        name = path.parent.name if is_package else path.stem
        found[name] |= names_in(tree.body)
        found[path.parent.name if not is_package else path.parent.parent.name].add(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name] |= names_in(node.body)
                bases[node.name] |= {ast.unparse(base).split("[")[0] for base in node.bases}
                assigned = [t for part in ast.walk(node) for t in targets(part)]
                found[node.name] |= {t.attr for t in assigned if isinstance(t, ast.Attribute)}
    for name, above in bases.items():
        found[name] |= {attribute for base in above if base in found for attribute in found[base]}
        if above & {"NamedTuple"}:
            found[name] |= {"_replace", "_asdict"}
    return dict(found)


def unknown(text: str) -> list[str]:
    """Return the names in *text* that say they are ours and are not."""
    known = attributes()
    wrong = []
    for match in DOTTED.finditer(text):
        parts = match[1].split(".")
        if THEIRS.fullmatch(match[1]) or parts[0] in FOREIGN:
            continue
        if parts[0] in TOOLS:
            wrong += [match[1]] * (not exists(ROOT.joinpath(*parts)))
        elif parts[0] not in known:
            wrong.append(match[1])
        pairs = [(one, other) for one, other in pairwise(parts) if one in known]
        wrong += [match[1] for one, other in pairs if other not in known[one]]
    for match in SHORT_PATH.finditer(text):
        if THEIRS.fullmatch(match[1]):
            continue
        folder = match[1].split("/")[0]
        homes = [ROOT / package for package in PACKAGES if (ROOT / package / folder).is_dir()]
        wrong += [match[1]] * bool(homes and not any(exists(home / match[1]) for home in homes))
    return wrong + [match[1] for match in PATH.finditer(text) if not is_there(match[1])]


def exists(path: Path) -> bool:
    return path.exists() or path.with_suffix(".py").exists()


def is_there(name: str) -> bool:
    return bool(MADE.search(name)) or exists(ROOT / name.rstrip("/."))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see `workspace.reader`", []), ("see `workspace.gone`", ["workspace.gone"]),
        ("`State.n_ctx`", []), ("`State.n_gone`", ["State.n_gone"]), ("`os.path`", []),
        ("`gone.read`", ["gone.read"]),
        ("`suggest/pace`", []), ("`suggest/gone`", ["suggest/gone"]),
        ("(benchmarks/serve.py)", []), ("(benchmarks/gone.py)", ["benchmarks/gone.py"]),
    ],
)  # fmt: skip
def test_what_is_gone_is_found(text: str, expected: list[str]) -> None:
    """In dotted names, short paths and paths of the repository."""
    assert unknown(text) == expected


def test_names_and_paths_exist() -> None:
    """A reader who follows one arrives."""
    assert [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in (*PATHS, *documents())
        for line, text in prose(path)
        for name in unknown(text)
    ] == []
