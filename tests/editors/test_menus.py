"""
Real clients whose suggestions stand in a list, set up as their pages say.

What they insert is what was meant; they do with an item what the simulator of each does
(`tests/lsp/simulators.py`), and say of themselves what is recorded (`tests/lsp/initialize`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fim_lsp.lsp import quirks
from tests.editors import codemirror, jupyterlab, kate, qt_creator
from tests.editors.conftest import shop_in
from tests.editors.meant import LEADS, ROWS, Client, write_all
from tests.editors.wire import Offer, wiretap
from tests.lsp.test_clients import CLIENTS, HELLOS, hello

pytestmark = pytest.mark.editors


class Program(NamedTuple):
    """How a client is opened; its name in `tests/lsp/test_clients.py`; where it writes *less* than is meant."""

    is_there: bool
    opened: Callable[[Path], AbstractContextManager[Client]]
    known_as: str
    less: dict[str, str] = {}  # noqa: RUF012  (never changed)


PROGRAMS = {
    "CodeMirror": Program(
        codemirror.IS_THERE, codemirror.opened, "codemirror-lsp-client-6.3.0"
    ),
    "JupyterLab": Program(jupyterlab.IS_THERE, jupyterlab.opened, "jupyterlab-lsp-5.3.0"),
    # It writes over the word at the cursor, whatever a server says, and removes `${…}`: so much is offered there.
    "Kate": Program(
        kate.IS_THERE, kate.opened, "kate-26.08.2",
        {"a bracket behind": "    while any(values)", "dollars": "    path = ro"},
    ),
    "Qt Creator": Program(qt_creator.IS_THERE, qt_creator.opened, "qtcreator-20.0.2"),
}  # fmt: skip


class Written(NamedTuple):
    """What stands in the place of each row, what was offered there, and what the client said of itself."""

    program: Program
    texts: dict[str, str]
    offers: dict[str, Offer]
    said: dict[str, Any]


@pytest.fixture(scope="module", params=PROGRAMS)
def written(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, meant_settings: str
) -> Written:
    """Type all rows in a client."""
    program = PROGRAMS[request.param]
    if not program.is_there:
        pytest.skip(f"no {request.param}: run scripts/tools/install-editors")
    home = tmp_path_factory.mktemp("home")
    shop_in(home, "rows.py", LEADS, meant_settings)
    wire = wiretap(home)
    with program.opened(home) as client:
        texts = write_all(client)
    [said, *_] = wire.asked("initialize")
    return Written(program, texts, wire.offers(), said["params"])


@pytest.mark.parametrize("name", ROWS)
def test_what_is_inserted_is_what_was_meant(name: str, written: Written) -> None:
    """A word, a line, a block, over a bracket that was closed behind the cursor, with dollars, and with tabs."""
    assert written.texts[name] == written.program.less.get(name, ROWS[name].meant)


@pytest.mark.parametrize("name", ROWS)
def test_the_simulator_does_as_the_client(name: str, written: Written) -> None:
    """With the same item, at the same place; where none was offered, the text is as it was typed."""
    simulated: str | None = ROWS[name].lead + ROWS[name].typed
    if name in written.offers:
        simulated = CLIENTS[written.program.known_as](*written.offers[name])
    assert simulated == written.texts[name]


def test_the_recording_is_of_the_client(written: Written) -> None:
    """What the server does by what a client says of itself is the same by what is recorded of it."""
    recorded = hello(HELLOS[written.program.known_as])
    assert quirks.read_habits(hello(written.said)) == quirks.read_habits(recorded)
