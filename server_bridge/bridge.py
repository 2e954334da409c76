"""
Settings into a `Backend`: the one place that knows all kinds of them.

`auto` prefers what the user named, then a llama.cpp server that runs on this machine already, then
the embedded one. It is itself a `Backend`: when the chosen one goes away, `connect` chooses again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Literal

from server_bridge.embedded import Embedded, EmbeddedSettings
from server_bridge.http import Http
from server_bridge.llama import LlamaServer
from server_bridge.openai import OpenAiServer
from server_bridge.protocol import (
    Backend,
    BackendError,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    Saves,
    State,
    Warmed,
)

log = logging.getLogger(__name__)

# llama.vim's port and llama.cpp's FIM presets, llama-server's default, Ramalama's and llama-swap's
USUAL_URLS = ("http://127.0.0.1:8012", "http://127.0.0.1:8080", "http://127.0.0.1:9931")


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """
    Which backend, and how to reach or run it.

    *model* is a GGUF file for the embedded engine ("" for the bundled one). *api_key* belongs to
    *url* and is sent nowhere else. *usual_urls* are asked when there is no *url* or nobody there.
    """

    kind: Literal["auto", "llama-server", "openai", "embedded"] = "auto"
    url: str = ""
    model: str = ""
    api_key: str | None = field(default=None, repr=False)
    n_threads: int = 1  # see EmbeddedSettings
    template: str = ""
    context_tokens: int = 0
    slots_dir: str = ""
    log: str = ""
    usual_urls: tuple[str, ...] = USUAL_URLS


def open_backend(settings: BackendSettings) -> Backend:
    """
    The backend that *settings* ask for. Nothing is started or sent before `connect`.

    Raises BackendUnusable where the settings cannot work.
    """
    if settings.kind == "auto":
        return Auto(settings)
    if settings.kind == "embedded":
        return _embedded(settings)
    if settings.kind == "llama-server":
        if not settings.url:
            raise BackendUnusable(
                "fim.backend.kind is llama-server, but fim.backend.url is empty: "
                f"set it, for example to {USUAL_URLS[0]}"
            )
        return _named(settings)
    if not settings.url:
        raise BackendUnusable(
            "fim.backend.kind is openai, but fim.backend.url is empty: set it to the server's address"
        )
    http = Http(settings.url.removesuffix("/").removesuffix("/v1"), settings.api_key or "")
    return OpenAiServer(http, settings.model, settings.template, settings.context_tokens)


class Auto:
    """The best backend there is now; see `protocol.Backend`."""

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings
        self._chosen: Backend | None = None
        self._connecting = asyncio.Lock()

    @property
    def state(self) -> State:
        """What is known now."""
        return self._chosen.state if self._chosen else State(Health.UNKNOWN, "auto")

    async def connect(self) -> State:
        """Choose a backend if there is none, or if the chosen one went away."""
        async with self._connecting:
            if self._chosen is None or not await self._still_there(self._chosen):
                await self._choose()
            assert self._chosen is not None
            return await self._chosen.connect()

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Backend`."""
        return await (await self._ready()).measure(prompt)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Backend`."""
        return await (await self._ready()).warm(prompt, step)

    async def complete(self, request: Request) -> Reply:
        """See `Backend`."""
        return await (await self._ready()).complete(request)

    async def save(self, prompt: Prompt) -> int:
        """See `Saves`."""
        return await self._chosen.save(prompt) if isinstance(self._chosen, Saves) else 0

    async def restore(self, prompt: Prompt) -> int:
        """See `Saves`."""
        chosen = await self._ready()
        return await chosen.restore(prompt) if isinstance(chosen, Saves) else 0

    async def aclose(self) -> None:
        """Let go of the chosen one."""
        if self._chosen is not None:
            await self._chosen.aclose()

    async def _ready(self) -> Backend:
        if self._chosen is None or self._chosen.state.health is not Health.READY:
            await self.connect()
        assert self._chosen is not None
        return self._chosen

    @staticmethod
    async def _still_there(chosen: Backend) -> bool:
        """Whether the chosen one is worth waiting for; the embedded one comes back by itself."""
        try:
            await chosen.connect()
        except BackendUnavailable as error:
            if isinstance(chosen, LlamaServer):
                log.info("backend.gone url=%s reason=%s", chosen.state.url, error)
                await chosen.aclose()
                return False
        return True

    async def _choose(self) -> None:
        if self._settings.url:
            # Named by the user: if it is there but cannot do the work, `connect` says why.
            self._chosen = _named(self._settings)
            if await self._still_there(self._chosen):
                return
        for url in self._settings.usual_urls:
            self._chosen = LlamaServer(url, shelf=self._settings.slots_dir)
            try:
                await self._chosen.connect()
                return
            except BackendError as error:
                log.debug("backend.passed_over url=%s reason=%s", url, error)
                await self._chosen.aclose()
        self._chosen = _embedded(self._settings)


def _named(settings: BackendSettings) -> LlamaServer:
    return LlamaServer(settings.url, settings.api_key or "", shelf=settings.slots_dir)


def _embedded(settings: BackendSettings) -> Embedded:
    plain = EmbeddedSettings(
        n_threads=settings.n_threads, slots_dir=settings.slots_dir, log=settings.log
    )
    return Embedded(replace(plain, model=settings.model) if settings.model else plain)
