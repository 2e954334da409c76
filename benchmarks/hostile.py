"""
What a hostile workspace costs the editor: the longest time without an answer, exit, memory.

    python -m benchmarks.hostile              # every case, some minutes
    python -m benchmarks.hostile braces fifo  # some

Each case is a folder that a clone could bring, or a text that an editor could open. The real server is
started in it, a normal file is typed into for some seconds, with a request for `fim/stats` after each
key; then the editor closes the connection without a shutdown. Shown per case: the longest wait for an
answer beside the same in a harmless folder (on a busy machine both grow), the completions shown, the
seconds until the process had ended, and by how much its memory grew.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.e2e.client import Editor

MAIN = "def freight(weight, rate):\n    total = weight * rate\n    return total\n\n\n"
TYPED = "def price(weight):\n    return freight(weight, 3)\n\n\nfor each in (1, 2, 3):\n    print(price(each))\n"
SETTINGS = {"fim": {"backend": {"kind": "embedded"}, "completion": {"debounceMs": 0}}}
PAUSE_S = 0.04
MIB = 1 << 20

# Fills a folder; returns the text to open beside the normal file, "" for none.
Case = Callable[[Path], str]


def harmless(_: Path) -> str:
    return ""


def stars(folder: Path) -> str:
    """Return a pattern that backtracks, and long names that nearly match it."""
    (folder / ".gitignore").write_text(f"{'*a' * 24}b\n" * 20)
    for n in range(50):
        (folder / f"{'a' * 200}{n}.py").write_text("x = 1\n")
    return ""


def many_patterns(folder: Path) -> str:
    (folder / ".gitignore").write_text("".join(f"*.{n}x*\n" for n in range(50_000)))
    return ""


def fifo(folder: Path) -> str:
    os.mkfifo(folder / ".gitignore")
    os.mkfifo(folder / "pipe.py")
    return ""


def links(folder: Path) -> str:
    (folder / ".gitignore").symlink_to("/dev/stdin")
    (folder / "zero.py").symlink_to("/dev/zero")
    (folder / "sub").mkdir()
    (folder / "sub" / ".gitignore").symlink_to("/dev/zero")
    (folder / "sub" / "a.py").write_text("x = 1\n")
    return ""


def braces(folder: Path) -> str:
    (folder / "deep.ts").write_text("{" * 60_000)
    (folder / "deep.py").write_text("(" * 60_000)
    (folder / "deep.java").write_text("class A { int x = " + "(" * 60_000)
    (folder / "deep.lua").write_text("f(" * 60_000)
    (folder / "deep.json").write_text("[" * 60_000)
    return "(" * 60_000


def unclosed(folder: Path) -> str:
    for suffix, text in {"py": '"""', "ts": "`${", "c": "/*", "sh": "<<E\n", "lua": "[==["}.items():
        (folder / f"open.{suffix}").write_text((text + "x ") * 30_000)
    return '"""\n' * 20_000


def one_line(folder: Path) -> str:
    (folder / "min.js").write_text("function a(){return[1,2,3]};" * 40_000)
    return "x = [" + "1, " * 3_300_000 + "]"


def hex_run(folder: Path) -> str:
    (folder / "data.py").write_text("K = '" + "0123456789abcdef" * 7_000 + "://'\n")
    return "\n" * 3_000 + "K = '" + "eyJ." * 30_000 + "'\n"


def large(_: Path) -> str:
    return "value = compute(1, 2, 3)  # a line of code\n" * 240_000  # 10 MB


def names(folder: Path) -> str:
    not_utf8 = folder / os.fsdecode(b"\xff\xfe")
    not_utf8.mkdir()
    (not_utf8 / os.fsdecode(b"\xe9.py")).write_text("x = 1\n")
    (folder / "new\nline.py").write_text("x = 1\n")
    return ""


def settings(folder: Path) -> str:
    key = "x](command:workbench.action.terminal.new) " * 3_000
    (folder / ".fim-lsp.toml").write_text(
        f'"{key}" = 1\n' + "".join(f"k{n} = 1\n" for n in range(5_000))
    )
    return ""


CASES: dict[str, Case] = {
    each.__name__: each
    for each in (
        harmless, stars, many_patterns, fifo, links, braces, unclosed, one_line, hex_run, large, names,
        settings,
    )
}  # fmt: skip


class Figures(NamedTuple):
    """One case; *hold_ms* is the longest wait for an answer, *exit_s* until the process was gone."""

    hold_ms: float
    answered: int
    shown: int
    exit_s: float
    grown_mib: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], default=[])
    options = parser.parse_args()
    print("| case | longest wait ms | completions shown | exit s | memory grown MiB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in options.cases or CASES:
        figures = measured(CASES[name])
        print(
            f"| {name} | {figures.hold_ms:.0f} | {figures.shown} of {figures.answered} "
            f"| {figures.exit_s:.2f} | {figures.grown_mib:.0f} |",
            flush=True,
        )


def measured(case: Case) -> Figures:
    """Type in a folder made by *case*."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        root.mkdir()
        beside = case(root)
        (root / "main.py").write_text(MAIN)
        editor = Editor(Path(folder) / "home")
        try:
            return _typed(editor, root, beside)
        finally:
            editor.close()


def _typed(editor: Editor, root: Path, beside: str) -> Figures:
    process, uri = psutil.Process(editor.process.pid), (root / "main.py").as_uri()
    editor.initialize(rootUri=root.as_uri(), initializationOptions=SETTINGS)
    editor.open(uri, MAIN)
    _complete(editor, uri, MAIN, kind=1)  # the engine has started
    before = process.memory_info().rss
    if beside:
        editor.open((root / "beside.py").as_uri(), beside)
    hold, n, shown, text = 0.0, 0, 0, MAIN
    for version, key in enumerate(TYPED, 2):
        text += key
        change = {
            "textDocument": {"uri": uri, "version": version},
            "contentChanges": [{"text": text}],
        }
        editor.notify("textDocument/didChange", change)
        asked = _ask(editor, uri, text, kind=2)
        if beside:  # a cursor at the end of its first line
            _ask(editor, (root / "beside.py").as_uri(), beside.partition("\n")[0], kind=2)
        began = time.perf_counter()
        editor.request("fim/stats")
        hold = max(hold, time.perf_counter() - began)
        shown += bool(editor.answer(asked)["result"]["items"])
        n += 1
        time.sleep(PAUSE_S)
    grown = process.memory_info().rss - before
    began = time.perf_counter()
    editor.hang_up()
    return Figures(hold * 1e3, n, shown, time.perf_counter() - began, grown / MIB)


def _ask(editor: Editor, uri: str, text: str, kind: int) -> int:
    at = {"line": text.count("\n"), "character": len(text.rpartition("\n")[2])}
    context = {"triggerKind": kind}
    params = {"textDocument": {"uri": uri}, "position": at, "context": context}
    return editor.ask("textDocument/inlineCompletion", params)


def _complete(editor: Editor, uri: str, text: str, kind: int) -> None:
    editor.answer(_ask(editor, uri, text, kind))


if __name__ == "__main__":
    main()
