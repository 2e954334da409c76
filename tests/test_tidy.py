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
from pathlib import Path

import pytest

from fim_lsp import __version__
from fim_lsp.settings.merge import SCHEMA
from tests.longest import LONGEST

ROOT = Path(__file__).parent.parent

CONTRACT = {
    "server_bridge.protocol", "server_bridge.machine.addresses",
    "server_bridge.machine.executables", "server_bridge.machine.notes",
    "server_bridge.machine.private_files", "server_bridge.machine.processes",
    "server_bridge.machine.sockets",
    "server_bridge.weights.table", "server_bridge.fim.reading",
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
    "lsprotocol": {"fim_lsp.lsp.rpc", "fim_lsp.cli"},
    "pygls": {
        "fim_lsp.lsp.rpc", "fim_lsp.lsp.messages", "fim_lsp.lsp.editor",
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
        "fim_lsp.lsp.watchdog", "fim_lsp.cli", "server_bridge",
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


def imports(path: Path) -> set[str]:
    """Return every module *path* imports, dotted; of our own packages the module, not what it holds."""
    found = set()
    for node in ast.walk(parsed(path)):
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
            assert not [node for node in ast.walk(parsed(path)) if isinstance(node, waiting)], path
            assert not re.search(r"\bopen\(|\.(read|write)_(text|bytes)\(", source), path


def test_their_coverage_is_measured() -> None:
    """`scripts/coverage` asks for tests of all of the pure folders, and of each by its own tests."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    tests = re.findall(r"\btests/(\S+)", (ROOT / "scripts/coverage").read_text("utf-8"))
    folders = [name.replace(".", "/") for name in PURE]
    assert settings["run"]["source"] == folders
    assert tests == [folder.removeprefix("fim_lsp/") for folder in folders]


def test_every_module_says_what_it_is_for_and_stays_short() -> None:
    """A module opens with a docstring and can be read in one go."""
    for path in PATHS:
        assert ast.get_docstring(parsed(path)), path
        assert len(path.read_text("utf-8").splitlines()) <= 400, path


def test_a_file_has_the_name_of_what_it_holds() -> None:
    """What needs a heading within a file is a file of its own; and each class says what it is."""
    texts = {name_of(path): path.read_text("utf-8") for path in PATHS}
    found = re.compile(r"^ *# --|See the module", re.MULTILINE)
    assert [name for name, text in texts.items() if found.search(text)] == []


# The size of the product, as `sizes` counts it: these numbers may only become smaller. To raise one is a commit of its
# own that says what it is for.
MOST_CODE_LINES = 22878
MOST_IMPORTS = 783
MOST_SETTINGS = 37
# Lines of over 100 columns, of the product and of its tests: the goal is none.
MOST_LONG_LINES = 32
MOST_LONG_LINES_OF_TESTS = 494


def code_lines(path: Path) -> int:
    """Return how many lines of *path* hold code: no blank line, no comment, no docstring."""
    text, prose = path.read_text("utf-8").split("\n"), set[int]()
    lines = {n for n, line in enumerate(text, 1) if re.match(r"\s*[^\s#]", line)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and '"""' in text[node.lineno - 1]:
            lines |= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose |= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(lines - prose)


def sizes() -> tuple[int, int, int]:
    """Return the code lines, imports between own modules, and settings of the product."""
    n_imports = sum(len(imports(path) & {*ORDER}) for path in PATHS)
    return sum(map(code_lines, PATHS)), n_imports, len(SCHEMA)


def test_the_product_does_not_grow() -> None:
    """What is new pays for itself with what it removes; and what was gained is not lost again."""
    most = (MOST_CODE_LINES, MOST_IMPORTS, MOST_SETTINGS)
    assert all(size <= limit for size, limit in zip(sizes(), most, strict=True)), (
        f"code lines, imports, settings are {sizes()}, and may be {most}"
    )


def test_lines_that_are_too_long_become_fewer() -> None:
    """The formatter leaves strings and comments as they are; what is written now fits in 100 columns."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    n_long = [
        sum(len(line) > 100 for path in paths for line in path.read_text("utf-8").splitlines())
        for paths in (PATHS, tests)
    ]
    how = "sh scripts/fix breaks lines of code"
    assert n_long[0] <= MOST_LONG_LINES, how
    assert n_long[1] <= MOST_LONG_LINES_OF_TESTS, how


# Lines of Python, blank ones and comments too, of what is beside the product; training with tests.
MOST_LINES = {"benchmarks": 6000, "benchmarks/deployment": 643, "training": 2000}


def limit_of(path: str) -> str:
    """Return which limit counts a file: that of its innermost folder with one."""
    return max((name for name in MOST_LINES if path.startswith(f"{name}/")), key=len)


@pytest.mark.parametrize("folder", MOST_LINES)
def test_what_is_beside_the_product_does_not_grow(folder: str) -> None:
    """It is read and changed by as few people as the product."""
    files = subprocess.run(
        ["git", "ls-files", f"{folder}/*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    paths = [ROOT / name for name in files if limit_of(name) == folder]
    n_lines = sum(len(path.read_text("utf-8").splitlines()) for path in paths if path.exists())
    assert n_lines <= MOST_LINES[folder]


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
        for node in ast.walk(parsed(path))
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
    assert found == []


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
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []


def test_the_version_is_the_same_everywhere() -> None:
    """`fim_lsp.__version__` is the source; the extension's own files repeat it."""
    for name in ("package.json", "package-lock.json"):
        manifest = json.loads((ROOT / "editors/vscode" / name).read_text("utf-8"))
        assert manifest["version"] == __version__, name


NO_TEST = "**no test yet**"
NAMED_TEST = r"`((?:\w+/)?tests/[\w/]+\.py)(?:::(\w+))?`"
ABSOLUTE = r"\b(never|nobody|nothing|none|no one|no others?|no web page|always|everything|alone)\b"
# Gone: 2.10, about the pass-through of `fim-lsp http`; 3.10 and 3.15, about commit messages; 3.13, about `fim/context`.
REVIEWS = (1, 28), (2, 9), (3, 18), (4, 11)  # each with the number of its findings
GONE = {"3.10", "3.13", "3.15"}
FINDINGS = {f"{review}.{n}" for review, last in REVIEWS for n in range(1, last + 1)} - GONE


def test_the_tests_that_security_names_exist() -> None:
    """Every promise of SECURITY.md, and every row of its map, has tests that are there, or says that it has none."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = re.findall(r"^\| .* \| (.*) \|$", text, re.MULTILINE)
    for row in rows:
        named = re.findall(NAMED_TEST, row)
        assert named or row in ("tests", NO_TEST), row
        assert len(named) == row.count("tests/"), row
    named = re.findall(NAMED_TEST, text + _privacy())
    for path, function in named:
        end = r"\(" if function else ""
        assert re.search(rf"def {function}{end}", (ROOT / path).read_text("utf-8")), (
            path,
            function,
        )


def test_every_finding_stands_in_the_map() -> None:
    """Those of the four reviews, by number, each in a row with its tests."""
    table = (ROOT / "SECURITY.md").read_text("utf-8").partition("## What is trusted")[2]
    cells = re.findall(r"^\| .* \| ([^|]*) \| [^|]* \|$", table, re.MULTILINE)
    assert {*re.findall(r"\d\.\d+", " ".join(cells))} == FINDINGS


def test_absolute_words_stand_beside_a_test() -> None:
    """In SECURITY.md and docs/privacy.md "never" and its like are claims: the line names what attacks them."""
    text = (ROOT / "SECURITY.md").read_text("utf-8") + _privacy()
    claims = [line for line in text.splitlines() if re.search(ABSOLUTE, line, re.IGNORECASE)]
    assert [line for line in claims if "tests/" not in line] == []


def _privacy() -> str:
    return (ROOT / "docs/privacy.md").read_text("utf-8")
