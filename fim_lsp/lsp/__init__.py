"""The language server: LSP messages in and out."""
