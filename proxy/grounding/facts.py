"""Exact checks beside the scorer: what a claim states that a piece of evidence does not carry, or binds otherwise.

A small encoder reads meaning well and figures badly: it misses another number, a name that is nowhere in the source, a
"not", and a right value in the wrong row. This file looks for just these and returns counts, "signs". It never decides:
the signs are weighed together with the encoder's score.

Rules of this file
- Every sign leans towards silence: a false alarm on a supported claim costs more than a miss.
- A value is swapped if a clause with another value in its place says more of the claim than any clause that carries it.
- Denials and opposites are looked for in the one clause that is nearest to the claim's, and only if it is near.
- Facts are built once and compared in time linear in the evidence: only the first ``MOST`` values, names and clauses of
  a claim are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeAlias

from proxy.grounding.clauses import RELATIONS, Clause, Facts, Name, facts_of, label, stems
from proxy.grounding.numerals import PERIODS
from proxy.grounding.values import is_close
from proxy.grounding.wording import Written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proxy.grounding.values import Value

__all__ = ["MOST", "NEAR", "WEIGHED", "Facts", "ReadText", "Signs", "compare", "facts_of"]

MOST = 24
"""Values, names and clauses of a claim that are compared. A claim is a sentence; longer texts are cut off."""

NEAR = 4
"""Words at most from the first to the second of a pair that still counts as standing together."""

_PLACES = 32  # of a word that are looked at
_REACH = 3  # words before and after another that may fill its roles
_SHARE = 0.75  # of a claim's known words that a clause must have to be about the same
_KNOWN = 0.7  # of a claim's words that the evidence must have for it to be a mixture of what it says
_ALIKE = 0.6  # of a claim's words that a clause must have to be compared word by word
_SIDE = 8  # clauses before and after one that may belong to its sentence
_BREAKS = 12  # places at most where a claim does not run as the evidence does, for it to be its words in another order
_ASSENT = "yes", "ja", "sí", "oui", "sim"
_REFERRING = frozenset("he she it they his her its their him them er sie es il elle ils elles él ella".split())
_UNMEASURED = frozenset({"date", "clock", "code", "ordinal"})
_LISTING = frozenset(", & and or y et und e o".split())  # between what may stand in any order
_PART = 6  # words of what may have been exchanged
_GAIN = 3  # steps from word to word that the exchange must set right
_LIMITS = frozenset({"only", "solely"})  # with one a statement may agree with "no"
_VERBATIM = 0.85  # of a claim's words that the evidence has, for it to be worded as that is
_IN_ORDER, _MOSTLY_IN_ORDER = 0.5, 0.75  # of its pairs that stand there so
_SHORTEST_PREFIX = 4  # that two forms of a name share: Cyprus, Cypriot


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a claim states that the evidence does not carry. Counts are 0 or more, shares lie in [0, 1].

    ``numbers`` and ``names`` are those the claim states, ``..._absent`` those of them that the evidence has nowhere.
    ``swapped`` counts values and names that the evidence has, but says of another subject. ``transposed`` is 1 if the
    claim is worded as the evidence is once two of its names change places. ``negation`` is 1 if one of claim and
    evidence denies what the other states, ``answered`` if one of them does so by a question and its answer; ``opposed``
    counts opposites ("rose", "fell") and other periods ("per day", "per month"), ``remeasured`` numbers that the
    evidence has in another unit only ("500 g", "500 mg"). ``altered`` counts what is wrong with a claim that is
    otherwise worded as the evidence is. ``coverage`` is the share of the claim's content words that the evidence has,
    ``order`` the share of its neighbouring pairs that stand near each other there in the same order; both are 1 for a
    claim without any.
    """

    numbers: int
    numbers_absent: int
    names: int
    names_absent: int
    swapped: int
    transposed: int
    negation: int
    answered: int
    opposed: int
    remeasured: int
    altered: int
    coverage: float
    order: float

    def weighed(self) -> dict[str, float]:
        """What is weighed beside the encoder's logit, by name: all are 0 when the evidence says it as the claim does.

        Counts above 2 are 2. ``missing`` and ``disorder`` are what ``coverage`` and ``order`` lack to 1, ``changed`` is
        1 when anything else is not 0.
        """
        counts = {name: float(min(2, getattr(self, name))) for name in COUNTED}
        found = counts | {"missing": 1 - self.coverage, "disorder": 1 - self.order}
        return found | {"changed": float(any(found.values()))}


