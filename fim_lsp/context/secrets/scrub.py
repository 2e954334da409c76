"""
Text that looks like a secret: found and blotted out before anything is sent. Pure.

The rules are the published formats of the issuers, as gitleaks and detect-secrets collect them,
written anew. A rule runs only where one of its literal hints occurs, so that clean text costs a
few substring searches (about 30 µs per kilobyte). A false alarm costs a line of context, a miss
costs a key: where in doubt, a rule takes more.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

BLOT = "REDACTED"
"""Stands for a secret in a prompt: a word, so that the code around it keeps its syntax."""

_MIN_ENTROPY = 3.0
"""Bits per character of an assigned value: names and prose of key length stay below, random
letters and digits of 12 or more characters above. gitleaks uses 3.5 and misses short passwords."""


class Rule(NamedTuple):
    """What to call it, literals of which one must occur (lower case), and the exact form."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


class Span(NamedTuple):
    """The characters [start, end) of a text look like a *name*."""

    start: int
    end: int
    name: str


def secrets(text: str) -> list[Span]:
    """Every span that looks like a secret, by start; group 1 of a rule, where it has one."""
    lower = text.lower()
    rules = (rule for rule in _RULES if any(hint in lower for hint in rule.hints))
    return sorted(span for rule in rules for span in _found(rule, text))


def looks_secret(text: str) -> bool:
    """Is there any secret in it?"""
    return bool(secrets(text))


def scrubbed(text: str) -> str:
    """The text with each secret blotted out; line breaks inside one stay, so lines keep their numbers."""
    return scrubbed_parts((text,))[0]


def scrubbed_parts(parts: Sequence[str]) -> tuple[str, ...]:
    """The same for a text in parts: a cursor inside `pass|word = "…"` hides no password."""
    spans = secrets("".join(parts))
    ends = itertools.accumulate(map(len, parts))
    return tuple(
        _blotted(part, spans, end - len(part)) for part, end in zip(parts, ends, strict=True)
    )


def _blotted(text: str, spans: Iterable[Span], offset: int) -> str:
    """One part, which begins *offset* characters into the whole."""
    kept, at = [], 0
    for span in spans:
        start, end = max(at, span.start - offset), min(len(text), span.end - offset)
        if start < end:
            kept += [text[at:start], BLOT, "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*kept, text[at:]])


def _found(rule: Rule, text: str) -> Iterator[Span]:
    for match in rule.pattern.finditer(text):
        group = 1 if rule.pattern.groups else 0
        if group == 0 or _is_random(match[1]):
            yield Span(*match.span(group), rule.name)


def _is_random(value: str) -> bool:
    """Not a word, a placeholder or a reference: mixed characters of some entropy."""
    if not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return False
    if value.startswith(("$", "{", "<", "%")) or value.strip("xX*.0") == "":
        return False
    counts = Counter(value).values()
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return bits >= _MIN_ENTROPY


def _rule(name: str, hints: str, pattern: str) -> Rule:
    return Rule(name, tuple(hints.split()) or ("",), re.compile(pattern))


_WORDS = (
    r"(?i:api[_-]?key|secret|token|passw(?:or)?d|passwd|pwd|credential|private[_-]?key|"
    r"access[_-]?key|auth)"
)
_WORD_HINTS = "key secret token passw pwd credential auth"
_RULES = (
    _rule(
        "private key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|\Z)",
    ),
    _rule("AWS access key", "akia asia abia acca a3t", r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _rule("AWS secret", "aws", r"(?i)aws.{0,30}?[\"'=:\s]([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    _rule("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{36,255}"),
    _rule("GitHub token", "github_pat_", r"\bgithub_pat_\w{36,255}"),
    _rule("GitLab token", "gl", r"\b(?:glpat|gldt|glptt|glrt|glsoat|glcbt|glft|glimt)-[\w-]{20,}"),
    _rule("Slack token", "xox xapp", r"\b(?:xox[abeoprs]|xapp)-[\w-]{10,}"),
    _rule("Slack webhook", "hooks.slack", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    _rule("Stripe key", "sk_ rk_ whsec_", r"\b(?:[rs]k_(?:live|test|prod)_|whsec_)[A-Za-z0-9]{10,}"),
    _rule("Google key", "aiza gocspx ya29", r"\b(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,})"),
    _rule("JSON web token", "eyj", r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]*)?"),
    _rule("model API key", "sk- gsk_ r8_ hf_", r"\b(?:sk-[\w-]{20,}|gsk_\w{40,}|r8_\w{30,}|hf_[A-Za-z0-9]{30,})"),
    _rule("npm token", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    _rule("PyPI token", "pypi-age", r"\bpypi-AgE[\w-]{50,}"),
    _rule("SendGrid key", "sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    _rule("Twilio key", "sk", r"\bSK[0-9a-f]{32}\b"),
    _rule("Mailgun key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    _rule("DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{64}"),
    _rule("Shopify token", "shp", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _rule("Databricks token", "dapi", r"\bdapi[0-9a-f]{32}"),
    _rule("Vault token", "hvs. hvb.", r"\bhv[sb]\.[\w-]{24,}"),
    _rule("Telegram token", ":aa", r"\b\d{8,10}:AA[\w-]{32,}"),
    _rule("Discord token", ".", r"\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    _rule("age key", "age-secret", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _rule("Azure key", "accountkey sharedaccess", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/=]{40,}"),
    _rule("password in a URL", "://", r"[A-Za-z][\w+.-]*://[^\s:/@\"']*:[^\s/@\"'{}$<>]{3,}@"),
    _rule(
        "assigned secret",
        _WORD_HINTS,
        _WORDS + r"[\w-]{0,20}[\"']?\]?\s{0,3}(?::\s{0,3}[\w\[\]. |]{1,20}=|[:=]=?>?)\s{0,3}[rbuf]?[\"'`]([^\"'`\s]{8,})[\"'`]",
    ),
    _rule(
        "assigned secret",
        _WORD_HINTS,
        r"(?m)^\s*(?:export\s+|set\s+)?[\w.-]{0,40}" + _WORDS + r"[\w.-]{0,20}\s?[=:]\s?([^\s\"'(){}\[\],;]{12,})\s*$",
    ),
    _rule("authorization header", "bearer basic", r"(?i)\b(?:bearer|basic)\s+([\w.~+/-]{16,}=*)"),
    # The rest of a key block whose first line is out of sight:
    _rule("key material", "", r"(?:^|\n)(?:[ \t]*[A-Za-z0-9+/]{60,76}={0,2}[ \t]*\r?\n){3,}"),
)  # fmt: skip
