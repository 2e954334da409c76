"""A look at what the model is shown at a cursor, which delays nothing that is evaluated ahead."""

from __future__ import annotations

import contextlib

from fim_lsp.prompt.report import PromptReport, describe
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, PermittedModel, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from server_bridge.protocol import BackendError, Measure, Prompt


async def look_at_prompt(doc: OpenDocument, lane: Lane, framing: Framing) -> PromptReport:
    """Return the prompt at the cursor in *doc*, measured where the backend is ready."""
    if (place := doc.place) is None:
        return PromptReport("nothing yet, no suggestion was asked for here")
    prompt = framing.next_prompt(doc, *place)
    measure: Measure | None = None

    async def look(model: PermittedModel) -> tuple[Prompt, Measure]:
        frame = await framing.best(doc, *place, model)
        shown = framing.prompt(frame, *place)
        return shown, await model.measure(shown)

    if lane.connection.is_ready:
        with contextlib.suppress(BackendError, Withdrawn):
            prompt, measure = await lane.look(doc.permit(place.document), look)
    return describe(prompt, measure, doc.workspace.memory.ring.chunks)
