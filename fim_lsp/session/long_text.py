"""A text at the cursor that may outgrow the model's context (`fim.continueLong`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from fim_lsp.documents import Document
from fim_lsp.session.connection import Connection
from fim_lsp.session.document_state import DocumentState
from fim_lsp.session.framing import Framing
from fim_lsp.session.scheduler import Scheduler
from server_bridge.protocol import BackendError, PromptTooLong, Sink


async def continue_long(
    doc_state: DocumentState,
    document: Document,
    go_on: Callable[[str], bool],
    *,
    connection: Connection,
    scheduler: Scheduler,
    framing: Framing,
) -> tuple[str, str]:
    """
    What the model writes at the cursor, and why it ended too early, "" if it did not.

    *go_on* is given the text so far and says whether to go on. No other request is served meanwhile.
    """
    backend, terms, text = connection.backend, connection.config.completion, ""

    async def write() -> None:
        nonlocal text
        prompt = framing.next_prompt(doc_state, document)
        if prompt is None:
            return
        pieces = backend.continue_long(prompt, terms.long_tokens, Sink(terms.long_keeps))
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                text += piece
                if not go_on(text):
                    return

    while True:
        try:
            await scheduler.foreground(write)
            return text, ""
        except PromptTooLong as error:
            if not framing.shrunk(doc_state, doc_state.frame, error):
                return text, str(error)
        except BackendError as error:
            return text, str(error)
