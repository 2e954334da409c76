"""
Takes out one guard of the product at a time, and runs the tests that should notice:
`sh scripts/test-mutants`.

A guard is found by rule, in functions: a condition under which one ends, one part of such a
condition or of a filter, and a statement that forgets or ends something. The tests are collected
and run once as everything is; then, for each guard, a process that is forked gets the code without
it, and runs those of them that run its lines, until one fails. A test that computes for longer than
`SLOW_S` is none of them, and all that one guard gets compute for `MOST_S`: a guard is worth a small
test. `mutants.toml` names tests and modules, and says why a guard that no test notices may live.
Arguments are parts of the paths of modules; `--list` prints the guards alone.

`--random 150 server_bridge/openai --tests server_bridge/openai` makes small changes by chance
instead, in any module: a bound, a sign, a condition, a number, a call that is left out. It prints
those that live, and the tests that ran most of them and noticed none.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path
from time import process_time
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn

import coverage
import pytest

ROOT = Path(__file__).parents[1]
KNOWN: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
LIMIT_S = 30  # for one test; what hangs has noticed
SLOW_S = 0.5
MOST_S = 10.0
N_SHOWN = 20  # of the tests that notice none
N_AT_ONCE = int(os.environ.get("FIM_AT_ONCE", "2"))
WITHOUT = "not engine and not timed and not server"
HOW = ("-q", "-s", "-n", "0", "-p", "no:cacheprovider", "-m", WITHOUT)
ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break, ast.Delete)
FORGETS = {
    "cancel", "clear", "close", "cut_withdrawn", "discard", "drop", "end", "fit_to", "forget",
    "judge_again", "note_deletion", "pop", "release", "reset", "retire", "stop", "suspend",
    "withdraw",
}  # fmt: skip


SWAPPED: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Changes(ast.NodeTransformer):
    """Lists what can be changed in a module by *names*, with *lines*; changes number *gone*."""

    def __init__(self, gone: int = -1) -> None:
        self.names: list[str] = []
        self.lines: list[range] = []
        self._gone = gone
        self._inside: list[str] = []
        self._runs_later = False  # inside a function, and not when the module is loaded

    def _is_gone(self, what: ast.AST) -> bool:
        if not self._runs_later:
            return False
        self.names.append(f"{'.'.join(self._inside)}: {' '.join(ast.unparse(what).split())}")
        first, last = getattr(what, "lineno"), getattr(what, "end_lineno")  # noqa: B009
        self.lines.append(range(first, last + 1))
        return len(self.names) - 1 == self._gone

    def visit(self, node: Any) -> Any:
        """Know in which function a guard stands."""
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return super().visit(node)
        before = self._runs_later
        self._runs_later = before or not isinstance(node, ast.ClassDef)
        self._inside.append(node.name)
        node.body = [self.visit(each) for each in node.body]
        self._inside.pop()
        self._runs_later = before
        return node


class SmallChanges(Changes):
    """Changes a bound, a sign, a condition or a number, or leaves out a call."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Take another relation: with what is equal, or without."""
        node.ops = [self._swap(each, node) for each in node.ops]
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Subtract instead of adding."""
        node.op = self._swap(node.op, node)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Ask for one instead of both."""
        node.op = self._swap(node.op, node)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Leave out a `not`."""
        is_gone = isinstance(node.op, ast.Not) and self._is_gone(node)
        return self.visit(node.operand) if is_gone else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Count one more."""
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool) and self._is_gone(node):
            return ast.copy_location(ast.Constant(value + 1), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave out a call."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call) or ast.unparse(call).startswith("log."):
            return node
        is_gone = self._is_gone(node)
        return ast.copy_location(ast.Pass(), node) if is_gone else self.generic_visit(node)

    def _swap(self, sign: Any, node: ast.AST) -> Any:
        if type(sign) in SWAPPED and self._is_gone(node):
            return SWAPPED[type(sign)]()
        return sign


class Guards(Changes):
    """Takes out a guard."""

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


class Mutant(NamedTuple):
    """The module at *path* with change number *n* of a *kind*; *name* shows the code in *lines*."""

    path: str
    n: int
    name: str
    lines: range
    kind: type[Changes]


def mutants(path: str, kind: type[Changes] = Guards) -> list[Mutant]:
    """Return the mutants of a module; a name that comes again has its number behind it."""
    changes = kind()
    changes.visit(ast.parse((ROOT / path).read_text("utf-8")))
    names = changes.names
    again = [names[:n].count(name) for n, name in enumerate(names)]
    return [
        Mutant(path, n, f"{name} ({again[n] + 1})" if again[n] else name, changes.lines[n], kind)
        for n, name in enumerate(names)
    ]


def pick(paths: Iterable[str], n: int, seed: int) -> list[Mutant]:
    """Return *n* small changes of these modules."""
    found = [mutant for path in paths for mutant in mutants(path, SmallChanges)]
    return random.Random(seed).sample(found, min(n, len(found)))


def take_out(mutant: Mutant) -> None:
    """Give the functions of its module, which is loaded, the code without that guard."""
    file = str(ROOT / mutant.path)
    tree = mutant.kind(mutant.n).visit(ast.parse(Path(file).read_text("utf-8")))
    whole = compile(ast.fix_missing_locations(tree), file, "exec")
    codes = {(each.co_qualname, each.co_firstlineno): each for each in _walk(whole)}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == file:
            code = function.__code__
            function.__code__ = codes[code.co_qualname, code.co_firstlineno]


def _walk(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _walk(const)


class Runs(NamedTuple):
    """
    How the tests ran with every guard in place: *seconds* by test, those that *failed*, and which
    run a line, by module.
    """

    seconds: dict[str, float]
    failed: list[str]
    reach: dict[str, dict[str, list[str]]]

    def list_for(self, mutant: Mutant, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return the tests that run the guard, in the order of `mutants.toml`."""
        lines = self.reach.get(mutant.path, {})
        names = {name for line in mutant.lines for name in lines.get(str(line), ())}
        names = {name for name in names if self.seconds.get(name, SLOW_S) < SLOW_S}
        chosen = [item for item in items if item.nodeid in names.difference(self.failed)]
        chosen.sort(key=lambda item: (_rank(item), self.seconds[item.nodeid]))
        sums = accumulate(self.seconds[item.nodeid] for item in chosen)
        return [item for item, seconds in zip(chosen, sums, strict=True) if seconds < MOST_S]


def _rank(item: pytest.Item) -> int:
    """Return the place of the test's file, or folder, in `mutants.toml`."""
    name = item.nodeid.removeprefix("tests/")
    return next((n for n, prefix in enumerate(KNOWN["tests"]) if name.startswith(prefix)), 0)


def _split(items: Sequence[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Yield the tests of some files, in as many parts as run at once."""
    files = [*dict.fromkeys(item.path for item in items)]
    for n in range(min(N_AT_ONCE, len(files))):
        yield [item for item in items if item.path in files[n::N_AT_ONCE]]


def _join(parts: Iterable[Any]) -> Runs:
    runs = Runs({}, [], {})
    for seconds, failed, reach in parts:
        runs.seconds.update(seconds)
        runs.failed.extend(failed)
        for path, lines in reach.items():
            for line, names in lines.items():
                runs.reach.setdefault(path, {}).setdefault(line, []).extend(names)
    return runs


class Taking:
    """A plugin of pytest that runs what it collected for each mutant of the modules *paths*."""

    def __init__(self, paths: Collection[str], chosen: Sequence[Mutant] = ()) -> None:
        self._paths = paths
        self._chosen = chosen
        self._folder = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._failed: list[str] = []
        self.n_wrong = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that failed."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print what notices each mutant."""
        parts = {self._folder / f"part{n}": part for n, part in enumerate(_split(session.items))}
        work = [partial(self._run_part, items, note) for note, items in parts.items()]
        running = dict.fromkeys(self._start(session, each) for each in work)
        while running:
            self._wait(running)
        runs = _join(json.loads(note.read_text()) for note in parts)
        for name in runs.failed:
            self.n_wrong += 1
            print(f"{name}\n    fails with every guard in place")
        if self._chosen:
            self._run_chosen(session, runs)
        for path in () if self._chosen else self._paths:
            reasons = dict(KNOWN["lives"].get(path, {}))
            for mutant, noticed in self._run(session, mutants(path), runs):
                reason = reasons.pop(mutant.name, "")
                self.n_wrong += not noticed and not reason
                said = f"dies: {noticed}" if noticed else f"LIVES: {reason}"
                print(f"{path}  {mutant.name}\n    {said}", flush=True)
            for name in reasons:
                self.n_wrong += 1
                print(f"{path}  {name}\n    has a reason to live, and is no guard (any more)")
        shutil.rmtree(self._folder)
        return True

    def _run_chosen(self, session: pytest.Session, runs: Runs) -> None:
        """Print those of the chosen ones that live, and the tests that notice none."""
        ran = Counter[str]()
        noticing = set[str]()
        n_by_end = Counter[str]()
        for mutant, noticed in self._run(session, self._chosen, runs):
            tests = [item.nodeid for item in runs.list_for(mutant, session.items)]
            end = "reached by no test" if not tests else "dies" if noticed else "LIVES"
            n_by_end[end] += 1
            ran.update(tests[: tests.index(noticed) + 1] if noticed in tests else tests)
            noticing.add(noticed)
            if end != "dies":
                where = f"{mutant.path}:{mutant.lines.start}"
                print(f"{where}  {mutant.name}\n    {end}: {len(tests)} tests", flush=True)
        print(dict(n_by_end))
        idle = [(name, n) for name, n in ran.most_common() if name not in noticing]
        for name, n in idle[:N_SHOWN]:
            print(f"{n} mutants, none noticed: {name}")

    def _run(
        self, session: pytest.Session, waiting: Sequence[Mutant], runs: Runs
    ) -> Iterator[tuple[Mutant, str]]:
        """Yield each mutant with what noticed it, "" if nothing did."""
        waiting = [*reversed(waiting)]
        running = dict[int, Mutant]()
        while waiting or running:
            while waiting and len(running) < N_AT_ONCE:
                mutant = waiting.pop()
                work = partial(self._run_mutant, mutant, runs, session.items)
                running[self._start(session, work)] = mutant
            mutant, status = self._wait(running)
            note = self._note(mutant)
            noticed = note.read_text() if note.exists() else "it does not run, or does not end"
            note.unlink(missing_ok=True)
            yield mutant, noticed if status else ""

    def _note(self, mutant: Mutant) -> Path:
        return self._folder / f"{mutant.path.replace('/', '.')}-{mutant.n}"

    def _start(self, session: pytest.Session, work: Callable[[], None]) -> int:
        """Do *work* in a process of its own; return its id."""
        if pid := os.fork():
            return pid
        os.setsid()
        folder = self._folder / f"tmp{os.getpid()}"
        folder.mkdir()
        session.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        try:
            work()
        finally:
            os._exit(1)

    def _wait(self, running: dict[int, Any]) -> tuple[Any, int]:
        """Wait for one of the processes; return what it is for, and how it ended."""
        pid, status = os.wait()
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests started
        shutil.rmtree(self._folder / f"tmp{pid}", ignore_errors=True)
        return running.pop(pid), status

    def _run_part(self, items: Sequence[pytest.Item], note: Path) -> NoReturn:
        files = [str(ROOT / path) for path in self._paths]
        measured = coverage.Coverage(data_file=None, config_file=False, include=files)
        measured.set_option("run:disable_warnings", ["no-data-collected"])  # of a part, perhaps
        measured.start()
        seconds: dict[str, float] = {}
        for item, following in zip(items, [*items, None][1:], strict=True):
            measured.switch_context(item.nodeid)
            before = process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = process_time() - before
        measured.stop()
        reach = {p: measured.get_data().contexts_by_lineno(str(ROOT / p)) for p in self._paths}
        note.write_text(json.dumps([seconds, self._failed, reach]))
        os._exit(0)

    def _run_mutant(self, mutant: Mutant, runs: Runs, items: Sequence[pytest.Item]) -> NoReturn:
        take_out(mutant)
        chosen = runs.list_for(mutant, items)
        for item, following in zip(chosen, [*chosen, None][1:], strict=True):
            signal.alarm(LIMIT_S)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                self._note(mutant).write_text(self._failed[0])
                os._exit(1)
        os._exit(0)


def _list_product() -> list[Path]:
    folders = (ROOT / name for name in ("fim_lsp", "server_bridge"))
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def main() -> int:
    """Print the guards that live; return 1 where one has no reason, or a reason no guard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[""])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", default=KNOWN["tests"])
    asked = parser.parse_args()
    paths = [path for path in KNOWN["modules"] if any(part in path for part in asked.modules)]
    if asked.list:
        print(*(f"{m.path} {m.name}" for path in paths for m in mutants(path)), sep="\n")
        return 0
    chosen = list[Mutant]()
    if asked.random:
        product = (str(path.relative_to(ROOT)) for path in _list_product())
        paths = [path for path in product if any(part in path for part in asked.modules)]
        chosen = pick(paths, asked.random, asked.seed)
    taking = Taking(paths, chosen)
    tests = [str(ROOT / "tests" / name) for name in asked.tests]
    ended = pytest.main([*HOW, *tests], [taking])
    return int(ended) or int(taking.n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
