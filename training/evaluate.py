"""
The rest of a line, greedily, at held-out positions: a running llama-server with the model, by layout.

    data/heldout_corpus.json  ->  a table on stdout, every answer in RESULTS.jsonl

    python evaluate.py http://127.0.0.1:8080 RESULTS.jsonl [POSITIONS_PER_PACKAGE]

Layouts: A  typed text before the suffix (classic)        G  A with token healing
         B  typed text after the middle token             H  B with token healing (what fim-lsp does)
         C  B and up to ten earlier lines with it         I  the server's own /infill
         P  no model: the last line in sight that begins with the typed text
Context: 0 none, 3 the three most similar 32-line pieces of the package.
"""

from __future__ import annotations

import ast
import collections
import difflib
import json
import keyword
import random
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

import regex
from corpus import QWEN2, TEST

CONDITIONS = ("A0", "G0", "B0", "H0", "C0", "I0", "P0", "A3", "G3", "B3", "H3", "C3", "I3", "P3")
PREFIX_LINES, SUFFIX_LINES = 60, 20
PIECE_LINES, N_PIECES = 32, 3
EARLIER_LINES = 10  # of layout C
TYPED = 0.4  # of the line
MOST_TOKENS = 64
PRE_TOKEN = regex.compile(QWEN2)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
COMMON = set(keyword.kwlist) | {"self"}


class Case(NamedTuple):
    """A cursor in a held-out file: what stands around it, and the truth."""

    package: str
    path: str
    before: list[str]
    typed: str
    rest: str
    after: str
    pieces: list[tuple[str, str]]


def words(text: str) -> set[str]:
    return set(IDENTIFIER.findall(text)) - COMMON


def code_lines(text: str, lines: list[str]) -> list[int]:
    """Lines worth asking for: no comments, docstrings, or very short ones."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    strings: set[int] = set()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            strings |= set(range(node.lineno - 1, node.end_lineno))
    return [
        n
        for n, line in enumerate(lines)
        if n not in strings and len(line.strip()) >= 8 and not line.strip().startswith("#")
    ]


def cases(package: str, files: list[list[str]], n: int, rng: random.Random) -> list[Case]:
    """*n* cursors drawn from one package."""
    split = {path: text.splitlines(keepends=True) for path, text in files if not TEST.search(path)}
    pieces = [
        (path, start, words("".join(lines[start : start + PIECE_LINES])))
        for path, lines in split.items()
        for start in range(0, len(lines), PIECE_LINES // 2)
    ]
    pieces = [piece for piece in pieces if len(piece[2]) > 5]
    places = [
        (path, i) for path, text in files if path in split for i in code_lines(text, split[path])
    ]
    found = []
    for path, i in rng.sample(places, min(n, len(places))):
        lines = split[path]
        line, body = lines[i].rstrip("\n"), lines[i].strip()
        cut = len(line) - len(line.lstrip()) + round(TYPED * len(body))
        start, end = max(0, i - PREFIX_LINES), min(len(lines), i + 1 + SUFFIX_LINES)
        near = "".join(lines[max(0, i - 20) : i]) + line[:cut] + "".join(lines[i + 1 : i + 11])
        shown = similar(words(near), pieces, split, (path, start, end))
        before, after = lines[start:i], "".join(lines[i + 1 : end])
        found.append(Case(package, path, before, line[:cut], line[cut:].rstrip(), after, shown))
    return found


def similar(
    wanted: set[str],
    pieces: list[tuple[str, int, set[str]]],
    split: dict[str, list[str]],
    window: tuple[str, int, int],
) -> list[tuple[str, str]]:
    """The pieces most alike by Jaccard, outside the window and apart; the most similar one last."""
    path, start, end = window
    ranked = sorted(pieces, key=lambda piece: -len(wanted & piece[2]) / len(wanted | piece[2]))
    used: list[tuple[str, int]] = []
    for other, at, _ in ranked:
        overlaps = other == path and at < end and at + PIECE_LINES > start
        if not overlaps and all(other != p or abs(at - a) >= PIECE_LINES for p, a in used):
            used.append((other, at))
            if len(used) == N_PIECES:
                break
    return [(p, "".join(split[p][a : a + PIECE_LINES])) for p, a in reversed(used)]


def healed(typed: str) -> tuple[str, str]:
    """The typed text without its last pre-token, and that."""
    if not typed.strip():
        return typed, ""
    last = PRE_TOKEN.findall(typed)[-1]
    return typed[: len(typed) - len(last)], last


def grammar(fragment: str) -> str:
    escaped = fragment.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'root ::= "{escaped}" [^\\n]* "\\n"'


def answer(url: str, case: Case, condition: str) -> str:
    """What the model says in this layout."""
    layout, pieces = condition[0], case.pieces if condition[1] == "3" else []
    if layout == "P":
        return without_model(case, pieces)
    asked: dict[str, Any] = {"n_predict": MOST_TOKENS, "temperature": 0, "stop": ["\n"]}
    before = "".join(case.before)
    if layout == "I":
        asked |= {"input_prefix": before + case.typed, "input_suffix": "\n" + case.after}
        asked["input_extra"] = [{"filename": path, "text": text} for path, text in pieces]
        return post(f"{url}/infill", asked)["content"]
    typed, fragment = healed(case.typed) if layout in "GH" else (case.typed, "")
    earlier = ""
    if layout == "C":
        earlier = "".join(case.before[-EARLIER_LINES:])
        before = "".join(case.before[:-EARLIER_LINES])
    prefix, middle = (before + typed, "") if layout in "AG" else (before, earlier + typed)
    head = f"<|repo_name|>{case.package}\n"
    head += "".join(f"<|file_sep|>{path}\n{text}" for path, text in pieces)
    head += f"<|file_sep|>{case.path}\n<|fim_prefix|>"
    asked["prompt"] = f"{head}{prefix}<|fim_suffix|>{case.after}<|fim_middle|>{middle}"
    if fragment:
        asked["grammar"] = grammar(fragment)
    return post(f"{url}/completion", asked)["content"].removeprefix(fragment)


def without_model(case: Case, pieces: list[tuple[str, str]]) -> str:
    sight = "\n".join([*(text for _, text in pieces), "".join(case.before), case.after])
    typed = case.typed.strip()
    hits = [s for line in sight.split("\n") if (s := line.strip()).startswith(typed) and s != typed]
    return hits[-1][len(typed) :] if typed and hits else ""


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def main() -> None:
    url, out = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 85
    rng = random.Random(1234)
    corpus = json.loads(Path("data/heldout_corpus.json").read_text("utf-8"))
    right: collections.Counter[str] = collections.Counter()
    alike: collections.Counter[str] = collections.Counter()
    n_cases = 0
    with Path(out).open("w", encoding="utf-8") as file:
        for package, files in sorted(corpus.items()):
            for case in cases(package, files, n, rng):
                n_cases += 1
                answers = {c: answer(url, case, c).rstrip() for c in CONDITIONS}
                for condition, text in answers.items():
                    right[condition] += text == case.rest
                    ratio = difflib.SequenceMatcher(None, text, case.rest, autojunk=False).ratio()
                    alike[condition] += ratio
                file.write(json.dumps({"case": case._asdict(), "answers": answers}) + "\n")
    print("layout  exact         similarity")
    for condition in CONDITIONS:
        exact = f"{right[condition]}/{n_cases} {right[condition] / n_cases:.1%}"
        print(f"{condition}      {exact:<13} {alike[condition] / n_cases:.3f}")


if __name__ == "__main__":
    main()
