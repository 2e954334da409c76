"""Kate, set up as docs/editors/kate.md says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.editors import programs
from tests.editors.menus import Desktop
from tests.editors.test_docs import blocks

IS_THERE = (programs.DESKTOP / "done").exists()


@contextmanager
def opened(home: Path) -> Iterator[Desktop]:
    """Open the file in Kate, which has been allowed to run the server, without the words of the file in its list."""
    config = home / ".config"
    [settings] = blocks("kate", "json")
    (config / "kate/lspclient").mkdir(parents=True)
    (config / "kate/lspclient/settings.json").write_text(settings)
    (config / "katerc").write_text(
        "[lspclient]\n"
        f"AllowedServerCommandLines={home / '.local/bin/fim-lsp'} --stdio\n"
        "[KTextEditor Document]\nWord Completion=false\nKeyword Completion=false\n"
    )
    with closing(Desktop(home, ["kate"], has_popups=False)) as editor:
        yield editor
