"""What a claim is read with: a list item with its lead-in, a row with its header, "it" with the sentence before.

Rules of this file
- A context depends only on earlier text. It is a referent, and judged where it stands: it stays short beside the claim,
  and what is asked of the claim alone (relevance) is asked without it.
- "Here are the steps:" says nothing that its items lack, and would only lower their scores: the heading serves instead.
- The referent of a sentence that opens with a pronoun is the last assertion that does not, or the heading if that is
  nearer; with neither, the query, which also stands before a fragment.
"""

# Other scripts' punctuation.
# ruff: noqa: RUF001

from __future__ import annotations

import re
from dataclasses import replace

from proxy.grounding.asked import QUERY_CHARS, reply_in
from proxy.grounding.cutting import LIST_MARK, is_fence, reach, weight
from proxy.grounding.kinds import is_assent
from proxy.grounding.labels import (
    BOLD,
    COLON,
    COLONS,
    HEADER,
    cells_of,
    header_of,
    is_filler,
    is_step,
    rank_of,
    told_row,
)
from proxy.grounding.phrases import MANNERS, manners_for
from proxy.grounding.types import Claim, ClaimKind
from proxy.grounding.words import visible, words_of

CONTEXT_CHARS = 200
"""Longest context of a claim, weighed as ``cutting.weight`` does."""

HYPOTHESIS_CHARS = 440
"""Longest hypothesis, weighed so: what stands before a claim gives way, so that the scorer can read all of it."""

_ENDS = re.compile(r"[.!?:;…。！？：；]\W*$")
_FRAGMENT_WORDS = 6
_WIDE_WORD = 6  # weight of a word where none are parted by spaces
_MARKS = re.compile(rf"^\s*(?:(?:{LIST_MARK}|>\s|#{{1,6}}\s)\s*)+")
_ITEM = re.compile(rf"{LIST_MARK}|[A-Za-z]\.\s")
_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NO_REFERENT = frozenset().union(*(one.answers for one in MANNERS))


def hypothesis(claim: Claim, query: str | None) -> str:
    """What the scorer is asked about a claim: its statement after its context, or after the query if that is missing.

    "Tokyo." says nothing by itself; "What is the capital of Japan? Tokyo." does. Nor does "No, three weeks is too
    late.", which denies what is asked. A table row reads "Plan: Basic; Price: $10".
    """
    *lead, header = claim.context.split("\n")
    in_table = is_in_table(claim)
    text = told_row(cells_of(header), cells_of(claim.text)) if in_table else statement(claim)
    said = _before(text, " ".join(lead) if in_table else header)
    adrift = not claim.context and refers_back(text)
    replies = not claim.context and reply_in(text) is not None
    complete = in_table and "; " in text  # the columns say what each cell is about
    if not query or not (adrift or replies or (not complete and is_fragment(said))):
        return said
    asked = " ".join(query.split())
    asked += "" if _ENDS.search(asked) else "?"  # else it would read on in the answer
    room = max(0, min(QUERY_CHARS, HYPOTHESIS_CHARS - weight(said)))
    return f"{asked[max(0, len(asked) - reach(asked[::-1], room)) :]} {said}".lstrip()


def is_in_table(claim: Claim) -> bool:
    """Whether a claim is a row, whose context ends with its header."""
    return "|" in claim.context.rpartition("\n")[2]


def statement(claim: Claim) -> str:
    """A claim alone, as relevance asks about it: without the marks of lists and tables, and without its context."""
    header = header_of(claim.text)
    if header is not None or claim.text.startswith("|"):
        return "; ".join(cell for cell in header or cells_of(claim.text) if cell)
    return _clean(claim.text)


def is_fragment(text: str) -> bool:
    """Whether a claim is no sentence: a few words without a verb."""
    words = len(_WORD.findall(text)) + (weight(text) - len(text)) // _WIDE_WORD
    return words <= _FRAGMENT_WORDS and not any(one.verbs.search(text) for one in manners_for(text))


