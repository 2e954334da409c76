-- Edit by instruction: the lines that are to change stay as they are, what would come of them is drawn
-- as it is written, and one key applies it. At most one such edit is on screen.

local marks = require('fim.edit_marks')
local namespace = vim.api.nvim_create_namespace('fim.edit')
local diff = vim.text and vim.text.diff or vim.diff

local M = {}

---@class fim.Edit
---@field buf integer
---@field version integer of the text that it is for
---@field client vim.lsp.Client
---@field range lsp.Range whole lines
---@field instruction string
---@field diagnostics? lsp.Diagnostic[] to fix, instead
---@field token string
---@field request? integer the one under way
---@field result? table the answer
---@field maps table[] what the keys were mapped to

local shown ---@type fim.Edit?
local n_requests = 0

local KEYS = { accept = '<CR>', reject = '<Esc>', again = 'ga', more = 'gm' }

local function key(action)
  return ((vim.g.fim or {}).keys or {})['edit_' .. action] or KEYS[action]
end

local function version_of(buf)
  return vim.lsp.util.buf_versions[buf] or vim.api.nvim_buf_get_changedtick(buf)
end

--- The lines of an edit: the first, the one behind the last, and their texts.
local function lines_of(edit)
  local first, last = edit.range.start.line, edit.range['end'].line
  last = edit.range['end'].character > 0 and last + 1 or math.max(last, first + 1)
  return first, last, vim.api.nvim_buf_get_lines(edit.buf, first, last, false)
end

--- The hunks that make `after` of `before`; those behind its end are not known before it is whole.
local function hunks(before, after, is_whole)
  local function text(lines)
    return #lines > 0 and table.concat(lines, '\n') .. '\n' or ''
  end
  local found = diff(text(before), text(after), { result_type = 'indices', algorithm = 'histogram' })
  local last = found[#found]
  if last and not is_whole and last[1] + math.max(last[2], 1) - 1 >= #before then
    last[2] = math.min(last[2], last[4])
  end
  return found
end

local function hint(edit)
  if edit.request then
    return (' %s cancels'):format(key('reject'))
  end
  return (' %s applies, %s rejects, %s tries again, %s goes on'):format(
    key('accept'), key('reject'), key('again'), key('more'))
end

---@return string[]
local function split(text)
  return vim.split((text:gsub('\r?\n$', '')), '\r?\n')
end

--- Draw the lines that come, beside those that go.
---@param after? string[]
local function draw(edit, after)
  local first, last, before = lines_of(edit)
  vim.api.nvim_buf_clear_namespace(edit.buf, namespace, 0, -1)
  for _, hunk in ipairs(after and hunks(before, after, not edit.request) or {}) do
    local a, n_a, b, n_b = unpack(hunk)
    marks.lines({
      buf = edit.buf,
      namespace = namespace,
      first = first + (n_a > 0 and a - 1 or a),
      before = vim.list_slice(before, a, a + n_a - 1),
      after = vim.list_slice(after, b, b + n_b - 1),
    })
  end
  vim.api.nvim_buf_set_extmark(edit.buf, namespace, first, 0, {
    virt_lines = { { { hint(edit), 'FimEditHint' } } },
    virt_lines_above = first > 0,
    strict = false,
  })
  for row = first, edit.request and last - 1 or first - 1 do
    vim.api.nvim_buf_set_extmark(edit.buf, namespace, row, 0, { sign_text = '▎', sign_hl_group = 'FimEditHint' })
  end
end

local function unmap(edit)
  for action in pairs(KEYS) do
    pcall(vim.keymap.del, 'n', key(action), { buffer = edit.buf })
  end
  vim.api.nvim_buf_call(edit.buf, function() -- another one may be current by now
    for _, map in ipairs(edit.maps) do
      vim.fn.mapset('n', false, map)
    end
  end)
end

local function map(edit)
  for action in pairs(KEYS) do
    local before = vim.api.nvim_buf_call(edit.buf, function()
      return vim.fn.maparg(key(action), 'n', false, true)
    end)
    if before.buffer == 1 then
      table.insert(edit.maps, before)
    end
    vim.keymap.set('n', key(action), M[action], { buffer = edit.buf, desc = 'fim: edit, ' .. action })
  end
end

--- End the edit on screen, and the request for it.
local function close()
  local edit = shown
  shown = nil
  if not edit then
    return
  end
  pcall(vim.api.nvim_del_augroup_by_name, 'fim.edit')
  if edit.request then
    edit.client:cancel_request(edit.request)
  end
  if vim.api.nvim_buf_is_loaded(edit.buf) then
    vim.api.nvim_buf_clear_namespace(edit.buf, namespace, 0, -1)
    unmap(edit)
  end
end

local function answer(edit, err, result)
  if shown ~= edit then
    return
  end
  edit.request = nil
  local note = err and err.message or result and result.note or ''
  if err or not result or not result.range then
    close()
    vim.notify(('fim: nothing was changed: %s'):format(note), vim.log.levels.WARN)
    return
  end
  edit.result, edit.range = result, result.range
  draw(edit, split(result.newText))
end

--- Show `edit`, and ask for it; `options` go to the server, too.
local function request(edit, options)
  close()
  n_requests = n_requests + 1
  edit.token, edit.maps, edit.result, edit.written = 'fim.edit:' .. n_requests, {}, nil, {}
  shown = edit
  map(edit)
  local group = vim.api.nvim_create_augroup('fim.edit', {})
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'BufWipeout' }, {
    group = group,
    buffer = edit.buf,
    callback = close,
  })
  local asked = vim.tbl_extend('force', {
    textDocument = { uri = vim.uri_from_bufnr(edit.buf), version = edit.version },
    range = edit.range,
    instruction = edit.instruction,
    diagnostics = edit.diagnostics,
    preview = true,
    partialResultToken = edit.token,
  }, options or {})
  local params = { command = 'fim.edit', arguments = { asked } }
  local _, id = edit.client:request('workspace/executeCommand', params, function(err, result)
    answer(edit, err, result)
  end, edit.buf)
  edit.request = id
  draw(edit)
