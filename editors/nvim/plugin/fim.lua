-- What happens at startup: autocommands, one command, <Plug> mappings. No key is mapped unless
-- `vim.g.fim.keys` names it, but for the one that asks by hand, where nothing else is mapped to it.

if vim.g.loaded_fim or vim.fn.has('nvim-0.11') == 0 then
  return
end
vim.g.loaded_fim = true

local group = vim.api.nvim_create_augroup('fim', {})
local function on(event, callback)
  vim.api.nvim_create_autocmd(event, { group = group, callback = callback })
end

-- A terminal without truecolor shows only `ctermfg`, which Neovim's own scheme has not for comments: ghost text would look as
-- code does. This grey is told from both black and white.
local GREY = 244
local hint = 'Comment' -- Neovim 0.12's own group for this, ComplHint, is too dark to read in its own scheme
local function color()
  local look = vim.api.nvim_get_hl(0, { name = hint, link = false })
  if look.ctermfg or next(look.cterm or {}) then
    look = { link = hint }
  else
    look.ctermfg = GREY
  end
  look.default = true
  vim.api.nvim_set_hl(0, 'FimGhostText', look)
end
color()
on('ColorScheme', color)

on('LspAttach', function(ev)
  local client = vim.lsp.get_client_by_id(ev.data.client_id)
  if client and client.name == 'fim' then
    require('fim.events').attached(ev.buf)
  end
end)
on('FileType', function(ev)
  if #vim.lsp.get_clients({ name = 'fim', bufnr = ev.buf }) > 0 then
    require('fim').refresh(ev.buf)
  end
end)
on('BufEnter', function(ev)
  require('fim.events').focused(ev.buf)
end)
on('RecordingEnter', function()
  require('fim.macro').began()
end)
on('RecordingLeave', function()
  require('fim.macro').ended(vim.v.event.regname, vim.v.event.regcontents)
end)
on('CursorMoved', function(ev)
  require('fim.events').moved(ev.buf)
end)
on('TextYankPost', function(ev)
  require('fim.events').yanked(ev.buf, vim.v.event)
end)

vim.api.nvim_set_hl(0, 'FimEditRemoved', { default = true, link = 'DiffDelete' })
vim.api.nvim_set_hl(0, 'FimEditAdded', { default = true, link = 'DiffAdd' })
vim.api.nvim_set_hl(0, 'FimEditHint', { default = true, link = 'FimGhostText' })

-- The last that is mapped to a key comes first: one key may accept ghost text, else go to the next edit.
for _, action in ipairs({
  'next_edit', 'accept', 'accept_word', 'accept_line', 'dismiss', 'trigger', 'next', 'previous',
}) do
  local modes = action == 'next_edit' and { 'i', 'n' } or 'i'
  vim.keymap.set(modes, ('<Plug>(fim-%s)'):format((action:gsub('_', '-'))), function()
    require('fim')[action]()
  end)
  local key = ((vim.g.fim or {}).keys or {})[action]
  if key then
    require('fim').map(key, action)
  end
end

local ask = require('fim').ask_key()
if ask and not ((vim.g.fim or {}).keys or {}).trigger and vim.fn.maparg(ask, 'i') == '' then
  require('fim').map(ask, 'trigger')
end

local function terminal(...)
  require('fim.terminal').run(...)
end

local range ---@type integer[] the lines that the command was given, if any

local subcommands = {
  edit = function(...)
    require('fim.edit').start(range[1], range[2], table.concat({ ... }, ' '))
  end,
  fix = function()
    require('fim.edit').fix()
  end,
  toggle = function(what)
    require('fim').toggle(what == 'buffer' and 0 or nil)
  end,
  snooze = function(minutes)
    require('fim').snooze(minutes)
  end,
  resume = function()
    require('fim').resume()
  end,
  trigger = function()
    require('fim').trigger()
  end,
  continue = function()
    require('fim').continue()
  end,
  stats = function()
    require('fim.pages').stats()
  end,
  next = function()
    require('fim').next_edit(function()
      vim.notify('fim: there is no next edit')
    end)
  end,
  dismiss = function()
    require('fim.next_edit').dismiss()
  end,
  context = function()
    require('fim.pages').context()
  end,
  page = function()
    require('fim.pages').page()
  end,
  why = function()
    require('fim.why').show()
  end,
  restart = function()
    require('fim.events').restart()
  end,
  setup = function(...)
    terminal('setup', ...)
  end,
  serve = function(...)
    terminal('serve', ...)
  end,
  doctor = function(...)
    terminal('doctor', ...)
  end,
}

vim.api.nvim_create_user_command('Fim', function(cmd)
  range = cmd.range > 0 and { cmd.line1, cmd.line2 } or {}
  local run = subcommands[cmd.fargs[1] or 'stats']
  require('fim.pages').leave()
  if run then
    run(unpack(cmd.fargs, 2))
  else
    vim.notify('fim: unknown command: ' .. cmd.fargs[1], vim.log.levels.ERROR)
  end
end, {
  nargs = '*',
  range = true,
  desc = 'Local completions: ' .. table.concat(vim.fn.sort(vim.tbl_keys(subcommands)), ', '),
  complete = function(start, line)
    local words = ({ toggle = { 'buffer' } })[line:match('^%S+%s+(%l+)%s')]
      or vim.fn.sort(vim.tbl_keys(subcommands))
    return vim.tbl_filter(function(word)
      return vim.startswith(word, start)
    end, words)
  end,
})
