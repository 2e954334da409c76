"""Texts that break editors: other scripts, odd line ends, huge lines and files."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from fim_lsp import events
from fim_lsp.documents import Position, body
from fim_lsp.session.session import Session
from tests.asked import requests_to
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import ROOT, Typist

HEAD = "class Parser:\n"
BODY = "    def __init__(self, na"  # the text goes on with `me…`
BEFORE = {
    "CJK": "名前 = '漢字、かな、한글'",
    "combining": "e\u0301te\u0301 = 'a\u0308\u0323\u0301'",
    "emoji": "'\U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea 👍🏽'",
    "right to left": "# \u05e9\u05dc\u05d5\u05dd \u202b\u0645\u0631\u062d\u0628\u0627\u202c",
    "beyond the BMP": "𝔘𝔫𝔦 = '𐍈𐌰'",
    "line ends that are none": "'\x0b\x0c\x1c\x85\u2028\u2029'",
    "nothing": "\ufeff",
}
TYPED = "def area(width, height):\n    area = width * height\n    if area > 1000:\n        pri"


async def check(session: Session, text: str, name: str = "a") -> list[str]:
    """Ask behind *text*: what is offered stands at the cursor and can be accepted."""
    typist = Typist(session, text, f"{ROOT}/{name}.py")
    suggestions = await typist.ask(invoked=True)
    for each in suggestions:
        assert each.start == typist.cursor
        assert each.end.line == each.start.line
        line = body(typist.document.lines[each.end.line])
        assert each.start.column <= each.end.column <= len(line)
        assert not set("\r\ufffd") & set(each.text)
    if suggestions:
        typist.accept(suggestions[0])
        assert typist.document.text.startswith(text)
        await typist.ask(invoked=True)
    return [each.text for each in suggestions]


async def test_other_scripts(session: Session) -> None:
    """Above the cursor, and before it on its line, they do not move what is offered."""
    same = []
    for name, line in BEFORE.items():
        above = await check(session, f"{line}\n{HEAD}{BODY}", f"{name} above")
        assert above[0].startswith("me"), name
        string = repr("".join(char for char in line if char not in "'#"))
        same += await check(session, f"class Parser:\n    x = {string}; pri", f"{name} before")
    assert same


async def test_half_a_character(session: Session) -> None:
    """The model is shown U+FFFD in its place, and the text stays as the editor has it."""
    sent = requests_to(session.connection.backend)
    half = "\ud83d"
    Typist(session, f"def other():\n    self.x = '{half}'\n", f"{ROOT}/other.py")
    for name, text in {
        "above": f"# {half}\n{HEAD}{BODY}",
        "on the line": f"{HEAD}    # {half}\n    x = '{half}'; pri",
        "right before the cursor": f"{HEAD}    x = '{half}",
        "as a letter of a word": f"{HEAD}    x = a{half}b",
        "below": f"{HEAD}{BODY}\n# \ude00",
    }.items():
        typist = Typist(session, text, f"{ROOT}/{name}.py")
        await typist.ask(invoked=True)
        prompt = sent[-1].prompt
        shown = prompt.prefix + prompt.middle + prompt.forced + prompt.suffix
        assert shown == text.replace(half, "\ufffd").replace("\ude00", "\ufffd"), name
        assert typist.document.text == text


async def test_line_ends(session: Session) -> None:
    """The model is shown the same with any; the last line may have none."""
    sent = requests_to(session.connection.backend)
    for name, end in ("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r"):
        n_before = len(sent)
        assert await check(session, (HEAD + BODY).replace("\n", end), name)
        first, here = (replace(sent[n].prompt, path="", tape=()) for n in (0, n_before))
        assert here == first


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
async def test_line_ends_of_the_model(open_session: OpenSession, eol: str) -> None:
    """Those of a suggestion are `\\n`, whichever the model writes and the file has."""
    written = "\n    if b > a:\r\n        return b\r    return a\r"
    session = open_session(backend=FakeBackend(lambda _, __: written))
    typist = Typist(session, f"import os{eol}{eol}def larger(a, b):")
    [suggestion] = await typist.ask(invoked=True)
    assert suggestion.text == "\n    if b > a:\n        return b\n    return a"


async def test_nothing_at_all(session: Session) -> None:
    """An empty file, a blank line, only white space: an answer, whatever it is."""
    for idx, text in enumerate(("", "\n", "   ", "\t\r\n", "\ufeff", "\x00\x01\n")):
        await check(session, text, f"empty{idx}")


async def test_a_line_of_half_a_megabyte(session: Session) -> None:
    """Minified code gets nothing, and the model is not asked."""
    typist = Typist(session, "x=1;" * 125_000)
    typist.cursor = Position(0, 250_000)
    for _ in range(5):
        typist.type("y")
        assert await typist.ask(invoked=True) == []
    assert typist.counted("outcomes", "the line is too long") == 5
    assert typist.counted("streams") == 0


def calls_of(act: Callable[[], None]) -> int:
    """Return how many functions *act* calls: what it costs, without a clock."""
    n = 0

    def count(*_: object) -> None:
        nonlocal n
        n += 1

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return n


async def cost_of_typing(session: Session, n_lines: int) -> list[int]:
    """Return what each key costs in the middle of a file of so many lines."""
    typist = Typist(session, "x = 1  # 漢字\n" * n_lines, f"{ROOT}/{n_lines}.py")
    typist.cursor = Position(n_lines // 2, 0)
    await typist.ask(invoked=True)
    costs = []
    for key in TYPED:
        await asyncio.sleep(0)  # a key is a message, and a turn of the event loop, of its own

        def press(key: str = key) -> None:
            typist.type(key)
            session.handle(events.CursorMoved(typist.uri, typist.cursor))

        costs.append(calls_of(press))
        await typist.ask()
    return costs


async def test_a_file_of_fifty_thousand_lines(session: Session) -> None:
    """A key costs there what it costs in a short file."""
    short, long = [await cost_of_typing(session, n_lines) for n_lines in (500, 50_000)]
    assert sorted(long)[len(long) // 2] <= 1.2 * sorted(short)[len(short) // 2]
