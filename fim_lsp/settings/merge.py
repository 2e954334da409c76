"""
The settings by their names, and layers of them into a `Config` and sentences about what is wrong.
Pure.

A setting's name is `fim.`, the section, `.` and the field in camelCase; docs/configuration.md
and the settings of VS Code are made from `SCHEMA` by scripts/docs.

Settings come in layers: the user's file, the project's, what the editor says at start, on request
and on change, flags. Later layers win, and lists of what is hidden add up, with one exception: a
project's file is not trusted, so it may only tune and restrict in its folder, and what it restricts
stays restricted in later layers.

Every layer may say `{"fim": {"ring": {"chunks": 8}}}`, `{"ring.chunks": 8}` or anything between:
`keys` brings keys to one form. A wrong value is left out and named in a sentence; nothing here
fails. Where it may have said what is private, all is private (`PrivacyConfig.why_unknown`): of a
layer that is late or wrong, and of a key that may have been `fim.privacy.exclude`. The sentences
are shown to the user, and a repository may have written the keys and values in them: they are cut,
and so is their number.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from fim_lsp.display import sanitize
from fim_lsp.settings.config import BackendConfig, Config, ProjectRules, Table
from fim_lsp.settings.keys import EXCLUDE, KEY_CHARS, PRIVACY, flatten, may_hide, number_lines
from fim_lsp.settings.option import Option, Project

_DEFAULT = Config()


def _schema() -> Iterator[Option]:
    for section in dataclasses.fields(Config)[:-1]:  # but for the projects
        if section.metadata:  # a setting in no section
            yield section.metadata["option"]._replace(path=(section.name,))
            continue
        for row in filter(
            operator.attrgetter("metadata"), dataclasses.fields(getattr(_DEFAULT, section.name))
        ):
            yield row.metadata["option"]._replace(path=(section.name, row.name))


SCHEMA = {option.key: option for option in _schema()}


def make_config(values: Mapping[str, object]) -> Config:
    """
    Return the configuration with *values* by key, all of them valid, and defaults for the rest.
    """
    config = _DEFAULT
    for key, value in values.items():
        *section, name = SCHEMA[key].path
        changed: dict[str, Any] = {name: value}
        if section:
            changed = {section[0]: dataclasses.replace(getattr(config, section[0]), **changed)}
        config = dataclasses.replace(config, **changed)
    return config


_OF_A_SERVER = {"url", "model", "apiKeyEnv", "apiKeyFile", "apiKeyCommand", "caFile"}
# Of a list, a table is a wrong value: `{"**/*.pem": true}`, as VS Code's own `"files.exclude"` is.
_TABLES = {key for key, option in SCHEMA.items() if option.type in (dict, tuple, BackendConfig)}
_SECTIONS = {"fim", *(key.partition(".")[0] for key in SCHEMA)}
_QUIET = "completion.disabledFor"  # hides as well
UNTIL_MENDED = "; no suggestions until it is mended"
_SHOWN_CHARS = 40  # of a wrong value
_MOST_NAMED = 5  # of patterns in one sentence
_MOST_PROBLEMS = 50  # of a layer
_MOST_GUESSES = 10  # each compares a key with all known ones, which takes a millisecond


def has_ours(raw: object) -> bool:
    """
    Return whether settings that a client sends to all its servers have one of ours, or a key that
    may have been to say what is private.
    """
    names = {str(key).partition(".")[0] for key in raw} if isinstance(raw, Mapping) else set()
    keys = (key for key, _ in flatten(raw, ours=False, tables=_TABLES))
    return bool(names & _SECTIONS) or any(may_hide(key, PRIVACY) for key in keys)


class Layer(NamedTuple):
    """
    One source of settings, *source* as the user knows it; *raw* is whatever was found there.

    Of one *place* the last layer counts. A file is all *ours*, *text* is what is in it; *folder* is
    the project's whose file it is. *why_unknown* is why it is not known what it says: *raw* is what
    it said before.
    """

    source: str
    raw: object
    trusted: bool = True
    place: str = ""
    ours: bool = False
    text: str = ""
    folder: str = ""
    why_unknown: str = ""


class _Said(NamedTuple):
    """The settings of a layer whose values are right and that it may set, and what is wrong."""

    values: list[tuple[Option, object]]
    problems: list[str]
    why_unknown: str  # what it hides


def merge_layers(layers: Iterable[Layer]) -> tuple[Config, tuple[str, ...]]:
    """
    Return the configuration that *layers*, least important first, add up to, and what is wrong with
    them.
    """
    said = [(layer, _read(layer)) for layer in layers]
    trusted = [(layer, its) for layer, its in said if layer.trusted]
    config, _ = _combine(trusted)
    problems = [problem for _, its in said for problem in its.problems]
    rules = list[ProjectRules]()
    tuned = list[tuple[str, Config]]()
    for layer, its in said:
        if layer.trusted:
            continue
        own, ignored = _combine([each for each in said if each in trusted or each[0] is layer])
        hidden = {option.key: value for option, value in its.values}.get(EXCLUDE, ())
        kept = cast("tuple[str, ...]", _add((), hidden))
        if kept or its.why_unknown:
            rules.append(ProjectRules(layer.folder, kept, its.why_unknown))
        if own != config:
            tuned.append((str(PurePath(layer.source).parent), own))
        problems += ignored + _describe_ignored(layer.source, SCHEMA[EXCLUDE], hidden, kept)
    unknown = next((its.why_unknown for _, its in trusted if its.why_unknown), "")
    privacy = dataclasses.replace(config.privacy, unknown=unknown, projects=tuple(rules))
    projects = tuple((place, dataclasses.replace(own, privacy=privacy)) for place, own in tuned)
    config = dataclasses.replace(config, privacy=privacy, projects=projects)
    return config, tuple(problems)


def _combine(said: Iterable[tuple[Layer, _Said]]) -> tuple[Config, list[str]]:
    """Return the settings that layers add up to, and what of a project's has no effect."""
    values: dict[str, dict[str, object]] = {}
    restrictions: list[tuple[Option, object, str]] = []
    for layer, its in said:
        for option, value in its.values:
            if layer.trusted or option.project is Project.TUNE:
                values.setdefault(option.key, {})[layer.place or layer.source] = value
            elif option.key != EXCLUDE:
                restrictions.append((option, value, layer.source))
    merged = {key: _join(SCHEMA[key], [*given.values()]) for key, given in values.items()}
    ignored: list[str] = []
    for option, value, source in restrictions:
        before = merged.get(option.key, option.default)
        merged[option.key] = _RESTRICT[option.project](before, value)
        ignored += _describe_ignored(source, option, value, merged[option.key])
    return make_config(merged), ignored


