"""People in a load test: each at work in a folder of his own, at his own pace."""

from __future__ import annotations

from benchmarks.load import person
from fim_lsp.documents import edited, opened
from fim_lsp.events import Changed, Opened


def test_people_share_no_folder_and_no_rhythm() -> None:
    """Two people's files have different names and begin differently for the model; the pace is as asked."""
    first, second = person(0, 20, 1.0), person(1, 20, 1.0)
    assert not {step.uri for step in first.steps} & {step.uri for step in second.steps}
    assert [step.wait_ms for step in first.steps] != [step.wait_ms for step in second.steps]
    slow = person(0, 20, 4.0)
    assert [step.wait_ms for step in slow.steps] == [4 * step.wait_ms for step in first.steps]


def test_what_people_type_fits_their_files() -> None:
    """Every edit of a trace lies within the text as the trace left it."""
    documents = {}
    for event in (event for step in person(5, 40, 1.0).steps for event in step.events):
        if isinstance(event, Opened):
            documents[event.uri] = opened(*event)
        elif isinstance(event, Changed):
            before = documents[event.uri]
            assert all(before.clamp(edit.start) == edit.start for edit in event.edits[:1])
            documents[event.uri] = edited(before, event.edits, event.version)
    assert len(documents) == 2
