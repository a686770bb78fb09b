"""How English asks back and abstains.

Wider than the phrases of the other languages: what opens such a sentence is matched, what follows must hold no clause
of its own, and the caller checks that its words are the query's or the trade's (``TRADE``).
"""

# The punctuation of clauses is its subject.
# ruff: noqa: RUF001

from __future__ import annotations

import re

from proxy.grounding.words import terms

# --- questions back -----------------------------------------------------------------------------------------------

_QUESTION_BACK = re.compile(
    r"(?:sorry, |so, |and )?(?:(?:why |when )?(?:could|can|would|will|do|did|are|have|may|shall|should) (?:you|i|we)\b"
    r"|(?:what|which|where|who|how)\b[^.,;:]*?\b(?:you|your)\b"
    r"|is there (?:any|some)\w*\b[^.,;:]*?\byou(?:'d| would)? (?:like|want|need|have)\b)",
    re.IGNORECASE,
)

# --- clauses ------------------------------------------------------------------------------------------------------

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
_DENIES = re.compile(
    r"^\s*(?:and|or)\b|\bwhy\b|\b(?:no|never|none|nothing|nobody|without|nor)\b|(?<!or )\bnot\b", re.IGNORECASE
)
"""What a rest must not hold: a negation, or the reason of something: "I don't know why it is free" says that it is."""

_INDIRECT = re.compile(
    r"(?:\b(?:what|whether|if|how|when|where|that|you(?: a|')re (?:asking|looking))"
    r"|(?:^\s*|\b(?:me|us|know|say|mention|specify|sure|clarify|confirm|on|of|about)\s+)(?:which|who|whose|whom))"
    r"\b[^,.;:!?]*",
    re.IGNORECASE,
)
VERBS = re.compile(
    r"\b(?:is|are|was|were|be|been|am|has|have|had|do|does|did|can|could|will|would|shall|should|may|might|must|"
    r"costs?|includes?|contains?|requires?|needs?|offers?|provides?|gets?|got|gives?|gave|takes?|took|makes?|made|"
    r"says?|said|goes|went|comes?|came|weighs?|lives?|lived|works?|worked|opens?|closes?|starts?|began|begins?|ends?|"
    r"runs?|ran|pays?|paid|charges|charged|applies|apply|allows?|wins?|won|lost|born|died|founded|"
    r"cannot|(?:it|that|this|there|he|she|what)['’]s|\w+n['’]t|\w+['’]re)\b|^(?:he|she|it|they|we|you|i|there)\s",
    re.IGNORECASE,
)

# --- abstentions --------------------------------------------------------------------------------------------------

_QUALIFIER = r"(?:provided|given|supplied|available|retrieved|reference|search|source|grounding|following)"
_PAPERS = (
    r"(?:documents?|documentation|docs|sources?|context|texts?|passages?|articles?|excerpts?|manual|knowledge base)"
)
_CONTENTS = r"(?:materials?|information|data|records?|results?|content|pages?|files?)"
_THE = r"(?:(?:the|these|those|this|your|our|my|any of the)\s+)*"
_GIVEN = r"(?:provided|given|supplied|available|i have|you (?:provided|gave|shared))"
_DOCUMENTS = (
    rf"{_THE}(?:(?:{_QUALIFIER}\s+)*{_PAPERS}(?:\s+{_GIVEN})?|(?:{_QUALIFIER}\s+)+{_CONTENTS}|{_CONTENTS}\s+{_GIVEN})"
)
_SAY = (
    r"(?:say|mention|state|specify|indicate|tell|describe|address|discuss|answer|explain|reveal|disclose|clarify|name)"
)
_DO_NOT = r"(?:do|does|did)(?:n't| not| never)(?: (?:seem to|appear to|explicitly|actually|directly))?"
_SUCH = (
    r"(?= (?:(?:any|enough|the|that|this|an|such|sufficient|specific|more|further|requested|exact) )*"
    r"(?:information|info|details?|answers?|mention|reference|data|that|this|it|anything)\b)"
)
_END = r"(?=\s*(?:[.,!]|$))"
_ABOUT = r"(?=\s+(?:about|on|of|for|regarding|concerning|to|that|related|relating|needed|required|whether|here)\b)"
_GENERIC = (
    r"(?: (?:(?:any|enough|the|that|this|an|a|such|sufficient|specific|more|further|requested|exact|relevant) )*"
    rf"(?:(?:information|info|details?|answers?|mention|reference)|anything)(?:{_END}|{_ABOUT})"
    rf"| (?:this|that|it){_END}| (?:the|this|that|your) (?:topic|subject|question|matter){_END})"
)
_HOLD = rf"(?:contain|include|cover|provide|give|list|have)s?{_GENERIC}"
"""With an object these verbs state facts: what an insurance's documentation does not cover may not be insured."""

