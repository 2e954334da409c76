-- What the buffer's other language servers know of the names near the cursor, for ours: where these are
-- defined, and which errors there are. Asked when the cursor rests, a few names at a time, each once; sent as
-- `fim/context`. Our server judges what it may use, by the file that each item names.

local PAUSE_MS = 500 -- more than between two keys: other servers have work of their own after each
local WAIT_MS = 1000 -- for slow servers; what comes later is not sent
local NAMES = 6 -- of one pause
local LONGEST = 1000 -- bytes of a line that are looked at
local ASKED = 256 -- names of a buffer that are not asked for again
local ABOVE, BELOW = 3, 1 -- lines around the cursor
local IN_VIEW = 50 -- lines around the cursor of which ours knows all
local LINES = 16 -- of a definition: the head of a class, a usual function
local BYTES = 1000000 -- of a file that is read
local ERRORS, ERROR_LINES = 5, 10 -- of errors: how many, and how far from the cursor

local M = {}

local timer = assert(vim.uv.new_timer())
local asked = {} ---@type table<integer, table<string, true>> names by buffer
local told = {} ---@type table<integer, string> the errors that were sent last, by buffer
local batch = 0 -- counts the pauses: answers of an earlier one are not sent

---@class fim.Name a word near the cursor, 0-based, column in bytes
---@field row integer
---@field col integer

--- The words near the cursor that were not asked for yet, those of the nearest lines first.
---@param buf integer
---@return fim.Name[]
local function names_near(buf)
  local here = vim.api.nvim_win_get_cursor(0)[1] - 1
  local found, seen = {}, asked[buf] or {}
  if vim.tbl_count(seen) > ASKED then
    seen = {}
  end
  asked[buf] = seen
  for distance = 0, ABOVE do
    for _, row in ipairs(distance > 0 and distance <= BELOW and { here - distance, here + distance } or { here - distance }) do
      local line = row >= 0 and vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
      for col, word in line:sub(1, LONGEST):gmatch('()([%a_][%w_][%w_]+)') do
        if not seen[word] and #found < NAMES then
          seen[word] = true
          table.insert(found, { row = row, col = col - 1 })
        end
      end
    end
  end
  return found
end

--- The lines of a definition from row `from` on, up to row `to` or as long as they are indented deeper.
---@param lines string[] of the file, from that row on
local function definition(lines, from, to)
  local indent = #(lines[1] or ''):match('^%s*')
  local last = math.min(#lines, to > from and to - from + 1 or LINES, LINES)
  for n = 2, last do
    if to <= from and lines[n]:match('%S') and #lines[n]:match('^%s*') <= indent then
      last = n - 1
      break
    end
  end
  return table.concat(lines, '\n', 1, math.max(1, last))
end

--- What stands at a location, nil where that cannot be read.
---@return string?
local function text_at(uri, range)
  local from, lines, path = range.start.line, nil, vim.uri_to_fname(uri)
  if vim.fn.bufloaded(path) == 1 then -- `bufnr` would take the path for a pattern: 'ship.pyi' for 'ship.py'
    lines = vim.api.nvim_buf_get_lines(vim.fn.bufadd(path), from, from + LINES, false)
  else
    local about = vim.uv.fs_stat(path)
    if not about or about.type ~= 'file' or about.size > BYTES then
      return nil
    end
    lines = vim.list_slice(vim.fn.readfile(path, '', from + LINES), from + 1)
  end
  local text = definition(lines, from, range['end'].line)
  return text:match('%S') and text or nil
end

--- The first piece of code in the answer to `textDocument/hover`.
---@return string?
local function code_in(hover)
  local contents = type(hover) == 'table' and hover.contents
  local text = type(contents) == 'table' and (contents.value or (contents[1] or {}).value) or contents
  return type(text) == 'string' and (text .. '\n'):match('```%w*\n(.-)\n```') or nil
end

--- The first location of an answer to `textDocument/definition`, of a file.
local function location_in(result)
  if type(result) ~= 'table' then
    return nil
  end
  local first = (result.uri or result.targetUri) and result or result[1] or {}
  local uri = first.targetUri or first.uri
  if uri and vim.startswith(uri, 'file:') then
    return uri, first.targetRange or first.range
  end
end

--- The errors near the cursor, as LSP has them.
local function errors_near(buf)
  local here, found = vim.api.nvim_win_get_cursor(0)[1] - 1, {}
  for _, each in ipairs(vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.ERROR })) do
    if #found < ERRORS and math.abs(each.lnum - here) <= ERROR_LINES then
      local from = { line = each.lnum, character = each.col }
      table.insert(found, { message = each.message, severity = 1, range = { start = from, ['end'] = from } })
    end
  end
  return found
