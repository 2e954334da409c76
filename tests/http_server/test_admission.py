"""Who is not answered: web pages, names that lead here, programs without the key."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fim_lsp.http_server import connections, local_port
from tests.http_server.clients import Served, served, vim
from tests.typist import faked

pytestmark = pytest.mark.promise("no-web-page")

PATHS = ("/", "/page.js", "/page/state", "/health", "/infill", "/v1/completions", "/props")

FOREIGN = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "http://127.0.0.1.evil.example"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


@pytest.fixture
async def at_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(connections, "UNREAD_S", 0.1)
    async with served(faked(), tmp_path, tmp_path / "cache") as found:
        yield found


@pytest.mark.promise("your-programs-only")
async def test_dns_rebinding(at_port: Served) -> None:
    """A page whose own name was made to lead here still says its name."""
    names = (f"evil.example:{at_port.port.port}", "evil.example", "127.0.0.1", "127.0.0.1:1")
    for path, host in itertools.product(PATHS, names):
        for method in ("GET", "POST"):
            answer = await at_port.client.request(method, path, headers={"host": host})
            assert answer.status_code == 403
            assert "def " not in answer.text


@pytest.mark.promise("your-programs-only")
async def test_web_pages(at_port: Served) -> None:
    """Whatever a page asks, its browser says that it does; and no other origin may read anything."""
    for path, headers, method in itertools.product(PATHS, FOREIGN, ("GET", "POST", "OPTIONS")):
        answer = await at_port.client.request(method, path, headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("name", ["origin", "sec-fetch-site"])
async def test_headers_that_are_said_twice(at_port: Served, name: str) -> None:
    """What allows a request does not take back what forbids it, in whichever order."""
    own = f"http://127.0.0.1:{at_port.port.port}" if name == "origin" else "same-origin"
    evil = "https://evil.example" if name == "origin" else "cross-site"
    for said in ([(name, evil), (name, own)], [(name, own), (name, evil)], [(name, own)] * 2):
        answer = await at_port.client.get("/page/state", headers=said)
        assert answer.status_code == 403


@pytest.mark.parametrize("target", ["http://evil.example/x", "//evil.example/x", "evil.example:80"])
async def test_no_other_server_is_asked(at_port: Served, target: str) -> None:
    """A request that names another server in its target is refused."""
    reader, writer = await asyncio.open_connection("127.0.0.1", at_port.port.port)
    host = f"127.0.0.1:{at_port.port.port}"
    head = f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\n\r\n{{}}"
    writer.write(head.encode())
    answer = await asyncio.wait_for(reader.read(), 10)
    assert answer.startswith(b"HTTP/1.1 403")
    assert not at_port.port._routes.counts
    writer.close()


async def test_its_own_page_and_programs_are_answered(at_port: Served) -> None:
    """By each name of this machine."""
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{at_port.port.port}"
        own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert (await at_port.client.get("/page/state", headers=own)).status_code == 200


@pytest.mark.promise("your-programs-only")
@pytest.mark.parametrize("key", ["secret", ""])
async def test_the_key(tmp_path: Path, key: str) -> None:
    """One that is set or made, but always one: all that is anyone's code wants it; the page's own files hold nothing."""
    wrong = ("Bearer wrong", "Bearer", "Basic secret")
    async with served(faked(), tmp_path, tmp_path / "cache", key=key) as at_port:
        known = {"authorization": f"Bearer {at_port.port.key}"}
        at_port.client.headers.pop("authorization", None)
        for said in ({}, *({"authorization": each} for each in wrong)):
            for path in ("/page/state", "/health", "/props", "/v1/models"):
                assert (await at_port.client.get(path, headers=said)).status_code == 401
            answer = await at_port.client.post("/infill", json=vim("a", 0, 1), headers=said)
            assert answer.status_code == 401
            assert (await at_port.client.get("/", headers=said)).status_code == 200
        assert not at_port.port._routes.counts
        assert sum(at_port.port._page.refused.values()) == 20
        assert (await at_port.client.get("/page/state", headers=known)).status_code == 200


async def test_the_pages_key_is_for_the_page(at_port: Served) -> None:
    """A browser shows its address to others: what is in it ends with the process, and asks no model."""
    said = {"authorization": f"Bearer {at_port.port.page_url.partition('#')[2]}"}
    assert (await at_port.client.get("/page/state", headers=said)).status_code == 200
    for path in ("/infill", "/v1/completions", "/tokenize"):
        answer = await at_port.client.post(path, json=vim("a", 0, 1), headers=said)
        assert answer.status_code == 401


def test_the_key_is_kept(tmp_path: Path) -> None:
    """Made once, for the user alone; one that others could read is replaced; it works where nothing can be kept."""
    file = tmp_path / "state" / "client-key"
    key = local_port.own_key(file)
    assert key == local_port.own_key(file)
    assert len(key) > 30
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
        file.chmod(0o644)
        assert local_port.own_key(file) not in ("", key)
    (tmp_path / "file").write_text("")
    assert local_port.own_key(tmp_path / "file" / "client-key")
    file.write_text("\n")
    assert local_port.own_key(file)


async def test_it_listens_on_this_machine_only(at_port: Served) -> None:
    """The one address that no other machine can reach."""
    sockets = at_port.port._listener.server.sockets
    assert [each.getsockname()[0] for each in sockets] == ["127.0.0.1"]


async def test_the_page_may_load_nothing_from_elsewhere(at_port: Served) -> None:
    """The browser is told so, too: no script, style, frame or form but its own."""
    answer = await at_port.client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