COUNTED = (
    "numbers_absent",
    "names_absent",
    "swapped",
    "transposed",
    "negation",
    "answered",
    "opposed",
    "remeasured",
    "altered",
)
WEIGHED = (*COUNTED, "missing", "disorder", "changed")
"""Names of what is weighed, in order."""


# --- opposites ---------------------------------------------------------------------------------------------------


def _both_ways(pairs: str) -> dict[str, frozenset[str]]:
    """For each word of a table of pairs, "one side / the other; ...", the words of the other side."""
    found: dict[str, frozenset[str]] = {}
    for pair in pairs.split(";"):
        sides = [frozenset(stems(side)) for side in pair.split("/")]
        for own, other in (sides, sides[::-1]):
            for word in own:
                found[word] = found.get(word, frozenset()) | (other - own)
    return found


_OPPOSITES = _both_ways("""
    increase increased rise rose risen grow grew growth grown gain gained up higher surge climbed /
    decrease decreased fall fell fallen decline declined drop dropped shrink shrank down lower reduce
    reduced reduction;
    maximum max / minimum min;
    highest largest biggest greatest most / lowest smallest least fewest;
    higher larger bigger greater / lower smaller;
    open opened opens opening / close closed closes closing shut;
    allow allowed allows permit permitted legal lawful /
    prohibit prohibited forbid forbidden ban banned illegal unlawful;
    include included includes including / exclude excluded excludes excluding;
    north northern / south southern;
    east eastern / west western;
    northeast northeastern / southwest southwestern;
    northwest northwestern / southeast southeastern;
    buy bought purchase purchased / sell sold sale;
    win won victory beat / lose lost loss defeat;
    accept accepted / reject rejected decline declined;
    begin began start started / end ended finish finished stop stopped cease ceased;
    first / last final second;
    earlier earliest / later latest;
    oldest older old / youngest younger young newest;
    enable enabled / disable disabled;
    import imported imports / export exported exports;
    male man men boy husband father son brother / female woman women girl wife mother daughter sister;
    positive positively favorable / negative negatively unfavorable;
    success successful succeed succeeded / failure unsuccessful fail failed;
    alive living / dead deceased died;
    love loved / hate hated;
    hot / cold;
    long longer longest / short shorter shortest;
    mandatory required compulsory obligatory / optional voluntary;
    public / private;
    guilty convicted / innocent acquitted;
    support supported / oppose opposed;
    majority / minority;
    profit / loss deficit;
    ascending / descending;
    left / right;
    inside indoor / outside outdoor;
    upper / lower;
    best better / worst worse;
    strong stronger / weak weaker;
    rich wealthy / poor;
    safe / unsafe dangerous;
    same identical / different;
    true / false;
    possible / impossible;
    able / unable;
    known / unknown;
    likely / unlikely;
    common / uncommon rare;
    active / inactive;
    complete / incomplete;
    employed / unemployed;
    happy / unhappy sad;
    married / unmarried single divorced;
    directly / indirectly;
    full / empty;
    add added / remove removed;
    arrive arrived / depart departed leave left;
    attack attacked / defend defended;
    borrow borrowed / lend lent;
    teacher / student;
    employer / employee;
    liberal / conservative;
    agree agreed / disagree disagreed;
    critical criticized / praise praised
""")
_ASIDE = frozenset(stems(" ".join([*PERIODS, "hour day week month year hours days weeks months years", *_ASSENT])))
_EITHER_WAY = frozenset(
    stems(
        "married marries marry met meet meets versus vs faces faced borders bordered neighbor cousin sibling friend "
        "colleague partner equals differs similar joint plays played tied drew fought fights battle divorced wed "
        "dating dated adjacent near connects connected links linked between together spouse wife husband"
    )
)


