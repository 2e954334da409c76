r"""
The secret that is being typed: it ends at the cursor and is not whole yet. Pure.

A user who types a token by hand would send it letter by letter, 39 of its 40 characters before the
rules know it. So at the cursor, and only there, less is enough: an issuer's prefix, or the value
side of a field whose name says secret. The redacted part begins where the whole secret will begin, so
the prompt stays the same while it grows.
"""

from __future__ import annotations

import re

from fim_lsp.context.secrets.credentials import growing_credentials
from fim_lsp.context.secrets.fields import Field, growing_fields, is_secret
from fim_lsp.context.secrets.forms import Kind
from fim_lsp.context.secrets.names import Rank
from fim_lsp.context.secrets.scan import lower_case
from fim_lsp.context.secrets.span import Span
from fim_lsp.context.secrets.tokens import growing_tokens
from fim_lsp.context.secrets.values import is_random_so_far, is_reference

_REACH = 500  # characters in front of the cursor that are looked at, in its line and the one above
_NAME = 40  # characters of the name in front of a value that are looked at
_BEHIND = re.compile(r"[^\s\"'`<>;,(){}\[\]|\\&@]{0,1000}")

# A name with which a value is set, not passed on: `--x=v`, `--x v`, `X=v`, `;x=v`, `?x=v&x=v`, `"x=v"`,
# and `x=v` at the left margin.
_SET = re.compile(
    r"(?:--[\w.-]{0,60}[= \t]{1,4}|(?:-D|[;?&\"'\n])[\w.-]{0,60}=|(?:^|[^\w.-])[A-Z][A-Z0-9_]{0,60}=)[\"']?\Z"
)

# Names of tokens that are none of a login, and those that say nothing but `token`.
_PLAIN = re.compile(
    r"(?:^|[^\w-])(?:token|auth(?:orization)?)\W|(?:pad|eos|bos|unk|mask|sep|cls|stop|next|last|end|start)_token"
    r"|(?:storage|client|session|user|root|app|service|server)[_-]?key",
    re.IGNORECASE,
)


def growing(text: str, cursor: int) -> Span | None:
    """Return the half-typed secret that ends at *cursor* of *text*, with what of it stands behind the cursor."""
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
    if field.kind is Kind.ELEMENT:
        tag = head.rfind("<", 0, field.name)
        return tag > head.rfind(">", 0, field.name) and head[tag + 1] != "/"
    name = f"\n{head}"[max(0, field.name - _NAME) : field.start + 1]
    telling = field.rank is Rank.PASSWORD or not (field.rest or _PLAIN.search(name))
    literal = field.kind in {Kind.LITERAL, Kind.FALLBACK} and telling
    return literal or is_random_so_far(value) or _SET.search(name) is not None
