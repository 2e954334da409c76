"""
A staged diff and the last subjects into a prompt whose middle is the subject of the next commit.
Pure.

A diff is read file by file, so that private files can be left out: what cannot be read is left out
as well.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scan import BLOT, scrub_text
from fim_lsp.display import drop_invisible
from fim_lsp.prompt.half_words import heal
from server_bridge.protocol import Chunk, Prompt, State

SCISSORS = "------------------------ >8 ------------------------"
SUBJECT_CHARS = 72  # what `git log` shows of a subject on a screen of 80
SUBJECT_TOKENS = 40
READING_S = 8  # how long the model may read the diff: a user waits for it
LEAST_TOKENS, MOST_TOKENS = 256, 3072  # of a diff; more of it makes no better subject
SHARE = 3  # of the context, for the diff
LOG = "subjects.txt"
ASK = (
    f"Write the subject of the commit that makes the changes in staged.diff: one line of at most "
    f"{SUBJECT_CHARS} characters "
    f"that says what these changes do. Begin it as the subjects in {LOG} begin, but repeat none of "
    f"them: those are of "
    "earlier commits. Answer with the line only."
)

# What small models repeat of the prompt before a subject; what differs where it says the same.
_ECHO = re.compile(
    r"[\[*]*(?:(?:subject(?: line)?|commit message|staged\.diff|subjects\.txt)\**:\** *)+",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[,;] ?")
_KIND, _NUMBER = re.compile(r"^[\w-]+(\([^()]*\))?!?: +"), re.compile(r"( \(#\d+\))?\.?$")

_FILE = re.compile(r"^diff --", re.MULTILINE)
_HUNK = re.compile(r"@@(@{0,8}) [^@\n]{0,400}@@")
_UNSTAGED = re.compile(r"^\S -{50}$", re.MULTILINE)  # what `git commit -v -v` shows below
_NAMED = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")
_NOISE = ("index ", "old mode ", "new mode ", "similarity index ", "dissimilarity index ")
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


class FileDiff(NamedTuple):
    """The changes of one file, and the *names* that it may have, from the top of the work tree."""

    names: tuple[str, ...]
    text: str


def below_scissors(message: str) -> str:
    """Return the diff that `git commit --verbose` puts below a message, "" where there is none."""
    _, cut, below = message.partition(SCISSORS)
    at = _FILE.search(below) if cut else None
    if at is None:
        return ""
    end = _UNSTAGED.search(below, at.start())
    return below[at.start() : end.start() if end else len(below)]


def file_diffs(diff: str) -> list[FileDiff]:
    """Return a diff by files, without those whose name is not clear."""
    bounds = [*(match.start() for match in _FILE.finditer(diff)), len(diff)]
    diffs = [_file_diff(diff[start:end]) for start, end in itertools.pairwise(bounds)]
    return [file_diff for file_diff in diffs if file_diff.names]


def n_characters(state: State) -> int:
    """Return how much of a diff this model reads in good time."""
    n_tokens = max(LEAST_TOKENS, min(MOST_TOKENS, int(state.prefill_per_s * READING_S)))
    return int(min(n_tokens, (state.n_ctx or 4096) // SHARE) * state.chars_per_token)


def prompt_of(
    repo: str,
    diffs: Sequence[FileDiff],
    subjects: Sequence[str],
    typed: str,
    n_chars: int,
    *,
    state: State,
) -> Prompt:
    """
    Return the prompt for a subject that begins with *typed*, with at most *n_chars* of *diffs*, by
    what the model can do.

    The prompt of a chat says how the subject begins, because there an answer cannot be begun.
    """
    log = "".join(f"{scrub_text(subject)}\n" for subject in reversed(subjects))
    diff = Chunk("staged.diff", scrub_diff(_fit(diffs, n_chars)))
    kept, half = heal(typed)
    if scrub_text(typed) != typed:
        kept, half = scrub_text(typed), ""
    if state.fills_only:
        return Prompt(repo, (diff,), LOG, log, "", kept, forced=half)
    ask = f"{ASK} It begins with `{scrub_text(typed)}`." if typed else ASK
    if state.kind == "openai":
        kept, half = "", ""
    chunks = (Chunk(LOG, log), diff)
    return Prompt(repo, chunks, "", "", "", kept, forced=half, turns=(ask,))


def scrub_diff(diff: str) -> str:
    """
    Return a diff without what looks like a secret, before its changes and after them.

    Signs stand in front of its lines, and lines that go between those that come: so each side is
    looked at as the text that it was. A secret may begin in the line that a hunk names, which
    stands somewhere above it.
    """
    lines = diff.split("\n")
    heads = (n for n, line in enumerate(lines) if line.startswith(("@@", "diff --")))
    hunks = itertools.pairwise((0, *heads, len(lines)))
    return "\n".join(line for start, end in hunks for line in _scrub_hunk(lines[start:end]))


def line_of(answer: str, prompt: Prompt, typed: str) -> str:
    """Return the part of the model's *answer* that follows *typed* in its line."""
    answer = drop_invisible(answer)
    if not answer.startswith(prompt.forced):
        return ""
    if prompt.turns and not prompt.middle + prompt.forced:
        lines = (line.strip() for line in answer.split("\n"))
        line = next((line for line in lines if line and not line.startswith("```")), "")
        line = line[1:-1] if len(line) > 1 and line[0] == line[-1] in "`\"'" else line
        if echo := _ECHO.match(line):
            line = line[echo.end() :].removesuffix("]" if echo[0][0] == "[" else "")
        return line.removeprefix(typed) if line.startswith(typed) else ""
    line = answer.removeprefix(prompt.forced).partition("\n")[0]
    return line if typed and not typed.endswith(" ") else line.lstrip()