# --- reading ----------------------------------------------------------------------------------------------------------


class ReadText(Written):
    """A claim or a piece of evidence, read once for all the texts that it is put beside, and only when first needed."""

    @cached_property
    def facts(self) -> Facts:
        """What it states."""
        return facts_of(self.text)

    def signs_beside(self, evidence: ReadText) -> Signs:
        """The signs of this claim beside a piece of evidence."""
        return compare(self.facts, evidence.facts)


# --- comparing --------------------------------------------------------------------------------------------------------


def compare(claim: Facts, evidence: Facts) -> Signs:
    """The signs of a claim beside a piece of evidence."""
    values = _stated_values(claim)[:MOST]
    names = [name for name in claim.names if _counts(name, claim, evidence)][:MOST]
    unknown = [name for name in names if not _has(evidence, name)]
    lacking = [value for value in values if not _carries(evidence, value)]
    same = _as_written(claim, evidence)
    wrong = {*map(label, lacking), *(word for name in unknown for word in name.words)}
    alike = _in_its_words(claim, evidence, wrong, same)
    verbatim = alike >= _IN_ORDER
    denied = answered = opposed = 0
    for clause in claim.clauses[:MOST]:
        differs, opposites, asked = _against(clause, evidence, verbatim=verbatim)
        denied |= differs
        answered |= asked
        opposed += opposites
    swapped, exchanged = _swapped(claim, evidence)
    remeasured = sum(_remeasured(value, evidence) for value in lacking)
    return Signs(
        numbers=len(values),
        numbers_absent=len(lacking),
        names=len(names),
        names_absent=len(unknown),
        swapped=swapped + exchanged,
        transposed=int(_transposed(claim, evidence)),
        negation=int(denied),
        answered=int(answered),
        opposed=opposed,
        remeasured=remeasured,
        altered=verbatim * (len(lacking) + denied + opposed + remeasured)
        + swapped * (alike >= _MOSTLY_IN_ORDER)
        + sum(_stands_for_another(name, alike, claim, evidence) for name in unknown),
        coverage=_coverage(claim, evidence),
        order=_order(claim, evidence, same),
    )


def _stated_values(claim: Facts) -> list[Value]:
    """A claim's values, but for what only the question before it says of who asks: "for my 9 year old?".

    When it asks about is said of the answer too, and what yes or no alone answers is all that is said.
    """
    answered = any(not clause.question for clause in claim.clauses)
    return [
        value
        for value, at in claim.values
        if value.counts and not (answered and value.family != "date" and claim.clauses[at].question)
    ]


def _in_its_words(claim: Facts, evidence: Facts, wrong: set[str], same: _Same) -> float:
    """How far a claim runs as the evidence does but for what is wrong with it, in [0, 1]; 0 if its words are its own.

    What runs so is hardly a paraphrase.
    """
    aside = {
        word
        for word in claim.terms
        if word not in evidence.places and (word in wrong or word in _ASIDE or _has_opposite(word, evidence))
    }
    words = {term for term in claim.terms if term[0] != "#"} - aside
    pairs = [pair for pair in zip(claim.terms, claim.terms[1:], strict=False) if aside.isdisjoint(pair)]
    if len(words) < 2 or sum(word in evidence.places for word in words) < _VERBATIM * len(words):  # noqa: PLR2004 - who and what
        return 0.0
    return sum(_stands(pair, evidence, same) for pair in pairs) / len(pairs) if pairs else 0.0


def _stands_for_another(name: Name, alike: float, claim: Facts, evidence: Facts) -> bool:
    """Whether what evidence says in a claim's words it says of another than this name, and not of "she"."""
    if _has_sibling(name, evidence):
        return True
    asked = any(name in clause.names for clause in claim.clauses[:MOST] if clause.asks)
    return alike == 1 and not asked and not any(word in _REFERRING for gap in evidence.gaps for word in gap.split())


