"""
The model's confidence in a text, and the longest beginning likely enough to be shown. Pure.

Greedy decoding takes the likeliest token each time. That all of a text is right is as likely as the
product of its tokens' probabilities, given what stands before it; so a suggestion is shown as far
as that product stays above a threshold (`likely`). What was typed since is certain: the product
begins at the cursor. Measured with Qwen2.5-Coder at places in code of 2025 and later in four
languages (benchmarks/gate.py), characters shown that were right and wrong, and the keys saved by
taking what is right; 0.3 was chosen on one half of the places, and these are of the other:

                            0.5B, 247 places
    the product from 0.1    3117  4065  2008
    from 0.3                2857  2230  1922
    from 0.35               2616  1840  1755
    from 0.6                2353   974  1680

The odds are too high: a first line with a product of 0.7 to 0.8 is right in 56 % with either model.

Some tokens have no honest probability: servers that speculate say 0 of an accepted draft, or
nothing, others tell none at all. Such a token is unknown, never certain; it counts as the known
ones of its text do in the mean, and no better than `DRAFTED`. Where none is known nothing is cut.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile

from fim_lsp.suggest.cursor import (
    CLOSER,
    Candidate,
    Cursor,
    Odds,
    brackets,
    is_word_sign,
    width,
)
from server_bridge.protocol import Token

# -- repeats -----------------------------------------------------------------------------------
# Filters against saying what is there already: the line above, the lines below, itself again and
# again.
#
# A line is the same when it says the same at the same depth, however its white space is spelled.


# Of 158,000 lines of Python and JavaScript 16 say the same as the line above them.
ABOVE_LINES = 6  # a block of that many is looked for
LOOP_LINES = 30  # … and, in the suggestion itself, of so many: each size costs a pass

# A piece with a letter in it, said four times without anything between: `"web", "web", "web",
# "web", `. Three are seen in honest code (`slice(None), slice(None), slice(None)`).
STUTTER = re.compile(r"([^\n]{3,40}?)\1{3,}")
LETTER = re.compile(r"[^\W\d_]")
# Numbers and signs are said again in honest tables, but hardly as often: `0,  0,  0, ` sixteen
# times. Three words or more are said twice in a row by no writer: `is a tool that is a tool that `.
OFTEN = 16
PHRASE = re.compile(r"\b((?:[^\W\d_]+ ){3,12})\1")

# A shorter beginning said twice may be meant: `a = a`.
TYPED_AGAIN_CHARS = 4

# No style closes two brackets on two lines at the same depth.
ONLY_CLOSES = re.compile(r"[)\]},;\s]+")

# Models skip a line or two and go on with what follows; further down equal lines are honest.
FOLLOWING_LINES = 4
TELLING_CHARS = 12


def typed_again(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Drop the line's beginning where the model says it once more (Granite, StarCoder)."""
    typed, text = cursor.before.lstrip(), candidate.text.lstrip(" \t")
    if len(typed) < TYPED_AGAIN_CHARS or not text.startswith(typed):
        return candidate
    return candidate.change(text[len(typed) :], "begins with what was typed")


