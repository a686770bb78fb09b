"""English manners. How English asks back and abstains is in ``english_clauses``."""

from __future__ import annotations

from proxy.grounding.phrases.english_clauses import VERBS
from proxy.grounding.phrases.grammar import (
    SHORT,
    Manners,
    leading,
    mentions,
    openings,
    parts_of,
    phrases,
    repeated,
    replies,
    words,
)

_MORE = {"more": "(?:else|other|further|more|questions?|help|assistance|information|details)"}
_SHORT_REPLY = SHORT | {
    "who": "(?:it|that|this|they|these|those|there|you|we|i|he|she)",
    "does": r"(?:(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|may|must|should)"
    r"(?:n['\u2019]t| not)?|can['\u2019]t|cannot|won['\u2019]t)",
    "not": r"['\u2019](?:s|re|m) not",
}
_COURTESIES = """
    (hi|hello|hey|welcome|greetings|goodbye|bye) [there|everyone|all|again]
    good (morning|afternoon|evening|day|night) [there|everyone|all|again]
    (thanks|thank you) [very much|so much] [for (asking|your question|your patience|your message)]
    (you're|you are) [very] welcome
    my pleasure
    [that's a|that is a] (great|good) question
    [i'm|i am] (happy|glad) to help
    i hope (this|that|it) helps [you]
    [please] (let me know|feel free to ask|feel free to reach out)
    if you['d] [would] (have|need|like|want) [to know] (any|more|further)[thing] [<more>] [<more>] [<more>]
    (here's|here is|here are) (what i found|a short summary|a brief summary|a quick summary|a short answer)
    (here's|here is|here are) the (answer|information|details|summary) [you asked for|you requested]
    (here's|here is|here are) (a|the) [short|brief|quick] (summary|overview|answer)
    is there anything else i can help [you] with
    how (can|may) i help [you] [today]
    """
_ASSENTS = "(sure thing|sure|of course|certainly|absolutely|no problem|great|okay|ok)"

_ASKING = {
    "wh": r"(?:(?:what|when|where)(?! (?:i|we|you|he|she|it|they|my|our|your|the|an?)\b)|why|how(?! about\b))",
    "show": "show me (?:how|what|where|which)",
    "give": "give me (?:(?:an?|the|some|more) )?(?:overview|summary|list|examples?|details|information|reasons?|steps)",
}
"""Not "When I travel am I covered?", "How about Sunday?" nor "Give me a refund?": yes answers these."""

ENGLISH = Manners(
    courtesies=repeated(_COURTESIES, parts=_MORE),
    assents=repeated(_COURTESIES + _ASSENTS, parts=_MORE),
    announces=phrases(
        """
        <topic> (contain|contains|comprise|comprises|include|includes|cover|covers|require|requires|offer|offers)
        <topic> (has|have|consists of|consist of|comes with|come with|is made up of|are made up of|are|is|are these)
        <topic> (contains|includes|comprises|covers|requires|has|are|is) the following [items|parts|steps|things|points]
        <topic> (are|is) (as follows|listed below)
        """,
        parts_of({}),
    ),
    lead_ins=phrases(
        """
        (here are|here is|here's|these are|this is|follow|see|below are|below is) (the|these|your|some) <topic>
        the <topic> (are|is) as follows
        the following <topic>
        """,
        parts_of({}),
    ),
    small=words("the a an of for to in on with by at from your our my its their this these about i we you me us"),
    barred=words(
        "no not never none nothing neither nor without except only or but also besides yet so because while although "
        "unless than yes that which who whose whom it he she they there"
    ),
    labels=words(
        "feature features function functions advantage advantages benefit benefits term price prices pricing rate "
        "rates cost costs fee fees charge charges payment payments billing refund refunds return returns shipping "
        "delivery deliveries coverage exclusions exceptions limitations limit limits deadline deadlines date dates "
        "time times hours schedule location locations address contact phone telephone email support help security "
        "privacy plan plans product products service services name names category categories item items amount "
        "quantity total number country countries city cities capital population duration period status state value "
        "values currency additional other next document documents material materials ingredients unit size weight "
        "role department percentage year month day level model version eligibility cancellation cancellations aspect "
        "attribute property field"
    ),
    fillers=words(
        "overview summary introduction background conclusion conclusions detail details description explanation "
        "information general main key important note notes step steps instruction instructions procedure process "
        "example examples points takeaways frequently asked faq question questions answer answers result results "
        "option options method methods type types policy policies terms condition conditions requirement "
        "requirements tips recommendations links resources reference references source sources opening"
    ),
    steps=words("step"),
    joins=words("and"),
    answers=words("yes no not true false correct incorrect right wrong indeed"),
    loaded=words("free included covered possible allowed required available"),
    greetings=leading("(hi|hello|hey|please)", "[,、 ]+"),
    asks=openings(
        """
        [and|so|but] [at|by|for|from|in|on|to|with|until|since] (<wh>|who|whom|whose|which)
        [(can|could|would) you] [please] (explain|describe|summarise|summarize|<show>|<give>)
        [(can|could|would) you] [please] tell me (about|how|the|what|when|where|why)
        [(can|could|would) you] [please] (list|outline) (all|the|some|your|my|our|every|any|how|what|which)
        """,
        _ASKING,
    ),
    adds=mentions(
        """
        (and|or|but) [also] (is|are|am|was|were|do|does|did|has|have|can|could|will|would|may|must|should)
        (whether|explain if|describe if|tell me if|know if|see if|check if|confirm if|or not)
        """
    ),
    choices=mentions("(or|between|which|who|whom|versus|vs|better|best|rather)"),
    connectives=leading(
        """
        (however|but|and|so|also|additionally|in addition|moreover|furthermore|therefore|thus|then|yet|still)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (he|she|it|they|this|these|those|that|his|her|its|their|both|such|each|neither|either|the former|the latter)
        (the same|all of them|all of these|one of them|none of them|some of them)
        (yes|yeah|yep|no|nope|sure|certainly|of course|absolutely|sorry|unfortunately)[,] (<who> <does>|<who><not>)<end>
        """,
        _SHORT_REPLY,
    ),
    verbs=VERBS,
    affirms=replies(
        """
        (yes|yeah|yep|yes sir|correct|indeed|exactly|definitely|absolutely|certainly|of course|sure|that's right|true)
        (yes|oh yes)[,] (of course|certainly|absolutely|indeed|definitely|it is|it does|you can|they are|they do)
        """
    ),
    denies=replies(
        """
        (no|nope|never|false|absolutely not|certainly not|definitely not|of course not|not at all|no way|by no means)
        (unfortunately|sadly|regrettably|alas)[,] (no|not|not yet)
        (i'm|i am|we're|we are) (afraid|sorry)[, but] (not|no)
        not (yet|currently|anymore|any more|any longer|at this time|at the moment|at present)
        no[,] (sorry|unfortunately|not yet|never|thanks|it isn't|it is not|it doesn't|you can't|you cannot)
        no longer
        """
    ),
)
