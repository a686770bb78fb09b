"""A text cut into clauses: what each states, of whom, and what it leaves out because the one before it says so.

Rules of this file
- A clause is a statement of its own: a sentence, a part of a sentence with a value, a pair of names or a subject and
  verb like its neighbour's, a row of a table, a cell with its row's label and its column's header.
- A clause inherits what it leaves out: the names before a pronoun, the heading above it, the words that the part before
  it has in that place ("Ann was born in 1950 and Bo in 1960").
- A question is stated, or denied as a whole, by the reply after it ("Is it safe? No."), and what a cell of a table is
  about by "yes" or "no" in it.
- A negation reaches the words after it; those before it where it stands last, as in German and Dutch, or is the ending
  of a Japanese verb.
- Words are folded and stemmed; a value stands among them as "#" and its number, so that 1.5k and 1,500 are one word.
- Names are told by capitals, where a language writes only names so.
- Work is linear in the text: what is looked at again is a segment, and those are short (``cutting.segments``).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from proxy.grounding.asked import is_question, reply_in, reply_to
from proxy.grounding.cutting import MARKS, MAX_CLAIM_CHARS, is_rule, segments
from proxy.grounding.labels import cells_of
from proxy.grounding.numerals import MONTHS, PERIODS, UNITS
from proxy.grounding.values import TOKEN, Value, values_in
from proxy.grounding.words import terms as folded_terms
from proxy.grounding.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from proxy.grounding.asked import Reply
    from proxy.grounding.numerals import Key

_INHERITED = 8  # words that a clause takes from another
_LONGEST_WORD = 40


@dataclass(frozen=True, slots=True)
class Name:
    """Capitalised words in a row, or one word with figures, folded.

    ``sure`` is false for a single first word of a sentence that may be a common word; ``strong`` is true for acronyms,
    words with figures and names of several words. ``initials`` are the first letters of its words. ``common`` is true
    for a first word that, by a list or its ending, opens many sentences.
    """

    words: tuple[str, ...]
    sure: bool
    strong: bool
    initials: str
    common: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A statement: terms [start, end) of the text, and in ``terms`` also what the clause inherits."""

    start: int
    end: int
    sentence: int
    own: frozenset[str]
    terms: frozenset[str]
    names: tuple[Name, ...]
    values: tuple[Value, ...]
    denied: frozenset[str]
    relations: frozenset[tuple[str, str]]
    parallel: bool
    """Whether it says of one subject what its neighbours say of others: a cell, a part of a list."""
    refused: bool = False
    """Whether it is a question that is answered with no: all of it together is denied, and not each part."""
    question: bool = False
    """Whether it is of a question."""
    asks: bool = False
    """Whether it is of a question that neither yes nor no answers: it states nothing."""
    rates: frozenset[Key] = frozenset()
    """The periods of which it says how much there is in each: "per month", "a year", "weekly"."""
    denials: int = 0
    """Words in it that deny."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states. ``terms`` are its content words in order; a value stands among them as "#" and its number."""

    terms: tuple[str, ...]
    gaps: tuple[str, ...]
    """The function words before each term."""
    clause_at: tuple[int, ...]
    clauses: tuple[Clause, ...]
    values: tuple[tuple[Value, int], ...]
    """Values and the clause of each."""
    names: tuple[Name, ...]
    alone: frozenset[str]
    """Names of one word."""
    initials: frozenset[str]
    capitals: frozenset[str]
    """Words written with a capital, and not only as the first of a sentence."""
    lower: frozenset[str]
    """Words written without one."""
    common: frozenset[str]
    """Words that open a sentence and that many sentences open with."""
    places: Mapping[str, Sequence[int]]
    carried: Mapping[Key, Sequence[int]]
    """Keys of values and the clauses that offer them."""
    written: Mapping[Key, frozenset[str]]
    """Keys of values and the terms that offer them."""
    dated: bool
    """Whether it names a year."""
    german: bool


# --- words ----------------------------------------------------------------------------------------------------------


def stems(text: str) -> list[str]:
    """The folded words of a text without endings; twice, for "covered" is left as "cover", and that as "cov"."""
    return [next(iter(folded_terms(stem)), stem) for stem in folded_terms(text)]