def looping_lines(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut before a line, or a block of them, that says the same as the one right above it."""
    above, own = cursor.above[-ABOVE_LINES:], candidate.text.split("\n")
    parts = [*above, cursor.before + own[0], *own[1:]]
    for second in range(len(above), len(parts)):
        for n_lines in range(1, min(second, len(parts) - second, LOOP_LINES) + 1):
            block = parts[second - n_lines : second]
            if block == parts[second : second + n_lines] and LETTER.search("".join(block)):
                return candidate.cut_lines(second - len(above), "lines go round")
    return candidate


def stuttering(candidate: Candidate, _: Cursor) -> Candidate:
    """Cut before a line in which one piece is said again and again."""
    for match in STUTTER.finditer(candidate.text):
        n_times = (match.end() - match.start()) // len(match[1])
        if (LETTER.search(match[1]) or n_times >= OFTEN) and match[1].strip():
            return _without_line(candidate, match)
    phrase = PHRASE.search(candidate.text)
    return _without_line(candidate, phrase) if phrase else candidate


def _without_line(candidate: Candidate, match: re.Match[str]) -> Candidate:
    start_of_line = candidate.text.rfind("\n", 0, match.start())
    return candidate.cut(max(0, start_of_line), "a line goes round")


def lines_below(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut at the first line that the file goes on with anyway."""
    following, depth = _following(cursor), 0
    for idx, part in enumerate(candidate.text.split("\n")):
        line = cursor.before + part if idx == 0 else part
        closes = bool(line.strip()) and not ONLY_CLOSES.sub("", line)
        if (depth <= 0 and _is_next(line, following)) or (closes and _is_next(line, following[:1])):
            return candidate.cut_lines(idx, "repeats the lines below")
        for _, sign in brackets(line, cursor.language):
            depth += 1 if sign in CLOSER else -1
    return candidate


def _following(cursor: Cursor) -> list[str]:
    """
    Return the next line, and those after it until the block ends: another block may say the same.
    """
    visible = [line for line in cursor.below if line.strip()][:FOLLOWING_LINES]
    same = takewhile(lambda line: width(line) >= width(cursor.before), visible)
    return [*same] or visible[:1]


def _is_next(line: str, following: list[str]) -> bool:
    """
    Return whether *line* is the next one, or one soon after it that is long enough not to be there
    twice by chance.
    """
    code, here = line.strip(), width(line)
    same_block = takewhile(lambda other: width(other) >= here, following)
    return any(
        code == other.strip() and here == width(other) and (idx == 0 or len(code) >= TELLING_CHARS)
        for idx, other in enumerate(same_block)
    )


# A line in sight (`local`) beats a model that is less sure than this in the mean: where
# Qwen2.5-Coder 0.5B disagrees with the line below it, the line is right 8 times of 10 and the model
# never, from it on 4 times of 14 and 6.
SURE = 0.8
NOT_SURE = "not sure"
# What drafts are worth at most: repetitive text goes on as drafted, and then does not
# (test_speculation).
DRAFTED = math.log(0.6)


def odds(tokens: Iterable[Token], skipped: str, text: str) -> tuple[Odds, ...]:
    """
    Return the odds of *text*, which *tokens* spell after *skipped* (what was forced).

    A token that is partly *skipped* says nothing: its probability was that of the whole, before
    half of it was known.
    """
    begin = len(skipped.encode())
    token_odds: list[Odds] = []
    at = n_characters = 0
    for token in tokens:
        starts, at = at, at + len(token.text)
        if at <= begin:
            continue
        n_characters += _n_characters(token.text[max(0, begin - starts) :])
        if n_characters > len(text):
            break
        token_odds.append(Odds(n_characters, token.logprob if starts >= begin else None))
    return tuple(token_odds)


def behind(token_odds: Iterable[Odds], n_typed: int) -> tuple[Odds, ...]:
    """
    Return the odds of what is left of a text after *n_typed* characters of it, or, below 0, with as
    many before it.
    """
    left: list[Odds] = [Odds(-n_typed, None)] if n_typed < 0 else []
    starts = 0
    for end, logprob in token_odds:
        if end > n_typed:
            left.append(Odds(end - n_typed, logprob if starts >= n_typed else None))
        starts = end
    return tuple(left)


def respell(token_odds: tuple[Odds, ...], old: str, text: str) -> tuple[Odds, ...]:
    """
    Return the odds of *text*, which is *old* with other white space, maybe without some of its
    beginning or its end.

    So the visible characters of a token are the same in both.
    """
    if not token_odds or old.startswith(text):
        return token_odds
    visible, wanted = "".join(old.split()), "".join(text.split())
    n_lost = max(0, visible.find(wanted))
    ends = [0, *(at for at, sign in enumerate(text, 1) if not sign.isspace())]
    left: list[Odds] = []
    starts = n_visible = at = 0
    for end, logprob in token_odds:
        n_visible += len("".join(old[at:end].split()))
        at = end
        if n_visible > n_lost:
            here = ends[min(n_visible - n_lost, len(ends) - 1)]
            left.append(Odds(here, logprob if starts >= n_lost else None))
        starts = n_visible
    return tuple(left)


def confidence(token_odds: Iterable[Odds], text: str) -> float:
    """
    Return the geometric mean of the probabilities of *text*'s tokens; 1.0 where none is known.
    """
    starts, logprobs = 0, list[float]()
    for end, logprob in token_odds:
        if logprob is not None and starts < len(text):
            logprobs.append(logprob)
        starts = end
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0


def likelihood(candidate: Candidate) -> float:
    """
    Return the product of the probabilities of a candidate's tokens, as far as they are known; 1.0
    where none is.
    """
    ends = len(candidate.text)
    return math.exp(sum(p for end, p in candidate.odds if p is not None and end <= ends))


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
    limit, unknown = least(sure), min(sum(logprobs) / len(logprobs), DRAFTED)
    total, sure_until = 0.0, 0
    for end, logprob in candidate.odds:
        if sure_until >= len(candidate.text):  # what follows was cut away
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
    """Return *candidate* up to the last place before *end* where a word or a line ends."""
    text = candidate.text
    if is_word_sign(text[end : end + 1]):
        while is_word_sign(text[end - 1 : end]):
            end -= 1
    return replace(candidate, text=text[:end].rstrip(), whole=False, why=NOT_SURE)


def _n_characters(data: bytes) -> int:
    """Return characters that begin in *data*: a token may end inside one."""
    return sum(byte & 0xC0 != 0x80 for byte in data)  # noqa: PLR2004


def prefer(model: Candidate, sure: float, local: Candidate) -> Candidate:
    """
    Return the better of two candidates, *sure* being the confidence in the model's.

    Where both say the same line the model's is shown, which may go on. That line is as sure as need
    be, and what follows it as sure as the model says.
    """
    if not local.text or sure >= SURE:
        return model
    line = model.text.partition("\n")[0]
    if line.rstrip() != local.text.rstrip():
        return local
    token_odds = (Odds(end, 0.0 if end <= len(line) else logprob) for end, logprob in model.odds)
    return replace(model, odds=tuple(token_odds))
