"""A setting besides its value: type, text, and what a project may do to it. Pure."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Project(enum.Enum):
    """The rights of `.fim-lsp.toml` on a setting: a cloned repository is not trusted."""

    NEVER = "never"
    TUNE = "yes"
    LOWER = "only lower"
    OFF = "only switch off"
    ADD = "only add"


class Option(NamedTuple):
    """
    One setting. *path* are its section, if it is in one, and its field.

    *low* and *high* bound numbers, both included; *choices*, where there are any, are all.
    """

    default: object
    type: type
    project: Project
    low: float
    high: float
    choices: tuple[str, ...]
    path: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its name as users write it, without the leading `fim.`."""
        return ".".join(map(camel, self.path))


def option(
    default: T,
    project: Project = Project.NEVER,
    *,
    of: type | None = None,
    within: tuple[float, float] = (0, 0),
    choices: tuple[str, ...] = (),
) -> T:
    """
    Return a field with its `Option`, but for its path; *of* is its type where the default does not
    tell.
    """
    about = Option(default, of or type(default), project, *within, choices)
    return field(default=default, metadata={"option": about})


def camel(name: str) -> str:
    """Return a field's name as users write it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
