"""
A session of the product in virtual time, with an editor as Neovim with our plugin and no time of its own.

Other files are looked at first, then the file without its block, and after a jump and a rest the block is typed, as
`editing` does in a real Neovim. The keys come and texts are read as in `accepting`, but by the numbered reader of many.
"""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from xxhash import xxh3_64

from benchmarks.git import name_of
from benchmarks.real_sessions.accepting import indentation
from benchmarks.real_sessions.editing import LOOK_S as COME_S
from benchmarks.real_sessions.editing import REST_S
from benchmarks.real_sessions.readers import Reader
from benchmarks.real_sessions.replayed import ReplayedModel
from benchmarks.real_sessions.scores import Read
from benchmarks.real_sessions.taking import n_keys, take
from benchmarks.real_sessions.texts import Text
from benchmarks.real_sessions.virtual_editor import Editor
from fim_lsp import events
from fim_lsp.context.grammars import find_borders, language_of
from fim_lsp.context.secrets.scan import scrub_parts
from fim_lsp.context.uses import find_uses
from fim_lsp.documents import Position
from fim_lsp.prompt import frame as frames
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import Window
from fim_lsp.session import completer
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config, RingConfig
from fim_lsp.suggest.filters.order import polish
from fim_lsp.workspace import reader as syntax_reader
from tests.clock import Loop
from tests.places import place

# No chunks of other files stand in the recorded prompts.
ALONE = Config(ring=RingConfig(chunks=0))
FIRST_S = 5.0  # until the first request has come to its text, on a slow machine
MOVED_S = 0.2  # of rest until Neovim tells where the cursor is in normal mode


class Outcome(NamedTuple):
    """What came of one reader's session: keys alone and pressed, characters, texts, and the server's work."""

    n_alone: int
    n_pressed: int
    n_chars: int
    n_taken: int
    n_read: int
    n_wrong: int
    wrong_chars: int
    seconds: float
    busy_s: float = 0.0
    n_decoded: int = 0
    n_evaluated: int = 0


class Typist:
    """
    The reader of a *number*, who types *text* into an editor; None is the one of `accepting`.

    State: the keys pressed, the texts read, by what they claim.
    """

    def __init__(self, editor: Editor, text: Text, who: Reader, number: int | None) -> None:
        self._editor = editor
        self._who = who
        self._number = number
        self._whole = text.block
        self._typed = "\n".join(text.session.typed)
        name = text.session.name
        keys = random.Random(name if number is None else f"{name} {number}")
        self._pauses = [who.key_s(keys, char) for char in self._typed]
        self._n_pressed = 0
        self._reads = dict[str, Read]()

    async def type(self) -> Outcome:
        """Type the block's first lines, taking what is right on the way."""
        began = asyncio.get_running_loop().time()
        while (at := self._editor.at) < len(self._typed):
            n_indent = indentation(self._typed, at)
            if n_indent:
                self._editor.press(n_indent)
            elif not await self._takes_within(self._pauses[at]):
                self._editor.press(_n_together(self._typed, at))
            self._n_pressed += not n_indent
        return self._outcome(asyncio.get_running_loop().time() - began)

    async def _takes_within(self, seconds: float) -> bool:
        """Read what has stood for long enough until the next key is due; return whether something was taken instead."""
        time = asyncio.get_running_loop().time
        screen = self._editor.screen
        at = self._editor.at
        due = time() + seconds
        while (left := due - time()) > 0:
            claim = screen.claim
            expected = self._whole[at:]
            part = take(screen.text, expected)
            read_s = _read_s(self._who, self._number, claim, screen.text, bool(part))
            unread = screen.since + read_s - time()
            is_there = bool(screen.text.strip())
            if not is_there or unread > 0 or (claim in self._reads and not part):
                await screen.wait(min(left, unread) if is_there and unread > 0 else left)
                continue
            if claim not in self._reads:
                self._reads[claim] = Read(at, screen.text, expected, "")
                due += read_s if self._who.holds else 0
            if part:
                self._editor.accept(part)
                self._reads[claim] = self._reads[claim].take(part[: len(self._typed) - at])
                return True
        return False

    def _outcome(self, seconds: float) -> Outcome:
        reads = self._reads.values()
        wrong = [read for read in reads if not read.taken]
        return Outcome(
            n_alone=n_keys(self._typed, starts_line=True), n_pressed=self._n_pressed, n_chars=len(self._typed),
            n_taken=sum(len(read.taken) for read in reads), n_read=len(reads), n_wrong=len(wrong),
            wrong_chars=sum(len(read.text) for read in wrong), seconds=seconds,
        )  # fmt: skip


