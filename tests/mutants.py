"""
Takes out one guard of the product at a time, and runs the tests that should notice: `sh scripts/test-mutants`.

A guard is found by rule: a condition under which a function ends, one part of such a condition or of a filter, and a
statement that forgets or ends something. `mutants.toml` says which tests are run for which module, and why a guard that
no test notices may live. Arguments name modules by a part of their path; `--list` prints the guards alone.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ROOMS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
LIMIT_S = 120  # for the tests of one mutant; what hangs has noticed
N_AT_ONCE = 2
# Imported once, before the tests of each mutant begin in a process of their own.
PREPARED = ("httpx", "lsprotocol.types", "pygls.lsp.server", "xxhash")
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break, ast.Delete)
FORGETS = {
    "cancel", "clear", "close", "cut_withdrawn", "discard", "drop", "end", "fit_to", "forget",
    "judge_again", "note_deletion", "pop", "release", "reset", "retire", "stop", "suspend",
    "withdraw",
}  # fmt: skip


class Mutant(NamedTuple):
    """The module at *path* with its guard number *n* taken out, which *name* shows."""

    path: str
    n: int
    name: str


class Guards(ast.NodeTransformer):
    """Lists the guards of a module by *names*, and takes out number *gone*."""

    def __init__(self, gone: int = -1) -> None:
        self.names: list[str] = []
        self._gone = gone
        self._inside: list[str] = []

    def _is_gone(self, what: ast.AST) -> bool:
        self.names.append(f"{'.'.join(self._inside)}: {' '.join(ast.unparse(what).split())}")
        return len(self.names) - 1 == self._gone

    def visit(self, node: Any) -> Any:
        """Know in which function a guard stands."""
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return super().visit(node)
        self._inside.append(node.name)
        node = self.generic_visit(node)
        self._inside.pop()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """Take out a condition under which a function, or a turn of a loop, ends."""
        is_guard = isinstance(node.body[-1], ENDS) or _forgets(node.body[-1])
        if is_guard and not node.orelse and self._is_gone(node.test):
            node.test = ast.Constant(value=False)
            return node
        node.test = self._without_part(node.test)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Take out a part of what a predicate asks."""
        if node.value is not None:
            node.value = self._without_part(node.value)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Take out a condition of a filter."""
        node.ifs = [each for each in node.ifs if not self._is_gone(each)]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Take out the condition up to which a series is taken."""
        if ast.unparse(node.func) in {"takewhile", "filter"} and self._is_gone(node.args[0]):
            return node.args[1]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Take out a statement that forgets something, or ends it."""
        if _forgets(node) and self._is_gone(node):
            return ast.Pass()
        return self.generic_visit(node)

    def _without_part(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.BoolOp):
            test.values = [each for each in test.values if not self._is_gone(each)]
            return test if len(test.values) > 1 else test.values[0]
        return test


def _forgets(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    call = call.value if isinstance(call, ast.Await) else call
    return isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in FORGETS


class Without(importlib.machinery.SourceFileLoader):
    """Loads a module without one of its guards."""

    gone = -1

    def get_code(self, fullname: str) -> Any:
        """Compile what is left."""
        tree = Guards(self.gone).visit(ast.parse(Path(self.path).read_text("utf-8")))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Has the module of one mutant loaded by `Without`."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = mutant.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Find that module alone."""
        if fullname != self._name:
            return None
        loader = Without(fullname, str(ROOT / self._mutant.path))
        loader.gone = self._mutant.n
        return importlib.machinery.ModuleSpec(fullname, loader, origin=loader.path)


class FirstFailure:
    """A plugin of pytest that writes which test failed first."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed."""
        if report.failed and not self._file.exists():
            self._file.write_text(report.nodeid)


def mutants(path: str) -> list[Mutant]:
    """Return the mutants of a module; a name that comes again has its number behind it."""
    guards = Guards()
    guards.visit(ast.parse((ROOT / path).read_text("utf-8")))
    names = guards.names
    again = [names[:n].count(name) for n, name in enumerate(names)]
    return [
        Mutant(path, n, f"{name} ({again[n] + 1})" if again[n] else name)
        for n, name in enumerate(names)
    ]


def start(mutant: Mutant, note: Path) -> int:
    """Run the tests of *mutant* in a process of its own, which notes the first that fails; return its id."""
    note.unlink(missing_ok=True)
    if pid := os.fork():
        return pid
    os.setsid()
    signal.alarm(LIMIT_S)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.meta_path.insert(0, Finder(mutant))
    how = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly"]
    tests = [str(ROOT / "tests" / name) for name in ROOMS[mutant.path]["tests"]]
    os._exit(pytest.main([*how, *tests], plugins=[FirstFailure(note)]))


def run(waiting: Sequence[Mutant], folder: Path) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what noticed it, "" if nothing did."""
    waiting, running = [*reversed(waiting)], dict[int, Mutant]()
    while waiting or running:
        while waiting and len(running) < N_AT_ONCE:
            mutant = waiting.pop()
            running[start(mutant, folder / f"{mutant.n}")] = mutant
        pid, status = os.wait()
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests started
        mutant, note = running[pid], folder / f"{running.pop(pid).n}"
        noticed = note.read_text() if note.exists() else "it does not run, or does not end"
        yield mutant, noticed if status else ""


def main() -> int:
    """Print the guards that live; return 1 where one has no reason, or a reason no guard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[""])
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    paths = [path for path in ROOMS if any(part in path for part in asked.modules)]
    if asked.list:
        print(*(f"{m.path} {m.name}" for path in paths for m in mutants(path)), sep="\n")
        return 0
    for name in PREPARED:
        import_module(name)
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"mutants-{os.getpid()}"
    folder.mkdir()
    n_wrong = 0
    for path in paths:
        reasons = dict(ROOMS[path].get("lives", {}))
        whole = Mutant(path, -1, "nothing")
        for _, noticed in run([whole], folder):
            assert not noticed, f"{path}: with every guard in place {noticed} fails"
        for mutant, noticed in run(mutants(path), folder):
            reason = reasons.pop(mutant.name, "")
            is_wrong = not noticed and not reason
            n_wrong += is_wrong
            said = f"dies: {noticed}" if noticed else f"LIVES{reason and ': ' + reason}"
            print(f"{path}  {mutant.name}\n    {said}", flush=True)
        for name in reasons:
            n_wrong += 1
            print(f"{path}  {name}\n    has a reason to live, and is no guard (any more)")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