def _table(lines: str) -> dict[str, str]:
    """Words and what stands for them: each line is the one and then the others."""
    return {word: line.split()[0] for line in lines.strip().splitlines() for word in line.split()[1:]}


_ONE_NAME = _table("""
    us usa america american americans
    uk britain british england english
    france french
    germany german germans
    spain spanish
    italy italian italians
    netherlands dutch holland
    poland polish
    denmark danish
    sweden swedish
    finland finnish
    norway norwegian
    switzerland swiss
    austria austrian
    belgium belgian
    ireland irish
    scotland scottish scots
    wales welsh
    greece greek
    turkey turkish
    portugal portuguese
    russia russian russians
    ukraine ukrainian
    china chinese
    japan japanese
    korea korean
    india indian indians
    canada canadian canadians
    mexico mexican
    brazil brazilian
    argentina argentine argentinian
    australia australian
    israel israeli
    egypt egyptian
    iran iranian
    iraq iraqi
    pakistan pakistani
    africa african
    europe european
    asia asian
    thailand thai
    vietnam vietnamese
    czechia czech
    hungary hungarian
    romania romanian
    paris parisian
""")
_LITTLE = frozenset(
    "being me him us itself himself herself themselves myself yourself each any some all both other another such only "
    "very just than because while during until although though however since per via upon within don didn doesn isn "
    "wasn weren aren won wouldn couldn shouldn hasn haven hadn cannot".split()
)
_GERMAN = frozenset(
    "der die das und ist ein eine einen einem einer eines nicht mit von den dem des im zu auf für wurde wurden sich "
    "sein seine seinem seiner ihre hat hatte haben als nach bei am aus wird sind war oder auch seit über "
    "zum zur dass".split()
)
_ELSEWHERE = frozenset(
    "le la les un une des du de et est sont dans au aux el los las una unos y es son en del al il lo gli uno di e che "
    "nel della dei het een en van zijn o os as um uma do da dos das em na no é se ce cette ses su sus".split()
)
_PRONOUNS = frozenset(
    "he she it they his her its their him them this these that those who which er sie es il elle "
    "ils elles él ella".split()
)
_DENIALS = frozenset(
    "not no never none neither nor cannot nobody nothing without hardly barely rarely nicht "
    "kein keine keinen keiner nie niemals "
    "ohne pas jamais sans nunca sin não sem non mai senza niet geen nooit zonder".split()
)
_NO_DENIAL_BEFORE = frozenset(
    "only just merely less more fewer later longer doubt least earlier . until unless to".split()
)
_LATE_DENIALS = frozenset("nicht nie niemals niet nooit".split())
"""Denials that may stand behind what they deny."""
_ENDS_CLAUSE = frozenset(", ; . ! und aber en maar".split())
_JAPANESE_DENIAL = re.compile(
    r"(?<![少危切])(?<!(?:れば|いと|きゃ|ねば)(?:なり|なら|いけ))(?<!くては(?:なり|なら|いけ))(?<!かもしれ|かも知れ)"
    r"(?<!過ぎ|すぎ)(?<!他なら)"
    r"(?:ませんでした|ません|なかったです|なかった|ないです|ない)$"
)
_JAPANESE_DENIALS = re.compile("ません|ない|なく|なかっ|[外無不非未禁除ず]")
_HIRAGANA = re.compile(r"[\u3040-\u309f]")
_LATE = "not"
"""Stands among the denied terms of a clause with a denial that may stand behind: two with one may mean the same."""
_DENYING_STEMS = frozenset(stems("failed refused declined unable ceased stopped"))