def _read(layer: Layer) -> _Said:
    """Return what a layer says; a list that comes twice is one list."""
    given: dict[str, list[Any]] = {}
    for key, value in flatten(layer.raw, ours=layer.ours, tables=_TABLES):
        given.setdefault(key, []).append(value)
    values: list[tuple[Option, object]] = []
    wrong: list[str] = []
    hides = layer.why_unknown
    lines = number_lines(layer.text)
    for key, said in given.items():
        problem = _why_wrong(layer, key, said, guess=len(wrong) < _MOST_GUESSES)
        if not problem:
            option = SCHEMA[key]
            values.append((option, reduce(_add_default, [_valid(option, each) for each in said])))
            continue
        line = f"line {lines[key]}: " if key in lines else ""
        told = f"{layer.source}: {line}{problem}"
        if any(said) and (may_hide(key) or (key == _QUIET and not layer.trusted)):
            told += UNTIL_MENDED
            hides = hides or told
        wrong.append(told)
    unknown = [layer.why_unknown] if layer.why_unknown else []
    return _Said(values, unknown + _first(wrong, layer), hides)


def _first(wrong: list[str], layer: Layer) -> list[str]:
    """Return the first problems of a layer, and the number of the others."""
    n_more = len(wrong) - _MOST_PROBLEMS
    more = [f"{layer.source}: {n_more} more problems"] if n_more > 0 else []
    return wrong[:_MOST_PROBLEMS] + more


def _why_wrong(layer: Layer, key: str, said: list[Any], *, guess: bool) -> str:
    """Return what is wrong with the values of a key, or with the place of it, "" for nothing."""
    option = SCHEMA.get(key)
    if option is None:
        return f"there is no setting fim.{sanitize(key, KEY_CHARS)}" + guess * _guess_key(key)
    for value in said:
        if _valid(option, value) is None:
            return f"fim.{key} must be {describe_expected(option)}, not {_shorten(value)}"
    if not layer.trusted and option.project is Project.NEVER:
        return f"a project may not set fim.{key}"
    if option.type is not tuple and any(value != said[0] for value in said):
        return f"fim.{key} is set twice; correct one of them"
    return ""


def _valid(option: Option, value: object) -> object:
    """Return the value as the option's type, or None."""
    if parse := _PARSERS.get(option.type):
        return parse(value)
    if option.type is tuple:
        texts = isinstance(value, list) and all(isinstance(v, str) and v for v in value)
        return tuple(cast("list[str]", value)) if texts else None
    if option.type in (int, float):
        return _number(option, value)
    right = type(value) is option.type and (not option.choices or value in option.choices)
    return value if right else None


def _endpoints(value: object) -> tuple[BackendConfig, ...] | None:
    endpoints = [_endpoint(server) for server in value] if isinstance(value, list) else [None]
    return None if None in endpoints else cast("tuple[BackendConfig, ...]", tuple(endpoints))


