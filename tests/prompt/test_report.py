"""A prompt by its parts."""

from __future__ import annotations

from contextlib import aclosing

from fim_lsp.context.chunks import ContextChunk, Source, cut, group
from fim_lsp.prompt import report
from server_bridge.protocol import Chunk, Measure, Prompt
from tests.typist import ROOT, Typist, faked


def chunk() -> ContextChunk:
    lines = ("def area(width, height):\n", "    return width * height\n")
    [made] = group(cut(Source("file:///shop/a.py", "a.py", "python", 1, lines), ()), 64)
    return made


def test_what_a_model_has_no_place_for_is_not_shown() -> None:
    """A model that cannot fill in sees nothing of the text below, and no name of the repository."""
    prompt = Prompt("shop", (), "c.py", "import a\n", "later\n", "a.")
    shown = report.describe(prompt, Measure(10, 0, 0, (), 4, 4, 0, 2), [])
    assert [part.part for part in shown.segments] == ["path", "prefix", "middle", "forced"]


def test_every_part_says_its_price_and_reason() -> None:
    """In the order of the prompt; a chunk that the ring forgot is still in the cache."""
    ring = chunk()
    old = Chunk("b.py", "x = 1\n")
    prompt = Prompt(
        "shop", (Chunk(ring.name, ring.text), old), "c.py", "import a\n", "\n", "a.", forced="ar"
    )
    measure = Measure(60, 58, 3, (20, 10), 4, 5, 1, 2)
    shown = report.describe(prompt, measure, [ring])
    assert shown.note == "60 tokens, of which the model has evaluated 58"
    assert [(part.part, part.tokens) for part in shown.segments] == [
        ("repository", 3), ("chunk of a.py", 20), ("chunk of b.py", 10), ("path", 4),
        ("prefix", 5), ("suffix", 1), ("middle", 2), ("forced", None),
    ]  # fmt: skip
    assert shown.segments[1].why == "lines 1 to 2 in a file you opened"
    assert "".join(part.text for part in shown.segments) == (
        "shop" + ring.text + old.text + "c.py" + "import a\n" + "\n" + "a." + "ar"
    )


def test_the_page_is_for_reading() -> None:
    """One rule and the text per part; without a backend there are no counts."""
    page = report.describe(Prompt("shop", (), "c.py", "x\n", ""), None, ()).text
    assert page.startswith("What the model is shown at the cursor: there is no model to count")
    assert "── path · the file at work ───" in page
    assert "\nc.py\n" in page


async def test_a_session_shows_what_it_would_send() -> None:
    """The parts are those of the next prompt, and their tokens are all of it but the control tokens."""
    async with aclosing(faked()) as session:
        typist = Typist(session, "def area(width, height):\n    return wi")
        assert "no suggestion was asked for" in (await session.report(typist.uri)).note
        await typist.ask(invoked=True)
        shown = await session.report(typist.uri)
        parts = {part.part: part for part in shown.segments}
        assert parts["path"].text == "app/cart.py"
        assert parts["prefix"].text + parts["middle"].text + parts["forced"].text == typist.text
        total = int(shown.note.split()[0])
        assert total == sum(part.tokens or 0 for part in shown.segments)
        assert (await session.report(f"{ROOT}/other.py")).segments == ()


async def test_a_private_file_shows_nothing() -> None:
    """Not even to its user: the answer says why."""
    async with aclosing(faked()) as session:
        typist = Typist(session, "KEY=1\n", f"{ROOT}/.env")
        await typist.ask(invoked=True)
        shown = await session.report(typist.uri)
        assert shown.segments == ()
        assert "private" in shown.note