RELATIONS = {
    word: (group, side)
    for group, line in enumerate(
        """before / after following
        above over / below under beneath
        more / less fewer
        most / least fewest few
        all every each entire / some few none no several
        only solely / also
        always / never sometimes rarely
        until / since
        into / from""".splitlines()
    )
    for side, words in enumerate(line.split("/"))
    for word in words.split()
}
_COMMON_ENDINGS = re.compile(r"(?:ing|ly|tion|tions|ment|ments|ness|ity|ism|ance|ence|ship|hood|ers|ists|ies)$")
_COMMON_OPENERS = frozenset(
    "however although despite after before while when meanwhile today yesterday tomorrow there here people water sales "
    "two three four five many most several some each every both another other others all more less few much such same "
    "during since until within without under over through throughout according because instead unlike like given "
    "first second third finally then later early late recently former current new old total overall average "
    "critics fans children men women students workers members police officials scientists researchers customers "
    "employees users players parts nothing nobody everyone someone anyone everything something none half whether "
    "yes please note see dr mr mrs ms sir lord lady king queen president prime chief production revenue profit "
    "music film love life work time money food beer wine milk coffee tea oil gas gold iron research".split()
)
_NAME_VERBS = frozenset("is was has had will 's \u2019s , and or does did won wrote died became".split())
_CONNECTORS = frozenset("of and for the de la del du des di".split())
_LIGHT = frozenset("a an the has have had did does do will would also then later both".split())
_BE = frozenset("was were are be been is".split())
_AUXILIARIES = frozenset(
    "is was has had will does did ist war hat hatte wird wurde es fue ha había era est était a avait è fu aveva é foi "
    "tem tinha heeft had werd wordt kan can kann peut puede può pode".split()
)
_DETERMINERS = frozenset(
    "the a an its their his her der die das den dem des ein eine einen einem einer le la les l un une el los las una "
    "il lo i gli l' o os as um uma de het een".split()
)
_NO_LINKS = frozenset(", and ' \" ( ) or & :".split())
_JOINTS = frozenset("- \u2011 & . / ".split())
_CONNECTING = _JOINTS | _CONNECTORS
_ENDS_DENIAL = frozenset("until unless but ; .".split())
_CUTS = frozenset(
    "and but while whereas or ; . y und et e aber während mientras tandis mentre enquanto terwijl maar pero mais ma "
    "mas".split()
)
_PER = frozenset("per / each every pro je par por al alla ao cada chaque ogni elke jede jeden jedes a".split())
_PERIODS = frozenset({"duration", "months"})
_REPLIES = frozenset("no non nein não nee".split())
_FUNCTION = _LITTLE | _GERMAN | _ELSEWHERE | _DENIALS | (RELATIONS.keys() - {"following"})


@lru_cache(maxsize=1 << 16)
def _term(token: str) -> str:
    """The folded stem of a word; "" for function words. An acronym is no function word: WHO, IT, US."""
    acronym = token.isupper() and len(token) > 1
    word = token if token.isascii() else _plain(token)
    word = _without_apostrophe(word.casefold().replace("\u2019", "'")).replace(".", "")
    if not acronym and (word in _FUNCTION or token.lower() in _FUNCTION):
        return ""
    word = _ONE_NAME.get(word, word)
    found = stems(word)
    return found[0] if len(found) == 1 else word if acronym or any(map(str.isdigit, word)) else ""


def _plain(text: str) -> str:
    """The text without diacritics."""
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))


def _without_apostrophe(word: str) -> str:
    head, mark, tail = word.partition("'")
    if not mark:
        return word
    if tail in {"s", "re", "ll", "ve", "d", "m", "t"}:
        return head
    return tail if head in {"l", "d", "qu", "j", "n", "s", "c", "m"} else head + tail


# --- reading ----------------------------------------------------------------------------------------------------------

