"""
A typist who accepts, in a real Neovim.

Keys come at the times of a reader (`readers`), the same for every client. What has stood on screen for as long as it
needs is read once, also while keys that it foretold are typed, and taken where it is right (`taking`). Then the typist
goes on from where the cursor is.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import TextIO

from benchmarks.real_sessions.choice import Written
from benchmarks.real_sessions.readers import KEY_S, Reader
from benchmarks.real_sessions.scores import Accepted, Read
from benchmarks.real_sessions.taking import choose, n_keys
from fim_lsp.documents import n_common
from tests.editors.neovim import Neovim

LOOK_S = 0.02
BLINK_S = 0.03  # between a key and the ghost text that it makes shorter: not seen
SETTLE_S = 3.0  # until what was accepted stands in the text, at most
KEYS = {"all": "\x02", "line": "\x0c", "word": "\x1a"}  # as in `benchmarks.neovim`

# Each text that is drawn, with what is typed of the block before it.
NOTES = """
local notes, last = assert(io.open('@NOTES@', 'a')), ''
notes:setvbuf('line')
function _G.block()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.api.nvim_buf_get_lines(0, @START@, row, false)
  if #lines > 0 then lines[#lines] = lines[#lines]:sub(1, col) end
  return table.concat(lines, '\\n')
end
function _G.note(text)
  local before = _G.block()
  local now = text == '' and '' or before .. '\\0' .. text
  if now == last then return end
  last = now
  notes:write(vim.json.encode({ vim.uv.hrtime() / 1e9, before, text }), '\\n')
end
"""


class Screen:
    """What stands on screen, by the editor's notes. State: the text, what is before it, since when it stands."""

    def __init__(self, notes: TextIO) -> None:
        self.before = self.text = ""
        self.since = 0.0
        self.shown: list[tuple[float, str]] = []
        self._left = ("", 0.0, 0.0)  # what stood before, since when and until when
        self._notes = notes
        self._rest = ""

    @property
    def claim(self) -> str:
        """What is said to stand in the text in the end."""
        return self.before + self.text

    def look(self) -> None:
        """Read what was noted since; a text that typing continues stands on, also behind a blink."""
        *lines, self._rest = (self._rest + self._notes.read()).split("\n")
        for at, before, text in map(json.loads, lines):
            if not self.text or before + text != self.claim:
                if at - self.since > BLINK_S:
                    self._left = (self.claim if self.text else "", self.since, at)
                claim, since, until = self._left
                is_back = text and before + text == claim and at - until < BLINK_S
                self.since = since if is_back else at
            self.before = before
            self.text = text
            self.shown.append((at, text))

    def stands(self, typed: str, seconds: float) -> bool:
        """Return whether a text has stood for so long behind what is *typed*."""
        if self.before != typed or not self.text.strip():
            return False
        return time.monotonic() - self.since >= seconds


def waits(session: Written, reader: Reader) -> list[float]:
    """Return the time before each character of what is typed, in seconds."""
    rng = random.Random(session.name)
    return [reader.key_s(rng, char) for char in "\n".join(session.typed)]


def type_accepting(editor: Neovim, session: Written, notes: Path, reader: Reader) -> Accepted:
    """Type the block's first lines in insert mode, taking what is right on the way."""
    whole = "\n".join(session.block)
    text = "\n".join(session.typed)
    pause = waits(session, reader)
    reads: dict[str, Read] = {}
    refused: set[str] = set()
    pressed: list[tuple[int, float]] = []
    at = 0
    n_pressed = 0
    began = time.monotonic()
    with notes.open(encoding="utf-8") as lines:
        screen = Screen(lines)
        while at < len(text):
            n_typed = indentation(text, at)
            due = time.monotonic() + (0 if n_typed else pause[at])
            while (left := due - time.monotonic()) > 0:
                editor.pump(min(LOOK_S, left))
                screen.look()
                claim = screen.claim
                part = choose(screen.text, whole[at:])
                seconds = reader.read_s(random.Random(claim), screen.text, bool(part))
                if not screen.stands(whole[:at], seconds):
                    continue
                if claim not in reads:
                    reads[claim] = Read(at, screen.text, expected(whole, at, screen.text), "")
                    due += seconds if reader.holds else 0
                if part and claim not in refused:
                    editor.send(KEYS[part])
                    end, n_wrong = _settle(editor, whole, at)
                    n_pressed += 1 + n_wrong
                    if end == at:  # the key does nothing; it is not pressed twice
                        refused.add(claim)
                        continue
                    reads[claim] = reads[claim].take(whole[at : min(end, len(text))])
                    at = end
                    due = time.monotonic() + KEY_S
                    break
            else:
                pressed.append((at, time.monotonic()))
                at += press(editor, text[at : at + max(1, n_typed)])
                n_pressed += not n_typed
    return Accepted(
        n_keys(text, starts_line=True), n_pressed, tuple(reads.values()), tuple(pressed),
        tuple(screen.shown), time.monotonic() - began,
        sum(pause[n] for n in range(len(text)) if not indentation(text, n)), len(text),
    )  # fmt: skip


def press(editor: Neovim, keys: str) -> int:
    """Type *keys* in insert mode; return how many they are."""
    editor.send(keys.replace("\n", "\r"))
    return len(keys)


LEFT_CHARS = 20  # of what is expected, shown behind as much as was read


def expected(whole: str, at: int, read: str) -> str:
    """Return the right text at a place where the user *read* one, and some characters behind it."""
    return whole[at : at + len(read) + LEFT_CHARS]


def indentation(text: str, at: int) -> int:
    """Return the characters of indentation that stand at a place, which the editor types."""
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    done = at - text.rfind("\n", 0, at) - 1
    width = len(line) - len(line.lstrip())
    return max(0, width - done) if line.strip() else 0


def _settle(editor: Neovim, whole: str, at: int) -> tuple[int, int]:
    """
    Return where the cursor is once something was accepted behind *at* characters, *at* if nothing is.

    A client may insert another text than it showed: so many wrong characters are deleted by keys.
    """
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        editor.pump(LOOK_S)
        block = str(editor.lua("block()"))
        if len(block) > at:
            n_right = n_common(block, whole)
            editor.send("\x7f" * (len(block) - n_right))
            return n_right, len(block) - n_right
    return at, 0
