"""
What of the state is compared between two runs: a value for each field that says "=" in
`fields.toml`, under a name that says of which document it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fim_lsp.documents import unix
from fim_lsp.prompt import window
from fim_lsp.session.state.model_view import Verdict
from fim_lsp.session.state.open_document import OpenDocument
from tests.convergence.server import N_CTX, ids_of
from tests.convergence.steps import Steps

TABLE: dict[str, dict[str, str] | str] = tomllib.loads(
    Path(__file__).with_name("fields.toml").read_text("utf-8")
)
NEAR = 24  # tokens that a request at the cursor may still have to evaluate


def of_document(play: Steps, doc: OpenDocument) -> dict[str, object]:
    """Return what is compared of one document, by field."""
    memory = doc.workspace.memory
    usable = doc.view.verdict is Verdict.USABLE
    uri = doc.uri
    last = doc.requests.last_answer
    play.session._framing._fit(doc)  # as for the server of now
    values: dict[str, object] = {
        "OpenDocument.document": unix("".join(doc.document.lines)),
        "ModelView.verdict": doc.view.verdict.value,
        "refused": "which was private" in doc.view.why_private,
        "OpenDocument.cursor": doc.cursor,
        "Requests.last_answer": play.newest.get(uri) is not None and last is not None,
        "OpenDocument.deleted": doc.deleted,
        "answer": last
        and ([s.text for s in last.answer.suggestions] or last.answer.end.outcome.value),
        "Requests.used": doc.requests.used > 0,
        "Workspace._unjudged": uri in doc.workspace._unjudged,
        "Memory._sources": usable == memory.knows(uri),
        # The members depend on where the user rested; what they show is as the file has it.
        "Memory.ring": [
            piece.text
            for chunk in memory.ring.chunks
            for piece in chunk.pieces
            if piece.uri == uri and piece.fresh and not _stands(piece.text, doc)
        ],
    }
    if play.name(uri) not in play.were_private:  # what was done meanwhile is not remembered
        values |= {
            "Memory._yanks": [piece.text for piece in memory._yanks if piece.uri == uri],
            "EditLog._edits": [
                (edit.line, edit.before, edit.after)
                for edit in doc.workspace.edits.log._edits
                if edit.uri == uri
            ],
        }
    if play.server.is_other or play.machine.is_sick:  # how often one that fails is asked is time's
        return values
    is_usual = play.server.state.n_ctx == N_CTX  # a small one limits what was asked for in it
    values["FrameLadder.max_chunks"] = is_usual and doc.view.ladder.max_chunks
    values["FrameLadder.scale"] = is_usual and doc.view.ladder.scale
    is_here = play.name(uri) == play.where and doc.workspace.root
    if doc.place and is_here and play.session.connection.is_ready:
        values |= _frames(play, doc)
    return values


def _stands(text: str, doc: OpenDocument) -> bool:
    return unix(text).strip("\n") in unix("".join(doc.document.lines))


def _frames(play: Steps, doc: OpenDocument) -> dict[str, object]:
    """Return whether the next request finds a frame, and what of it is evaluated."""
    place = doc.place
    budget = play.session._framing._budget(doc, play.session.connection.state)
    assert place is not None
    end = place._replace(position=place.document.end_of(place.position.line))

    def is_near(at: Any) -> bool:
        prompts = [frame.prompt(at) for frame in doc.view.ladder.usable(at, budget)]
        return any(play.server.lacks(ids_of(prompt)) <= NEAR for prompt in prompts)

    fits = [window.fit(frame.window, *place, budget) for frame in doc.view.ladder.at_hand]
    values: dict[str, object] = {
        "FrameLadder.current": window.Fit.FITS in fits,
        "Evaluated.cursor": is_near(place),
    }
    if play.is_moved:  # a request there takes the slot
        values["Evaluated.line_end"] = is_near(end)
    return values


def of_session(play: Steps) -> dict[str, object]:
    """Return what is compared of a session, by field."""
    session = play.session
    config = play.session.config
    excludes = {*config.privacy.exclude}
    return {
        "OpenDocuments.by_uri": sorted(map(play.name, session.documents)),
        "OpenDocuments.last_uri": play.name(session.last_uri),
        "Workspaces.roots": [*map(play.name, session._workspaces.roots)],
        "Connection.config": (config.completion, config.ring, config.backend, sorted(excludes)),
        "Connection._reported": play.machine.is_gone or play.machine.is_sick or play.shown.value,
        "Quietness._until": session._quiet.is_snoozed,
    }


def project(play: Steps) -> dict[str, object]:
    """Return what must not depend on time, each value under the name of its field."""
    values = of_session(play)
    for doc in play.session._open:
        name = play.name(doc.uri)
        values |= {f"{name} {field}": value for field, value in of_document(play, doc).items()}
    return values


def list_fields(play: Steps) -> Iterator[str]:
    """Yield each field of the state, behind its class; not what is itself a part."""
    left: list[Any] = [*vars(play.session).values(), play.editor.sources]
    known = set[type]()
    while left:
        part = left.pop()
        if type(part) in known or type(part).__name__ not in LINES:
            continue
        known.add(type(part))
        owner = type(part).__name__
        for field in getattr(part, "__slots__", None) or vars(part):
            value = getattr(part, field)
            items = [*value.values()] if isinstance(value, dict) else [value]
            left += filter(_is_part, items)
            if not (_is_part(value) or callable(value)):
                yield f"{owner}.{field}"


def _is_part(value: Any) -> bool:
    return type(value).__name__ in TABLE and type(value).__module__.startswith("fim_lsp")


LINES = {owner: lines for owner, lines in TABLE.items() if isinstance(lines, dict)}
REASONS = {f"{owner}.{name}": why for owner in LINES for name, why in LINES[owner].items()}
COMPARED = {name for name, why in REASONS.items() if why == "="}
