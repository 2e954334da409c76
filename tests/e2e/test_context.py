"""`fim/context`, from any plugin to a real server."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.client import Editor, wait_until

MAIN = "from ship import freight_of\n\nprice = freight_of(parcel)\n"
SHIP = "def freight_of(parcel, distance):\n    rate = parcel.weight * distance\n    return rate\n"
ODD: list[object] = [None, [], {}, {"items": 3}, {"textDocument": {"uri": "x"}, "items": [1, None]}]


def test_what_a_plugin_tells_is_shown(editor: Editor, tmp_path: Path) -> None:
    """While the user pauses; odd messages cost nothing but a line in the log."""
    (tmp_path / "ship.py").write_text(SHIP)
    (tmp_path / "main.py").write_text(MAIN)
    main = (tmp_path / "main.py").as_uri()
    editor.initialize(
        rootUri=tmp_path.as_uri(),
        initializationOptions={"fim": {"backend": {"kind": "embedded"}, "ring": {"files": False}}},
    )
    editor.open(main, MAIN)
    editor.notify(
        "fim/didMoveCursor",
        {"textDocument": {"uri": main}, "position": {"line": 2, "character": 0}},
    )
    for params in ODD:
        editor.notify("fim/context", params)
    item = {"uri": (tmp_path / "ship.py").as_uri(), "value": SHIP, "importance": 80}
    trait = {"name": "language", "value": "3.14"}
    editor.notify("fim/context", {"textDocument": {"uri": main}, "items": [trait, "odd", item]})
    wait_until(lambda: editor.request("fim/stats")["ring"]["chunks"], "a piece in the ring")