_MONTH = re.compile(rf"\s*(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
_DAY = re.compile(r"(?<!\d)\d\d?\.\s*$")
_SHORT = 8
_CITATION = re.compile(r"\[\^?\d{1,3}(?:\s*[,\u2013-]\s*\d{1,3})*\]")
_ENDS = (".", "!", "?", "。", ";", ",")
_HEADING = 6
_FIGURE = frozenset("0123456789")
_LATIN = "\u0250"
_SCOPE = 2
_LONGEST_ENDING = 16
_ALTERNATIVES = frozenset("oder of".split())


class _Item(NamedTuple):
    """A content word or a value of a sentence, with the function words and marks before it."""

    term: str
    token: str
    gap: tuple[str, ...]
    value: Value | None
    named: bool


def facts_of(text: str) -> Facts:
    """What a text states, ready to be compared. Linear in the text, as no segment is long; any text will do."""
    reader = _Reader()
    text = visible(text)
    read = list(_sentences(text))
    answers: Reply | None = None  # what the sentence before is answered with
    for at, (begin, end) in enumerate(read):
        sentence = text[begin + (answers.end if answers else 0) : end]
        answers = reply_to(text[begin:end], text[slice(*read[at + 1])]) if at + 1 < len(read) else None
        first = begin == 0 or "\n" in text[begin - 1] + text[begin]
        reader.read(sentence, at_line_start=first, reply=answers)
    return reader.facts()


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Segments, but that "3. März" is no end of one."""
    begin = 0
    for start, end in segments(text):
        day = end - begin <= MAX_CLAIM_CHARS and _DAY.search(text, max(start, end - _SHORT), end)
        if not (day and _MONTH.match(text, end)):
            yield begin, end
            begin = end


def _without_marks(line: str) -> str:
    """A line without the marks before its words; a day before its month is none: "3. März"."""
    mark = MARKS.match(line)
    return line[mark.end() :] if mark and not (_DAY.search(mark.group()) and _MONTH.match(line, mark.end())) else line


def _items(text: str) -> tuple[list[_Item], list[str]]:
    """The content words and values of a sentence, and the function words and marks after the last."""
    tokens = TOKEN.findall(text)
    values = {value.start: value for value in values_in(tokens)}
    items: list[_Item] = []
    gap: list[str] = []
    at = 0
    while at < len(tokens):
        value, token = values.get(at), tokens[at]
        term = label(value) if value else _term_at(tokens, at)
        if term:
            items.append(_Item(term, token, tuple(gap), value, value is None and _is_name(token)))
            gap = ["'s"] if token.endswith(("'s", "\u2019s")) else []
        else:
            gap.append(token.lower())
        at = value.end if value else at + 1
    return items, gap


def _term_at(tokens: Sequence[str], at: int) -> str:
    """The term of a token. A capital after a word is no function word: "Model Y", "vitamin A", "World War I"."""
    token = tokens[at]
    if len(token) == 1 and token.isupper() and at and tokens[at - 1][0].isalpha():
        speaker = token == "I" and (at == 1 or not tokens[at - 1][0].isupper())  # noqa: S105 - a word
        return "" if speaker else token.lower()
    return _term(token[:_LONGEST_WORD]) if token[0].isalnum() else ""


def label(value: Value) -> str:
    """A value as a word: "#" and its first number or date."""
    kind, amount = value.asks[-1] if value.family not in {"", "date", "clock", "code"} else value.asks[0]
    return f"#{kind}{amount:g}" if value.family in {"clock", "code"} else f"#{amount:g}"


def _is_name(token: str) -> bool:
    return (token[0].isupper() and token[0] < _LATIN) or not (
        token.isalpha() or token.isdecimal() or _FIGURE.isdisjoint(token)
    )


def _runs(items: Sequence[_Item], joints: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Runs [start, end) of capitalised words with nothing but ``joints`` between them."""
    start = -1
    for at, item in enumerate(items):
        capital = item.named
        if start >= 0 and not (capital and joints.issuperset(item.gap)):
            yield start, at
            start = -1
        if capital and start < 0:
            start = at
    if start >= 0:
        yield start, len(items)


def _name(items: Sequence[_Item], start: int, end: int) -> Name:
    words = tuple(item.term for item in items[start:end])
    token = items[start].token
    strong = end - start > 1 or not token.isalpha() or (token.isupper() and len(token) > 1)
    sure = strong or not _opens(items, start) or _reads_like_name(items, start)
    return Name(words, sure, strong, _initials(items[start:end]), common=not sure and _is_common(token))


def _initials(items: Sequence[_Item]) -> str:
    return "".join(item.token[0] for item in items).lower()


def _opens(items: Sequence[_Item], at: int) -> bool:
    """Whether a word is the first of its sentence, or of a quotation or what follows a colon."""
    gap = items[at].gap
    return (at == 0 and not any(map(str.isalnum, gap))) or any(mark in {":", '"', "“", "„", "«"} for mark in gap[-1:])


def _reads_like_name(items: Sequence[_Item], at: int) -> bool:
    """Whether the first word of a sentence is likelier a name than a common word, by its ending and what follows."""
    token = items[at].token.lower()
    if _is_common(token):
        return False
    following = items[at + 1].gap[0] if at + 1 < len(items) and items[at + 1].gap else ""
    return following in _NAME_VERBS and not (token.endswith("s") and following not in {"is", "was", "has", "'s"})


def _is_common(token: str) -> bool:
    token = token.lower()
    return token in _COMMON_OPENERS or _COMMON_ENDINGS.search(token) is not None


class _Reader:
    """Collects the facts of a text, segment by segment."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._clauses: list[Clause] = []
        self._clause_at: list[int] = []
        self._names: list[Name] = []
        self._initials: set[str] = set()
        self._capitals: set[str] = set()
        self._lower: set[str] = set()
        self._heading: tuple[str, ...] = ()
        self._subject: tuple[str, ...] = ()
        self._header: list[tuple[str, ...]] = []
        self._sentence = 0
        self._asked: frozenset[str] = frozenset()  # by the sentence before, where neither yes nor no answers it

    def read(self, segment: str, *, at_line_start: bool, reply: Reply | None = None) -> None:
        """Add a sentence, a heading or a row. ``reply`` answers it, where it asks."""
        segment = segment.strip()
        if at_line_start:
            segment = _without_marks(segment)
        if "[" in segment:
            segment = _CITATION.sub(" ", segment)
        cells = cells_of(segment) if "|" in segment else segment.split("\t")
        self._sentence += 1
        if len(cells) > 1 and (segment[:1] == "|" or len(cells) > 2):  # noqa: PLR2004 - one mark inside is no row
            if not is_rule(segment):
                self._row([_items(cell)[0] for cell in cells], [_cell_reply(cell) for cell in cells])
            return
        self._header = []
        items, tail = _items(segment)
        if not items:
            return
        if (
            at_line_start
            and len(items) <= _HEADING
            and not segment.endswith(_ENDS)
            and not any(item.value for item in items)
        ):
            self._heading, self._subject = tuple(item.term for item in items), ()
        begin = len(self._clauses)
        self._add(items, _parts(items), tail, respectively="respectively" in segment)
        self._answer(begin)
        if is_question(segment):
            self._ask(begin, reply)

    def _ask(self, begin: int, reply: Reply | None) -> None:
        """Note that all clauses from one on are of a question, and what answers it."""
        asked = [replace(clause, question=True, asks=reply is None) for clause in self._clauses[begin:]]
        self._clauses[begin:] = asked
        if reply is None:
            self._asked = frozenset(term for clause in asked for term in clause.own)
        elif not reply.yes and not any(clause.denied for clause in asked):
            self._refuse(begin)

    def _answer(self, begin: int) -> None:
        """Let a first clause with a value say of what it is the answer: "How many ports has it? Four."."""
        asked, self._asked = self._asked, frozenset()
        first = self._clauses[begin]
        if asked and first.values and not first.names:
            self._clauses[begin] = replace(first, own=first.own | asked, terms=first.terms | asked)

    def _refuse(self, begin: int) -> None:
        """Deny all that the clauses from one on ask."""
        asked = self._clauses[begin:]
        self._clauses[begin:] = [replace(clause, denied=clause.own | {_LATE}, refused=True) for clause in asked]

    def _row(self, cells: list[list[_Item]], replies: Sequence[bool | None]) -> None:
        """A row, and each of its cells with its column's header and its row's label: each is a statement."""
        items = [item for cell in cells for item in cell]
        if not items:
            return
        self._add(items, [(0, len(items))], [])
        if not self._header:
            self._header = [tuple(item.term for item in cell[:_INHERITED]) for cell in cells]
            return
        if False in replies and True not in replies:
            self._refuse(len(self._clauses) - 1)
        row = self._clauses[-1]
        label = cells[0][:_INHERITED]
        for cell, header, reply in zip(cells[1:], self._header[1:], replies[1:], strict=False):
            own = [*label, *cell]
            stated = frozenset((*(item.term for item in own), *(header if reply is False else ())))
            words = frozenset((*stated, *header, *self._heading))
            self._clauses.append(
                replace(
                    row,
                    own=stated,
                    terms=words,
                    parallel=True,
                    names=tuple(_name(own, *run) for run in _runs(own, _JOINTS)),
                    values=tuple(item.value for item in own if item.value),
                    denied=stated if reply is False else frozenset() if row.refused else row.denied & words,
                    refused=reply is False,
                )
            )

    def _add(
        self, items: list[_Item], parts: Sequence[tuple[int, int]], tail: list[str], *, respectively: bool = False
    ) -> None:
        """Add the words of a sentence and its clauses."""
        base = len(self._items)
        names = {start: _name(items, start, end) for start, end in _runs(items, _JOINTS)}
        self._note(items, names)
        denied = [*_denied(items), *_denied_behind(items, tail)]
        alike = [
            _pairs(items[slice(*one)], items[slice(*other)]) or _say_of_two(items[slice(*one)], items[slice(*other)])
            for one, other in pairwise(parts)
        ]
        parallel = [any(alike[max(0, at - 1) : at + 1]) for at in range(len(parts))]
        first = items[slice(*parts[0])]
        for (start, end), like in zip(parts, parallel, strict=True):
            own = items[start:end]
            inherited = self._inherited(own, names, start, first if start else None)
            self._clause_at += [len(self._clauses)] * len(own)
            self._clauses.append(
                Clause(
                    start=base + start,
                    end=base + end,
                    sentence=self._sentence,
                    own=frozenset(item.term for item in own),
                    terms=frozenset((*(item.term for item in own), *inherited, *self._heading)),
                    names=tuple(name for at, name in names.items() if start <= at < end),
                    values=tuple(item.value for item in own if item.value),
                    denied=frozenset(
                        (*(items[at].term for at in denied if start <= at < end), *_late(items[start : end + 1], tail))
                    ),
                    relations=frozenset((word, item.term) for item in own for word in item.gap if word in RELATIONS),
                    parallel=like,
                    rates=frozenset(_rates(own)),
                    denials=sum(_is_denial(word) for item in own for word in item.gap),
                )
            )
        if respectively:
            self._pair_off(len(parts))

    def _note(self, items: Sequence[_Item], names: Mapping[int, Name]) -> None:
        """Remember the names of a sentence, its initials, and which words it writes small."""
        self._items += items
        self._names += names.values()
        self._lower.update(item.term for item in items if item.token[0].islower())
        for at, name in names.items():
            self._capitals.update(name.words if name.sure and not _opens(items, at) else name.words[1:])
        for joints in (_JOINTS, _CONNECTING) if names else ():
            for start, end in _runs(items, joints):
                letters = _initials(items[start : min(end, start + _INHERITED)])
                self._initials.update(letters[at:] for at in range(len(letters) - 1))

    def _inherited(
        self, own: Sequence[_Item], names: Mapping[int, Name], start: int, first: Sequence[_Item] | None
    ) -> tuple[str, ...]:
        """What a clause leaves out: its subject, named before, or what the sentence's first clause has there."""
        mine = tuple(
            word for at, name in names.items() if name.sure and start <= at < start + len(own) for word in name.words
        )
        if first is None:
            pronoun = any(word in _PRONOUNS for item in own[:3] for word in item.gap)
            given = self._subject if pronoun or not mine else ()
            self._subject = (*given, *mine)[:_INHERITED] if mine or given else ()
            return given
        if _has_subject(own):
            return ()
        words, before = {item.term for item in own if not item.value}, {item.term for item in first}
        if words & before - set(mine) and not words <= before | set(mine):
            return ()  # a word of its own may be its verb; "the Pro plan $9" has none but its name
        lead, tail = _around_value(own)
        ahead, after = _around_value(first)
        frame = [*ahead[len(lead) :], *(after if not tail else ())]
        return tuple(item.term for item in frame if not (item.named and (mine or lead)))[:_INHERITED]

    def _pair_off(self, parts: int) -> None:
        """For "A and B cost 1 and 2 respectively" one clause for each name with its value, in order."""
        clauses = self._clauses[-parts:]
        names = [name for clause in clauses for name in clause.names]
        values = [value for clause in clauses for value in clause.values]
        if len(names) != len(values) or len(names) < 2:  # noqa: PLR2004 - a pair
            return
        whole = frozenset(term for clause in clauses for term in clause.terms)
        frame = whole - {word for name in names for word in name.words} - {label(value) for value in values}
        del self._clauses[-parts:]
        for place in range(clauses[0].start, clauses[-1].end):
            self._clause_at[place] = len(self._clauses)
        self._clauses += [
            replace(
                clauses[0],
                start=clauses[0].start,
                end=clauses[-1].end,
                own=own,
                terms=own,
                parallel=True,
                names=(name,),
                values=(value,),
            )
            for name, value in zip(names, values, strict=True)
            for own in [frame | set(name.words) | {label(value)}]
        ]

    def facts(self) -> Facts:
        """All that was read."""
        places: dict[str, list[int]] = {}
        for at, item in enumerate(self._items):
            places.setdefault(item.term, []).append(at)
        carried: dict[Key, list[int]] = {}
        written: dict[Key, set[str]] = {}
        values = [(value, at) for at, clause in enumerate(self._clauses) for value in clause.values]
        for value, at in values:
            for key in value.offers:
                carried.setdefault(key, []).append(at)
                written.setdefault(key, set()).add(label(value))
        return Facts(
            terms=tuple(item.term for item in self._items),
            gaps=tuple(
                " ".join("is" if word in _BE else word for word in item.gap if word not in _LIGHT)
                for item in self._items
            ),
            clause_at=tuple(self._clause_at),
            clauses=tuple(self._clauses),
            values=tuple(values),
            names=tuple(self._names),
            alone=frozenset(name.words[0] for name in self._names if len(name.words) == 1),
            initials=frozenset(self._initials),
            capitals=frozenset(self._capitals),
            lower=frozenset(self._lower),
            common=frozenset(name.words[0] for name in self._names if name.common),
            places=places,
            carried=carried,
            written={key: frozenset(terms) for key, terms in written.items()},
            dated=any(kind == "year" for kind, _ in carried),
            german=sum(word in _GERMAN for item in self._items for word in item.gap) > len(self._items) / 5,
        )


_CROSSES = frozenset("✗✘❌✕")
_TICKS = frozenset("✓✔✅☑")


def _cell_reply(cell: str) -> bool | None:
    """Whether a table's cell says yes or no and nothing else; None for any other."""
    cell = cell.strip().rstrip(".!\ufe0f").rstrip()
    if cell[:1] in _CROSSES | _TICKS and len(cell) == 1:
        return cell in _TICKS
    reply = reply_in(cell) if len(cell) <= _LONGEST_WORD else None
    return reply.yes if reply and reply.end == len(cell) else None


def _rates(items: Sequence[_Item]) -> Iterator[Key]:
    """The periods that something is said to happen in each of."""
    for item in items:
        word = item.token.lower()
        if item.value:
            kinds = item.value.asks[:1] if item.value.family in _PERIODS and not item.value.counts else ()
            yield from kinds  # "a month", "an hour"
        elif word in PERIODS:
            yield PERIODS[word]
        elif item.gap and item.gap[-1] in _PER:
            yield from (key for key in UNITS.get(word, ()) if key[0] in _PERIODS)


def _around_value(items: Sequence[_Item]) -> tuple[Sequence[_Item], Sequence[_Item]]:
    """The words before and after the first value."""
    at = next((at for at, item in enumerate(items) if item.value), len(items))
    return items[:at], items[at + 1 :]


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith(("n't", "n\u2019t"))


def _denied(items: Sequence[_Item]) -> list[int]:
    """Places of the words that a negation before them reaches."""
    found: list[int] = []
    scope = 0
    for at, item in enumerate(items):
        for place, word in enumerate(item.gap):
            if _is_denial(word):
                following = item.gap[place + 1] if place + 1 < len(item.gap) else item.token.lower()
                if following == "," and not at and not place and word in _REPLIES:
                    continue  # "No, the plan covers it."
                if word in _LATE_DENIALS and following in _ENDS_CLAUSE:
                    found += [at - 1] if at and item.gap[max(0, place - 1)] not in _ALTERNATIVES else []
                    continue
                scope = 0 if following in _NO_DENIAL_BEFORE else _SCOPE
            elif word in _ENDS_DENIAL:
                found = found[: len(found) - _SCOPE + scope] if word in {"until", "unless"} else found
                scope = 0
        if scope:
            found.append(at)
            scope -= 1
        if item.term in _DENYING_STEMS and at + 1 < len(items) and "to" in items[at + 1].gap:
            scope = _SCOPE
    return found


def _denied_behind(items: Sequence[_Item], tail: Sequence[str]) -> list[int]:
    """Places of the words that a negation at the end of a sentence reaches, back to the last mark or conjunction."""
    words = [word for word in tail if word.isalpha()]
    marks = [word for word in tail if not word.isalpha()]
    if "?" in marks:
        return []
    place = len(items) - 1
    if words and words[-1] in _LATE_DENIALS:
        if words[-2:-1] and words[-2] in _ALTERNATIVES:
            return []
    else:
        ending = _JAPANESE_DENIAL.search("".join(item.token for item in items[-_LONGEST_ENDING:]))
        if not ending or words:
            return []
        place -= len(ending.group())
        while place > 0 and _HIRAGANA.fullmatch(items[place].token) and not items[place].gap:
            place -= 1
    joined = place > 0 and _CUTS.isdisjoint(items[place].gap) and "," not in items[place].gap
    return [place - 1, place] if joined else [place]


def _late(items: Sequence[_Item], tail: Sequence[str]) -> list[str]:
    """The sign of a denial that may stand behind what it denies, if a clause has one."""
    late = not _LATE_DENIALS.isdisjoint(tail) or any(not _LATE_DENIALS.isdisjoint(item.gap) for item in items)
    return [_LATE] if late or _JAPANESE_DENIALS.search("".join(item.token for item in items)) else []


def _parts(items: Sequence[_Item]) -> list[tuple[int, int]]:
    """A sentence cut where each part has a value or a pair of names of its own: at conjunctions, then at commas."""
    inside = _in_parentheses(items)
    rough = _cut(items, (0, len(items)), _CUTS, inside)
    return [part for span in rough for part in _cut(items, span, frozenset(","), inside)]


def _cut(
    items: Sequence[_Item], span: tuple[int, int], marks: frozenset[str], inside: Sequence[bool]
) -> list[tuple[int, int]]:
    start, end = span
    places = [at for at in range(start + 1, end) if items[at].gap and not marks.isdisjoint(items[at].gap)]
    places = [at for at in places if not inside[at]]
    parts: list[tuple[int, int]] = []
    for begin, finish in zip([start, *places], [*places, end], strict=True):
        if parts and not _stand_alone(items[slice(*parts[-1])], items[begin:finish]):
            begin = parts.pop()[0]  # noqa: PLW2901 - one part with what went before
        parts.append((begin, finish))
    return parts


def _in_parentheses(items: Sequence[_Item]) -> list[bool]:
    depth, inside = 0, []
    for item in items:
        for mark in item.gap:
            depth = max(0, depth + (mark == "(") - (mark == ")"))
        inside.append(depth > 0)
    return inside


def _stand_alone(one: Sequence[_Item], other: Sequence[_Item]) -> bool:
    """Whether two parts of a sentence each state a value of the same kind, or each relate two names."""
    if len(one) < 2 or len(other) < 2:  # noqa: PLR2004 - a value and what it belongs to
        return False
    kinds = [{item.value.family for item in part if item.value} for part in (one, other)]
    words = [{item.term for item in part if not item.value} for part in (one, other)]
    values = not kinds[0].isdisjoint(kinds[1]) and not words[1] <= words[0]
    return values or _pairs(one, other) or _say_of_two(one, other)


def _say_of_two(one: Sequence[_Item], other: Sequence[_Item]) -> bool:
    """Whether two parts of a sentence each open with a name and its verb: "Ann runs the shop and Bo leads sales"."""
    return _has_subject(one) and _has_subject(other)


def _has_subject(part: Sequence[_Item]) -> bool:
    """Whether a part opens with a name and, as far as what stands around it shows, its verb."""
    end = next((at for at, item in enumerate(part) if at and not (item.named and _JOINTS.issuperset(item.gap))), 0)
    if not end or not part[0].named or part[0].value:
        return False
    verb = part[end]
    if verb.gap:
        return verb.gap[0] in _AUXILIARIES
    if not verb.token.islower() or end + 1 >= len(part):
        return False
    following = part[end + 1].gap
    inflected = verb.token.endswith(("s", "ed")) and not verb.token.endswith("ss")
    return following[0] in _DETERMINERS if following else inflected


def _pairs(one: Sequence[_Item], other: Sequence[_Item]) -> bool:
    """Whether two parts of a sentence relate two names each, with the same word: "Ann is in Oslo and Bo in Bath"."""
    if any(word in _PRONOUNS for item in other for word in item.gap):
        return False
    links = [
        {item.gap[-1] for item in part[1:] if item.named and item.gap} | {item.term for item in part if not item.named}
        for part in (one, other)
        if sum(1 for _ in _runs(part, _JOINTS)) > 1
    ]
    return len(links) > 1 and bool((links[0] & links[1]) - _NO_LINKS)
