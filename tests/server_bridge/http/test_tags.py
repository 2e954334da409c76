"""What routers, shared caches and accounts are told, on the wire: nothing, unless it is set."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from server_bridge import bridge
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http, Tags
from server_bridge.protocol import BackendUnusable, Request
from tests.fault_proxy import fault_proxy
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import recorder

pytestmark = [pytest.mark.usefixtures("patient"), pytest.mark.promise("keys-stay")]

SALT = "c2FsdA"
USER = "team-7"
TAGS: dict[str, Any] = {
    "headers": (("X-Session-ID", "{session}"),),
    "body": (("cache_salt", SALT), ("user", USER)),
}
SAID = f"X-Session-ID: {bridge.SESSION}\r\n".encode()


@pytest.mark.parametrize(
    ("end", "asked"),
    [
        ("/v1/?api-version=2", "/v1/models?api-version=2"),
        ("/v1?a=1&b=2#top", "/v1/models?a=1&b=2"),
        ("/v1/chat/completions/", "/v1/models"),
        ("//", "/v1/models"),
        ("/team/v1", "/team/v1/models"),
    ],
)
async def test_what_stands_behind_an_address(end: str, asked: str) -> None:
    """A query goes behind each path, and the path of an endpoint is no part of the address."""
    with recorder(answer=b'{"data": [{"id": "qwen", "owned_by": "x"}]}') as server:
        backend = open_backend(BackendSettings("openai", server.url + end))
        await backend.connect()
        await backend.aclose()
    assert [path for _, path, *_ in server.heard] == [asked]


KINDS = ["llama-server", "openai", "auto"]
NO_SERVER = "http://127.0.0.1:1"


async def heard(url: str, settings: BackendSettings, *, found: bool = False) -> list[bytes]:
    """Return the requests of two backends in turn to a real server, which is named, or *found*."""
    async with fault_proxy(url) as proxy:
        named = NO_SERVER if found else proxy.url
        for _ in range(2):
            backend = open_backend(replace(settings, url=named, usual_urls=(proxy.url,)))
            await backend.complete(Request(prompt("    def "), n_predict=2))
            assert backend.state.url == proxy.url
            await backend.aclose()
    return proxy.heard


@pytest.mark.parametrize("kind", KINDS)
async def test_every_request_is_tagged_where_that_is_set(
    url: str, kind: Literal["llama-server", "openai", "auto"]
) -> None:
    """Header and fields in every request, the header also in those that only ask who is there; else none of them."""
    requests = await heard(url, BackendSettings(kind, **TAGS))
    assert all(SAID in request for request in requests)
    posted = [json.loads(r.partition(b"\r\n\r\n")[2]) for r in requests if r.startswith(b"POST")]
    assert posted
    assert all((body["cache_salt"], body["user"]) == (SALT, USER) for body in posted)
    for request in await heard(url, BackendSettings(kind)):
        assert not any(word in request for word in (SAID, b'"cache_salt"', b'"user":'))


async def test_servers_that_were_not_named_are_told_nothing(url: str) -> None:
    """What is said to the server that was named is not said to a server on a usual port."""
    for request in await heard(url, BackendSettings(**TAGS), found=True):
        assert not any(word in request for word in (SAID, SALT.encode(), USER.encode()))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("X Session", "a"), ("X-Session:", "a"), ("X-Sitzung-für", "a"), ("a\nb", "a"), (" ", "a"),
        ("X-A", "a\r\nX-B: b"), ("X-A", "ü"), ("Authorization", "Bearer a"), ("host", "a"),
    ],
)  # fmt: skip
def test_what_no_header_can_say_is_refused(name: str, text: str) -> None:
    """The message names the setting and shows how a header looks."""
    with pytest.raises(BackendUnusable, match=r"fim.backend.headers.*X-Session-ID"):
        open_backend(BackendSettings("openai", NO_SERVER, headers=((name, text),)))


@pytest.mark.parametrize("body", [b"{}", b'{"filename": "a"}'])
async def test_fields_join_any_object(body: bytes) -> None:
    """A tagged object is an object again, also an empty one."""
    with recorder() as server:
        http = Http(server.url, model="coder", tags=Tags(fields={"user": USER}))
        async for _ in http.stream("/slots/0?action=erase", body):
            pass
        await http.aclose()
    tagged = {"model": "coder", "user": USER, **json.loads(body)}
    assert json.loads(server.heard[-1][2]) == tagged