@functools.lru_cache(1 << 16)
def _read_s(who: Reader, number: int | None, claim: str, text: str, is_right: bool) -> float:
    rng = random.Random(claim if number is None else f"{number} {claim}")
    return who.read_s(rng, text, is_right)


def _n_together(typed: str, at: int) -> int:
    """Return how many characters a key makes: behind a line break the editor types the indentation."""
    return 1 + indentation(typed, at + 1) if typed[at] == "\n" else 1


async def come(model: ReplayedModel, text: Text) -> tuple[Session, Editor]:
    """Return a session at the place, in insert mode, as `editing` comes there."""
    root = place("home", "me", name_of(text.session.repo))
    session = Session(ALONE, lambda _: model)
    session.handle(events.FoldersChanged((root,)))
    here = text.session.path
    for path, whole in (*text.others, (here, text.head + text.tail)):
        uri = f"{root}/{path}"
        place("home", "me", name_of(text.session.repo), *path.split("/")[:-1])
        session.handle(events.Opened(uri, language_of(path), 1, whole))
        session.handle(events.Focused(uri))
        await asyncio.sleep(MOVED_S)
        session.handle(events.CursorMoved(uri, Position(0, 0)))
        await asyncio.sleep(COME_S - MOVED_S)
    await asyncio.sleep(MOVED_S)
    session.handle(events.CursorMoved(uri, Position(text.session.start, 0)))
    await asyncio.sleep(REST_S - MOVED_S)
    editor = Editor(session, text, uri)
    editor.moved()
    return session, editor


async def play(model: ReplayedModel, text: Text, who: Reader, number: int | None) -> Outcome:
    """Return what came of *text* with a reader."""
    session, editor = await come(model, text)
    busy_s = model.busy_s
    n_decoded = model.n_decoded
    n_evaluated = model.n_evaluated
    outcome = await Typist(editor, text, who, number).type()
    editor.close()
    outcome = outcome._replace(
        busy_s=model.busy_s - busy_s, n_decoded=model.n_decoded - n_decoded,
        n_evaluated=model.n_evaluated - n_evaluated,
    )  # fmt: skip
    await session.aclose()
    return outcome


async def find_frame(model: ReplayedModel, text: Text) -> Frame:
    """Return the frame in which the product asks when the block is begun."""
    session, editor = await come(model, text)
    await asyncio.sleep(FIRST_S)
    editor.close()
    await session.aclose()
    prompt = model.prompts[0]
    anchor = text.session.start - (prompt.middle + prompt.forced).count("\n")
    first = anchor - prompt.prefix.count("\n")
    header = Header(prompt.repo, prompt.chunks, prompt.path)
    return Frame(header, Window(first, anchor, prompt.prefix, prompt.suffix))


def digest_prompts(frame: Frame, text: Text) -> str:
    """Return the checksum of the prompts in *frame* at all places of the block's typed lines."""
    found = xxh3_64()
    typed = "\n".join(text.session.typed)
    for at in range(len(typed) + 1):
        found.update(repr(compose(frame, middle(frame, text, at))).encode())
    return found.hexdigest()


def middle(frame: Frame, text: Text, at: int) -> str:
    """Return what stands between the frame's anchor and a place of the block."""
    lines = (text.head + text.block[:at]).split("\n")
    return "\n".join(lines[frame.window.anchor :])


@contextmanager
def virtual_time() -> Iterator[Callable[[Any], Any]]:
    """Give what runs a coroutine in virtual time: the product's clocks tell it, and its threads take none."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        for clock in ("perf_counter", "monotonic"):
            patch.setattr(time, clock, loop.time)
        patch.setattr(time, "monotonic_ns", lambda: int(loop.time() * 1e9))
        parser: Any = syntax_reader.SyntaxProcess
        patch.setattr(parser, "borders", lambda _, language, text: _borders(language, text))
        patch.setattr(parser, "uses", lambda _, *asked: [*find_uses(*asked)])
        patch.setattr(parser, "errors", lambda *_: None)
        patch.setattr(frames, "_scrub", _scrub)
        patch.setattr(completer, "polish", _polish)
        yield runner.run


# What only computes is computed once for all readers.
_borders = functools.lru_cache(4096)(find_borders)
_scrub = functools.lru_cache(1 << 14)(scrub_parts)
_polish = functools.lru_cache(1 << 14)(polish)
