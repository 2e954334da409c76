"""
Everything that can be set, with its default and the reason for it; and where code goes. Pure.

`merge` has the same by name, and turns what users wrote into a `Config`.
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
from server_bridge.machine.addresses import USUAL_PORTS, is_loopback

_NAMES = (pkgutil.get_data(__package__ or "", "private_names.txt") or b"").decode()
SECRETS = tuple(re.sub(r"^#.*", "", _NAMES, flags=re.MULTILINE).split())

Table = tuple[tuple[str, str], ...]  # names and texts


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """Where completions come from."""

    # works with any server that is found, and with none
    kind: str = option(
        "auto",
        "`auto` uses the server at `url`, else a llama-server that you run on one of this "
        f"machine's usual ports {USUAL_PORTS}, else the embedded model. "
        "The bundled one never stands in for a server at `url`.",
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


@dataclass(frozen=True, slots=True)
class RingConfig:
    """Code from elsewhere in the workspace that the model is shown."""

    # llama.vim's ring; 16 chunks of 64 lines are about 10,000 tokens
    chunks: int = option(16, "The most chunks in the ring.", Project.LOWER, within=(0, 256))
    # most functions are shorter
    chunk_lines: int = option(64, "The most lines in a chunk.", Project.LOWER, within=(4, 1024))
    # definitions are needed before their files are opened
    files: bool = option(
        True,
        "Also look for the next edit in files of the workspace that are not open.",
        Project.OFF,
    )


@dataclass(frozen=True, slots=True)
class CompletionConfig:
    """When and how much is suggested."""

    auto: bool = option(True, "Suggest while you type, not only when you ask.", Project.OFF)
    # about twelve lines: more is rarely accepted as it is
    max_tokens: int = option(
        128, "The greatest length of a suggestion, in tokens.", Project.LOWER, within=(1, 4096)
    )
    # Neovim and IntelliJ wait by themselves, VS Code and Helix do not
    debounce_ms: int | None = option(
        None,
        "How long to wait after a key before asking the model; the default depends on the editor "
        "and on how fast you type.",
        Project.TUNE,
        of=int,
        within=(0, 5000),
    )
    # after that a menu is in the way
    deadline_ms: int = option(
        2000,
        "After this time, a completion menu opens without the model's suggestion. Ghost text waits"
        " as long as the model computes.",
        Project.LOWER,
        within=(50, 60_000),
    )
    # by default `PATIENCE_MS` of session/completer
    patience_ms: int | None = option(
        None,
        "After this time, by default 250, a suggestion of several lines is shown as soon as its "
        "first line is known; the rest follows as you type or accept.",
        Project.TUNE,
        of=int,
        within=(0, 60_000),
    )
    # what can be compared at a glance
    candidates: int = option(
        3, "The most suggestions when you ask for one by hand.", Project.LOWER, within=(1, 10)
    )
    # by default `SURE` says it in a word
    min_confidence: float | None = option(
        None,
        "In place of `fim.suggestions`, how sure the model must be of an automatic suggestion: the "
        "probability, by the model's own estimate, that all of it is right. A suggestion is cut "
        "where the model is less sure.",
        Project.TUNE,
        of=float,
        within=(0, 1),
    )
    # prose is completed well, too
    quiet_in: tuple[str, ...] = option(
        (), "Places without automatic suggestions: `comment`, `string`.", Project.ADD
    )
    disabled_for: tuple[str, ...] = option(
        (),
        "Languages (`markdown`) and files, as in a `.gitignore` (`*.csv`, `docs/`), without "
        "automatic suggestions; `!` makes an exception (`*.*`, `!*.py`).",
        Project.ADD,
    )
    # about a hundred lines
    long_tokens: int = option(
        1024, "The most tokens that `fim.continueLong` writes.", Project.LOWER, within=(1, 100_000)
    )
    fallback: str = option(
        "auto",
        "Whether suggestions appear in the completion menu: `auto` in editors without ghost text.",
        Project.TUNE,
        choices=("auto", "always", "never"),
    )


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """How much code around the cursor the model is shown. A small context shrinks it."""

    # about 100 lines: the function at work and what stands above it
    prefix_tokens: int = option(
        1024,
        "Code above the cursor, in tokens; below it, a quarter as much is shown.",
        Project.LOWER,
        within=(16, 65_536),
    )


@dataclass(frozen=True, slots=True)
class NextEditConfig:
    """The next edit: your last change, offered where it is needed next."""

    # it needs no model, and is quiet on most edits
    enabled: bool = option(True, "Offer the next edit, found from your last edits.", Project.OFF)
    # the rules need no model
    server: BackendConfig = option(
        BackendConfig(),
        "The server of a next-edit model, which is asked when your earlier edits propose nothing: "
        "a table with `url` (llama.cpp's, or any with `/v1/completions`; your code is sent there), "
        "`model` (its name tells the format: `zeta-2`, `zeta-2.1`, `sweep-next-edit-1.5B`) and, as "
        "in `fim.backend`, `apiKeyEnv`, `apiKeyFile`, `apiKeyCommand`, `caFile`.",
    )


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

    exclude: tuple[str, ...] = option(
        SECRETS,
        "Files that get no suggestions and are never shown to a model, besides those that git "
        "ignores and the defaults "
        "below: gitignore patterns, in upper or lower case; `!` makes an exception.",
        Project.ADD,
    )
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
    save: bool = option(True, "Keep the model's state and the ring on disk.", Project.OFF)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is logged: names and numbers, and no text of your files unless the level is `debug`."""

    file: str = option("", "Log to this file instead of stderr.", local=True)
    # editors keep all of stderr
    level: str = option(
        "warning",
        "The least severe messages to log.",
        choices=("error", "warning", "info", "debug"),
    )


@dataclass(frozen=True, slots=True)
class StatusConfig:
    """For editors that show the state in their status line."""

    # Helix logs unknown notifications as errors
    notify: bool = option(False, "Send `didChangeStatus` notifications.")


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """A port of this machine for other programs' completion clients, and for the page."""

    # what is not needed does not listen
    port: int | None = option(
        None,
        "Answer llama.vim, llama.vscode, minuet, Zed and your browser at this port of 127.0.0.1; "
        "0 takes a free one.",
        of=int,
        within=(0, 65_535),
    )


ONE_LINE = "one line"
SURE = {"fewer": 0.6, "normal": 0.3, "more": 0.1, ONE_LINE: 0.3}
"""How sure the model must be: wrong characters against right ones, see suggest/confidence."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    # 0.6 shows half as many wrong characters and saves an eighth less, 0.1 twice as many for 5 %
    suggestions: str = option(
        "normal",
        "How many suggestions you get while you type: how sure the model must be, and how much "
        "later they come for some minutes after you dismiss some; with `one line` they are as "
        "with `normal`, and end with the line of the cursor.",
        Project.TUNE,
        choices=tuple(SURE),
    )
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
            host, port = url.hostname or "", url.port or 80
        except ValueError:
            continue  # no address at all: nothing is ever sent there
        if host and not is_loopback(address):
            yield RemoteServer(host, port, url.scheme == "https")
