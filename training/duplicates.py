"""
Has a text been seen before, exactly or nearly? MinHash with banding (Broder 1997). Pure.

A text is the set of its runs of five words; a signature holds the least hash of the set under 64 hash
functions, so two signatures agree in about as many places as the sets overlap (Jaccard). Signatures
that agree in one of eight bands of eight places are compared in full: a pair 0.8 alike is found with
probability 0.77, one 0.9 alike with 0.99.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from fim_lsp.context.similarity import WORD

NEAR = 0.8  # of the hashes agree: a fork, a vendored copy, another year in the header
RUN = 5  # words: shorter runs are idioms
BANDS, ROWS = 8, 8
_FUNCTIONS = np.random.default_rng(1).integers(1, 2**63, (BANDS * ROWS, 1), np.uint64) * 2 + 1

Signature = NDArray[np.uint32]


class Seen:
    """Texts seen so far, as signatures."""

    def __init__(self) -> None:
        self._exact: set[int] = set()
        self._signatures: list[Signature] = []
        self._bands: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)

    def add(self, text: str) -> str:
        """Remember *text* unless it is a copy; says which sort of copy, "" for new."""
        exact = hash_of(re.sub(r"\s+", " ", text))
        if exact in self._exact:
            return "copy"
        self._exact.add(exact)
        fresh = signature(text)
        bands = [(n, band.tobytes()) for n, band in enumerate(fresh.reshape(BANDS, ROWS))]
        alike = {idx for band in bands for idx in self._bands.get(band, ())}
        if any(np.mean(fresh == self._signatures[idx]) >= NEAR for idx in alike):
            return "near copy"
        for band in bands:
            self._bands[band].append(len(self._signatures))
        self._signatures.append(fresh)
        return ""


def signature(text: str) -> Signature:
    """Return the least hash of its runs of words under each function."""
    words = np.array([hash_of(word) for word in WORD.findall(text)] or [0], np.uint64)
    runs = np.zeros(max(1, len(words) - RUN + 1), np.uint64)
    for n in range(min(RUN, len(words))):
        runs = runs * np.uint64(0x9E3779B97F4A7C15) + words[n : n + len(runs)]
    hashes = (np.unique(runs) * _FUNCTIONS) >> np.uint64(32)
    least: Signature = hashes.min(axis=1).astype(np.uint32)
    return least


@functools.lru_cache(maxsize=1 << 18)
def hash_of(text: str) -> int:
    """Return the same number in every process, unlike `hash`."""
    return zlib.crc32(text.encode())
