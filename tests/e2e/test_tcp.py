"""Which client is served with `--tcp`, and what it may set, on a real process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.client import PATIENCE_S, Client, Editor

pytestmark = pytest.mark.promise("your-programs-only")

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
# What a page in a browser can have sent to any port of this machine.
POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextmanager
def connected(server: Editor, address: tuple[str, int]) -> Iterator[Client]:
    """A client that is served, and leaves as LSP says."""
    with socket.create_connection(address) as connection:
        client = Client(connection.makefile("wb"), connection.makefile("rb"))
        yield client
        client.request("shutdown")
        client.notify("exit")
        assert server.wait() == 0


def answer(address: tuple[str, int], data: bytes) -> bytes:
    """Return all that comes back for *data* until the server closes the connection."""
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.sendall(data)
        answers = b""
        while True:
            try:
                more = connection.recv(4096)
            except ConnectionResetError:
                return answers
            if not more:
                return answers
            answers += more


NOT_EDITORS = {
    "a page in a browser": POST % 100 + framed(HELLO),
    "a page that closes": POST % 0,
    "another header": b"Origin: https://evil.example\r\n" + framed(HELLO),
    "another header after ours": b"Content-Length: 5\r\nHost: x\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + b"\n",
    "no header": b"\r\n" + framed(HELLO),
    "not initialize": framed({**HELLO, "method": "textDocument/didOpen"}),
    "not JSON": b"Content-Length: 2\r\n\r\n{]",
    "deep JSON": b"Content-Length: 9000\r\n\r\n" + b"[" * 9000,
    "no length": b"Content-Type: x\r\n\r\n" + framed(HELLO),
    "a length of many digits": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
}


def test_what_is_no_editor_is_refused(launch: Callable[..., Editor], tmp_path: Path) -> None:
    """Nothing is answered or done, the connection ends, and the editor is served after it."""
    server = launch("--tcp", "127.0.0.1:0")
    address = server.address()
    for name, data in NOT_EDITORS.items():
        assert answer(address, data) == b"", name
    with connected(server, address) as client:
        client.initialize()
        with pytest.raises(ConnectionRefusedError):  # it serves one
            socket.create_connection(address)
        client.finish()
    said = server.said()
    assert said.count("refused a connection") == len(NOT_EDITORS)
    assert "Traceback" not in said


CONNECT = """
import os, socket, sys
"".encode("idna")  # read before the user may not
os.setuid(65534)
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.sendall(bytes.fromhex(sys.argv[3]))
print(connection.recv(4096))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell whose process it is")
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="takes another user")
def test_another_user_is_refused(launch: Callable[..., Editor]) -> None:
    """A process of another user connects first: nothing is answered, and the user's own is served."""
    server = launch("--tcp", "127.0.0.1:0")
    host, port = server.address()
    program = [sys.executable, "-I", "-c", CONNECT, host, str(port), framed(HELLO).hex()]
    done = subprocess.run(program, capture_output=True, check=False)
    assert done.stdout.strip() == b"b''" or b"ConnectionResetError" in done.stderr, done
    with connected(server, (host, port)) as client:
        client.initialize()


