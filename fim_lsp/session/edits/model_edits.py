"""
The model for next edits, if the settings name one: finished edits and a document into its proposal.

State: the model's server. The beginning of a workspace's prompts is kept in its `EditHistory`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from fim_lsp.display import sanitize
from fim_lsp.documents import unix, well_formed
from fim_lsp.next_edit import window
from fim_lsp.next_edit.edits import text_of
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.formats import ANSWER_TOKENS, format_of, prompt_of, proposal_of
from fim_lsp.session.state.edit_history import EditHistory, Question
from fim_lsp.settings.config import Config
from fim_lsp.tasks import Tasks
from server_bridge.protocol import BackendError, TextModel

log = logging.getLogger(__name__)


class ModelEdits:
    """
    The model for next edits. *open_model* makes what the settings name, None for nothing, without
    waiting.
    """

    def __init__(self, config: Config, open_model: Callable[[Config], TextModel | None]) -> None:
        self._open_model = open_model
        self._settings = config.next_edit
        self._model = self._open(config)
        self._closing = Tasks()

    @property
    def name(self) -> str:
        """The model's."""
        return self._settings.server.model

    def configure(self, config: Config) -> None:
        """Go on with *config*."""
        if config.next_edit != self._settings:
            if self._model is not None:
                self._closing.start(self._model.aclose(), "close model")
            self._model = self._open(config)
            self._settings = config.next_edit

    async def propose(
        self, history: EditHistory, question: Question, names: Mapping[str, str]
    ) -> Proposal | None:
        """
        Return the model's proposal for the lines around the newest edit.

        *history* keeps what the prompts begin with; *names* are the documents' paths by URI.
        """
        form = format_of(self._settings.server.model)
        if self._model is None or form is None:
            return None
        text = text_of(question.documents[0])

        def compose() -> tuple[window.ShownPart, window.Ask | None]:  # secrets take milliseconds
            begin = window.choose_shown(question.edits, text.lines, history.prompt)
            return begin, window.ask(question.edits, text.lines, names, begin)

        begin, ask = await asyncio.to_thread(compose)
        history.keep_prompt(question, begin)
        prompt = prompt_of(form, ask) if ask else None
        if ask is None or prompt is None:
            return None
        try:
            answer = await self._model.continue_text(well_formed(prompt), ANSWER_TOKENS, form.stops)
        except BackendError as error:
            log.info("no next edit from %s: %s", self.name, trouble(error))
            return None
        if answer is None:
            return None
        proposal = await asyncio.to_thread(proposal_of, form, ask, unix(answer), text)
        return None if proposal is None or proposal.is_refused(question.refused) else proposal

    def _open(self, config: Config) -> TextModel | None:
        model = self._open_model(config)
        name = config.next_edit.server.model
        if model is not None and format_of(name) is None:
            log.warning(
                "fim.nextEdit.server.model is %s: name zeta-2, zeta-2.1 or sweep", sanitize(name)
            )
        return model

    async def aclose(self) -> None:
        """Let the server go."""
        if self._model is not None:
            await self._model.aclose()
        await self._closing.aclose(None)


def trouble(error: BackendError) -> str:
    """
    Return the message of *error*, with the names of this section's settings in place of those of
    `fim.backend`.
    """
    return str(error).replace("fim.backend.", "fim.nextEdit.server.")
