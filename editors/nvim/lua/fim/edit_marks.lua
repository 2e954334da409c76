-- How a next edit looks: what goes is marked in the text, what comes stands beside or below it. Where
-- the place is out of sight, a hint beside the cursor names it.

local namespace = vim.api.nvim_create_namespace('fim.next_edit')
local REMOVED, ADDED, HINT = 'FimEditRemoved', 'FimEditAdded', 'FimEditHint'

local M = {}

--- Where two lines differ: from which byte, and how many bytes from their ends on they agree again.
function M.differ(old, new)
  local head, tail, most = 0, 0, math.min(#old, #new)
  while head < most and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  while tail < most - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  head = head + math.min(0, vim.str_utf_start(old .. ' ', head + 1)) -- never inside a character
  tail = tail > 0 and tail - math.max(0, vim.str_utf_end(old, #old - tail)) or 0
  return head, math.max(0, tail)
end

local function mark(edit, row, col, options)
  options.strict = false
  vim.api.nvim_buf_set_extmark(edit.buf, edit.namespace or namespace, row, col, options)
end

--- One line that became one other: what goes is marked in it, what comes stands behind that.
local function draw_line(edit)
  local old, new = edit.before[1], edit.after[1]
  local head, tail = M.differ(old, new)
  local come = new:sub(head + 1, #new - tail)
  mark(edit, edit.first, head, { end_col = #old - tail, hl_group = REMOVED })
  mark(edit, edit.first, #old - tail, { virt_text = { { come, ADDED } }, virt_text_pos = 'inline' })
end

--- The parts of a line that fit in the buffer's window: lines that are drawn do not wrap by themselves.
local function wrap(buf, line)
  local win = vim.fn.getwininfo(vim.fn.bufwinid(buf))[1]
  local width = win and win.width - win.textoff or math.huge
  if vim.fn.strdisplaywidth(line) <= width then
    return { line }
  end
  local parts, part = {}, ''
  for _, char in ipairs(vim.fn.split(line, '\\zs')) do
    if vim.fn.strdisplaywidth(part .. char) > width then
      table.insert(parts, part)
      part = ''
    end
    part = part .. char
  end
  table.insert(parts, part)
  return parts
end

--- Several lines: those that go are marked, those that come stand below them.
local function draw_lines(edit)
  local last = edit.first + #edit.before
  mark(edit, edit.first, 0, { end_row = last, hl_group = REMOVED, hl_eol = true })
  local width, after = 0, {}
  for _, line in ipairs(edit.after) do
    vim.list_extend(after, wrap(edit.buf, line))
  end
  for _, line in ipairs(after) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local lines = vim.tbl_map(function(line)
    return { { line .. (' '):rep(width - vim.fn.strdisplaywidth(line)), ADDED } }
  end, after)
  local above = last == 0
  mark(edit, math.max(0, last - 1), 0, { virt_lines = lines, virt_lines_above = above })
  if above and edit.buf == vim.api.nvim_get_current_buf() and vim.fn.line('w0') == 1 then
    vim.fn.winrestview({ topfill = #lines }) -- above the first line they are out of sight otherwise
  end
end

--- Draw one change of whole lines, besides what is drawn already.
function M.lines(edit)
  if #edit.before == 1 and #edit.after == 1 then
    draw_line(edit)
  else
    draw_lines(edit)
  end
end

--- Whether the place is on screen in the current window.
local function in_sight(edit)
  if edit.path then
    return false
  end
  local row = math.max(1, math.min(edit.first + 1, vim.api.nvim_buf_line_count(edit.buf)))
  return edit.buf == vim.api.nvim_get_current_buf() and row >= vim.fn.line('w0') and row <= vim.fn.line('w$')
end

local function hint(edit)
  local key = ((vim.g.fim or {}).keys or {}).next_edit or ':Fim next'
  if edit.path then
    return (' %s → %s:%d'):format(key, vim.fn.fnamemodify(edit.path, ':~:.'), edit.first + 1)
  end
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(edit.buf), ':t')
  local here = edit.buf == vim.api.nvim_get_current_buf()
  return (' %s → %s'):format(key, here and ('line ' .. edit.first + 1) or name)
end

--- Draw an edit, instead of what was drawn. Returns whether there is anything to see in this window.
---@param edit fim.NextEdit
---@return boolean
function M.draw(edit)
  M.clear()
  if not edit.path then
    M.lines(edit)
  end
  local ghost = require('fim.ghost').current(vim.api.nvim_get_current_buf())
  if in_sight(edit) then
    return true
  elseif not ghost then
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    local options = { virt_text = { { hint(edit), HINT } }, strict = false }
    vim.api.nvim_buf_set_extmark(0, namespace, row, 0, options)
  end
  return not ghost
end

--- Draw nothing.
function M.clear()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
end

return M
