"""
Finished edits and texts into the next edit, if one is likely enough. Pure.

Each change that was made gives rules; each rule is looked for in the texts; each place where one
holds is judged by its evidence, and the surest is proposed. No model is asked. A file of 10,000
lines takes some milliseconds, so this is for a pause, and for a worker thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from fim_lsp.next_edit.declarations import find_undeclared
from fim_lsp.next_edit.edits import (
    FRESH,
    HISTORY,
    CountErrors,
    EditedText,
    Example,
    FinishedEdit,
    Lines,
    adds_errors,
    examples,
)
from fim_lsp.next_edit.evidence import (
    SURE,
    SURE_UNOPENED,
    RulePlace,
    RuleRecord,
    confidence,
    make_record,
    of_place,
    of_result,
    of_rule,
)
from fim_lsp.next_edit.renames import NO_RENAMES, FindUses, Renames, find_renames
from fim_lsp.next_edit.rule import Rule, TokenKind
from fim_lsp.next_edit.rules import Block, pair_rule, rules_of

LEARNED = 24  # of the changes looked back on, the newest that rules are made of
PAIRED = 6  # of these, the newest that are compared with others, for rules of two examples
PARTNERS = 11  # before each, that it is compared with
CONTRADICTED = 2  # times as often as it held: such a rule was never meant

# Places that are judged, nearest first: more change no proposal, but take time.
BELOW = 8
ABOVE = 2
ELSEWHERE = 2

NEEDLES = 12
"""Texts that are looked for in files that are not open: those of the rules that were seen most
often."""


USE = 0.99
MENTION = 0.5
STEP = 1e-4
"""How sure a use of a renamed definition is, and its name in a comment; less for each place that
is nearer."""
DECLARED = 0.6
"""How sure the declaration is of a function that was written."""

Edited = Collection[tuple[str, int]]  # lines, by URI and number


class Proposal(NamedTuple):
    """
    The lines *before* at *line* of the text *uri* should become *after*, both without line ends.

    The proposal of a model has no *rule*; *example* is the newest of a rule's.
    """

    uri: str
    line: int
    before: Lines
    after: Lines
    confidence: float = 0.0
    rule: Rule | Block | None = None
    n_examples: int = 0
    evidence: dict[str, float] = {}  # noqa: RUF012 (of a tuple; never written to)
    example: Example | None = None

    @property
    def pattern(self) -> object:
        """The same for all proposals of one rule: what a "no" is remembered by …"""
        return self.rule.key if self.rule else (self.before, self.after)

    @property
    def change(self) -> object:
        """
        … and the same for all that make the same of the same lines in a file, whatever the rule.
        """
        return self.uri, self.before, self.after

    @property
    def place(self) -> object:
        """The same for proposals that change the same lines at the same place in the same way."""
        return self.uri, self.line, self.before, self.after

    @property
    def is_renaming(self) -> bool:
        """Return whether a name becomes another, and nothing else changes."""
        return self.rule is not None and self.rule.kind is TokenKind.RENAME

    def is_refused(self, refused: Collection[object]) -> bool:
        """Return whether one of these got a "no"."""
        return self.pattern in refused or self.change in refused


def propose(
    edits: Sequence[FinishedEdit],
    texts: Sequence[EditedText],
    refused: Collection[object],
    find: FindUses,
    count: CountErrors,
    sure: float = SURE,
) -> Proposal | None:
    """
    Return the surest next edit; None where that is not *sure* enough, or *refused*.

    *texts* begins with that of the last edit; open documents and further files follow. *find* and
    *count* parse texts. It never adds a syntax error.
    """
    renames = find_renames(edits, texts, find)
    return _surest(proposals(edits, texts, renames), texts, refused, sure, count)


def needles(edits: Sequence[FinishedEdit]) -> list[str]:
    """
    Return the texts of which an unopened file must hold one to be worth a look: one of these, the
    likeliest first.

    Only what was done twice is looked for there.
    """
    twice = (record for record in _learn(examples(edits, HISTORY)) if len(record.examples) > 1)
    order = sorted(twice, key=lambda record: (-len(record.examples), record.age))
    return [*dict.fromkeys(record.rule.needle for record in order)][:NEEDLES]


def propose_unopened(
    edits: Sequence[FinishedEdit],
    texts: Sequence[EditedText],
    unopened: Sequence[EditedText],
    refused: Collection[object],
    find: FindUses,
    count: CountErrors,
) -> Proposal | None:
    """
    Return the surest next edit in files that are not open, where `propose` has none in the *texts*
    that are.
    """
    renames = find_renames(edits, texts, find) if unopened else NO_RENAMES
    likely = [
        proposal
        for proposal in in_unopened(edits, texts, unopened, renames)
        if proposal.is_renaming or proposal.confidence >= SURE_UNOPENED
    ]
    return _surest(likely, unopened, refused, SURE, count)


def in_unopened(
    edits: Sequence[FinishedEdit],
    texts: Sequence[EditedText],
    unopened: Sequence[EditedText],
    renames: Renames = NO_RENAMES,
) -> list[Proposal]:
    """
    Return all places in *unopened* files that were judged, beside *texts*, for what was done twice.
    """
    uris = {text.uri for text in unopened}
    everywhere = proposals(edits, [*texts, *unopened], renames) if unopened else []
    return [proposal for proposal in everywhere if proposal.uri in uris and proposal.n_examples > 1]


def _surest(
    candidates: Iterable[Proposal],
    texts: Sequence[EditedText],
    refused: Collection[object],
    sure: float,
    count: CountErrors,
) -> Proposal | None:
    for proposal in sorted(candidates, key=lambda proposal: -proposal.confidence):
        if proposal.confidence < sure:
            return None
        if not proposal.is_refused(refused) and not breaks(proposal, texts, count):
            return proposal
    return None


def proposals(
    edits: Sequence[FinishedEdit], texts: Sequence[EditedText], renames: Renames = NO_RENAMES
) -> list[Proposal]:
    """Return all places that were judged, after uses; several at one place, where rules differ."""
    history = examples(edits, HISTORY)
    if not history or not texts:
        return []
    edited = {(e.uri, line) for e in edits for line in range(e.line, e.line + max(1, len(e.after)))}
    learned = _learn(history)
    places = [
        (record, place, evidence)
        for record in learned
        for place, evidence in _judge(record, history[0], edited, texts, learned)
    ]
    results: dict[tuple[str, int], list[Lines]] = {}
    for _, place, _ in places:
        results.setdefault((place.text.uri, place.line), []).append(place.after)
    proposals = [*_of_uses(renames), *_of_undeclared(edits, texts)]
    for record, place, shared in places:
        if renames.changes_another(*place, record.examples):
            continue
        uri = place.text.uri
        n = len(record.examples)
        evidence = {**shared, **of_result(place.after, results[uri, place.line])}
        sure = confidence(evidence, n)
        newest = record.examples[0]
        proposals.append(Proposal(uri, *place[1:], sure, record.rule, n, evidence, newest))
    return proposals


def _of_uses(renames: Renames) -> Iterator[Proposal]:
    for n, (uri, line, before, after, is_code, change) in enumerate(renames.lines):
        sure = (USE if is_code else MENTION) - n * STEP
        _, old, new, _ = change.renaming
        rule = Rule(TokenKind.RENAME, (old,), (new,), old, old, new)
        yield Proposal(uri, line, (before,), (after,), sure, rule, 1, {}, change.example)


def _of_undeclared(
    edits: Sequence[FinishedEdit], texts: Sequence[EditedText]
) -> Iterator[Proposal]:
    for uri, row, line, example in find_undeclared(edits, texts):
        rule = Block(TokenKind.DECLARED, "", (), (line,), line)
        yield Proposal(uri, row, (), (line,), DECLARED, rule, 1, {}, example)


def _learn(history: Sequence[Example]) -> list[RuleRecord]:
    """Return the rules of the newest changes, each once, with what speaks for it."""
    rules = {rule.key: rule for rule in reversed([*_rules(history)])}
    records = [make_record(rule, history) for rule in reversed(rules.values())]
    return [
        record
        for record in records
        if record.contradicted <= CONTRADICTED * len(record.examples)
        and (len(record.examples) > 1 or (record.examples and record.age < FRESH))
    ]


def _rules(history: Sequence[Example]) -> Iterator[Rule | Block]:
    for n, example in enumerate(history[:LEARNED]):
        yield from rules_of(example)
        if not example.is_in_line:
            continue
        (old,) = example.before
        (new,) = example.after
        for other in history[n + 1 : n + 1 + PARTNERS] if n < PAIRED else ():
            if other.is_in_line:
                paired = pair_rule(old, new, other.before[0], other.after[0])
                if paired is not None:
                    yield paired


def _judge(
    record: RuleRecord,
    last: Example,
    edited: Edited,
    texts: Sequence[EditedText],
    learned: Sequence[RuleRecord],
) -> Iterator[tuple[RulePlace, dict[str, float]]]:
    """Yield the places of one rule that are worth a look, each with its evidence."""
    by_file = {text.uri: _places(record.rule, text, edited) for text in texts}
    here = by_file.get(last.uri, [])
    first = min((e.line for e in record.examples if e.uri == last.uri), default=last.line)
    n_between = sum(first <= place.line < last.line for place in here)
    shared = of_rule(record, n_between, len(here), sum(map(len, by_file.values())))
    below = [place for place in here if place.line >= last.line][:BELOW]
    above = [place for place in here if place.line < last.line][-ABOVE:]
    beside = [other.rule for other in learned if _goes_with(other.rule, record.rule)]
    for uri, places in by_file.items():
        for place in below + above if uri == last.uri else places[:ELSEWHERE]:
            whole = _also(place, beside)
            yield whole, {**shared, **of_place(record, whole, last)}


def _places(rule: Rule | Block, text: EditedText, edited: Edited) -> list[RulePlace]:
    """
    Return the places where a rule holds in a text, but for the lines that the user just edited.
    """
    changes = (rule.at(text.lines, line) for line in text.holding(rule.needle))
    return [
        RulePlace(text, *change)
        for change in changes
        if change and (text.uri, change[0]) not in edited
    ]


def _goes_with(other: Rule | Block, rule: Rule | Block) -> bool:
    """
    Return whether a line that *rule* changes is to be changed by *other*, too, where that holds.
    """
    is_sub = other.kind in (TokenKind.RENAME, TokenKind.REPLACE)
    return is_sub and other.needle not in rule.needle and rule.needle not in other.needle


def _also(place: RulePlace, others: Sequence[Rule | Block]) -> RulePlace:
    """Return the place with the other renamings and replacements that hold for its line."""
    if not len(place.before) == len(place.after) == 1:
        return place
    line = place.after[0]
    for other in others:
        if isinstance(other, Rule) and other.needle in line:
            line = other.apply(line)
    return place._replace(after=(line,))


def breaks(proposal: Proposal, texts: Sequence[EditedText], count: CountErrors) -> bool:
    """Return whether a syntax error would come of it."""
    text = next(text for text in texts if text.uri == proposal.uri)
    return adds_errors(text, proposal.line, proposal.before, proposal.after, count)