def _has_sibling(name: Name, evidence: Facts) -> bool:
    """Whether evidence names another of the same sort, told apart by a letter or figures: Model X and Model Y."""
    *sort, which = name.words
    return bool(sort) and any(
        other.words[:-1] == tuple(sort) and all(len(word) == 1 or word.isdecimal() for word in (which, other.words[-1]))
        for other in evidence.names
    )


def _has_opposite(word: str, evidence: Facts) -> bool:
    return any(other in evidence.places for other in _OPPOSITES.get(word, ()))


def _counts(name: Name, claim: Facts, evidence: Facts) -> bool:
    """Whether capitalised words of a claim are a name, as far as claim and evidence together show."""
    if not name.strong and (claim.german or evidence.german):
        return False  # German writes every noun with a capital
    last = name.words[-1]
    if name.strong or last in claim.capitals or last in evidence.capitals:
        return True
    return name.sure and last not in evidence.lower and last not in claim.lower


def _carries(evidence: Facts, value: Value) -> bool:
    if any(key in evidence.carried for key in value.asks):
        return True
    if value.both and value.both[0] in evidence.carried and (value.both[1] in evidence.carried or not evidence.dated):
        return True
    return any(is_close(value, found) for found, _ in evidence.values)


def _remeasured(value: Value, evidence: Facts) -> bool:
    """Whether evidence that does not carry a value with a unit has its number with another."""
    if not value.family or value.family in _UNMEASURED:
        return False
    numbers = {amount for kind, amount in value.asks if kind == "bare"}
    return any(
        other.family not in _UNMEASURED and any(kind == "raw" and amount in numbers for kind, amount in other.offers)
        for other, _ in evidence.values
    )


def _has(evidence: Facts, name: Name) -> bool:
    """Whether evidence has a name: its last word or most of it, its initials or what they stand for."""
    if name.words[-1] in evidence.places or name.words[0] in evidence.alone:
        return True
    if len(name.words) > 1:
        known = sum(word in evidence.places for word in name.words)
        return 2 * known > len(name.words) or name.initials in evidence.places
    word = name.words[0]
    stem = word[: max(_SHORTEST_PREFIX, len(word) - 3)]
    prefix = (
        word.isalpha() and len(stem) >= _SHORTEST_PREFIX and any(other.startswith(stem) for other in evidence.capitals)
    )
    return prefix or word in evidence.initials


def _against(clause: Clause, evidence: Facts, *, verbatim: bool) -> tuple[bool, int, bool]:
    """Of the clause nearest to one of the claim's: if it denies that, how many opposites it has, if an answer does so.

    Where several are as near, the one that differs least: evidence that says both says what the claim does.
    """
    if clause.asks:
        return False, 0, False
    shared = [0 if other.asks else len(clause.own & other.terms) for other in evidence.clauses]
    most = max(shared, default=0)
    if not most or most < _ALIKE * len(clause.own):
        return False, 0, False
    near = (other for other, count in zip(evidence.clauses, shared, strict=True) if count == most)
    return min(_difference(clause, other, verbatim=verbatim) for other in near)


def _difference(clause: Clause, other: Clause, *, verbatim: bool) -> tuple[bool, int, bool]:
    refused = clause.refused or other.refused
    if refused and not _differ_in_yes_alone(clause, other):
        return False, 0, False
    apart = clause.denied.isdisjoint(other.denied) or (verbatim and not refused and clause.denials != other.denials)
    differs = apart and (_denies(clause, other) or _denies(other, clause))
    opposed = [
        word
        for word in clause.own - other.terms
        if word in _OPPOSITES
        and not other.terms.isdisjoint(_OPPOSITES[word])
        and clause.own.isdisjoint(_OPPOSITES[word])
    ]
    opposites = len(opposed) + sum(_reversed(relation, other) for relation in clause.relations)
    opposites += bool(clause.rates and other.rates and clause.rates.isdisjoint(other.rates))
    if differs and opposites:
        return False, 0, False  # "not open" is "closed"
    still = sum(word in clause.denied or not other.denied.isdisjoint(_OPPOSITES[word]) for word in opposed)
    return differs, opposites - still, differs and refused