def refers_back(text: str) -> bool:
    """Whether a sentence opens with a word for something said before: "It", "These plans", "El primero"."""
    text = text.lstrip("\"'“”«»¿¡*_( ")
    connective = next(filter(None, (one.connectives.match(text) for one in MANNERS)), None)
    rest = text[connective.end() :] if connective else text
    return any(one.refers.match(rest) for one in manners_for(rest))


def _clean(text: str) -> str:
    return " ".join(_MARKS.sub("", visible(text)).replace("**", "").split())


def _before(text: str, context: str) -> str:
    context = _clip(context, min(CONTEXT_CHARS, HYPOTHESIS_CHARS - weight(text)))
    return f"{context} {text}" if context else text


def _clip(text: str, budget: int) -> str:
    """The beginning of a text, in whole words where it has any, within a weight."""
    length = reach(text, max(budget, 0))
    if length >= len(text):
        return text
    return text[: text.rfind(" ", 0, length + 1)].rstrip() if " " in text[: length + 1] else text[:length]


class _Line:
    """How a claim stands in its answer: whether it opens a line, how far it is indented there, and what it is then."""

    def __init__(self, claim: Claim, segment: str, *, new_line: bool) -> None:
        blank = segment[: len(segment) - len(segment.lstrip())]
        marked = claim.text.rstrip("*_ ")
        self.text = claim.text
        self.opens = new_line or "\n" in blank
        self.indent = len(blank.rpartition("\n")[2].expandtabs(4))
        self.is_header = header_of(claim.text) is not None
        self.is_row = claim.text.startswith("|") and not self.is_header
        self.bars = claim.text.count("|")
        self.is_item = self.opens and _ITEM.match(claim.text) is not None
        self.leads = marked.endswith(COLONS) and not is_step(claim.text)
        self.rank = rank_of(claim.text)
        self.heads = self.opens and not self.is_item and "\n" not in claim.text and self.rank <= BOLD
        self.asks = marked.rstrip("\"'”’») ").endswith(("?", "？"))
        self.lists = self.is_header and sum(map(bool, header_of(claim.text) or ())) == 1
        self.clean = _clean(claim.text)
        self.refers_back = refers_back(self.clean)


