"""Fixtures of the end-to-end tests: the real server in a process of its own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e import forked
from tests.e2e.client import Editor
from tests.e2e.forked import CAN_FORK, Template


@pytest.fixture(scope="session")
def template(too_long: Path) -> Iterator[Template | None]:
    """Return what servers are forked from, where that can be done."""
    if not CAN_FORK:
        yield None
        return
    with forked.template(too_long) as template:
        yield template


@pytest.fixture
def launch(tmp_path: Path, template: Template | None) -> Iterator[Callable[..., Editor]]:
    """Starts servers, with arguments if need be, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, before: str = "") -> Editor:
            editor = Editor(tmp_path / "home", *arguments, before=before, template=template)
            stack.callback(editor.close)
            return editor

        yield start


@pytest.fixture
def editor(launch: Callable[..., Editor]) -> Iterator[Editor]:
    """A server that has just been started. At the end of a test it answers still, and ends well."""
    editor = launch()
    yield editor
    if not editor.has_ended:
        editor.finish()
        assert editor.bye() == 0


@pytest.fixture
def silent() -> Iterator[dict[str, object]]:
    """Settings with a backend that takes connections and never says a word, so requests wait."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        yield {"fim": {"backend": {"kind": "llama-server", "url": url}}}
