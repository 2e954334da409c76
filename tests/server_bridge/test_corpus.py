"""
What the servers that we name answer, from their sources: through backend, filters and session.

A new server is a file in `corpus`: `models` is its list, `model` the one that the user chose,
`answers` are bodies and the suggestion that is `shown`, if any, `errors` what they mean, or the
field that they `refuse`. With `crlf` its lines end so. `sources` were opened and compared, at a
commit; the entries in `unopened` were not.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.session.session import Session
from server_bridge import protocol
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http import responses
from server_bridge.http.client import Http
from server_bridge.http.key_refusals import Refused
from server_bridge.openai.backend import OpenAiServer
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import Heard, recorder
from tests.typist import QUICK, Typist

CORPUS = Path(__file__).parent / "corpus"
SERVERS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in CORPUS.glob("*.toml")}
FILE = "def total(a, b):\n    value = "
ASKED = protocol.Request(prompt("    value = "), 128)
Entry = dict[str, Any]
ERRORS: dict[str, type[protocol.BackendError]] = {
    each.__name__: each
    for each in (
        protocol.PromptTooLong, protocol.BackendRejected, protocol.BackendUnavailable,
        responses.ServerError, responses.Loading, Refused,
    )
}  # fmt: skip


def each(kind: str) -> list[Any]:
    """Return the servers, each with an entry of a *kind*."""
    return [
        pytest.param(server, entry, id=f"{name}: {entry['name']}")
        for name, server in sorted(SERVERS.items())
        for entry in server.get(kind, ())
    ]


def body(entry: Entry) -> bytes:
    ends = "\r\n" if entry.get("crlf") else "\n"
    return str(entry["body"]).replace("\n", ends).encode()


def answering(
    server: Entry, fails: Entry | None, refused: Callable[[Any], bool]
) -> Callable[[Heard], tuple[int, bytes]]:
    """Return what *server* answers, where a request that is *refused* gets the error *fails*."""

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return (200, server["models"].encode()) if heard.path == "/v1/models" else (404, b"")
        if fails and refused(json.loads(heard.body)):
            return fails["status"], body(fails)
        return 200, body(server["answers"][0])

    return answer


async def suggestions(url: str, server: Entry, text: str = FILE) -> list[str]:
    """Return what an editor is shown that asks by hand."""
    settings = BackendSettings("openai", url, server.get("model", ""))
    session = Session(QUICK, lambda _: open_backend(settings))
    await session.connection.wait_ready()
    shown = await Typist(session, text).ask(invoked=True)
    await session.aclose()
    return [suggestion.text for suggestion in shown]


@pytest.mark.parametrize(("server", "entry"), each("answers"))
async def test_what_a_server_answers_is_shown(server: Entry, entry: Entry) -> None:
    """Its stream becomes a suggestion, whatever it says that it is."""
    kind = "application/json" if len(entry["name"]) % 2 else "text/event-stream; charset=utf-8"
    answer = answering({**server, "answers": [entry]}, None, lambda _: False)
    with recorder(answer=answer) as running:
        running.headers["Content-Type"] = kind
        shown = [entry["shown"]] if entry["shown"] else []
        assert await suggestions(running.url, server) == shown


@pytest.mark.parametrize(("server", "entry"), each("errors"))
async def test_what_a_server_refuses_means_what_it_says(server: Entry, entry: Entry) -> None:
    """An error by what the caller should do; a field that is refused costs no completion."""
    refused = entry.get("refuses")
    answer = answering(server, entry, lambda asked: not refused or refused in asked)
    with recorder(answer=answer) as running:
        http = Http(running.url)
        model = server.get("model", "")
        async with aclosing(OpenAiServer(http, model)) as backend:
            if refused:
                assert server["answers"][0]["shown"] in (await backend.complete(ASKED)).text
                asked = [json.loads(heard.body) for heard in running.heard if heard.body]
                assert refused in asked[0]
                assert refused not in asked[-1]
                return
            with pytest.raises(protocol.BackendError) as caught:
                await backend.complete(ASKED)
    assert type(caught.value) is ERRORS[entry["means"]]


CONTEXT, CHARS = 400, 2.0  # the tokens of which the corpus tells, and characters for each
LONG = [param for param in each("errors") if param.values[1].get("means") == "PromptTooLong"]


@pytest.mark.parametrize(("server", "entry"), LONG)
async def test_a_shorter_prompt_follows_one_that_was_too_long(server: Entry, entry: Entry) -> None:
    """Within four tries the editor has its suggestion."""
    n_refused = 0
    first = server["answers"][0]
    # The figures of a recorded answer are not about this prompt.
    answer = {**first, "body": first["body"].replace('"usage"', '"cost"')}
    server = {**server, "answers": [answer]}

    def refused(asked: Entry) -> bool:
        nonlocal n_refused
        text = asked.get("prompt") or asked["messages"][0]["content"]
        is_too_long = len(text) / CHARS + asked["max_tokens"] > CONTEXT
        n_refused += is_too_long
        return is_too_long

    with recorder(answer=answering(server, entry, refused)) as running:
        text = "# a comment that is long\n" * 150 + FILE
        assert await suggestions(running.url, server, text) == [first["shown"]]
    assert 1 <= n_refused <= 3


def test_the_corpus_has_the_servers_that_we_name() -> None:
    """Each with an answer, its sources, and something that it refuses."""
    assert len(SERVERS) >= 12
    assert all(each["sources"] and each["answers"] and each["errors"] for each in SERVERS.values())