_HANDED = (
    rf"{_THE}(?:(?:{_QUALIFIER}\s+)*(?:context|passages?|excerpts?|knowledge base)|search results?)(?:\s+{_GIVEN})?"
)
_HANDED_PAPERS = rf"{_THE}(?:provided|given|supplied|retrieved) (?:documents?|texts?|sources?|information|materials?)"
_HELP = r"help(?= (?:you )?with (?:that|this)\b)"
_FIND = rf"(?:answer|determine|say|tell|locate|confirm|{_HELP}|(?:find|see|provide){_SUCH})"
_TOLD = r"(?:mentioned|stated|specified|answered|provided|given|available|found|described)"
_HELD = r"(?:included|covered|listed)"
_LINKS = r"and|or|but|that|this|it|these|those|they|which|who|yet|so|though|although|as|because|no|not|never|without"
_SORRY = r"(?:(?:i(?:'m| am) )?(?:very )?sorry|unfortunately|regrettably|i apologi[sz]e)"
_APOLOGY = re.compile(r"(?:(?:i(?:'m| am) )?(?:very )?sorry|i apologi[sz]e)", re.IGNORECASE)
_ABSTENTION = re.compile(
    rf"(?:{_SORRY}[,. ]+)?(?:(?:based on|according to|from|in) {_DOCUMENTS},? )?(?:"
    rf"{_DOCUMENTS} {_DO_NOT} (?:{_SAY}\b|{_HOLD})|{_THE}{_CONTENTS} {_DO_NOT} {_SAY}\b"
    rf"|{_HANDED} {_DO_NOT} (?:contain|include|provide|give|list|have)\b"
    rf"|{_HANDED_PAPERS} {_DO_NOT} (?:contain|provide|give|have)\b"
    rf"|(?:none of|neither(?: of)?|nothing in) {_DOCUMENTS} (?:{_SAY}s?\b|{_HOLD})"
    rf"|(?:it|they|this|that) {_DO_NOT} (?:say|mention|state|specify)\b"
    rf"|i(?: (?:do|did)(?:n't| not) (?:know|(?:have|find|see){_SUCH})"
    rf"| (?:can|could)(?:not| not|n?'t)(?: be able to)? {_FIND}|(?:'m| am| was) (?:unable|not able) to {_FIND}"
    r"| have no information|(?:'m| am) not (?:sure|certain))\b"
    r"|(?:there (?:is|was|are|were) )?(?:no|not any|not enough) (?:(?:information|mention|details?|answer)|"
    rf"(?:data|indication|reference|evidence)(?= (?:available|provided|given|found|in {_DOCUMENTS})))"
    r"(?: (?:is|was|are|were) (?:available|given|provided|found))?"
    r"(?=\s*(?:[.!]|$)|\s+(?:about|on|of|for|in|regarding|concerning|to|that|available|provided|given|found|here)\b)"
    rf"|(?:(?:that|this|it|these|those) )?(?:(?!(?:{_LINKS}|{_FINITE})\b)\w[\w'-]* ){{0,8}}?"
    r"(?:(?:is|was|are|were)(?: not|n't)|not)(?: explicitly| directly)?"
    rf"(?: {_TOLD})?(?: anywhere)? in {_DOCUMENTS}(?=\W*$)"
    r"|(?:that|this|it|the answer|(?:that|this|the|such) (?:information|topic|question))(?:(?:'s| is| was)(?: not|n't))"
    rf"(?: explicitly)? {_HELD} in {_DOCUMENTS}(?=\W*$)"
    r"|(?:that|this|it|the answer)(?: information)?(?:'s| is| was)(?: not|n't) (?:mentioned|stated|specified|answered)"
    r"(?=\s*(?:[.!]|$)|\s+(?:here|anywhere|explicitly|whether|if|how|what|when|where|who|which)\b)"
    r"|(?:unknown|not (?:known|mentioned|stated|specified))(?=\W*$)"
    r")",
    re.IGNORECASE,
)
_DISCLOSE = re.compile(r"(?:mention|describe|address|discuss|explain|reveal|disclose|clarify)$", re.IGNORECASE)
"""To these, what follows "that" is a fact: "The documents do not mention that it is free"."""

