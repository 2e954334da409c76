"""deploy/keys.sh makes nginx's table of a key file, or stops nginx; it runs in nginx's image."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.tests.test_deploy import DEPLOY
from deploy.vllm.other_key import OtherKey

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="it is for Linux"),
    pytest.mark.promise("a-team-server"),
]


def keys(tmp_path: Path, text: str, server_key: str = "s" * 32) -> subprocess.CompletedProcess[str]:
    """Return what deploy/keys.sh makes of a key file."""
    (tmp_path / "keys.txt").write_text(text, "utf-8", newline="")
    command = [
        "sh", str(DEPLOY / "keys.sh"), str(tmp_path / "keys.txt"), str(tmp_path / "keys.conf"),
    ]  # fmt: skip
    environment = {"PATH": os.defpath, "SERVER_KEY": server_key}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_table_of_keys(tmp_path: Path) -> None:
    """A row for each key, for the owner's eyes; comments, empty lines, CRLF and a last line without an end."""
    one = "a" * 32
    two = "b" * 31 + "="
    assert keys(tmp_path, f"# first\nada {one}\r\n\n  bob@x  {two}").returncode == 0
    wanted = [f'"Bearer {key}" "Bearer {"s" * 32}";' for key in (one, two)]
    assert (tmp_path / "keys.conf").read_text("utf-8").splitlines() == wanted
    members = [f'"Bearer {one}" "ada";', f'"Bearer {two}" "bob@x";']
    assert (tmp_path / "members.conf").read_text("utf-8").splitlines() == members
    assert (tmp_path / "keys.conf").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "server_key"),
    [
        ("", "s" * 32), ("# none\n", "s" * 32), ("ada short-key\n", "s" * 32),
        (f"{'a' * 32}\n", "s" * 32), (f"{'a' * 32} b\n", "s" * 32),
        (f"ada {'a' * 32} {'a' * 32}\n", "s" * 32), (f'ada";x {"a" * 32}\n', "s" * 32),
        (f'ada {"a" * 32}" "x"; default "y\n', "s" * 32), (f"ada {'a' * 32}$x\n", "s" * 32),
        (f"ada {'a' * 32}\nbob {'A' * 32}", "s" * 32), (f"ada {'a' * 32}", ""),
        (f"ada {'a' * 32}", "short-key"), (f"ada {'a' * 32}", "s" * 32 + ";"),
    ],
)  # fmt: skip
def test_a_key_file_that_opens_the_door_stops_nginx(text: str, server_key: str, tmp_path) -> None:
    """Its image does not start; the message has the line, and no key."""
    found = keys(tmp_path, text, server_key)
    assert found.returncode != 0
    assert "openssl rand -hex 32" in found.stderr
    assert not any(word in found.stderr for word in ("short-key", "aaaa", "AAAA", "ssss"))


def test_a_changed_key_file_is_taken_within_a_second(tmp_path: Path) -> None:
    """nginx is told to read its tables again; a file with a mistake changes nothing."""
    secrets = tmp_path / "secrets"
    tools = tmp_path / "tools"
    secrets.mkdir()
    tools.mkdir()
    (tools / "nginx").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/told\n', "utf-8")
    (tools / "nginx").chmod(0o755)
    (secrets / "keys.txt").write_text(f"ada {'a' * 32}\nbob {'b' * 32}\n", "utf-8")
    command = ["sh", str(DEPLOY / "keys.sh"), str(secrets / "keys.txt")]
    environment = {"PATH": f"{tools}:{os.defpath}", "SERVER_KEY": "s" * 32}
    process = subprocess.Popen(
        [*command, str(tmp_path / "keys.conf"), "watch"], env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.wait(20) == 0  # nginx starts now
        (secrets / "keys.txt").write_text("ada short\n", "utf-8")
        time.sleep(1.5)
        assert not (tmp_path / "told").exists()
        assert "bbbb" in (tmp_path / "keys.conf").read_text("utf-8")
        (secrets / "keys.txt").write_text(f"ada {'a' * 32}\n", "utf-8")
        changed = time.monotonic()
        while not (tmp_path / "told").exists():
            assert time.monotonic() < changed + 10
            time.sleep(0.05)
        assert (tmp_path / "told").read_text("utf-8") == "-s reload\n"
        assert "bbbb" not in (tmp_path / "keys.conf").read_text("utf-8")
    finally:
        os.killpg(process.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    ("other", "sent", "taken"),
    [
        ("o" * 32, b"Bearer " + b"o" * 32, b"Bearer " + b"s" * 32),
        ("o" * 32, b"Bearer " + b"s" * 32, b"Bearer " + b"s" * 32),
        ("o" * 32, b"Bearer " + b"x" * 32, b"Bearer " + b"x" * 32),
        ("", b"Bearer ", b"Bearer "),
        ("", b"", b""),
    ],
)
async def test_a_second_key_counts_for_vllm(other: str, sent: bytes, taken: bytes, monkeypatch):
    """It becomes the servers' own before vLLM looks; all others, and all else, stay as they are."""
    monkeypatch.setenv("VLLM_API_KEY", "s" * 32)
    monkeypatch.setenv("OTHER_SERVER_KEY", other)
    scopes = []

    async def vllm(scope: object, receive: object, send: object) -> None:
        scopes.append(scope)

    middleware = OtherKey(vllm)
    headers = [(b"host", b"x"), (b"authorization", sent)]
    await middleware({"type": "http", "path": "/v1/models", "headers": headers}, None, None)
    await middleware({"type": "lifespan"}, None, None)
    wanted = [(b"host", b"x"), (b"authorization", taken)]
    assert scopes == [
        {"type": "http", "path": "/v1/models", "headers": wanted}, {"type": "lifespan"},
    ]  # fmt: skip