end

--- Collects items; `send` is called once, when each that was `expected` is `done`, or after `WAIT_MS`.
local function collector(send)
  local self, left, items = {}, 1, {}
  function self.expect()
    left = left + 1
  end
  function self.done(item)
    left = left - 1
    table.insert(items, item)
    if left == 0 then
      send(items)
    end
  end
  vim.defer_fn(function()
    if left > 0 then
      left = -1
      send(items)
    end
  end, WAIT_MS)
  return self
end

--- Ask `server` where `name` is defined; what is outside of our workspace is told by its signature, if there is one.
local function ask(server, ours, buf, name, collected)
  local line = vim.api.nvim_buf_get_lines(buf, name.row, name.row + 1, false)[1]
  local character = vim.str_utfindex(line, server.offset_encoding, name.col)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    position = { line = name.row, character = character },
  }
  local here = vim.api.nvim_win_get_cursor(0)[1] - 1
  collected.expect()
  local sent = server:request('textDocument/definition', params, function(_, result)
    local uri, range = location_in(result)
    if not uri or uri == params.textDocument.uri and math.abs(range.start.line - here) < IN_VIEW then
      return collected.done()
    end
    local path, root = vim.uri_to_fname(uri), ours.root_dir
    if root and vim.fs.relpath(root, path) or not server:supports_method('textDocument/hover', buf) then
      local text = text_at(uri, range)
      return collected.done(text and { uri = uri, value = text })
    end
    local hovered = server:request('textDocument/hover', params, function(_, hover)
      local text = code_in(hover) or text_at(uri, range)
      collected.done(text and { uri = uri, value = text })
    end, buf)
    if not hovered then
      collected.done()
    end
  end, buf)
  if not sent then
    collected.done()
  end
end

--- Ask the other servers of the current buffer, and tell ours.
---@param buf integer
local function inform(buf)
  local ours = vim.lsp.get_clients({ name = 'fim', bufnr = buf })[1]
  if not ours or vim.tbl_get(ours.settings or {}, 'fim', 'ring', 'servers') == false then
    return
  end
  batch = batch + 1
  local mine, uri = batch, vim.uri_from_bufnr(buf)
  local collected = collector(function(items)
    if mine == batch and #items > 0 and vim.api.nvim_buf_is_valid(buf) then
      ours:notify('fim/context', { textDocument = { uri = uri }, items = items })
    end
  end)
  local servers = vim.tbl_filter(function(client)
    return client.name ~= 'fim'
  end, vim.lsp.get_clients({ bufnr = buf, method = 'textDocument/definition' }))
  for _, name in ipairs(servers[1] and names_near(buf) or {}) do
    ask(servers[1], ours, buf, name, collected)
  end
  -- What is half typed has errors that are none.
  local errors = vim.api.nvim_get_mode().mode == 'n' and { uri = uri, values = errors_near(buf) } or nil
  local news = errors and vim.json.encode(errors.values)
  if errors and news ~= (told[buf] or '[]') then
    told[buf] = news
    return collected.done(errors)
  end
  collected.done()
end

--- The cursor moved, or a key was typed.
---@param buf integer
function M.moved(buf)
  timer:stop()
  timer:start(PAUSE_MS, 0, vim.schedule_wrap(function()
    if vim.api.nvim_buf_is_valid(buf) and buf == vim.api.nvim_get_current_buf() then
      inform(buf)
    end
  end))
end

--- A buffer is gone, or has another language server: what was asked is to be asked again.
---@param buf integer
function M.forget(buf)
  asked[buf], told[buf] = nil, nil
end

return M
