"""
The law over the wire: each request has its answer in time, whatever a model server does, and the
wire is free afterwards.

In reading order: `network` (connections in memory, on a virtual clock, below the real HTTP
client), `servers` (what a llama.cpp and an OpenAI-style server answer), `attacks` (what a hostile
one does instead), `laws` (a session plays a story, and what must hold), `pairs` (the same with two
servers, of which one may serve for the other). `python -m tests.wire.laws FIRST N` tries seeds.
"""
