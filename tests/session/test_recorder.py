"""What a user records of a session: its privacy, and that it can be played exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.recorded import log
from benchmarks.recorded.log import Changed, Focused, Moved, Opened
from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session import recorder
from fim_lsp.session.session import Session
from tests.typist import Typist, wait_judged

pytestmark = pytest.mark.security

KEY = "ghp_x8Fq2LmZ7RtYw3KpV9sDc4HnB6jA1eU0gToQ"  # in the form of a token
TEXT = "def area(width, height):\n    return "


def typist(session: Session, folder: Path, name: str = "shop.py", text: str = TEXT) -> Typist:
    (folder / name).write_text(text, "utf-8")
    return Typist(session, text, (folder / name).as_uri(), root=folder.as_uri())


def move(typist: Typist, line: int, column: int) -> None:
    typist.cursor = Position(line, column)
    typist.session.handle(events.CursorMoved(typist.uri, typist.cursor))


async def stop(session: Session) -> str:
    return (await session.stop_recording()).decode()


def last_texts(recording: str) -> dict[str, str]:
    """The files as they are at the end of a recording."""
    texts: dict[str, str] = {}
    for entry in log.entries(json.loads(recording)):
        match entry:
            case Opened(_, path, text):
                texts[path] = text
            case Changed(_, path, edits):
                texts[path] = log.replace(texts[path], edits)
    return texts


async def test_nothing_is_recorded_before_and_after(session: Session, tmp_path: Path) -> None:
    """A recording begins by hand and ends by hand; what was typed before is there as text alone."""
    user = typist(session, tmp_path)
    await wait_judged(session)
    user.type("wi")
    assert await stop(session) == ""
    session.record()
    user.type("d")
    recording = await stop(session)
    user.type("secretly")
    assert last_texts(recording) == {"shop.py": TEXT + "wid"}
    assert await stop(session) == ""


async def test_a_recording_is_exact(session: Session, tmp_path: Path) -> None:
    """It has each change, cursor move and look at a file, in UTF-16 units."""
    user = typist(session, tmp_path, text="x = '😀'\n")
    await wait_judged(session)
    session.record()
    session.handle(events.Focused(user.uri))
    move(user, 0, 5)
    user.type("ab")
    user.type("\nc")
    edit = Edit(Position(0, 0), Position(0, 1), "y")
    session.handle(events.Changed(user.uri, 99, (edit,)))
    recording = await stop(session)
    assert '"selection": [[5, 5]]' in recording
    assert last_texts(recording) == {"shop.py": user.document.text}
    kinds = [type(entry) for entry in log.entries(json.loads(recording))]
    assert kinds[:3] == [Opened, Focused, Moved]
    assert kinds.count(Changed) >= 3


async def test_an_ignored_file_is_not_in_it(session: Session, tmp_path: Path) -> None:
    """Nor is a file that becomes private before the end, and is closed by then."""
    (tmp_path / ".gitignore").write_text("private.py\n")
    users = [typist(session, tmp_path, name) for name in ("private.py", "late.py", "shop.py")]
    await wait_judged(session)
    session.record()
    for n, user in enumerate(users):
        user.type(f"typed_{n}")
    session.handle(events.Closed(users[1].uri))
    (tmp_path / ".gitignore").write_text("private.py\nlate.py\n")
    recording = await stop(session)
    assert last_texts(recording) == {"shop.py": TEXT + "typed_2"}
    assert not any(word in recording for word in ("private.py", "late.py", "typed_0", "typed_1"))


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_secret_is_not_in_it(session: Session, tmp_path: Path, *, at_once: bool) -> None:
    """A secret is redacted, one that is typed key by key from its beginning on, as in a prompt."""
    user = typist(session, tmp_path, text=f"old = '{KEY[::-1]}'\nother = '{KEY}'\n")
    await wait_judged(session)
    session.record()
    user.type("token = '")
    for part in [KEY] if at_once else KEY:
        user.type(part)
    user.type("'\n")
    recording = await stop(session)
    assert last_texts(recording)["shop.py"].count("REDACTED") >= 2
    typed = "".join(
        edit.text
        for entry in log.entries(json.loads(recording))
        if isinstance(entry, Changed)
        for edit in entry.edits
    )
    assert not any(KEY[n : n + 6] in recording for n in range(len(KEY) - 6))
    assert not any(KEY[n : n + 4] in typed for n in range(4, len(KEY) - 4))


async def test_a_half_typed_secret_that_is_left_takes_the_file_out(
    session: Session, tmp_path: Path
) -> None:
    """Where the cursor leaves it, no rule knows it any more; so the file is left out."""
    user = typist(session, tmp_path)
    await wait_judged(session)
    session.record()
    user.type("1\nx = '" + KEY[:9])
    move(user, 0, 0)
    user.type("# a comment, ")
    assert await stop(session) == ""


async def test_a_secret_of_a_client_that_sends_whole_texts(
    session: Session, tmp_path: Path
) -> None:
    """The cursor is where the text has changed."""
    user = typist(session, tmp_path, text="x = 1\n")
    await wait_judged(session)
    session.record()
    for n in range(1, len(KEY)):
        text = f"x = 1\ntoken = '{KEY[:n]}\ny = 2\n"
        session.handle(events.Changed(user.uri, n + 1, (text,)))
    recording = await stop(session)
    assert "token" in recording
    assert not any(KEY[n : n + 6] in recording for n in range(len(KEY) - 6))
    assert "edit" in recording


async def test_what_several_cursors_type_is_left_out(session: Session, tmp_path: Path) -> None:
    """A half-typed secret is found at one cursor only; edits of a formatter are no typing."""
    user = typist(session, tmp_path, text="a = ''\nb = ''\n")
    other = typist(session, tmp_path, "other.py", text="a\nb\n")
    await wait_judged(session)
    session.record()
    for n, char in enumerate("ghp"):
        edits = tuple(Edit(Position(row, 5 + n), Position(row, 5 + n), char) for row in (0, 1))
        session.handle(events.Changed(user.uri, n + 2, edits))
    edits = tuple(Edit(Position(row, 0), Position(row, 0), "    ") for row in (0, 1))
    session.handle(events.Changed(other.uri, 2, edits))
    assert last_texts(await stop(session)) == {"other.py": "    a\n    b\n"}


async def test_a_recording_is_bounded(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps so many characters, and no file that is too large to be searched at each key."""
    monkeypatch.setattr(recorder, "MOST_CHARS", 1000)
    user = typist(session, tmp_path)
    large = typist(session, tmp_path, "large.py", "x = 1\n" * recorder.FILE_CHARS)
    await wait_judged(session)
    session.record()
    large.type("#")
    for _ in range(100):
        user.type("wide ")
    recording = await stop(session)
    assert "large.py" not in recording
    assert len(recording) < 2500
    assert last_texts(recording)["shop.py"].startswith(TEXT + "wide")
