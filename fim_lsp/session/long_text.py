"""
A text at a place that may outgrow the model's context (`fim.continueLong`), filtered as a suggestion is.

The prompt is evaluated in steps, and what is half-typed before the place is forced back, as for a suggestion.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from fim_lsp.documents import Document, Position
from fim_lsp.session.connection import Connection
from fim_lsp.session.framing import Framing
from fim_lsp.session.generation import step_tokens
from fim_lsp.session.open_document import OpenDocument
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.settings.config import Config
from fim_lsp.suggest.cursor import cursor_at
from fim_lsp.suggest.long_text import Writing
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendTimeout,
    Prompt,
    PromptTooLong,
    Request,
    Sink,
    Stop,
    extend_prompt,
)

FIRST_TOKENS = 8  # in which a half-typed word is over
LEAST_STEP = 8  # tokens to evaluate at a time
MOST_HALVINGS = 4  # of a step that took too long


async def continue_long(  # noqa: PLR0913 (the parts of the session)
    doc: OpenDocument,
    document: Document,
    position: Position,
    go_on: Callable[[str], bool],
    *,
    connection: Connection,
    scheduler: Scheduler,
    framing: Framing,
) -> tuple[str, str]:
    """
    Return the text to insert at *position*, and why it ended too early or is empty, "" where the
    model ended it.

    *go_on* is given the text so far and says whether to go on. While text is written no other request is served.
    """
    backend, config = connection.backend, connection.config
    cursor = cursor_at(document, position, doc.file.path, by_hand=True)
    written = Writing(cursor, config.completion.long_tokens)
    n_slow = 0
    while True:
        step = max(LEAST_STEP, step_tokens(connection.state) >> n_slow)
        prompt = framing.next_prompt(doc, document, position)
        assert prompt is not None
        try:
            while go_on("") and await scheduler.foreground(
                partial(evaluate, backend, prompt, step)
            ):
                pass
            if go_on(""):
                await scheduler.foreground(partial(_write, backend, prompt, config, written, go_on))
            return written.finish()
        except PromptTooLong as error:
            if not framing.shrunk(doc, doc.frame, error):
                return written.finish(str(error))
        except BackendError as error:
            if isinstance(error, BackendTimeout) and not written.text and n_slow < MOST_HALVINGS:
                n_slow += 1  # a step was too long for this machine: nothing was measured yet
                continue
            return written.finish(str(error))


async def evaluate(backend: Backend, prompt: Prompt, step: int) -> bool:
    """Evaluate *step* tokens of *prompt*; False where no more are left."""
    model = await backend.connect()
    measure = await model.measure(prompt)
    if measure.total - measure.cached <= step:
        return False
    await model.warm(prompt, step)
    return True


async def _write(
    backend: Backend,
    prompt: Prompt,
    config: Config,
    written: Writing,
    go_on: Callable[[str], bool],
) -> None:
    """Have the model write behind *prompt* until it ends or goes wrong."""
    model = await backend.connect()
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
