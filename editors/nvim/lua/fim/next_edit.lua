-- The next edit: what you just did, shown at the place that needs it next. One key jumps there, the
-- same key applies it; Esc in normal mode sends it away, and its pattern stays quiet.
--
-- Asked for when no key has come for a moment (the server answers when the edit is finished), at most one
-- is on screen, and the cursor moves only by the key. A place that is out of sight is named beside the cursor;
-- one in a file that is not open, too: the key opens it, and it must be as the server read it.

local METHOD = 'textDocument/copilotInlineEdit'
local QUIET_MS = 250 -- less than an edit takes to be finished (`SETTLED` of the server): nothing is shown later for it
local namespace = vim.api.nvim_create_namespace('fim.next_edit.keys')
local marks, imports = require('fim.edit_marks'), require('fim.imports')

local M = {}

---@class fim.NextEdit whole lines of a buffer
---@field buf? integer
---@field path? string of a file that is not open yet, instead
---@field asked integer the buffer that it was asked for in
---@field told boolean whether the server knows that it was drawn
---@field version? integer of the text that it is for
---@field first integer 0-based, the first line that goes, or the line above which lines come
---@field before string[]
---@field after string[]
---@field client vim.lsp.Client
---@field raw table the item as the server sent it; an import has no command, but a name

local shown ---@type fim.NextEdit?
local pending ---@type { client: vim.lsp.Client, id: integer }?
local quiet = assert(vim.uv.new_timer())
local is_off = true -- the user wants none now, as the server said last
local is_applied = false -- the change that comes next is a next edit: it is finished

--- The text of `buf` by its number; a buffer that was just opened may not be attached yet.
local function version_of(buf)
  return vim.lsp.util.buf_versions[buf] or vim.api.nvim_buf_get_changedtick(buf)
end

