-- Notifications to the server beside the text: yanks, and the current buffer. And the life of the
-- client: attached, restarted, ended.

local M = {}

-- A server that crashes is restarted, at most so many times in so many seconds.
local MAX_RESTARTS = 3
local WINDOW_S = 60

-- After an end: until Neovim's message is out.
local MESSAGE_MS = 500

-- A cursor that rests so long is not on its way elsewhere.
local REST_MS = 200
local rest = assert(vim.uv.new_timer())

local restarts = {} ---@type number[] when, in seconds
local restarting = false

--- A client was attached to a buffer.
---@param buf integer
function M.attached(buf)
  require('fim').refresh(buf)
  if buf == vim.api.nvim_get_current_buf() then
    M.focused(buf)
  end
end

--- `buf` is the current buffer now; for the server that is one of its documents, or none.
---@param buf integer
function M.focused(buf)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'fim' })) do
    local ours = client.attached_buffers[buf]
    local document = { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    client:notify('textDocument/didFocus', ours and document or vim.empty_dict())
  end
end

--- The cursor moved in normal mode: once it rests, the server may evaluate what a request there would need.
---@param buf integer
function M.moved(buf)
  rest:stop()
  rest:start(REST_MS, 0, vim.schedule_wrap(function()
    if not vim.api.nvim_buf_is_valid(buf) or buf ~= vim.api.nvim_get_current_buf() then
      return
    end
    for _, client in ipairs(vim.lsp.get_clients({ name = 'fim', bufnr = buf })) do
      local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
      client:notify('fim/didMoveCursor', params)
    end
  end))
end

--- Text was yanked from `buf`; deleted text is not, `d` is how Vim users remove things.
---@param buf integer
---@param event table `vim.v.event` of TextYankPost
function M.yanked(buf, event)
  if event.operator ~= 'y' then
    return
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = 'fim', bufnr = buf })) do
    client:notify('fim/didYank', {
      textDocument = { uri = vim.uri_from_bufnr(buf) },
      text = table.concat(event.regcontents, '\n'),
    })
  end
end

--- Stop the server and start it again; open buffers are attached again.
function M.restart()
  restarting = true
  vim.lsp.enable('fim', false)
  if #vim.lsp.get_clients({ name = 'fim' }) == 0 then
    M.start()
  end
end

--- Start the server for every open buffer.
function M.start()
  restarting = false
  vim.lsp.enable('fim')
end

--- Have Neovim's own line about the end, which may be too long for the screen, not take the next key.
local function keep_keys()
  local before = vim.o.messagesopt
  if before:find('hit-enter', 1, true) then
    vim.o.messagesopt = before:gsub('hit%-enter', 'wait:0')
    vim.defer_fn(function()
      vim.o.messagesopt = before
    end, MESSAGE_MS)
  end
end

--- A server process ended.
---@param code integer
---@param signal integer
---@param client_id integer
function M.exited(code, signal, client_id)
  require('fim.status').set(client_id, nil)
  local leaving = vim.v.exiting ~= vim.NIL
  local crashed = code ~= 0 or signal ~= 0
  if leaving then
    return
  elseif restarting then
    M.start()
  elseif crashed then
    keep_keys()
    if M.may_restart(vim.uv.now() / 1000) then
      M.start()
      vim.defer_fn(function()
        -- In insert mode the line of the mode would hide a message at once.
        require('fim.pages').float({ 'fim: the server ended and is started again; see :Fim why' }, 'message')
      end, MESSAGE_MS)
    end
  end
end

--- Whether the server may be restarted after a crash at `now` (seconds); counts the crash.
function M.may_restart(now)
  restarts = vim.tbl_filter(function(at)
    return now - at < WINDOW_S
  end, restarts)
  table.insert(restarts, now)
  if #restarts <= MAX_RESTARTS then
    return true
  end
  vim.notify('fim: the server keeps ending; see :checkhealth fim and :Fim restart', vim.log.levels.ERROR)
  return false
end

return M
