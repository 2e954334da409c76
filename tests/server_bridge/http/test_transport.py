"""Proxies, certificates and keys of a developer's environment: used, passed over, or named."""

from __future__ import annotations

import re
from contextlib import aclosing
from pathlib import Path

import pytest

from server_bridge.http.api_key import Key
from server_bridge.http.client import Http
from server_bridge.http.transport import CERTIFICATES
from server_bridge.protocol import BackendUnavailable, BackendUnusable
from server_bridge.weights import model_files
from tests.server_bridge.recorder import recorder
from tests.server_bridge.weights.hub import model

FAR = "http://models.example.test:8000"
SAFE = "https://models.example.test"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
SOCKS = "socks5://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's own environment."""
    for name in (*PROXIES, *CERTIFICATES):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


USED = [
    {"ALL_PROXY": SOCKS, "HTTP_PROXY": "{}"},
    {"HTTPS_PROXY": "http://proxy.example.test:port", "HTTP_PROXY": "{}"},
    {"NO_PROXY": "localhost,[::1],fe80::/10,10.0.0.0/8,*.corp,http://[,:,::1", "HTTP_PROXY": "{}"},
    {"all_proxy": "{}"},
    {"HTTP_PROXY": "{bare}"},
    {"SSL_CERT_FILE": "/nowhere/ca.pem", "SSLKEYLOGFILE": "/nowhere/keys", "HTTP_PROXY": "{}"},
]


@pytest.mark.parametrize("environment", USED)
async def test_what_no_request_needs_is_passed_over(environment: dict[str, str], monkeypatch):
    """A request goes through the proxy of its own scheme, whatever else is set."""
    with recorder() as proxy:
        for name, value in environment.items():
            monkeypatch.setenv(name, value.format(proxy.url, bare=proxy.url.partition("//")[2]))
        async with aclosing(Http(FAR)) as http:
            assert await http.get("/props") == {"status": "ok"}
    assert [path for _, path, *_ in proxy.heard] == [f"{FAR}/props"]


@pytest.mark.parametrize(
    "no_proxy", ["models.example.test", ".example.test", "[::1],example.test", "*"]
)
async def test_a_host_that_needs_no_proxy_is_asked_itself(no_proxy: str, monkeypatch) -> None:
    """Whatever else stands in NO_PROXY."""
    with recorder() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", no_proxy)
        async with aclosing(Http(FAR)) as http:
            with pytest.raises(BackendUnavailable, match="cannot connect"):
                await http.get("/props")
    assert proxy.heard == []


NAMED = [
    (FAR, {"HTTP_PROXY": SOCKS}, "HTTP_PROXY is a SOCKS proxy"),
    (FAR, {"ALL_PROXY": "SOCKS5H://127.0.0.1:1"}, "ALL_PROXY is a SOCKS proxy"),
    (SAFE, {"all_proxy": "socks4://127.0.0.1:1"}, "all_proxy is a SOCKS proxy.*NO_PROXY"),
    (SAFE, {"HTTPS_PROXY": "http://proxy.example.test:port"}, "HTTPS_PROXY is not the address"),
    (FAR, {"http_proxy": "http://me:s3cret@[::1"}, "http_proxy is not the address"),
    (FAR, {"HTTP_PROXY": "ftp://proxy"}, "HTTP_PROXY is not the address"),
    (SAFE, {"SSL_CERT_FILE": __file__}, "correct or unset SSL_CERT_FILE"),
    (SAFE, {"SSLKEYLOGFILE": "/nowhere/keys"}, "correct or unset SSLKEYLOGFILE"),
]


@pytest.mark.parametrize(("url", "environment", "says"), NAMED)
async def test_what_a_request_needs_and_cannot_use_is_named(
    url: str, environment: dict[str, str], says: str, monkeypatch, tmp_path
) -> None:
    """One sentence with the variable, of a server and of a download; no password is in it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with aclosing(Http(url)) as http:
        for ask in (http.get("/props"), anext(http.stream("/completion", b"{}"))):
            with pytest.raises(BackendUnusable, match=says) as caught:
                await ask
            assert "s3cret" not in f"{caught.value}{caught.value.__cause__!r}"
    with pytest.raises(model_files.CannotDownload, match=says):
        model_files.fetch(model(), tmp_path, lambda *_: None, url)


KEYS = {
    b"s3cret": "s3cret",
    b"\xef\xbb\xbfs3cret\r\n": "s3cret",
    "s3cret\n".encode("utf-16"): "s3cret",
    "\u200b s3cret \ufeff\n".encode(): "s3cret",
    "s3crét".encode(): None,
    b"s3c\nret": None,
    b"s3\x00cret": None,
    b"\xff\xff": "",
}


@pytest.mark.parametrize("content", KEYS)
async def test_the_marks_of_a_file_are_no_part_of_a_key(content: bytes, tmp_path: Path) -> None:
    """What no header can hold is an invalid key, what is no text a file that cannot be read."""
    (tmp_path / "key").write_bytes(content)
    key = KEYS[content]
    with recorder() as server:
        async with aclosing(Http(server.url, Key(file=str(tmp_path / "key")))) as http:
            if key:
                await http.get("/props")
                assert [heard.key for heard in server.heard] == [f"Bearer {key}"]
                return
            says = "invalid characters.*apiKeyFile" if key is None else "apiKeyFile cannot be read"
            with pytest.raises(BackendUnusable, match=says) as caught:
                await http.get("/props")
    assert not re.search("cr[eé]t", f"{caught.value}{caught.value.__cause__!r}")
    assert server.heard == []
