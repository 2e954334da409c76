"""
Whether a place stands in a comment or a string (`fim.completion.quietIn`). Pure.

The syntax tree of the lines around tells it. Where it has errors above, a comment or a string may
not be closed yet, which the tree reads as code: then the same lines are parsed with what `quotes`
finds open closed, and the reading with fewer errors counts. Where there is no tree, `quotes` tells.

It runs on the event loop at a key, so only such texts are parsed as `syntax_errors` may parse.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tree_sitter import Tree

from fim_lsp.context.grammars import ALIASES, count_errors, grammar_of, language_of, types
from fim_lsp.documents import Document, Position, unix
from fim_lsp.suggest.quotes import OpenQuote, find_opened, scope_of
from fim_lsp.suggest.syntax_errors import ABOVE_CHARS, BELOW_CHARS, HERE_CHARS, parse_in_stages

SEEN_CHARS = 10_000  # in front of the cursor, read by `quotes`: 10 ms
MOST_LINES = 40  # below the cursor
ENOUGH = 3_000  # operations of the parser, behind which no other reading is tried
OPENING_CHARS = 200  # that open what the text begins in
PROBE = "x"  # stands where the next key will

_CODE = types("""
  interpolation template_substitution command_substitution expansion arithmetic_expansion
  concatenated_string""")
_STRINGS = types("""
  heredoc_body character character_literal char_literal rune_literal attribute_value
  quoted_attribute_value""")
_OPAQUE = types("raw_text preproc_arg")

# Texts of another language: in elements, between fences, and in PHP's tags.
_ELEMENT = re.compile(r"<(/?)(script|style)\b([^<>]*)>")
_LANG = re.compile(r"""\blang=["']?(\w+)""")
_FENCE = re.compile(r"(?m:^)[ \t]*(`{3,}+|~{3,}+)[ \t]*+([\w+#-]*+)[^\n]*+\n")
_PHP = re.compile(r"<\?(?:php\b|=)|\?>")
_PAGES = frozenset(["html", "vue", "svelte", "astro"])


class Text(NamedTuple):
    """A text in one language: what stands before and after a cursor."""

    language: str
    before: str
    after: str


def scope_at(document: Document, position: Position) -> str:
    """Return the scope of a place: `comment`, `string`, or "" for code."""
    line = position.line
    size = position.column
    while line > 0 and size + len(document.lines[line - 1]) <= SEEN_CHARS:
        line -= 1
        size += len(document.lines[line])
    before = document.before(position, line)
    below = document.lines[position.line + 1 : position.line + 1 + MOST_LINES]
    after = unix("".join((document.lines[position.line][position.column :], *below)))
    return scope(Text(document.language, before, after[:BELOW_CHARS]))


def scope(text: Text) -> str:
    """Return the scope of the cursor in *text*."""
    text = _innermost(text)
    here = text.before.rpartition("\n")[2] + text.after.partition("\n")[0]
    if grammar_of(text.language) is None or len(here) > HERE_CHARS:
        return scope_of(find_opened(text.before, text.language))
    n_far = len(text.before) - ABOVE_CHARS
    cut = text.before.find("\n", n_far) + 1 if n_far > 0 else 0
    near = text.before[cut:]
    opening = _opening(find_opened(text.before[:cut], text.language))
    if opening and len(opening) <= OPENING_CHARS:
        near = _find_start(text.language, opening, near[: near.rfind("\n") + 1]) + near
    return _read(text._replace(before=near)).scope


@lru_cache(maxsize=16)  # the lines above stay while a line is typed
def _find_start(language: str, opening: str, above: str) -> str:
    """Return *opening* where the lines *above* make more sense behind it, else ""."""
    plain = _count_errors(language, above)
    if plain > 0 and plain < _count_errors(language, opening + above):
        return ""
    return "" if plain == 0 else opening


def _count_errors(language: str, text: str) -> int:
    """Return the errors of *text* with what is open in it closed; -1 where there is no tree."""
    closed = text + _closing(find_opened(text, language))
    reading = _parse(Text(language, closed, ""), "")
    return -1 if reading is None else reading.n_errors


