"""
Edits by instruction in git histories: each hunk of a commit as a model's answer, in five dresses.

    python -m benchmarks.instructed --commits 200 ~/src/flask ~/src/bat

The text is that of the commit, but for one hunk; selected are the lines of that hunk before the commit with three lines
around it, as git shows them, up to the next line that is not blank, and to the end of a fenced block. The answer is the same lines after the commit:
fenced; in a block within a block; with other indentation, at the left margin (tabs for spaces, four spaces for tabs);
behind a sentence and before another; behind thoughts that hold a draft. *Right* are those that become the text of the
commit to the byte, *refused* those with which nothing is done, *lost* those that are applied without one of its lines.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import arguments
from benchmarks.git import git
from benchmarks.markdown import table
from benchmarks.progress import tell
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Position, apply_edits, open_document
from fim_lsp.instruct.answer import edits, read
from fim_lsp.instruct.blocks import is_left_open
from fim_lsp.instruct.dialogue import Dialogue, Selection, fence, select_lines, turn
from fim_lsp.suggest.lines import indent
from server_bridge.protocol import Prompt
from tests.parsing import count_here

MAX_CHARS = 400_000  # of a file, as elsewhere
MAX_LINES = 200  # of a hunk: what a user may select
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
Answer = Callable[[str, str, str], str]  # of a fence, the language and the lines of the answer


def main() -> None:
    """Print a row for each dress, then for each language."""
    parser = arguments.parser("benchmarks.instructed", __doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=200, help="how many of all histories")
    parser.add_argument("--show", type=int, default=0, help="how many that are not right")
    options = parser.parse_args()
    each = max(1, options.commits // len(options.histories))
    counts = defaultdict[str, Counter[str]](Counter)
    notes = Counter[str]()
    commits = [
        (path, commit)
        for path in options.histories
        for commit in git(path, "log", "--no-merges", "--format=%H", f"-n{each}").split()
    ]
    for path, commit in tell(commits, len(commits), lambda step: step[0].name):
        counts["all"]["commits"] += 1
        for document, selection, after in find_changes(path, commit):
            for dress, lines_of in DRESSES.items():
                verdict, why = judge(document, selection, after, lines_of)
                for row in (dress, document.language, "all"):
                    counts[row][verdict] += 1
                notes[why] += 1
                if verdict != "right" and options.show > 0:
                    options.show -= 1
                    print(commit[:8], document.uri, selection.first + 1, dress, verdict, why)
    for row in (*DRESSES, *sorted(counts.keys() - DRESSES.keys())):
        counts[row]["tried"] = sum(
            counts[row][name] for name in ("right", "refused", "other", "lost")
        )
    print(table(("", "tried", "right", "share", "refused", "other", "lost"), (
        (row, n["tried"], n["right"], f"{n['right'] / n['tried']:.2%}", n["refused"], n["other"], n["lost"])
        for row, n in counts.items() if n["tried"]
    )))  # fmt: skip
    print(f"\n{counts['all']['commits']} commits;", dict(notes.most_common()))


def find_changes(path: Path, commit: str) -> Iterator[tuple[Document, Selection, list[str]]]:
    """Yield each hunk of a commit: the text without it, what is selected, and the lines after it."""
    shown = git(
        path, "show", "--format=", "-U3", "--no-renames", "--diff-filter=M", "--no-color", commit
    )
    for diff in ("\n" + shown).split("\ndiff --git ")[1:]:
        name = diff.partition("\n+++ b/")[2].partition("\n")[0].rstrip("\t")
        language = language_of(name) or ("markdown" if name.endswith(".md") else "")
        if not language:
            continue
        text = git(path, "show", f"{commit}:{name}")
        if len(text) > MAX_CHARS or "\r" in text or "\ufffd" in text:
            continue
        for before, start, length in read_hunks(diff):
            lines = text.split("\n")
            first = start
            last = start + length
            while first > 0 and not lines[first].strip():
                first -= 1
            while last < len(lines) and not lines[last - 1].strip():
                last += 1
            while is_left_open(lines[first:last]) and last < len(lines):
                last += 1
            while is_left_open(lines[first:last]) and first > 0:
                first -= 1
            after = lines[first:last]
            old = [*lines[first:start], *before, *lines[start + length : last]]
            whole = "\n".join([*lines[:first], *old, *lines[last:]])
            document = open_document(f"file:///{name}", language, 1, whole)
            end = Position(first + len(old), 0)
            if len(old) <= MAX_LINES and old != after and any(map(str.strip, old)):
                yield document, select_lines(document, Position(first, 0), end), after


def read_hunks(diff: str) -> Iterator[tuple[list[str], int, int]]:
    """Yield the lines before each hunk, and where those after it begin and how many they are."""
    heads = [*_HUNK.finditer(diff)]
    ends = [*(head.start() for head in heads[1:]), len(diff)]
    for head, end in zip(heads, ends, strict=True):
        body = diff[head.end() : end].split("\n")[1:]
        before = [line[1:] for line in body if line[:1] in ("-", " ")]
        n_after = int(head[2] or 1)
        yield before, int(head[1]) - (n_after > 0), n_after


def judge(
    document: Document, selection: Selection, after: list[str], dress: Answer
) -> tuple[str, str]:
    """Return what comes of the lines *after* as an answer, and why they are refused."""
    text = "\n".join(_shown(selection, after))
    answer = dress(fence(selection.clean, document.language), document.language, text)
    question = turn(selection, "a", document.language, "change it")
    dialogue = Dialogue(
        Prompt("", (), "", "", ""), range(1), selection, (question,), "change it, or delete it"
    )
    lines, refusal = read(answer, dialogue, document, selection, count_here)
    if refusal is not None:
        return "refused", refusal.why
    made = apply_edits(
        document, reversed(edits(document, selection.first, selection.last, lines)), 2
    )
    above = document.lines[: selection.first]
    expected = "".join(above) + "\n".join(_visible(after)) + _below(document, selection)
    if made.text == expected:
        return "right", ""
    lost = Counter(filter(str.strip, map(str.strip, after))) - Counter(map(str.strip, lines))
    return ("lost" if lost else "other"), ""


def _visible(lines: list[str]) -> list[str]:
    written = [n for n, line in enumerate(lines) if line.strip()]
    return lines[written[0] : written[-1] + 1] if written else []


def _below(document: Document, selection: Selection) -> str:
    """Return the text behind the selected lines, from the end of the last one on."""
    last = document.lines[selection.last - 1]
    return last[len(last.rstrip("\n")) :] + "".join(document.lines[selection.last :])


def _shown(selection: Selection, lines: list[str]) -> list[str]:
    """Return *lines* as a model answers that was shown the selection without its margin."""
    visible = _visible(lines)
    margin = selection.indent
    if all(line.startswith(margin) for line in visible if line.strip()):
        return [line.removeprefix(margin) for line in visible]
    return visible


def fenced(mark: str, language: str, text: str) -> str:
    """As it was asked for."""
    return f"{mark}{language}\n{text}\n{mark}"


def nested(mark: str, language: str, text: str) -> str:
    """In a block of Markdown."""
    inner = text if language == "markdown" else fenced("```", language, text)
    return f"{'```' if language == 'markdown' else mark}markdown\n{inner}\n{'```' if language == 'markdown' else mark}"


def indented(mark: str, language: str, text: str) -> str:
    """With tabs for spaces, or four spaces for tabs, at the left margin."""
    lines = text.split("\n")
    has_tabs = any(line.startswith("\t") for line in lines)
    unit = _unit(lines)
    return fenced(mark, language, "\n".join(_other(line, has_tabs, unit) for line in lines))


def _unit(lines: list[str]) -> int:
    widths = [len(indent(line)) for line in lines if line.strip() and line[:1] == " "]
    return next((n for n in (4, 2) if widths and all(width % n == 0 for width in widths)), 0)


def _other(line: str, has_tabs: bool, unit: int) -> str:
    white = indent(line)
    if has_tabs:
        return white.replace("\t", "    ") + line[len(white) :]
    if not unit:
        return line
    return "\t" * (len(white) // unit) + line[len(white) :]


def introduced(mark: str, language: str, text: str) -> str:
    """With words around it, one of them in a fence's signs."""
    return f"Sure! I changed `it`, and nothing else:\n\n{fenced(mark, language, text)}\n\nTell me if more is to be done.\n"


def thought(mark: str, language: str, text: str) -> str:
    """Behind thoughts that the template began, and others."""
    draft = fenced("```", language, next(line for line in text.split("\n") if line.strip(" `~")))
    return f"Let me see.\n{draft}\nNo.\n</think>\n\n<think>\n{draft}\n</think>\n{fenced(mark, language, text)}"


DRESSES: dict[str, Answer] = {
    "fenced": fenced, "in a block": nested, "other indentation": indented,
    "a sentence in front": introduced, "thoughts": thought,
}  # fmt: skip

if __name__ == "__main__":
    main()
