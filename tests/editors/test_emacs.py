"""Emacs, the real server and model: lsp-mode with editors/emacs, an overlay; eglot, completion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED
from tests.editors.terminal import Terminal
from tests.editors.test_docs import blocks

pytestmark = programs.needs("emacs-nox")

SHARE = programs.ROOT / "usr/share/emacs"
DATA = SHARE / "30.2"
LIBEXEC = programs.ROOT / "usr/libexec/emacs/30.2/x86_64-linux-gnu"

# There is no compiler to make native code with.
# A precious file is written under another name and renamed: what is read of it is whole.
EARLY_INIT = """
(setq native-comp-enable-subr-trampolines nil native-comp-jit-compilation nil
      file-precious-flag t)
"""
# What a package manager does, then docs/editors/emacs.md, then fewer messages.
LSP_MODE = f"""
(let ((default-directory "{SHARE}/site-lisp/elpa-src/")) (normal-top-level-add-subdirs-to-load-path))
(load "lsp-mode-autoloads")
(load "{programs.REPOSITORY}/editors/emacs/fim-lsp.el")
(add-hook 'prog-mode-hook #'lsp)
(setq lsp-auto-guess-root t lsp-lens-enable nil lsp-headerline-breadcrumb-enable nil
      lsp-modeline-code-actions-enable nil lsp-modeline-diagnostics-enable nil)
(electric-indent-mode -1)
"""
EGLOT = blocks("emacs", "elisp")[1] + "(electric-indent-mode -1)"


@contextmanager
def emacs(home: Path, project: Path, init: str, text: str = SHOP) -> Iterator[Terminal]:
    folder = home / ".emacs.d"
    folder.mkdir(exist_ok=True)
    (folder / "early-init.el").write_text(EARLY_INIT)
    (folder / "init.el").write_text(init)
    image = next(LIBEXEC.glob("*.pdmp"))
    env = programs.environment(
        home, EMACSDATA=str(DATA / "etc"), EMACSDOC=str(DATA / "etc"),
        EMACSLOADPATH=str(DATA / "lisp"), EMACSPATH=str(LIBEXEC),
    )  # fmt: skip
    file = project / "shop.py"
    file.write_text(text)
    argv = [str(programs.program("emacs-nox")), f"--dump-file={image}", str(file)]
    with closing(Terminal(argv, env=env, cwd=project)) as editor:
        yield editor


def type_at_the_end(editor: Terminal, ready: str) -> None:
    """Once Emacs says *ready*, `M->` and type."""
    editor.wait_for(ready)
    editor.send("\x1b>")
    editor.send(TYPED.replace("\n", "\r"))


def saved(editor: Terminal, file: Path) -> str:
    editor.settle()
    editor.send("\x18\x13")
    editor.wait_until(lambda: file.read_text() not in {SHOP, ""}, "the file saved")  # "": half-way
    return file.read_text()


@pytest.mark.promise("no-code-of-a-repository-runs")
def test_lsp_mode(home: Path, project: Path) -> None:
    """The suggestion is shown and not in the text, then it is."""
    with emacs(home, project, LSP_MODE) as editor:

        def shown() -> bool:  # the model may still be loading: type the last letter again
            editor.send("\x7fw")
            editor.settle(1.0)
            return f"for w{REST_OF_WORD}" in editor.text

        type_at_the_end(editor, "initialized successfully")
        editor.wait_until(shown, "the overlay")
        server = programs.process("fim_lsp --stdio", editor.pid)
        assert server.cwd() == str(home)  # not in the project, which may be a cloned repository
        editor.send("\x03\t")
        assert saved(editor, project / "shop.py").startswith(SHOP + TYPED + REST_OF_WORD)


def test_eglot(home: Path, project: Path) -> None:
    """Emacs' own preview shows the suggestion and is not in the text; its key puts all of it there."""
    with emacs(home, project, EGLOT) as editor:

        def shown() -> bool:  # the model may still be loading: type the last letter again
            editor.send("\x7fi")
            editor.settle(1.0)
            return (
                "for weights in weights:" in editor.text or "for weight in weights:" in editor.text
            )

        type_at_the_end(editor, "Connected!")
        editor.send("ei")
        editor.wait_until(shown, "the preview")
        editor.send("\t")
        text = saved(editor, project / "shop.py")
        assert text.startswith(f"{SHOP}{TYPED}eight")
        assert " in weights:" in text


def test_eglot_asks_by_hand(home: Path, project: Path) -> None:
    """`completion-at-point` puts in the one suggestion there is."""
    with emacs(home, project, EGLOT) as editor:

        def completed() -> bool:
            editor.send("\x1b\t")
            editor.settle(1.0)
            return f"for w{REST_OF_WORD}" in editor.text

        type_at_the_end(editor, "Connected!")
        editor.settle()
        editor.wait_until(completed, "the completion")
        assert saved(editor, project / "shop.py").startswith(SHOP + TYPED + REST_OF_WORD)
