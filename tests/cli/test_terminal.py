"""What a terminal shows, and what a pipe gets."""

from __future__ import annotations

import io

import pytest

from fim_lsp.cli.terminal import ERASE_LINE, clip, fit, screen_on

pytestmark = pytest.mark.promise("no-terminal-commands")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "colour", "live"),
    [
        (Terminal(), {}, True, True),
        (Terminal(), {"NO_COLOR": "1"}, False, True),
        (Terminal(), {"NO_COLOR": ""}, True, True),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (io.StringIO(), {}, False, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True, False),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colour_is_for_terminals_and_for_those_who_ask(
    stream: io.StringIO, environ: dict[str, str], colour: bool, live: bool
) -> None:
    """NO_COLOR wins over everything, a pipe gets plain text."""
    screen = screen_on(stream, environ)
    assert (screen.colour, screen.live) == (colour, live)
    assert ("\x1b" in screen.paint("text", "ghost")) == colour


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("short", 5, "short"), ("longer", 5, "long…"), ("longer", 1, "…"), ("", 0, "")],
)
def test_clipped_text_fits(text: str, width: int, shown: str) -> None:
    """An ellipsis stands for what does not fit."""
    assert clip(text, width) == shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a server on another host than this", ["a server on another host", "than this"]),
        ("  1  a model for this machine", ["  1  a model for this", "  machine"]),
        ("first\n\nlast: ", ["first", "", "last: "]),
    ],
)
def test_sentences_break_between_words(text: str, lines: list[str]) -> None:
    """Indentation stays, and the blank behind a question."""
    assert fit(text, 24).split("\n") == lines


def test_only_a_terminal_breaks_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets a line for a line: programs read it."""
    monkeypatch.setenv("COLUMNS", "30")
    for stream, n_lines in ((Terminal(), 2), (io.StringIO(), 1)):
        screen_on(stream, {}).say("a server on another host than this")
        assert stream.getvalue().count("\n") == n_lines


def test_a_terminal_obeys_nothing_but_our_own_colours() -> None:
    """Names of files and words of servers may hold anything; a pipe is shown it in the same way."""
    for stream in (Terminal(), io.StringIO()):
        screen = screen_on(stream, {"FORCE_COLOR": "1"})
        screen.line(screen.paint("good\x1b]0;title\x07", "good") + "\t\x1b[2J\x9b2J\r\u202e\n漢")
        shown = stream.getvalue()
        assert shown.startswith("\x1b[32mgood\\x1b]0;title\\x07\x1b[0m\t\\x1b[2J\\x9b2J\\r")
        assert shown.endswith("\\u202e\n漢\n")


def test_progress_is_escaped_too() -> None:
    """A pipe gets none: it is rewritten in place."""
    for stream, shown in ((Terminal(), f"{ERASE_LINE}loading \\x1b]0;x\\x07"), (io.StringIO(), "")):
        screen_on(stream, {}).status("loading \x1b]0;x\x07")
        assert stream.getvalue() == shown


def test_the_text_of_a_model_is_as_it_is_in_a_pipe() -> None:
    """On a terminal it is escaped."""
    text = "x = 1  # \x1b]0;title\x07\n\ty"
    pipe = io.StringIO()
    terminal = Terminal()
    screen_on(pipe, {}).text(text)
    screen_on(terminal, {}).text(text)
    assert pipe.getvalue() == text + "\n"
    assert terminal.getvalue() == "x = 1  # \\x1b]0;title\\x07\n\ty\n"
