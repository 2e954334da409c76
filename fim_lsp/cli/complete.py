"""
`fim-lsp complete`: one completion at one place, asked of the real server as an editor would.

stdout gets the suggestion and nothing else; exit codes are grep's: 0 something, 1 nothing, 2 trouble.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fim_lsp.cli.client import Answer, Editor, ServerError, editor
from fim_lsp.cli.place import InputError, Place, find_place, read_text, root_of
from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.documents import Position

SOMETHING, NOTHING, TROUBLE = 0, 1, 2


def run(arguments: Namespace) -> int:
    """Print the suggestion for `arguments.place`; returns the exit code."""
    screen = screen_on(sys.stderr)
    try:
        place, others = _read(arguments)
        answer, stats = asyncio.run(_ask(place, others, _settings(arguments), screen))
    except (InputError, ServerError) as error:
        screen.status("")
        screen.line(f"fim-lsp: {error}")
        return TROUBLE
    if arguments.json:
        print(json.dumps(_as_json(place, answer, stats), ensure_ascii=False, indent=2))
    elif answer.offers:
        sys.stdout.write(answer.offers[0].text + "\n")
    else:
        screen.line("fim-lsp: nothing to suggest here")
    return SOMETHING if answer.offers else NOTHING


def _read(arguments: Namespace) -> tuple[Place, dict[Path, str]]:
    place = find_place(arguments.place)
    others = {Path(name): read_text(Path(name)) for name in arguments.open}
    if not place.text.strip() and not others:
        raise InputError(
            f"{place.path} is empty, there is nothing to go by: write a line first, "
            f"or show other files with --open"
        )
    return place, others


async def _ask(
    place: Place, others: Mapping[Path, str], settings: Mapping[str, object], screen: Screen
) -> tuple[Answer, dict[str, Any]]:
    root = root_of(place.path)
    async with editor(root, settings) as server:
        for path, text in others.items():
            server.open(path, text)
        server.open(place.path, place.text)
        await _wait_ready(server, screen)
        answer = await server.complete(place.path, place.position, invoked=True)
        return answer, await server.stats()


async def _wait_ready(server: Editor, screen: Screen) -> None:
    backend = await server.wait_settled(
        lambda seconds: screen.status(f"waiting for the model … {seconds:.1f} s")
    )
    screen.status("")
    if backend["state"] != "ready":
        reason = backend.get("message") or f"the model server is {backend['state']}"
        raise ServerError(f"{reason} (fim-lsp doctor says more)")


def _settings(arguments: Namespace) -> dict[str, object]:
    """A person waits for this one answer, so it may take longer than a keystroke's."""
    settings: dict[str, object] = {"completion": {"deadlineMs": 30_000}}
    if arguments.url:
        settings["backend"] = {"kind": "llama-server", "url": arguments.url}
    return settings


def _as_json(place: Place, answer: Answer, stats: Mapping[str, Any]) -> dict[str, object]:
    return {
        "file": str(place.path),
        **_one_based(place.position),
        "items": [
            {"text": o.text, "start": _one_based(o.start), "end": _one_based(o.end)}
            for o in answer.offers
        ],
        "ms": round(answer.ms, 1),
        "backend": stats["backend"],
        "tokens": stats["tokens"],
    }


def _one_based(position: Position) -> dict[str, int]:
    return {"line": position.line + 1, "column": position.column + 1}