class Earlier:
    """What has been said so far that a claim may refer to. ``place`` takes all claims of an answer, in order."""

    def __init__(self) -> None:
        self._heading = ""
        self._lead_ins: list[tuple[int, str]] = []  # with how far each is indented; -1 when it is no list item
        self._header = ""  # of the table
        self._column = 0  # of it, that a row which was too long goes on with
        self._sentence = ""  # the last that does not itself refer back
        self._item = ""  # the list item that the line began with
        self._labels: tuple[int, int] | None = None  # rank and number of the labels and lead-ins just before
        self._question = ""  # the claim just before, if it asks
        self._open = False  # whether that left something to say yes to
        self._new_line = True
        self._fenced = False

    def skip(self, segment: str) -> None:
        """Take note of a segment that holds no claim."""
        self._fenced ^= is_fence(segment)
        self._new_line = segment.endswith("\n") or (self._new_line and not segment.strip())

    def place(self, claim: Claim, segment: str) -> Claim:
        """The claim of a segment, with its context.

        A label in code or right under another one lists something, and assent to what the answer has just asked, headed
        or left open says yes to it: these are assertions.
        """
        line = _Line(claim, segment, new_line=self._new_line)
        fenced = self._fenced or is_fence(segment)
        self.skip(segment)
        if fenced:
            return _asserting(claim)
        if self._open and claim.kind is ClaimKind.COURTESY and is_assent(claim.text):
            claim = _asserting(claim)
        placed = self._placed(claim, line)
        self._remember(placed, line)
        return placed

    def _placed(self, claim: Claim, line: _Line) -> Claim:
        lead = self._lead()
        if line.is_row or (self._header and not line.is_header and (line.bars or not line.opens)):
            return replace(claim, context="\n".join(part for part in (lead, self._columns(line)) if part))
        if line.is_header:
            bare = self._labels is not None and self._labels[0] == HEADER
            under = self._labels is not None and self._labels[0] == COLON
            claim = _asserting(claim) if bare or (under and line.lists) else claim
            self._header = line.text.partition("\n")[0].strip()
            return replace(claim, context=lead)
        self._header = ""
        if line.opens:
            self._item = ""
            self._leave_lists(line)
        if claim.kind is ClaimKind.HEADING:
            return replace(_asserting(claim), context=lead) if self._is_listed(line) else claim
        return replace(claim, context=self._context(line, lead))

    def _columns(self, line: _Line) -> str:
        """The table's header; for the rest of a row, what of it begins at that column."""
        begin = 0 if line.opens else self._column + line.text.startswith("|")
        self._column = (-line.text.startswith("|") if line.opens else self._column) + line.bars
        return f"| {' | '.join(cells_of(self._header)[begin:])} |" if begin and self._header else self._header

    def _context(self, line: _Line, lead: str) -> str:
        if line.is_item and self._lead():
            return self._lead()
        if line.refers_back:
            return self._question or self._item or self._sentence
        if self._question and is_fragment(line.clean):
            return self._question
        led = self._labels is not None and line.opens and not line.heads
        return lead if led and is_fragment(line.clean) else ""

    def _leave_lists(self, line: _Line) -> None:
        """Forget the lead-ins of items as deep as this line or deeper, and all when it is no item and not indented."""
        if line.is_item:
            self._lead_ins = [each for each in self._lead_ins if each[0] < line.indent]
        elif not line.indent:
            self._lead_ins = []

    def _lead(self) -> str:
        return _clip(" ".join(text for _, text in self._lead_ins) or self._heading, CONTEXT_CHARS)

    def _is_listed(self, line: _Line) -> bool:
        return self._labels is not None and (line.rank <= self._labels[0] or self._labels[1] > 1)

    def _remember(self, claim: Claim, line: _Line) -> None:
        self._open = line.asks or line.leads or line.heads or claim.kind in {ClaimKind.ABSTENTION, ClaimKind.HEADING}
        self._question = _clip(line.clean.replace("|", "/"), CONTEXT_CHARS) if line.asks else ""
        if line.is_row or self._header:
            self._labels = (HEADER, 1) if line.is_header else None
            return
        text = line.clean.replace("|", "/")
        said = text if line.is_item else _before(text, claim.context)
        if line.heads:
            self._heading, self._lead_ins = _headed(said), []
        elif line.leads and not line.is_item:
            filler = claim.kind is ClaimKind.COURTESY or is_filler(line.text)
            self._lead_ins = [] if filler else [(-1, said)]
        elif line.leads:
            self._lead_ins = [*self._lead_ins, (line.indent, said)]
        self._remember_referent(claim, line, said)
        self._labels = self._labelled(claim, line)

    def _remember_referent(self, claim: Claim, line: _Line, said: str) -> None:
        if line.heads:
            self._sentence = self._heading
        elif line.is_item:
            self._item = _clip(said, CONTEXT_CHARS)
        elif claim.needs_check and not line.refers_back and not set(words_of(said)) <= _NO_REFERENT:
            self._sentence = _clip(said, CONTEXT_CHARS)

    def _labelled(self, claim: Claim, line: _Line) -> tuple[int, int] | None:
        if claim.kind is ClaimKind.HEADING:
            return line.rank, 1 + (self._labels[1] if self._labels else 0)
        if line.leads or line.heads:
            return COLON if line.leads else line.rank, 1
        return None


def _asserting(claim: Claim) -> Claim:
    """A claim that is judged for where it stands, if its words alone are a label or assent."""
    spared = claim.kind not in {ClaimKind.HEADING, ClaimKind.COURTESY}
    return claim if spared else replace(claim, kind=ClaimKind.ASSERTION)


def _headed(text: str) -> str:
    return text if text.endswith((*COLONS, ".", "!", "?")) else f"{text}:"
