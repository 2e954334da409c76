-- `:Fim why`: why the next edit on screen is proposed; without one, why no suggestion is shown at the
-- cursor. What the editor knows comes first; then the server is asked, which has the text on screen.

local M = {}

local TROUBLE = { Error = true, Warning = true }

--- Why `buf` gets no suggestions at all, or nil.
---@param buf integer
---@return string?
function M.off(buf)
  local client = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not client then
    return 'No server is attached to this buffer: see :checkhealth fim.'
  elseif vim.list_contains(require('fim').options().filetypes_off or {}, vim.bo[buf].filetype) then
    return ("filetypes_off in vim.g.fim names '%s'."):format(vim.bo[buf].filetype)
  elseif not require('fim').wanted(buf) then
    return 'Suggestions are switched off: :Fim toggle, or :Fim toggle buffer, switches them on.'
  end
end

--- The reason that the editor knows, or nil.
---@param buf integer
---@return string?
function M.reason(buf)
  local client, off = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1], M.off(buf)
  if off then
    return off
  end
  if not require('fim').is_text(buf) then
    return 'This buffer is not a text; automatic suggestions are off here. Ask by hand.'
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
  if reason then
    pages.float({ reason }, 'why')
    return
  end
  local client = assert(require('fim.status').server())
  client:request('fim/why', require('fim').place(client), function(err, said)
    pages.float(vim.split(err and 'fim: ' .. err.message or said, '\n'), 'why')
  end, buf)
end

return M
