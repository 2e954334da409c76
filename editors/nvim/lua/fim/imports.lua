-- The import of a name that an edit just used, as a next edit: where the diagnostic of another language server of
-- the buffer is about one name on a line that just changed, the quick fix of that server. Only an action that
-- does nothing but insert an import elsewhere is taken, and no command of a server is run.

local WAIT_MS = 10000 -- after the last change, for the diagnostics of slow servers
local AGAIN_MS = 3000 -- from an answer without an import to the next question: a server may only be starting
local LINES = 8 -- that changed last
local ACTIONS = 20 -- of an answer that are looked at
local CHARS = 500 -- of an import
local WORDS = { 'import', 'include', 'open', 'require', 'use', 'using' } -- of actions that import
local WARN = { min = vim.diagnostic.severity.WARN } -- Pylance only warns of undefined names
local namespace = vim.api.nvim_create_namespace('fim.imports') -- marks the lines that changed last

local M = {}

local changed = {} ---@type table<integer, integer> when a buffer changed last
local refused = {} ---@type table<string, true> names that the user dismissed
local proposals = {} ---@type table<string, table|false> by buffer, version, server and name; false: none yet
local count = 0 -- of marks

local function is_import(action, text)
  local words = vim.split((action.title .. ' ' .. text):lower(), '[^%w_]+')
  return vim.iter(WORDS):any(function(word)
    return vim.list_contains(words, word)
  end)
end

--- What `action` inserts to import `name` for its use in `row`; nil where it does anything else.
local function insertion(uri, action, name, row)
  local edit = type(action.edit) == 'table' and action.edit or {}
  local files = edit.documentChanges or {}
  for other, edits in pairs(edit.documentChanges and {} or edit.changes or {}) do
    table.insert(files, { textDocument = { uri = other }, edits = edits })
  end
  local edits = vim.tbl_filter(function(each)
    return each.newText ~= name -- basedpyright replaces the name with itself, too
  end, #files == 1 and files[1].edits or {})
  if #edits ~= 1 or vim.uri_to_fname(files[1].textDocument.uri) ~= vim.uri_to_fname(uri) then
    return nil
  end
  local text, from = edits[1].newText:gsub('\r', ''), edits[1].range.start
  local is_elsewhere = from.line ~= row or from.character == 0 and vim.endswith(text, '\n')
  local names = text:find('%f[%w_]' .. vim.pesc(name) .. '%f[^%w_]')
  local is_short = #text <= CHARS
  local inserts = vim.deep_equal(from, edits[1].range['end']) and is_elsewhere and names and is_short and is_import(action, text)
  return inserts and { range = edits[1].range, text = text } or nil
end

--- Call `back` with the only import among the actions for a diagnostic, or the only one that is preferred, or nil.
local function ask(client, buf, diagnostic, name, back)
  local uri, all, preferred = vim.uri_from_bufnr(buf), {}, {}
  local function take(action)
    local is_whole, item = pcall(insertion, uri, action, name, diagnostic.range.start.line)
    if is_whole and item then
      local key = vim.json.encode(item)
      item.why = ('`%s` is not defined. %s: %s.'):format(name, client.name, (action.title:gsub('%c', ' ')))
      all[key], preferred[key] = item, action.isPreferred == true and item or preferred[key]
    end
  end
  local context = { diagnostics = { diagnostic }, only = { 'quickfix' }, triggerKind = 2 }
  local params = { textDocument = { uri = uri }, range = diagnostic.range, context = context }
  client:request('textDocument/codeAction', params, function(_, actions)
    local left = 1
    local function done()
      left = left - 1
      local one = next(preferred) and preferred or all
      if left == 0 then
        back(vim.tbl_count(one) == 1 and select(2, next(one)) or nil)
      end
    end
    for _, action in ipairs(type(actions) == 'table' and vim.list_slice(actions, 1, ACTIONS) or {}) do
      local is_action = type(action) == 'table' and type(action.title) == 'string'
      if not is_action or action.edit or not action.data or not is_import(action, '') then
        take(action)
      else
        left = left + 1
        client:request('codeAction/resolve', action, function(_, whole)
          take(whole or action)
          done()
        end, buf)
      end
    end
    done()
  end, buf)
end

--- Of a diagnostic: the name that is all it is about, unless that may still be typed on; and its server.
local function subject(buf, diagnostic)
  local line = vim.api.nvim_buf_get_lines(buf, diagnostic.lnum, diagnostic.lnum + 1, false)[1] or ''
  local name = diagnostic.end_lnum == diagnostic.lnum and line:sub(diagnostic.col + 1, diagnostic.end_col) or ''
  local cursor, mode = vim.api.nvim_win_get_cursor(0), vim.api.nvim_get_mode().mode
  local is_typed = mode:match('^i') and vim.deep_equal(cursor, { diagnostic.lnum + 1, diagnostic.end_col })
  local space = vim.diagnostic.get_namespace(diagnostic.namespace).name .. '.'
  local client = vim.iter(vim.lsp.get_clients({ bufnr = buf, method = 'textDocument/codeAction' })):find(function(each)
    return each.name ~= 'fim' and vim.startswith(space, ('nvim.lsp.%s.%d.'):format(each.name, each.id))
  end)
  return not is_typed and not refused[name] and name:match('^[%a_\128-\255][%w_\128-\255]*$'), client
end

--- Look for an import in the current buffer; `show` is called with the server and an item of the next edit's protocol.
---@param show fun(client: vim.lsp.Client, item: table)
function M.look(show)
  local buf = vim.api.nvim_get_current_buf()
  local uri, version = vim.uri_from_bufnr(buf), vim.lsp.util.buf_versions[buf]
  if vim.uv.now() - (changed[buf] or -WAIT_MS) > WAIT_MS then
    return
  end
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, {})) do
    for _, each in ipairs(vim.diagnostic.get(buf, { lnum = mark[2], severity = WARN })) do
      local name, client = subject(buf, each)
      local key = name and client and table.concat({ buf, version, client.id, name }, ' ')
      if key and proposals[key] then
        return show(client, proposals[key])
      elseif key and proposals[key] == nil and each.user_data and each.user_data.lsp then
        proposals[key] = false
        ask(client, buf, each.user_data.lsp, name, function(item)
          local proposal = item and vim.tbl_extend('error', item, { textDocument = { uri = uri, version = version }, name = name })
          vim.defer_fn(function()
            proposals[key] = proposal
            M.look(show)
          end, proposal and 0 or AGAIN_MS)
        end)
      end
    end
  end
end

--- Do not propose the import of a name again.
function M.refuse(name)
  refused[name] = true
end

--- Note which lines of `buf` change, from now on.
---@param buf integer
function M.watch(buf)
  if changed[buf] then
    return
  end
  changed[buf] = -WAIT_MS
  vim.api.nvim_buf_attach(buf, false, {
    on_reload = function() end, -- without it, that would be the end
    on_detach = function()
      changed[buf] = nil
    end,
    on_lines = function(_, _, _, first, _, last)
      if vim.uv.now() - changed[buf] > WAIT_MS then
        vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
      end
      changed[buf], proposals = vim.uv.now(), {}
      for row = math.max(first, last - LINES), last - 1 do
        if #vim.api.nvim_buf_get_extmarks(buf, namespace, { row, 0 }, { row, -1 }, {}) == 0 then
          count = count + 1
          vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { id = count % LINES + 1, strict = false })
        end
      end
    end,
  })
end

return M
