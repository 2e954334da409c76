-- What a user maps, and whether a buffer gets completions at all.
--
-- Two ways to put ghost text on screen, one way to accept it: `fim.ghost` ("own"), the default, or
-- Neovim 0.12's `vim.lsp.inline_completion` ("builtin"), which waits 200 ms after each key and leaves
-- the old text in place meanwhile.

local M = {}

local ASK = '<M-Bslash>' -- Copilot's key for it; Neovim and its usual plugins have no other use for it

---@class fim.Options `vim.g.fim`; read whenever it matters, so that a change takes effect at once
---@field ghost_text? 'own'|'builtin' what shows suggestions; 'own' where Neovim has nothing built in
---@field filetypes_off? string[] filetypes that get no completions
---@field read_ms? integer a suggestion is accepted by keys that come so much later than it, 100 by default
---@field keys? table<fim.Action, string|false> keys; by default only the one of `ask_key` is mapped

---@alias fim.Action 'accept'|'accept_word'|'accept_line'|'dismiss'|'trigger'|'next'|'previous'|'next_edit'|'edit_accept'|'edit_reject'|'edit_again'|'edit_more'

---@return fim.Options
function M.options()
  return vim.g.fim or {}
end

--- The key that asks for a suggestion by hand: the user's, else ours, else nil.
---@return string?
function M.ask_key()
  local key = (M.options().keys or {}).trigger
  return key or (key == nil and ASK or nil)
end

--- Whether Neovim's own inline completion shows the suggestions.
function M.uses_builtin()
  return M.options().ghost_text == 'builtin' and vim.lsp.inline_completion ~= nil
end

--- Whether `buf` should get completions now.
---@param buf integer
function M.wanted(buf)
  local off = vim.list_contains(M.options().filetypes_off or {}, vim.bo[buf].filetype)
  return vim.g.fim_enabled ~= false and vim.b[buf].fim_enabled ~= false and not off
end

--- Whether `buf` is a text; in what plugins draw and in prompts there are no automatic suggestions.
---@param buf integer
function M.is_text(buf)
  return vim.list_contains({ '', 'acwrite' }, vim.bo[buf].buftype)
end

--- No suggestions for some minutes but by hand; without a number as many as the server thinks fit.
---@param minutes? string
function M.snooze(minutes)
  M.command('fim.snooze', tonumber(minutes))
  require('fim.ghost').hide(vim.api.nvim_get_current_buf())
end

--- Suggest again at once.
function M.resume()
  M.command('fim.resume')
end

--- Run a command of every server of ours.
---@param name string
function M.command(name, ...)
  require('fim.status').server() -- says so where there is none
  for _, client in ipairs(vim.lsp.get_clients({ name = 'fim' })) do
    client:exec_cmd({ title = name, command = name, arguments = { ... } })
  end
end

--- Switch completions on or off: everywhere, or in one buffer (0 for this one).
---@param buf? integer
function M.toggle(buf)
  local scope = buf and vim.b[buf] or vim.g
  scope.fim_enabled = scope.fim_enabled == false
  local where = buf and ' in this buffer' or ''
  vim.notify(('fim: suggestions are %s%s'):format(scope.fim_enabled and 'on' or 'off', where))
  for _, client in ipairs(vim.lsp.get_clients({ name = 'fim' })) do
    for attached in pairs(client.attached_buffers) do
      M.refresh(attached)
    end
  end
  vim.cmd.redrawstatus({ bang = true })
end

--- Make what shows suggestions in `buf` agree with `wanted` and `uses_builtin`.
---@param buf integer
function M.refresh(buf)
  local on, builtin = M.wanted(buf), M.uses_builtin()
  if builtin then
    vim.lsp.inline_completion.enable(on and M.is_text(buf), { bufnr = buf })
  elseif vim.lsp.inline_completion then
    M.leave_builtin(buf)
  end
  local ghost, next_edit = require('fim.ghost'), require('fim.next_edit')
  if on then
    ghost.enable(buf, { automatic = not builtin })
    next_edit.enable(buf)
  else
    ghost.disable(buf)
    next_edit.disable(buf)
  end
end

--- Keep Neovim from drawing our suggestions a second time; it goes on to draw other servers'.
---@param buf integer
function M.leave_builtin(buf)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'fim', bufnr = buf })) do
    local ours = { bufnr = buf, client_id = client.id }
    if vim.lsp.inline_completion.is_enabled(ours) then
      vim.lsp.inline_completion.enable(false, { client_id = client.id })
    end
  end
end

--- Accept all of the suggestion. Returns whether there was one; where not, calls `otherwise`.
---@param otherwise? fun()
function M.accept(otherwise)
  return require('fim.accept').take(nil, otherwise)
end

--- Accept up to the end of the next word.
---@param otherwise? fun()
function M.accept_word(otherwise)
  return require('fim.accept').take('word', otherwise)
