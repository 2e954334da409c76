"""The metadata of a setting: all but its type and its default. Pure."""

from __future__ import annotations

import enum
from collections.abc import Mapping


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
