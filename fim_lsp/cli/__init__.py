"""
The command line: a module per command, and what the commands share.

terminal: text for a terminal: width, colour, encoding
location: reads FILE:LINE:COL as a file and a position
options: parses the command line
client: a language client that starts our own server
complete: `fim-lsp complete`
demo: `fim-lsp demo`
checks: the checks of `fim-lsp doctor`, a function each
doctor: `fim-lsp doctor`
forget: `fim-lsp forget`
models: `fim-lsp models`
offers: shows models that fit: a table, a question, the progress of a download
serve: `fim-lsp serve`
toml_edit: changes one value of a TOML file in place
setup: `fim-lsp setup`
http: `fim-lsp http`
"""
