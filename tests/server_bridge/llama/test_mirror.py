"""The rules by which llama.cpp reuses a prompt; that they are its rules, test_contract shows."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.fim.layout import WIDTH, count_shared
from server_bridge.llama.checkpoints import Kind, ModelMemory
from server_bridge.llama.contents import CELL_BYTES, Content, save
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.slots import ExclusiveSlots

small = st.lists(st.integers(0, 2), max_size=40)


def packed(*numbers: int) -> bytes:
    """Ids as the mirror wants them."""
    return array("i", numbers).tobytes()


def run(mirror: Mirror, slot: int, *numbers: int) -> int | None:
    """Expect, then settle a request that generated nothing."""
    prompt = packed(*numbers)
    expected = mirror.expect_reused(prompt)
    mirror.settle(slot, prompt, prompt)
    return expected


@given(small, small)
def test_shared_is_the_common_beginning(a: list[int], b: list[int]) -> None:
    """It counts ids from the start up to the first that differs."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert count_shared(packed(*a), packed(*b)) == count_shared(packed(*b), packed(*a)) == n


A = [*range(50)]
B = [*range(100, 150)]
C = [*range(200, 250)]
RUNS: dict[str, tuple[int, list[tuple[int, list[int], int | None]]]] = {  # slots; prompts, reused
    "the last token is always evaluated": (
        1, [(0, [1, 2, 3], 0), (0, [1, 2, 3], 2), (0, [1, 2, 3, 4, 5], 3), (0, [1, 2, 9], 2)],
    ),
    "an unused slot has nothing": (2, [(1, A, 0), (0, B, 0), (1, [*A, 7], 50)]),
    "what a slot would lose is saved and comes back": (
        1, [(0, A, 0), (0, B, 0), (0, [*A, 7], 50), (0, [*B, 7], 50)],
    ),
    "an idle slot is saved before it is taken": (
        2, [(1, A, 0), (0, B, 0), (1, C, None), (0, [*A, 7], 50)],
    ),
    # What follows a long common beginning is not saved: this is what one slot per file is for.
    "a slot that keeps half gives up the rest": (
        1, [(0, [*A[:40], 1, 1, 1], 0), (0, [*A[:40], 2, 2, 2], 40), (0, [*A[:40], 1, 1, 1], 40)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("n_slots", "runs"), RUNS.values(), ids=RUNS)
def test_what_is_reused(n_slots: int, runs: list[tuple[int, list[int], int | None]]) -> None:
    """Of each prompt, behind those before it."""
    mirror = Mirror(n_slots)
    for slot, numbers, n_reused in runs:
        n_expected = run(mirror, slot, *numbers)
        assert n_reused in (n_expected, None)


def test_after_a_failure_nothing_is_known() -> None:
    """A request that failed may have left anything."""
    mirror = Mirror(1)
    run(mirror, 0, 1, 2, 3)
    mirror.forget()
    assert mirror.outlook(packed(1, 2, 3)) is None


def test_clearing_brings_back_what_another_slot_holds() -> None:
    """A named slot with foreign content loads a copy of the best there is; an empty one loads nothing."""
    mirror = Mirror(2)
    run(mirror, 0, *range(50))
    prompt = packed(*range(40), 7)
    assert mirror.expect_reused(prompt, 1) == 0
    assert mirror.expect_cleared(prompt) == 40
    mirror.settle(1, packed(99), packed(99), named=True)
    assert mirror.expect_reused(prompt, 1) == 40
    mirror.settle(1, prompt, prompt, named=True)
    assert mirror.expect_reused(packed(*range(50), 7), 0) == 50


def test_copies_of_states_are_counted() -> None:
    """What clearing a slot copies besides keys and values, every state of every slot, may cost too much."""
    mirror = Mirror(2, memory=ModelMemory(Kind.RECURRENT, state_bytes=1000))
    long = packed(*range(100))
    other = packed(*range(40), *range(200, 220))
    mirror.settle(0, long, long)
    mirror.settle(1, other, other, named=True)
    assert mirror.state_bytes == 2 * (1 + 1) * 1000
    prompt = packed(*range(100), 7)
    assert mirror.expect_cleared(prompt) - mirror.expect_reused(prompt, 1) == 100
    for price, clears in ((60, True), (200, False)):
        slots = ExclusiveSlots(mirror, 2, lambda price=price: price)  # type: ignore[misc]
        slots.note_use("other", 0)
        slots.note_use("document", 1)
        assert slots.choose("document", prompt).clear == clears


def test_what_others_may_have_saved_is_not_foretold() -> None:
    """On a shared server a prompt that is looked for in the memory may find more than we know of."""
    mirror = Mirror(2, exclusive=False)
    run(mirror, 0, *range(50))
    assert mirror.outlook(packed(*range(50), 7), 0) == Outlook(50, loaded=False, cut=False)
    unlike = mirror.outlook(packed(*range(100, 150)), 0)
    assert not unlike.sure


def test_a_server_that_saves_nothing_is_found_out() -> None:
    """After three misses in a row nothing is expected from its memory any more."""
    mirror = Mirror(1)
    first = packed(*range(50))
    other = packed(*range(100, 150))
    mirror.settle(0, first, first)
    for n in range(3):
        mirror.settle(0, other, other)
        assert mirror.expect_reused(packed(*range(50), 7)) == (50 if n < 3 else 0)
        mirror.settle(0, first, first, n_reused=0)
    mirror.settle(0, other, other)
    assert not mirror.saves
    assert mirror.expect_reused(packed(*range(50), 7)) == 0


def document(n: int, n_more: int = 0) -> bytes:
    """A prompt of a hundred tokens that shares nothing with another's, and *n_more*."""
    return packed(*range(1000 * n, 1000 * n + 100), *range(n_more))


ENTRY = 100 * (1000 + CELL_BYTES)  # bytes of a document of a hundred tokens
ROOMS = {  # bytes for what is set aside; of so many documents, those that are once the slot is cleared
    "unknown": (None, 400, range(100, 400)),
    "for ten": (10 * ENTRY, 40, range(30, 40)),
    "for ten but a byte": (10 * ENTRY - 1, 40, range(31, 40)),
    "for one": (ENTRY, 40, range(39, 40)),
    "for less than one": (ENTRY - 1, 40, range(0)),
    "for many": (1000 * ENTRY, 350, range(350)),
}


@pytest.mark.parametrize(("room", "n", "kept"), ROOMS.values(), ids=ROOMS)
def test_what_is_set_aside_has_room(room: int | None, n: int, kept: range) -> None:
    """The oldest go, and what has none alone is not kept; a count stands in for a room that is not known."""
    mirror = Mirror(1, memory=ModelMemory(Kind.PLAIN, token_bytes=1000, aside_bytes=room))
    for each in range(n):
        mirror.settle(0, document(each), document(each), named=True)
    found = [each for each in range(n) if mirror.expect_cleared(document(each, 1)) == 100]
    assert found == [*kept]


@pytest.mark.parametrize(("n_entries", "reused"), [(2, 20), (3, 100)])
def test_room_is_made_before_it_is_looked_for(n_entries: int, reused: int) -> None:
    """What goes to make room for a slot's content cannot be loaded in its place."""
    memory = ModelMemory(Kind.PLAIN, token_bytes=1000, aside_bytes=n_entries * ENTRY + ENTRY // 2)
    mirror = Mirror(1, memory=memory)
    first = document(1)
    for each in (first, document(2), first[: 20 * WIDTH] + document(3)[: 80 * WIDTH]):
        mirror.settle(0, packed(1), packed(1), named=True)
        mirror.settle(0, each, each, named=True)
    assert mirror.outlook(document(1, 1), 0) == Outlook(
        reused, loaded=reused == 100, cut=reused == 20
    )


def test_states_count_for_what_is_set_aside() -> None:
    """A hybrid's prompts take their checkpoints along, and fewer have room."""
    for state_bytes, n_kept in ((0, 9), (ENTRY, 2)):
        memory = ModelMemory(
            Kind.RECURRENT, token_bytes=1000, aside_bytes=10 * ENTRY, state_bytes=state_bytes
        )
        mirror = Mirror(1, memory=memory)
        for each in range(20):
            mirror.settle(0, document(each), document(each), named=True)
        mirror.settle(0, packed(1), packed(1), named=True)
        found = [each for each in range(20) if mirror.expect_cleared(document(each, 1)) == 100]
        assert found == [*range(20 - n_kept, 20)]


def test_no_room_is_known_from_the_start() -> None:
    """With `--cache-ram 0` nothing is expected to be loaded, and nothing has to be missed first."""
    assert not Mirror(1, memory=ModelMemory(aside_bytes=0)).saves
    assert Mirror(1).saves


def test_what_is_missed_takes_the_older_along() -> None:
    """What was saved later is still there: the oldest is dropped first."""
    mirror = Mirror(1)
    for each in range(6):
        mirror.settle(0, document(each), document(each), named=True)
    mirror.settle(0, document(2, 1), document(2, 1), named=True, n_reused=0)
    found = [each for each in range(6) if mirror.expect_cleared(document(each, 2)) >= 100]
    assert found == [2, 3, 4, 5]


WINDOWS = [(99, 0, 99), (61, 0, 61), (60, 0, 60), (59, 0, 0), (59, 20, 59), (0, 0, 0)]


@pytest.mark.parametrize(("n_shared", "n_more", "n_reused"), WINDOWS)
@pytest.mark.parametrize("is_restored", [True, False])
def test_a_window_that_was_loaded_is_cut_back_by_itself_only(
    n_shared: int, n_more: int, n_reused: int, *, is_restored: bool
) -> None:
    """Never loaded, all is there: a window in use is of full size."""
    memory = ModelMemory(Kind.PLAIN, window=40, is_told=True)
    mirror = Mirror(1, memory=memory)
    first = packed(*range(100))
    other = packed(*range(500, 600))
    mirror.settle(0, first, first)
    changed = packed(*range(n_shared), *range(900, 910))
    assert mirror.expect_reused(changed, 0) == n_shared
    if is_restored:
        mirror.note_contents(0, first)
    else:
        mirror.settle(0, other, other)
        mirror.settle(0, packed(*range(100), 7), first)
    if n_more:  # a prompt from the start: all of it was evaluated
        mirror.settle(0, first, first, n_reused=0)
    assert mirror.expect_reused(changed, 0) == n_reused


def test_tokens_that_are_not_known_count() -> None:
    """Of a character of several only the last is told; how many a slot holds is."""
    mirror = Mirror(2)
    better = packed(*range(35), *range(700, 710))
    known = packed(*range(30), *range(800, 810))
    mirror.settle(1, known, known, n_behind=60)
    mirror.settle(0, better, better)
    mirror.settle(0, packed(9), packed(9))
    prompt = packed(*range(35), 7)
    # Of 100 tokens it keeps 30, so what is saved is looked at; of 40 it would have kept most.
    assert mirror.outlook(prompt, 1) == Outlook(35, loaded=True, cut=True)
    behind = mirror.outlook(known + packed(7), 1)
    assert behind is not None
    assert not behind.sure  # it may go on with what is not known


def test_what_has_an_unknown_end_is_no_beginning() -> None:
    """It is saved beside a prompt that only begins as it does, and counts with all it has."""
    memory = ModelMemory(Kind.PLAIN, token_bytes=1000, aside_bytes=2 * ENTRY)
    known = document(1)[:160]
    longer = document(1)
    kept = save(memory, save(memory, [], Content(known, n_behind=60)), Content(longer))
    assert [content.n for content in kept] == [100, 100]
    assert save(memory, kept, Content(longer[:200])) == kept
    assert save(memory, kept, Content(document(2))) == [kept[1], Content(document(2))]


def test_what_did_not_change_is_not_saved_twice() -> None:
    """An idle slot is saved with each request, also one whose end is not known."""
    content = Content(document(1), n_behind=3)
    assert save(ModelMemory(), [content], content) == [content]
