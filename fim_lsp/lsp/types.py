"""
LSP's types, imported in half the time.

lsprotocol defines some 500 classes; attrs writes and compiles a `__repr__` and an `__eq__` for each,
which are never called, and builds each a second time to give it slots. Without these, the answer to
`initialize` comes 140 ms earlier.
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
