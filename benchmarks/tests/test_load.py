"""Simulated users in a load test: each has a folder and a pace that no other has."""

from __future__ import annotations

from benchmarks.load import person
from fim_lsp.documents import apply_edits, open_document
from fim_lsp.events import Changed, Opened


def test_users_share_no_folder_and_no_pace() -> None:
    """Two users' files have different names; the pace is as requested."""
    first, second = person(0, 20, 1.0), person(1, 20, 1.0)
    assert not {step.uri for step in first.steps} & {step.uri for step in second.steps}
    assert [step.wait_ms for step in first.steps] != [step.wait_ms for step in second.steps]
    slow = person(0, 20, 4.0)
    assert [step.wait_ms for step in slow.steps] == [4 * step.wait_ms for step in first.steps]


def test_edits_of_a_user_fit_the_files() -> None:
    """Every edit of a trace lies within the text as the trace left it."""
    documents = {}
    for event in (event for step in person(5, 40, 1.0).steps for event in step.events):
        if isinstance(event, Opened):
            documents[event.uri] = open_document(*event)
        elif isinstance(event, Changed):
            before = documents[event.uri]
            first = event.edits[0]
            assert not isinstance(first, str)
            assert before.clamp(first.start) == first.start
            documents[event.uri] = apply_edits(before, event.edits, event.version)
    assert len(documents) == 2
