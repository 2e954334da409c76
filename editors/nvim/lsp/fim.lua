-- The client's configuration: `vim.lsp.enable('fim')` finds this file on the runtimepath.
-- Change it with `vim.lsp.config('fim', { cmd = …, settings = { fim = … } })`, see |fim-settings|.

local capabilities = vim.lsp.protocol.make_client_capabilities()
-- Neovim 0.11 has no inline completion of its own; this plugin has, so say so.
capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }

---@type vim.lsp.Config
return {
  cmd = { 'fim-lsp', '--stdio' },
  root_markers = { '.git' },
  capabilities = capabilities,
  settings = { fim = { status = { notify = true } } },
  handlers = {
    didChangeStatus = function(_, status, ctx)
      require('fim.status').set(ctx.client_id, status)
    end,
    ['window/showDocument'] = function(_, params)
      require('fim.status').show_page(vim.uri_to_fname(params.uri))
      return { success = true }
    end,
  },
  on_exit = function(code, signal, client_id)
    vim.schedule(function()
      require('fim.events').exited(code, signal, client_id)
    end)
  end,
}
