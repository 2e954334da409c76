"""Emacs with lsp-mode and editors/emacs, the real server and model: suggestions as an overlay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED
from tests.editors.terminal import Terminal

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not programs.program("emacs-nox").exists(), reason="no Emacs: run scripts/install-editors"
    ),
]

SHARE = programs.ROOT / "usr/share/emacs"
DATA = SHARE / "30.2"
LIBEXEC = programs.ROOT / "usr/libexec/emacs/30.2/x86_64-linux-gnu"

# There is no compiler to make native code with.
EARLY_INIT = "(setq native-comp-enable-subr-trampolines nil native-comp-jit-compilation nil)"
# What a package manager does, then what docs/editors/emacs.md says, then silence.
INIT = f"""
(let ((default-directory "{SHARE}/site-lisp/elpa-src/")) (normal-top-level-add-subdirs-to-load-path))
(load "lsp-mode-autoloads")
(load "{programs.REPOSITORY}/editors/emacs/fim-lsp.el")
(add-hook 'prog-mode-hook #'lsp)
(setq lsp-auto-guess-root t lsp-lens-enable nil lsp-headerline-breadcrumb-enable nil
      lsp-modeline-code-actions-enable nil lsp-modeline-diagnostics-enable nil)
(electric-indent-mode -1)
;; Terminals have no C-<return>.
(define-key lsp-inline-completion-active-map (kbd "C-o") #'lsp-inline-completion-accept)
"""


@pytest.fixture
def editor(home: Path, project: Path) -> Iterator[Terminal]:
    """An Emacs with the server running and the cursor at the shop's end."""
    folder = home / ".emacs.d"
    folder.mkdir(exist_ok=True)
    (folder / "early-init.el").write_text(EARLY_INIT)
    (folder / "init.el").write_text(INIT)
    image = next(LIBEXEC.glob("*.pdmp"))
    env = programs.environment(
        home,
        EMACSDATA=str(DATA / "etc"),
        EMACSDOC=str(DATA / "etc"),
        EMACSLOADPATH=str(DATA / "lisp"),
        EMACSPATH=str(LIBEXEC),
    )
    file = project / "shop.py"
    file.write_text(SHOP)
    argv = [str(programs.program("emacs-nox")), f"--dump-file={image}", str(file)]
    emacs = Terminal(argv, env=env, cwd=project)
    emacs.wait_for("initialized successfully")
    emacs.send("\x1b>")
    yield emacs
    emacs.close()


def test_shown_and_accepted(editor: Terminal, project: Path) -> None:
    """The suggestion is shown and not in the text, then it is."""
    file = project / "shop.py"

    def shown() -> bool:  # the model may still be loading: type the last letter again
        editor.send("\x7fw")
        editor.settle(1.0)
        return f"for w{REST_OF_WORD}" in editor.text

    editor.send(TYPED.replace("\n", "\r"))
    editor.wait_until(shown, "the overlay")
    editor.send("\x0f")
    editor.settle()
    editor.send("\x18\x13")
    editor.wait_until(lambda: file.read_text() != SHOP, "the file saved")
    assert file.read_text().startswith(SHOP + TYPED + REST_OF_WORD)
