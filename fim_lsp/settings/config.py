"""
Everything that can be set, with its default and the reason for it. Pure data.

`schema` has the same by name; `merge` turns what users wrote into a `Config`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from server_bridge.machine.addresses import USUAL_PORTS


class Project(enum.Enum):
    """What `.fim-lsp.toml` may do to a setting: a cloned repository is not trusted."""

    NEVER = "never"
    TUNE = "yes"
    LOWER = "only lower"
    OFF = "only switch off"
    ADD = "only add"


def _option(
    doc: str,
    project: Project,
    *,
    of: type | None = None,
    within: tuple[float, float] = (0, 0),
    choices: tuple[str, ...] = (),
    local: bool = False,
) -> Mapping[str, object]:
    """
    The metadata of a field; *of* is its type where the default does not tell.

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


# Names of files that hold secrets by convention; gitignore patterns, in both cases. Editors' backups,
# swap and temporary files of these are private, too: `private_places.originals`. The union of what Zed
# and Continue leave out, without names that are as often source code (`credentials.py`).
SECRETS = (
    # environments and shells
    ".env*", "*.env", ".dev.vars*", ".*_history*", ".history", ".histfile", "*_history.txt", "fish_history",
    ".lesshst", ".viminfo*", ".netrc*", "_netrc*", ".curlrc", ".wgetrc", ".pgpass*", "pgpass.conf",
    ".my.cnf", ".mylogin.cnf", ".htpasswd*", ".git-credentials", ".gitconfig", ".git", ".hg/", ".svn/",
    # keys and certificates
    "*.pem", "*.key", "*.crt", "*.cer", "*.cert", "*.der", "*.csr", "*.p8", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.keytab", "*.kdb", "*.kdbx", "*.ovpn", "*.ppk", "*.gpg", "*.pgp", "*.asc", "*.age",
    "*.keychain", "*.keychain-db", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "ssh_host_*_key*", ".ssh/", ".gnupg/",
    ".password-store/", "**/.local/share/keyrings/",
    # package managers
    ".npmrc*", ".yarnrc*", ".pypirc*", "**/.cargo/credentials*", "**/.m2/settings*.xml", "**/.composer/auth.json",
    "**/containers/auth.json", "**/.gradle/gradle.properties", ".dockercfg", "**/.docker/config.json",
    # clouds and infrastructure
    ".aws/", ".azure/", ".gcloud/", ".kube/", ".oci/", "**/.config/gcloud/", "**/.config/gh/", ".databrickscfg",
    ".s3cfg", ".boto", "rclone.conf", "kubeconfig", "kubeconfig.y*ml", "*.kubeconfig", "*.tfvars*", "*.tfstate*", ".terraformrc",
    "terraform.rc", ".vault-token", ".vault_pass*", "vault_pass", "vault_pass.*", "vault_password*", "local.settings.json",
    # credentials by name; a folder called so is source code
    "credentials", "!credentials/", "*credentials.json", "*credentials.y*ml*", "*credentials.toml",
    "*credentials.csv", "*credentials.xml", "secrets.json", "*secrets.y*ml*", "secrets.toml", "*.secret",
    "*.secrets", "*service-account*.json", "*service_account*.json", "client_secret*.json",
    "*firebase-adminsdk*.json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """Where completions come from."""

    kind: str = field(
        default="auto",  # works with any server that is found, and with none
        metadata=_option(
            "`auto` takes the server at `url`, else a llama-server that you run on one of this "
            f"machine's usual ports {USUAL_PORTS}, else the embedded model.",
            Project.NEVER,
            choices=("auto", "llama-server", "openai", "embedded"),
        ),
    )
    url: str = field(
        default="",
        metadata=_option(
            "The server's address, like `http://127.0.0.1:8012`. Your code is sent there.",
            Project.NEVER,
        ),
    )
    model: str = field(
        default="",  # a llama-server has one; the embedded engine has its own
        metadata=_option(
            "The model to ask for where a server has several; a `.gguf` file for the embedded "
            "engine.",
            Project.NEVER,
        ),
    )
    api_key_env: str = field(
        default="",  # no key is sent unless the user names one
        metadata=_option(
            "The environment variable that holds the server's API key.", Project.NEVER, local=True
        ),
    )
    api_key_file: str = field(
        default="",
        metadata=_option("A file that holds the server's API key.", Project.NEVER, local=True),
    )
    api_key_command: str = field(
        default="",
        metadata=_option(
            "A command that prints the server's API key, like `pass show llm`.",
            Project.NEVER,
            local=True,
        ),
    )
    ca_file: str = field(
        default="",  # the system's certificates are trusted anyway
        metadata=_option(
            "A file of certificates to trust besides the usual ones, for a server with `https`.",
            Project.NEVER,
            local=True,
        ),
    )
    template: str = field(
        default="",  # the model's name tells it, as a rule
        metadata=_option(
            "The model's fill-in-the-middle format, where kind is `openai` and the model's name does "
            "not tell it: `qwen`, `starcoder2`, `deepseek`, `codellama`, … (docs/backends.md has all).",
            Project.NEVER,
        ),
    )
    context_tokens: int = field(
        default=0,  # servers that do not tell it cut at 4,096, as a rule, without an error
        metadata=_option(
            "The context of one request, in tokens, where kind is `openai` and the server does not "
            "tell it; 4,096 by default.",
            Project.NEVER,
            within=(0, 10_000_000),
        ),
    )
    session_header: str = field(
        default="",  # only routers need it, and each reads another header
        metadata=_option(
            "A header, like `X-Session-ID`, that has the same random value in every request of one "
            "run: a router that reads it sends them all to the same cache (docs/scaling.md).",
            Project.NEVER,
        ),
    )
    cache_salt: str = field(
        default="",  # all clients of the server share its cache
        metadata=_option(
            "Sent as `cache_salt`: vLLM shares what it evaluated only between clients that send the same.",
            Project.NEVER,
        ),
    )
    user: str = field(
        default="",  # most servers have one user
        metadata=_option(
            "Sent as `user`: the name that a gateway counts requests under.", Project.NEVER
        ),
    )
    languages: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            "For one of the `endpoints`: the languages it serves; all if the list is empty.",
            Project.NEVER,
        ),
    )
    endpoints: tuple[BackendConfig, ...] = field(
        default=(),
        metadata=_option(
            "Several servers instead of one, the best first, each with the settings of this "
            "section (docs/backends.md).",
            Project.NEVER,
            of=list,
        ),
    )


@dataclass(frozen=True, slots=True)
class RingConfig:
    """Code from elsewhere in the workspace that the model is shown."""

    chunks: int = field(
        default=16,  # llama.vim's ring; 16 chunks of 64 lines are about 10,000 tokens
        metadata=_option("How many chunks at most.", Project.LOWER, within=(0, 256)),
    )
    chunk_lines: int = field(
        default=64,  # most functions are shorter
        metadata=_option("How many lines a chunk has at most.", Project.LOWER, within=(4, 1024)),
    )
    files: bool = field(
        default=True,  # definitions are needed before their files are opened
        metadata=_option(
            "Show code from files of the workspace that are not open, too.", Project.OFF
        ),
    )


@dataclass(frozen=True, slots=True)
class CompletionConfig:
    """When and how much is suggested."""

    auto: bool = field(
        default=True,
        metadata=_option("Suggest while you type, not only when you ask.", Project.OFF),
    )
    max_tokens: int = field(
        default=128,  # about twelve lines: more is rarely accepted as it is
        metadata=_option(
            "How long a suggestion gets at most, in tokens.", Project.LOWER, within=(1, 4096)
        ),
    )
    debounce_ms: int | None = field(
        default=None,  # Neovim and IntelliJ wait by themselves, VS Code and Helix do not
        metadata=_option(
            "How long to wait after a key before asking the model; by default what fits the editor "
            "and the pace of your typing.",
            Project.TUNE,
            of=int,
            within=(0, 5000),
        ),
    )
    deadline_ms: int = field(
        default=2000,  # after that the user has typed on
        metadata=_option(
            "After this time the suggestion is shown as far as it got.",
            Project.LOWER,
            within=(50, 60_000),
        ),
    )
    candidates: int = field(
        default=3,  # what can be compared at a glance
        metadata=_option(
            "How many different suggestions to make when you ask for one.",
            Project.LOWER,
            within=(1, 10),
        ),
    )
    min_confidence: float = field(
        default=0.3,  # of 44 suggestions below it one was right (suggest/confidence.py)
        metadata=_option(
            "Automatic suggestions whose mean token probability is lower are not shown.",
            Project.TUNE,
            within=(0, 1),
        ),
    )
    quiet_in: tuple[str, ...] = field(
        default=(),  # prose is completed well, too
        metadata=_option("Places without automatic suggestions: `comment`, `string`.", Project.ADD),
    )
    local: bool = field(
        default=True,  # useful without a model, and takes no time
        metadata=_option(
            "While there is no model, offer a line of an open file or the ring that begins as yours does.",
            Project.OFF,
        ),
    )
    long_tokens: int = field(
        default=1024,  # about a hundred lines
        metadata=_option(
            "How much `fim.continueLong` writes at most, in tokens.",
            Project.LOWER,
            within=(1, 100_000),
        ),
    )
    long_keeps: str = field(
        default="prompt",  # four tokens are enough for the text, but then the next key evaluates the ring
        metadata=_option(
            "What stays in the model's context when such a text outgrows it: the `prompt`, or only "
            "its `start` (four tokens, as in StreamingLLM).",
            Project.TUNE,
            choices=("prompt", "start"),
        ),
    )
    fallback: str = field(
        default="auto",
        metadata=_option(
            "Suggestions in the completion menu: `auto` for editors without ghost text.",
            Project.TUNE,
            choices=("auto", "always", "never"),
        ),
    )


@dataclass(frozen=True, slots=True)
class PromptConfig:
    """How much code around the cursor the model is shown, and how. A small context shrinks it."""

    layout: str = field(
        default="growing",  # 2 tokens evaluated per key instead of 508
        metadata=_option(
            "`growing` puts what you type at the end of the prompt, so that nothing else is "
            "evaluated; `classic` puts it before the code below the cursor.",
            Project.TUNE,
            choices=("growing", "classic"),
        ),
    )
    prefix_tokens: int = field(
        default=1024,  # about 100 lines: the function at work and what stands above it
        metadata=_option("Code above the cursor.", Project.LOWER, within=(16, 65_536)),
    )
    suffix_tokens: int = field(
        default=256,  # tells mostly where to stop
        metadata=_option("Code below the cursor.", Project.LOWER, within=(0, 65_536)),
    )
    middle_tokens: int = field(
        default=256,  # some 25 typed lines between two prefills
        metadata=_option(
            "Typed code that may follow the code below the cursor in the prompt.",
            Project.LOWER,
            within=(16, 65_536),
        ),
    )


@dataclass(frozen=True, slots=True)
class PrivacyConfig:
    """What no model is ever shown."""

    exclude: tuple[str, ...] = field(
        default=SECRETS,
        metadata=_option(
            "Files that get no suggestions and are never shown to a model, as gitignore patterns in upper "
            "or lower case, besides those ignored by git and the defaults below. `!` takes a pattern back.",
            Project.ADD,
        ),
    )


@dataclass(frozen=True, slots=True)
class LanguagesConfig:
    """By language, as the editor names it: `python`, `markdown`, …"""

    off: tuple[str, ...] = field(
        default=(), metadata=_option("Languages without suggestions.", Project.ADD)
    )


@dataclass(frozen=True, slots=True)
class StateConfig:
    """What is kept from one run to the next, in your cache folder."""

    save: bool = field(
        default=True,  # after a restart, the first suggestion comes at once
        metadata=_option("Keep the model's state and the ring on disk.", Project.OFF),
    )


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What is logged; never the text of your files."""

    file: str = field(
        default="",
        metadata=_option("Log to this file instead of stderr.", Project.NEVER, local=True),
    )
    level: str = field(
        default="warning",  # editors keep all of stderr
        metadata=_option(
            "How much is logged.", Project.NEVER, choices=("error", "warning", "info", "debug")
        ),
    )


@dataclass(frozen=True, slots=True)
class StatusConfig:
    """For editors that show the state in their status line."""

    notify: bool = field(
        default=False,  # Helix logs unknown notifications as errors
        metadata=_option("Send `didChangeStatus` notifications.", Project.NEVER),
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    backend: BackendConfig = field(default_factory=BackendConfig)
    completion: CompletionConfig = field(default_factory=CompletionConfig)
    prompt: PromptConfig = field(default_factory=PromptConfig)
    ring: RingConfig = field(default_factory=RingConfig)
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    languages: LanguagesConfig = field(default_factory=LanguagesConfig)
    state: StateConfig = field(default_factory=StateConfig)
    log: LogConfig = field(default_factory=LogConfig)
    status: StatusConfig = field(default_factory=StatusConfig)
