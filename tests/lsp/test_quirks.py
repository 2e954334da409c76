"""`fim_lsp.lsp.quirks`: what is known of clients by what they say of themselves."""

from __future__ import annotations

import math

import pytest

from fim_lsp.lsp import quirks
from fim_lsp.lsp.structure import types

NEVER = math.inf


def hello(name: str, version: str = "", **support: object) -> types.InitializeParams:
    item = types.ClientCompletionItemOptions(**support)  # type: ignore[arg-type]
    menu = types.CompletionClientCapabilities(completion_item=item)
    text_document = types.TextDocumentClientCapabilities(completion=menu)
    info = types.ClientInfo(name, version)
    return types.InitializeParams(
        types.ClientCapabilities(text_document=text_document), client_info=info
    )


@pytest.mark.parametrize(
    ("values", "indents"),
    [
        ([types.InsertTextMode.AsIs, types.InsertTextMode.AdjustIndentation], True),
        ([types.InsertTextMode.AdjustIndentation], False),
        (None, False),
    ],
)
def test_a_client_that_can_be_told_not_to_indent(values: list[types.InsertTextMode], indents: bool):
    """Is told so, where it names that mode among others."""
    modes = values and types.ClientCompletionItemInsertTextModeOptions(values)
    assert quirks.read_habits(hello("x", insert_text_mode_support=modes)).menu.indents is indents


@pytest.mark.parametrize(
    ("formats", "reads"),
    [
        ([types.MarkupKind.Markdown, types.MarkupKind.PlainText], True),
        ([types.MarkupKind.PlainText, types.MarkupKind.Markdown], False),
        ([types.MarkupKind.PlainText], False),
        (None, False),
    ],
)
def test_markdown_is_for_clients_that_ask_for_it(formats: list[types.MarkupKind], reads: bool):
    """And prefer it, by the order that they name it in: the others show its fences."""
    client = quirks.read_habits(hello("x", documentation_format=formats))
    assert client.menu.reads_markdown is reads


@pytest.mark.parametrize(
    ("name", "ms"),
    [
        ("Neovim", 200),
        ("code-server", 50),
        ("PyCharm", 300),
        ("helix", 0),
        ("", 0),
    ],
)
def test_what_an_editor_waits_by_itself(name: str, ms: int) -> None:
    """The server waits that much less; for an unknown editor nothing is subtracted."""
    assert quirks.read_habits(hello(name)).asks.waits_ms == ms


@pytest.mark.parametrize(
    ("name", "version", "limit_s"),
    [
        ("Visual Studio Code", "1.121.0", 0.6),
        ("Visual Studio Code - Insiders", "1.140.0-insider", 0.6),
        ("VSCodium", "2.0", 0.6),
        ("Visual Studio Code", "1.120.9", NEVER),
        ("Visual Studio Code", "", NEVER),
        ("Visual Studio Code", "next", NEVER),
        ("Neovim", "1.139.1", NEVER),
        ("", "", NEVER),
    ],
)
def test_how_long_a_list_waits_inside_a_word(name: str, version: str, limit_s: float) -> None:
    """In VS Code since 1.121; elsewhere the list does not wait for ghost text."""
    assert quirks.read_habits(hello(name, version)).asks.word_limit_s == limit_s
