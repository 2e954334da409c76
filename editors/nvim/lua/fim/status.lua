-- What the server said last of its backend: words for the statusline, and which model answers.

local M = {}

local NAME_CHARS = 24 -- of a model's name; the rest of the line is the user's
local TOLD = vim.fs.joinpath(vim.fn.stdpath('state'), 'fim-bundled-model-told')

---@class fim.Status `didChangeStatus`
---@field busy boolean
---@field state string what the model's server does: loading, ready, busy, asleep …
---@field kind 'Normal'|'Warning'|'Error'|'Inactive'
---@field message string
---@field model string '' when not known
---@field firstLookS integer? seconds that the first look at a place still takes, 0 for none
---@field quietUntil? string until when automatic suggestions are off, '' while they are on
---@field bundled boolean whether it is the tiny model inside the server's package

local statuses = {} ---@type table<integer, fim.Status?>

--- Keep the last status of a client's server, nil when it has ended.
---@param client_id integer
---@param status? fim.Status
function M.set(client_id, status)
  statuses[client_id] = status
  if status and status.bundled and status.kind == 'Normal' and not status.busy then
    M.offer()
  end
  vim.cmd.redrawstatus({ bang = true })
end

---@param client_id integer
---@return fim.Status?
function M.of(client_id)
  return statuses[client_id]
end

--- Say where a real model comes from; once, ever.
function M.offer()
  if not vim.uv.fs_stat(TOLD) then
    vim.fn.mkdir(vim.fs.dirname(TOLD), 'p')
    vim.fn.writefile({}, TOLD)
    local key = require('fim').ask_key()
    local ask = key and (', %s asks by hand'):format((key:gsub('^<M%-Bslash>$', 'Alt+\\'))) or ''
    vim.notify('fim: a toy model answers: :Fim setup gets a real one' .. ask)
  end
end

--- The statusline's words for the current buffer.
---@return string
function M.line()
  local buf = vim.api.nvim_get_current_buf()
  local client = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not client then
    return ''
  end
  if not require('fim').wanted(buf) then
    return 'FIM off'
  end
  local status = statuses[client.id]
  if not status then
    return 'FIM'
  end
  if status.kind == 'Error' or status.kind == 'Warning' then
    return 'FIM !'
  end
  return vim.iter({ 'FIM', M.name(status), M.phase(status) }):filter(function(word)
    return word ~= ''
  end):join(' ')
end

--- What the model does: it is loading, reads a place for the first time, is busy, asleep or ready.
---@param status fim.Status
---@return string
function M.phase(status)
  if (status.quietUntil or '') ~= '' then
    return 'quiet until ' .. status.quietUntil
  end
  if (status.firstLookS or 0) > 0 then
    return ('first look: %d s'):format(status.firstLookS)
  end
  return status.kind == 'Normal' and status.state or ''
end

--- A model's name as short as it can be: a path or a repository's name ends with it.
---@param status fim.Status
---@return string
function M.name(status)
  local name = status.bundled and 'bundled model' or status.model:gsub('^.*[/\\]', ''):gsub('%.gguf$', '')
  if vim.fn.strchars(name) <= NAME_CHARS then
    return name
  end
  return vim.fn.strcharpart((vim.fn.strcharpart(name, 0, NAME_CHARS + 1):gsub('[-_.:][^-_.:]*$', '')), 0, NAME_CHARS)
end

--- The server of this buffer, else any; or nil, and a message for the user.
---@return vim.lsp.Client?
function M.server()
  local here = vim.lsp.get_clients({ name = 'fim', bufnr = 0 })[1]
  local client = here or vim.lsp.get_clients({ name = 'fim' })[1]
  if not client then
    vim.notify('fim: no server is running; see :checkhealth fim', vim.log.levels.WARN)
  end
  return client
end

return M
