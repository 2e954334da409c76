"""
The architecture, as a test.

`READING_ORDER` is the suggested reading order of each package: a module imports only what stands
above it, so the arrows in docs/ARCHITECTURE.md cannot turn around. `ONLY` says who may touch the
outside world; everyone else is pure.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

READING_ORDER = {
    "server_bridge": """
        protocol unusable keys answers http identity specials encoding templates warmth stream mirror slots saved tokenizer
        completion beyond cache llama openai memory launch embedded_child embedded programs parent
        breaker endpoints bridge
    """,
    "fim_lsp": """
        documents config schema exposure settings settings_files logs events notebooks paths stats acceptance
        context
        pretokens window tape
        suggest
        scheduler flight ignore_files context_files workspace view engine link framing tower prefill long_text saved keeper desk anatomy session
        lsp convert transport rpc clients news editor commands server
        cli __main__
    """,
}

ONLY = {
    "asyncio": {
        "fim_lsp.scheduler", "fim_lsp.flight", "fim_lsp.link", "fim_lsp.tower", "fim_lsp.keeper", "fim_lsp.workspace", "fim_lsp.transport",
        "fim_lsp.rpc", "fim_lsp.news", "fim_lsp.editor", "fim_lsp.server", "fim_lsp.cli", "server_bridge",
    },
    "httpx": {"server_bridge.http"},
    "lsprotocol": {"fim_lsp.lsp", "fim_lsp.cli"},
    "pygls": {
        "fim_lsp.rpc", "fim_lsp.news", "fim_lsp.editor", "fim_lsp.commands", "fim_lsp.server", "fim_lsp.cli",
    },
    "subprocess": {"server_bridge.embedded", "server_bridge.programs", "server_bridge.keys", "fim_lsp.cli"},
    "xllamacpp": {"server_bridge.embedded_child"},
    "server_bridge": {"fim_lsp.__main__"},
    "fim_lsp": set[str](),
    "time": {"fim_lsp.desk", "fim_lsp.session", "fim_lsp.server", "fim_lsp.cli", "server_bridge"},
    "random": set[str](),
}  # fmt: skip
CONTRACT = "server_bridge.protocol"

MODULES = [p for package in READING_ORDER for p in sorted((ROOT / package).rglob("*.py"))]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    """Every module *path* imports, dotted."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            is_package = (
                name.split(".")[0] in READING_ORDER and (ROOT / name.replace(".", "/")).is_dir()
            )
            found |= {f"{name}.{alias.name}" for alias in node.names} if is_package else {name}
    return found


def place(order: list[str], module: str) -> int:
    """Where a module, or the subpackage it lives in, stands in the reading order."""
    return order.index(module.split(".")[1])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_up_the_reading_order(path: Path) -> None:
    """No cycles, no back doors, no second HTTP client."""
    module = name_of(path)
    package, _, rest = module.partition(".")
    order = READING_ORDER[package].split()
    for name in imports(path) - {CONTRACT}:
        root = name.split(".")[0]
        if (
            root == package
            and rest
            and name != package
            and "." in name
            and name.split(".")[1][:2] != "__"
        ):
            same = name.split(".")[1] == module.split(".")[1]
            assert same or place(order, name) < place(order, module), f"{module} imports {name}"
        elif root in ONLY and root != package:
            allowed = any(module == a or module.startswith(a + ".") for a in ONLY[root])
            assert allowed, f"{module} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for_and_stays_short(path: Path) -> None:
    """A module opens with a docstring and can be read in one go."""
    source = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), path
    assert len(source.splitlines()) <= 400, path
