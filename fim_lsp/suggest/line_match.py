"""
A suggestion without a model: the line in sight that begins as the typed one does, if it is clear which.

Measured on 340 places of held-out Python: such a line is exactly right at 9 % of them with the lines
around the cursor in sight, at 14 % with all of the file, at 16 % with six other files of the package,
and at 16 % with all of it; then 48 and 51 of 100 shown are right. Asking for a majority is worth that:
without, 32 of 100 are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from fim_lsp.suggest.place import Draft, Place
from fim_lsp.window import closes_only

# From four typed characters on it pays to guess: 59 of the 60 right answers, and less noise.
TYPED_CHARS = 4

# The share of the lines beginning alike that must go on alike. A third more are shown without it, two
# right answers more. With 0.6: 51 right of 100 shown, with all alike: 43 of 79.
SHARE = 0.5


def continued(place: Place, elsewhere: Iterable[str]) -> Draft:
    """
    What the lines around and *elsewhere* (nearest first) say after what is typed; empty if unclear.

    Not the line right above: nobody writes the same line twice in a row (`repeats`).
    Costs one look at each line: 0.2 ms for a full ring.
    """
    typed = place.before.strip()
    if len(typed) < TYPED_CHARS or not closes_only(place.after):
        return Draft("")
    rests = Counter(
        visible[len(typed) :]
        for line in chain(place.above[-2::-1], place.below, elsewhere)
        if typed in line and (visible := line.strip()).startswith(typed) and visible != typed
    )
    if not rests:
        return Draft("")
    rest, n_lines = rests.most_common(1)[0]  # of equals the nearest, which was counted first
    return Draft(rest if n_lines >= SHARE * rests.total() else "")
