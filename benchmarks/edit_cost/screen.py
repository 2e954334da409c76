"""
What an editor draws while an edit is written, with times, and when of it something new was on screen.

A client's drawing is its virtual text. llama.vim shows the line that it is writing, without a diff: that counts as a
changed line as soon as no line of the function begins so, which is the earliest moment a reader could know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.edit_cost.cases import FENCE

# The time counts from the last Enter that was typed.
WATCH = """
local enter, drawn, space = 0, {}, vim.api.nvim_create_namespace('edit_cost')
local names = { 'fim.edit', 'vt_inst' }
vim.on_key(function(key, typed)
  if (typed or key) == '\\r' then enter, drawn = vim.uv.hrtime(), {} end
end)
local function joined(parts)
  return vim.iter(parts):map(function(part) return part[1] end):join('')
end
local function texts()
  local found = {}
  for _, name in ipairs(names) do
    local here = vim.api.nvim_get_namespaces()[name]
    for _, mark in ipairs(here and vim.api.nvim_buf_get_extmarks(0, here, 0, -1, { details = true }) or {}) do
      if mark[4].virt_text then table.insert(found, joined(mark[4].virt_text)) end
      vim.list_extend(found, vim.tbl_map(joined, mark[4].virt_lines or {}))
    end
  end
  return found
end
vim.api.nvim_set_decoration_provider(space, { on_end = function()
  local now = texts()
  if #drawn == 0 or not vim.deep_equal(drawn[#drawn][2], now) then
    table.insert(drawn, { (vim.uv.hrtime() - enter) / 1e6, now })
  end
end })
function _G.drawn() return vim.list_extend({}, drawn) end
function _G.last_drawn() return drawn[#drawn] or { 0, {} } end
vim.o.swapfile, vim.o.autoindent = false, false
vim.cmd('filetype indent off')
"""
UNDER_WAY = " cancels"  # in fim-lsp's hint
WHOLE = " applies, "
RULE = "====="  # stands above and below what llama.vim draws
PREVIEW = "Generating: "
WAITS = "Processing ..."


class Drawn(NamedTuple):
    """What was on screen since *ms* after the instruction was sent."""

    ms: float
    texts: tuple[str, ...]


class Times(NamedTuple):
    """When a changed line was first on screen, -1 for never, and when the answer was whole or given up; in milliseconds."""

    first_ms: float
    whole_ms: float


def is_whole(texts: Sequence[str]) -> bool:
    """Return whether a client shows a whole answer."""
    if texts and texts[0].startswith(RULE):
        return not any(text.startswith((PREVIEW, WAITS)) for text in texts)
    return any(WHOLE in text for text in texts)


def times(drawn: Sequence[Drawn], function: Sequence[str]) -> Times:
    """Return when an edit of the lines of *function* was seen."""
    first = next((screen.ms for screen in drawn if shows_change(screen.texts, function)), -1.0)
    ended = [screen.ms for screen in drawn if is_whole(screen.texts)] or [drawn[-1].ms]
    return Times(first, ended[0])


def shows_change(texts: Sequence[str], function: Sequence[str]) -> bool:
    """Return whether a text on screen is one that *function* did not have."""
    if not (texts and texts[0].startswith(RULE)):
        return any(UNDER_WAY not in text and WHOLE not in text for text in texts)
    if is_whole(texts):
        written = list(texts[1:-1])
    else:
        written = [text.partition(" | ")[2] for text in texts if text.startswith(PREVIEW)]
    old_lines = [line.strip() for line in function]
    return any(
        not any(line.startswith(text.strip()) for line in old_lines)
        for text in written
        if text.strip()
        and not text.strip().startswith((FENCE, "[thinking]"))
        and text.strip() not in FENCE
    )
