"""
Settings into a `Backend`: the one place that knows all kinds of them.

`auto` prefers what the user named, then a llama.cpp server that runs on this machine already, then
the embedded one, and changes over when that is better or gone.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, replace
from typing import Literal

from server_bridge.embedded import Embedded, EmbeddedSettings
from server_bridge.endpoints import Endpoint, Endpoints
from server_bridge.http import PATIENCE_S, Http, Tags
from server_bridge.keys import Key
from server_bridge.llama import LlamaServer
from server_bridge.openai import OpenAiServer
from server_bridge.protocol import Backend, BackendUnusable

# An exchange may take so long where another server waits: both fit into a completion's deadline.
ATTEMPT_S = 1.2
# llama.vim's port and llama.cpp's FIM presets, llama-server's default, Ramalama's and llama-swap's
USUAL_URLS = ("http://127.0.0.1:8012", "http://127.0.0.1:8080", "http://127.0.0.1:9931")


# A router that is told so sends all our requests to one replica, where the ring is evaluated once for
# all documents. Drawn anew for each process, so that it tells nobody who we are or were.
SESSION = secrets.token_hex(16)
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """
    Which backend, and how to reach or run it; *endpoints*, if there are any, go before all that.

    *model* is one of a server's, or a GGUF file for the embedded engine ("" for the bundled one).
    *key* belongs to *url* and is sent nowhere else. *usual_urls* are asked when there is no *url* or
    nobody there. What *session_header*, *cache_salt* and *user* say goes to *url* only as well.
    """

    kind: Literal["auto", "llama-server", "openai", "embedded"] = "auto"
    url: str = ""
    model: str = ""
    key: Key = field(default_factory=Key)
    ca_file: str = ""
    n_threads: int = 1  # see EmbeddedSettings
    template: str = ""
    context_tokens: int = 0
    session_header: str = ""  # names the header that says `SESSION`
    cache_salt: str = field(default="", repr=False)
    user: str = ""
    slots_dir: str = ""
    log: str = ""
    usual_urls: tuple[str, ...] = USUAL_URLS
    languages: tuple[str, ...] = ()  # of an endpoint: what it is for, nothing for everything
    endpoints: tuple[BackendSettings, ...] = ()


def open_backend(settings: BackendSettings) -> Backend:
    """
    The backend that *settings* ask for. Nothing is started or sent before `connect`.

    Raises BackendUnusable where the settings cannot work.
    """
    if settings.endpoints:
        return Endpoints(_listed(settings.endpoints))
    if settings.kind == "auto":
        return Endpoints(_found(settings))
    return Endpoints([Endpoint(_one(settings))])


def _one(settings: BackendSettings, patience_s: float = PATIENCE_S) -> Backend:
    """The one backend of a kind that is no choice."""
    if settings.kind == "embedded":
        return _embedded(settings)
    if not settings.url:
        raise BackendUnusable(
            f"fim.backend.kind is {settings.kind}, but fim.backend.url is empty: "
            f"set it, for example to {USUAL_URLS[0]}"
        )
    is_openai = settings.kind == "openai"
    http = Http(
        settings.url.removesuffix("/").removesuffix("/v1"),
        settings.key,
        patience_s,
        ca_file=settings.ca_file,
        model="" if is_openai else _named(settings),  # which one it is, that kind finds out itself
        tags=_tags(settings),
    )
    if is_openai:
        return OpenAiServer(http, settings.model, settings.template, settings.context_tokens)
    return LlamaServer(http, shelf=settings.slots_dir)


def _tags(settings: BackendSettings) -> Tags:
    """What routers, shared caches and accounts are told; nothing unless the user says so."""
    header, fields = (
        settings.session_header,
        {"cache_salt": settings.cache_salt, "user": settings.user},
    )
    if header and not HEADER.fullmatch(header):
        raise BackendUnusable(
            f"fim.backend.sessionHeader is {header!r}, which no header can be called: "
            "set it to what your router reads, for example X-Session-ID"
        )
    return Tags({header: SESSION} if header else {}, {k: v for k, v in fields.items() if v})


def _named(settings: BackendSettings) -> str:
    """Which of a server's models is meant; a file is for the embedded engine."""
    return "" if settings.model.endswith(".gguf") else settings.model


def _listed(all_settings: tuple[BackendSettings, ...]) -> list[Endpoint]:
    """The endpoints that the user listed; only the last one has all the time there is."""
    patience = [ATTEMPT_S] * (len(all_settings) - 1) + [PATIENCE_S]
    return [
        Endpoint(_one(settings, seconds), settings.languages)
        for settings, seconds in zip(all_settings, patience, strict=True)
    ]


def _found(settings: BackendSettings) -> list[Endpoint]:
    """What `auto` stands for: what the user named, then who runs here already, then our own."""
    endpoints = []
    if settings.url:
        # If it is there but cannot do the work, the user wants to hear why.
        named = _one(replace(settings, kind="llama-server"))
        endpoints.append(Endpoint(named, strict=True))
    endpoints += [_unasked(url, settings) for url in settings.usual_urls]
    return [*endpoints, Endpoint(_embedded(settings), last=True)]


def _unasked(url: str, settings: BackendSettings) -> Endpoint:
    http = Http(url, model=_named(settings))
    return Endpoint(LlamaServer(http, shelf=settings.slots_dir), named=False)


def _embedded(settings: BackendSettings) -> Embedded:
    plain = EmbeddedSettings(
        n_threads=settings.n_threads, slots_dir=settings.slots_dir, log=settings.log
    )
    ours = settings.model if settings.kind == "embedded" or not _named(settings) else ""
    return Embedded(replace(plain, model=ours) if ours else plain)
