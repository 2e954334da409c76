-- What commands show to read: a few lines beside the cursor, or a page in a window.

local M = {}

local WRITING = 'Writing' -- the server's title for `:Fim continue`
local writing ---@type string|integer? the token of its progress

local float ---@type integer? the window that was shown last

--- Show lines beside the cursor until it moves; no line is longer than the window is wide.
--- Another kind takes the place of the last one; the same again goes into it, as `K` does.
---@param lines string[]
---@param kind string
function M.float(lines, kind)
  local options = { border = 'rounded', focus_id = 'fim-' .. kind, wrap = true }
  _, float = vim.lsp.util.open_floating_preview(lines, '', options)
end

--- Show none: the lines would cover the text.
function M.close()
  if float and vim.api.nvim_win_is_valid(float) then
    vim.api.nvim_win_close(float, true)
  end
end

--- Go back to the text, where the cursor is in the lines that were shown.
function M.leave()
  if float == vim.api.nvim_get_current_win() then
    M.close()
  end
end

--- Show a message: where a line of the screen is too short, beside the cursor, because Neovim would ask for Enter.
---@param message string
function M.say(message)
  if #message <= vim.v.echospace and not message:find('\n') then
    vim.notify(message)
  else
    M.float(vim.split(message, '\n'), 'message')
  end
end

--- Show how far a long text is; returns whether this was about one.
---@param token string|integer
---@param value table
function M.progress(token, value)
  if value.kind == 'begin' and value.title == WRITING then
    writing = token
  elseif token == writing and value.kind == 'report' then
    vim.api.nvim_echo({ { ('fim: writing, %s …'):format(value.message) } }, false, {})
  end
  return token == writing
end

--- The numbers of `fim/stats` as lines to read.
---@param stats table
---@return string[]
function M.format(stats)
  local backend, tokens, latency, ring = stats.backend, stats.tokens, stats.latencyMs, stats.ring
  local edits = stats.nextEdit
  return {
    ('backend   %s: %s %s'):format(backend.state, backend.kind, backend.model or ''),
    ('requests  %d; %d different suggestions shown, %d accepted'):format(
      stats.requests, stats.shown, stats.accepted
    ),
    ('edits     %d shown, %d applied, %d dismissed'):format(edits.shown, edits.taken, edits.dismissed),
    ('tokens    %d evaluated, %d from the cache, %d generated'):format(
      tokens.evaluated, tokens.cached, tokens.predicted
    ),
    ('latency   %.0f ms (median), %.0f ms (95 %%); %.0f ms when the model had to write'):format(
      latency.p50 or 0, latency.p95 or 0, latency.model or 0
    ),
    ('context   %d of %d chunks, %d waiting'):format(ring.chunks, ring.capacity, ring.queued),
  }
end

--- Ask the server for its numbers and show them.
function M.stats()
  local client = require('fim.status').server()
  if not client then
    return
  end
  client:request('fim/stats', vim.empty_dict(), function(err, stats)
    M.float(err and { 'fim: ' .. err.message } or M.format(stats), 'stats')
  end)
end

--- Open a page that says what the model is shown for the current buffer; the server writes it.
function M.context()
  local client = require('fim.status').server()
  if client then
    local uri = vim.uri_from_bufnr(0)
    client:exec_cmd({ title = 'context', command = 'fim.showContext', arguments = { uri } })
  end
end

--- Open the page that shows, in a browser, what the server does.
function M.page()
  local client = require('fim.status').server()
  if client then
    client:exec_cmd({ title = 'page', command = 'fim.openPage' })
  end
end

--- Show what the server wrote at `path`: a page to read, not a file that would get a server too.
---@param path string
function M.open(path)
  vim.cmd.new()
  vim.bo.buftype = 'nofile'
  vim.bo.bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn.readfile(path))
  vim.bo.modifiable = false
end

return M