def _differ_in_yes_alone(clause: Clause, other: Clause) -> bool:
    """Whether what is asked and what is stated are the same but for yes and no, or one says more."""
    limited = any(word in _LIMITS for word, _ in clause.relations)
    return not limited and (clause.own <= other.terms or other.own <= clause.own)


def _denies(one: Clause, other: Clause) -> bool:
    """Whether one clause denies a word that the other states."""
    return any(word in other.terms and word not in other.denied for word in one.denied)


def _reversed(relation: tuple[str, str], clause: Clause) -> bool:
    word, term = relation
    group, side = RELATIONS[word]
    met = {RELATIONS[other] for other, about in clause.relations if about == term}
    return (group, 1 - side) in met and (group, side) not in met


def _coverage(claim: Facts, evidence: Facts) -> float:
    words = {term for term in claim.terms if term[0] != "#"}
    return sum(word in evidence.places for word in words) / len(words) if words else 1.0


def _order(claim: Facts, evidence: Facts, same: _Same) -> float:
    pairs = set(zip(claim.terms, claim.terms[1:], strict=False))
    return sum(_stands(pair, evidence, same) for pair in pairs) / len(pairs) if pairs else 1.0


_Same: TypeAlias = "Mapping[str, frozenset[str]]"


def _as_written(claim: Facts, evidence: Facts) -> _Same:
    """The terms with which evidence offers the claim's values: "#2" for 2 kg may be "#2000" there, for 2000 g."""
    found: dict[str, frozenset[str]] = {}
    for value, _ in claim.values[:MOST]:
        term = label(value)
        found[term] = frozenset({term}).union(
            found.get(term, ()), *(evidence.written.get(key, ()) for key in value.asks)
        )
    return found


def _stands(pair: tuple[str, str], evidence: Facts, same: _Same) -> bool:
    firsts, seconds = (same.get(word) or frozenset({word}) for word in pair)
    return any(
        not seconds.isdisjoint(evidence.terms[at + 1 : at + 1 + NEAR])
        for first in firsts
        for at in evidence.places.get(first, ())[:_PLACES]
    )


# --- who has which value ----------------------------------------------------------------------------------------------


def _swapped(claim: Facts, evidence: Facts) -> tuple[int, int]:
    """How many values and how many names the evidence says of another subject."""
    known = frozenset(evidence.places)
    values = count = 0
    for clause in claim.clauses[:MOST]:
        own = clause.own & known
        values += sum(_misplaced_value(value, clause, own, evidence) for value in clause.values[:MOST] if value.counts)
        names = _name_words(claim, clause, evidence)
        count += sum(
            _misplaced_name(words, clause, own, evidence) or _in_anothers_place(words, claim, clause, evidence)
            for words in names
        )
        count += _roles_reversed(claim, clause, evidence)
    return values, count


def _name_words(claim: Facts, clause: Clause, evidence: Facts) -> list[tuple[str, ...]]:
    """The names of a clause, also those that it writes small and the evidence never does."""
    named = [name.words for name in clause.names]
    seen = {word for words in named for word in words}
    small = [word for word in claim.terms[clause.start : clause.end] if word not in seen and word in evidence.capitals]
    return [*named, *((word,) for word in dict.fromkeys(small) if word not in evidence.lower)][:MOST]


def _misplaced_value(value: Value, clause: Clause, own: frozenset[str], evidence: Facts) -> bool:
    carriers = {at for key in value.asks for at in evidence.carried.get(key, ())}
    rest = own - {label(value)}
    if not carriers or not rest or len(own) < _KNOWN * len(clause.own):
        return False
    stated = frozenset(key for other in clause.values[:MOST] for key in other.asks)
    exact = value.family in {"", "date", "ordinal"}
    return any(
        (rest <= rival.terms or not exact or rival.parallel)
        and any(_same_kind(value, other) and stated.isdisjoint(other.offers) for other in rival.values)
        for rival in _rivals(rest, carriers, evidence)
    )


