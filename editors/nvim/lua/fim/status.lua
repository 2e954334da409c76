-- The server's status: a word for the statusline, a few lines on demand.

local M = {}

local statuses = {} ---@type table<integer, { busy: boolean, kind: string, message?: string }>

--- Keep the last status of a client's server (`didChangeStatus`), nil when it has ended.
function M.set(client_id, status)
  statuses[client_id] = status
  vim.cmd.redrawstatus({ bang = true })
end

--- The statusline's word for the current buffer.
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
  local status = statuses[client.id] or {}
  local trouble = status.kind == 'Error' or status.kind == 'Warning'
  return 'FIM' .. (trouble and ' !' or status.busy and ' …' or '')
end

--- The server's last message for the user, '' when there is none.
---@param client_id integer
function M.message(client_id)
  return (statuses[client_id] or {}).message or ''
end

--- The numbers of `fim/stats` as lines to read.
---@param stats table
---@return string[]
function M.format(stats)
  local backend, tokens, latency, ring = stats.backend, stats.tokens, stats.latencyMs, stats.ring
  return {
    ('backend   %s: %s %s'):format(backend.state, backend.kind, backend.model or ''),
    ('requests  %d, shown %d, accepted %d'):format(stats.requests, stats.shown, stats.accepted),
    ('tokens    %d evaluated, %d from the cache, %d generated'):format(
      tokens.evaluated, tokens.cached, tokens.predicted
    ),
    ('latency   %.0f ms (median), %.0f ms (95 %%)'):format(latency.p50 or 0, latency.p95 or 0),
    ('context   %d of %d chunks, %d waiting'):format(ring.chunks, ring.capacity, ring.queued),
  }
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

--- Ask the server for its numbers and show them.
function M.show_stats()
  local client = M.server()
  if not client then
    return
  end
  client:request('fim/stats', vim.empty_dict(), function(err, stats)
    local text = err and 'fim: ' .. err.message or table.concat(M.format(stats), '\n')
    vim.notify(text, err and vim.log.levels.ERROR or vim.log.levels.INFO)
  end)
end

--- Open a page that says what the model is shown for the current buffer; the server writes it.
function M.show_context()
  local client = M.server()
  if client then
    local uri = vim.uri_from_bufnr(0)
    client:exec_cmd({ title = 'context', command = 'fim.showContext', arguments = { uri } })
  end
end

--- Show what the server wrote at `path`: a page to read, not a file that would get a server too.
---@param path string
function M.show_page(path)
  vim.cmd.new()
  vim.bo.buftype = 'nofile'
  vim.bo.bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn.readfile(path))
  vim.bo.modifiable = false
end

return M
