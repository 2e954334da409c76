"""
Every client that we know, by the `initialize` that it says: what is inserted is what was meant, and nothing that it says
of itself costs it the session.

tests/lsp/initialize has one file a client and version; pytest-lsp brings others along.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_lsp
from hypothesis import given, settings
from hypothesis import strategies as st
from pygls.capabilities import ServerCapabilitiesBuilder

from fim_lsp.documents import Position, open_document
from fim_lsp.lsp import convert, items, quirks
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import LanguageServer, types
from fim_lsp.lsp.run import serve
from fim_lsp.lsp.server import add_methods
from fim_lsp.lsp.structure import find_capability
from fim_lsp.suggest.request import Suggestion
from tests.lsp import simulators
from tests.lsp.simulators import Simulator
from tests.lsp.test_rpc import Connection
from tests.typist import faked

Raw = dict[str, Any]
PathTo = tuple[str | int, ...]

OURS = {
    file.stem: json.loads(file.read_text("utf-8"))["params"]
    for file in sorted((Path(__file__).parent / "initialize").glob("*.json"))
}
CAPTURED = {
    file.stem: json.loads(file.read_text("utf-8"))
    for file in sorted((Path(pytest_lsp.__file__).parent / "clients").glob("*.json"))
    if file.stem in ("emacs_v29.1", "neovim_v0.11.0", "visual_studio_code_v1.65.2")
}
HELLOS: dict[str, Raw] = (
    OURS
    | CAPTURED
    | {
        name: {"clientInfo": {"name": name}, "capabilities": {}}
        for name in ("helix", "kakoune-lsp")
    }
)


def hello(raw: object) -> types.InitializeParams:
    """Return what a client says, as the server reads it."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": copy.deepcopy(raw)}
    call["params"] = quirks.fill_in("initialize", call["params"])
    message = SERVER.protocol.structure_message(call)
    assert isinstance(message.params, types.InitializeParams)
    return message.params


SERVER = LanguageServer("test", "0", types.NotebookDocumentSyncOptions([]))


class Row(NamedTuple):
    """The text before the cursor and behind it; a suggestion, and how much of that it replaces."""

    before: str
    behind: str
    text: str
    n_replaced: int = 0

    @property
    def meant(self) -> str:
        return self.before + self.text + self.behind[self.n_replaced :]


