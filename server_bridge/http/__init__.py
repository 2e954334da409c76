"""
JSON over HTTP: one client, its API key, its errors.

api_key: reads the API key from a variable, a file or a command
key_refusals: the key is refused: whether an answer says so, by whatever it does
responses: checks a server's response and reads its JSON, or raises one of the protocol's errors
answer_bounds: how long a streamed answer may be, and may take
transport: the clients of httpx, with the environment's proxies and certificates; its errors as ours
fields: the fields of a request that a server may refuse, taken back
events: the JSON objects of a stream, read by the standard of server-sent events
client: a kept connection, timeouts, the key; every failure as one of the protocol's errors
"""
