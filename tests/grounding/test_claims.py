"""Claims: cut the same however the text arrives, in linear time; typed so that nothing asserted goes unjudged."""

from __future__ import annotations

import time
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.claims import ClaimReader, settled, split_claims
from proxy.grounding.cutting import LOOKAHEAD, MAX_CLAIM_CHARS, Segmenter, reach, segments, weight
from proxy.grounding.kinds import kind_of
from proxy.grounding.types import ClaimKind

LONG = 1 << 18

unhurried = settings(deadline=None)  # the cores are shared: one slow example is no failure

PIECES = """
The fee is $1,234.50.|It rose 0.002 %|Dr. Smith|U.S.|e.g.|i.e. |etc.|Inc.|J. K. |No. 5|p.m.
https://a.example/x.html?y=1.
a.b@example.com|3.11.2|...|…|?!|!!|? |! |. |.|"|“|”|’|«|» |( |) |] |} |**|_|`|[1]|[2, 3]|[^4]|- |* |1. |12) |# |## |> |
|--|```|```python|~~~|東京は首都です。|人口は？|はい！|「|」|、|हिन्दी।|I don't know.|I’m not sure |Sure!
Hello |word|Word|and |é|😀|z. B. |d. h. |p. ex. |EE. UU. |S. 12|「はい。」と|」|Москва |서울|กรุงเทพ|\u200b
It |These |Fees:|# Fees|**Fees**|Here are the steps:|Step 1.|Yes. |Hola. |No sé.|わかりません。
""".replace("\n", "|").split("|")
BLOCKS = [
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "\n| Plan | Price |\n",
    "|---|:-:|\n",
    "- one:\n  - two\n",
    "a | b\n---|---\n",
]
answers = st.lists(
    st.one_of(
        st.sampled_from([piece for piece in PIECES if piece] + BLOCKS),
        st.sampled_from([" ", " ", "\n", "\n\n", "\r\n", " \n \n", "\t", "\n\n\n\n"]),
        st.integers(1, 800).map("x".__mul__),
        st.integers(1, 60).map("some words "[:7].__mul__),
        st.integers(1, 60).map("wo rd. ".__mul__),
        st.integers(1, 200).map("東".__mul__),
        st.text(max_size=6),
    ),
    max_size=40,
).map("".join)


def in_pieces(text, ends):
    """Cut a text as a stream would that arrives in pieces with these ends."""
    segmenter, spans, begin = Segmenter(), [], 0
    for end in sorted(ends):
        spans += segmenter.feed(text[begin:end])
        begin = end
    return spans + segmenter.feed(text[begin:]) + segmenter.close()


def cut(text):
    """The texts of the segments, without the white space around them."""
    return [text[start:end].strip() for start, end in segments(text)]


# --- cutting ------------------------------------------------------------------------------------------------------


@unhurried
@given(answers)
def test_segments_tile_the_text_and_are_short(text):
    """Every character belongs to exactly one segment, and none is longer than the limit and its closers."""
    spans = segments(text)
    assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), len(text)]
    assert all(0 < end - start <= MAX_CLAIM_CHARS + LOOKAHEAD for start, end in spans)


@unhurried
@given(answers, st.data())
def test_any_cutting_of_the_input_gives_the_same_segments(text, data):
    """Whole, one character at a time and in random pieces, a text is cut alike."""
    spans = segments(text)
    assert in_pieces(text, range(len(text))) == spans
    assert in_pieces(text, data.draw(st.lists(st.integers(0, len(text)), max_size=12))) == spans


def is_decided(text, start, end, known):
    """Whether a segment follows from the first ``known`` characters: a forced cut needs more than another."""
    limit = reach(text[start : start + MAX_CLAIM_CHARS + LOOKAHEAD])
    forced = end - start > limit // 2
    return (start + limit if forced else end) + LOOKAHEAD <= known


