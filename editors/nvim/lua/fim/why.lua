-- `:Fim why`: why the next edit on screen is proposed; without one, why no suggestion is shown at the
-- cursor. What the editor knows comes first; then the program is asked, which looks at the file as saved.

local M = {}

local process = require('fim.process')
local TIMEOUT_MS = 30000 -- it starts a server of its own, and perhaps a model
local TROUBLE = { Error = true, Warning = true }

--- The reason that the editor knows, or nil.
---@param buf integer
---@return string?
function M.reason(buf)
  local client = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not client then
    return 'No server is attached to this buffer: see :checkhealth fim.'
  elseif vim.list_contains(require('fim').options().filetypes_off or {}, vim.bo[buf].filetype) then
    return ("filetypes_off in vim.g.fim names '%s'."):format(vim.bo[buf].filetype)
  elseif not require('fim').wanted(buf) then
    return 'Suggestions are switched off: :Fim toggle, or :Fim toggle buffer, switches them on.'
  end
  local status = require('fim.status').of(client.id)
  if not status or status.busy then
    return 'The model is not loaded yet.'
  end
  return TROUBLE[status.kind] and status.message or nil
end

--- Show the reason, from whichever side knows it.
function M.show()
  local buf = vim.api.nvim_get_current_buf()
  local pages, reason = require('fim.pages'), require('fim.next_edit').why() or M.reason(buf)
  local file = vim.api.nvim_buf_get_name(buf)
  if not reason and vim.fn.filereadable(file) == 0 then
    reason = 'The buffer is not saved yet; fim-lsp complete --why reads files.'
  end
  if reason then
    pages.float({ reason })
    return
  end
  local note = vim.bo[buf].modified and { 'This is the file as it is saved; the buffer has changes.' } or {}
  local command = M.command(file)
  if not command then
    pages.float({ 'The program is not found: see :checkhealth fim.' })
    return
  end
  vim.notify('fim: looking …')
  process.run(command, TIMEOUT_MS, function(done)
    vim.schedule(function()
      vim.cmd.echo() -- over "looking"
      pages.float(vim.list_extend(M.lines(done), note))
    end)
  end)
end

--- The command line that says why, for the place behind the cursor's character: there typing goes on.
---@param file string
---@return string[]? without a program there is none
function M.command(file)
  local program = process.path(require('fim.terminal').program() or 'fim-lsp')
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  local before = vim.str_utfindex(line, 'utf-32', col) + (col < #line and 1 or 0)
  return program and { program, 'complete', ('%s:%d:%d'):format(file, row, before + 1), '--why' }
end

--- What a finished command line said, as lines to read.
---@param done vim.SystemCompleted
---@return string[]
function M.lines(done)
  local text = vim.trim((done.stdout or '') .. '\n' .. (done.stderr or ''))
  return vim.split(text ~= '' and text or 'fim-lsp gave no answer.', '\n')
end

return M