def _server(value: object) -> BackendConfig | None:
    """Return the server of a table, of which only the place and the way there can be set."""
    is_server = isinstance(value, Mapping) and value.keys() <= _OF_A_SERVER
    return _endpoint(value) if is_server else None


def _table(value: object) -> Table | None:
    """Return a table of texts; None if one is empty or none at all."""
    if not isinstance(value, Mapping):
        return None
    items = tuple(value.items())
    return items if all(isinstance(text, str) and text for item in items for text in item) else None


def _endpoint(value: object) -> BackendConfig | None:
    """
    Return one server of a table with settings of the section; None if one of them is not right.
    """
    if not isinstance(value, Mapping):
        return None
    values: dict[str, object] = {}
    for key, raw in value.items():
        option = SCHEMA.get(f"backend.{key}")
        if option is None or option.type is list or (valid := _valid(option, raw)) is None:
            return None
        values[option.key] = valid
    return make_config(values).backend


_PARSERS = {list: _endpoints, BackendConfig: _server, dict: _table}


def _number(option: Option, value: object) -> object:
    """
    Return the number as the option's type: some clients know one kind of number only, so 16.0 is
    16; true is no number.
    """
    if type(value) not in (int, float) or not option.low <= cast("float", value) <= option.high:
        return None
    number = option.type(value)
    return number if number == value else None


def describe_expected(option: Option) -> str:
    """Describe the values that the option takes."""
    if option.choices:
        return "one of " + ", ".join(option.choices)
    if option.type in (int, float):
        number = "a whole number" if option.type is int else "a number"
        return f"{number} from {option.low} to {option.high}"
    words = {
        bool: "true or false",
        str: "a text",
        tuple: "a list of texts",
        BackendConfig: 'a server like {"url": "http://127.0.0.1:8013", "model": "zeta-2"}',
        dict: "a table of texts",
        list: 'a list of servers like {"url": "http://127.0.0.1:8012", "kind": "llama-server"}',
    }
    return words[option.type]


def _guess_key(key: str) -> str:
    """Return a guess at what *key* was to be: spelled alike, or right but for its section."""
    key = key[:KEY_CHARS]
    last = key.rsplit(".", 1)[-1]
    section = key.partition(".")[0]
    servers = [k for k in _TABLES if k == f"{section}.server" and last in _OF_A_SERVER]
    guesses = servers + [k for k in SCHEMA if k.rsplit(".", 1)[-1].lower() == last.lower()]
    guesses += difflib.get_close_matches(key, SCHEMA, n=1)
    return f"; did you mean fim.{guesses[0]}?" if guesses else ""


def _join(option: Option, values: list[object]) -> object:
    """Return the last value; lists are added to the default, those of what is hidden all are."""
    result = option.default
    for value in values if option.key == EXCLUDE else values[-1:]:
        result = _add_default(result, value)
    return result


def _add_default(default: object, value: object) -> object:
    """Add lists to the default, so that naming one more file does not bare all the others."""
    if isinstance(default, tuple) and isinstance(value, tuple):
        return tuple(dict.fromkeys(default + value))
    return value


def _add(before: object, value: object) -> object:
    """Return both lists; a project adds and never takes back, so its `!patterns` are left out."""
    return _add_default(before, tuple(v for v in cast("tuple[str, ...]", value) if v[0] != "!"))


_RESTRICT: dict[Project, Callable[[Any, Any], object]] = {
    Project.LOWER: min,
    Project.OFF: operator.and_,
    Project.ADD: _add,
}


def _describe_ignored(source: str, option: Option, value: object, result: object) -> list[str]:
    """Describe the part of a project's *value* that has no effect, if there is one."""
    if isinstance(value, tuple):
        refused = sorted(set(value) - set(cast("tuple[str, ...]", result)))
        patterns = ", ".join(sanitize(pattern, _SHOWN_CHARS) for pattern in refused[:_MOST_NAMED])
        return [f"{source}: a project may not undo {patterns}"] if refused else []
    if value == result:
        return []
    may = f"a project may {option.project.value} fim.{option.key}"
    return [f"{source}: {may}; it stays {_shorten(result)}"]


def _shorten(value: object) -> str:
    """Return a value as the user may have written it, but short."""
    if isinstance(value, str):
        value = value[: 4 * _SHOWN_CHARS]
    is_huge = isinstance(value, int) and value.bit_length() > _SHOWN_CHARS  # a TOML file has any
    if isinstance(value, str | int | float) and not is_huge:
        return sanitize(json.dumps(value, ensure_ascii=False), _SHOWN_CHARS)
    return {int: "a huge number", list: "a list", dict: "a table"}.get(
        type(value), "a date or time"
    )
