"""What was dismissed makes the next ones rarer, what was taken undoes it, and both fade."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.back_off import (
    MOST,
    MOST_WAIT_MS,
    NEAR_ONE,
    PastReaction,
    Reaction,
    describe_refused,
    strength,
    wait_ms,
)

A, ALONG, D, IGN = (
    Reaction.ACCEPTED, Reaction.TYPED_ALONG, Reaction.DISMISSED, Reaction.IGNORED,
)  # fmt: skip


def judged(*verdicts: Reaction) -> list[PastReaction]:
    """Return all at the beginning."""
    return [PastReaction(each, 0.0) for each in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "strong"),
    [
        ((), 1.0),
        ((D, D), 2.25),
        ((D, A), 1.2),
        ((A, A, A), 1.0),  # never more than without a record
        ((A, A, A, D), 1.5),  # and nothing is saved up
        ((IGN, IGN), 1.44),
        ((D,) * 20, MOST),
    ],
)
def test_strength(verdicts: tuple[Reaction, ...], strong: float) -> None:
    """A factor for each, within bounds."""
    assert strength(judged(*verdicts), 0.0) == pytest.approx(strong)


@pytest.mark.parametrize(
    ("wanted", "strong"), [("fewer", 1.5**2 * 0.8), ("normal", 1.5 * 0.8), ("more", 1.5**0.5 * 0.8)]
)
def test_a_dismissal_counts_as_the_user_wants(wanted: str, strong: float) -> None:
    """Twice or half as much; what was taken counts the same."""
    assert strength(judged(D, A), 0.0, wanted) == pytest.approx(max(1.0, strong))
    assert (strength(judged(D), 0.0, wanted) < NEAR_ONE) == (wanted == "more")


def test_it_fades() -> None:
    """After ten minutes a dismissal counts a third, after an hour nothing."""
    now, later, much_later = (strength(judged(D, D, D), at) for at in (0.0, 600.0, 3600.0))
    assert now > later > much_later
    assert later == pytest.approx(1.5 ** (3 / 2.718), rel=0.01)
    assert much_later < 1.01


@pytest.mark.parametrize(
    ("usual", "strong", "wait"),
    [(0, 1, 0), (90, 1, 90), (0, 2, 20), (90, 2, 200), (0, 1e9, MOST_WAIT_MS)],
)
def test_wait(usual: float, strong: float, wait: float) -> None:
    """Longer as more were dismissed, and as usual where none was."""
    assert wait_ms(usual, strong) == wait


def test_the_user_is_told_why() -> None:
    """In numbers of what happened."""
    assert describe_refused({D: 3}) == "3 were dismissed"
    assert describe_refused({IGN: 1, D: 1}) == "1 was dismissed and 1 was typed against"
    assert describe_refused({}) == ""