def _misplaced_name(words: tuple[str, ...], clause: Clause, own: frozenset[str], evidence: Facts) -> bool:
    carriers = {at for at, other in enumerate(evidence.clauses) if words[-1] in other.terms}
    rest = own - set(words)
    if not carriers or len(rest) < 2 or len(own) < _SHARE * len(clause.own):  # noqa: PLR2004 - a subject and what it does
        return False
    best = max(len(rest & _context(evidence, at)) for at in carriers)
    if best == len(rest):
        return False
    return any(
        rest <= rival.terms and any(name.sure and clause.own.isdisjoint(name.words) for name in rival.names)
        for at, rival in enumerate(evidence.clauses)
        if at not in carriers
    )


def _in_anothers_place(words: tuple[str, ...], claim: Facts, clause: Clause, evidence: Facts) -> bool:
    """Whether the evidence says of another, word by word, what the claim says of a name that it knows otherwise.

    So "Jonas founded the firm" beside "Marta founded the firm. Jonas leads sales.". Such a place needs no capital to be
    a name's, so that the first words of sentences count too, where no list or ending tells them to be common ones.
    """
    start = next((at for at in range(clause.start, clause.end) if claim.terms[at : at + len(words)] == words), -1)
    end = start + len(words)
    if start < 0 or end > clause.end or _is_common_word(words, claim, evidence):
        return False
    frame = claim.terms[clause.start : start], claim.terms[end : clause.end]
    carriers = {at for at, other in enumerate(evidence.clauses) if words[-1] in other.terms}
    rest = clause.own - set(words)
    if not carriers or not rest or any(rest <= _context(evidence, at) for at in carriers):
        return False
    gaps = claim.gaps[clause.start + 1 : start + 1], claim.gaps[end : clause.end]
    return any(
        _has_place(frame, gaps, rival, evidence, clause.own)
        for at, rival in enumerate(evidence.clauses)
        if at not in carriers
    )


def _is_common_word(words: tuple[str, ...], claim: Facts, evidence: Facts) -> bool:
    """Whether one word is likelier a common one that opens a sentence than a name."""
    return len(words) == 1 and (words[0] in evidence.lower or words[0] in claim.common | evidence.common)


_Frame = tuple[tuple[str, ...], tuple[str, ...]]


def _has_place(frame: _Frame, gaps: _Frame, rival: Clause, evidence: Facts, own: frozenset[str]) -> bool:
    """Whether a clause runs as a frame does, function words and all, with one of its names in between."""
    ahead, behind = frame
    start = rival.start + len(ahead)
    if evidence.terms[rival.start : start] != ahead:
        return False
    for name in rival.names:
        end = start + len(name.words)
        last = end + len(behind) if behind else rival.end
        if (
            last <= rival.end
            and evidence.terms[start:end] == name.words
            and evidence.terms[end:last] == behind
            and evidence.gaps[rival.start + 1 : start + 1] == gaps[0]
            and evidence.gaps[end:last] == gaps[1]
            and own.isdisjoint(name.words)
            and not (len(name.words) == 1 and (name.common or name.words[0] in evidence.lower))
        ):
            return True
    return False


def _context(evidence: Facts, at: int) -> frozenset[str]:
    """What a clause says together with the rest of its sentence, unless that speaks of other subjects."""
    clause = evidence.clauses[at]
    if clause.parallel:
        return clause.terms
    near = evidence.clauses[max(0, at - _SIDE) : at + _SIDE]
    return frozenset(term for one in near if one.sentence == clause.sentence and not one.parallel for term in one.terms)


def _rivals(rest: frozenset[str], carriers: set[int], evidence: Facts) -> Iterator[Clause]:
    """Clauses without the value that say more of the rest of a claim than any clause with it."""
    best = max(len(rest & evidence.clauses[at].terms) for at in carriers)
    for at, rival in enumerate(evidence.clauses):
        shared = len(rest & rival.terms)
        if at not in carriers and shared > best and shared >= _SHARE * len(rest):
            yield rival


