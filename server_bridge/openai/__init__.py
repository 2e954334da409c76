"""
OpenAI-style servers (vLLM, mlx_lm.server, …) as a `Backend`.

stream: collects streamed events into one answer with tokens and probabilities
completion: the options of a request, as a text or as a chat message, and its answer as a `Reply`
models: chooses one of the models that a server lists, and makes the fields that every request has
waking: waits for a server that loads its model at the first request
text_client: sends texts, and learns about the server from the answers; models for next edits
backend: an OpenAI-style server as a `Backend`
"""