@pytest.mark.parametrize("options", [{"fim": {"token": "s3cret"}}, {"fim.token": "s3cret"}])
def test_a_secret_is_asked_for_where_one_is_set(
    launch: Callable[..., Editor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    options: dict[str, object],
) -> None:  # fmt: skip
    """Without it, or with a wrong one, nothing is answered; with it nothing is said of it."""
    named: tuple[str, ...] = ()
    if "fim" in options:
        monkeypatch.setenv("FIM_LSP_TOKEN", "s3cret")
    else:
        named = ("--token-file", str(tmp_path / "token"))
        (tmp_path / "token").touch(0o600)
        (tmp_path / "token").write_text("s3cret\n", "utf-8")
    server = launch("--tcp", "127.0.0.1:0", *named)
    address = server.address()
    for wrong in (
        None,
        {"fim": {"token": ""}},
        {"token": "s3cre"},
        {"token": ["s3cret"]},
        "s3cret",
    ):
        params = {"capabilities": {}, "initializationOptions": wrong}
        assert answer(address, framed({**HELLO, "params": params})) == b"", wrong
    with connected(server, address) as client:
        client.initialize(initializationOptions=options)
        client.finish()
        assert client.messages("window/showMessage") == []
    assert "s3cret" not in server.said()


SECRETS: dict[str, tuple[Callable[[Path], object], str]] = {
    "for others, too": (lambda path: path.touch(0o644), "is open to other users: chmod 600"),
    "empty": (lambda path: path.touch(0o600), "is empty: write a secret into it"),
    "a folder": (lambda path: path.mkdir(0o700), "cannot be read"),
}


@pytest.mark.parametrize("file", SECRETS)
def test_a_file_that_keeps_no_secret_is_refused(
    launch: Callable[..., Editor], tmp_path: Path, file: str
) -> None:
    """With what to do about it; nothing listens."""
    make, says = SECRETS[file]
    make(tmp_path / "token")
    server = launch("--tcp", "127.0.0.1:0", "--token-file", str(tmp_path / "token"))
    said = server.said()
    assert server.wait() == 2
    assert says in said
    assert "listens" not in said


def test_where_the_system_does_not_tell_a_secret_is_made(launch: Callable[..., Editor]) -> None:
    """It is printed at the start, and a client without it is refused."""
    hidden = (
        "from pathlib import Path\nfrom server_bridge.machine import sockets\n"
        "sockets.TABLES = (Path('/no'),)"
    )
    server = launch("--tcp", "127.0.0.1:0", before=hidden)
    address = server.address()
    assert server.process.stderr
    line = server.process.stderr.readline().decode()
    options = json.loads(line.partition("initializationOptions ")[2])
    assert answer(address, framed(HELLO)) == b""
    with connected(server, address) as client:
        client.initialize(initializationOptions=options)


def test_such_a_client_names_no_files_and_no_commands(
    launch: Callable[..., Editor], tmp_path: Path
) -> None:
    """Whatever way it sets them; the user is told, and where they belong."""
    log, key = tmp_path / "bashrc", tmp_path / "key"
    key.write_text("k", "utf-8")
    servers = [{"url": "http://127.0.0.1:9", "apiKeyFile": str(key)}]
    backend = {"apiKeyCommand": f"touch {tmp_path}/ran", "endpoints": servers}
    named = {"log": {"file": str(log)}, "backend": backend, "x\ntouch y\n": 1}
    server = launch("--tcp", "127.0.0.1:0")
    with connected(server, server.address()) as client:
        client.configuration, asks = named, {"workspace": {"configuration": True}}
        client.initialize(capabilities=asks, initializationOptions=named)
        client.wait_for(lambda: bool(client.asked), "a question for settings")
        client.notify("workspace/didChangeConfiguration", {"settings": {"fim": named}})
        client.open("file:///a.py", "x = 1\n")
        client.request("fim/stats")
        said = " ".join(client.shown())
    assert not log.exists()
    assert not (tmp_path / "ran").exists()
    for name in ("fim.log.file", "fim.backend.apiKeyCommand", "fim.backend.apiKeyFile"):
        assert f"a client over TCP may not set {name}: write it into config.toml" in said
    assert "\n" not in said


@pytest.mark.parametrize("host", ["0.0.0.0:1", "example.com:1"])
def test_no_other_machine_can_connect(launch: Callable[..., Editor], host: str) -> None:
    """An address that others can reach is refused, with the way to get there all the same."""
    server = launch("--tcp", host)
    said = server.said()
    assert server.wait() == 2
    assert "can be reached from other machines" in said
    assert "ssh -L" in said


def test_a_port_in_use_is_one_sentence(launch: Callable[..., Editor]) -> None:
    """Exit code 1 and no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = launch("--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
        said = server.said()
    assert server.wait() == 1
    assert "cannot listen on 127.0.0.1" in said
    assert said.count("\n") == 1
