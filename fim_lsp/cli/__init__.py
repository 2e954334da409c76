"""
The command line: a module per command, and what the commands share.

terminal: text for a terminal: width, colour, encoding
options: parses the command line
client: a language client that starts our own server
complete: `fim-lsp complete`
demo: `fim-lsp demo`
checks: the checks of `fim-lsp doctor` that ask the settings and the model, a function each
server_checks: the checks of a server: who else may ask it, and what it does with answers
doctor: `fim-lsp doctor`, and the checks of this installation
models: `fim-lsp models`, and the models on offer
setup: `fim-lsp setup` and `fim-lsp forget`
http: `fim-lsp http`
"""
