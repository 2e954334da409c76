"""
The settings of `config` by their names: what each may be, and a `Config` of what was given. Pure.

A setting's name is `fim.`, the section, `.` and the field in camelCase; docs/configuration.md is made
from `SCHEMA` by scripts/make-config-docs, the settings of the VS Code extension by make-vscode-settings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fim_lsp.settings.config import Config
from fim_lsp.settings.option import Project


class Option(NamedTuple):
    """
    One setting; *key* is without the leading `fim.`.

    *low* and *high* bound numbers, both included; *choices*, where there are any, are all. What is
    *local* names something of this machine, which a client over TCP may not.
    """

    key: str
    default: object
    type: type
    doc: str
    project: Project
    low: float
    high: float
    choices: tuple[str, ...]
    local: bool


def make_config(values: Mapping[str, object]) -> Config:
    """Return the configuration with *values* by key, all of them valid, and defaults for the rest."""
    sections = {}
    for section in dataclasses.fields(Config):
        default = getattr(_DEFAULT, section.name)
        names = {_key(section.name, row.name): row.name for row in dataclasses.fields(default)}
        own = {names[key]: value for key, value in values.items() if key in names}
        sections[section.name] = dataclasses.replace(default, **own)
    return Config(**sections)


def _schema() -> Iterator[Option]:
    for section in dataclasses.fields(Config):
        default = getattr(_DEFAULT, section.name)
        for row in dataclasses.fields(default):
            value, about = getattr(default, row.name), row.metadata
            yield Option(
                key=_key(section.name, row.name),
                default=value,
                type=about["of"] or type(value),
                doc=about["doc"],
                project=about["project"],
                low=about["within"][0],
                high=about["within"][1],
                choices=about["choices"],
                local=about["local"],
            )


def _key(section: str, name: str) -> str:
    return f"{camel(section)}.{camel(name)}"


def camel(name: str) -> str:
    """Return a field's name as users write it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_DEFAULT = Config()
SCHEMA = {option.key: option for option in _schema()}