class ScopeReading(NamedTuple):
    """
    The scopes that a cursor stands in, how many errors the text in front of it has if that is so,
    and what it took of the parser to tell.
    """

    scope: str
    n_errors: int
    operations: int


def _read(text: Text) -> ScopeReading:
    """Return what the tree says; `quotes` says where it has errors and knows less."""
    opened = find_opened(text.before, text.language)
    written = scope_of(opened)
    told = _parse(text, "")
    if told is None:
        return ScopeReading(written, 1, 0)
    if told.scope and not written and _opening(opened):
        return told._replace(scope="")  # PHP: `"{$a}"`, of which its tree makes no node
    if written in ("", told.scope) or not told.n_errors:
        return told
    closed = _parse(text, _closing(opened)) if told.operations <= ENOUGH else None
    is_worse = closed is not None and closed.n_errors > told.n_errors
    return told if is_worse else told._replace(scope=written)


def _parse(text: Text, closing: str) -> ScopeReading | None:
    """Return what the tree says with *closing* behind the cursor; None where it does not."""
    start = "<?php\n" if text.language == "php" and "<?" not in text.before else ""
    before = f"{start}{text.before}".encode("utf-8", "replace")
    after = f"{PROBE}{closing}{text.after}".encode("utf-8", "replace")
    tree, operations = parse_in_stages(text.language, before + after)
    found = _find_scope(tree, len(before)) if tree else None
    if tree is None or found is None:
        return None
    return ScopeReading(found, count_errors(tree, len(before)), operations)


def _find_scope(tree: Tree, at: int) -> str | None:
    """Return the scope of byte *at*, None where the tree has only text for it."""
    cursor = tree.walk()
    found = ""
    while cursor.goto_first_child_for_byte(at) is not None:
        node = cursor.node
        if node is None or node.type in _OPAQUE:
            return None
        if node.type == "regex":
            return ""
        if node.type in _CODE:
            found = ""
        elif "comment" in node.type:
            found = "comment"
        elif node.is_named and ("string" in node.type or node.type in _STRINGS):
            found = "string"
    return found


def _opening(opened: list[OpenQuote]) -> str:
    """Return the text that opens the outermost comment or string again, and what is in it."""
    return "".join(one.opens for one in _from_quote(opened))


def _closing(opened: list[OpenQuote]) -> str:
    return "".join(one.closes for one in reversed(_from_quote(opened)))


def _from_quote(opened: list[OpenQuote]) -> list[OpenQuote]:
    first = next((idx for idx, one in enumerate(opened) if one.inside), len(opened))
    return opened[first:]


def _innermost(text: Text) -> Text:
    """Return the text of another language in which the cursor is, as it is where there is none."""
    language = text.language.lower()
    text = text._replace(language=ALIASES.get(language, language))
    if language == "php":
        text = _in_php(text)
    if language == "markdown":
        return _in_fence(text)
    return _in_element(text) if text.language in _PAGES else text


def _in_php(text: Text) -> Text:
    """Return the page around the code, or the code."""
    tags = [*_PHP.finditer(text.before)]
    is_page = tags[-1][0] == "?>" if tags else text.before.lstrip().startswith("<")
    if is_page:
        before = text.before[tags[-1].end() if tags else 0 :]
        return Text("html", before, text.after.partition("<?")[0])
    return text._replace(before=text.before[tags[-1].start() if tags else 0 :])


def _in_fence(text: Text) -> Text:
    """Return the code between Markdown's fences."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text.before):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2]:
            opened = None
    if opened is None:
        return text
    language = language_of(f".{opened[2]}") or opened[2].lower() or "plaintext"
    after = text.after.partition(f"\n{opened[1]}")[0]
    return _innermost(Text(language, text.before[opened.end() :], after))


def _in_element(text: Text) -> Text:
    """Return the script or style in a page."""
    tags = [*_ELEMENT.finditer(text.before)]
    if not tags or tags[-1][1]:
        return text
    named = _LANG.search(tags[-1][3])
    plain = "css" if tags[-1][2] == "style" else "javascript"
    language = language_of(f".{named[1]}") or named[1] if named else plain
    after = text.after.partition(f"</{tags[-1][2]}")[0]
    return Text(language, text.before[tags[-1].end() :], after)
