"""The settings and keys of the pages in a real Vim, Emacs, Helix and Kakoune, without a window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.cli import options
from tests.editors import programs
from tests.editors.test_emacs import DATA, LIBEXEC, SHARE
from tests.snippets import ROOT, SNIPPETS, Snippet, completed, each
from tests.test_snippets import check_settings

pytestmark = pytest.mark.editors

VIM = shutil.which("vim")
COC = programs.CACHE / "coc.nvim"
# What a statement of Vim's language can change.
VIM_REPORT = """
let said = { 'plug': get(g:, 'plug'), 'encoding': &encoding }
let said.maps = map(['<Tab>', '<C-l>'], 'maparg(v:val, "i")')
let said.config = get(g:, 'llama_config')
let said.servers = get(g:, 'ycm_language_server')
call writefile([json_encode(said)], 'said.json')
"""


def start_vim(home: Path, script: str, *before: str) -> dict[str, Any]:
    """Return what `VIM_REPORT` says of a Vim that runs *script* with coc.nvim and no server."""
    assert VIM is not None
    lines = [
        "set nocompatible", "let g:coc_start_at_startup = 0", f"set runtimepath^={COC}", *before,
    ]  # fmt: skip
    (home / "rc.vim").write_text("\n".join([*lines, script, VIM_REPORT]))
    done = subprocess.run(
        [VIM, "-es", "-N", "-u", "NONE", "-i", "NONE", "-S", "rc.vim", "-c", "qall!"],
        cwd=home, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), script
    said: dict[str, Any] = json.loads((home / "said.json").read_text())
    return said


@pytest.mark.skipif(VIM is None, reason="needs Vim")
@each("vim")
def test_vim_takes_a_line(snippet: Snippet, tmp_path: Path) -> None:
    """It maps or sets something; coc.nvim has what it calls (`test_vim.py` types the keys)."""
    (tmp_path / "KEYFILE").write_text("a key\n")
    names = [f":{name}" for name in re.findall(r":(Coc\w+)", snippet.text)]
    names += [f"*{name}" for name in re.findall(r"(coc#[\w#]+|CocAction\w*)\(", snippet.text)]
    if names and COC.exists():
        missing = " || ".join(f"!exists({name!r})" for name in names)
        load = "runtime! plugin/coc.vim autoload/coc/inline.vim"
        start_vim(tmp_path, f"{load}\nif {missing} | cquit | endif")
    if names and not snippet.is_block:
        return
    plug = "command! -nargs=+ Plug let g:plug = [<args>]"  # as vim-plug has it
    assert start_vim(tmp_path, snippet.text, plug) != start_vim(tmp_path, "", plug)


LISP_LIBRARIES = """
(setq native-comp-enable-subr-trampolines nil native-comp-jit-compilation nil)
(load "lsp-mode-autoloads") (require 'eglot) (require 'python) (require 'json)
"""


def emacs(home: Path, script: str) -> dict[str, Any]:
    """Return what *script* prints as JSON, in an Emacs that has lsp-mode and eglot."""
    paths = f'((default-directory "{SHARE}/site-lisp/elpa-src/"))'
    load = f"(let {paths} (normal-top-level-add-subdirs-to-load-path)) {LISP_LIBRARIES}"
    (home / "init.el").write_text(load + script)
    env = programs.environment(
        home, EMACSDATA=str(DATA / "etc"), EMACSDOC=str(DATA / "etc"),
        EMACSLOADPATH=str(DATA / "lisp"),
        EMACSPATH=str(LIBEXEC),
    )  # fmt: skip
    image = next(LIBEXEC.glob("*.pdmp"))
    done = subprocess.run(
        [
            str(programs.program("emacs-nox")), f"--dump-file={image}", "--batch",
            "-l", str(home / "init.el"),
        ],
        env=env, cwd=home, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


LISP_REPORT = """
(princ (json-encode (list :hooks (format "%S" (list prog-mode-hook python-mode-hook))
  :eglot (format "%S" eglot-server-programs) :ours (featurep 'fim-lsp)
  :settings (and (boundp 'fim-lsp-settings) fim-lsp-settings))))
"""


@programs.needs("emacs-nox")[1]
@each("elisp")
def test_emacs_takes_a_form(snippet: Snippet, tmp_path: Path) -> None:
    """It changes a hook, a list of servers, or our settings; all that it sets exists."""
    ours = f'(load "{ROOT}/editors/emacs/fim-lsp.el")'
    form = snippet.text.replace("~/src/fim-lsp", str(ROOT))
    before = "" if "load" in form else ours
    options_set = re.findall(r"\(setq ([\w-]+)", form)
    known = "".join(
        f'(unless (custom-variable-p \'{name}) (error "no option"))' for name in options_set
    )
    said = emacs(tmp_path, before + form + known + LISP_REPORT)
    assert said != emacs(tmp_path, before + LISP_REPORT)
    check_settings(said["settings"] or {})


EMACS_KEYS = {
    "C-c TAB": "lsp-inline-completion-accept", "C-<return>": "lsp-inline-completion-accept",
    "C-n": "lsp-inline-completion-next", "C-p": "lsp-inline-completion-prev",
    "C-g": "lsp-inline-completion-cancel",
    "C-M-i": "completion-at-point", "M-w": "kill-ring-save",
}  # fmt: skip


def named_for_emacs(pattern: str) -> list[str]:
    """Return what of the lines of its page is in backticks and fits *pattern*."""
    inline = (s.text for s in SNIPPETS if s.page == "docs/editors/emacs.md" and not s.is_block)
    return sorted({text for text in inline if re.match(pattern, text)})


@programs.needs("emacs-nox")[1]
def test_emacs_has_the_keys_and_commands(tmp_path: Path) -> None:
    """All that its page names: of a suggestion on screen, else everywhere; `M-x` by its name."""
    keys = named_for_emacs(r"[CM]-[^x]")
    commands = [text.removeprefix("M-x ") for text in named_for_emacs("M-x ")]
    names = named_for_emacs(r"(?:lsp|eglot|completion)-[\w-]+$")
    found = [
        f'(let ((key (kbd "{key}")))'
        f'(cons "{key}" (or (lookup-key lsp-inline-completion-active-map key) (key-binding key))))'
        for key in keys
    ]
    found += [f'(cons "{name}" (commandp (intern "{name}")))' for name in commands]
    found += [f"(cons \"{name}\" (or (boundp '{name}) (fboundp '{name})))" for name in names]
    load = f'(load "{ROOT}/editors/emacs/fim-lsp.el") (require \'lsp-mode)'
    said = emacs(tmp_path, f"{load} (princ (json-encode (list {' '.join(found)})))")
    assert said == {key: EMACS_KEYS[key] for key in keys} | dict.fromkeys(commands + names, True)


@programs.needs("hx")[1]
@each("helix")
def test_helix_reads_a_setting(snippet: Snippet, tmp_path: Path) -> None:
    """It is TOML where the page says, Helix says nothing against it, and the server takes it."""
    ours = (ROOT / "editors/helix/languages.toml").read_text("utf-8")
    header = "[language-server.fim-lsp]\n"
    line = completed(snippet, "backend = { url = 'http://127.0.0.1:8012' }")
    check_helix(tmp_path, ours.replace(header, f"{header}{line}\n"))


@programs.needs("hx")[1]
def test_helix_reads_the_example_in_our_file(tmp_path: Path) -> None:
    """Once its sign for a comment is gone."""
    ours = (ROOT / "editors/helix/languages.toml").read_text("utf-8")
    check_helix(tmp_path, ours.replace("# config = ", "config = "))


def check_helix(home: Path, languages: str) -> None:
    """Helix complains of nothing, and the server takes the settings."""
    folder = home / ".config/helix"
    folder.mkdir(parents=True)
    (folder / "languages.toml").write_text(languages)
    shutil.copy(ROOT / "editors/helix/config.toml", folder)
    argv = [str(programs.program("hx")), "--health", "python"]
    env = programs.environment(home)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "Error" not in done.stdout + done.stderr, done.stderr
    assert "fim-lsp" in done.stdout
    server = tomllib.loads(languages)["language-server"]["fim-lsp"]
    assert server["config"]
    check_settings(server["config"])
    assert options.parser().parse_args(server["args"]).stdio


# kakoune-lsp's own part in what our page does: an option, a command, a filetype's default.
KAK_LSP = """
echo 'declare-option str lsp_servers
define-command lsp-enable %{ hook global BufSetOption filetype=.* %{
  set-option buffer lsp_servers "[its-own]" } }'
"""


@programs.needs("kak")[1]
@each("kak")
def test_kakoune_takes_a_block(snippet: Snippet, tmp_path: Path) -> None:
    """Our server is in a file's list beside the language's own, with arguments that it takes."""
    assert snippet.is_block or snippet.text == ":echo %opt{lsp_servers}"
    [block] = [s.text for s in SNIPPETS if s.language == "kak" and s.is_block]
    server = tmp_path / ".local/bin/kak-lsp"
    server.parent.mkdir(parents=True)
    server.write_text(f"#!/bin/sh\n{KAK_LSP}")
    server.chmod(0o755)
    config = tmp_path / ".config/kak"
    config.mkdir(parents=True)
    (config / "kakrc").write_text(block)
    (tmp_path / "shop.py").write_text("")
    runtime = programs.ROOT / "usr/share/kak"
    line = "set-option buffer filetype python; echo -to-file said %opt{lsp_servers}; quit!"
    done = subprocess.run(
        [str(programs.program("kak")), "-ui", "dummy", "-e", line, str(tmp_path / "shop.py")],
        env=programs.environment(tmp_path, KAKOUNE_RUNTIME=str(runtime)),
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said = (tmp_path / "said").read_text()
    assert "[its-own]" in said, done.stderr
    [ours] = tomllib.loads(said.replace("[its-own]", "")).values()
    assert options.parser().parse_args(ours["args"]).stdio