ROWS = {
    "a word": Row("    total = qu", "", "antity"),
    "a dash before": Row("    flex-g", "", "row: 1"),
    "a line": Row("    for q", "", "uarter in year:"),
    "a block": Row("    with l", "", "edger as book:\n        book.add(1)"),
    "a bracket behind": Row("    while any(v", ")", "alues):", 1),
    "two behind": Row('    print("to', '")', 'tal", n)', 2),
    "behind a bracket": Row("    while any(", ")", "values):", 1),
    "dollars": Row("    path = ro", "", 'ot + "${HOME} $1 $$"'),
    "dollars below": Row("    with l", "", 'edger:\n        print("$1")'),
    "tabs": Row("\twhile d", "", "oor.is_open():\n\t\tdoor.push()"),
}
CLIENTS: dict[str, Simulator] = {
    "qtcreator-20.0.2": simulators.qt_creator,
    "geany-lsp-2.1": simulators.lsp,
    "emacs_v29.1": simulators.lsp,
    "lsp-mode-8.0.0": simulators.lsp,
    "helix": simulators.lsp,
    "kakoune-lsp": simulators.kakoune,
    "codemirror-lsp-client-6.3.0": simulators.codemirror,
    "kate-26.08.2": simulators.kate,
    "jupyterlab-lsp-5.3.0": simulators.jupyterlab,
    "codemirror-languageserver-1.22.1": simulators.lsp,
    "marimo-codemirror-languageserver-2.0.0": simulators.lsp,
    "ycmd-2023": simulators.ycmd,
    "spyder-6.1.8": simulators.qt_creator,
    "yegappan-lsp-2026-08": simulators.yegappan,
    "vim-lsp-2026-04": simulators.vim_lsp,
    "vim-lsc-2023-08": simulators.vim_lsc,
    "ace-linters-2.2.1": simulators.lsp,
}
# What is less than meant: such clients can write nothing behind the cursor, Kate no `$1`, ycmd, Spyder and Vim's no
# second line.
SHORTER = {
    ("qtcreator-20.0.2", "a bracket behind"): "    while any(values)",
    ("qtcreator-20.0.2", "behind a bracket"): "    while any(values)",
    ("qtcreator-20.0.2", "two behind"): None,
    ("kate-26.08.2", "a bracket behind"): "    while any(values)",
    ("kate-26.08.2", "behind a bracket"): "    while any(values)",
    ("kate-26.08.2", "two behind"): None,
    ("kate-26.08.2", "dollars"): None,
    ("kate-26.08.2", "dollars below"): "    with ledger:",
    ("jupyterlab-lsp-5.3.0", "a bracket behind"): "    while any(values)",
    ("jupyterlab-lsp-5.3.0", "behind a bracket"): "    while any(values)",
    ("jupyterlab-lsp-5.3.0", "two behind"): None,
    ("ycmd-2023", "a block"): "    with ledger as book:",
    ("ycmd-2023", "a bracket behind"): "    while any(values)",
    ("ycmd-2023", "two behind"): None,
    ("ycmd-2023", "behind a bracket"): "    while any(values)",
    ("ycmd-2023", "dollars below"): "    with ledger:",
    ("ycmd-2023", "tabs"): "\twhile door.is_open():",
    ("spyder-6.1.8", "a block"): "    with ledger as book:",
    ("spyder-6.1.8", "a bracket behind"): "    while any(values)",
    ("spyder-6.1.8", "two behind"): None,
    ("spyder-6.1.8", "behind a bracket"): "    while any(values)",
    ("spyder-6.1.8", "dollars below"): "    with ledger:",
    ("spyder-6.1.8", "tabs"): "\twhile door.is_open():",
    ("yegappan-lsp-2026-08", "a block"): "    with ledger as book:",
    ("yegappan-lsp-2026-08", "a bracket behind"): "    while any(values)",
    ("yegappan-lsp-2026-08", "two behind"): None,
    ("yegappan-lsp-2026-08", "behind a bracket"): "    while any(values)",
    ("yegappan-lsp-2026-08", "dollars below"): "    with ledger:",
    ("yegappan-lsp-2026-08", "tabs"): "\twhile door.is_open():",
    ("vim-lsc-2023-08", "a block"): "    with ledger as book:",
    ("vim-lsc-2023-08", "a bracket behind"): "    while any(values)",
    ("vim-lsc-2023-08", "two behind"): None,
    ("vim-lsc-2023-08", "behind a bracket"): "    while any(values)",
    ("vim-lsc-2023-08", "dollars below"): "    with ledger:",
    ("vim-lsc-2023-08", "tabs"): "\twhile door.is_open():",
    ("vim-lsp-2026-04", "a block"): "    with ledger as book:",
    ("vim-lsp-2026-04", "dollars below"): "    with ledger:",
    ("vim-lsp-2026-04", "tabs"): "\twhile door.is_open():",
}
# They show nothing of an answer that a key overtook, and ask again.
ASK_AGAIN = ("codemirror-lsp-client-6.3.0", "vim-lsc-2023-08")


@pytest.mark.parametrize("n_typed", [0, 1, 2])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_inserted_is_what_was_meant(client: str, row: str, n_typed: int) -> None:
    """In every client, also if the user types on while it waits; or nothing is offered."""
    before, behind, text, n_replaced = ROWS[row]
    cursor = Position(0, len(before))
    end = cursor._replace(column=cursor.column + n_replaced)
    document = open_document("file:///a.py", "python", 1, before + behind)
    menu = quirks.read_habits(hello(HELLOS[client])).menu
    item = items.completion_item(
        document, Suggestion("1", cursor, end, text), cursor, "utf-16", menu
    )
    written = None
    if item is not None:
        raw = json.loads(json.dumps(item, default=SERVER.protocol._serialize_message))
        written = CLIENTS[client](raw, before + behind, cursor.column, text[:n_typed])
    meant = SHORTER.get((client, row), ROWS[row].meant)
    assert written == (None if n_typed and client in ASK_AGAIN else meant)


@pytest.mark.parametrize("client", HELLOS)
def test_a_menu_is_for_clients_without_ghost_text(client: str) -> None:
    """
    lsp-mode 10 declares its ghost text by null; an older one, which says the same name, has none. vim-lsp would ask for
    ghost text, and write it over the line; ace-linters declares it, and most pages do not show it.
    """
    first, _ = asyncio.run(answers(HELLOS[client]))
    offered = first["result"]["capabilities"].keys() & {
        "completionProvider",
        "inlineCompletionProvider",
    }
    left_out = {
        "lsp-mode-10.0.0": "completionProvider",
        "vim-lsp-2026-04": "inlineCompletionProvider",
    }
    assert offered == {"completionProvider", "inlineCompletionProvider"} - {left_out.get(client)}


