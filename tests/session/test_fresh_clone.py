"""A clone in which no file was opened yet: what the first key finds."""

from __future__ import annotations

from pathlib import Path

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config, StateConfig
from tests.fake_backend import FakeBackend
from tests.workspace.test_git_history import commit, git

FEES = "def customs_fee(parcel, country):\n    return parcel.weight * country.rate\n"
MAIN = "def price(parcel, country):\n    total = parcel.base\n    \n    return total\n"


async def test_the_files_that_belong_to_the_first_one_are_shown_before_the_first_key(
    tmp_path: Path,
) -> None:
    """By git's history, from far away, with the reason; no suggestion was asked for yet."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for _ in range(2):
        commit(tmp_path, "app/price.py", "deep/below/customs.py")
    (tmp_path / "app/price.py").write_text(MAIN)
    (tmp_path / "deep/below/customs.py").write_text(FEES)
    session = Session(Config(state=StateConfig(save=False)), lambda _: FakeBackend())
    try:
        uri = (tmp_path / "app/price.py").as_uri()
        session.handle(events.FoldersChanged((tmp_path.as_uri(),)))
        session.handle(events.Opened(uri, "python", 1, MAIN))
        await session.connection.wait_ready()
        session.handle(events.CursorMoved(uri, Position(2, 4)))
        await session.wait_idle()
        report = await session.context(uri)
        assert [part.why for part in report.segments if FEES in part.text] == [
            "lines 1 to 2 in a file that often changes with this one"
        ]
    finally:
        await session.aclose()
