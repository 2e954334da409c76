"""What deploy/'s nginx passes on: the requests that an editor sends, with a key; nothing else, however it is spelled."""

from __future__ import annotations

import asyncio
import re
import secrets
import signal
import socket
import ssl
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.tests.edge.nginx import (
    KEY,
    LOGIN,
    OTHER_KEY,
    PATIENCE_S,
    SERVER_KEY,
    Edge,
    edge,
    watching,
    write_keys,
)
from deploy.tests.edge.spellings import absolute, spelled
from deploy.tests.edge.upstream import Upstream
from deploy.tests.test_deploy import ALLOWED
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.api_key import Key
from server_bridge.protocol import Request
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import short

pytestmark = pytest.mark.promise("a-team-server")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get", "X")
PASSED = {"Authorization", "Content-Type", "Content-Length", "X-Session-ID", "X-SMG-Routing-Key",
          "X-AIBrix-Session-Key", "routing-strategy"}  # fmt: skip
ADDED = {"Host"}
OTHER_LOGIN = {"Authorization": f"Bearer {OTHER_KEY}"}


@pytest.fixture(params=ALLOWED)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def front(kind: str, fronts: dict[str, Edge], behind: Upstream) -> Edge:
    behind.seen.clear()
    return fronts[kind]


def test_only_the_requests_of_an_editor_pass(kind: str, front: Edge, behind: Upstream) -> None:
    """Each with every method: what is not in the list is 404, and reaches no server."""
    with closing(front.connection()) as connection:
        for path in {each.partition(" ")[2] for each in ALLOWED[kind]}:
            for method in METHODS:
                connection.request(method, path, headers=LOGIN)
                answer = connection.getresponse()
                answer.read()
                wanted = 200 if f"{method} {path}" in ALLOWED[kind] else 404
                assert answer.status == (400 if method == "get" else wanted), (method, path)
    assert {each.line for each in behind.seen} == {f"{each} HTTP/1.1" for each in ALLOWED[kind]}


@pytest.mark.parametrize("path", ["/list_workers", "/v1/models", "/health", "/props"])
def test_no_other_spelling_passes(path: str, front: Edge, behind: Upstream) -> None:
    """With the key and without it; of a path that is in the list, too."""
    with closing(front.connection()) as connection:
        for target in {*spelled(path)} - {path}:
            for method, headers in [
                ("GET", LOGIN),
                ("POST", LOGIN),
                ("DELETE", LOGIN),
                ("GET", {}),
            ]:
                connection.request(method, target, headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status in {404, 400}, (method, target)
    assert not behind.seen


def test_a_target_with_a_servers_name_is_its_path(kind: str, front: Edge, behind: Upstream) -> None:
    """It leads to no other server, and a path that is not in the list is 404."""
    for target in absolute("/list_workers"):
        assert front.ask("GET", target)[0] in {404, 400}, target
    assert not behind.seen
    for target in absolute("/health"):
        front.ask("GET", target)
    assert {each.line for each in behind.seen} <= {"GET /health HTTP/1.1"}
    assert {each.headers["Host"] for each in behind.seen} <= {"servers"}


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_methods_that_nginx_refuses_itself(method: str, front: Edge, behind: Upstream) -> None:
    """They have a status of their own: 405, in newer versions 400."""
    answer = front.exchange(
        b"%s /health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
        % (method.encode(), KEY.encode())
    )
    assert answer.startswith((b"HTTP/1.1 405 ", b"HTTP/1.1 400 "))
    assert not behind.seen


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1))
def test_any_target(fronts: dict[str, Edge], behind: Upstream, target: str) -> None:
    """It is one of those that pass, or no server hears of it."""
    behind.seen.clear()
    with closing(fronts["vllm"].connection()) as connection:
        for path in (target, f"/{target}", f"/v1/{target}", f"/v1/models/{target}"):
            connection.request("GET", path, headers=LOGIN)
            connection.getresponse().read()
    assert {each.line for each in behind.seen} <= {
        "GET /health HTTP/1.1",
        "GET /v1/models HTTP/1.1",
    }


