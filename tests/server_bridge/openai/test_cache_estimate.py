"""What a server should hold, judged by what it was sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from server_bridge.openai.cache_estimate import N_TEXTS, CacheEstimate
from server_bridge.openai.cuts import cut
from server_bridge.speeds import Speeds


@given(st.text("ab\n", min_size=2), st.data())
def test_a_cut_goes_on_and_prefers_whole_lines(text: str, data: st.DataObject) -> None:
    """Each cut is longer than what was there, never longer than asked, and ends a line if it can."""
    low = data.draw(st.integers(0, len(text) - 1))
    high = data.draw(st.integers(low + 1, len(text) + 3))
    part = cut(text, low, high)
    assert text.startswith(part)
    assert low < len(part) <= high
    assert part.endswith("\n") or "\n" not in text[low:high]


def test_texts_sent_are_held_until_there_are_too_many() -> None:
    """The newest few are remembered, and one that went on stands for its beginnings."""
    estimate = CacheEstimate(Speeds())
    for n in range(N_TEXTS + 1):
        estimate.learn(f"{n} file", 3, None)
        estimate.learn(f"{n} file and more", 5, None)
    assert estimate.count_held("0 file") == 0
    assert all(estimate.count_held(f"{n} file and") == 10 for n in range(1, N_TEXTS + 1))


def test_a_server_that_reuses_nothing_is_noticed() -> None:
    """A word about the cache counts only where there was something to reuse, a block of 128 tokens; silence is no word."""
    estimate = CacheEstimate(Speeds())
    text = "x = 1\n" * 300
    for _ in range(2):
        estimate.learn("y = 1\n" * 60, 120, 0)
        assert estimate.keeps
    estimate.learn(text, 600, 0)
    assert estimate.keeps
    estimate.learn(text, 600, None)
    assert estimate.keeps
    estimate.learn(text, 600, 0)
    assert not estimate.keeps
    estimate.learn(text, 600, 599)
    assert estimate.keeps


def test_a_cache_of_blocks_reuses_whole_ones() -> None:
    """The size of a block is what all counts of reused tokens are multiples of; it is not told."""
    estimate = CacheEstimate(Speeds())
    estimate.learn("a" * 3000, 1000, 960)
    assert estimate.count_reused(970) == 970  # one count says too little
    for n_cached in (992, 64, 0, 128):
        estimate.learn("a" * 3000, 1000, n_cached)
    assert [estimate.count_reused(n) for n in (31, 32, 970)] == [0, 32, 960]
    estimate.learn("a" * 3000, 1000, 961)
    assert estimate.count_reused(970) == 970  # it was none of blocks


def test_an_answer_may_be_held_with_what_made_it_stop() -> None:
    """mlx_lm.server closes the connection where a prompt is exactly what it holds: text, and stop."""
    estimate = CacheEstimate(Speeds())
    estimate.note_whole("x = 1", ("\n", ";"))
    assert all(map(estimate.is_whole, ("x = 1", "x = 1\n", "x = 1;")))
    assert not estimate.is_whole("x = 1\n\n")
