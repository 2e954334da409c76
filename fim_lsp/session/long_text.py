"""A text at the cursor that may outgrow the model's context (`fim.continueLong`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from fim_lsp.documents import Document
from fim_lsp.framing import Framing
from fim_lsp.link import Link
from fim_lsp.scheduler import Scheduler
from fim_lsp.view import View
from server_bridge.protocol import BackendError, Endless, PromptTooLong, Sink


async def run_on(
    view: View,
    document: Document,
    hear: Callable[[str], bool],
    *,
    link: Link,
    lane: Scheduler,
    framing: Framing,
) -> tuple[str, str]:
    """
    What the model writes at the cursor, and why it ended too early, "" if it did not.

    *hear* is given the text so far and says whether to go on. Nobody else is served meanwhile.
    """
    backend, terms, text = link.backend, link.config.completion, ""

    async def write() -> None:
        nonlocal text
        prompt = framing.next_prompt(view, document)
        if prompt is None or not isinstance(backend, Endless):
            return
        pieces = backend.run_on(prompt, terms.long_tokens, Sink(terms.long_keeps))
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                text += piece
                if not hear(text):
                    return

    while True:
        try:
            await lane.foreground(write)
            return text, ""
        except PromptTooLong as error:
            if not framing.shrunk(view, view.frame, error):
                return text, str(error)
        except BackendError as error:
            return text, str(error)
