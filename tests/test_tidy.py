"""
The architecture and the habits, as a test.

The docstring of each package lists its modules in reading order: a module imports only what stands above it
there, so the arrows cannot turn around. `ONLY` says which modules may touch the outside world.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from fim_lsp import __version__
from fim_lsp.settings.merge import SCHEMA
from tests.longest import LONGEST, LONGEST_IN_EDITORS

ROOT = Path(__file__).parent.parent

CONTRACT = {
    "server_bridge.protocol", "server_bridge.machine.addresses", "server_bridge.machine.disks",
    "server_bridge.machine.executables", "server_bridge.machine.notes",
    "server_bridge.machine.private_files", "server_bridge.machine.processes",
    "server_bridge.machine.shown", "server_bridge.machine.sockets",
    "server_bridge.weights.table", "server_bridge.fim.reading",
    "server_bridge.fim.thoughts",
    "server_bridge.fim.tokens",  # the marks that end a text, which a suggestion must not have
}  # fmt: skip

# Folders of decisions: values in, values out.
PURE = (
    "server_bridge.fim", "fim_lsp.context", "fim_lsp.prompt", "fim_lsp.suggest",
    "fim_lsp.next_edit",
    "fim_lsp.instruct",
)  # fmt: skip
IMPURE = {
    "asyncio", "threading", "concurrent", "time", "random", "os", "io", "shutil", "tempfile",
    "socket",
    "subprocess", "httpx", "logging",
}  # fmt: skip

ONLY = {
    "asyncio": {"fim_lsp.models_command", "fim_lsp.tasks", "fim_lsp.session", "fim_lsp.workspace",
                "fim_lsp.lsp", "fim_lsp.http_server", "fim_lsp.cli", "server_bridge"},
    "h11": {"fim_lsp.http_server.connections"},
    "httpx": {"server_bridge.http.transport", "server_bridge.weights.model_files"},
    "lsprotocol": {"fim_lsp.lsp.structure", "fim_lsp.cli"},
    "pygls": {
        "fim_lsp.lsp.structure", "fim_lsp.lsp.rpc", "fim_lsp.lsp.messages", "fim_lsp.lsp.editor",
        "fim_lsp.lsp.commands",
        "fim_lsp.lsp.server", "fim_lsp.cli",
    },
    "subprocess": {"server_bridge.machine.executables"},
    "xllamacpp": {"server_bridge.process.embedded_child"},
    "server_bridge": {"fim_lsp.__main__", "fim_lsp.models_command"},
    "fim_lsp": set[str](),
    "time": {
        "fim_lsp.session.state.open_documents", "fim_lsp.session.completer",
        "fim_lsp.session.session", "fim_lsp.lsp.server",
        "fim_lsp.lsp.watchdog", "fim_lsp.regular_files", "fim_lsp.cli", "server_bridge",
    },
    "random": set[str](),
}  # fmt: skip


def modules(package: str) -> list[str]:
    """Return the modules and packages that the docstring of *package* lists, dotted, in its order."""
    file = ROOT / package.replace(".", "/") / "__init__.py"
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return [f"{package}.{name}" for name in re.findall(r"^([a-z_]+): ", docstring, re.MULTILINE)]


def code_map(package: str) -> list[str]:
    """Return all modules in *package* in reading order; the modules of an inner package follow it."""
    order: list[str] = []
    for name in modules(package):
        order.append(name)
        if (ROOT / name.replace(".", "/")).is_dir():
            order += code_map(name)
    return order


ORDER = [*code_map("server_bridge"), *code_map("fim_lsp")]
PATHS = [
    path
    for package in ("server_bridge", "fim_lsp")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "sample" not in path.parts
]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax of a module, for all tests that read it; none changes it."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a module of the product: to walk a tree takes as long as to parse it."""
    return [*ast.walk(parsed(path))]


