"""
What closes the strings, comments and blocks that are open at a cursor, or where the lines below it
are cut. Pure.

A user who writes from the top has not closed them yet, and what is cut is closed out of sight:
without its end, a grammar calls all of it an error, and none of a suggestion's would show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile, zip_longest

from fim_lsp.suggest.lines import (
    CLOSER,
    SHELLS,
    STATEMENT_ENDS,
    WITHOUT_END,
    Bracket,
    block_marks,
    ends_of_heads,
    find_unclosed,
    first_visible,
    goes_on,
    is_comment,
    open_comment,
    width,
)
from fim_lsp.suggest.quotes import blank_long, find_opened

MOST = 60  # brackets that are closed; a text with more open ones is not parsed

# The words that close a block of a shell, by the last word of its head; Lua and Ruby have `end`.
END_WORDS = {"then": "fi", "else": "fi", "do": "done", "in": "esac"}

FEW = 4  # within each other
FAR = 80  # characters in front of a brace that are looked at
LIST_BEGINS = ("=", ",", "(", "[", "{", "[])")
# What stands below a block's last line, at the depth of its head.
SAME_DEPTH = ("</", "case ", "default:", "when ")
WITH_CONDITIONS = ("c", "cpp", "csharp")
CONDITION = re.compile(r"(?m)^\ufeff?[ \t]*#[ \t]*(if|endif)")
# In TypeScript, elsewhere than where a line begins, it may be a type or less-than.
_CODE = r"\{[^{}]{0,300}+\}"
for _ in range(2):  # braces within braces
    _CODE = rf"\{{(?:[^{{}}]|{_CODE}){{0,300}}+\}}"
JSX = re.compile(
    r"(?m)(?:^[ \t]*<(?=[^/])|<(?=/))(?P<closes>/?)(?P<name>[\w:.-]*+)"
    rf"(?:=>|{_CODE}|[^<>])*+>"
)
TAGS = {
    "html": re.compile(r"<(?P<closes>/?)(?P<name>[A-Za-z][\w:.-]*+)[^<>]*>"),
    "javascriptreact": JSX,
    "typescriptreact": JSX,
}

Lines = tuple[str, ...]


def close_quote(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return the text that closes a long string that goes on below: an error there would hide all
    others.
    """
    text = "\n".join((*above, here, *below))
    return _close_quote(text, sum(map(len, above)) + len(above), language)


def _close_quote(text: str, n_above: int, language: str) -> str:
    """
    Return what closes the string or comment of several lines that *text* ends within, and what is
    open in it; "" where a single sign opens it behind *n_above* characters, as it may be wrong.
    """
    opened = find_opened(f"{text}\n", language)
    first = next((idx for idx, one in enumerate(opened) if one.inside), len(opened))
    if first < len(opened) and len(opened[first].opens) == 1 and opened[first].at >= n_above:
        return ""
    return "".join(one.closes for one in reversed(opened[first:]))


def close_comment(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return what closes the comment that *here* ends within, where the lines below do not before they
    open another: the lines below are code, and would be read as comment.
    """
    closing = open_comment("\n".join((*above, here)), language)
    following = "\n".join(below)
    (opening, _) = block_marks(language)
    return "" if closing and closing in following.partition(opening)[0] else closing


@lru_cache(maxsize=64)
def close_blocks(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return what closes the blocks that *here* opens, and the blocks and brackets above it, where the
    lines below do not: a user who types line by line has not come to them yet.
    """
    text = "\n".join((*above, here))
    n_above = len(text) - len(here)
    quote = _close_quote(text, n_above, language)
    if quote and quote.strip() in "\n".join(below):
        return ""
    text = blank_long(text, language)
    following = first_visible(tuple(line for line in below if not is_comment(line, language)))
    closes = goes_on(following) or following.lstrip().startswith(SAME_DEPTH)
    next_width = width(following)
    unclosed = find_unclosed(text, language)
    closers = _find_closers(
        text, language, (each for each in unclosed if each.sign == "{" or each.at < n_above)
    )

    def is_open(at: int) -> bool:
        depth = width(text[text.rfind("\n", 0, at) + 1 : at + 1])
        return next_width < depth or (next_width == depth and not closes)

    ends = takewhile(is_open, sorted(closers, reverse=True))
    return quote + _join(closers, ends, text, language)


def close_cut(language: str, above: Lines, below: Lines, here: str) -> str:
    """Return what closes all that is open at the end of the lines *below*, which are cut there."""
    text = blank_long("\n".join((*above, here, *below)), language)
    closers = _find_closers(text, language, find_unclosed(text, language))
    directives = "\n#endif" * _count_conditions(text) if language in WITH_CONDITIONS else ""
    return _join(closers, sorted(closers, reverse=True), text, language) + directives


def _find_closers(text: str, language: str, unclosed: Iterable[Bracket]) -> dict[int, str]:
    """Return what closes the brackets *unclosed*, words and elements, by their places in *text*."""
    closers = {at: CLOSER[sign] for at, sign in [*unclosed][-MOST:]}
    if language in ("lua", "ruby", *SHELLS):
        for end, last in ends_of_heads(text, language):
            closers[end] = f"\n{END_WORDS.get(last, '') if language in SHELLS else 'end'}"
    for at, name in _list_open_elements(text, language):
        closers[at] = f"</{name}>"
    return closers


def _count_conditions(text: str) -> int:
    """Return how many conditions of a preprocessor are open at the end of *text*, a few at most."""
    n_open = 0
    for match in CONDITION.finditer(text):
        n_open = n_open + 1 if match[1] == "if" else max(0, n_open - 1)
    return min(n_open, FEW)


def _list_open_elements(text: str, language: str) -> list[tuple[int, str]]:
    """Return the places and names of the elements whose end tags are not in *text*."""
    opened: list[tuple[int, str]] = []
    without_end = WITHOUT_END if language == "html" else ()
    for match in TAGS[language].finditer(text) if language in TAGS else ():
        name = match["name"]
        if not match["closes"]:
            if name.lower() not in without_end and not match[0].endswith("/>"):
                opened.append((match.start("name"), name))
        elif any(name == other for _, other in opened):
            while opened.pop()[1] != name:
                pass  # `<li>` needs no end tag
    return opened


def _join(closers: Mapping[int, str], places: Iterable[int], text: str, language: str) -> str:
    """
    Return the closers of *places* in *text* from a new line on, with what ends a statement behind
    them, but not in a list.
    """
    found = [*places]
    ends = ""
    for at, outer in zip_longest(found, found[1:]):
        closer = closers[at]
        is_block = outer is None or (closers[outer] == "}" and not _is_list(text, outer))
        is_statement = is_block and closer in STATEMENT_ENDS.get(language, ())
        ends += f"{closer};" if is_statement else closer
    return ends and f"\n{ends}"  # not behind a comment


def _is_list(text: str, at: int) -> bool:
    """Return whether the brace at a place of *text* begins a list of values."""
    before = text[max(0, at - FAR) : at].rstrip()
    return before.endswith(LIST_BEGINS)