@unhurried
@given(answers, answers, answers)
def test_later_text_moves_no_boundary(common, one, other):
    """What lies further on than the look-ahead changes no boundary."""
    spans, others = segments(common + one), segments(common + other)
    for at, (start, end) in enumerate(spans):
        if not is_decided(common + one, start, end, len(common)):
            break
        assert others[at] == (start, end)


@unhurried
@given(answers)
def test_a_stream_waits_for_the_look_ahead_and_no_longer(text):
    """A segment is out as soon as the look-ahead is known."""
    for at, (start, end) in enumerate(segments(text)):
        limit = reach(text[start : start + MAX_CLAIM_CHARS + LOOKAHEAD])
        if is_decided(text, start, end, len(text)) and end - start <= limit // 2:
            assert Segmenter().feed(text[: end + LOOKAHEAD])[at] == (start, end)


@unhurried
@given(answers, st.none() | answers)
def test_claims_are_stretches_of_the_answer(text, query):
    """A claim is its segment without white space, numbered in order; what holds no word is no claim."""
    claims = split_claims(text, query=query)
    assert [claim.index for claim in claims] == list(range(len(claims)))
    assert all(claim.text == text[claim.start : claim.end] == claim.text.strip() for claim in claims)
    says = [segment for segment in cut(text) if any(c.isalnum() or category(c) == "So" for c in segment)]
    assert set(says) <= {claim.text for claim in claims}
    assert len(claims) == 1 or all(any(c.isalnum() or category(c)[0] == "S" for c in one.text) for one in claims)


def read_in_pieces(text, ends, query):
    """The claims of a text that arrives in pieces with these ends, as they close and unsettled."""
    reader, claims, begin = ClaimReader(query), [], 0
    for end in sorted(ends):
        claims += reader.feed(text[begin:end])
        begin = end
    return claims + reader.feed(text[begin:]) + reader.close()


@unhurried
@given(answers, st.none() | answers, st.data())
def test_any_cutting_of_the_input_gives_the_same_claims(text, query, data):
    """Spans, kinds and contexts are the same whole, one character at a time and in random pieces."""
    whole = read_in_pieces(text, [], query)
    assert settled(whole, query=query) == split_claims(text, query=query)
    assert read_in_pieces(text, range(len(text)), query) == whole
    assert read_in_pieces(text, data.draw(st.lists(st.integers(0, len(text)), max_size=12)), query) == whole


@unhurried
@given(answers, answers, answers, st.none() | answers)
def test_later_text_changes_no_claim(common, one, other, query):
    """A claim that is out stays as it is, whatever follows."""
    early = ClaimReader(query).feed(common)
    for rest in (one, other):
        assert ClaimReader(query).feed(common + rest)[: len(early)] == early