SMUGGLED = b"GET /list_workers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n" % KEY.encode()


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + b"Content-Length: 2\r\n\r\n{}" + SMUGGLED,
        HEAD + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Content-Length: 2\r\nContent-Length: 61\r\n\r\n{}" + SMUGGLED,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;x=\n\r\n{}\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"X: y\r\n folded: z\r\nContent-Length: 2\r\n\r\n{}" + SMUGGLED,
        HEAD.replace(b" /v1", b" /list_workers /v1") + b"Content-Length: 0\r\n\r\n" + SMUGGLED,
        HEAD.replace(b"/v1/completions", b"/v1/completions\t/list_workers") + b"\r\n" + SMUGGLED,
        HEAD.replace(b"HTTP/1.1\r", b"HTTP/1.0\r") + b"Content-Length: 2\r\n\r\n{}" + SMUGGLED,
        HEAD + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA\r\n\r\n"
        + SMUGGLED,
        b"GET /list_workers\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED,
    ],
)  # fmt: skip
def test_a_request_inside_another_does_not_pass(
    raw: bytes, fronts: dict[str, Edge], behind: Upstream
) -> None:
    """Whatever nginx makes of it, no server is asked for anything but a completion."""
    behind.seen.clear()
    fronts["vllm"].exchange(raw)
    assert {each.line for each in behind.seen} <= {"POST /v1/completions HTTP/1.1"}
    assert all(SMUGGLED not in each.body for each in behind.seen)


def test_headers_that_a_router_may_obey_stay_outside(front: Edge, kind: str, behind: Upstream):
    """The session's goes through, and the servers' own key in place of the editor's."""
    strange = {
        "X-SMG-Target-Worker": "http://192.0.2.1", "X-Data-Parallel-Rank": "1", "X-Request-ID": "1",
        "X-Forwarded-Host": "evil", "X-Original-URL": "/list_workers", "X-Rewrite-URL": "/list_workers",
        "X-HTTP-Method-Override": "DELETE", "Cookie": "a=b", "X-API-Key": KEY, "Forwarded": "host=x",
        "Proxy-Authorization": f"Bearer {KEY}", "Expect": "100-continue", "TE": "trailers", "Via": "x",
    }  # fmt: skip
    session = {"X-Session-ID": "s", "X-SMG-Routing-Key": "r", "X-AIBrix-Session-Key": "a"}
    status, _ = front.ask("GET", "/health", {**LOGIN, **session, **strange})
    assert status == 200
    [seen] = behind.seen
    assert set(seen.headers) <= PASSED | ADDED
    assert seen.headers["Authorization"] == f"Bearer {SERVER_KEY}"
    if kind == "vllm":
        assert session.items() <= seen.headers.items()


