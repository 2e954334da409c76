"""What several folders of tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp import regular_files
from fim_lsp.workspace import reader
from tests import parsing
from tests.models import of_family
from tests.watchdog import HELD_UP, watch


@pytest.fixture(scope="session")
def unusual_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """
    Return the bundled model's weights with other vocabularies.

    `sentencepiece` is in the manner of CodeLlama: a space before every text, characters in bytes. `plain` has no tokens
    for a gap, and `chat` has those of ChatML instead.
    """
    folder = tmp_path_factory.mktemp("unusual")
    families = {"sentencepiece": "codellama", "plain": "plain", "chat": "chat"}
    return {
        kind: of_family(folder / f"fim-tiny-{kind}.gguf", name) for kind, name in families.items()
    }


@pytest.fixture(scope="session")
def too_long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that says which callbacks of an event loop computed for too long."""
    report = tmp_path_factory.mktemp("watchdog") / "too long"
    report.touch()
    watch(report)
    return report


@pytest.fixture(scope="session", autouse=True)
def parser() -> Iterator[None]:
    """All sessions of this process parse in one other, which ends with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "SyntaxProcess", parsing.Shared)
        yield
    parsing.ours.end()
    parsing.ours.close()


@pytest.fixture(scope="session", autouse=True)
def files_rest() -> Iterator[None]:
    """A file of rules that a test wrote counts at once, but in tests/lsp/test_rules_in_writing.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regular_files, "REST_S", 0.0)
        yield


@pytest.fixture(autouse=True)
def watchdog(too_long: Path) -> Iterator[None]:
    """A test fails in which an event loop was held up, here or in a process that was forked."""
    yield
    if too_long.stat().st_size:
        text = too_long.read_text()
        too_long.write_text("")
        pytest.fail(f"{HELD_UP}\n{text}", pytrace=False)