end

--- Lines that are written so far; false when `token` is of something else.
---@param token string|integer
---@param value table
function M.grew(token, value)
  if shown and shown.token == token and shown.request then
    if not shown.diagnostics then -- which lines a fix is for, the answer says
      shown.written = vim.list_slice(shown.written, 1, value.line)
      vim.list_extend(shown.written, value.newText ~= '' and split(value.newText) or {})
      draw(shown, shown.written)
    end
    return true
  end
  return type(token) == 'string' and vim.startswith(token, 'fim.edit:') -- too late
end

--- Apply it.
function M.accept()
  local edit = shown
  if not edit or not edit.result then
    return
  end
  close()
  if version_of(edit.buf) == edit.version then
    vim.bo[edit.buf].undolevels = vim.bo[edit.buf].undolevels -- an undo step of its own
    vim.lsp.util.apply_text_edits(edit.result.edits, edit.buf, edit.client.offset_encoding)
  end
end

--- Send it away, or stop it.
function M.reject()
  close()
end

--- The same instruction, for another answer.
function M.again()
  if shown and shown.result then
    shown.diagnostics = nil -- the range has grown to what is to be rewritten for them
    request(shown, { again = true })
  end
end

--- A further instruction for what is on screen.
function M.more()
  local edit = shown
  if not edit or not edit.result then
    return
  end
  vim.ui.input({ prompt = 'Further instruction: ' }, function(instruction)
    if shown == edit and instruction and instruction ~= '' then
      edit.instruction, edit.diagnostics = instruction, nil
      request(edit, { more = true })
    end
  end)
end

--- Whether a syntax node is a function.
local function is_function(node)
  local kind = node:type()
  local is_one = kind:find('^function') or kind:find('^method') or kind:find('_method') or kind == 'arrow_function'
  return is_one and not (kind:find('call') or kind:find('invocation') or kind:find('param') or kind:find('type'))
    and node:named_child_count() > 1
end

--- The lines of the function at the cursor, else of the paragraph; 1-based.
local function here(buf)
  local ok, node = pcall(vim.treesitter.get_node, { bufnr = buf })
  while ok and node and not is_function(node) do
    node = node:parent()
  end
  if ok and node then
    local parent = node:parent()
    node = parent and parent:type() == 'decorated_definition' and parent or node
    local first, _, last, col = node:range()
    return first + 1, col > 0 and last + 1 or last
  end
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = row, row
  while first > 1 and vim.fn.getline(first - 1):find('%S') do
    first = first - 1
  end
  while last < vim.fn.line('$') and vim.fn.getline(last + 1):find('%S') do
    last = last + 1
  end
  return first, last
end

local function begin(first, last)
  local client = require('fim.status').server()
  local buf = vim.api.nvim_get_current_buf()
  if not client or not client.attached_buffers[buf] then
    return nil
  end
  local range = { start = { line = first - 1, character = 0 }, ['end'] = { line = last, character = 0 } }
  return { buf = buf, version = version_of(buf), client = client, range = range, instruction = '' }
end

--- Edit the lines `first` to `last` (without: the function at the cursor) by an instruction, or ask for one.
---@param first? integer
---@param last? integer
---@param instruction? string
function M.start(first, last, instruction)
  if not first then
    first, last = here(vim.api.nvim_get_current_buf())
  end
  local edit = begin(first, last)
  if not edit then
    return
  end
  local function ask(words)
    if words and vim.trim(words) ~= '' and version_of(edit.buf) == edit.version then
      edit.instruction = words
      request(edit)
    end
  end
  if instruction and instruction ~= '' then
    ask(instruction)
    return
  end
  local place = { textDocument = { uri = vim.uri_from_bufnr(edit.buf) }, range = edit.range }
  edit.client:request('workspace/executeCommand', { command = 'fim.edit.prepare', arguments = { place } }, function() end)
  vim.ui.input({ prompt = 'Edit: ' }, ask)
end

--- Fix what a diagnostic says of the cursor's line.
function M.fix()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local found = vim.diagnostic.get(0, { lnum = row - 1 })
  local edit = #found > 0 and begin(row, row) or nil
  if edit then
    edit.diagnostics = vim.tbl_map(function(each)
      return { message = each.message }
    end, found)
    request(edit)
  elseif #found == 0 then
    vim.notify('fim: there is no diagnostic on this line')
  end
end

--- Whether an edit is on screen.
---@return fim.Edit?
function M.current()
  return shown
end

return M
