"""
The newest piece of work of each kind: the one way in which newer work takes the place of older.

Work claims its kind when it begins, and asks after each wait whether it is still the newest before
it writes what outlives it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Claim(Generic[K]):
    """One piece of work on *key*; *end* stops it when it is not the newest any more."""

    def __init__(self, claims: dict[K, Claim[K]], key: K, end: Callable[[], object]) -> None:
        self._claims = claims
        self._key = key
        self.end = end

    @property
    def is_newest(self) -> bool:
        """Return whether no other work on its key was begun since, and it was not released."""
        return self._claims.get(self._key) is self

    def release(self) -> None:
        """End the claim: the work is done. A newer one stays as it is."""
        if self.is_newest:
            del self._claims[self._key]


class Newest(Generic[K]):
    """The claims by key, one of each."""

    def __init__(self) -> None:
        self._claims: dict[K, Claim[K]] = {}

    def claim(self, key: K, end: Callable[[], object] = lambda: None) -> Claim[K]:
        """Begin work on *key*, which ends the work before it."""
        if before := self._claims.get(key):
            before.end()
        mine = self._claims[key] = Claim(self._claims, key, end)
        return mine

    def drop(self, key: K) -> None:
        """End the work on *key*, if there is any; none is the newest."""
        if before := self._claims.pop(key, None):
            before.end()
