"""
The settings of section `fim.backend`: where completions come from, and where code goes. Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from server_bridge.machine.addresses import USUAL_PORTS, is_loopback

# -- option ------------------------------------------------------------------------------------
# The metadata of a setting: all but its type and its default. Pure.


class Project(enum.Enum):
    """The rights of `.fim-lsp.toml` on a setting: a cloned repository is not trusted."""

    NEVER = "never"
    TUNE = "yes"
    LOWER = "only lower"
    OFF = "only switch off"
    ADD = "only add"


def option(
    doc: str,
    project: Project,
    *,
    of: type | None = None,
    within: tuple[float, float] = (0, 0),
    choices: tuple[str, ...] = (),
    local: bool = False,
) -> Mapping[str, object]:
    """
    Return the metadata of a field; *of* is its type where the default does not tell.

    What is *local* names a file, a command or a variable of this machine: not for clients over TCP.
    """
    return {
        "doc": doc,
        "project": project,
        "of": of,
        "within": within,
        "choices": choices,
        "local": local,
    }


Table = tuple[tuple[str, str], ...]  # names and texts


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """Where completions come from."""

    kind: str = field(
        default="auto",  # works with any server that is found, and with none
        metadata=option(
            "`auto` uses the server at `url`, else a llama-server that you run on one of this "
            f"machine's usual ports {USUAL_PORTS}, else the embedded model.",
            Project.NEVER,
            choices=("auto", "llama-server", "openai", "embedded"),
        ),
    )
    url: str = field(
        default="",
        metadata=option(
            "The server's address, like `http://127.0.0.1:8012`. Your code is sent there.",
            Project.NEVER,
        ),
    )
    model: str = field(
        default="",  # a llama-server has one; the embedded engine has its own
        metadata=option(
            "The model to use if a server has several; for the embedded engine, a `.gguf` file.",
            Project.NEVER,
        ),
    )
    api_key_env: str = field(
        default="",  # no key is sent unless the user names one
        metadata=option(
            "The environment variable that holds the server's API key.", Project.NEVER, local=True
        ),
    )
    api_key_file: str = field(
        default="",
        metadata=option("A file that holds the server's API key.", Project.NEVER, local=True),
    )
    api_key_command: str = field(
        default="",
        metadata=option(
            "A command that prints the server's API key, like `pass show llm`.",
            Project.NEVER,
            local=True,
        ),
    )
    ca_file: str = field(
        default="",  # the system's certificates are trusted anyway
        metadata=option(
            "A file of certificates to trust besides the usual ones, for a server with `https`.",
            Project.NEVER,
            local=True,
        ),
    )
    template: str = field(
        default="",  # the model's name tells it, as a rule
        metadata=option(
            "The model's fill-in-the-middle format, if kind is `openai` and the model's name does "
            "not tell it: `qwen`, `starcoder2`, `deepseek`, `codellama`, … (docs/backends.md lists them); "
            "`plain` or `chat` for a model without one.",
            Project.NEVER,
        ),
    )
    context_tokens: int = field(
        default=0,  # servers that do not tell it cut at 4,096, as a rule, without an error
        metadata=option(
            "The context of one request, in tokens, if kind is `openai` and the server does not "
            "report it; 4,096 by default.",
            Project.NEVER,
            within=(0, 10_000_000),
        ),
    )
    headers: Table = field(
        default=(),  # only routers and gateways need any
        metadata=option(
            'Headers of every request, for routers and gateways: `{"X-Session-ID": "{session}"}`. '
            "`{session}` is a random value, the same in every request of one run, so that a router "
            "that reads it sends them all to the same cache (docs/scaling.md).",
            Project.NEVER,
            of=dict,
        ),
    )
    body: Table = field(
        default=(),
        repr=False,  # a salt is kept like a key
        metadata=option(
            "Fields of every request's JSON: `cache_salt`, with which vLLM shares what it evaluated "
            "only between clients that send the same, or `user`, the name under which a gateway counts.",
            Project.NEVER,
            of=dict,
        ),
    )
    endpoints: tuple[BackendConfig, ...] = field(
        default=(),
        metadata=option(
            "Several servers instead of one, the best first, each with the settings of this "
            "section (docs/backends.md).",
            Project.NEVER,
            of=list,
        ),
    )


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


def list_servers(backend: BackendConfig) -> tuple[BackendConfig, ...]:
    """Return the servers that the settings name."""
    return backend.endpoints or (backend,)


def remote_servers(backend: BackendConfig, *urls: str) -> Iterator[RemoteServer]:
    """Yield the servers on other machines: of completions, and at *urls*."""
    for address in (*(server.url for server in list_servers(backend)), *urls):
        try:
            url = urlsplit(address)
            host, port = url.hostname or "", url.port or 80
        except ValueError:
            continue  # no address at all: nothing is ever sent there
        if host and not is_loopback(address):
            yield RemoteServer(host, port, url.scheme == "https")


def is_local(backend: BackendConfig, *urls: str) -> bool:
    """Return whether all servers are on this machine: those of completions, and those at *urls*."""
    return not any(remote_servers(backend, *urls))
