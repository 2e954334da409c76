"""`fim-lsp forget` leaves nothing of earlier sessions, and nothing else is touched."""

from __future__ import annotations

import socket

import pytest

from fim_lsp.__main__ import main
from fim_lsp.cli import setup
from fim_lsp.settings import files
from tests.llama_server import free_port

pytestmark = pytest.mark.promise("what-is-kept")


def test_everything_kept_is_deleted(tmp_path, capsys, monkeypatch) -> None:
    """The key of the port, states, rings, the page of the last prompt, the counts by day, the log of `serve` and recordings of earlier versions are deleted, other files in the folder stay, and a second run finds nothing."""
    for name in (
        "slots/a.bin",
        "slots/a.bin.json",
        "workspaces/b.json",
        "context.txt",
        "days.json",
        "quiet.json",
        "serve.log",
        "recorded/2026.json",
        "other/c.txt",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 1_000_000)
    (tmp_path / "http").mkdir()
    (tmp_path / "stacks.txt").symlink_to(tmp_path / "gone")
    key = tmp_path / "state/client-key"
    key.parent.mkdir()
    key.write_text("secret")
    monkeypatch.setattr(files, "client_key_file", lambda: key)
    assert setup.forget(tmp_path, has_server=False) == 0
    assert not key.exists()
    assert not (tmp_path / "http").exists()
    assert not (tmp_path / "stacks.txt").is_symlink()
    out = capsys.readouterr().out
    assert "Deleted 8.0 MB" in out
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["c.txt"]
    assert "--slot-save-path" not in out
    assert setup.forget(tmp_path, has_server=False) == 0
    assert "Nothing was kept" in capsys.readouterr().out


def test_the_key_of_a_server_that_is_gone(tmp_path, monkeypatch, capsys) -> None:
    """Editors need that of one that runs."""
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(files, "client_key_file", lambda: tmp_path / "client-key")
    with socket.create_server(("127.0.0.1", 0)) as server:
        running, gone = (
            tmp_path / f"serve-{port}.key" for port in (server.getsockname()[1], free_port())
        )
        for key in (running, gone):
            key.write_text("secret")
        assert main(["forget"]) == 0
        assert (running.exists(), gone.exists()) == (True, False)
    assert main(["forget"]) == 0
    assert not running.exists()
    assert "Nothing was kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ("", False),
        ('backend.kind = "embedded"\n', False),
        ('backend.url = "http://127.0.0.1:8012"\n', True),
        ('backend.kind = "llama-server"\n', True),
    ],
)
def test_files_of_a_server_are_told_of_where_the_user_has_one(
    tmp_path, monkeypatch, capsys, settings: str, *, is_told: bool
) -> None:
    """A llama-server may keep slots of its own, which are not ours to delete."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(files, "client_key_file", lambda: tmp_path / "client-key")
    monkeypatch.chdir(tmp_path)
    files.user_file().parent.mkdir()
    files.user_file().write_text(settings)
    assert main(["forget"]) == 0
    assert ("--slot-save-path" in capsys.readouterr().out) is is_told