end

--- Accept the rest of this line; at its end, the next line.
---@param otherwise? fun()
function M.accept_line(otherwise)
  return require('fim.accept').take('line', otherwise)
end

--- Go to the next edit; there, apply it. Returns whether there was one; where not, calls `otherwise`.
---@param otherwise? fun()
function M.next_edit(otherwise)
  return require('fim.next_edit').take(otherwise)
end

--- Hide the suggestion until something is typed; without one, dismiss the next edit. Returns whether
--- there was either.
---@param otherwise? fun()
function M.dismiss(otherwise)
  local shown = require('fim.ghost').hide(vim.api.nvim_get_current_buf())
  local client = shown and vim.lsp.get_clients({ name = 'fim', bufnr = 0 })[1]
  if client then
    local uri, name = vim.uri_from_bufnr(0), 'fim.didDismissCompletion'
    client:exec_cmd({ title = 'dismiss', command = name, arguments = { uri } })
  end
  if M.uses_builtin() then
    shown = vim.lsp.inline_completion.get({ on_accept = function() end }) or shown
  end
  shown = shown or require('fim.next_edit').dismiss()
  if not shown and otherwise then
    otherwise()
  end
  return shown
end

--- Ask now, whatever the rules for automatic requests say; in normal mode, go on behind the cursor. The
--- server says why where nothing comes.
function M.trigger()
  local buf = vim.api.nvim_get_current_buf()
  require('fim.pages').close()
  local off = require('fim.why').off(buf)
  if off then
    vim.notify('fim: ' .. off, vim.log.levels.WARN)
    return
  elseif vim.api.nvim_get_mode().mode == 'n' then
    local options = { once = true, buffer = buf, callback = vim.schedule_wrap(M.trigger) }
    vim.api.nvim_create_autocmd('InsertEnter', options)
    vim.api.nvim_feedkeys('a', 'n', false)
    return
  end
  if M.uses_builtin() then
    -- Neovim's completion has no function to stop a pending request; leaving insert mode does it.
    pcall(vim.api.nvim_exec_autocmds, 'InsertLeave', {
      group = 'nvim.lsp.inline_completion:' .. buf,
      buffer = buf,
    })
  end
  local ghost = require('fim.ghost')
  ghost.request(buf, ghost.INVOKED)
end

--- Where typing goes on, as commands of the server take it: in normal mode behind the cursor's character.
---@param client vim.lsp.Client
function M.place(client)
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  if vim.api.nvim_get_mode().mode == 'n' and col < #line then
    col = col + 1 + vim.str_utf_end(line, col + 1)
  end
  local character = vim.str_utfindex(line, client.offset_encoding, col)
  return { uri = vim.uri_from_bufnr(0), position = { line = row - 1, character = character } }
end

--- Write a long text at the cursor (in normal mode after it), until its limit or the next key.
function M.continue()
  local client = require('fim.status').server()
  if client then
    client:exec_cmd({ title = 'continue', command = 'fim.continueLong', arguments = { M.place(client) } })
  end
end

local function cycle(step)
  local own = require('fim.ghost').cycle(vim.api.nvim_get_current_buf(), step)
  if not own and M.uses_builtin() then
    vim.lsp.inline_completion.select({ count = step })
  end
end

--- Show the next of several suggestions.
function M.next()
  cycle(1)
end

--- Show the suggestion before.
function M.previous()
  cycle(-1)
end

--- Map a key to an action, in insert mode and, for next edits, in normal mode; with nothing to act on
--- the key does what it did before.
---@param key string
---@param action fim.Action
function M.map(key, action)
  for _, mode in ipairs(action == 'next_edit' and { 'i', 'n' } or { 'i' }) do
    local before = vim.fn.maparg(key, mode, false, true)
    vim.keymap.set(mode, key, function()
      M[action](function()
        M.replay(key, before)
      end)
    end, { desc = 'fim: ' .. action:gsub('_', ' ') })
  end
end

--- Do what `key` did when `before` (a `maparg()` dictionary, empty for none) was its mapping.
---@param key string
---@param before table
function M.replay(key, before)
  local keys = key
  if before.callback then
    keys = before.callback()
  elseif before.rhs then
    keys = before.expr == 1 and vim.api.nvim_eval(before.rhs) or before.rhs
  end
  if before.callback and before.expr ~= 1 or not keys or keys == '' then
    return
  end
  -- 'i': before what is typed already; 'n' or 'm': as the mapping itself would have been read.
  local mode = (vim.tbl_isempty(before) or before.noremap == 1) and 'in' or 'im'
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, true, true), mode, false)
end

--- For a statusline: 'FIM', the model, and 'loading', 'first look: 6 s' or 'ready'; 'FIM !' in trouble, 'FIM off',
--- '' without a server.
---@return string
function M.status()
  return require('fim.status').line()
end

return M