WRONG: tuple[dict[str, str], ...] = (
    {}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "},
    {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"}, {"Authorization": f"Token {KEY}"},
    {"Authorization": f"Bearer {KEY[:-1]}"}, {"Authorization": f"Bearer {KEY}x"},
    {"Authorization": f"Bearer {KEY[1:]}"}, {"Authorization": f"Bearer  {KEY}"},
    {"Authorization": f"Bearer {KEY}, Bearer x"}, {"Authorization": f"Bearer {SERVER_KEY}"},
    {"Authorization": "Bearer .*"}, {"Authorization": "default"}, {"Authorization": "Bearer # an editor"},
    {"X-API-Key": KEY}, {"Cookie": f"Authorization=Bearer {KEY}"}, {"Proxy-Authorization": f"Bearer {KEY}"},
)  # fmt: skip


def test_without_a_key_of_the_file_nothing_passes(kind: str, front: Edge, behind: Upstream) -> None:
    """One answer for all wrong keys, and for every request; it says nothing of the key that was sent."""
    answers = {
        front.ask(method, target, headers)
        for method, target in map(str.split, ALLOWED[kind])
        for headers in WRONG
    }
    assert len(answers) == 1
    assert answers.pop()[0] == 401
    assert not behind.seen


def test_a_key_is_in_no_log_and_no_argument(front: Edge, behind: Upstream) -> None:
    """Also where it is sent in the wrong place, or in a request that cannot be read."""
    front.ask("POST", "/v1/completions", body=b"x")
    front.ask("GET", f"/v1/models?api_key={KEY}")
    front.ask("GET", f"/{KEY}", {})
    front.ask("GET", "/health", {"Authorization": f"Basic {KEY}"})
    front.exchange(
        b"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s" % KEY.encode(), 0.2
    )
    front.exchange(
        b"GET /health HTTP/1.1\r\nHost: \x01\r\nAuthorization: %s\r\n\r\n" % KEY.encode()
    )
    command = Path(f"/proc/{front.process.pid}/cmdline").read_text("utf-8")
    for key in (KEY, SERVER_KEY):
        assert key not in front.log
        assert key not in command


def test_a_greedy_member_is_limited_and_the_others_are_not(
    kind: str, front: Edge, behind: Upstream
) -> None:
    """
    Of completions, 10 in a second with a burst; two at once, and one of a session. The answer is 429, which fim-lsp
    waits after.
    """
    path = "/v1/completions" if kind == "vllm" else "/completion"
    statuses = set()
    n_asked = 0
    with closing(front.connection()) as connection:
        while 429 not in statuses:
            connection.request("POST", path, b"{}", LOGIN)
            answer = connection.getresponse()
            answer.read()
            statuses.add(answer.status)
            n_asked += 1
            assert n_asked < 1000
    assert statuses == {200, 429}
    assert n_asked > 40
    assert front.ask("POST", path, OTHER_LOGIN, b"{}")[0] == 200
    assert front.ask("GET", "/health")[0] == 200
    time.sleep(5)
    with ExitStack() as stack:
        answers = []
        for session in ("a", "a", "b", "c", "a", "b"):
            connection = stack.enter_context(closing(front.connection()))
            headers = {**LOGIN, "X-Session-ID": session * 300}
            connection.request("POST", path, b'{"stream": true}', headers)
            answers.append(connection.getresponse().status)
        assert answers == [200, 429, 200, 429, 429, 429]
        assert front.ask("POST", path, OTHER_LOGIN, b"{}")[0] == 200


def test_half_requests_of_a_stranger_leave_places(kind: str, front: Edge) -> None:
    """More of them than one worker of nginx takes by default; none has a key."""
    with ExitStack() as stack:
        for _ in range(600):
            plain = socket.create_connection(("127.0.0.1", front.port))
            half = stack.enter_context(
                front.context.wrap_socket(plain, server_hostname="127.0.0.1")
            )
            half.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        assert front.ask("GET", "/health")[0] == 200


def test_a_revoked_key_ends_without_cutting_a_stream(kind: str, behind: Upstream, tmp_path) -> None:
    """By the script's own look at the file, within seconds (one, on a machine with nothing else to do)."""
    path = "/v1/completions" if kind == "vllm" else "/completion"
    with (
        edge(kind, behind.address, tmp_path) as front,
        watching(tmp_path),
        closing(front.connection()) as stream,
    ):
        stream.request("POST", path, b'{"stream": true}', LOGIN)
        answer = stream.getresponse()
        assert answer.readline().startswith(b"data: ")
        behind.left.clear()
        (tmp_path / "keys.txt").write_text(f"grace {OTHER_KEY}\n", "utf-8")
        revoked = time.monotonic()
        while front.ask("GET", "/health")[0] != 401:
            assert time.monotonic() < revoked + PATIENCE_S
        assert front.ask("GET", "/health", OTHER_LOGIN)[0] == 200
        assert not behind.left.wait(0.5)
        answer.close()


async def test_the_servers_key_is_changed_without_a_pause(kind: str, tmp_path: Path) -> None:
    """Servers take the old one and the new one; nginx sends the one, then the other."""
    old = SERVER_KEY
    new = secrets.token_hex(32)
    with ExitStack() as stack:
        url = stack.enter_context(llama_server(BUNDLED, api_keys=[old, new]))
        newest = stack.enter_context(llama_server(BUNDLED, api_keys=[new]))
        front = stack.enter_context(edge(kind, url.removeprefix("http://"), tmp_path))
        backend = backend_of(front, kind)
        assert (await backend.complete(Request(short(), n_predict=8))).text
        configuration = (tmp_path / "nginx.conf").read_text("utf-8")
        for server in (url, newest):
            changed = configuration.replace(url[7:], server[7:])
            (tmp_path / "nginx.conf").write_text(changed, "utf-8")
            write_keys(tmp_path, f"ada {KEY}\n", new)
            front.process.send_signal(signal.SIGHUP)
            await asyncio.sleep(0.5)
            assert (await backend.complete(Request(short(), n_predict=8))).text
        await backend.aclose()


def test_the_access_log_says_who_asked_for_what(kind: str, behind: Upstream, tmp_path) -> None:
    """The member's name, a path of the table, status, seconds and bytes; nothing that was sent."""
    path = "/v1/completions" if kind == "vllm" else "/completion"
    rows = [
        ("POST", path, LOGIN, "ada", path, 200),
        ("GET", "/health", OTHER_LOGIN, "grace", "/health", 200),
        ("GET", "/health", {}, "", "/health", 401),
        ("GET", "/health", {"Authorization": "Bearer secret"}, "", "/health", 401),
        ("GET", "/secret?secret", LOGIN, "ada", "", 404),
    ]
    with edge(kind, behind.address, tmp_path) as front:
        for method, target, headers, *_ in rows:
            front.ask(
                method, target, headers, b'{"prompt": "secret"}' if method == "POST" else None
            )
    lines = (tmp_path / "access.log").read_text("utf-8").splitlines()
    for line, (*_, member, logged, status) in zip(lines, rows, strict=True):
        row = rf"\S+ member={member} path={logged} status={status} s=\d+\.\d{{3}} bytes=\d+"
        assert re.fullmatch(row, line), line
    assert "secret" not in "".join(lines)
    assert not any(key in "".join(lines) for key in (KEY, OTHER_KEY, SERVER_KEY))


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_only_over_tls(front: Edge, behind: Upstream) -> None:
    """Plain HTTP is refused, and TLS 1.1."""
    with socket.create_connection(("127.0.0.1", front.port)) as plain:
        plain.sendall(
            b"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % KEY.encode()
        )
        assert plain.recv(100).startswith(b"HTTP/1.1 400 ")
    old = ssl.create_default_context(cafile=front.authority)
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", front.port)) as plain, pytest.raises(ssl.SSLError):
        old.wrap_socket(plain, server_hostname="127.0.0.1")
    assert not behind.seen


def test_a_stream_comes_piece_by_piece_and_ends_with_its_client(
    front: Edge, kind: str, behind: Upstream
) -> None:
    """The first event is there while the server still works, and closing ends that."""
    behind.left.clear()
    path = "/v1/completions" if kind == "vllm" else "/completion"
    with closing(front.connection()) as connection:
        connection.request("POST", path, b'{"stream": true}', LOGIN)
        answer = connection.getresponse()
        assert answer.readline().startswith(b"data: ")
        assert not behind.left.is_set()
        answer.close()
    assert behind.left.wait(20)


async def test_fim_lsp_completes_through_it(kind: str, tmp_path: Path) -> None:
    """With a real llama.cpp behind, which knows the servers' key only."""
    with ExitStack() as stack:
        url = stack.enter_context(llama_server(BUNDLED, api_keys=[SERVER_KEY]))
        front = stack.enter_context(edge(kind, url.removeprefix("http://"), tmp_path))
        backend = backend_of(front, kind)
        try:
            assert (await backend.complete(Request(short(), n_predict=8))).text
        finally:
            await backend.aclose()


def backend_of(
    front: Edge, kind: str, headers: tuple[tuple[str, str], ...] = (("X-Session-ID", "{session}"),)
) -> Endpoints:
    (front.folder / "key").write_text(KEY, "utf-8")
    settings = BackendSettings(
        "openai" if kind == "vllm" else "llama-server", front.url, key=Key(file=f"{front.folder}/key"),
        ca_file=front.authority, headers=headers, context_tokens=4096, template="qwen",
    )  # fmt: skip
    return open_backend(settings)
