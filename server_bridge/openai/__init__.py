"""
OpenAI-style servers (vLLM, mlx_lm.server, …) as a `Backend`.

lengths: what a refusal says about the length of a prompt
stream: collects streamed events into one answer with tokens and probabilities
completion: the options of a request, as a text or as a chat message, and its answer as a `Reply`
models: chooses one of the models that a server lists, and makes the fields that every request has
beside: asks on a new connection beside a request that brings no text
waking: waits for a server that loads its model at the first request
cache_estimate: what a server holds of our prompts, as far as its answers tell
cuts: where a text may be cut
text_client: sends texts, and learns about the server from the answers; models for next edits
portions: completions from servers that cannot be asked for one stream
backend: an OpenAI-style server as a `Backend`
"""