def repeats(subject: str, subjects: Sequence[str]) -> bool:
    """
    Return whether *subject* says what one of *subjects* does, as any kind of change, or is a list
    with such a one in it, as small models write.
    """
    core, *others = (
        _NUMBER.sub("", _KIND.sub("", each)).casefold() for each in (subject, *subjects)
    )
    return not {core, *_LISTED.split(core)}.isdisjoint(others)


def _scrub_hunk(lines: Sequence[str]) -> list[str]:
    """Return the *lines* of a hunk, or of what stands above the first one, without secrets."""
    head = _HUNK.match(lines[0]) if lines else None
    if head is None:
        return scrub_text("\n".join(lines)).split("\n") if lines else []
    n_signs, at = 1 + len(head[1]), head.end()
    signs = ["", *(line[:n_signs] for line in lines[1:])]
    texts = [lines[0][at:], *(line[n_signs:] for line in lines[1:])]
    clean = [*texts]
    for other in "+-":
        side = [n for n, sign in enumerate(signs) if other not in sign]
        shown = scrub_text("\n".join(texts[n] for n in side)).split("\n")
        for n, line in zip(side, shown, strict=True):
            if line != texts[n]:
                clean[n] = line if clean[n] in (texts[n], line) else BLOT
    return [lines[0][:at] + clean[0], *map(str.__add__, signs[1:], clean[1:])]


def _file_diff(text: str) -> FileDiff:
    header, _, _ = text.partition("\n@@")
    # names and lines may hold what Python takes for further line ends
    first, *rest = header.split("\n")
    names = [_unquote(line[len(key) :]) for line in rest for key in _NAMED if line.startswith(key)]
    names = names or _halves(first.removeprefix("diff --git "))
    tails = {tail for name in names if name != "/dev/null" for tail in _spell_name(name)}
    lines = [line for line in text.removesuffix("\n").split("\n") if not line.startswith(_NOISE)]
    return FileDiff(tuple(sorted(tails)), "".join(f"{line}\n" for line in lines))


def _halves(pair: str) -> list[str]:
    """Return the names in `a/NAME b/NAME`, where they are the same."""
    left, right = pair[: len(pair) // 2], pair[len(pair) // 2 + 1 :]
    left, right = _unquote(left), _unquote(right)
    return [left, right] if left.partition("/")[2] == right.partition("/")[2] else []


def _spell_name(name: str) -> list[str]:
    """
    Return a name as it stands, and without each folder at its beginning: that may be the prefix of
    its side (`a/`, or `one/two/` by git's settings).
    """
    folders = name.split("/")
    return [tail for n in range(len(folders)) if (tail := "/".join(folders[n:]))]


def _unquote(name: str) -> str:
    """Return a name that git quoted because of its characters."""
    name = name.removesuffix("\t")
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    plain = _QUOTED.sub(_unescape, name[1:-1])
    try:
        return plain.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # core.quotePath is off: only some characters were quoted
        return plain


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if len(escape) > 1 else _LETTERS.get(escape, escape)


def _fit(diffs: Sequence[FileDiff], n_chars: int) -> str:
    """
    Return as much of each file as fits: small changes whole, large ones cut to the same length.
    """
    texts = {number: file_diff.text for number, file_diff in enumerate(diffs)}
    room = n_chars
    for n_done, number in enumerate(sorted(texts, key=lambda number: len(texts[number]))):
        share = room // (len(texts) - n_done)
        if len(texts[number]) > share:
            texts[number] = texts[number][: texts[number].rfind("\n", 0, share) + 1]
        room -= len(texts[number])
    return "".join(texts.values())
