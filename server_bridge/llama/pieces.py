"""
The events of a streamed `/completion` into replies, a piece of text each.

An event's text may wait for a later one (see `answers.Event`); so its tokens do, and a reply has both.
"""

from __future__ import annotations

from server_bridge.llama import completion
from server_bridge.llama.answers import Entry, Event
from server_bridge.llama.mirror import Outlook
from server_bridge.llama.tokenizer import Tokenizer
from server_bridge.protocol import Reply, Stop, Timings, Token


class Pieces:
    """
    One answer. *middle* are the tokens of the prompt's middle, *n_prompt* those of all of it.

    *drafted*: the server speculates.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        middle: tuple[Token, ...],
        n_prompt: int,
        n_ctx: int,
        *,
        drafted: bool,
    ) -> None:
        self._tokenizer = tokenizer
        self._middle = middle
        self._n_prompt = n_prompt
        self._n_ctx = n_ctx
        self._drafted = drafted
        self._ids: list[int] = []  # of which the text has not come
        self._entries: list[Entry] = []
        self._n_made = 0
        self._cost: Timings | None = None

    async def reply(self, event: Event, outlook: Outlook | None) -> Reply | None:
        """What *event* adds; none for one without text that does not end the answer."""
        self._ids += event.tokens
        self._entries += event.completion_probabilities
        return await self._reply(event, outlook) if event.content or event.stop else None

    async def _reply(self, event: Event, outlook: Outlook | None) -> Reply:
        stop = self._stop(event)
        text = completion.text(event.content, event.stop_type)
        numbers = self._ids[:-1] if stop is Stop.END else self._ids
        if self._n_made + len(self._ids) < event.tokens_predicted:
            tokens = await self._tokenizer.run(text)  # some ids were not told
        else:
            spelled = await self._tokenizer.spelled(numbers, self._entries, text)
            tokens = completion.rated(spelled, self._entries, drafted=self._drafted)
        reply = Reply(text, tokens, self._middle, stop, self._timings(event, outlook))
        self._middle += tokens
        self._n_made = event.tokens_predicted
        self._ids, self._entries = [], []
        return reply

    def _stop(self, event: Event) -> Stop:
        if not event.stop:
            return Stop.LIMIT
        is_full = event.truncated or self._n_prompt + event.tokens_predicted >= self._n_ctx
        return completion.stop(event.stop_type, is_full=is_full)

    def _timings(self, event: Event, outlook: Outlook | None) -> Timings:
        if event.timings is None:
            return Timings()
        before = self._cost
        expected = outlook.reused if outlook and outlook.sure else None
        self._cost = completion.timings(event.timings, expected)
        return self._cost.since(before) if before else self._cost
