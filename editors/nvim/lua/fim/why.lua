-- `:Fim why`: why no suggestion is shown at the cursor. What the editor knows comes first; then the
-- program is asked, which looks at the file as it is saved.

local M = {}

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
  local reason = M.reason(buf)
  if reason then
    require('fim.pages').float({ reason })
    return
  end
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local argv = M.command(vim.api.nvim_buf_get_name(buf), row, col + 1)
  local unsaved = vim.bo[buf].modified and { '', 'This is about the file as it is saved; the buffer has changes.' } or {}
  vim.notify('fim: looking …')
  vim.system(argv, { text = true, timeout = TIMEOUT_MS }, function(done)
    vim.schedule(function()
      vim.cmd.echo() -- over "looking"
      require('fim.pages').float(vim.list_extend(M.lines(done), unsaved))
    end)
  end)
end

--- The command line that says why, for a place that counts from 1.
---@param file string
---@param line integer
---@param column integer
---@return string[]
function M.command(file, line, column)
  local program = require('fim.terminal').program() or 'fim-lsp'
  return { program, 'complete', ('%s:%d:%d'):format(file, line, column), '--why' }
end

--- What a finished command line said, as lines to read.
---@param done vim.SystemCompleted
---@return string[]
function M.lines(done)
  local text = vim.trim((done.stdout or '') .. '\n' .. (done.stderr or ''))
  return vim.split(text ~= '' and text or 'fim-lsp gave no answer.', '\n')
end

return M
