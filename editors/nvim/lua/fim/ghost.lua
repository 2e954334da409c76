-- Our own ghost text: requests as the user types, and drawing.
--
-- With `automatic` it does all of the work (`ghost_text = 'own'`, the default): every key sends a
-- request at once (the server decides how long to wait), unless the key continues what is shown;
-- then the suggestion just gets shorter. Without, Neovim's inline completion sends the requests, and
-- this draws only what that cannot: the rest of a partly accepted suggestion, and the answer to
-- `trigger`.

local accept = require('fim.accept')
local METHOD = 'textDocument/inlineCompletion'
local namespace = vim.api.nvim_create_namespace('fim.ghost')

-- InlineCompletionTriggerKind; Neovim 0.11 has no table of them.
local AUTOMATIC = 2
local M = { INVOKED = 1 }
local READ_MS = 100 -- a text that appeared just before a key was not meant by it
local PATIENCE_MS = 1000 -- without an answer to what the user asked for; then a sign says that it is on its way

---@class fim.Ghost what one buffer shows and waits for
---@field items fim.Item[]
---@field index integer which of them is shown, 0 for none
---@field pending? { client: vim.lsp.Client, id: integer, token: string } the request under way
---@field since? integer when a text appeared where none was, in nanoseconds
---@field scheduled boolean whether this loop's request is scheduled already
---@field automatic boolean whether this asks by itself, beside what Neovim asks other servers
---@field beside? boolean whether another server's suggestion was on screen when this was drawn

---@type table<integer, fim.Ghost>
local ghosts = {}
local n_requests = 0

-- Extmarks of one namespace are drawn in the windows that it is scoped to; where a buffer is in several,
-- ghost text is drawn in the one with the cursor only.
local function show_in_current_window()
  local scope = vim.api.nvim__ns_set
  if scope then
    scope(namespace, { wins = { vim.api.nvim_get_current_win() } })
  end
end

local function clear(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
end

local function in_insert_mode()
  return vim.startswith(vim.api.nvim_get_mode().mode, 'i')
end

--- Where the cursor is in `buf`, or nil when it is in another one.
local function cursor_in(buf)
  if vim.api.nvim_get_current_buf() ~= buf then
    return nil
  end
  local cursor = vim.api.nvim_win_get_cursor(0)
  return cursor[1] - 1, cursor[2]
end

--- Whether Neovim shows a suggestion of another server, which the user switched on.
local function is_beside(buf)
  local theirs = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
  return theirs ~= nil and #vim.api.nvim_buf_get_extmarks(buf, theirs, 0, -1, { limit = 1 }) > 0
end

local function cancel(ghost)
  local pending = ghost.pending
  ghost.pending = nil
  if pending and pending.client.requests[pending.id] then -- else its answer is here, just not handled
    pending.client:cancel_request(pending.id)
  end
end

--- Draw what is left of the item at the cursor; false when the item does not fit there (any more).
local function draw(buf, item)
  clear(buf)
  local row, col = cursor_in(buf)
  local rest = row and accept.rest(buf, item, row, col)
  if not rest or rest == '' then
    return false
  end
  local lines = vim.split(rest, '\n', { plain = true })
  local right = vim.api.nvim_get_current_line():sub(col + 1, col + item.tail)
  if #lines == 1 and vim.endswith(lines[1], right) then
    lines[1] = lines[1]:sub(1, #lines[1] - #right) -- it is on screen already
  end
  local chunks = vim.tbl_map(function(line)
    return { { line, 'FimGhostText' } }
  end, lines)
  local ghost = ghosts[buf]
  ghost.beside = ghost.automatic and is_beside(buf)
  if ghost.beside then -- both at the cursor would be read as one text
    table.insert(chunks[1], 1, { 'fim: ', 'FimEditHint' })
  end
  show_in_current_window()
  vim.api.nvim_buf_set_extmark(buf, namespace, row, col, {
    virt_text = not ghost.beside and chunks[1] or nil,
    virt_text_pos = 'inline',
    virt_lines = ghost.beside and chunks or vim.list_slice(chunks, 2),
    hl_mode = 'combine',
  })
  require('fim.next_edit').give_way()
  return true
end

--- The suggestion on screen and what is left of it.
---@param buf integer
---@return fim.Item?
function M.current(buf)
  local ghost = ghosts[buf]
  return ghost and ghost.items[ghost.index]
end

--- Whether the suggestion appeared so lately that a key was on its way before: that key keeps its own meaning.
---@param buf integer
function M.is_unread(buf)
  local since, read_ms = ghosts[buf].since, require('fim').options().read_ms or READ_MS
  return since ~= nil and vim.uv.hrtime() - since < read_ms * 1e6
end

--- Show one item, or hide it when it does not fit the text at the cursor.
---@param buf integer
---@param item fim.Item
function M.show(buf, item)
  local ghost = ghosts[buf]
  if not ghost or not draw(buf, item) then
    M.hide(buf)
  elseif M.current(buf) ~= item then
    ghost.items, ghost.index = { item }, 1
  end
end

--- Show nothing and wait for nothing. Returns whether something was shown.
---@param buf integer
function M.hide(buf)
  local ghost = ghosts[buf]
  if not ghost then
    return false
  end
  local shown = ghost.index > 0
  cancel(ghost)
  ghost.items, ghost.index = {}, 0
  clear(buf)
  return shown
end

local function items_in(buf, client, result)
  return vim.tbl_map(function(raw)
    return accept.from_lsp(buf, client, raw)
  end, result and (result.items or result) or {})
end

local function take(buf, ghost, items)
  if in_insert_mode() then
    ghost.since = ghost.index == 0 and vim.uv.hrtime() or ghost.since
    ghost.items, ghost.index = items, 0
    M.cycle(buf, 1)
  end
end

local function answer(buf, ghost, client, id, result)
  if not ghost.pending or ghost.pending.id ~= id then
    return -- an older request, or hidden meanwhile
  end
  ghost.pending = nil
  take(buf, ghost, items_in(buf, client, result))
end

--- The first lines of an answer, of which more is to come; false when `token` is of something else.
---@param token string|integer
---@param result table
function M.grew(token, result)
  for buf, ghost in pairs(ghosts) do
    local pending = ghost.pending
    if pending and pending.token == token then
      local items = items_in(buf, pending.client, result)
      local row, col = cursor_in(buf)
      local rest = row and items[1] and accept.rest(buf, items[1], row, col)
      if rest and rest ~= '' then -- else the answer decides: it may be here already
        take(buf, ghost, items)
      end
      return true
    end
  end
  return type(token) == 'string' and vim.startswith(token, 'fim.ghost:') -- too late
end

--- Say at the end of the line that an answer is on its way, if it still is after a while.
local function wait_for(buf, ghost, id)
  vim.defer_fn(function()
    local row = cursor_in(buf)
    if row and ghosts[buf] == ghost and ghost.index == 0 and ghost.pending and ghost.pending.id == id then
      show_in_current_window()
      vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
        virt_text = { { 'fim …', 'FimEditHint' } },
      })
    end
  end, PATIENCE_MS)
