-- The client's configuration: `vim.lsp.enable('fim')` finds this file on the runtimepath.
-- Change it with `vim.lsp.config('fim', { cmd = …, settings = { fim = … } })`, see |fim-settings|.

local process = require('fim.process')
local capabilities = vim.lsp.protocol.make_client_capabilities()
-- Neovim 0.11 does not declare inline completion; this plugin draws it there, too.
capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }

---@type vim.lsp.Config
return {
  cmd = { process.path('fim-lsp') or 'fim-lsp', '--stdio' },
  cmd_cwd = process.folder(),
  root_markers = { '.git', '.fim-lsp.toml' },
  capabilities = capabilities,
  settings = { fim = { status = { notify = true } } },
  handlers = {
    didChangeStatus = function(_, status, ctx)
      require('fim.status').set(ctx.client_id, status)
    end,
    ['window/showDocument'] = function(_, params)
      if params.external then
        process.open(params.uri)
        vim.notify('fim: ' .. params.uri, vim.log.levels.INFO) -- an opener may do nothing, as over ssh
      else
        require('fim.pages').open(vim.uri_to_fname(params.uri))
      end
      return { success = true }
    end,
    ['window/showMessage'] = function(err, params, ctx)
      if params.type == vim.lsp.protocol.MessageType.Info then
        require('fim.pages').say(params.message)
      else
        vim.lsp.handlers['window/showMessage'](err, params, ctx)
      end
    end,
    ['$/progress'] = function(err, params, ctx)
      local token, value = params.token, params.value
      if not require('fim.ghost').grew(token, value) and not require('fim.edit').grew(token, value) then
        require('fim.pages').progress(token, value)
        vim.lsp.handlers['$/progress'](err, params, ctx)
      end
    end,
    ['workspace/applyEdit'] = function(err, params, ctx)
      params.label = nil -- Neovim would print it
      return vim.lsp.handlers['workspace/applyEdit'](err, params, ctx)
    end,
  },
  on_exit = function(code, signal, client_id)
    vim.schedule(function()
      require('fim.events').exited(code, signal, client_id)
    end)
  end,
}