_NEXT_CLAUSE = re.compile(
    r"(?:[,;.]\s*(?:and|but)|[,;.]?\s+(?:so|as|because|since|therefore|thus))\s+(?=\w)", re.IGNORECASE
)
TRADE = frozenset(
    terms(
        "sorry unfortunately regrettably apologize apologise afraid based according know certain sure unsure aware "
        "able unable cannot can't couldn't don't doesn't didn't isn't aren't wasn't weren't i'm i've i'd it's that's "
        "you're you'd mention say said state specify specified indicate tell describe address discuss answer explain "
        "reveal disclose clarify name list contain include cover provide give given gave supply available retrieve "
        "reference search source grounding following document documentation docs manual context text passage article "
        "excerpt knowledge base material information info data record result content page file share find found see "
        "determine locate confirm help assist detail evidence indication enough sufficient any anything nothing none "
        "neither unknown known specific explicit direct actual actually anywhere here seem appear question topic "
        "subject matter please more further other else another rephrase repeat ask need like want mean refer talk "
        "look interested one kind sort case whether exact me us them due unclear therefore thus because currently"
    )
)
"""What may be said of documents, knowing and asking without asserting anything of the subject."""


def asks_back(text: str) -> bool:
    """Whether a sentence asks the reader something and states nothing: "Which plan do you have?"."""
    found = _QUESTION_BACK.match(text)
    if found is None or not text.rstrip("\"'”) ").endswith("?"):
        return False
    rest = text[found.end() :]
    return not (_states(rest) or " that " in rest.lower())


def abstains(text: str) -> bool:
    """Whether each clause of a sentence says no more than that the answer is not known or not told."""
    return all(_abstains(clause) for clause in _NEXT_CLAUSE.split(text))


def _abstains(clause: str) -> bool:
    found = _ABSTENTION.match(clause)
    if found is None:
        return _APOLOGY.fullmatch(clause.rstrip(" .!")) is not None
    rest = clause[found.end() :]
    discloses = _DISCLOSE.search(found.group()) and rest.lower().startswith(" that ") and VERBS.search(rest)
    hints = found.group().lower().endswith("know") and rest.lower().startswith(" of ")  # "... of any fee": of none
    return not ("," in rest or discloses or hints or _states(rest))


def _states(rest: str) -> bool:
    """Whether what follows "do you" or "I don't know" holds a clause of its own that is no indirect question."""
    if len(VERBS.findall(rest)) > 1 or _DENIES.search(rest):
        return True
    second = re.search(r"\b(?:and|or)\b(.*)", rest)
    joined = _JOINED.search(rest) or (second and VERBS.search(second.group(1)))
    return bool(joined or _CLAUSE.search(_INDIRECT.sub(" ", rest)))
