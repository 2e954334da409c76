"""
Zed's requests, replayed to a llama.cpp server and through `fim-lsp http`: tokens evaluated per key, and time.

    python -m benchmarks.zed

Zed itself cannot be driven here. Its bodies are built after its sources (crates/edit_prediction/src/fim.rs and
crates/zeta_prompt): a prompt with special tokens of 512 tokens around the cursor, and zeta2's with 350 tokens that
may be edited, 150 around them and the last edits. Zed counts three bytes as a token. The same lines are typed into the same
file each time, a key as soon as the last one is answered; tokens are the server's own total. Next edits, which wait for a
pause, are off.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import serve, traces
from benchmarks.side_by_side import asked, evaluated

BYTES = 3  # of a token, as Zed estimates
FIM_TOKENS, EDITABLE_TOKENS, CONTEXT_TOKENS = 512, 350, 150
PATH = "shop/long.py"
STOPS = ["<|endoftext|>", "<|fim_pad|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]


class Typed(NamedTuple):
    """The file's lines as they are, as they were, and the cursor."""

    lines: list[str]
    before: list[str]
    row: int
    column: int


Bodies = Callable[[Typed], dict[str, Any]]


def qwen(typed: Typed) -> dict[str, Any]:
    """`prompt_format` qwen."""
    first, last = around(typed.lines, typed.row, FIM_TOKENS)
    before, after = halves(typed, first, last)
    prompt = f"<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>"
    return {"model": "m", "prompt": prompt, "max_tokens": 256, "stop": STOPS}


def zeta2(typed: Typed) -> dict[str, Any]:
    """`prompt_format` zeta2."""
    first, last = around(typed.lines, typed.row, EDITABLE_TOKENS)
    top, bottom = around(typed.lines, typed.row, EDITABLE_TOKENS + CONTEXT_TOKENS)
    above = "".join(f"{line}\n" for line in typed.lines[top:first])
    below = "".join(f"{line}\n" for line in typed.lines[last:bottom])
    before, after = halves(typed, first, last)
    changes = difflib.unified_diff(
        typed.before, typed.lines, f"a/{PATH}", f"b/{PATH}", n=3, lineterm=""
    )
    prompt = (
        f"<[fim-suffix]>{below}<[fim-prefix]><filename>edit_history\n" + "\n".join(changes)
        + f"\n\n<filename>{PATH}\n{above}<<<<<<< CURRENT\n{before}<|user_cursor|>{after}\n=======\n<[fim-middle]>"
    )  # fmt: skip
    return {"model": "m", "prompt": prompt, "max_tokens": 256, "stop": [">>>>>>> UPDATED"]}


def around(lines: list[str], row: int, n_tokens: int) -> tuple[int, int]:
    """Return the lines [first, last) around *row* that make so many tokens."""
    first, last, left = row, row + 1, n_tokens * BYTES - len(lines[row])
    while left > 0 and (first > 0 or last < len(lines)):
        if first > 0:
            first -= 1
            left -= len(lines[first]) + 1
        if last < len(lines) and left > 0:
            left -= len(lines[last]) + 1
            last += 1
    return first, last


def halves(typed: Typed, first: int, last: int) -> tuple[str, str]:
    """Return the text of the lines [first, last) on both sides of the cursor."""
    here = typed.lines[typed.row]
    before = [*typed.lines[first : typed.row], here[: typed.column]]
    after = [here[typed.column :], *typed.lines[typed.row + 1 : last]]
    return "\n".join(before), "\n".join(after)


def keys(n_lines: int) -> Iterator[Typed]:
    """New lines typed into a long file, key by key."""
    lines = traces.source(argparse).split("\n")
    before = [*lines]
    code = traces.new_code(random.Random(0))
    row = traces.AT_LINE
    for _ in range(n_lines):
        lines.insert(row, "")
        line = next(code)
        for column in range(len(line) + 1):
            lines[row] = line[:column]
            yield Typed(lines, before, row, column)
        row += 1


def quiet(home: Path) -> Path:
    """Return *home* with settings that offer no next edits."""
    (home / "fim-lsp").mkdir()
    (home / "fim-lsp/config.toml").write_text("[nextEdit]\nenabled = false\n")
    return home


def measure(bodies: Bodies, n_lines: int, *, through: bool) -> tuple[float, list[float]]:
    """Return tokens evaluated per key, and the milliseconds of each request, in order of length."""
    with (
        serve.serving() as url,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        asked(quiet(Path(folder)), url, through=through) as (there, _),
    ):
        (Path(folder) / PATH).write_text(traces.source(argparse))
        before, times = evaluated(url), []
        for typed in keys(n_lines):
            body = json.dumps(bodies(typed)).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{there}/v1/completions", body, headers)
            started = time.perf_counter()
            with urllib.request.urlopen(request) as answer:
                answer.read()
            times.append(1000 * (time.perf_counter() - started))
        return (evaluated(url) - before) / len(times), sorted(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=30)
    n_lines = parser.parse_args().lines
    print("| Zed's requests | tokens/key | ms p50 | ms p95 |\n| --- | ---: | ---: | ---: |")
    for bodies in (qwen, zeta2):
        for through in (False, True):
            per_key, times = measure(bodies, n_lines, through=through)
            p50, p95 = times[len(times) // 2], times[int(0.95 * len(times))]
            name = bodies.__name__ + (", through fim-lsp" if through else "")
            print(f"| {name} | {per_key:.1f} | {p50:.0f} | {p95:.0f} |", flush=True)


if __name__ == "__main__":
    main()
