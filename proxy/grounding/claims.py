"""An answer cut into claims, and which of them assert something.

Rules of this file
- Segments tile the answer: every character belongs to exactly one. A claim is its segment without the white space
  around it, so ``claim.text == answer[claim.start:claim.end]``.
- A boundary depends only on the text before it and on at most ``LOOKAHEAD`` characters after it, so that a stream
  and a whole answer are cut alike. A forced cut, where a segment has no boundary in ``MAX_CLAIM_CHARS``, depends on
  those and as many after them; it counts characters, never time or chunks.
- A claim's kind depends on its own text and on the request (the query), never on later text.
- Typing is conservative: whatever is not plainly a courtesy, a question back or an abstention that asserts nothing
  else is an assertion, and is judged.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from proxy.grounding.types import Claim, ClaimKind
from proxy.grounding.words import INVISIBLE, terms, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKAHEAD = 24
"""Characters after a possible boundary that may decide it."""

MAX_CLAIM_CHARS = 350
"""A segment is cut here at the latest, so that a claim fits beside a window in the scorer's limit."""

_CANDIDATE = re.compile(r"[.!?…\n。！？｡؟।]")
_FULL_STOPS_WITHOUT_SPACE = frozenset("。！？｡")
_CLOSERS = "\"'”’»)]}*_`」』）】"
_AFTER_CLOSERS = re.compile(r"[\"'”’»)\]}*_`」』）】]*(?:\[[\w^, -]{1,12}\])*")
_SOFT_BREAKS = re.compile(r"[;,:，、；：]\s|[，、；：]|\s")
_LIST_MARK = re.compile(r"\s*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})$")
_BLOCK_START = re.compile(r"[ \t]*(?:[-*+•–]\s|\d{1,3}[.)]\s|#{1,6}\s|\||```|~~~|>|\n|$)")
_LONG_WORD = re.compile(r"[^\W\d_]{4}$")
_RUN_ON = re.compile(r"[a-z]{3}$")
_SENTENCE_OPENS = re.compile(r"[A-Z][a-z]*\s")
_INITIALS = re.compile(r"(?:^|[\s(\[\"'“‘])(?:[A-Za-z]\.)*[A-Za-z]$")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs etc approx no nos vol fig figs eq sec ch pp p ed eds rev gen col lt sgt capt cmdr "
    "adm gov sen rep hon pres dept univ inc ltd co corp bros est al cf ca c resp incl excl max min temp tel ext "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun "
    "nr bzw usw ggf vgl abs art str mme mlle av bd sra srta ud uds dra".split()
)
_ENDS_SENTENCE_BEFORE_CAPITAL = frozenset("etc inc ltd co corp bros al max min temp art abs sat sun".split())
_LONGEST_ABBREVIATION = 16