@functools.cache
def imports(path: Path) -> set[str]:
    """Return every module *path* imports, dotted; of our own packages the module, not what it holds."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            inner = {f"{module}.{alias.name}" for alias in node.names}
            found |= (inner & {*ORDER}) or {module}
    return found


def inside(module: str, names: set[str] | tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


def test_package_docstrings_list_every_module_once() -> None:
    """The lists are complete, and name nothing that is not there."""
    ours = {name_of(path) for path in PATHS} - {"server_bridge", "fim_lsp"}
    assert sorted(ORDER) == sorted(ours)


def test_imports_point_up_the_map() -> None:
    """No cycles, no back doors, no second HTTP client; inside folders, too."""
    for path in PATHS:
        module = name_of(path)
        for name in imports(path) - CONTRACT - {module.split(".")[0]}:
            root = name.split(".")[0]
            if root == module.split(".")[0]:
                assert ORDER.index(name) < ORDER.index(module), f"{module} imports {name}"
            elif root in ONLY:
                assert inside(module, ONLY[root]), f"{module} imports {name}"


def test_a_module_defines_a_constant_once() -> None:
    """Else the later one counts above, too; two modules that became one may both have had it."""
    counts = Counter(
        (name_of(path), target.id)
        for path in PATHS
        for node in parsed(path).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    )
    assert [name for name, n in counts.items() if n > 1] == []


def test_pure_folders_only_compute() -> None:
    """No I/O, no clock, no `async` where decisions are made."""
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    for path in PATHS:
        if inside(name_of(path), PURE):
            source = path.read_text("utf-8")
            assert not {name.split(".")[0] for name in imports(path)} & IMPURE, path
            assert not [node for node in nodes(path) if isinstance(node, waiting)], path
            assert not re.search(r"\bopen\(|\.(read|write)_(text|bytes)\(", source), path


def test_their_coverage_is_measured() -> None:
    """`scripts/coverage` asks for tests of all of the pure folders, and of each by its own tests."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    tests = re.findall(r"\btests/(\S+)", (ROOT / "scripts/coverage").read_text("utf-8"))
    folders = [name.replace(".", "/") for name in PURE]
    assert settings["run"]["source"] == folders
    assert tests == [folder.removeprefix("fim_lsp/") for folder in folders]


def test_every_module_says_what_it_is_for() -> None:
    """A module opens with a docstring."""
    assert [path for path in PATHS if not ast.get_docstring(parsed(path))] == []


def test_a_file_has_the_name_of_what_it_holds() -> None:
    """What needs a heading within a file is a file of its own; and each class says what it is."""
    texts = {name_of(path): path.read_text("utf-8") for path in PATHS}
    found = re.compile(r"^ *# --|See the module", re.MULTILINE)
    assert [name for name, text in texts.items() if found.search(text)] == []


# What a reader pays. The exceptions below are older than the rules: each may only become smaller, and then goes.
MOST_STATEMENTS = 23792  # of the product: what this round added; falls with what is removed
MOST_SETTINGS = 37
MOST_LINES_OF_A_FUNCTION = 40  # without its docstring
LONG_FUNCTIONS = {
    "fim_lsp.session.session.__init__": 46,
    "fim_lsp.session.stats.snapshot": 47,
}
MOST_LINES_OF_A_FILE = 300
LONG_FILES = {
    "fim_lsp.context.chunks": 351,
    "fim_lsp.context.ignore_rules": 350,
    "fim_lsp.context.scopes": 357,
    "fim_lsp.lsp.editor": 371,
    "fim_lsp.lsp.rpc": 339,
    "fim_lsp.lsp.server": 344,
    "fim_lsp.next_edit.engine": 319,
    "fim_lsp.session.completer": 338,
    "fim_lsp.session.persistence": 321,
    "fim_lsp.session.session": 320,
    "fim_lsp.session.state.workspaces": 320,
    "fim_lsp.settings.merge": 350,
    "server_bridge.http.client": 356,
    "server_bridge.llama.backend": 375,
    "server_bridge.llama.link": 304,
    "server_bridge.openai.backend": 317,
    "server_bridge.protocol": 398,
}
MOST_PUBLIC_NAMES = 20  # of a class: its methods, its fields, and what its methods set on `self`
WIDE_CLASSES = {
    "Editor": 27,
    "FrameLadder": 23,
    "ModelView": 22,
    "OpenDocument": 27,
    "Session": 26,
    "Workspace": 28,
}
MOST_AT_ONCE = 40  # assignments of several values, in tests and tools, too
MOST_LONG_LINES = 26  # of over 100 columns: the goal is none


def is_docstring(node: ast.AST) -> bool:
    """Return whether *node* is a statement that only holds a text."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def n_assigned(node: ast.AST) -> int:
    """Return how many values a statement assigns to names of their own beyond the first."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        return len(node.value.elts) - 1
    return 0


def statements(within: Iterable[ast.AST]) -> int:
    """
    Return how many statements there are *within* a tree's nodes; docstrings do not count.

    Several values that are assigned at once count each, and so does `:=`: no line is saved by them.
    """
    count = 0
    for node in within:
        count += isinstance(node, ast.stmt) and not is_docstring(node)
        count += isinstance(node, ast.NamedExpr)
        count += n_assigned(node)
    return count


def lines_of(node: ast.stmt) -> int:
    """Return how many lines *node* takes, its first and last one, too."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def function_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines *function* has without its docstring."""
    first = function.body[0]
    return lines_of(function) - (lines_of(first) if is_docstring(first) else 0)


