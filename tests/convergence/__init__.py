"""
The laws of waiting: the same messages end in the same state, whatever took how long.

In reading order: `waits` (how long what takes), `server` (a backend that takes time, goes and
comes back), `play` (one run of a story, and what must hold at every moment), `steps` (what a
client and the world do, and random stories), `fields` with `fields.toml` (what of the state is
compared, and why the rest is not), `laws` (two runs that must agree, shrunk to a few lines).
`python -m tests.convergence.laws FIRST N` tries seeds.
"""
