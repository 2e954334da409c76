-- How a next edit looks: what goes is marked in the text, what comes stands beside or below it. Where
-- the place is out of sight, a hint beside the cursor names it.

local namespace = vim.api.nvim_create_namespace('fim.next_edit')
local REMOVED, ADDED, HINT = 'FimEditRemoved', 'FimEditAdded', 'FimEditHint'

local M = {}

local WORD, SIGN = '[%w_\128-\255]', '[^%w_\128-\255]' -- a character of several bytes is of a word

---@return string[] the words and signs of a line
local function tokens(line)
  local found = {}
  for word, sign in line:gmatch('(' .. WORD .. '*)(' .. SIGN .. '?)') do
    vim.list_extend(found, word ~= '' and { word } or {})
    vim.list_extend(found, sign ~= '' and { sign } or {})
  end
  return found
end

local function only_words_differ(before, after)
  if #before ~= #after then
    return false
  end
  for n, token in ipairs(before) do
    if token ~= after[n] and not (token:find(WORD) and after[n]:find(WORD)) then
      return false
    end
  end
  return true
end

---@class fim.Part of a line
---@field from integer bytes before it
---@field to integer bytes up to its end
---@field text string what it becomes

--- What differs in two lines, in whole words: each word by itself where only words do, else from the first to the last.
---@return fim.Part[]
function M.parts(old, new)
  local before, after = tokens(old), tokens(new)
  if only_words_differ(before, after) then
    local parts, at = {}, 0
    for n, token in ipairs(before) do
      if token ~= after[n] then
        table.insert(parts, { from = at, to = at + #token, text = after[n] })
      end
      at = at + #token
    end
    return parts
  end
  local head, tail, most = 0, 0, math.min(#before, #after)
  while head < most and before[head + 1] == after[head + 1] do
    head = head + 1
  end
  while tail < most - head and before[#before - tail] == after[#after - tail] do
    tail = tail + 1
  end
  local from = #table.concat(before, '', 1, head)
  local text = table.concat(after, '', head + 1, #after - tail)
  return { { from = from, to = from + #table.concat(before, '', head + 1, #before - tail), text = text } }
end

local function mark(edit, row, col, options)
  options.strict = false
  vim.api.nvim_buf_set_extmark(edit.buf, edit.namespace or namespace, row, col, options)
end

--- One line that became one other: what goes is marked in it, what comes stands behind each part.
local function draw_line(edit)
  for _, part in ipairs(M.parts(edit.before[1], edit.after[1])) do
    mark(edit, edit.first, part.from, { end_col = part.to, hl_group = REMOVED })
    mark(edit, edit.first, part.to, { virt_text = { { part.text, ADDED } }, virt_text_pos = 'inline' })
  end
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

--- Where an edit of a buffer begins: its line from 1, and the bytes before it.
function M.place(edit)
  local row = math.max(1, math.min(edit.first + 1, vim.api.nvim_buf_line_count(edit.buf)))
  local is_line = #edit.before == 1 and #edit.after == 1
  return row, is_line and M.parts(edit.before[1], edit.after[1])[1].from or 0
end

local function line_in_sight(row)
  return row >= vim.fn.line('w0') and row <= vim.fn.line('w$')
end

--- Whether the place is on screen in the current window.
function M.in_sight(edit)
  if edit.path or edit.buf ~= vim.api.nvim_get_current_buf() then
    return false
  end
  local row, col = M.place(edit)
  return line_in_sight(row) and vim.fn.screenpos(0, row, col + 1).row > 0 -- none beside the window's edge
end

local function hint(edit)
  local key = ((vim.g.fim or {}).keys or {}).next_edit or ':Fim next'
  if edit.path then
    return (' %s → %s:%d'):format(key, vim.fn.fnamemodify(edit.path, ':~:.'), edit.first + 1)
  end
  if edit.buf ~= vim.api.nvim_get_current_buf() then
    return (' %s → %s'):format(key, vim.fn.fnamemodify(vim.api.nvim_buf_get_name(edit.buf), ':t'))
  end
  local row, col = M.place(edit)
  local column = line_in_sight(row) and (', column %d'):format(col + 1) or ''
  return (' %s → line %d%s'):format(key, row, column)
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
  if M.in_sight(edit) then
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