def _same_kind(one: Value, other: Value) -> bool:
    kinds = {one.family, other.family}
    return len(kinds) == 1 or ("" in kinds and "date" not in kinds and "clock" not in kinds)


def _roles_reversed(claim: Facts, clause: Clause, evidence: Facts) -> bool:
    """Whether what stands before a word in the claim stands after it in the evidence, and the other way round."""
    for at in range(clause.start + 1, clause.end - 1):
        if claim.terms[at] in evidence.places and claim.terms[at] not in _EITHER_WAY and claim.terms[at][0] != "#":
            around = _around(claim, at)
            if around[0].isdisjoint(around[1]) and _only_reversed(around, claim.terms[at], evidence):
                return True
    return False


# --- two names in each other's place ----------------------------------------------------------------------------------


def _transposed(claim: Facts, evidence: Facts) -> bool:
    """Whether exchanging two names or values of a claim makes it run as the evidence does, function words and all.

    So "Ann hired Bob today" is transposed beside "Bob hired Ann today", and not beside "Bob was hired by Ann today".
    What stands in one list may stand there in any order.
    """
    runs = set(_steps(evidence.terms, evidence.gaps))
    kept = [step in runs for step in _steps(claim.terms, claim.gaps)]
    breaks = [at + 1 for at, known in enumerate(kept) if not known]
    if not kept or len(breaks) > _BREAKS:
        return False
    parts = list(pairwise([0, *breaks, len(claim.terms)]))
    named = [part for part in parts if part[1] - part[0] <= _PART and _names_something(claim, part, evidence)]
    for (start, end), (then, last) in combinations(named, 2):
        if all(set(claim.gaps[at].split()) <= _LISTING for at in range(end, then + 1)) and all(
            _names_something(claim, (at, at + 1), evidence) for at in range(end, then)
        ):
            continue
        terms, gaps = _exchanged(claim, (start, end), (then, last))
        after = sum(step in runs for step in _steps(terms, gaps))
        if after - sum(kept) >= _GAIN and after >= _ALIKE * len(kept):
            return True
    return False


_Span = tuple[int, int]


def _steps(terms: Sequence[str], gaps: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each two neighbouring terms, with the function words between them."""
    return zip(terms, gaps[1:], terms[1:], strict=False)


def _names_something(claim: Facts, part: _Span, evidence: Facts) -> bool:
    """Whether the last word of a part is a value or, by its capital, a name."""
    last = claim.terms[part[1] - 1]
    return last[0] == "#" or last in evidence.capitals or last in claim.capitals


def _exchanged(claim: Facts, one: _Span, other: _Span) -> tuple[list[str], list[str]]:
    """Terms and gaps with two stretches in each other's place; the function words before a place stay there."""
    (start, end), (then, last) = one, other
    terms, gaps = list(claim.terms), list(claim.gaps)
    moved = [*terms[:start], *terms[then:last], *terms[end:then], *terms[start:end], *terms[last:]]
    inner, inner_then = gaps[start + 1 : end], gaps[then + 1 : last]
    return moved, [*gaps[: start + 1], *inner_then, *gaps[end : then + 1], *inner, *gaps[last:]]


_Around = tuple[frozenset[str], frozenset[str], str, str]


def _around(facts: Facts, at: int) -> _Around:
    """The words before and after a place in its clause, and the function words next to it."""
    clause = facts.clauses[facts.clause_at[at]]
    before = frozenset(facts.terms[max(clause.start, at - _REACH) : at])
    after = frozenset(facts.terms[at + 1 : min(clause.end, at + 1 + _REACH)])
    return before, after, facts.gaps[at], facts.gaps[at + 1] if at + 1 < clause.end else ""


def _only_reversed(around: _Around, word: str, evidence: Facts) -> bool:
    before, after, left, right = around
    found = False
    for at in evidence.places[word][:_PLACES]:
        earlier, later, gap, following = _around(evidence, at)
        if before & earlier and after & later:
            return False
        crossed = before & later and after & earlier and not (before & earlier or after & later)
        found |= bool(crossed) and (left, right) == (gap, following)
    return found
