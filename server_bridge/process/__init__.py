"""
The model servers that we start: their size, their command line, their life.

sizing: what a model's server may take, by its header and this machine's memory
command_line: the command line of llama-server
embedded_child: the process with llama.cpp inside; the only importer of xllamacpp
programs: chooses the program that runs a model: an installed llama-server, or the embedded engine
supervisor: one child process, started again less and less often
membership: our place among the users of an engine that editors share
embedded: llama.cpp in a process, our child or shared, as a `Backend`
"""