def public_names(class_: ast.ClassDef) -> set[str]:
    """Return the names of methods and fields that other code may use."""
    names = set[str]()
    for node in class_.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.AnnAssign):
            names.add(ast.unparse(node.target))
        stored = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
        names |= {
            each.attr
            for each in stored
            if isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"
        }
    return {name for name in names if not name.startswith("_")}


def assert_small(sizes: dict[str, int], most: int, exceptions: dict[str, int]) -> None:
    """Check that only *exceptions* are larger than *most*, and that each of them is still needed."""
    large = {name: size for name, size in sizes.items() if size > most}
    grown = {name: size for name, size in large.items() if size > exceptions.get(name, most)}
    assert grown == {}, f"larger than {most}"
    assert exceptions.keys() - large.keys() == set(), "no exceptions any more: take them out"


def test_the_product_does_not_grow() -> None:
    """What is new pays for itself with what it removes; and what was gained is not lost again."""
    assert sum(statements(nodes(path)) for path in PATHS) <= MOST_STATEMENTS, (
        "a new feature raises MOST_STATEMENTS in a commit of its own that says why: "
        "CONTRIBUTING.md, The gate"
    )


def test_there_are_not_more_settings() -> None:
    """Each is one more thing to know, and one more way to run that is tested less."""
    assert len(SCHEMA) <= MOST_SETTINGS, (
        "a new feature raises MOST_SETTINGS in a commit of its own that says why: "
        "CONTRIBUTING.md, The gate"
    )


def test_functions_fit_in_the_head() -> None:
    """A function is read without scrolling."""
    sizes = Counter[str]()
    for module, node in functions():
        name = f"{module}.{node.name}"
        sizes[name] = max(sizes[name], function_lines(node))  # methods of two classes have one name
    assert_small(sizes, MOST_LINES_OF_A_FUNCTION, LONG_FUNCTIONS)


def test_files_are_read_in_one_go() -> None:
    """With its comments and docstrings, a file has the length of a few screens."""
    sizes = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in PATHS}
    assert_small(sizes, MOST_LINES_OF_A_FILE, LONG_FILES)


def test_classes_have_few_public_names() -> None:
    """A class is used by names that a reader can remember."""
    classes = [node for path in PATHS for node in nodes(path) if isinstance(node, ast.ClassDef)]
    sizes = {node.name: len(public_names(node)) for node in classes}
    assert_small(sizes, MOST_PUBLIC_NAMES, WIDE_CLASSES)


def test_lines_that_are_too_long_become_fewer() -> None:
    """The formatter leaves strings and comments as they are; what is written now fits in 100 columns."""
    long = [
        (len(line), f"{path.relative_to(ROOT)}:{number}")
        for path in PATHS
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    longest = ", ".join(f"{place} ({length})" for length, place in sorted(long, reverse=True)[:10])
    assert len(long) <= MOST_LONG_LINES, f"sh scripts/fix breaks lines of code; longest: {longest}"


def test_each_value_has_a_line_of_its_own() -> None:
    """Two are assigned at once where they change places, or where a comment is about both."""
    folders = ("fim_lsp", "server_bridge", "tests", "benchmarks", "training", "deploy")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    assigned = [
        node
        for path in paths
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple)
    ]
    at_once = [node for node in assigned if isinstance(node.value, ast.Tuple)]
    assert len(at_once) <= MOST_AT_ONCE


def test_what_compares_times_is_marked() -> None:
    """`scripts/coverage` leaves such tests out, and a busy machine may fail them once."""
    clock = re.compile(r"\btimeit\.|\btime\.(thread|process)_time\b")
    found = list[str]()
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text("utf-8")
        if "e2e" in path.parts or "pytestmark = pytest.mark.timed" in text:
            continue  # tests/e2e is never measured, and may be run again as a whole
        for node in ast.walk(parsed(path)) if clock.search(text) else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                if clock.search(ast.unparse(node)) and "pytest.mark.timed" not in marks:
                    found.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert found == []


FACADE = {
    "handle", "configure", "config", "config_of", "documents", "document", "last_uri",
    "complete", "explain", "report", "continue_long", "edit", "prepare_edit",
    "next_edit", "wants_next_edit", "check_next_edit",
    "status", "on_status", "stats", "answers", "backend",
    "start_connecting", "aclose",
}  # fmt: skip


@pytest.mark.parametrize("folder", ["lsp", "http_server", "cli"])
def test_a_session_is_used_by_its_methods(folder: str) -> None:
    """The editor's server, the port and the command line know no part of it: `Session` says what they may call."""
    used = {
        node.attr
        for path in (ROOT / "fim_lsp" / folder).rglob("*.py")
        if "sample" not in path.parts
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value).rpartition(".")[2] in {"session", "_session"}
    }
    assert used <= FACADE, f"not in FACADE: {used - FACADE}"


