"""How much two sequences have in common at their beginning: texts, or packed token ids. Pure."""

from __future__ import annotations

from typing import TypeVar

S = TypeVar("S", str, bytes)


def common_prefix(a: S, b: S) -> int:
    """
    How many characters (bytes) *a* and *b* share at their beginning.

    By bisection: comparing slices is a `memcmp`, many times faster than a loop over characters.
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:  # invariant: the first *low* agree, the first *high* + 1 do not
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
