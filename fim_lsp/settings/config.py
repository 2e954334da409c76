"""
Everything that can be set, with its default and the reason for it; and where code goes. Pure.

`merge` has the same by name, and turns what users wrote into a `Config`; `docs.toml` has what users
read of each.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import urlsplit

from fim_lsp.settings.option import Project, option
from server_bridge.machine.addresses import is_loopback

_NAMES = (pkgutil.get_data(__package__ or "", "private_names.txt") or b"").decode()
SECRETS = tuple(re.sub(r"^#.*", "", _NAMES, flags=re.MULTILINE).split())

Table = tuple[tuple[str, str], ...]  # names and texts


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """Where completions come from."""

    # works with any server that is found, and with none
    kind: str = option("auto", choices=("auto", "llama-server", "openai", "embedded"))
    url: str = option("")
    # a llama-server has one; the embedded engine has its own
    model: str = option("")
    # no key is sent unless the user names one
    api_key_env: str = option("")
    api_key_file: str = option("")
    api_key_command: str = option("")
    # the system's certificates are trusted anyway
    ca_file: str = option("")
    # the model's name tells it, as a rule
    template: str = option("")
    # servers that do not tell it cut at 4,096, as a rule, without an error
    context_tokens: int = option(0, within=(0, 10_000_000))
    # only routers and gateways need any
    headers: Table = option((), of=dict)
    # a salt is kept like a key
    body: Table = option((), of=dict)
    # loading it again takes seconds, with a large model many
    unload_after_minutes: int = option(0, within=(0, 10_080))
    endpoints: tuple[BackendConfig, ...] = option((), of=list)


@dataclass(frozen=True, slots=True)
class RingConfig:
    """Code from elsewhere in the workspace that the model is shown."""

    # llama.vim's ring; 16 chunks of 64 lines are about 10,000 tokens
    chunks: int = option(16, Project.LOWER, within=(0, 256))
    # most functions are shorter
    chunk_lines: int = option(64, Project.LOWER, within=(4, 1024))
    # definitions are needed before their files are opened
    files: bool = option(True, Project.OFF)


@dataclass(frozen=True, slots=True)
class CompletionConfig:
    """When and how much is suggested."""

    auto: bool = option(True, Project.OFF)
    # about twelve lines: more is rarely accepted as it is
    max_tokens: int = option(128, Project.LOWER, within=(1, 4096))
    # Neovim and IntelliJ wait by themselves, VS Code and Helix do not
    debounce_ms: int | None = option(None, Project.TUNE, of=int, within=(0, 5000))
    # after that a menu is in the way
    deadline_ms: int = option(2000, Project.LOWER, within=(50, 60_000))
    # by default `PATIENCE_MS` of session/completer
    patience_ms: int | None = option(None, Project.TUNE, of=int, within=(0, 60_000))
    # what can be compared at a glance
    candidates: int = option(3, Project.LOWER, within=(1, 10))
    # by default `SURE` says it in a word
    min_confidence: float | None = option(None, Project.TUNE, of=float, within=(0, 1))
    # prose is completed well, too
    quiet_in: tuple[str, ...] = option((), Project.ADD)
    disabled_for: tuple[str, ...] = option((), Project.ADD)
    # about a hundred lines
    long_tokens: int = option(1024, Project.LOWER, within=(1, 100_000))
    fallback: str = option("auto", Project.TUNE, choices=("auto", "always", "never"))


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """How much code around the cursor the model is shown. A small context shrinks it."""

    # about 100 lines: the function at work and what stands above it
    prefix_tokens: int = option(1024, Project.LOWER, within=(16, 65_536))


@dataclass(frozen=True, slots=True)
class NextEditConfig:
    """The next edit: your last change, offered where it is needed next."""

    # it needs no model, and is quiet on most edits
    enabled: bool = option(True, Project.OFF)
    # the rules need no model
    server: BackendConfig = option(BackendConfig())


class ProjectRules(NamedTuple):
    """
    What a project's file hides in its *folder*, an absolute path with links resolved; all of it
    where *why_unknown* says why that is not known.
    """

    folder: str
    exclude: tuple[str, ...]
    why_unknown: str = ""


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    """What is never shown to a model."""

    exclude: tuple[str, ...] = option(SECRETS, Project.ADD)
    unknown: str = ""  # why the user's settings are not known: then all is private
    projects: tuple[ProjectRules, ...] = ()

    def why_unknown(self, place: PurePath) -> str:
        """Return why it is not known what the settings say of a place, "" where it is."""
        wrong = (rules for rules in self.projects if rules.why_unknown)
        here = (rules.why_unknown for rules in wrong if place.is_relative_to(rules.folder))
        return self.unknown or next(here, "")

    def of_project(self, folder: PurePath) -> tuple[str, ...]:
        """Return the patterns that count from *folder* down, besides the user's."""
        here = (rules.exclude for rules in self.projects if rules.folder == str(folder))
        return tuple(chain.from_iterable(here))


@dataclass(frozen=True, slots=True)
class StateConfig:
    """What is kept from one run to the next, in your cache folder."""

    # after a restart, the first suggestion comes at once
    save: bool = option(True, Project.OFF)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is logged: names and numbers, and no text of your files unless the level is `debug`."""

    file: str = option("")
    # editors keep all of stderr
    level: str = option("warning", choices=("error", "warning", "info", "debug"))


@dataclass(frozen=True, slots=True)
class StatusConfig:
    """For editors that show the state in their status line."""

    # Helix logs unknown notifications as errors
    notify: bool = option(False)


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """A port of this machine for other programs' completion clients, and for the page."""

    # what is not needed does not listen
    port: int | None = option(None, of=int, within=(0, 65_535))


ONE_LINE = "one line"
SURE = {"fewer": 0.6, "normal": 0.3, "more": 0.1, ONE_LINE: 0.3}
"""How sure the model must be: wrong characters against right ones, see suggest/confidence."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    # fewer wrong characters for fewer saved keys, or the opposite: docs/suggestions.md has a table
    suggestions: str = option("normal", Project.TUNE, choices=tuple(SURE))
    backend: BackendConfig = field(default_factory=BackendConfig)
    completion: CompletionConfig = field(default_factory=CompletionConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    ring: RingConfig = field(default_factory=RingConfig)
    next_edit: NextEditConfig = field(default_factory=NextEditConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    state: StateConfig = field(default_factory=StateConfig)
    log: LogConfig = field(default_factory=LogConfig)
    status: StatusConfig = field(default_factory=StatusConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    # those that count in a project's folder, where its file changes any
    projects: tuple[tuple[str, Config], ...] = ()

    def of(self, folder: PurePath | None) -> Config:
        """Return the settings that count in a workspace's *folder*, None for no workspace."""
        return next((own for place, own in self.projects if place == str(folder)), self)

    @property
    def sure(self) -> float:
        """The probability that an automatic suggestion must have."""
        given = self.completion.min_confidence
        return SURE[self.suggestions] if given is None else given

    @property
    def remote_servers(self) -> tuple[RemoteServer, ...]:
        """The servers on other machines, that of next edits, too."""
        return tuple(remote_servers(self.backend, self.next_edit.server.url))


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
            host = url.hostname or ""
            port = url.port or 80
        except ValueError:
            continue  # no address at all: nothing is ever sent there
        if host and not is_loopback(address):
            yield RemoteServer(host, port, url.scheme == "https")
