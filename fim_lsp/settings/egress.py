"""Settings into where code goes, and what is wrong with the way there. Pure; nothing is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from fim_lsp.settings.backend import BackendConfig
from server_bridge.machine.addresses import is_loopback


class RemoteServer(NamedTuple):
    """A server that code is sent to: its host, its port, and whether the way there is encrypted."""

    host: str
    port: int
    encrypted: bool

    @property
    def warning(self) -> str:
        """A warning about it, "" for none."""
        if self.encrypted:
            return ""
        return (
            f"your code goes to {self.host} unencrypted: use https, "
            f"or ssh -L {self.port}:127.0.0.1:{self.port} {self.host} and its port on this machine"
        )


def servers(backend: BackendConfig) -> tuple[BackendConfig, ...]:
    """Return the servers that the settings name."""
    return backend.endpoints or (backend,)


def ways(backend: BackendConfig, *urls: str) -> Iterator[RemoteServer]:
    """Yield the servers on other machines: of completions, and at *urls*."""
    for address in (*(server.url for server in servers(backend)), *urls):
        try:
            url = urlsplit(address)
            host, port = url.hostname or "", url.port or 80
        except ValueError:
            continue  # no address at all: nothing is ever sent there
        if host and not is_loopback(address):
            yield RemoteServer(host, port, url.scheme == "https")
