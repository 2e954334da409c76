"""
A text at a place that may outgrow the model's context (`fim.continueLong`), filtered as a suggestion is.

The prompt is evaluated in steps, and what is half-typed before the place is forced back, as for a suggestion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from fim_lsp.documents import Document, Position
from fim_lsp.session.framing import Framing
from fim_lsp.session.lane import Lane, PermittedModel, Withdrawn
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.settings.config import Config
from fim_lsp.suggest.cursor import cursor_at
from fim_lsp.suggest.long_text import Writing
from server_bridge.protocol import (
    BackendError,
    Prompt,
    PromptTooLong,
    Request,
    Sink,
    Stop,
    extend_prompt,
)

FIRST_TOKENS = 8  # in which a half-typed word is over


async def continue_long(  # noqa: PLR0913 (the parts of the session)
    doc: OpenDocument,
    document: Document,
    position: Position,
    go_on: Callable[[str], bool],
    *,
    config: Config,
    lane: Lane,
    framing: Framing,
) -> tuple[str, str]:
    """
    Return the text to insert at *position*, and why it ended too early or is empty, "" where the
    model ended it.

    *go_on* is given the text so far and says whether to go on. While text is written no other request is served.
    """
    cursor = cursor_at(document, position, doc.file.path, by_hand=True)
    written = Writing(cursor, config.completion.long_tokens)
    permit = doc.permit(document, lambda: "" if go_on(written.text) else "it was cancelled")
    while True:
        prompt = framing.next_prompt(doc, document, position)
        assert prompt is not None
        try:
            await lane.evaluate(permit, prompt)
            await lane.run(permit, partial(_write, prompt, config, written, go_on))
            return written.finish()
        except PromptTooLong as error:
            if not framing.shrunk(doc, doc.frame, error):
                return written.finish(str(error))
        except (Withdrawn, BackendError) as error:
            return written.finish(str(error))


async def _write(
    prompt: Prompt,
    config: Config,
    written: Writing,
    go_on: Callable[[str], bool],
    model: PermittedModel,
) -> None:
    """Have the model write behind *prompt* until it ends or goes wrong."""
    if prompt.forced:
        forced, said = prompt.forced, ""
        replies = model.stream(Request(prompt, FIRST_TOKENS))
        async with contextlib.aclosing(replies):
            async for reply in replies:
                said, prompt, stop = said + reply.text, extend_prompt(prompt, reply), reply.stop
        written.take(said.removeprefix(forced))
        if stop is not Stop.LIMIT or not said.startswith(forced):
            return
    terms = config.completion
    pieces = model.continue_long(prompt, terms.long_tokens, Sink(terms.long_keeps))
    async with contextlib.aclosing(pieces):
        async for piece in pieces:
            written.take(piece)
            written.is_cut = not go_on(written.text)
            if written.is_cut or written.goes_wrong:
                return
