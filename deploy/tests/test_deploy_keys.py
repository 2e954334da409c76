"""deploy/keys.sh makes nginx's table of a key file, or stops nginx; it runs in nginx's image."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.tests.test_deploy import DEPLOY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it is for Linux")


def keys(tmp_path: Path, text: str, server_key: str = "s" * 32) -> subprocess.CompletedProcess[str]:
    """Return what deploy/keys.sh makes of a key file."""
    (tmp_path / "keys.txt").write_text(text, "utf-8", newline="")
    command = ["sh", str(DEPLOY / "keys.sh"), str(tmp_path / "keys.txt"), str(tmp_path / "table")]
    environment = {"PATH": os.defpath, "SERVER_KEY": server_key}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_table_of_keys(tmp_path: Path) -> None:
    """A row for each key, for the owner's eyes; comments, empty lines, CRLF and a last line without an end."""
    one, two = "a" * 32, "b" * 31 + "="
    assert keys(tmp_path, f"# first\n{one}\r\n\n  {two}").returncode == 0
    wanted = [f'"Bearer {key}" "Bearer {"s" * 32}";' for key in (one, two)]
    assert (tmp_path / "table").read_text("utf-8").splitlines() == wanted
    assert (tmp_path / "table").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "server_key"),
    [
        ("", "s" * 32),
        ("# none\n", "s" * 32),
        ("short-key\n", "s" * 32),
        (f"{'a' * 32} b\n", "s" * 32),
        (f'{"a" * 32}" "x"; default "y\n', "s" * 32),
        (f"{'a' * 32}$x\n", "s" * 32),
        ("a" * 32, ""),
        ("a" * 32, "short-key"),
        ("a" * 32, "s" * 32 + ";"),
    ],
)
def test_a_key_file_that_opens_the_door_stops_nginx(
    text: str, server_key: str, tmp_path: Path
) -> None:
    """Its image does not start; the message has the line, and no key."""
    found = keys(tmp_path, text, server_key)
    assert found.returncode != 0
    assert "openssl rand -hex 32" in found.stderr
    assert not any(word in found.stderr for word in ("short-key", "aaaa", "ssss"))
