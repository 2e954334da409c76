"""
The model's confidence in a text, and the longest beginning likely enough to be shown. Pure.

Greedy decoding takes the likeliest token each time. All of a text is right as likely as the product
of its tokens' probabilities, given what stands before it; so a suggestion is shown as far as that
product stays above a threshold (`likely`). Text that was typed since is certain: the product begins
at the cursor. docs/suggestions.md has what thresholds show of right and wrong text, and how the
default was chosen. The odds are too high: texts are right less often than their product says.

Some tokens have no honest probability: servers that speculate say 0 of an accepted draft, or
nothing, others tell none at all. Such a token is unknown, never certain; it counts as the known
ones of its text do in the mean, and no better than `DRAFTED`. Where none is known nothing is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from fim_lsp.display import visible_in
from fim_lsp.suggest.cursor import Candidate, Odds
from fim_lsp.suggest.lines import is_word_sign
from server_bridge.protocol import Token

NOT_SURE = "not sure"
# The most that drafts are worth: a server accepts repetitive text as drafted until it is wrong, and
# tells no odds of it.
DRAFTED = math.log(0.6)

# The odds are too high: their square is nearer to how often a text is right (above).
TOO_HIGH = 2
# People look up 0.8 s after a text appeared, and need 0.02 s for each character of its first line:
# half of 1,096 acceptances of 21 programmers came by then (benchmarks/recorded).
LOOK_CHARS = 40


def odds(tokens: Iterable[Token], skipped: str, text: str) -> tuple[Odds, ...]:
    """
    Return the odds of *text*, which *tokens* spell, but for line ends, after *skipped* (what was
    forced).

    A token that is partly *skipped* says nothing: its probability was that of the whole, before
    half of it was known.
    """
    begin = len(skipped.encode())
    token_odds: list[Odds] = []
    at = n_characters = 0
    is_return = False  # which makes one line end with what follows
    for token in tokens:
        starts = at
        at = at + len(token.text)
        if at <= begin:
            continue
        data = token.text[max(0, begin - starts) :]
        # Characters that begin in it: a token may end inside one.
        begun = sum(byte & 0xC0 != 0x80 for byte in data)  # noqa: PLR2004
        n_characters += begun - data.count(b"\r\n")
        n_characters -= is_return and data.startswith(b"\n")
        is_return = data.endswith(b"\r")
        if n_characters > len(text):
            break
        token_odds.append(Odds(n_characters, token.logprob if starts >= begin else None))
    return tuple(token_odds)


def behind(token_odds: Iterable[Odds], n_typed: int) -> tuple[Odds, ...]:
    """
    Return the odds of what is left of a text after *n_typed* characters of it, or, below 0, with as
    many before it.
    """
    left = [Odds(-n_typed, None)] if n_typed < 0 else []
    for (starts, _), (end, logprob) in pairwise([Odds(0, None), *token_odds]):
        if end > n_typed:
            left.append(Odds(end - n_typed, logprob if starts >= n_typed else None))
    return tuple(left)


def respell(token_odds: tuple[Odds, ...], old: str, text: str) -> tuple[Odds, ...]:
    """
    Return the odds of *text*, which is *old* with other white space, maybe without some of its
    beginning or its end.

    So the visible characters of a token are the same in both.
    """
    if not token_odds or old.startswith(text):
        return token_odds
    visible = visible_in(old)
    wanted = visible_in(text)
    n_lost = max(0, visible.find(wanted))
    ends = [0, *(at for at, sign in enumerate(text, 1) if visible_in(sign))]
    left: list[Odds] = []
    starts = n_visible = at = 0
    for end, logprob in token_odds:
        n_visible += len(visible_in(old[at:end]))
        at = end
        if n_visible > n_lost:
            here = ends[min(n_visible - n_lost, len(ends) - 1)]
            left.append(Odds(here, logprob if starts >= n_lost else None))
        starts = n_visible
    return tuple(left)


def likelihood(candidate: Candidate) -> float:
    """
    Return the product of the probabilities of a candidate's tokens, as far as they are known; 1.0
    where none is.
    """
    ends = len(candidate.text)
    return math.exp(sum(p for end, p in candidate.odds if p is not None and end <= ends))


def gain(candidate: Candidate) -> float:
    """
    Return the keys that people save by the first line of a text, expected per time they need to
    read it; so a text that grows by lines is never worth less.
    """
    line = candidate.text.partition("\n")[0]
    right = likelihood(replace(candidate, text=line)) ** TOO_HIGH
    return right * (len(line) - 1) / (LOOK_CHARS + len(line))  # one key accepts it


def least(sure: float) -> float:
    """Return the logarithm of the probability below which a text is not shown."""
    return math.log(sure) if sure > 0 else -math.inf


def likely(candidate: Candidate, sure: float) -> Candidate:
    """
    Return the longest beginning of *candidate*, cut between words, that is right with a probability
    of *sure*.
    """
    logprobs = [logprob for _, logprob in candidate.odds if logprob is not None]
    if not logprobs or sure <= 0:
        return candidate
    limit = least(sure)
    unknown = min(sum(logprobs) / len(logprobs), DRAFTED)
    total = 0.0
    sure_until = 0
    for end, logprob in candidate.odds:
        if sure_until >= len(candidate.text):  # the rest was cut away
            break
        if sure_until:  # else it was typed in part, and says nothing
            total += unknown if logprob is None else logprob
        elif logprob is not None:
            total = logprob
        if total < limit:
            return _cut(candidate, sure_until)
        sure_until = end
    return candidate


def _cut(candidate: Candidate, end: int) -> Candidate:
    """
    Return *candidate* up to the last place before *end* where a word, a part of one (`user_`) or a
    line ends.
    """
    text = candidate.text
    before = end
    if is_word_sign(text[end : end + 1]):
        while is_word_sign(text[end - 1 : end]):
            end -= 1
        end = text.rfind("_", end + 1, before) + 1 or end
    return replace(candidate, text=text[:end].rstrip(), whole=False, why=NOT_SURE)