end

--- The place of the cursor in the text as it is now.
local function place_in(buf)
  return { vim.api.nvim_buf_get_changedtick(buf), unpack(vim.api.nvim_win_get_cursor(0)) }
end

--- Whether the user asked by hand here, and waits: the keys before that may be told of only now.
local function is_asked(buf, ghost)
  return ghost.pending and vim.deep_equal(ghost.pending.asked_at, place_in(buf))
end

--- Ask for the text at the cursor. A request under way is cancelled: the newest wins.
---@param buf integer
---@param kind integer InlineCompletionTriggerKind
function M.request(buf, kind)
  local ghost = ghosts[buf]
  local client = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not ghost or not client or not cursor_in(buf) or not in_insert_mode() then
    return
  end
  cancel(ghost)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = kind }
  n_requests = n_requests + 1
  params.partialResultToken = 'fim.ghost:' .. n_requests
  local _, id = client:request(METHOD, params, function(_, result, ctx)
    answer(buf, ghost, client, ctx.request_id, result)
  end, buf)
  local token = params.partialResultToken
  ghost.pending = id and { client = client, id = id, token = token } or nil
  if kind == M.INVOKED and ghost.pending then
    ghost.pending.asked_at = place_in(buf)
    wait_for(buf, ghost, id)
  end
end

--- Show the next item (or, with -1, the one before); false when there is none.
---@param buf integer
---@param step integer
function M.cycle(buf, step)
  local ghost = ghosts[buf]
  if not ghost or #ghost.items == 0 then
    clear(buf)
    return false
  end
  ghost.index = (ghost.index - 1 + step) % #ghost.items + 1
  local item = ghost.items[ghost.index]
  M.show(buf, item)
  local client = vim.lsp.get_client_by_id(item.client_id)
  if client and M.current(buf) == item then
    client:notify('textDocument/didShowCompletion', { item = item.raw })
  end
  return true
end

--- Draw again, once Neovim has drawn or hidden what another server suggests.
local function redraw(buf)
  vim.schedule(function()
    local item = M.current(buf)
    if item and cursor_in(buf) and ghosts[buf].beside ~= is_beside(buf) then
      M.show(buf, item)
    end
  end)
end

--- The text or the cursor changed: shorten the suggestion, or drop it and send a new request. Keys
--- that arrive together (a paste, a mapping) make one request.
local function moved(buf, automatic)
  local ghost, item = ghosts[buf], M.current(buf)
  if item and draw(buf, item) then
    redraw(buf)
    return
  elseif is_asked(buf, ghost) then
    return
  end
  if not automatic then
    clear(buf)
    ghost.items, ghost.index = {}, 0
    return
  end
  M.hide(buf)
  if not ghost.scheduled then
    ghost.scheduled = true
    vim.schedule(function()
      ghost.scheduled = false
      if ghosts[buf] == ghost and not is_asked(buf, ghost) then
        M.request(buf, AUTOMATIC)
      end
    end)
  end
end

--- Show suggestions in `buf`; with `automatic`, also ask for them.
---@param buf integer
---@param options { automatic: boolean }
function M.enable(buf, options)
  M.disable(buf)
  ghosts[buf] = { items = {}, index = 0, scheduled = false, automatic = options.automatic }
  local group = vim.api.nvim_create_augroup('fim.ghost:' .. buf, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  on({ 'InsertEnter', 'CursorMovedI', 'TextChangedI', 'TextChangedP' }, function()
    moved(buf, options.automatic and require('fim').is_text(buf))
  end)
  on({ 'InsertLeave', 'BufLeave' }, function()
    M.hide(buf)
  end)
  on('BufWipeout', function()
    ghosts[buf] = nil
  end)
  on('LspRequest', function(ev) -- Neovim got an answer of its own and will show that
    local pending, request = ghosts[buf].pending, ev.data.request
    local ours = pending and pending.id == ev.data.request_id
    if request.method == METHOD and request.type == 'complete' and not ours then
      local beside = options.automatic and redraw or M.hide
      beside(buf)
    end
  end)
end

--- Show nothing in `buf` any more.
---@param buf integer
function M.disable(buf)
  if ghosts[buf] then
    M.hide(buf)
    vim.api.nvim_del_augroup_by_name('fim.ghost:' .. buf)
    ghosts[buf] = nil
  end
end

return M
