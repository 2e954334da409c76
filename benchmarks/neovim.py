"""
A real Neovim that is watched while its clients draw: their settings, what is ghost text, whose time it costs.

Ghost text is what stands in the clients' virtual text when Neovim has drawn.
"""

from __future__ import annotations

import time
import urllib.request

import psutil

from benchmarks import metrics
from tests.editors.neovim import Neovim

# The keys by which both plugins accept; none of them does anything else in insert mode.
FIM_LSP = """
vim.g.fim = {{ ghost_text = 'own', keys = {{ accept = '<C-B>', accept_line = '<C-L>', accept_word = '<C-Z>' }} }}
vim.lsp.config('fim', {{ settings = {{ fim = {{ backend = {{ kind = 'llama-server', url = '{url}' }} }} }} }})
vim.lsp.enable('fim')
"""
LLAMA_VIM = """
vim.opt.rtp:append('{llama_vim}')
vim.g.llama_config = {{
  endpoint_fim = '{url}/infill', endpoint_inst = '{url}/v1/chat/completions',
  api_key = 'shop', show_info = 0, keymap_fim_accept_full = '<C-B>',
  keymap_fim_accept_line = '<C-L>', keymap_fim_accept_word = '<C-Z>',
}}
"""
# When the last key came, and each ghost text since; `note` may be replaced, to hear of every drawing.
WATCH = """
local key, shown, drawn = 0, {}, vim.api.nvim_create_namespace('benchmarks')
local names = { 'fim.ghost', 'vt_fim' }
function _G.note() end
vim.on_key(function() key, shown = vim.uv.hrtime(), {} end)
local function joined(parts)
  return vim.iter(parts):map(function(part) return part[1] end):join('')
end
local function ghost()
  local first, lines = '', {}
  for _, name in ipairs(names) do
    local space = vim.api.nvim_get_namespaces()[name]
    for _, mark in ipairs(space and vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true }) or {}) do
      first = first .. joined(mark[4].virt_text or {})
      vim.list_extend(lines, vim.tbl_map(joined, mark[4].virt_lines or {}))
    end
  end
  return table.concat({ first, unpack(lines) }, '\\n')
end
vim.api.nvim_set_decoration_provider(drawn, { on_end = function()
  local text = ghost()
  _G.note(text)
  if #shown == 0 or shown[#shown][2] ~= text then
    table.insert(shown, { (vim.uv.hrtime() - key) / 1e6, text })
  end
end })
function _G.pause() return { key / 1e9, shown } end
vim.o.swapfile, vim.o.autoindent = false, false
vim.cmd('filetype indent off')
vim.api.nvim_create_autocmd('FileType', { callback = function()
  vim.schedule(function()  -- no comment signs and no indentation that were not typed: Rust's plugin sets them
    vim.opt_local.formatoptions, vim.opt_local.smartindent = '', false
  end)
end })
"""


def rest(editor: Neovim, seconds: float) -> None:
    """Type nothing for a while; an editor stops when its output is not read."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        editor.pump(left)


def count_tokens(url: str) -> tuple[int, int]:
    """Return the tokens that the server has evaluated and decoded in its life."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    return metrics.count_evaluated(text), metrics.count_decoded(text)


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, of those it started, and of those it has seen end."""
    process = psutil.Process(pid)
    return sum(sum(child.cpu_times()[:4]) for child in (process, *process.children(recursive=True)))