ADVERSARIAL = {
    name: (unit * (LONG // len(unit) + 1))[:LONG]
    for name, unit in {
        "one word": "a",
        "full stops": ".",
        "closers": ".)",
        "open citations": ".[a",
        "blank lines": "\n",
        "spaces": " ",
        "initials": "A. ",
        "words that go on": "x" * 150 + " " + "a. a" * 50,
        "list marks": "1. \n",
        "fences": "```\n",
        "CJK": "東京。",
        "questions": '?" a',
        "no break": "x.x",
        "clauses": "a, ",
        "rows": "| a | b |\n",
        "headers": "| a |\n|--|\n",
        "headings": "# Fees\n",
        "items": "- a:\n",
        "abbreviations": "z. B. A. ",
        "pronouns": "It is. ",
        "abstentions": "No sé. ",
        "Hangul": "서",
        "bold": "**",
    }.items()
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_long_text_is_read_in_linear_time(name):
    """No text is slow to cut, type and place: a quarter of a megabyte takes seconds, not hours."""
    began = time.perf_counter()
    split_claims(ADVERSARIAL[name], query="What?")
    assert time.perf_counter() - began < 30


def seconds(task):
    """Time of the processor for a task: others' work does not count."""
    began = time.process_time()
    task()
    return time.process_time() - began


@pytest.mark.parametrize("line", ["qq zz:\n", "zz:\n", "Here are the steps to zz:\n"])
def test_labels_are_compared_with_a_long_query_in_linear_time(line):
    """Twice the lines under a query twice as long take twice the time, not four times."""

    def task(size):
        query = "How " + " ".join(f"{chr(97 + at % 26)}a{chr(97 + at % 7)}" for at in range(size * 20))
        return min(seconds(lambda: split_claims(line * size, query=query)) for _ in range(3))

    assert task(1_000) < 3 * task(500)


@pytest.mark.parametrize("name", ["one word", "full stops", "blank lines", "words that go on"])
def test_single_characters_are_cut_in_linear_time(name):
    """A stream of single characters costs no more each, however long it is."""
    text = ADVERSARIAL[name][: LONG // 2]
    began = time.perf_counter()
    in_pieces(text, range(len(text)))
    assert time.perf_counter() - began < 30


SENTENCES = [  # | stands where the text must be cut
    "The rate is 0.002 per call.| It rose.",
    "the men were held on sunday .| they live in st . louis , in the u.s . and work .| fine .",
    "It costs $1,234.50.| Pay now.",
    "Dr. Smith came.| He left.",
    "He lives in the U.S. and works there.| Fine.",
    "The U.S. Army won.| Good.",
    "J. K. Rowling wrote it.| Yes.",
    "Use fruit, e.g. apples.| Languages, e.g. Python, too.",
    "See https://a.example/x.html?y=1.| Then go.",
    "Mail bob.b@example.com.| Done.",
    "Python 3.11.2 is out.| Update.",
    "Well... maybe.| Wait…| What?",
    "Really?!| Yes.| No!!!| Ok.",
    "He asked “why?” and left.| Yahoo! said so.",
    "He said “Go.”| Then left.",
    "(It is so.)| Then **bold.**| Next.",
    "It is so [1].| And so.[2]| Then.[1][2]| More.[^3]| End.",
    "1. First item.|\n2. Second item.|\n- third\n|* fourth",
    "# Heading\n|Text here.|\n## Other\n|More text",
    "Intro:\n|- one\n|- two\n|\nAfter.",
    "Intro\n|a) one\n|b) two\n|iv) three",
    "Intro.| It goes on.|\n\nNext.",
    "```python\n|x = 1. y\n|y = 2\n|```\n|After.| That.",
    "```inline``` is code.| And this.| Next.",
    "This is wrapped\nacross lines.| Next.",
    "Line one\n|Line two",
    "東京は日本の首都です。|人口は1400万人です！|本当？|はい。",
    "「はい。」|北京是中国的首都。|上海很大。",
    "हिन्दी वाक्य।| दूसरा वाक्य।",
    "Acme Inc. was founded in 1990.| It sells tea, etc.| Good.",
    "We open at 5 p.m.| The shop closes at 6 a.m. daily.",
    "Fig. 3 shows No. 5 and vol. 2 on Jan. 5.| Then came more.",
    "It weighs 5 kg.| It runs 5 min.| He loves art.| Then rest.",
    "I can't.| It won't.| Don't.| Go.",
    "First.  \n|\n\n  Next.",
    "Das kostet, z. B. Äpfel, viel.| Gut.",
    "Er kommt, d. h. Alle gehen.| Nein.",
    "J'ai vu M. Dupont et Mme. Curie.| Bien.",
    "La Sra. López vino con el Sr. D. Juan.| Sí.",
    "Des fruits, p. ex. Pommes.| Oui.",
    "Ver n.º 3 y n. 5 aquí.| Bien.",
    "Siehe S. 12 und Abs. 3.| Gut.",
    "Según el art. 5 se paga.| No.",
    "Fruit, bijv. Appels.| Dat is, d.w.z. Alles.| Ja.",
    "Il Sig. Rossi e la Sig.ra Bianchi.| Ad es. Roma.| Sì.",
    "O Exmo. Sr. Silva veio.| Sim.",
    "Vive en EE. UU. y trabaja.| Es de EE. UU.| Trabaja.",
    "Er lebte 100 v. Chr. in Rom.| Das kostet 5 Mio. Euro.| Gut.",
    "The answer is no.| The fee is due.| Go to no. 5.| In Mar. 2020 it rose.",
    "彼は「行く。」と言った。|次。|「はい。」|北京。",
    "「何？」って聞いた。|「東京は首都です。|大阪は違います。」と述べた。",
]
TABLES = [
    ["| a | b |\n|---|---|", "| 1. x | 2 |", "| Good. Cheap. | - |", "After."],
    ["Plan | Price\n--- | ---", "basic | 1", "pro | 2"],
    ["| one column |\n|:--|", "| 3 |"],
    ["Text.", "| a |", "| b |"],
    ["| a | - |", "| - | 5 |"],
]


@pytest.mark.parametrize("lines", TABLES)
def test_a_table_is_cut_into_rows_and_its_header_keeps_the_rule(lines):
    """A row is one claim, whatever stops stand in it; the rule line belongs to the header that it makes one."""
    assert cut("\n".join(lines)) == lines
    assert cut("\n".join(lines) + "\n\nMore.") == [*lines, "More."]


@pytest.mark.parametrize("marked", SENTENCES)
def test_sentences_end_where_a_reader_ends_them(marked):
    """Decimals, abbreviations, addresses, quotes, lists, tables, code and scripts without spaces are cut rightly."""
    text, expected = marked.replace("|", ""), [part.strip() for part in marked.split("|")]
    assert cut(text) == expected


@pytest.mark.parametrize(("unit", "most"), [("東京", 120), ("は", 120), ("서울", 70), ("ไทย", 120), ("Москва ", 190)])
def test_scripts_that_cost_more_tokens_are_cut_sooner(unit, most):
    """A claim of wide characters fits into the scorer too: one token a character, and more for Hangul."""
    lengths = [len(segment) for segment in cut(unit * 400)]
    assert most * 0.8 <= max(lengths) <= most
    assert all(weight(segment) <= MAX_CLAIM_CHARS for segment in cut(unit * 400))


@given(st.text(max_size=300), st.integers(0, 200))
def test_reach_is_as_far_as_the_weight_allows(text, budget):
    """It counts what stands in the text, and Latin letters beyond."""
    length = reach(text, budget)
    assert weight(text[:length]) <= budget
    assert length > len(text) or length == len(text) or weight(text[: length + 1]) > budget
    assert length <= len(text) or weight(text) + length - len(text) == budget


def test_long_sentences_are_cut_at_a_clause():
    """A sentence over the limit is cut after a clause mark, or else a space, and never within a word if it can be."""
    clauses = cut("the plan holds many things that go on and on, " * 30)
    assert all(clause.endswith(",") for clause in clauses)
    words = cut("word " * 300)
    assert all(set(line.split()) == {"word"} for line in words)


# --- typing -------------------------------------------------------------------------------------------------------

COURTESIES = """
Hi!|Hello there.|Hello! How can I help you today?|Good morning!|Thank you for asking.|You're welcome!|You’re welcome!
Sure!|Of course.|Certainly! Here is the answer:|Here's what I found:|Here’s what I found:|Great question!
That’s a great question.|I hope this helps!|Let me know if you have any other questions.|Happy to help!
Please let me know if you need anything else.|If you have any other questions, feel free to ask!|No problem.
Let me know if you'd like more details.|Is there anything else I can help you with?|**Sure!**
"""
QUESTIONS = """
What would you like to know?|Could you tell me which account you have?|Which plan do you have?|Do you have a plan?
Would you like to know more?|Would you like to have a list?|Can you clarify what you mean?|Why do you ask?
Is there anything specific you would like to know?|Who is your bank?|Could you please tell me if your card works?
"""
ABSTENTIONS = """
I don't know.|I don’t know.|I do not know the answer.|I'm sorry, but I don't have that information.|I'm not sure.
I’m sorry, but I couldn’t find that in the documents.|I couldn't find any information about that.|It does not say.
Sorry, I can't answer that from the documents I have.|The documents do not say.|I'm unable to find that.
I cannot find any information about the plan you are asking about.|The documents do not mention the price.
The provided context doesn't specify the price.|There is no information about this in the documents.
Based on the provided documents, I cannot determine the answer.|There is no mention of the fee.|Unknown.
No information is available.|That is not mentioned in the documents.|Neither document mentions the price.
That information isn't provided in the context.|I am unable to answer that question.|I have no information on that.
Unfortunately, the documents do not provide this information.|Not mentioned in the documents.
None of the documents mention the price.|The documentation does not cover this.|The answer is not in the documents.
The sources do not mention who founded it.
The documents don't say which plan is cheapest.|The documents do not say whether breakfast is included.
The document does not mention the price, so I cannot answer.|I don't know, as it is not mentioned in the documents.
The fee is not specified in the provided context.|The search results do not contain the price.
The documentation does not include information about the price.|That is not included in the documentation.
The docs do not provide any details.|The provided documents do not contain the price.|The manual does not say.
The documentation does not cover the topic.|The documents do not contain an answer to that question.
"""
ASSERTIONS = """
I don't know, but it is $5.|I don't know but it is free.|I don't know. it is free.|I don't know: it is free.
I don't know (it is free).|I don't know - it is free.|I don't know "it is free".|I don't know, it's free.
I couldn't find that. it is free.|I couldn't find that and it is free.|I don't have any doubt that it is free.
I don’t know it’s free.|I'm sorry, the fee is $5.|I cannot say, because the plan is free.
Sure, the fee is free.|Sure! The fee is $5.|Of course it is free.|Certainly not.|Great plan.|No problem with the fee.
The documents do not say the price and the plan is free.|The documents do not say the price or the plan is free.
The documents do not mention anything besides a fee of five dollars.|The documents do not only mention a fee.
The documents do not mention anything beyond a fee.|The document does not say, so the plan is free.
Guests eat free and the price is not mentioned in the documents.|The fee is $5, which is not mentioned in the documents.
Would you like to know that London is the capital of Japan?|Did you know the plan is free?|Is the plan free?
Did you know London is the capital of Japan?|Are you aware the fee is waived?|Can you believe the plan is free?
Would you like the free plan which costs nothing?|Do you want more? The plan is free, do you see?
There is no fee.|It does not include breakfast.|The results do not include tax.|The files do not contain viruses.
There is no evidence of cancer.|There is no data that leaves the EU.|This is not specified by law.|Our plan is not free.
The documentation does not offer refunds.|No.|Yes.|Tokyo.|10%.|Hello, I am the bank and the fee is free.
Here is the answer: free.|Thanks for paying five dollars.|x = 1|{"fee": 5}|The documentation does not cover breakfast.
The docs do not list the price.|The documents do not include breakfast.|Breakfast is not included in the documents.
The document does not provide the price, so I cannot answer.|None of the documents cover breakfast.|Unfortunately.
The documentation does not cover my card.|Our plan does not include breakfast.|I don't know why breakfast is included.
I don't know of any fee.
The documents do not mention that breakfast is included.|The price is not free and not in the documents.
Free - that is not mentioned in the documents.|I don't know no fee.|There is no information about the price not free.
My card is not covered in the documents.
The documents do not cover this plan.|The documents do not include the account information price.
"""
KINDS = [
    (kind, text)
    for kind, texts in (
        (ClaimKind.COURTESY, COURTESIES),
        (ClaimKind.QUESTION, QUESTIONS),
        (ClaimKind.ABSTENTION, ABSTENTIONS),
        (ClaimKind.ASSERTION, ASSERTIONS),
    )
    for text in texts.strip().replace("\n", "|").split("|")
]


@pytest.mark.parametrize(("kind", "text"), KINDS)
def test_only_what_asserts_something_is_judged(kind, text):
    """Greetings, fillers, questions back and abstentions are not judged; whatever asserts something else is."""
    query = "What price or fee has the cheapest plan and how does breakfast included work with my bank account or card"
    assert kind_of(text, query=query) is kind


@pytest.mark.parametrize(
    "text",
    [
        "Why do you ask when the capital is obviously london?",
        "Who told you tokyo lost its capital status to london?",
        "Would you like to visit london, the capital of japan?",
        "Have you visited london the japanese capital?",
        "Should I say london?",
        "I don't know why london became the capital of japan.",
        "I'm not sure anyone doubts london.",
        "I cannot help loving london the japanese capital.",
        "The document doesn't say tokyo lost to london.",
        "No information on when london replaced tokyo.",
        "london not in the text",
        "I don't know lon\u200bdon.",
        "Hello london!",
        "🇬🇧",
        "✅",
        "❌",
    ],
)
def test_nothing_new_can_be_said_without_being_judged(text):
    """However it is phrased, what the question does not say itself is no abstention, question back or courtesy."""
    [claim] = split_claims(text, query="What is the capital of Japan?")
    assert claim.kind is ClaimKind.ASSERTION


@pytest.mark.parametrize(
    "text", ["I don't know what the capital of Japan is.", "No information about Japan's capital."]
)
def test_an_abstention_may_repeat_the_question(text):
    """Naming what was asked for asserts nothing."""
    assert kind_of(text, query="What is the capital of Japan?") is ClaimKind.ABSTENTION


@pytest.mark.parametrize(
    "fact", ["The fee is $5.", "it is free.", "London is the capital of Japan.", "fees are waived."]
)
@pytest.mark.parametrize("cover", ["Sure! ", "I don't know. ", "I don't know, but ", "Hi! ", "Do you want more? "])
def test_no_cover_hides_a_fact(cover, fact):
    """Whatever harmless sentence stands before a fact, the fact is in a claim that is judged."""
    claims = split_claims(cover + fact, query="Is London the capital of Japan, and is a fee of 5 waived?")
    assert any(fact in claim.text and claim.needs_check for claim in claims)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("Who is the CEO of Acme?", ClaimKind.ABSTENTION),
        ("Who is the CEO of Acme's plant?", ClaimKind.ABSTENTION),
        ("Who runs it?", ClaimKind.ASSERTION),
        (None, ClaimKind.ASSERTION),
    ],
)
def test_an_abstention_may_repeat_the_query_only(query, kind):
    """A name that the query does not hold is asserted, and judged."""
    assert kind_of("The documents do not mention the CEO of Acme.", query=query) is kind


CLOSED = """
Is parking free?|I have a card. Does it work abroad?|Is the fee $3.50?|Does Dr. Smith work here?|Do you accept cards?
Are you open on Sundays?|Parking is free, right?|I want to know if parking is free.|Please advise.|Was parking free?
What is the fee and is it due?|When I travel am I covered?|How about Sunday?|Can you give me a refund?|List price due?
Can you explain whether it is free?|Resume needed?|Come Sunday will it be free?|What is the fee for Delphi, is it free?
Бесплатна ли парковка?|有任何费用吗？|駐車場は無料ですか？|いつでも解約できますか？|何か制限はありますか？
無料かどうか教えて
"""


@pytest.mark.parametrize("text", ["Sure.", "Absolutely!", "Of course, happy to help.", "No problem."])
def test_sure_is_an_answer_to_yes_or_no(text):
    """A word of assent is a courtesy, unless it says yes to the query."""
    for query in CLOSED.strip().replace("\n", "|").split("|"):
        assert kind_of(text, query=query) is ClaimKind.ASSERTION
    early = "Is parking free? " + "It is in Tokyo. " * 30 + "What is the fee?"
    assert kind_of(text, query=early) is ClaimKind.ASSERTION
    for query in (None, "What is the fee?", "Can you tell me the fee?", "Tell me the fee.", "Give me an overview."):
        assert kind_of(text, query=query) is ClaimKind.COURTESY


@pytest.mark.parametrize(
    "tail", ["5 dollars", "= free", "| free", "→ free", "プランは無料", "，free", "• free", "\nfree", "\u2028free"]
)
def test_figures_signs_and_other_scripts_are_judged(tail):
    """What hangs on an abstention by a sign, or is no plain word, may say anything: it is judged."""
    assert (
        kind_of(f"I don't know {tail}", query="Is the plan free? プランは無料 Is it 5 dollars?") is ClaimKind.ASSERTION
    )


@pytest.mark.parametrize(
    "text", ["Sure, no problem.", "Absolutely.", "Of course!", "Great!", "I am not sure. Certainly."]
)
def test_assent_alone_is_an_answer(text):
    """Assent opens many answers; alone it answers the question, however that is put, and is judged."""
    assert any(claim.needs_check for claim in split_claims(text, query="please advise if software can be returned"))
    assert not split_claims(f"{text} Tokyo is the capital.", query="What is the capital?")[0].needs_check


@pytest.mark.parametrize("text", ["# Fees", "Fees:", "Hello!\n# Fees", "| Plan | Price |\n|---|---|"])
def test_a_heading_alone_is_an_answer(text):
    """Where nothing else is said, a heading may be meant as the answer; over an abstention it is none."""
    assert all(claim.needs_check for claim in split_claims(text) if claim.kind is not ClaimKind.COURTESY)
    assert not any(claim.needs_check for claim in split_claims(f"{text}\n\nI don't know."))


def test_what_is_only_marks_is_no_claim():
    """A claim has its span, without the white space around it; a rule line is none."""
    one, two = split_claims("  It was so. \n\n---\n\n Now.")
    assert (one.index, one.start, one.end, one.text, one.context) == (0, 2, 12, "It was so.", "")
    assert (two.index, two.text) == (1, "Now.")


@pytest.mark.parametrize("text", ["+", "—", "$", "..."])
def test_a_sign_alone_is_an_answer(text):
    """An answer of signs alone is one claim."""
    [claim] = split_claims(f" {text}\n", query="Is the test + or -?")
    assert (claim.text, claim.kind, claim.start) == (text, ClaimKind.ASSERTION, 1)


@pytest.mark.parametrize(
    "text",
    [
        "The capital of Japan is Tokyo. the capital of Japan is London.",
        "The capital of Japan is Tokyo.The capital of Japan is London.",
    ],
)
def test_no_statement_rides_on_another(text):
    """A sentence that begins small, or without a space, is a claim of its own."""
    assert len(split_claims(text)) == 2


@unhurried
@given(answers, st.none() | answers)
def test_typing_takes_any_text(text, query):
    """Any text and query have a kind, and the curl of an apostrophe does not change it."""
    kind = kind_of(text[:400], query=query)
    assert kind_of(text[:400].replace("’", "'"), query=query) is kind


@pytest.mark.parametrize("mark", [".", "!", '"', "\u3002", "-\n"])
def test_an_endless_row_of_marks_is_one_short_claim(mark):
    """What a model that has lost its way may write costs no more than a sentence to judge."""
    [claim] = split_claims(f"  {mark * 5000}")
    assert len(claim.text) <= 350
    assert claim.text == f"  {mark * 5000}"[claim.start : claim.end]
