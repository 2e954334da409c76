"""Ways to ask one llama.cpp server for what is missing at a place: two without fim-lsp, two through a session of it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from benchmarks.infilling.places import Measure, Place
from fim_lsp import events
from fim_lsp.documents import Edit, Position, after
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.fim.tokens import Family, families
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import BackendUnavailable, BackendUnusable

ARMS = ("raw", "opened", "infill", "hand", "auto")
USUAL = ("raw", "infill", "hand", "auto")
OPENED = ("opened", "hand", "auto")  # in the line that an editor opened
LINE_TOKENS = 48
LINES_TOKENS = 192
PATIENCE_S = 600.0
START_S = 30.0
SUFFIXES = {"python": ".py", "javascript": ".js", "java": ".java", "cpp": ".cpp", "csharp": ".cs"}
PATIENT = {"completion.deadlineMs": 60_000, "completion.patienceMs": 60_000}

Arm = Callable[[Place], Awaitable[str]]


@asynccontextmanager
async def arms(url: str, family: Family, rest_s: float) -> AsyncIterator[dict[str, Arm]]:
    """All of `ARMS` on the server at *url*, whose model is of *family*; fim-lsp's after a rest."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:

        async def raw(place: Place) -> str:
            return await _complete(client, place, _prompt(family, place.above, place.below))

        async def opened(place: Place) -> str:
            return await _complete(client, place, _prompt(family, *place.shown))

        async def infill(place: Place) -> str:
            body = {"input_prefix": place.above, "input_suffix": place.below, "prompt": ""}
            return await _content(client, "/infill", place, body | {"cache_prompt": False})

        yield {
            "raw": raw,
            "opened": opened,
            "infill": infill,
            "hand": lambda place: ours(url, place, rest_s, invoked=True),
            "auto": lambda place: ours(url, place, rest_s, invoked=False),
        }


async def find_family(url: str) -> Family:
    """Return the tokens with which the model at *url* fills a hole. Raises `BackendError` if it has none."""
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    try:
        await server.connect()
        if server.state.second_best:
            raise BackendUnusable(server.state.second_best)
    finally:
        await server.aclose()
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S, trust_env=False) as client:
        for family in families(server.state.model):
            body = {"content": "".join(family.spellings), "parse_special": True}
            tokens = (await client.post("/tokenize", json=body)).raise_for_status().json()["tokens"]
            if len(tokens) == len(family.spellings):
                return family
    raise BackendUnusable(f"{server.state.model} has tokens of no family that is known")


def _prompt(family: Family, above: str, below: str) -> str:
    """Return the prompt of a model's makers, for one file without a name."""
    above = family.prefix + above
    below = family.suffix + below
    parts = (below, above) if family.suffix_first else (above, below)
    return "".join((*parts, family.middle))


async def _complete(client: httpx.AsyncClient, place: Place, prompt: str) -> str:
    return await _content(client, "/completion", place, {"prompt": prompt})


async def _content(
    client: httpx.AsyncClient, path: str, place: Place, body: dict[str, object]
) -> str:
    """Return what the server writes; of a line that is missing, no more than one with something on it."""
    n_tokens = LINE_TOKENS if place.is_line else LINES_TOKENS
    whole = body | {"n_predict": n_tokens, "temperature": 0}
    if place.is_line and place.measure is not Measure.CALL:
        text = await _ask(client, path, whole | {"stop": ["\n"]})
        if text.strip():
            return text
    return await _ask(client, path, whole)


async def _ask(client: httpx.AsyncClient, path: str, body: dict[str, object]) -> str:
    answer = await client.post(path, json=body)
    return str(answer.raise_for_status().json()["content"])


async def ours(url: str, place: Place, rest_s: float, *, invoked: bool) -> str:
    """Return what fim-lsp shows in a file of its own, in a folder with nothing else."""
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    session = Session(make_config(PATIENT), lambda _: server)
    above, below = place.shown
    typed = above if invoked else above[:-1]  # the last character is a key, which asks by itself
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(
            temporary, "code"
        )  # whose name is in the prompt: that of both arms is the same
        file = folder / f"task{SUFFIXES[place.language]}"
        _write(file, typed + below)
        uri = file.as_uri()
        at = after(Position(0, 0), typed)
        try:
            session.handle(events.FoldersChanged((folder.as_uri(),)))
            session.handle(events.Opened(uri, place.language, 1, typed + below))
            session.handle(events.CursorMoved(uri, at))
            await session.connection.wait_ready(START_S)
            with suppress(TimeoutError):  # as a user who reads, until nothing is left to do ahead
                await asyncio.wait_for(session.wait_idle(), rest_s)
            if not invoked:
                key = above[-1]
                session.handle(events.Changed(uri, 2, (Edit(at, at, key),)))
                at = after(at, key)
            answer = await session.complete(uri, at, invoked=invoked)
            if (
                answer.end.is_failure or not session.connection.is_ready
            ):  # which says nothing of the model
                raise BackendUnavailable(session.connection.state.message or answer.end.words)
            return answer.suggestions[0].text if answer.suggestions else ""
        finally:
            await session.aclose()


def _write(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text, "utf-8", newline="")
