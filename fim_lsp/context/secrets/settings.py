r"""
What tells a value without quotes from a variable: its line, or one near it, is of settings. Pure.

    [smtp]                machine smtp.example.org    psql "user=app password=…"
    user = office         login office                vault kv put app user=app password=…
    password = …          password …
"""

from __future__ import annotations

import re

from fim_lsp.context.secrets.values import NAMES, PIECES

_LONGEST = 200  # characters of a line
_LINES = 3  # on either side
_HEAD = re.compile(
    r"[ \t>#;]{0,12}(?:-[ \t]{1,4})?(?:(?:export|set|setx?|env|option|local|SetEnv)[ \t]{1,4})?"
    r"[\"']?[@.$]?[\w.:\\-]{1,80}[\"']?([ \t]{0,40}[:=]|[ \t]{1,40})([ \t]{0,40})\Z",
    re.IGNORECASE,
)
_OWNED = re.compile(  # `db_password: v`, `ADMIN_PASSWD = v`, `ENV DB_PASS v`
    r"[ \t-]{0,40}(?:(?!\w*[A-Z])(?:[a-z\d]{2,20}[_-]){1,4}[a-z]{2,12}:"
    r"|[A-Z][A-Z\d_]{5,60}[ \t]{0,40}="
    r"|(?:ENV|SetEnv|option|env\.[\w.]{1,40})[ \t])"
)
_TAIL = re.compile(r"[ \t]{0,40}(?:[#;][^\n]*)?\r?(?:\n|\Z)")
_PROVES = re.compile("|".join(f"(?:{row})" for row in NAMES["settings"]), re.IGNORECASE)
_PAIRS = re.compile(PIECES["<pairs>"], re.IGNORECASE)
_BEHIND = re.compile(r"[\s\"'`,;|]|\Z")


def is_setting(text: str, start: int, end: int) -> bool:
    """Return whether the value from *start* to *end* of *text* stands in settings."""
    line = max(text.rfind("\n", 0, start) + 1, start - _LONGEST)
    head = text[line:start]
    if _PAIRS.search(head) and _BEHIND.match(text, end):
        return True
    begun = _HEAD.fullmatch(head)
    if begun is None or not _TAIL.match(text, end):
        return False
    return begun[1] + begun[2] == "=" or bool(_OWNED.match(head)) or _is_proved(text, line, end)


def _is_proved(text: str, line: int, end: int) -> bool:
    """Return whether a line near the one at *line* is one of settings, and of nothing else."""
    above = text[max(0, line - _LINES * _LONGEST) : line].splitlines()[-_LINES:]
    behind = text.find("\n", end)
    below = (
        text[behind + 1 : behind + _LINES * _LONGEST].splitlines()[:_LINES] if behind >= 0 else []
    )
    return any(len(near) < _LONGEST and _PROVES.fullmatch(near) for near in (*above, *below))
