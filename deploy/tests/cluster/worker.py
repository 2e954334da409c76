"""A user at work on a cluster: a real session that types through a router, and what that costs the replicas."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

from benchmarks import metrics
from deploy.tests.vllm_server import MODEL, Running
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Health, State
from tests.real_code import LONG, read_lines
from tests.typist import QUICK, Typist

ABOVE = read_lines(LONG, 0, 120)
HANGS_S = 60.0  # an answer that takes so long never comes; its deadline is two seconds


class Worker:
    """State: a session at *url*, its typist, the bad news that reached the user, the text that should be there."""

    def __init__(self, url: str, header: str = "", model: str = MODEL) -> None:
        settings = BackendSettings(
            "openai", url, model, headers=((header, "{session}"),) if header else (),
            body=(("cache_salt", secrets.token_hex(16)),),
            context_tokens=4096,
        )  # fmt: skip
        self.session = Session(QUICK, lambda _: open_backend(settings))
        self.news: list[State] = []
        self.session.on_status = lambda status: self._hear(status.state)
        self.typist = Typist(self.session, ABOVE)
        self._text = ABOVE

    async def types(self, text: str) -> int:
        """Type it and ask after each key; how many suggestions there were."""
        n_shown = 0
        for key in text:
            self.typist.type(key)
            self._text += key
            found = await asyncio.wait_for(self.typist.ask(), HANGS_S)
            n_shown += bool(found)
            document = self.typist.document
            assert "".join(document.lines) == self._text
            for each in found:
                assert each.start <= self.typist.cursor <= each.end
                typed = document.between(each.start, self.typist.cursor)
                assert each.text.startswith(typed)
        return n_shown

    async def cost(self, text: str, replicas: Sequence[Running]) -> float:
        """Prompt tokens evaluated per key while it is typed, by the replicas' own count; not what was put off before."""
        urls = [replica.url for replica in replicas]
        await self.session.wait_idle()
        before = await metrics.total(urls)
        await self.types(text)
        await self.session.wait_idle()
        return (await metrics.total(urls) - before) / len(text)

    def _hear(self, state: State) -> None:
        late = "did not answer in time" in state.message  # two cores, and two replicas on them
        if state.health in (Health.DOWN, Health.UNUSABLE) and not late:
            self.news.append(state)
