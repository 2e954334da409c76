"""
LSP's types, imported a third faster.

lsprotocol defines some 500 classes, and attrs writes and compiles a `__repr__` for each of them that
nobody calls: 90 ms in which an editor waits for the answer to `initialize`.
"""

from __future__ import annotations

import functools

import attrs

_define = attrs.define
attrs.define = functools.partial(_define, repr=False)
try:
    from lsprotocol import types
finally:
    attrs.define = _define

__all__ = ["types"]
