"""Candidates into suggestions: their order, and what is offered once."""

from __future__ import annotations

import pytest

from fim_lsp.session.session import Session
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import request_at
from tests.typist import QUICK, Typist


@pytest.mark.parametrize(
    ("texts", "offered"),
    [
        (["dth", "de", "dth  "], ["dth", "de"]),  # equal behind the filters: the greedy one counts
        (["dth", "dth", "de"], ["dth", "de"]),
        (["", "de"], ["de"]),
    ],
)
async def test_the_greedy_candidate_stays_first(
    session: Session, texts: list[str], offered: list[str]
) -> None:
    """Alternatives follow in the order they came, none twice."""
    typist = Typist(session, "def area(width):\n    return wi")
    request = request_at(
        typist.document, typist.cursor, "a.py", QUICK, session.connection.state, invoked=True
    )
    doc = session._open.by_uri[typist.uri]
    candidates = [Candidate(text) for text in texts]
    answer = session._completer._polish(request, doc, Outcome.BACKEND, candidates)
    assert [suggestion.text for suggestion in answer.suggestions] == offered
