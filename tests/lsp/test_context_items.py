"""The items of `fim/context`: what other plugins send in Copilot's shapes, and what is none of them."""

from __future__ import annotations

import logging

import pytest

from fim_lsp.events import Informed, Snippet
from fim_lsp.lsp.context_items import ITEMS, VALUE_CHARS, parse_context

URI = "file:///shop/ship.py"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RANGE = {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 1}}
ERROR = {"message": "x is not defined\nmore of it", "severity": 1, "range": RANGE}

ITEMS_READ = {
    "a snippet": ({"uri": URI, "value": "x = 1", "importance": 50}, Snippet(URI, "x = 1")),
    "diagnostics": (
        {"uri": URI, "values": [ERROR]},
        Snippet(URI, "line 5: x is not defined", True),
    ),
    "a secret that would be cut off": (
        {"uri": URI, "values": [{**ERROR, "message": f"{'so ' * 95}'{KEY}' is none"}, ERROR]},
        Snippet(URI, "line 5: x is not defined", True),
    ),
    "none any more": ({"uri": URI, "values": []}, Snippet(URI, "", True)),
    "warnings": ({"uri": URI, "values": [{**ERROR, "severity": 2}]}, Snippet(URI, "", True)),
    "odd diagnostics": ({"uri": URI, "values": [1, None, {"message": 3}]}, Snippet(URI, "", True)),
    "half a character": ({"uri": URI, "value": "\ud800"}, Snippet(URI, "\ufffd")),
    "a trait, which names no file": ({"name": "TypeScript", "value": "5.9"}, None),
    "of several files": ({"uri": URI, "value": "x", "additionalUris": ["file:///y"]}, None),
    "a whole file": ({"uri": URI, "value": "x" * (VALUE_CHARS + 1)}, None),
}


@pytest.mark.parametrize(("item", "snippet"), ITEMS_READ.values(), ids=ITEMS_READ)
def test_what_an_item_says(
    item: object, snippet: Snippet | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A snippet, errors, or nothing that may be used; none of them is a mistake of the client."""
    found = parse_context({"textDocument": {"uri": "file:///main.py"}, "items": [item]})
    assert found == Informed("file:///main.py", (snippet,) if snippet else ())
    assert not caplog.records


ODD: list[object] = [
    None,
    1,
    "x",
    [],
    {},
    {"uri": URI},
    {"uri": 1, "value": "x"},
    {"uri": URI, "value": None},
    {"values": []},
]


@pytest.mark.parametrize("item", ODD, ids=repr)
def test_an_odd_item_is_left_out(item: object, caplog: pytest.LogCaptureFixture) -> None:
    """The log says which, and what it may be; those beside it count."""
    items = [{"uri": URI, "value": "x"}, item]
    found = parse_context({"textDocument": {"uri": URI}, "items": items})
    assert found == Informed(URI, (Snippet(URI, "x"),))
    assert "items[1] is none of {uri, value}, {name, value} and {uri, values}" in caplog.text


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"items": []},
        {"textDocument": {"uri": URI}, "items": {}},
        {"textDocument": URI, "items": []},
    ],
)
def test_odd_params_are_no_event(params: object, caplog: pytest.LogCaptureFixture) -> None:
    """The log says what they must be."""
    assert parse_context(params) is None
    assert "params must be" in caplog.text


def test_no_more_items_are_read_than_a_pause_can_need(caplog: pytest.LogCaptureFixture) -> None:
    """The log says so."""
    with caplog.at_level(logging.WARNING):
        found = parse_context(
            {"textDocument": {"uri": URI}, "items": [{"uri": URI, "value": "x"}] * 99}
        )
    assert found is not None
    assert len(found.snippets) == ITEMS
    assert "99 items" in caplog.text
