"""
Commits into the files that change together with one. Pure.

A commit of few files says more than one of many, and a new commit more than an old one. One common commit may be
chance, so shares begin low: a file that changed with this one in its only commit gets half.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Commits = Sequence[frozenset[str]]  # the files that each changed, the newest first

_FILES = 30  # of a commit that says something: a larger one is a rename or a formatter's work
_DOUBT = 1.0  # commits without the other file that are added to those there are
_FADES = 0.997  # per commit of the repository: one of 230 commits ago counts half


def partners(commits: Commits, path: str) -> dict[str, float]:
    """Return each file that changed together with *path*, and how surely it does: more than 0, less than 1."""
    total, weights = _DOUBT, defaultdict[str, float](float)
    for age, files in enumerate(commits):
        if path in files and len(files) <= _FILES:
            weight = _FADES**age
            total += weight
            for other in files - {path}:
                weights[other] += weight / (len(files) - 1) ** 0.5
    return {other: weight / total for other, weight in weights.items()}
