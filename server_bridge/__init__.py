"""Talks to model servers; knows nothing of editors and never imports `fim_lsp`."""
