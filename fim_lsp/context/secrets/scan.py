"""
Every secret in a text, also in base64; and texts without them. Pure.

A user who types a token by hand would send it letter by letter, 39 of its 40 characters before the
rules know it. So at the cursor, and only there, less is enough (`growing`): an issuer's prefix, or
the value side of a field whose name says secret. The redacted part begins where the whole secret
will begin, so the prompt stays the same while it grows.

The name that tells of a secret may stand in a line above it (`password: |`), so the lines behind a
cut are looked at with some of those in front of it (`n_begun_above`).
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from fim_lsp.context.secrets.credentials import credentials, growing_credentials
from fim_lsp.context.secrets.fields import FALLBACKS, Field, fields, growing_fields, is_secret
from fim_lsp.context.secrets.forms import SET, Rank, ValueKind
from fim_lsp.context.secrets.tokens import growing_tokens, tokens
from fim_lsp.context.secrets.values import Span, is_public, is_random_so_far, is_reference

REACH = 400  # characters from a name to its value: `forms` and `fields` look less far


def n_begun_above(above: str, text: str) -> int:
    """
    Return how many characters of *text* end with a secret that only what stands *above* it tells, 0
    for none.
    """
    near = above[-REACH:]
    head = text[: 2 * REACH]
    if not near.strip():
        return 0
    own = {n for start, end, _ in secrets(head) for n in range(start, end)}
    spans = ((start - len(near), end - len(near)) for start, end, _ in secrets(near + head))
    return max(
        (end for start, end in spans if not own.issuperset(range(max(0, start), end))), default=0
    )


def key_lines(text: str) -> Iterator[range]:
    """Yield the lines of each private key, or part of one, in *text*."""
    for start, end, _ in key_blocks(text):
        first = text.count("\n", 0, start)
        yield range(first, first + text.count("\n", start, end) + 1)


_REACH = 500  # characters in front of the cursor that are looked at, in its line and the one above
_NAME = 40  # characters of the name in front of a value that are looked at
_BEHIND = re.compile(r"[^\s\"'`<>;,(){}\[\]|\\&@]{0,1000}")

# Names of tokens of a parser, no login's, and those that say nothing but `token`.
_PLAIN = re.compile(
    r"(?:^|[^\w-])(?:token|auth(?:orization)?)\W|(?:pad|eos|bos|unk|mask|sep|cls|stop|next|last|end"
    r"|start)_token|(?:storage|client|session|user|root|app|service|server)[_-]?key",
    re.IGNORECASE,
)


def growing(text: str, cursor: int) -> Span | None:
    """
    Return the half-typed secret that ends at *cursor* of *text*, with what of it stands behind the
    cursor.
    """
    line = text.rfind("\n", 0, cursor) + 1
    above = text.rfind("\n", 0, max(0, line - 1)) + 1
    begin = max(above, cursor - _REACH)
    head = text[begin:cursor]
    lower = lower_case(head)
    starts = [field.start for field in growing_fields(head, lower) if _is_growing(head, field)]
    starts += [*growing_credentials(head, lower), *growing_tokens(head)]
    if not starts:
        return None
    behind = _BEHIND.match(text, cursor)
    return Span(begin + min(starts), behind.end() if behind else cursor, "being typed")


def _is_growing(head: str, field: Field) -> bool:
    """Return whether the value of *field*, as far as it is typed, may become a secret."""
    value = head[field.start :]
    if is_reference(value) or not any(map(str.isalnum, value)):
        return False
    if field.rank is Rank.KEY:
        return is_secret(field, value)
    if field.kind is ValueKind.ELEMENT:
        tag = head.rfind("<", 0, field.name)
        return tag > head.rfind(">", 0, field.name) and head[tag + 1] != "/"
    name = f"\n{head}"[max(0, field.name - _NAME) : field.start + 1]
    telling = field.rank is Rank.PASSWORD or not (field.rest or _PLAIN.search(name))
    literal = field.kind in {ValueKind.LITERAL, ValueKind.GIVEN, *FALLBACKS} and telling
    return literal or is_random_so_far(value) or SET.search(name) is not None


BLOT = "REDACTED"
"""Stands for a secret in a prompt: a word, so that the code around it keeps its syntax."""


def scrub_text(text: str) -> str:
    """
    Return the text with each secret redacted; line breaks inside one stay, so lines keep their
    numbers.
    """
    return scrub_parts((text,))[0]


def scrub_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """
    Return the same for a text in parts, the cursor in front of the last one where there are
    several.

    A secret that reaches over parts leaves one blot, in the part where it begins. A secret that is
    being typed at the cursor is redacted from its beginning, with what of it stands behind the
    cursor.
    """
    text = "".join(parts)
    typed = growing(text, len(text) - len(parts[-1])) if len(parts) > 1 else None
    spans = _merge([*secrets(text), *([typed] if typed else [])])
    ends = itertools.accumulate(map(len, parts))
    return tuple(
        _redact_part(part, spans, end - len(part)) for part, end in zip(parts, ends, strict=True)
    )


def _merge(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Return the union of *spans*, by start."""
    merged: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _redact_part(text: str, spans: Iterable[tuple[int, int]], offset: int) -> str:
    """
    Redact one part, which begins *offset* characters into the whole; a secret is redacted where it
    begins.
    """
    kept = []
    at = 0
    for whole_start, whole_end in spans:
        start = max(0, whole_start - offset)
        end = min(len(text), whole_end - offset)
        if start < end:
            blot = BLOT if whole_start >= offset else ""
            kept += [text[at:start], blot, "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*kept, text[at:]])


# it begins with four literal signs: `re` finds those ten times faster than a repeat
_MARK = re.compile(
    r"-----? ?(?:(?:BEGIN [A-Z0-9 ]{0,40}PRIVATE |(?P<end>END) [A-Z0-9 ]{0,40})KEY(?: BLOCK)?"
    r"|(?:BEGIN|(?P<last>END)) OpenVPN Static key V1) ?-----?"
    # code that knows the mark
    r"(?(end)|(?!-|(?:\\{1,2}[nr])?[\"'`](?!(?:\W|\\[nr]){0,60}(?:[A-Za-z0-9+/]{16}|[DP]\w+-))))"
)
_LONGEST = 20_000  # characters of a block; an RSA key of 16,384 bits has 12,500

# The text behind the first mark of a block that is not closed: base64, also behind escaped line
# ends, and lines of it with what quotes and joins them in programs, and headers.
_REST_OF_LINE = re.compile(r"(?:\\{1,2}[nr]|[A-Za-z0-9+/=])*")
_LINE_END = re.compile(r"[ \t\"'`+,;\\]{0,20}(?:\r?\n|\Z)")
_LINE = re.compile(
    r"(?:[ \t]{0,40}\r?\n){0,2}[ \t\"'+>#*|]{0,40}"
    r"(?:[A-Za-z0-9+/=]{16,80}|[A-Z][\w-]{2,20}: [^\n]{1,200})"
    r"(?:\\{1,2}[nr]){0,2}[ \t\"'+,;\\]{0,20}(?:\r?\n|\Z)"
)

# The rest of a block whose first line is out of sight.
_KEY_LINE = (
    r"[ \t]{0,40}[\"'`]?[A-Za-z0-9+/]{60,76}={0,2}(?:\\n)?[\"'`]?[ \t]{0,4}[,+.\\]?[ \t]{0,8}\r?"
)
_NO_HASH = re.compile(r"[G-Zg-z+/]")
_PUTTY = re.compile(r"Private-Lines: \d{1,4}((?:\r?\n[A-Za-z0-9+/=]{16,80}){1,300})")
_PUBLIC_MARK = re.compile(r"-----? ?(?:BEGIN|END) (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{1,40}")
_MARK_FAR = 100  # characters from a line of a key to the mark of its block, headers aside
_MATERIAL = re.compile(rf"\n{_KEY_LINE}(?:\n{_KEY_LINE}){{2,}}(?=\n|\Z)")


def key_blocks(text: str) -> Iterator[Span]:
    """Yield every private key block or part of one in *text*."""
    if "PRIVATE KEY" in text or "Static key" in text:
        yield from _blocks(text)
    for match in _PUTTY.finditer(text):
        yield Span(*match.span(1), "private key")
    for match in _MATERIAL.finditer("\n" + text):
        start, end = match.span()
        around = text[max(0, start - _MARK_FAR) : start], text[end - 1 : end + _MARK_FAR]
        public = any(map(_PUBLIC_MARK.search, around)) or ";base64," in around[0]
        if _NO_HASH.search(match[0]) and not public:
            yield Span(match.start(), match.end() - 1, "key material")


def _blocks(text: str) -> Iterator[Span]:
    """
    Yield each first line with what follows up to the end mark, or as long as it looks like a key.
    """
    marks = list(_MARK.finditer(text))
    for mark, following in itertools.zip_longest(marks, marks[1:]):
        if mark["end"] or mark["last"]:
            continue
        closed = (
            following
            and (following["end"] or following["last"])
            and following.end() - mark.start() <= _LONGEST
        )
        end = following.end() if following and closed else _end_of_lines(text, mark.end())
        yield Span(mark.start(), end, "private key")


def _end_of_lines(text: str, at: int) -> int:
    """Return the end of the lines that look like those of a key, none longer than a block."""
    rest = _REST_OF_LINE.match(text, at, at + _LONGEST)
    end = rest.end() if rest else at
    line = _LINE_END.match(text, end)
    while line and end - at <= _LONGEST:
        end = line.end()
        line = _LINE.match(text, end)
    return end - (text[end - 1 : end] == "\n")


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

# Base64 of ASCII that begins with four times three printable characters: the first of four
# characters says that the first byte is one or ends a line, the second and the third that the
# others are below 128. One in 9,000 random texts begins so.
_THREE = "[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]"
_ENCODED = re.compile(
    rf"[\n\"'`=:,<>(][ \t]{{0,40}}({_THREE}{_THREE}{_THREE}{_THREE}[A-Za-z0-9+/]{{0,8000}})"
)


def secrets(text: str) -> list[Span]:
    """
    Return every span that looks like a secret, by start; they may overlap. Linear in the text's
    length.
    """
    spans = [*_plain(text), *_find_encoded(text)]
    return sorted([*spans, *_rest(text, {span.end for span in spans})])


# The rest of a literal, behind what joins the two: a sign, or a line end; or a next line that is
# nothing but random.
_REST = re.compile(
    r"[\"'`](?:[ \t]{0,8}(?:[+.&\\]|\.\.)?[ \t]{0,4}\r?\n[ \t]{0,80}(?:[+.&][ \t]{0,4})?"
    r"|[ \t]{0,4}(?:[+.&]|\.\.)[ \t]{0,4})[a-z@$]{0,2}[\"'`]([^\s\"'`]{4,300})(?=[\"'`](?!:))"
    r"|\\?[ \t]{0,4}\r?\n[ \t]{0,40}((?=\S{0,99}\d)(?=\S{0,99}[A-Z])(?=\S{0,99}[a-z])"
    r"[\w+/=-]{16,300})(?=[\"'`]?[ \t]{0,4}\\?\r?(?:\n|\Z))"
)


def _rest(text: str, ends: set[int]) -> Iterator[Span]:
    """Yield the literals with which those that end at *ends* go on, each once."""
    for at in ends:
        more = _REST.match(text, at)
        while more:
            yield Span(*more.span(more.lastindex or 0), "rest of a secret")
            more = None if more.end() in ends else _REST.match(text, more.end())


def _plain(text: str) -> Iterator[Span]:
    lower = lower_case(text)
    yield from (span for span in tokens(text) if "EXAMPLE" not in text[span.start : span.end])
    for span in itertools.chain(fields(text, lower), credentials(text, lower)):
        if not is_public(text, span.start, span.end):
            yield span
    yield from key_blocks(text)


def _find_encoded(text: str) -> Iterator[Span]:
    """Yield the base64 strings that hold a secret, as in Kubernetes' `data`."""
    for match in _ENCODED.finditer("\n" + text):
        decoded = base64.b64decode(match[1] + "AAA"[: -len(match[1]) % 4]).rstrip(b"\0")
        if decoded.isascii() and any(_plain(decoded.decode("ascii"))):
            yield Span(match.start(1) - 1, match.end(1) - 1, "secret in base64")


def looks_secret(text: str) -> bool:
    """Return whether there is any secret in it."""
    return bool(secrets(text))


def lower_case(text: str) -> str:
    """Return *text* in small letters, as long as it was: some letters have a small form of two."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)