REFUSED = r"nobody|whoever|somebody|anew|whither|he|him|his|himself"
# Text that is not ours: models, licences, lock files, code of tests and of the demo, git histories.
NOT_PROSE = (
    "LICENSE", "NOTICE", "tests/suggest/golden/", "tests/context/units/",
    "tests/context/harmless_lines.txt", "fim_lsp/cli/sample/",
    "editors/vscode/package-lock.json", "training/manifest.json", ".gguf", ".gz", ".xz", ".svg",
    ".png",
    "CONTRIBUTING.md", "tests/test_tidy.py",  # they quote the words
)  # fmt: skip


def files_of_git() -> list[str]:
    """Return the paths that git keeps, or none where this is no checkout."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines()
    return [name for name in names if not any(part in name for part in NOT_PROSE)]


def literary(line: str) -> bool:
    """Return whether *line* has a refused word, alone or as a part of an identifier."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", line).replace("_", " ")
    return re.search(rf"\b({REFUSED})\b", parts, re.IGNORECASE) is not None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Nobody waits for it.", True), ("def test_it_is_asked_anew():", True),
        ("asksNobody()", True),
        ("the cache, the history", False), ("def other_than_this():", False), ("newWhere", False),
    ],
)  # fmt: skip
def test_literary_words_are_found_in_identifiers(line: str, *, expected: bool) -> None:
    """Between underscores and capitals, too."""
    assert literary(line) is expected


def test_the_english_is_plain() -> None:
    """Code, documentation and messages name an actor: a request, the user, a client, a server."""
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in files_of_git()
        if (ROOT / name).exists()  # or it is deleted, but not committed yet
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1)
        if literary(line)
    ]
    assert not found, "\n".join(found)


def test_no_class_name_stands_twice() -> None:
    """One name says one thing in the whole product."""
    counts = Counter(
        node.name for path in PATHS for node in parsed(path).body if isinstance(node, ast.ClassDef)
    )
    assert [name for name, n in counts.items() if n > 1] == []


IRREGULAR = (
    r"begun|bound|broken|brought|built|chosen|done|drawn|felt|found|frozen|given|gone|got|grown|had|heard|held|hidden|kept|known|led"
    r"|left|lost|made|meant|met|paid|said|seen|sent|shown|spelt|spent|stolen|stuck|taken|taught|thought|thrown|told|understood"
    r"|withheld|worn|written"
)
NO_PARTICIPLES = {"embedded", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"}
# Names that are not ours to choose: asyncio calls the first, LSP the last; `fim/stats` counts the others, the filters.
GIVEN_NAMES = {
    "broken_character", "closed_below", "opened_here", "reindented", "typed_again", "unfinished",
    "initialized",
}  # fmt: skip


def is_participle(name: str) -> bool:
    """Return whether a function's *name* begins with a participle, as in `_found` or `closed_below`."""
    first = name.strip("_").split("_")[0]
    if re.fullmatch(IRREGULAR, first):
        return True
    return first.endswith("ed") and first not in NO_PARTICIPLES


@functools.cache
def functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Return the functions of both packages, each with its module."""
    return [
        (name_of(path), node)
        for path in PATHS
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether *function* is read as a value."""
    return any("property" in ast.unparse(each) for each in function.decorator_list)


def test_functions_are_verbs() -> None:
    """Values are nouns and adjectives; a function says what it does: `find`, not `found`."""
    found = [
        f"{module}: {node.name}"
        for module, node in functions()
        if is_participle(node.name) and node.name not in GIVEN_NAMES and not is_property(node)
    ]
    assert found == [], "begin with a verb, or a noun for a filter (`lines_below`)"


def test_docstrings_are_imperative() -> None:
    """A docstring says "Return whether …", not "Whether …"."""
    found = [
        f"{module}: {node.name}: {text}"
        for module, node in functions()
        if re.match(r"(What|Whether|Why|How)\b", text := ast.get_docstring(node) or "")
    ]
    assert found == []


def test_the_longest_files_are_there() -> None:
    """A file that is renamed or split is renamed in the list, too."""
    assert [name for name in LONGEST_IN_EDITORS + LONGEST if not (ROOT / name).is_file()] == []


def test_the_version_is_the_same_everywhere() -> None:
    """`fim_lsp.__version__` is the source; the extension's own files repeat it."""
    for name in ("package.json", "package-lock.json"):
        manifest = json.loads((ROOT / "editors/vscode" / name).read_text("utf-8"))
        assert manifest["version"] == __version__, name
