"""
Lines of an answer that stand for lines which the model did not write again. Pure.

Such a line is a comment in the language's own form, or nothing but dots, which the selection does
not have: applied, it would delete what it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fim_lsp.suggest.lines import indent, mark, scanner

_DOTS = r"(?:\.{3,}+|…)"
_THING = (
    r"(?:code|lines?|logic|contents?|parts?|body|implementation|methods?|functions?"
    r"|class(?:es)?|file|document|imports?|cases?|tests?|fields?|properties|props|styles?|rules?"
    r"|elements?|items?|entries|markup|section|sections|statements?|definitions?)"
)
_OLD = (
    r"(?:existing|rest|remaining|remainder|unchanged|same|previous|other|original|unmodified"
    r"|everything else|omitted|as before|as above|keep|kept|continues?|unaltered)"
)
_STAYS = (
    r"(?:(?:is|are|was|were|remains?|stays?|kept|left|stay)\s+)*"
    r"(?:unchanged|the same|same|as (?:before|is|it (?:is|was)|above)|here|omitted(?: for brevity)?"
    r"|unmodified|unaltered|untouched|continues?(?: here)?|goes here)"
)
# After the marks of the comment: with dots, about what is there already …
_DOTTED = re.compile(
    rf"{_DOTS}(?:[^.…\n]{{0,60}}?\b{_OLD}\b[^.…\n]{{0,60}})?{_DOTS}?"
    rf"|[^.…\n]{{0,60}}?\b{_OLD}\b[^.…\n]{{0,60}}{_DOTS}",
    re.IGNORECASE,
)
# … or in whole words: "rest of the function unchanged", "existing code here", "TODO: keep".
_SAID = re.compile(
    rf"(?:todo:?\s+)?(?:(?:keep|leave)\b.{{0,12}}\s)?(?:the\s+|your\s+|all\s+)*"
    rf"(?:existing|rest|remaining|remainder|unchanged|same|previous|other|original)"
    rf"(?:\s+(?:of|the|your|existing|other|\w+['’]s))*(?:\s+\w+)?(?:\s+{_THING})?"
    rf"(?:\s+{_STAYS})"
    rf"|(?:the\s+|your\s+)*(?:existing|unchanged|previous|original|remaining|same)\s+{_THING}"
    rf"(?:\s+{_STAYS})?"
    rf"|(?:the\s+)?rest\s+of\s+(?:the\s+|your\s+)?(?:\w+\s+)?{_THING}"
    rf"|{_THING}\s+(?:(?:is|are|remains?|stays?)\s+)?(?:unchanged|omitted(?: for brevity)?)"
    r"|(?:rest\s+)?(?:unchanged|omitted for brevity|same as (?:before|above)|no changes?"
    r"(?: (?:here|needed))?)"
    rf"|(?:todo:?\s+)?(?:keep|leave)\s+(?:the\s+|all\s+)*"
    rf"(?:rest|remaining|existing|others?|it|this|as is|unchanged)(?:\s+{_THING})?(?:\s+{_STAYS})?"
    r"|todo:?\s+keep",
    re.IGNORECASE,
)
_DECORATION = " \t\r\n/*#-<>!;%{}()[]'\"=.:"
_WRITTEN = re.compile(r"/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_MORE_MARKS = {"php": "#", "vue": "//", "svelte": "//"}
_DEF = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
LONGEST = 120  # characters of a comment that is looked at


def find_placeholder(lines: Sequence[str], old: Sequence[str], language: str) -> str:
    """Return the first comment or line of *lines* that stands for others of *old*, "" for none."""
    known = {_words(comment) for comment in _comments(old, language)}
    known |= {line.strip() for line in old}
    for comment in _comments(lines, language):
        if len(comment) <= LONGEST and _words(comment) not in known and _stands_for(comment):
            return comment.strip()
    for n, line in enumerate(lines):
        bare = line.strip()
        is_new = bare not in known and _DOTTED.fullmatch(bare.strip("[]()")) is not None
        if is_new and not (language == "python" and _is_stub(lines, n, old)):
            return bare
    return ""


def _comments(lines: Sequence[str], language: str) -> Iterator[str]:
    """Yield the comments of *lines*, with their marks."""
    text = "\n".join(lines)
    marks = tuple(filter(None, (mark(language), "/*")))
    for match in scanner(language).finditer(text):
        if match["skip"] and match[0].startswith(marks):
            yield from match[0].split("\n")
    for match in _WRITTEN.finditer(text):
        yield from match[0].split("\n")
    if more := _MORE_MARKS.get(language):
        yield from (line for line in lines if line.lstrip().startswith(more))


def _words(comment: str) -> str:
    return comment.strip(_DECORATION).lower()


def _stands_for(comment: str) -> bool:
    """Return whether a comment says that lines were left out."""
    inner = comment.strip().strip("/*#-<>!;%{}'\" \t=").strip()
    words = inner.strip("()[] \t")
    is_dots = bool(words) and _DOTTED.fullmatch(words) is not None
    return is_dots or _SAID.fullmatch(words.strip(". :…")) is not None


def _is_stub(lines: Sequence[str], n: int, old: Sequence[str]) -> bool:
    """Return whether the dots of line *n* are all of a body that *old* does not have."""
    depth = len(indent(lines[n]))
    above = next((line for line in reversed(lines[:n]) if line.strip()), "")
    below = next((line for line in lines[n + 1 :] if line.strip()), "")
    is_alone = len(indent(above)) < depth and len(indent(below)) < depth
    heads = (match[1] for line in lines[:n][::-1] if (match := _DEF.match(line)))
    name = next(heads, None)
    defined = {match[1] for line in old if (match := _DEF.match(line))}
    return is_alone and above.rstrip().endswith(":") and name not in defined
