-- How often the import that our Neovim plugin shows, from a language server's quick fix, is the one that people wrote:
-- takes one imported name out of each file, types its first use again, and compares.
--
--     nvim --headless -u NONE --cmd 'set rtp^=editors/nvim' -l benchmarks/imports.lua python|typescript ROOT FILES…
--
-- FILE is below ROOT, which the server reads as a project; nothing is written. `scripts/tools/install-editors` has the servers.

local language, root = arg[1], vim.fs.normalize((vim.fn.fnamemodify(arg[2], ':p'):gsub('/$', '')))
local cache = (vim.env.XDG_CACHE_HOME or vim.env.HOME .. '/.cache') .. '/fim-lsp-test/servers/node_modules/.bin/'
local program = ({ python = 'basedpyright-langserver', typescript = 'typescript-language-server' })[language]
local imports = require('fim.imports')
local QUIET_MS = 7000 -- until a name counts as one without an import: it was asked for twice
local FIRST_MS = 30000 -- for a server that reads its project

--- The imports of a file, each with one name taken out: { name, module, row, line instead or nil, end of the imports }
local function cases(lines)
  local found, last = {}, 0
  for row, line in ipairs(lines) do
    local module, names = line:match('^from ([%w_.]+) import ([%w_, ]+)$')
    local whole = line:match('^import ([%a_]+)$')
    if language == 'typescript' then
      names, module = line:match('^import %l*%s*{%s*([%w_, ]-)%s*} from ["\']([^"\']+)["\'];?$')
      whole = nil
    end
    if names and not names:find(' as ') and module ~= '__future__' then
      local all = vim.split(names, ',%s*')
      for _, name in ipairs(all) do
        local others = vim.tbl_filter(function(each) return each ~= name end, all)
        local left = #others > 0 and line:gsub(vim.pesc(names), (table.concat(others, ', '):gsub('%%', '%%%%'))) or nil
        table.insert(found, { name = name:gsub('^type ', ''), module = module, row = row, left = left })
      end
    elseif whole then
      table.insert(found, { name = whole, module = whole, row = row })
    end
    last = (line:match('^import') or line:match('^from')) and row or last
  end
  return found, last
end

--- The file's text without the name, and the first row that uses it; nil where none does.
local function without(lines, case, last)
  local text = vim.list_slice(lines)
  if case.left then text[case.row] = case.left else table.remove(text, case.row) end
  for row = last, #text do
    local code = text[row]:gsub('#.*', ''):gsub('//.*', ''):gsub('"[^"]*"', '')
    if code:find('%f[%w_]' .. case.name .. '%f[^%w_]') and not code:match('^%s*[%*import]') then return text, row - 1 end
  end
end

--- The module of a relative import as Python's servers write it: absolute.
local function absolute(module, file)
  local dots, rest = module:match('^(%.*)(.*)$')
  if language == 'typescript' or dots == '' then return module end
  local folder = file
  for _ = 1, #dots do folder = vim.fs.dirname(folder) end
  local package = folder:sub(#root + 2):gsub('/', '.')
  return package .. (package ~= '' and rest ~= '' and '.' or '') .. rest
end

local offers, right, n = 0, 0, 0
local function measure(file, is_first)
  local lines = vim.fn.readfile(file)
  local all, last = cases(lines)
  local case = all[n * 7 % math.max(1, #all) + 1] -- another place in each file
  local text, row = nil, nil
  if case then text, row = without(lines, case, last) end
  if not text then return end
  vim.cmd.edit(vim.fn.fnameescape(file))
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].filetype, vim.bo[buf].swapfile = language, false
  vim.lsp.start({ name = program, cmd = { cache .. program, '--stdio' }, root_dir = root })
  vim.wait(FIRST_MS, function() return #vim.lsp.get_clients({ bufnr = buf, _uninitialized = false }) > 0 end)
  imports.watch(buf)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  vim.wait(FIRST_MS, function() return #vim.diagnostic.get(buf, { lnum = row }) > 0 end)
  vim.wait(is_first and 5000 or 0)
  local used, item = text[row + 1], nil
  vim.api.nvim_buf_clear_namespace(buf, vim.api.nvim_create_namespace('fim.imports'), 0, -1) -- this is no edit of the user's
  vim.api.nvim_buf_set_lines(buf, row, row + 1, false, { '' })
  vim.api.nvim_buf_set_lines(buf, row, row + 1, false, { used })
  vim.wait(QUIET_MS, function()
    imports.look(function(_, raw) item = raw end)
    return item ~= nil
  end, 200)
  n, offers = n + 1, offers + (item and 1 or 0)
  local wanted = absolute(case.module, file)
  local offered = item and (language == 'typescript' and item.why:match('from "(.-)"') or item.why:match('from ([%w_.]+) import') or item.why:match('import ([%w_.]+)%.$'))
  local is_right = item ~= nil and item.name == case.name and offered:gsub('%.[jt]s$', '') == wanted:gsub('%.[jt]s$', '')
  right = right + (is_right and 1 or 0)
  print(('%s: %s from %s: %s'):format(file:sub(#root + 2), case.name, wanted, not item and 'none' or is_right and 'right' or item.why))
  vim.cmd('bwipeout!')
end

for k = 3, #arg do measure(vim.fs.normalize(vim.fn.fnamemodify(arg[k], ':p')), k == 3) end
print(('%d names, %d offers, %d right'):format(n, offers, right))
vim.cmd('qall!')
