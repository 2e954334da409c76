-- Commands of the server's program that ask the user something or go on: in a terminal window.

local M = {}

local ROWS = 15

--- The program that `vim.lsp.config.fim` starts, or nil where that is a function.
---@return string?
function M.program()
  local cmd = (vim.lsp.config.fim or {}).cmd
  return type(cmd) == 'table' and cmd[1] or nil
end

--- Run `fim-lsp` with these arguments in a window of its own; closing its buffer ends the command.
--- What `setup` wrote takes effect when it ends: a server is not told of its settings file everywhere.
---@param command string
---@param ... string
function M.run(command, ...)
  local program = M.program()
  if not program or vim.fn.executable(program) == 0 then
    vim.notify('fim: the program is not found; see :checkhealth fim', vim.log.levels.ERROR)
    return
  end
  vim.cmd(('botright %dnew'):format(ROWS))
  vim.fn.jobstart({ program, command, ... }, {
    term = true,
    on_exit = function()
      if command == 'setup' and vim.v.exiting == vim.NIL then
        require('fim.events').restart()
      end
    end,
  })
  vim.cmd.startinsert()
end

return M
