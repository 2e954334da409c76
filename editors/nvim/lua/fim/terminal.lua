-- Commands of the server's program that ask the user something or go on: in a terminal window.

local M = {}

local process = require('fim.process')
local ROWS = 15

--- The program that `vim.lsp.config.fim` starts, or nil where that is a function.
---@return string?
function M.program()
  local cmd = (vim.lsp.config.fim or {}).cmd
  return type(cmd) == 'table' and cmd[1] or nil
end

--- The settings that hold are those of the project, wherever the command runs.
---@param command string
---@return string[]
local function project(command)
  local root = vim.fs.root(0, '.git')
  return command == 'doctor' and root and { '--root', root } or {}
end

--- Run `fim-lsp` with these arguments in a window of its own; closing its buffer ends the command.
--- What `setup` wrote takes effect when it ends: a server is not told of its settings file everywhere.
---@param command string
---@param ... string
function M.run(command, ...)
  local program = process.path(M.program() or '')
  if not program then
    vim.notify('fim: the program fim-lsp was not found; see :checkhealth fim', vim.log.levels.ERROR)
    return
  end
  local argv = vim.list_extend({ program, command, ... }, project(command))
  vim.cmd(('botright %dnew'):format(ROWS))
  process.run_here(argv, function()
    if command == 'setup' and vim.v.exiting == vim.NIL then
      require('fim.events').restart()
    end
  end)
  vim.cmd.startinsert()
end

return M
