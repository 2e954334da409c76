"""Downloads from a real server on this machine: whole or not at all, gone on with, and clear in words."""

from __future__ import annotations

import errno
import shutil
import ssl
import time
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme

from server_bridge.weights import model_files
from server_bridge.weights.model_files import CannotDownload, fetch
from tests.llama_server import free_port
from tests.server_bridge.weights.hub import CONTENT, Hub, model, serving

pytestmark = pytest.mark.promise("by-hash")

SMALL = model()
PART = "small.gguf.part"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other without a pause."""
    monkeypatch.setattr(model_files, "WAITS_S", (0.0, 0.0))


def test_a_file_arrives_whole_behind_a_redirect(tmp_path: Path) -> None:
    """With progress from nothing to all; it is asked for by repository, commit and name."""
    seen: list[tuple[int, int]] = []
    with serving(Hub()) as hub:
        path = fetch(SMALL, tmp_path / "new", lambda *n: seen.append(n), hub.url)
    assert path.read_bytes() == CONTENT
    assert hub.paths[0] == "/someone/Small-GGUF/resolve/abc123/small.gguf"
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen)
    assert [*path.parent.iterdir()] == [path]


def test_a_file_that_is_there_is_not_asked_for(tmp_path: Path) -> None:
    """No connection is made."""
    (tmp_path / "small.gguf").write_bytes(CONTENT)
    assert fetch(SMALL, tmp_path, lambda *_: None, "http://127.0.0.1:1") == tmp_path / "small.gguf"


MB = 1_000_000


@pytest.mark.parametrize(
    ("begun", "hub", "asked"),
    [
        (CONTENT[:MB], {}, [MB]),  # an attempt that was ended is gone on with at its last byte
        (b"", {"cuts": [3 * MB, 2 * MB, MB]}, [0, 3 * MB, 5 * MB, 6 * MB]),  # nothing comes twice
        (CONTENT[:MB], {"ranges": False}, [MB]),  # the server sends all, which is not doubled
        (b"x" * MB, {}, [MB, 0]),  # what an older version left costs one more download
        (b"x" * len(CONTENT), {}, [0]),
        (b"x" * (len(CONTENT) + 1), {}, [0]),
    ],
)
def test_what_is_there_is_gone_on_with_or_begun_again(
    begun: bytes, hub: dict[str, Any], asked: list[int], tmp_path: Path
) -> None:
    """A beginning of another file does not make a broken model."""
    (tmp_path / PART).write_bytes(begun)
    with serving(Hub(**{name: copy(value) for name, value in hub.items()})) as running:
        path = fetch(SMALL, tmp_path, lambda *_: None, running.url)
    assert path.read_bytes() == CONTENT
    assert running.asked == asked


@pytest.mark.parametrize(
    "content", [b"y" * len(CONTENT), CONTENT[:-1], CONTENT + b"y"], ids=["other", "short", "long"]
)
def test_another_file_never_gets_the_name(tmp_path: Path, content: bytes) -> None:
    """A wrong checksum or length: nothing is left, and the message says what else can be done."""
    with serving(Hub(content)) as hub, pytest.raises(CannotDownload) as caught:
        fetch(SMALL, tmp_path, lambda *_: None, hub.url)
    assert "is not small.gguf" in str(caught.value)
    assert "--model FILE" in str(caught.value)
    assert not (tmp_path / "small.gguf").exists()
    assert not (tmp_path / PART).exists()


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_refusal_is_told_at_once(tmp_path: Path, status: int) -> None:
    """With the server's name, its answer, and what to do."""
    with serving(Hub(page=(status, b""))) as hub, pytest.raises(CannotDownload) as caught:
        fetch(SMALL, tmp_path, lambda *_: None, hub.url)
    assert f"{hub.url} answers {status} " in str(caught.value)
    assert hub.asked == [0]
    assert not (tmp_path / PART).exists()
    assert "is kept" not in str(caught.value)  # nothing came
    for advice in ("--mirror URL", "HTTPS_PROXY", "https://huggingface.co/someone", "--model FILE"):
        assert advice in str(caught.value)


def test_without_a_network_what_came_is_kept(tmp_path: Path) -> None:
    """After some attempts, and it says so."""
    (tmp_path / PART).write_bytes(CONTENT[:1_000_000])
    with pytest.raises(CannotDownload, match="cannot be reached") as caught:
        fetch(SMALL, tmp_path, lambda *_: None, f"http://127.0.0.1:{free_port()}")
    assert "repeat the command" in str(caught.value)
    assert (tmp_path / PART).stat().st_size == 1_000_000


@pytest.mark.parametrize("hub", ["foo", "ftp://127.0.0.1/", "http://[", ""])
def test_a_mirror_that_is_no_address_is_told(tmp_path: Path, hub: str) -> None:
    """In one sentence, as everything."""
    with pytest.raises(CannotDownload, match="cannot be reached"):
        fetch(SMALL, tmp_path, lambda *_: None, hub)


def test_a_full_disk_is_told_before_and_during(tmp_path, monkeypatch) -> None:
    """What came before stays."""

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
        with pytest.raises(CannotDownload, match=r"needs 0\.0 GB in .*: make room"):
            fetch(SMALL, tmp_path, lambda *_: None, "http://127.0.0.1:1")
    monkeypatch.setattr(model_files._Part, "add", lambda _, piece: full(piece))
    with serving(Hub()) as hub, pytest.raises(CannotDownload, match="make room"):
        fetch(SMALL, tmp_path, lambda *_: None, hub.url)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """A file is in its way."""
    (tmp_path / "file").touch()
    with pytest.raises(CannotDownload, match="cannot be written to"):
        fetch(SMALL, tmp_path / "file", lambda *_: None, "http://127.0.0.1:1")


def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    """The second one is told of the first."""
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / PART).open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(CannotDownload, match="another process downloads"):
            fetch(SMALL, tmp_path, lambda *_: None, "http://127.0.0.1:1")


def test_https_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate of an unknown authority is refused; one that the machine knows is taken."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serving(Hub(), context) as hub:
        with pytest.raises(CannotDownload, match="certificate"):
            fetch(SMALL, tmp_path, lambda *_: None, hub.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert fetch(SMALL, tmp_path, lambda *_: None, hub.url).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [200, 206])
@pytest.mark.parametrize("text", [b"", b"x", b"<html>" * 300], ids=["nothing", "a byte", "a page"])
def test_answers_that_end_too_early_are_not_asked_for_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, text: bytes
) -> None:
    """A login page in chunks is a whole answer, not a broken one: it counts as an attempt, with its pause."""
    pauses: list[float] = []
    monkeypatch.setattr(model_files, "WAITS_S", (1.0, 2.0, 4.0))
    monkeypatch.setattr(time, "sleep", pauses.append)
    with (
        serving(Hub(page=(status, text))) as hub,
        pytest.raises(CannotDownload, match="login page of a network"),
    ):
        fetch(SMALL, tmp_path, lambda *_: None, hub.url)
    assert pauses == [1.0, 2.0, 4.0]
    assert len(hub.asked) == 4
    assert not (tmp_path / "small.gguf").exists()
