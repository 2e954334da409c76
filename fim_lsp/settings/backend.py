"""
The settings of section `fim.backend`: where completions come from, and where code goes. Pure.

Option: a setting: its default, its text, and what a project may do to it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from server_bridge.machine.addresses import USUAL_PORTS, is_loopback

T = TypeVar("T")


class Project(enum.Enum):
    """The rights of `.fim-lsp.toml` on a setting: a cloned repository is not trusted."""

    NEVER = "never"
    TUNE = "yes"
    LOWER = "only lower"
    OFF = "only switch off"
    ADD = "only add"


def option(  # noqa: PLR0913 (what is known of a setting)
    default: T,
    doc: str,
    project: Project = Project.NEVER,
    *,
    of: type | None = None,
    within: tuple[float, float] = (0, 0),
    choices: tuple[str, ...] = (),
    local: bool = False,
) -> T:
    """
    Return a field with what is known of a setting, as `merge.Option` has it; *of* is its type where
    the default does not tell.

    What is *local* names a file, a command or a variable of this machine: not for clients over TCP.
    """
    about = {
        "type": of or type(default), "doc": doc, "project": project, "low": within[0],
        "high": within[1], "choices": choices, "local": local,
    }  # fmt: skip
    return field(default=default, metadata=about)


Table = tuple[tuple[str, str], ...]  # names and texts


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """Where completions come from."""

    # works with any server that is found, and with none
    kind: str = option(
        "auto",
        "`auto` uses the server at `url`, else a llama-server that you run on one of this "
        f"machine's usual ports {USUAL_PORTS}, else the embedded model.",
        choices=("auto", "llama-server", "openai", "embedded"),
    )
    url: str = option(
        "", "The server's address, like `http://127.0.0.1:8012`. Your code is sent there."
    )
    # a llama-server has one; the embedded engine has its own
    model: str = option(
        "", "The model to use if a server has several; for the embedded engine, a `.gguf` file."
    )
    # no key is sent unless the user names one
    api_key_env: str = option(
        "", "The environment variable that holds the server's API key.", local=True
    )
    api_key_file: str = option("", "A file that holds the server's API key.", local=True)
    api_key_command: str = option(
        "", "A command that prints the server's API key, like `pass show llm`.", local=True
    )
    # the system's certificates are trusted anyway
    ca_file: str = option(
        "",
        "A file of certificates to trust besides the usual ones, for a server with `https`.",
        local=True,
    )
    # the model's name tells it, as a rule
    template: str = option(
        "",
        "The model's fill-in-the-middle format, if kind is `openai` and the model's name does not "
        "tell it: `qwen`, `starcoder2`, `deepseek`, `codellama`, … (docs/backends.md lists them); "
        "`plain` or `chat` for a model without one.",
    )
    # servers that do not tell it cut at 4,096, as a rule, without an error
    context_tokens: int = option(
        0,
        "The context of one request, in tokens, if kind is `openai` and the server does not "
        "report it; 4,096 by default.",
        within=(0, 10_000_000),
    )
    # only routers and gateways need any
    headers: Table = option(
        (),
        'Headers of every request, for routers and gateways: `{"X-Session-ID": "{session}"}`. '
        "`{session}` is a random value, the same in every request of one run, so that a router "
        "that reads it sends them all to the same cache (docs/scaling.md).",
        of=dict,
    )
    # a salt is kept like a key
    body: Table = option(
        (),
        "Fields of every request's JSON: `cache_salt`, with which vLLM shares what it evaluated "
        "only between clients that send the same, or `user`, the name under which a gateway "
        "counts.",
        of=dict,
    )
    # four times the rest halves what is evaluated ahead: benchmarks/README.md
    on_battery: str = option(
        "less",
        "While this machine runs on its battery, how much a model of this machine evaluates ahead: "
        "`full` as with a plug, `less` what you rest four times as long for, `off` nothing.",
        choices=("full", "less", "off"),
    )
    # loading it again takes seconds, with a large model many
    unload_after_minutes: int = option(
        0,
        "After so many minutes without a request, the embedded engine and `fim-lsp serve` take "
        "the model out of memory; the next key loads it again. 0: never.",
        within=(0, 10_080),
    )
    endpoints: tuple[BackendConfig, ...] = option(
        (),
        "Several servers instead of one, the best first, each with the settings of this "
        "section (docs/backends.md).",
        of=list,
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
