-- All processes of the plugin start here, as programs with an absolute path in the user's home folder: the
-- current folder, and relative folders of the PATH, may be those of a cloned repository.

local M = {}

local WINDOWS = vim.fn.has('win32') == 1
local OPENERS = vim.fn.has('mac') == 1 and { { 'open' } }
  or WINDOWS and { { 'cmd.exe', '/c', 'start', '' } }
  or { { 'xdg-open' }, { 'wslview' }, { 'explorer.exe' }, { 'lemonade', 'open' } }

--- The folder that processes run in.
---@return string
function M.folder()
  local home = vim.uv.os_homedir()
  return home and vim.fn.isdirectory(home) == 1 and home or '/'
end

--- The path of a program: an absolute one as it is (`~` is the home folder), a name as it is found in the
--- absolute folders of the PATH; nil where there is none.
---@param name string
---@return string?
function M.path(name)
  local folders = vim.split(vim.env.PATH or '', WINDOWS and ';' or ':')
  if name:find('[/\\]') then
    folders, name = { vim.fs.dirname(vim.fs.normalize(name)) }, vim.fs.basename(vim.fs.normalize(name))
  end
  for _, folder in ipairs(name ~= '' and folders or {}) do
    local found = vim.fn.isabsolutepath(folder) == 1 and vim.fn.exepath(vim.fs.joinpath(folder, name)) or ''
    if found ~= '' then
      return found
    end
  end
end

--- Run a program and hear what it printed.
---@param argv string[]
---@param timeout_ms? integer
---@param hear? fun(done: vim.SystemCompleted)
function M.run(argv, timeout_ms, hear)
  M.refuse_relative(argv)
  vim.system(argv, { cwd = M.folder(), text = true, timeout = timeout_ms, detach = not hear }, hear)
end

--- Run a program in the terminal of the current buffer.
---@param argv string[]
---@param on_exit fun()
function M.run_here(argv, on_exit)
  M.refuse_relative(argv)
  vim.fn.jobstart(argv, { cwd = M.folder(), term = true, on_exit = on_exit })
end

--- Show an address in the user's browser. Returns whether there is one; `vim.ui.open` would look for it in
--- the current folder, too.
---@param uri string
---@return boolean
function M.open(uri)
  for _, opener in ipairs(OPENERS) do
    local program = M.path(opener[1])
    if program then
      M.run(vim.list_extend({ program, unpack(opener, 2) }, { uri }))
      return true
    end
  end
  return false
end

---@param argv string[]
function M.refuse_relative(argv)
  assert(vim.fn.isabsolutepath(argv[1]) == 1, argv[1] .. ' is not an absolute path')
end

return M
