"""
The model servers that we start: their size, their command line, their life.

sizing: chooses the size of the slots from the model's header and this machine's memory
command_line: makes the command line for an installed build of llama-server
embedded_child: the process with llama.cpp inside; the only importer of xllamacpp
programs: chooses the program that runs a model: an installed llama-server, or our own child
supervisor: starts a child process, watches it, restarts it and ends it
embedded: the child with llama.cpp inside as a `Backend`
served: keeps the server of `fim-lsp serve` running and reports its states
"""
