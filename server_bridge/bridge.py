"""
Settings into a `Backend`: the one place that knows all kinds of them.

`auto` prefers what the user named, then a llama.cpp server that this user runs on this machine
already, then the embedded one, and changes over when that is better or gone. The bundled model
never stands in for a server that the user named.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from server_bridge.failover.endpoint import Endpoint, Server
from server_bridge.failover.endpoints import Endpoints
from server_bridge.failover.local_servers import LocalServers
from server_bridge.http.api_key import Key, ServedKey
from server_bridge.http.client import Http, Tags, Trust
from server_bridge.llama.backend import LlamaServer
from server_bridge.machine.addresses import USUAL_PORTS, base_of, is_loopback, port_of
from server_bridge.openai.backend import OpenAiServer
from server_bridge.openai.text_client import TextServer
from server_bridge.patience import HURRIED_S, LOOK_S
from server_bridge.process import programs
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import BackendError, BackendUnusable, Health, Model, State, TextModel

USUAL_URLS = tuple(f"http://127.0.0.1:{port}" for port in USUAL_PORTS)

# A router that reads this sends all our requests to one replica, where the ring is evaluated once
# for all documents. Random per process, so that runs cannot be linked.
SESSION = secrets.token_hex(16)
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
TEXT = re.compile(r"[!-~]([ -~]*[!-~])?")
OUR_HEADERS = {
    "authorization", "connection", "content-length", "content-type", "host", "transfer-encoding",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """
    The backend to use, and how to reach or run it; *endpoints*, if there are any, go before all
    that.

    *model* is one of a server's, or a GGUF file for the embedded engine ("" for the bundled one).
    *key* belongs to *url* and is sent nowhere else. *usual_urls* are asked when there is no *url*
    or no server at it. *headers* and fields of the *body* go to *url* only as well. *keys_dir* is
    the folder where `fim-lsp serve` leaves the keys of the servers that it runs. *shared* is how the
    names of files begin by which editors share an engine, see `EmbeddedSettings`.
    """

    kind: Literal["auto", "llama-server", "openai", "embedded"] = "auto"
    url: str = ""
    model: str = ""
    key: Key = field(default_factory=Key)
    ca_file: str = ""
    template: str = ""
    context_tokens: int = 0
    headers: tuple[tuple[str, str], ...] = ()  # "{session}" stands for `SESSION`
    body: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    unload_s: int = 0
    slots_dir: str = ""
    keys_dir: str = ""
    shared: str = ""
    usual_urls: tuple[str, ...] = USUAL_URLS
    endpoints: tuple[BackendSettings, ...] = ()


def open_backend(settings: BackendSettings) -> Endpoints:
    """
    Return the backend that *settings* ask for. Nothing is started or sent before `connect`.

    Raises BackendUnusable where the settings cannot work.
    """
    if settings.endpoints:
        return Endpoints(_make_endpoints(settings.endpoints))
    if settings.kind == "auto":
        return _auto(settings)
    return Endpoints([Endpoint(_one(settings))])


async def find_running(settings: BackendSettings) -> State | None:
    """
    Return the llama.cpp server that this user runs at a usual port, and that `auto` would take;
    None without one.
    """
    servers = _local_servers(settings)
    for url in settings.usual_urls:
        server = servers.server(url, _choose_model(settings), "")
        try:
            return (await server.connect()).state
        except BackendError:
            continue
        finally:
            await server.aclose()
    return None


def open_text_model(settings: BackendSettings) -> TextModel | None:
    """
    Return the model of *settings* as one that continues texts; None without an address. Nothing is
    sent yet.
    """
    if not settings.url or not settings.model:
        return None
    http = Http(base_of(settings.url), _key(settings), trust=Trust(settings.ca_file))
    return TextServer(http, settings.model)


def _one(settings: BackendSettings, patience_s: float = LOOK_S) -> Server:
    """Return the one backend of a kind that is no choice."""
    if settings.kind == "embedded":
        return _make_embedded(settings)
    if not settings.url:
        raise BackendUnusable(
            f"fim.backend.kind is {settings.kind}, but fim.backend.url is empty: "
            f"set it, for example to {USUAL_URLS[0]}"
        )
    is_openai = settings.kind == "openai"
    http = Http(
        base_of(settings.url),
        _key(settings),
        patience_s,
        trust=Trust(settings.ca_file),
        model="" if is_openai else _choose_model(settings),  # that kind finds out itself
        tags=_tags(settings),
    )
    if is_openai:
        return OpenAiServer(http, settings.model, settings.template, settings.context_tokens)
    return LlamaServer(http, state_dir=settings.slots_dir)


def _key(settings: BackendSettings) -> Callable[[], Awaitable[str]]:
    """
    Return the key that the user named, else that of a server of `fim-lsp serve` at a local address.
    """
    if settings.key.is_set or not is_loopback(settings.url):
        return settings.key
    return _choose_key(settings, port_of(settings.url))


def _choose_key(settings: BackendSettings, port: int) -> Callable[[], Awaitable[str]]:
    return ServedKey(Path(settings.keys_dir), port) if settings.keys_dir else settings.key


def _tags(settings: BackendSettings) -> Tags:
    """Return the tags for routers, shared caches and accounts; none unless the user sets them."""
    headers = {name: text.replace("{session}", SESSION) for name, text in settings.headers}
    for name, text in headers.items():
        if not HEADER.fullmatch(name) or not TEXT.fullmatch(text) or name.lower() in OUR_HEADERS:
            raise BackendUnusable(
                f"fim.backend.headers has {name!r}, which cannot be sent: "
                'name what your router reads, for example {"X-Session-ID": "{session}"}'
            )
    return Tags(headers, dict(settings.body))


def _choose_model(settings: BackendSettings) -> str:
    """Return the model to ask a server for; a file is for the embedded engine."""
    return "" if settings.model.endswith(".gguf") else settings.model


def _make_endpoints(all_settings: tuple[BackendSettings, ...]) -> list[Endpoint]:
    """Return the endpoints that the user listed; only the last one has all the time there is."""
    patience = [HURRIED_S] * (len(all_settings) - 1) + [LOOK_S]
    return [
        Endpoint(_one(settings, seconds))
        for settings, seconds in zip(all_settings, patience, strict=True)
    ]


def _auto(settings: BackendSettings) -> Endpoints:
    """
    Return the backend of `auto`: what the user named, then the servers that this user runs here
    already, then our own, with the user's model where a server was named.
    """
    endpoints = []
    if settings.url:
        # If it is there but cannot do the work, the user should see why.
        endpoints.append(Endpoint(_one(replace(settings, kind="llama-server")), strict=True))
    servers = _local_servers(settings)
    model = _choose_model(settings)
    endpoints += [
        Endpoint(servers.server(url, model, settings.slots_dir), named=False)
        for url in settings.usual_urls
    ]
    if not settings.url or model != settings.model:  # the bundled toy stands in for no server
        endpoints.append(Endpoint(_make_embedded(settings), last=True))
    return Endpoints(endpoints, servers.notice)


def _local_servers(settings: BackendSettings) -> LocalServers:
    """
    Return the servers of this user at the usual ports; the key that the settings name is for
    another server.
    """
    unnamed = replace(settings, key=Key())
    return LocalServers(settings.usual_urls, lambda port: _choose_key(unnamed, port))


def _make_embedded(settings: BackendSettings) -> Embedded:
    """
    Return the embedded engine: the tiny bundled model on one thread, one of the user's on as many
    as `serve` takes.
    """
    ours = settings.model if settings.kind == "embedded" or not _choose_model(settings) else ""
    return Embedded(
        EmbeddedSettings(
            model=ours or str(programs.BUNDLED),
            n_threads=programs.usual_threads() if ours else 1,
            unload_s=settings.unload_s,
            slots_dir=settings.slots_dir,
            shared=settings.shared if settings.kind == "auto" else "",
        )
    )


class Unusable:
    """
    Settings that cannot work, as a `Backend` that is never ready; *message* names what to change.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.state = State(Health.UNUSABLE, kind, message=message)

    async def connect(self) -> Model:
        """Raise BackendUnusable."""
        raise BackendUnusable(self.state.message)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