@pytest.mark.parametrize(
    ("client", "start", "end", "at"),
    [
        ("vim-lsp-2026-04", 7, 9, 7),
        ("vim-lsc-2023-08", 7, 9, 10),
        ("codemirror-lsp-client-6.3.0", 8, 10, 8),
        ("yegappan-lsp-2026-08", 7, 9, 7),
    ],
)
def test_columns_are_counted_as_the_client_counts_them(
    client: str, start: int, end: int, at: int
) -> None:
    """In vim-lsp by characters, in vim-lsc by bytes, but for changes."""
    line = asyncio.run(line_behind(HELLOS[client], start, end, at))
    assert line == ("x = '😀'", "of")


OFFERED = (
    "workspace.apply_edit", "workspace.configuration", "workspace.workspace_edit.document_changes",
    "workspace.did_change_configuration.dynamic_registration",
    "workspace.did_change_watched_files.dynamic_registration",
    "window.show_document.support", "window.show_message", "window.work_done_progress",
    "text_document.inline_completion",
)  # fmt: skip


def features(raw: object) -> tuple[object, ...]:
    """Return all that the server does by what a client says of itself."""
    params = hello(raw)
    said = params.capabilities
    offered = tuple(find_capability(said, path) not in (None, False) for path in OFFERED)
    encoding = ServerCapabilitiesBuilder.choose_position_encoding(said)
    return offered, encoding, quirks.read_habits(params), convert.parse_roots(params)


def paths_in(node: object, path: PathTo = ()) -> Iterator[PathTo]:
    """Yield the paths of all values."""
    if path:
        yield path
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for name, value in inner:
        yield from paths_in(value, (*path, name))


def changed(raw: Raw, path: PathTo, *values: object) -> Raw:
    """Return the same with another value at *path*, without any where there is none."""
    raw = copy.deepcopy(raw)
    node: Any = raw
    for name in path[:-1]:
        node = node[name]
    if values:
        node[path[-1]] = values[0]
    else:
        del node[path[-1]]
    return raw


def odd_values(raw: Raw, path: PathTo) -> Iterator[object]:
    """Yield what may stand in the place of a value: an unknown member, null, a number, a longer list."""
    node: Any = raw
    for name in path:
        node = node[name]
    yield from ("no such member", None, 1 << 30)
    yield [*node, "no such member", None, 1 << 30] if isinstance(node, list) else [node]


@pytest.mark.parametrize("client", HELLOS)
def test_an_odd_value_costs_no_more_than_itself(client: str) -> None:
    """Any value of what a client says: the same is done as without it, or as before."""
    raw = HELLOS[client]
    before = features(raw)
    for path in paths_in(raw):
        for odd in odd_values(raw, path):
            now = features(changed(raw, path, odd))
            if now != before:
                fewer = (features(changed(raw, path[:n])) for n in range(len(path), 0, -1))
                assert now in fewer, (path, odd)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_an_odd_value_costs_no_session(data: st.DataObject) -> None:
    """The answer has the capabilities, and the next request is answered."""
    raw = HELLOS[data.draw(st.sampled_from([*HELLOS]))] | {"processId": None}
    path = data.draw(st.sampled_from([*paths_in(raw)]))
    said = changed(raw, path, data.draw(st.sampled_from([*odd_values(raw, path)])))
    first, second = asyncio.run(answers(said))
    assert first["result"]["capabilities"].keys() & {
        "completionProvider",
        "inlineCompletionProvider",
    }
    assert "requests" in second["result"]


async def line_behind(said: object, start: int, end: int, at: int) -> tuple[str, str]:
    """Return what is before and behind *at*, where a client has changed what is between *start* and *end*."""
    editor = Editor(faked, {})
    add_methods(editor)
    uri = "file:///a.py"
    opened = {"uri": uri, "languageId": "python", "version": 1, "text": "x = '😀'if"}
    sides = {side: {"line": 0, "character": n} for side, n in (("start", start), ("end", end))}
    change = {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"range": sides, "text": "of"}],
    }
    connection = Connection(
        {"id": 0, "method": "initialize", "params": said},
        {"method": "textDocument/didOpen", "params": {"textDocument": opened}},
        {"method": "textDocument/didChange", "params": change},
    )
    await serve(editor.protocol, connection, lambda _: None)  # type: ignore[arg-type]
    document = editor.document(uri)
    assert document is not None
    column = convert.position(document.lines, types.Position(0, at), editor.encoding).column
    await editor.aclose(1.0)
    return document.lines[0][:column], document.lines[0][column:]


async def answers(said: object) -> list[Raw]:
    """Return a server's answers to a client that says this of itself, and to its next request."""
    editor = Editor(faked, {})
    add_methods(editor)
    connection = Connection(
        {"id": 0, "method": "initialize", "params": said}, {"id": 1, "method": "fim/stats"}
    )
    await serve(editor.protocol, connection, lambda _: None)  # type: ignore[arg-type]
    await editor.aclose(1.0)
    return [each for each in connection.sent if each.get("id") in (0, 1)]
