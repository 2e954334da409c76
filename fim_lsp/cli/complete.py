"""
`fim-lsp complete`: one completion at one position, from the real server, as an editor would get it.

stdout gets the suggestion and nothing else; exit codes are grep's: 0 a suggestion, 1 none, 2 an error.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.cli.client import Answer, LspClient, ServerError, editor
from fim_lsp.cli.location import FilePosition, InputError, find_position, read_text, root_of
from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.documents import Position
from fim_lsp.suggest.outcome import TOY, notice, report
from server_bridge.weights.table import is_bundled


class Tried(NamedTuple):
    """One request, *by_hand* or as while typing: what came, how it ended, and why."""

    answer: Answer
    outcome: str
    reason: str
    by_hand: bool


def rows(all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> dict[str, str]:
    """Return what each request got, by its title, and what else is to be known of the model."""
    found = {}
    for tried in all_tried:
        said = tried.answer.suggestions
        title = "by hand" if tried.by_hand else "while typing"
        text = said[0].text if said else ""
        found[title] = report(text, tried.outcome, tried.reason, by_hand=tried.by_hand)
    if note := notice(backend):
        found["the model"] = note
    return found


def lines(place: str, all_tried: Sequence[Tried], backend: Mapping[str, Any]) -> list[str]:
    """Return the report on *place*, to read."""
    return [place, *(f"  {title:<13} {said}" for title, said in rows(all_tried, backend).items())]


SUGGESTION, NO_SUGGESTION, ERROR = 0, 1, 2
# The server in use ended while it wrote, as the engine of an editor does with its editor: the next one has to evaluate
# the whole prompt first, for which only a new request has the time.
COLD, N_TRIES = "Cold", 2


def run(arguments: Namespace) -> int:
    """Print the suggestion for `arguments.position`; returns the exit code."""
    screen = screen_on(sys.stderr)
    kinds = (False, True) if arguments.why else (True,)
    try:
        position, others = _read(arguments)
        all_tried, stats = asyncio.run(_ask(position, others, arguments, kinds, screen))
    except (InputError, ServerError) as error:
        screen.status("")
        screen.line(f"fim-lsp: {error}")
        return ERROR
    tried, backend = all_tried[-1], stats["backend"]
    if (message := backend.get("message")) and not (arguments.json or arguments.why):
        screen.say(f"fim-lsp: {message}")  # another model answers than the one that is named
    if arguments.json:
        found = _as_json(position, tried, stats)
        if arguments.why:
            found["why"] = rows(all_tried, backend)
        print(json.dumps(found, ensure_ascii=False, indent=2))
    elif arguments.why:
        print("\n".join(lines(_place(position), all_tried, backend)))
    elif tried.answer.suggestions:
        sys.stdout.write(tried.answer.suggestions[0].text + "\n")
    else:
        screen.line(f"fim-lsp: nothing to suggest here: {tried.reason}")
    if screen.live and is_bundled(backend["model"]) and not arguments.why:
        screen.line(screen.paint(f"(by {TOY})", "faint"))
    return SUGGESTION if tried.answer.suggestions else NO_SUGGESTION


def _read(arguments: Namespace) -> tuple[FilePosition, dict[Path, str]]:
    position = find_position(arguments.position)
    others = {Path(name): read_text(Path(name)) for name in arguments.open}
    if not position.text.strip() and not others:
        raise InputError(
            f"{position.path} is empty, so there is no context: write a line first, "
            f"or add other files with --open"
        )
    return position, others


async def _ask(
    position: FilePosition,
    others: Mapping[Path, str],
    arguments: Namespace,
    kinds: Sequence[bool],
    screen: Screen,
) -> tuple[list[Tried], dict[str, Any]]:
    """Send a request of each of *kinds* (by hand or not), and the server's numbers at the end."""
    root = root_of(position.path)
    async with editor(root, _settings(arguments)) as server:
        for path, text in others.items():
            server.open(path, text)
        server.open(position.path, position.text)
        is_ready = await _wait_ready(server, screen, needed=not arguments.why)
        kinds = kinds if is_ready else kinds[:1]  # by hand the server would wait for the model
        all_tried = [await _try(server, position, screen, invoked=kind) for kind in kinds]
        return all_tried, await server.stats()


async def _try(
    server: LspClient, position: FilePosition, screen: Screen, *, invoked: bool
) -> Tried:
    def progress(n_tokens: int, seconds: float) -> None:
        screen.status(f"the model reads the file: {n_tokens:,} tokens … {seconds:.1f} s")

    path, at = position.path, position.position
    for _ in range(N_TRIES):
        answer = await server.complete(path, at, invoked=invoked, progress=progress)
        last = (await server.stats())["last"]
        if last["outcome"] != COLD:
            break
    screen.status("")
    return Tried(answer, last["outcome"], last["reason"], by_hand=invoked)


async def _wait_ready(server: LspClient, screen: Screen, *, needed: bool) -> bool:
    """Wait until the backend is ready, or not likely to be; whether it is."""
    backend = await server.wait_settled(
        lambda seconds: screen.status(f"waiting for the model … {seconds:.1f} s")
    )
    screen.status("")
    is_ready: bool = backend["state"] == "ready"
    if needed and not is_ready:
        reason = backend.get("message") or f"the model server is {backend['state']}"
        raise ServerError(f"{reason} (fim-lsp doctor says more)")
    return is_ready


def _settings(arguments: Namespace) -> dict[str, object]:
    """
    Return the settings for this request; the user waits for this one answer, so it may take longer
    than one during typing.
    """
    settings: dict[str, object] = {"completion": {"deadlineMs": 30_000}}
    if arguments.url:
        settings["backend"] = {"kind": "llama-server", "url": arguments.url}
    return settings


def _place(position: FilePosition) -> str:
    line, column = _one_based(position.position).values()
    return f"{position.path}:{line}:{column}"


def _as_json(position: FilePosition, tried: Tried, stats: Mapping[str, Any]) -> dict[str, object]:
    answer = tried.answer
    return {
        "file": str(position.path),
        **_one_based(position.position),
        "items": [
            {"text": each.text, "start": _one_based(each.start), "end": _one_based(each.end)}
            for each in answer.suggestions
        ],
        "outcome": tried.outcome,
        "ms": round(answer.ms, 1),
        "backend": stats["backend"],
        "tokens": stats["tokens"],
    }


def _one_based(position: Position) -> dict[str, int]:
    return {"line": position.line + 1, "column": position.column + 1}
