-- :checkhealth fim

local M = {}

local health = vim.health
local process = require('fim.process')
local STATS_TIMEOUT_MS = 2000 -- the answer needs no model; a server that takes longer is stuck

local function check_neovim()
  if vim.fn.has('nvim-0.11') == 0 then
    health.error('Neovim 0.11 or newer is needed')
  end
  local drawn_by = require('fim').uses_builtin() and 'Neovim (ghost_text = "builtin")' or 'this plugin'
  health.ok(('Neovim %s; ghost text is drawn by %s'):format(tostring(vim.version()), drawn_by))
end

local function check_command()
  local program = require('fim.terminal').program()
  if not program then
    health.info('the server is started by a function')
  elseif not process.path(program) then
    health.error(('%q was not found; relative folders of the PATH are ignored'):format(program), {
      'install it, in a checkout of its repository: sh scripts/install user',
      "or say where it is: vim.lsp.config('fim', { cmd = { '/path/to/fim-lsp', '--stdio' } })",
    })
  else
    health.ok(('server: %s'):format(process.path(program)))
  end
end

local function check_server(client)
  health.start('fim: server of ' .. (client.root_dir or 'files without a project'))
  local reply = client:request_sync('fim/stats', vim.empty_dict(), STATS_TIMEOUT_MS)
  if not reply or not reply.result then
    health.error('the server does not answer', { 'look at ' .. vim.lsp.log.get_filename(), 'try :Fim restart' })
    return
  end
  for _, line in ipairs(require('fim.pages').format(reply.result)) do
    health.info(line)
  end
  local backend, status = reply.result.backend, require('fim.status').of(client.id) or {}
  if not backend.ready then
    health.warn(('the backend is %s. %s'):format(backend.state, backend.message), { 'run :Fim doctor' })
  elseif status.bundled then
    health.warn('the bundled model answers: a toy that knows a little Python', { 'get a real one: :Fim setup' })
  else
    health.ok('the backend is ready')
  end
end

local function check_keys()
  local keys, ask = require('fim').options().keys, require('fim').ask_key()
  if ask and not (keys or {}).trigger then
    health.ok(('trigger: %s'):format(ask))
  end
  if not keys or vim.tbl_isempty(keys) then
    health.info("no other keys are mapped; for example: vim.g.fim = { keys = { accept = '<Tab>' } }")
  end
  for action, key in vim.spairs(keys or {}) do
    health.ok(('%s: %s'):format(action, key or 'no key'))
  end
end

function M.check()
  health.start('fim')
  check_neovim()
  check_command()
  check_keys()
  local clients = vim.lsp.get_clients({ name = 'fim' })
  if #clients == 0 then
    health.warn('no server is running', { "add vim.lsp.enable('fim') to init.lua, then open a file" })
  end
  vim.tbl_map(check_server, clients)
end

return M
