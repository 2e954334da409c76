-- A suggestion and the text typed since become an edit of the buffer.
--
-- A suggestion belongs to the position of its request; by the time it is accepted the user may have
-- typed its first characters. So the text typed since is read from the buffer: where the suggestion
-- begins with it, that part is removed from the suggestion, else the suggestion is dropped. (Neovim 0.12.4 itself leaves the typed characters in: neovim#36529.)

local M = {}

---@class fim.Item one suggestion, in byte positions of the buffer
---@field text string
---@field row integer 0-based, of the request
---@field col integer
---@field tail integer how many bytes right of the cursor it replaces (a bracket closed by the editor)
---@field client_id integer
---@field command? lsp.Command to run when all of it was accepted
---@field raw table the item as the server sent it

local namespace = vim.api.nvim_create_namespace('fim.accept')
local WORD = { '^%s*[%w_\128-\255]+', '^%s*[^%w_%s\128-\255]+', '^%s+' }
local LINE = { '^[^\n]+', '^\n[^\n]*' }
local PARTS = { word = WORD, line = LINE }

--- An item of the protocol as ours.
---@param buf integer
---@param client vim.lsp.Client
---@param raw lsp.InlineCompletionItem
---@return fim.Item
function M.from_lsp(buf, client, raw)
  local function column(position)
    local line = vim.api.nvim_buf_get_lines(buf, position.line, position.line + 1, false)[1] or ''
    return vim.str_byteindex(line, client.offset_encoding, position.character, false)
  end
  local start = column(raw.range.start)
  return {
    text = (raw.insertText:gsub('\r\n', '\n')),
    row = raw.range.start.line,
    col = start,
    tail = column(raw.range['end']) - start,
    client_id = client.id,
    command = raw.command,
    raw = raw,
  }
end

--- The rest of the item at a position, or nil when the typed text differs from it.
---@param buf integer
---@param item fim.Item
---@param row integer
---@param col integer
---@return string?
function M.rest(buf, item, row, col)
  if row < item.row or (row == item.row and col < item.col) then
    return nil
  end
  local ok, typed = pcall(vim.api.nvim_buf_get_text, buf, item.row, item.col, row, col, {})
  local text = ok and table.concat(typed, '\n')
  return text and vim.startswith(item.text, text) and item.text:sub(#text + 1) or nil
end

--- Accept the suggestion on screen, or its next `part`. Returns whether there was one; where there
--- was none, calls `otherwise`.
---@param part? 'word'|'line'
---@param otherwise? fun()
function M.take(part, otherwise)
  if vim.fn.reg_executing() ~= '' then -- the key was recorded where it did not accept
    if otherwise then
      otherwise()
    end
    return false
  end
  require('fim.macro').asked()
  local buf = vim.api.nvim_get_current_buf()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local ghost = require('fim.ghost')
  local item = ghost.current(buf)
  local taken = item ~= nil and not ghost.is_unread(buf) and M.apply(buf, item, { row - 1, col }, part)
  taken = taken or M.take_builtin(buf, { row - 1, col }, part, otherwise)
  if not taken and otherwise then
    otherwise()
  end
  return taken
end

--- The same for a suggestion that Neovim shows. Neovim calls back in its next loop only, and keys
--- typed until then are in the buffer already: a mark keeps the cursor's position.
function M.take_builtin(buf, place, part, otherwise)
  if not require('fim').uses_builtin() then
    return false
  end
  local options = { id = 1, right_gravity = false }
  vim.api.nvim_buf_set_extmark(buf, namespace, place[1], place[2], options)
  local called = false
  local taken = vim.lsp.inline_completion.get({
    bufnr = buf,
    on_accept = function(shown)
      called = true
      local mark = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, 1, {})
      local row, col, _, end_col = shown.range:to_extmark()
      local item = {
        text = (shown.insert_text:gsub('\r\n', '\n')),
        row = row,
        col = col,
        tail = end_col - col,
        client_id = shown.client_id,
        command = shown.command,
        raw = { insertText = shown.insert_text, command = shown.command },
      }
      if not M.apply(buf, item, mark, part) and otherwise then
        otherwise()
      end
    end,
  })
  if taken and otherwise then
    vim.schedule(function() -- after Neovim's: what it showed may have been gone by then
      if not called then
        otherwise()
      end
    end)
  end
  return taken
end

--- Insert the rest of the item, or its next `part`, at `place`. Returns false when it does not fit.
---@param buf integer
---@param item fim.Item
---@param place [integer, integer] row and column, 0-based
---@param part? 'word'|'line'
function M.apply(buf, item, place, part)
  local row, col = place[1], place[2]
  local rest = M.rest(buf, item, row, col)
  if not rest or rest == '' then
    return false
  end
  local text = part and M.first(rest, part) or rest
  local whole = #text == #rest
  M.insert(buf, row, col, text, whole and item.tail or 0)
  M.report(item, #item.text - #rest + #text, whole)
  local ghost = require('fim.ghost')
  if whole then
    ghost.hide(buf)
  else
    ghost.show(buf, item)
  end
  return true
end

--- The first word or line of a text that is not empty.
---@param text string
---@param part 'word'|'line'
function M.first(text, part)
  for _, pattern in ipairs(PARTS[part]) do
    local found = text:match(pattern)
    if found then
      return found
    end
  end
  return text
end

--- Put `text` at a position as an undo step of its own and move the cursor after it; text typed
--- there in the meantime stays after it. At the cursor it is pasted, so `.` repeats it as typed text.
function M.insert(buf, row, col, text, tail)
  local lines = vim.split(text, '\n', { plain = true })
  local win = vim.fn.bufwinid(buf)
  local cursor = vim.api.nvim_win_get_cursor(win)
  local typed = cursor[1] - 1 == row and cursor[2] - col or 0
  local length = #vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  require('fim.macro').took(text)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  if win == vim.api.nvim_get_current_win() and cursor[1] - 1 == row and typed == 0 then
    vim.api.nvim_buf_set_text(buf, row, col, row, math.min(col + tail, length), {})
    vim.api.nvim_paste(text, false, -1)
    return
  end
  vim.api.nvim_buf_set_text(buf, row, col, row, math.min(col + tail, length), lines)
  local end_col = (#lines == 1 and col or 0) + #lines[#lines]
  vim.api.nvim_win_set_cursor(win, { row + #lines, end_col + typed })
end

--- Tell the server that the first `length` bytes of the item were accepted.
function M.report(item, length, whole)
  local client = vim.lsp.get_client_by_id(item.client_id)
  if not client then
    return
  end
  if whole and item.command then
    client:exec_cmd(item.command)
  elseif not whole and client.name == 'fim' then -- other servers do not know it
    client:notify('textDocument/didPartiallyAcceptCompletion', {
      item = item.raw,
      acceptedLength = vim.str_utfindex(item.text:sub(1, length), 'utf-16'),
    })
  end
end

return M