class Segmenter:
    """Cuts text into segments as it arrives. Any cutting of the input gives the same segments.

    ``feed`` returns the (start, end) spans that closed, ``close`` the rest; together they tile the whole text.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._begin = 0  # of the open segment, in the buffer
        self._offset = 0  # of the open segment, in the whole text
        self._scanned = 0  # characters of the open segment whose boundaries are decided
        self._fenced = False

    def feed(self, piece: str) -> list[tuple[int, int]]:
        """Add text; return the segments that it closed."""
        self._buffer = self._buffer[self._begin :] + piece  # what is left over is short: linear time
        self._begin = 0
        return list(self._take(final=False))

    def close(self) -> list[tuple[int, int]]:
        """Return the segments that are left."""
        closed = list(self._take(final=True))
        left = len(self._buffer) - self._begin
        return [*closed, self._cut(left)] if left else closed

    def _take(self, *, final: bool) -> Iterator[tuple[int, int]]:
        while (end := self._next_boundary(final=final)) is not None:
            yield self._cut(end)

    def _cut(self, length: int) -> tuple[int, int]:
        line = self._buffer[self._begin : self._begin + length].strip()
        self._fenced ^= line[:3] in {"```", "~~~"} and line[:3] not in line[3:]
        span = (self._offset, self._offset + length)
        self._begin, self._offset, self._scanned = self._begin + length, span[1], 0
        return span

    def _next_boundary(self, *, final: bool) -> int | None:
        """Length of the open segment, or None while it is undecided."""
        text = self._buffer[self._begin : self._begin + MAX_CLAIM_CHARS + LOOKAHEAD]
        whole = final and self._begin + len(text) == len(self._buffer)
        decided = min(MAX_CLAIM_CHARS, len(text) if whole else len(text) - LOOKAHEAD)
        for found in _CANDIDATE.finditer(text, self._scanned, max(self._scanned, decided)):
            end = self._boundary_after(text, found.start())
            if end is not None:
                return end
            self._scanned = found.end()
        too_long = len(text) == MAX_CLAIM_CHARS + LOOKAHEAD or (whole and len(text) > MAX_CLAIM_CHARS)
        return _soft_break(text, MAX_CLAIM_CHARS) if too_long else None

    def _boundary_after(self, text: str, at: int) -> int | None:
        if text[at] == "\n":
            blank = not text[:at].strip()  # blank lines belong to the segment that follows
            return None if blank else _line_boundary(text, at, fenced=self._fenced)
        return None if self._fenced else _sentence_boundary(text, at)


def _line_boundary(text: str, at: int, *, fenced: bool) -> int | None:
    """A line break ends a segment unless the next line plainly continues the sentence (hard-wrapped prose)."""
    ahead = text[at + 1 : at + 1 + LOOKAHEAD]
    if fenced or _BLOCK_START.match(ahead) or text[:at].lstrip().startswith(("```", "~~~", "#")):
        return at + 1
    continues = ahead.lstrip(" \t")[:1].islower() and not text[:at].rstrip(" \t").endswith((".", "!", "?", ":", "|"))
    return None if continues else at + 1


def _sentence_boundary(text: str, at: int) -> int | None:
    """A full stop, question or exclamation mark ends a segment where a sentence can end; closers stay with it."""
    after = text[at + 1 : at + 1 + LOOKAHEAD]
    closers = _AFTER_CLOSERS.match(after)
    tail = closers.end() if closers else 0
    following = INVISIBLE.sub(" ", after[tail:])
    if text[at] in _FULL_STOPS_WITHOUT_SPACE:
        return at + 1 + tail
    if _RUN_ON.search(text[max(0, at - 3) : at]) and _SENTENCE_OPENS.match(following):
        return at + 1 + tail  # the space was forgotten
    if following and not following[0].isspace():
        return None  # a decimal, a URL, "e.g", or one of several marks: "?!", "..."
    rest = following.lstrip()
    if rest[:1].islower() and not (text[at] == "." and _LONG_WORD.search(text[max(0, at - 4) : at])):
        return None  # "Yahoo! said", "approx. five"; but after a long word some write on without a capital
    if text[at] == "." and not _full_stop_ends(text[:at], rest):
        return None  # "e.g. this"
    return at + 1 + tail


def _full_stop_ends(before: str, rest: str) -> bool:
    line = before[before.rfind("\n") + 1 :]
    if _LIST_MARK.match(line):
        return False  # "1." opens a list item
    before = before[-_LONGEST_ABBREVIATION:]
    if before.lower().endswith(("e.g", "i.e")):
        return False
    word = _LAST_WORD.search(before)
    lowered = word.group().lower() if word else ""
    if lowered in _ABBREVIATIONS and not (word and before[: word.start()].endswith(("'", "’"))):
        if lowered in _ENDS_SENTENCE_BEFORE_CAPITAL:
            return not rest[:1].isdigit()
        return not rest
    return not (_INITIALS.search(before) and rest and _reads_on_after_initial(before, rest))


def _reads_on_after_initial(before: str, rest: str) -> bool:
    """Whether "J." or "U.S." is followed by more of its name or sentence. A lone "I." or unit ends a sentence."""
    dotted = before[-2:-1] == "." or not before[:-1].rstrip()
    return before[-1:].isupper() and (dotted or rest[:1].isupper())


def _soft_break(text: str, limit: int) -> int:
    """Where to cut a segment that is too long: after the last clause mark or space, else at the limit."""
    floor = limit // 2
    breaks = [found.end() for found in _SOFT_BREAKS.finditer(text, floor, limit)]
    marks = [end for end in breaks if not text[end - 1].isspace() or (end > 1 and text[end - 2] in ";,:")]
    return (marks or breaks or [limit])[-1]


def segments(text: str) -> list[tuple[int, int]]:
    """Spans that tile ``text``."""
    segmenter = Segmenter()
    return segmenter.feed(text) + segmenter.close()


def split_claims(answer: str, *, query: str | None = None) -> tuple[Claim, ...]:
    """Claims of a whole answer, in order, typed. White space alone is no claim."""
    claims: list[Claim] = []
    for start, end in segments(answer):
        claim = make_claim(len(claims), start, answer[start:end], query=query)
        if claim is not None:
            claims.append(claim)
    if not claims and answer.strip():
        return (_whole(answer),)
    return _assenting(claims) if query and not any(claim.needs_check for claim in claims) else tuple(claims)


def _whole(answer: str) -> Claim:
    """An answer without a word is one claim: a bare plus or dash may say yes or no."""
    text = answer.strip()
    begin = answer.index(text)
    return Claim(index=0, start=begin, end=begin + len(text), text=text)


def _assenting(claims: list[Claim]) -> tuple[Claim, ...]:
    """Assent opens many answers and says nothing; where nothing else is asserted it may be the answer: it is judged."""
    return tuple(
        replace(claim, kind=ClaimKind.ASSERTION) if _ASSENT.match(_strip_markup(claim.text)) else claim
        for claim in claims
    )


def make_claim(index: int, start: int, segment: str, *, query: str | None) -> Claim | None:
    """The claim in one segment that begins at ``start``, or None when the segment is only marks."""
    text = segment.strip()
    if not any(map(_says_something, text)):
        return None
    begin = start + segment.index(text)
    return Claim(index=index, start=begin, end=begin + len(text), text=text, kind=kind_of(text, query=query))


def _says_something(character: str) -> bool:
    """Letters, digits and symbols: a bare tick can be an answer. Plain ASCII marks rule lines and tables."""
    return character.isalnum() or (not character.isascii() and unicodedata.category(character).startswith("S"))


# --- what a sentence is -------------------------------------------------------------------------------------------

_COURTESY = re.compile(
    r"(?:(?:hi|hello|hey|welcome|greetings|good (?:morning|afternoon|evening|day|night)|goodbye|bye)"
    r"(?: there| everyone| all| again)?"
    r"|thanks|thank you(?: (?:very|so) much)?(?: for (?:asking|your (?:question|patience|message)))?"
    r"|(?:you're|you are) (?:very )?welcome|my pleasure|no problem|sure(?: thing)?|of course|certainly|absolutely"
    r"|(?:(?:that's|that is) a )?(?:great|good) question|ok(?:ay)?|great|(?:i(?:'m| am) )?(?:happy|glad) to help"
    r"|i hope (?:this|that|it) helps(?: you)?|(?:please )?(?:let me know|feel free to (?:ask|reach out))"
    r"|if you(?:'d| would)? (?:have|need|like|want)(?: to know)? (?:any|more|further)(?:thing)?"
    r"(?: (?:else|other|further|more|questions?|help|assistance|information|details))*"
    r"|here(?:'s| is| are) (?:what i found|the (?:answer|information|details|summary)(?: you (?:asked for|requested))?"
    r"|(?:a|the) (?:short |brief |quick )?(?:summary|overview|answer))"
    r"|is there anything else i can help(?: you)? with|how (?:can|may) i help(?: you)?(?: today)?)",
    re.IGNORECASE,
)
_ASSENT = re.compile(r"(?:sure|of course|certainly|absolutely|no problem|great|ok(?:ay)?)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(
    r"(?:^|[.!?\n]\s*)(?:is|are|am|was|were|do|does|did|has|have|can|could|will|would|may|must|should)\s+(?!you\b)[^.!?]*\?\s*$",
    re.IGNORECASE,
)
_COURTESY_JOINTS = re.compile(r"[\s,.!?:;…–—-]*")

_FINITE = (
    r"(?:is|are|was|were|has|had|does|did|will|would|can|could|must|cannot|includes|contains|requires|provides|gets|"
    r"gives|gave|says|said|goes|went|came|began|applies|allows|(?:it|that|there|he|she|what)'s|\w+n't|\w+'(?:re|ll))"
)
_CLAUSE = re.compile(rf"\b(?:{_FINITE}|which|who|whose|whom)(?!\w)", re.IGNORECASE)
_JOINED = re.compile(
    r"[;:—–()/]|[.!?]\s*[^\W\d]|\s-\s|\b(?:but|however|although|though|yet|whereas|while|because|since|as|instead|"
    r"rather|except|besides|beyond|other than|apart from|only|given|doubt)\b|\bso\s+\w",
    re.IGNORECASE,
)
_INDIRECT = re.compile(
    r"(?:\b(?:what|whether|if|how|when|where|that|you(?: a|')re (?:asking|looking))"
    r"|(?:^\s*|\b(?:me|us|know|say|mention|specify|sure|clarify|confirm|on|of|about)\s+)(?:which|who|whose|whom))"
    r"\b[^,.;:!?]*",
    re.IGNORECASE,
)

_QUESTION_BACK = re.compile(
    r"(?:sorry, |so, |and )?(?:(?:why |when )?(?:could|can|would|will|do|did|are|have|may|shall|should) (?:you|i|we)\b"
    r"|(?:what|which|where|who|how)\b[^.,;:]*?\b(?:you|your)\b"
    r"|is there (?:any|some)\w*\b[^.,;:]*?\byou(?:'d| would)? (?:like|want|need|have)\b)",
    re.IGNORECASE,
)

_QUALIFIER = r"(?:provided|given|supplied|available|retrieved|reference|search|source|grounding|following)"
_PAPERS = r"(?:documents?|documentation|docs|sources?|context|texts?|passages?|articles?|excerpts?|knowledge base)"
_CONTENTS = r"(?:materials?|information|data|records?|results?|content|pages?|files?)"
_THE = r"(?:(?:the|these|those|this|your|our|my|any of the)\s+)*"
_GIVEN = r"(?:provided|given|supplied|available|i have|you (?:provided|gave|shared))"
_DOCUMENTS = (
    rf"{_THE}(?:(?:{_QUALIFIER}\s+)*{_PAPERS}(?:\s+{_GIVEN})?|(?:{_QUALIFIER}\s+)+{_CONTENTS}|{_CONTENTS}\s+{_GIVEN})"
)
_SAY = (
    r"(?:say|mention|state|specify|indicate|tell|describe|address|discuss|answer|explain|reveal|disclose|clarify|name)"
)
_HOLD = r"(?:contain|include|cover|provide|give|list|have)"
_DO_NOT = r"(?:do|does|did)(?:n't| not| never)(?: (?:seem to|appear to|explicitly|actually|directly))?"
_SUCH = (
    r"(?= (?:(?:any|enough|the|that|this|an|such|sufficient|specific|more|further|requested|exact) )*"
    r"(?:information|info|details?|answers?|mention|reference|data|that|this|it|anything)\b)"
)
_HELP = r"help(?= (?:you )?with (?:that|this)\b)"
_FIND = rf"(?:answer|determine|say|tell|locate|confirm|{_HELP}|(?:find|see|provide){_SUCH})"
_TOLD = r"(?:mentioned|stated|specified|answered|provided|given|included|covered|available|found|listed|described)"
_SORRY = r"(?:(?:i(?:'m| am) )?(?:very )?sorry|unfortunately|regrettably|i apologi[sz]e)"
_APOLOGY = re.compile(_SORRY, re.IGNORECASE)
_ABSTENTION = re.compile(
    rf"(?:{_SORRY}[,. ]+)?(?:(?:based on|according to|from|in) {_DOCUMENTS},? )?(?:"
    rf"{_DOCUMENTS} {_DO_NOT} (?:{_SAY}|{_HOLD})\b|{_THE}{_CONTENTS} {_DO_NOT} {_SAY}\b"
    rf"|(?:none of|neither(?: of)?|nothing in) {_DOCUMENTS} (?:{_SAY}|{_HOLD})s?\b"
    rf"|(?:it|they|this|that) {_DO_NOT} (?:say|mention|state|specify)\b"
    rf"|i(?: (?:do|did)(?:n't| not) (?:know|(?:have|find|see){_SUCH})"
    rf"| (?:can|could)(?:not| not|n?'t)(?: be able to)? {_FIND}|(?:'m| am| was) (?:unable|not able) to {_FIND}"
    r"| have no information|(?:'m| am) not (?:sure|certain))\b"
    r"|(?:there (?:is|was|are|were) )?(?:no|not any|not enough) (?:(?:information|mention|details?|answer)|"
    rf"(?:data|indication|reference|evidence)(?= (?:available|provided|given|found|in {_DOCUMENTS})))"
    r"(?: (?:is|was|are|were) (?:available|given|provided|found))?"
    r"(?=\s*(?:[.!]|$)|\s+(?:about|on|of|for|in|regarding|concerning|to|that|available|provided|given|found|here)\b)"
    rf"|(?:(?!(?:and|or|{_FINITE})\b)[\w'-]+ ){{0,8}}?(?:(?:is|was|are|were)(?: not|n't)|not)(?: explicitly| directly)?"
    rf"(?: {_TOLD})?(?: anywhere)? in {_DOCUMENTS}(?=\W*$)"
    r"|(?:that|this|it|the answer)(?: information)?(?:'s| is| was)(?: not|n't) (?:mentioned|stated|specified|answered)"
    r"(?=\s*(?:[.!]|$)|\s+(?:here|anywhere|explicitly|whether|if|how|what|when|where|who|which)\b)"
    r"|(?:unknown|not (?:known|mentioned|stated|specified))(?=\W*$)"
    r")",
    re.IGNORECASE,
)
_NEXT_CLAUSE = re.compile(
    r"(?:[,;.]\s*(?:and|but)|[,;.]?\s+(?:so|as|because|since|therefore|thus))\s+(?=\w)", re.IGNORECASE
)
_TRADE = frozenset(
    terms(
        "sorry unfortunately regrettably apologize apologise afraid based according know certain sure unsure aware "
        "able unable cannot can't couldn't don't doesn't didn't isn't aren't wasn't weren't i'm i've i'd it's that's "
        "you're you'd mention say said state specify specified indicate tell describe address discuss answer explain "
        "reveal disclose clarify name list contain include cover provide give given gave supply available retrieve "
        "reference search source grounding following document documentation docs context text passage article excerpt "
        "knowledge base material information info data record result content page file share find found see "
        "determine locate confirm help assist detail evidence indication enough sufficient any anything nothing none "
        "neither unknown known specific explicit direct actual actually anywhere here seem appear question topic "
        "subject matter please more further other else another rephrase repeat ask need like want mean refer talk "
        "look interested one kind sort case whether exact me us them due unclear therefore thus because currently"
    )
)
"""What may be said of documents, knowing and asking without asserting anything of the subject."""

_PLAIN = re.compile(r"[A-Za-z\s,.'?!\"()-]*")
"""Only such a sentence can be a question back or an abstention: signs, figures and other scripts may say anything."""

_MAX_COURTESY_WORDS, _MAX_QUESTION_WORDS, _MAX_ABSTENTION_WORDS = 20, 20, 32
_WORD = re.compile(r"\w+(?:['’]\w+)?")


def kind_of(text: str, *, query: str | None = None) -> ClaimKind:
    """What a sentence is.

    ``query`` tells whether "sure" is an answer, and which numbers and names an abstention may repeat.
    """
    plain = _strip_markup(text)
    words = len(_WORD.findall(plain))
    if words <= _MAX_COURTESY_WORDS and _only_courtesies(plain):
        answers = _ASSENT.match(plain) and _YES_OR_NO.search((query or "")[-_QUERY_CHARS:])
        return ClaimKind.ASSERTION if answers else ClaimKind.COURTESY
    if not _PLAIN.fullmatch(plain):
        return ClaimKind.ASSERTION
    if words <= _MAX_QUESTION_WORDS and _asks_back(plain, query):
        return ClaimKind.QUESTION
    if words <= _MAX_ABSTENTION_WORDS and _only_abstains(plain, query):
        return ClaimKind.ABSTENTION
    return ClaimKind.ASSERTION


def _strip_markup(text: str) -> str:
    return re.sub(r"^[\s>#*+•–-]+|[*_`]+", "", visible(text)).replace("’", "'").strip()


def _only_courtesies(text: str) -> bool:
    """Whether the sentence is nothing but phrases from the closed list."""
    at = _skip_joints(text, 0)
    while at < len(text):
        phrase = _COURTESY.match(text, at)
        if phrase is None or (phrase.end() < len(text) and text[phrase.end()].isalnum()):
            return False
        at = _skip_joints(text, phrase.end())
    return True


def _skip_joints(text: str, at: int) -> int:
    joints = _COURTESY_JOINTS.match(text, at)
    return joints.end() if joints else at


def _asks_back(text: str, query: str | None) -> bool:
    found = _QUESTION_BACK.match(text)
    if found is None or not text.rstrip("\"'”) ").endswith("?"):
        return False
    rest = text[found.end() :]
    return not (_states(rest) or " that " in rest.lower() or _new_words(text, query))


def _only_abstains(text: str, query: str | None) -> bool:
    return all(_abstains(clause) for clause in _NEXT_CLAUSE.split(text)) and not _new_words(text, query)


def _abstains(clause: str) -> bool:
    found = _ABSTENTION.match(clause)
    if found is None:
        return _APOLOGY.fullmatch(clause) is not None
    rest = clause[found.end() :]
    return "," not in rest and not _states(rest)


def _states(rest: str) -> bool:
    """Whether what follows "do you" or "I don't know" holds a clause of its own that is no indirect question."""
    second = re.search(r"\b(?:and|or)\b(.*)", rest)
    joined = _JOINED.search(rest) or (second and _VERBS.search(second.group(1)))
    return bool(joined or _CLAUSE.search(_INDIRECT.sub(" ", rest)))


def _new_words(text: str, query: str | None) -> bool:
    """Whether the text has words of its own: beside the query's and the trade's, it may say nothing else."""
    return not _TRADE.issuperset(set(terms(text)).difference(terms(query or "")))


# --- what is judged -----------------------------------------------------------------------------------------------

_FRAGMENT_WORDS = 6
_QUERY_CHARS = 300
_VERBS = re.compile(
    r"\b(?:is|are|was|were|be|been|am|has|have|had|do|does|did|can|could|will|would|shall|should|may|might|must|"
    r"costs?|includes?|contains?|requires?|needs?|offers?|provides?|gets?|got|gives?|gave|takes?|took|makes?|made|"
    r"says?|said|goes|went|comes?|came|weighs?|lives?|lived|works?|worked|opens?|closes?|starts?|began|begins?|ends?|"
    r"runs?|ran|pays?|paid|charges|charged|applies|apply|allows?|wins?|won|lost|born|died|founded|"
    r"cannot|(?:it|that|this|there|he|she|what)['’]s|\w+n['’]t|\w+['’]re)\b|^(?:he|she|it|they|we|you|i|there)\s",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*+•–>]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)+")


def hypothesis(claim: Claim, query: str | None) -> str:
    """What the scorer is asked about a claim: its text without list marks, and the query before it if a fragment.

    "Tokyo." says nothing by itself; "What is the capital of Japan? Tokyo." does.
    """
    text = " ".join(_BULLET.sub("", visible(claim.text)).replace("**", "").split())
    if query and is_fragment(text):
        return f"{' '.join(query.split())[-_QUERY_CHARS:]} {text}"
    return text


def is_fragment(text: str) -> bool:
    """Whether a claim is no sentence: a few words without a verb."""
    return len(_WORD.findall(text)) <= _FRAGMENT_WORDS and not _VERBS.search(text)