--- An item of the protocol as whole lines of `buf`, and what stands there.
---@param client vim.lsp.Client
---@return fim.NextEdit, string
local function in_buffer(client, raw, buf)
  local from, to = raw.range.start, raw.range['end']
  local lines = vim.api.nvim_buf_get_lines(buf, from.line, to.line + 1, false)
  local function column(line, position)
    return vim.str_byteindex(line, client.offset_encoding, position.character, false)
  end
  while #lines <= to.line - from.line do
    table.insert(lines, '') -- behind the last line end, where a buffer has no line
  end
  local head, tail = lines[1]:sub(1, column(lines[1], from)), lines[#lines]:sub(column(lines[#lines], to) + 1)
  local whole = table.concat(lines, '\n')
  local old = whole:sub(#head + 1, #whole - #tail)
  local after = vim.split(head .. raw.text .. tail, '\n', { plain = true })
  local first = from.line
  while #lines > 0 and #after > 0 and lines[1] == after[1] do
    first = first + 1
    table.remove(lines, 1)
    table.remove(after, 1)
  end
  while #lines > 0 and #after > 0 and lines[#lines] == after[#after] do
    table.remove(lines)
    table.remove(after)
  end
  local edit = { buf = buf, version = version_of(buf), first = first, before = lines, after = after }
  return edit, old
end

--- An item of the protocol, asked for in the buffer `asked`.
---@param client vim.lsp.Client
---@return fim.NextEdit?
local function from_lsp(client, raw, asked)
  local uri, edit = raw.textDocument.uri, nil
  if raw.oldText then
    edit = { path = vim.uri_to_fname(uri), first = raw.range.start.line, before = {}, after = {} }
  else
    local buf = vim.uri_to_bufnr(uri)
    if not vim.api.nvim_buf_is_loaded(buf) or vim.lsp.util.buf_versions[buf] ~= raw.textDocument.version then
      return nil -- the text has changed since
    end
    edit = in_buffer(client, raw, buf)
    if #edit.before + #edit.after == 0 then
      return nil
    end
  end
  return vim.tbl_extend('error', edit, { client = client, raw = raw, asked = asked, told = not raw.command })
end

--- Whether ghost text is on a line that the edit changes, or below which it inserts: that comes first.
local function is_taken(edit)
  local buf = vim.api.nvim_get_current_buf()
  local ghost = edit.buf == buf and require('fim.ghost').current(buf)
  local first = edit.first - (#edit.before == 0 and 1 or 0)
  return ghost and ghost.row >= first and ghost.row < edit.first + math.max(1, #edit.before)
end

--- The edit on screen, while the text is the one that it is for.
---@return fim.NextEdit?
function M.current()
  if shown and shown.buf and (not vim.api.nvim_buf_is_loaded(shown.buf) or version_of(shown.buf) ~= shown.version) then
    M.hide()
  end
  return shown
end

--- Show nothing and wait for nothing. Returns whether something was shown.
function M.hide()
  local was = shown ~= nil
  if pending then
    pending.client:cancel_request(pending.id)
    pending = nil
  end
  quiet:stop()
  shown = nil
  marks.clear()
  return was
end

--- Draw what is to be shown; the server hears of it once there is something to see.
local function draw()
  if shown and marks.draw(shown) and not shown.told then
    shown.told = true
    shown.client:notify('textDocument/didShowInlineEdit', { item = { command = shown.raw.command } })
  end
end

--- Ghost text came into a line: hide an edit of it, and the hint beside the cursor.
function M.give_way()
  if shown and is_taken(shown) then
    M.hide()
  elseif M.current() then
    draw()
  end
end

local function show(client, raw, asked)
  local edit = from_lsp(client, raw, asked)
  if edit and not is_taken(edit) then
    shown = edit
    draw()
  end
end

--- There is nothing to show for the text as it is: the import of a name may be missing.
local function look_for_import()
  local function is_free()
    return not (is_off or shown or pending or quiet:is_active())
  end
  if is_free() then
    imports.look(function(client, raw)
      if is_free() then
        show(client, raw, vim.api.nvim_get_current_buf())
      end
    end)
  end
end

local function answer(client, id, result, asked)
  if not pending or pending.id ~= id then
    return -- an older request, or hidden meanwhile
  end
  pending = nil
  local raw = result and result.edits and result.edits[1]
  is_off = not result or result.off == true
  if raw then
    show(client, raw, asked)
  else
    look_for_import()
  end
end

--- Ask for the next edit; the newest request wins.
---@param buf integer
local function request(buf)
  M.hide()
  is_applied = false
  local client = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not client or buf ~= vim.api.nvim_get_current_buf() or not require('fim').wanted(buf) then
    return
  end
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.textDocument.version = vim.lsp.util.buf_versions[buf]
  params.context = { triggerKind = 2, otherDocuments = true, closedDocuments = true }
  local _, id = client:request(METHOD, params, function(_, result, ctx)
    answer(client, ctx.request_id, result, buf)
  end, buf)
  pending = id and { client = client, id = id } or nil
end

--- The text of `buf` has changed: ask when that was the last key for a moment.
local function changed(buf)
  if is_applied then
    request(buf)
    return
  end
  M.hide()
  quiet:start(QUIET_MS, 0, vim.schedule_wrap(function()
    request(buf)
  end))
end

--- Whether the cursor is where the edit is.
local function is_there(edit)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local first = edit.first - (#edit.before == 0 and 1 or 0)
  return marks.in_sight(edit) and row >= first and row <= edit.first + math.max(0, #edit.before - 1)
end

local function apply(edit)
  local win = vim.api.nvim_get_current_win()
  M.hide()
  vim.bo[edit.buf].undolevels = vim.bo[edit.buf].undolevels -- an undo step of its own
  vim.api.nvim_buf_set_lines(edit.buf, edit.first, edit.first + #edit.before, false, edit.after)
  local last = edit.first + math.max(1, #edit.after)
  local row = math.min(last, vim.api.nvim_buf_line_count(edit.buf))
  local line = vim.api.nvim_buf_get_lines(edit.buf, row - 1, row, false)[1] or ''
  local old = edit.before[#edit.before] or ''
  local parts = marks.parts(old, edit.after[#edit.after] or '')
  local tail = #parts > 0 and #old - parts[#parts].to or 0
  vim.api.nvim_win_set_cursor(win, { row, math.max(0, #line - tail) })
  if edit.raw.command then
    edit.client:exec_cmd(edit.raw.command, { bufnr = edit.buf })
  end
  is_applied = true
end

--- Go to the lines of an edit.
local function jump(edit)
  local row, col = marks.place(edit)
  vim.api.nvim_win_set_cursor(0, { row, col })
  draw()
end

--- Show a buffer in this window. Returns whether that is possible: 'nohidden', a swap file.
local function enter(buf)
  local ok, problem = pcall(vim.api.nvim_set_current_buf, buf)
  if not ok then
    vim.notify('fim: ' .. problem, vim.log.levels.WARN)
  end
  return ok
end

--- Open the file of an edit, and go there if it says what the server read.
local function open(edit)
  M.hide()
  if vim.fn.filereadable(edit.path) == 0 then
    return -- it is gone
  end
  local buf = vim.uri_to_bufnr(edit.raw.textDocument.uri)
  vim.bo[buf].buflisted = true
  if not enter(buf) then
    return
  end
  local there, old = in_buffer(edit.client, edit.raw, buf)
  if old == edit.raw.oldText then
    shown = vim.tbl_extend('force', edit, there)
    shown.path = nil
    jump(shown)
  end
end

--- Go to the next edit, or apply it where the cursor is there. Returns whether there was one; where
--- not, calls `otherwise`.
---@param otherwise? fun()
function M.take(otherwise)
  local edit = M.current()
  if not edit then
    if otherwise then
      otherwise()
    end
    return false
  end
  vim.schedule(function() -- a mapping may not change text at once everywhere
    if M.current() ~= edit then
      return
    elseif is_there(edit) then
      apply(edit)
      return
    end
    vim.cmd("normal! m'") -- <C-o> comes back
    if edit.path then
      open(edit)
      return
    elseif edit.buf == vim.api.nvim_get_current_buf() or enter(edit.buf) then
      jump(edit)
    end
  end)
  return true
end

--- Send it away; its pattern stays quiet. Returns whether there was one.
function M.dismiss()
  local edit = M.current()
  if not edit then
    return false
  end
  M.hide()
  if not edit.raw.command then
    imports.refuse(edit.raw.name)
    return true
  end
  local asked = vim.api.nvim_buf_is_valid(edit.asked) and edit.asked or 0
  local uri = vim.uri_from_bufnr(asked)
  edit.client:exec_cmd({ title = 'dismiss', command = 'fim.dismissNextEdit', arguments = { uri } })
  return true
end

--- Why it is proposed, or nil.
---@return string?
function M.why()
  local edit = M.current()
  return edit and edit.raw.why
end

-- Esc does what it does, and in normal mode it dismisses, too: nothing is mapped for it.
local function watch_escape()
  local escape = vim.keycode('<Esc>')
  vim.on_key(function(_, typed)
    if shown and typed == escape and vim.api.nvim_get_mode().mode == 'n' then
      vim.schedule(M.dismiss)
    end
  end, namespace)
end

--- Show next edits in `buf`.
---@param buf integer
function M.enable(buf)
  watch_escape()
  imports.watch(buf)
  local group = vim.api.nvim_create_augroup('fim.next_edit:' .. buf, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  on({ 'TextChanged', 'TextChangedI', 'TextChangedP', 'InsertLeave' }, function()
    changed(buf)
  end)
  on({ 'DiagnosticChanged' }, look_for_import)
  on({ 'CursorMoved', 'CursorMovedI', 'BufEnter', 'WinScrolled' }, function()
    if M.current() then
      draw() -- the place may be out of sight now, or in it
    end
  end)
end

--- Show none in `buf` any more.
---@param buf integer
function M.disable(buf)
  pcall(vim.api.nvim_del_augroup_by_name, 'fim.next_edit:' .. buf)
  if shown and (shown.buf == buf or shown.asked == buf) then
    M.hide()
  end
end

return M
