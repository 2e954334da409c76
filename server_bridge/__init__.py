"""
Talks to model servers. Knows nothing of editors and never imports `fim_lsp`.

A module imports only what stands above it in this list.

protocol: the contract with the editor side: `Prompt`, `Request`, `Reply`, `State`, `Model` …
patience: when a server is given up: what is seen of it, and what follows
speeds: how fast a server is, and how long its tokens are; absurd measurements are left out
machine: this machine: its addresses, sockets, programs and private files
http: JSON over HTTP: the client, its API key, its errors
fim: fill-in-the-middle prompts for each model family; pure
llama: llama.cpp servers as a `Backend`
openai: OpenAI-style servers as a `Backend`
process: the model servers that we start
weights: the models on offer, and their download
failover: several servers as one `Backend`
bridge: `open_backend(settings)` chooses the backends and joins them
"""
