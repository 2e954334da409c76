"""The benchmarks' traces: the events alone tell the texts and where every cursor stands."""

from __future__ import annotations

import pytest

from benchmarks.traces import TRACES, TYPISTS, load
from fim_lsp.documents import Document, apply_edits, open_document
from fim_lsp.events import Changed, Opened

LONG = 300  # requests in each trace


@pytest.mark.parametrize("name", [*TRACES, f"typist{TYPISTS - 1}", "made_files"])
def test_a_trace_is_complete(name: str) -> None:
    """Every edit lies in the text as the trace left it, and so does the cursor of each request."""
    trace = load(name)
    assert trace.n_asks >= LONG or name not in TRACES
    assert trace.cut(20).n_asks == 20
    documents: dict[str, Document] = {}
    for step in trace.steps:
        for event in step.events:
            if isinstance(event, Opened):
                documents[event.uri] = open_document(*event)
            elif isinstance(event, Changed):
                before = documents[event.uri]
                ends = [end for edit in event.edits for end in (edit.start, edit.end)]
                assert [before.clamp(end) for end in ends[:2]] == ends[:2]
                documents[event.uri] = apply_edits(before, event.edits, event.version)
        assert not step.asks or documents[step.uri].clamp(step.position) == step.position
    assert len(documents) == (2 if name in ("files", "mix") or name not in TRACES else 1)
