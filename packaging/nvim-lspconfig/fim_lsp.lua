---@brief
---
--- {{repository}}
---
--- A language server for local, private, multi-line code completion: it watches what is open, and asks
--- a llama.cpp server on this machine, or the embedded engine, to fill in the middle.
---
--- Get a model with `fim-lsp setup`. Neovim 0.12 and newer shows its suggestions as ghost text:
---
--- ```lua
--- vim.api.nvim_create_autocmd('LspAttach', {
---   callback = function(args)
---     local client = assert(vim.lsp.get_client_by_id(args.data.client_id))
---     if client:supports_method(vim.lsp.protocol.Methods.textDocument_inlineCompletion, args.buf) then
---       vim.lsp.inline_completion.enable(true, { bufnr = args.buf })
---     end
---   end,
--- })
--- ```

---@type vim.lsp.Config
return {
  cmd = { 'fim-lsp', '--stdio' },
  root_markers = { '.fim-lsp.toml', '.git' },
}
