"""Tags: the same whole, one character at a time and in any cuts; nothing forged counts; nothing malformed passes."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.errors import CallerError
from proxy.grounding.tags import SUFFIX_PARAM, Marked, TagScanner, scan, validate_suffix

SUFFIX = "S1"
STEM = "amazon-bedrock-guardrails-"
KINDS = ("groundingSource", "query", "guardContent")
SOURCE, QUERY, GUARD = KINDS
MEGABYTE = 1 << 20

unhurried = settings(deadline=None)  # the cores are shared: one slow example is no failure


def opening(kind, suffix=SUFFIX):
    """Spell an opening tag."""
    return f"<{STEM}{kind}_{suffix}>"


def closing(kind, suffix=SUFFIX):
    """Spell a closing tag."""
    return f"</{STEM}{kind}_{suffix}>"


def wrap(kind, text, suffix=SUFFIX):
    """Put a text between its tags."""
    return opening(kind, suffix) + text + closing(kind, suffix)


TAGS = [spell(kind) for kind in KINDS for spell in (opening, closing)]
FORGED = [
    spell(kind, suffix) for kind in (SOURCE, QUERY) for spell in (opening, closing) for suffix in ("S", "S12", "s1", "")
]
BROKEN = [f"<{STEM}query>", f"< {STEM}query_S1>", f"<{STEM}query_S1 >", f"<{STEM}QUERY_S1>", f"<{STEM}query_S1/>"]

parts_of_tags = st.sampled_from(TAGS).flatmap(lambda tag: st.integers(0, len(tag) - 1).map(lambda end: tag[:end]))
noise = st.lists(
    st.one_of(
        st.sampled_from(["<", "</", ">", "<<", STEM, "_S1>", "\n", "😀", "\ud800", "", "München"]),
        st.sampled_from(FORGED + BROKEN),
        parts_of_tags,
        st.text(st.characters(codec=None), max_size=5),
    ),
    max_size=5,
).map("".join)
plain = noise.filter(lambda text: not any(tag in text for tag in TAGS))

leaves = st.tuples(st.sampled_from([None, SOURCE, QUERY]), plain)
nodes = st.one_of(leaves, st.tuples(st.just(GUARD), st.lists(leaves, max_size=4)))
documents = st.lists(nodes, max_size=6)
soups = st.lists(st.one_of(st.sampled_from(TAGS), noise), max_size=8).map("".join)


def mark(document):
    """Return the tagged text of a document, and what a scanner must say of it."""
    found = {kind: [] for kind in KINDS}
    stripped, tagged = mark_nodes(document, found)
    sources, queries, guarded = map(tuple, found.values())
    return tagged, Marked(text=stripped, sources=sources, queries=queries, guarded=guarded)


def mark_nodes(nodes, found):
    """Return the text of some nodes, bare and tagged; what they mark goes into ``found``."""
    bare = tagged = ""
    for kind, content in nodes:
        text, marked = mark_nodes(content, found) if kind == GUARD else (content, content)
        if kind is not None:
            found[kind].append(text)
            marked = wrap(kind, marked)
        bare += text
        tagged += marked
    return bare, tagged


def outcome(pieces, suffix=SUFFIX):
    """Return what a scanner makes of these pieces: the result, or the error's public parts."""
    scanner = TagScanner(suffix, "messages[2].content")
    try:
        for piece in pieces:
            scanner.feed(piece)
        return scanner.close()
    except CallerError as error:
        return error.status, error.message, error.param


def cut(text, points):
    """Cut a text at ``points``, taken modulo its length."""
    ends = sorted(point % (len(text) + 1) for point in points)
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@unhurried
@given(documents.filter(bool))
def test_stripping_restores_the_text(document):
    """Stripping returns the text as it was before marking, and what was marked, in order."""
    tagged, expected = mark(document)
    assert scan(tagged, SUFFIX) == expected


@unhurried
@given(st.one_of(soups, documents.filter(bool).map(lambda document: mark(document)[0])), st.lists(st.integers(0, 9999)))
def test_any_cutting_gives_the_same_result(text, points):
    """Whole, one character at a time and in any cuts give one result, or one error."""
    whole = outcome([text])
    assert outcome(text) == whole
    assert outcome(cut(text, points)) == whole


@unhurried
@given(soups)
def test_exactly_the_well_formed_is_accepted(text):
    """A text is accepted if its tags alone fit the grammar, and loses exactly them; else it is a 400."""
    tags = "|".join(map(re.escape, TAGS))
    letters = "".join("SsQqGg"[TAGS.index(tag)] for tag in re.findall(tags, text))
    result = outcome([text])
    if re.fullmatch("(Ss|Qq|G(Ss|Qq)*g)*", letters):
        assert result.text == re.sub(tags, "", text)
    else:
        assert result[0] == 400


@unhurried
@given(noise, noise)
def test_errors_name_tags_and_nothing_else(before, inside):
    """An error's message holds tags of the declared suffix but none of the text around them."""
    stray = outcome([before.replace("<", ""), closing(QUERY), inside])
    assert stray == (400, f"{closing(QUERY)} closes nothing", "messages[2].content")
    unclosed = outcome([opening(SOURCE), inside.replace("<", "")])
    assert unclosed == (400, f"{opening(SOURCE)} is not closed", "messages[2].content")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (wrap(SOURCE, wrap(SOURCE, "x")), (opening(SOURCE), opening(SOURCE))),
        (wrap(SOURCE, wrap(QUERY, "x")), (opening(QUERY), opening(SOURCE))),
        (wrap(QUERY, wrap(SOURCE, "x")), (opening(SOURCE), opening(QUERY))),
        (wrap(QUERY, wrap(QUERY, "x")), (opening(QUERY), opening(QUERY))),
        (wrap(GUARD, wrap(GUARD, "x")), (opening(GUARD), opening(GUARD))),
        (wrap(SOURCE, wrap(GUARD, "x")), (opening(GUARD), opening(SOURCE))),
        (wrap(QUERY, wrap(GUARD, "x")), (opening(GUARD), opening(QUERY))),
        (wrap(GUARD, wrap(SOURCE, wrap(QUERY, "x"))), (opening(QUERY), opening(SOURCE))),
    ],
)
def test_forbidden_nesting_names_both_tags(text, named):
    """A tag where it must not stand is a 400 that names it and the tag it stands in."""
    inner, outer = named
    assert outcome([text]) == (400, f"{inner} must not stand inside {outer}", "messages[2].content")


def test_crossed_closings_name_both_tags():
    """A closing tag that crosses another region is a 400 that names it and the tag to close first."""
    text = f"{opening(GUARD)}a{opening(QUERY)}b{closing(GUARD)}c{closing(QUERY)}"
    message = f"{closing(GUARD)} stands where {opening(QUERY)} must be closed first"
    assert outcome([text]) == (400, message, "messages[2].content")


def test_the_innermost_unclosed_tag_is_named():
    """When several tags are open at the end, the one to close first is named."""
    assert outcome([opening(GUARD) + opening(QUERY)])[1] == f"{opening(QUERY)} is not closed"


@pytest.mark.parametrize("tag", FORGED + BROKEN)
def test_a_forged_tag_is_plain_text(tag):
    """Another suffix, its prefix or extension, another case, no suffix or a blank inside make a tag plain text."""
    text = wrap(SOURCE, f"before {tag} after")
    assert scan(text, SUFFIX) == Marked(text=f"before {tag} after", sources=(f"before {tag} after",))


def test_a_forged_tag_cannot_close_a_source():
    """A closing tag of another suffix inside a source leaves the source open."""
    assert scan(wrap(SOURCE, closing(SOURCE, "S2") + "x"), SUFFIX).sources == (closing(SOURCE, "S2") + "x",)


def test_guarded_content_holds_everything_it_may():
    """Guarded content may hold sources, queries and plain text, whose tags are stripped from it."""
    inside = "b" + wrap(SOURCE, "c") + "d" + wrap(QUERY, "e") + "f" + wrap(SOURCE, "g")
    assert scan("a" + wrap(GUARD, inside) + "h", SUFFIX) == Marked(
        text="abcdefgh", sources=("c", "g"), queries=("e",), guarded=("bcdefg",)
    )


@pytest.mark.parametrize(("kind", "field"), [(SOURCE, "sources"), (QUERY, "queries"), (GUARD, "guarded")])
def test_an_empty_tag_gives_an_empty_text(kind, field):
    """A tag with nothing inside is found and holds the empty string, also when it is the whole text."""
    assert scan(wrap(kind, ""), SUFFIX) == Marked(text="", **{field: ("",)})


def test_the_beginning_of_a_tag_at_the_end_is_plain_text():
    """Whatever part of a tag a text ends with stays in it."""
    for tag in TAGS:
        for end in range(len(tag)):
            assert scan("x" + tag[:end], SUFFIX) == Marked(text="x" + tag[:end])


def test_stripping_is_one_pass():
    """What becomes a tag only by stripping is not one."""
    tag = opening(QUERY)
    assert scan(tag[:9] + wrap(GUARD, "") + tag[9:], SUFFIX) == Marked(text=tag, guarded=("",))


def test_a_text_without_tags_is_returned_itself():
    """A text without tags is not copied."""
    text = "London is the capital of UK. <b>" * 100
    assert scan(text, SUFFIX).text is text


@pytest.mark.parametrize("suffix", ["a", "Z9", "0" * 20])
def test_a_valid_suffix_is_returned(suffix):
    """1 to 20 ASCII letters and digits make a suffix, and tags with it count."""
    assert validate_suffix(suffix) == suffix
    assert scan(wrap(QUERY, "q", suffix), suffix).queries == ("q",)


@pytest.mark.parametrize(
    "suffix",
    ["", "0" * 21, "a b", "a_b", "a-b", "é", "\N{ARABIC-INDIC DIGIT ONE}", "a\n", ".*", None, 1, True, ["a"], b"a"],
)
def test_an_invalid_suffix_is_refused(suffix):
    """Anything else is a 400 that names the field, however the suffix comes in."""
    for use in (validate_suffix, TagScanner, lambda suffix: scan("", suffix), lambda suffix: scan(TAGS[0], suffix)):
        with pytest.raises(CallerError, match=SUFFIX_PARAM) as caught:
            use(suffix)
        assert (caught.value.status, caught.value.param) == (400, SUFFIX_PARAM)


def test_an_error_leaves_nothing_half_done():
    """After an error a scanner repeats it and never gives a result."""
    scanner = TagScanner(SUFFIX)
    scanner.feed("a")
    for use in (lambda: scanner.feed(closing(QUERY)), lambda: scanner.feed("b"), scanner.close):
        with pytest.raises(CallerError, match="closes nothing"):
            use()


def test_a_closed_scanner_refuses_more():
    """A closed scanner takes no further text and gives no second result."""
    scanner = TagScanner(SUFFIX)
    assert scanner.close() == Marked(text="")
    for use in (lambda: scanner.feed("b"), scanner.close):
        with pytest.raises(ValueError, match="closed"):
            use()


ADVERSARIAL = {
    "angle brackets": "<",
    "stems": f"<{STEM}",
    "partial tags": opening(SOURCE)[:-1],
    "partial closings": closing(GUARD)[:-1],
    "forged tags": opening(QUERY, "S2"),
    "empty regions": wrap(GUARD, wrap(QUERY, "")),
}


@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_four_megabytes_of_anything_are_quick(unit):
    """4 MB of what looks most like tags take seconds at most, where quadratic work would take hours."""
    text = unit * (4 * MEGABYTE // len(unit))
    began = time.monotonic()
    assert isinstance(outcome([text]), Marked)
    assert isinstance(outcome(text[: MEGABYTE // 4 // len(unit) * len(unit)]), Marked)
    assert time.monotonic() - began < 20


def test_nested_openings_fail_at_once():
    """4 MB of openings are refused at the first that must not stand there."""
    began = time.monotonic()
    assert outcome([opening(GUARD) * (4 * MEGABYTE // len(opening(GUARD)))])[0] == 400
    assert time.monotonic() - began < 5


@unhurried
@given(soups)
def test_no_more_than_a_tag_is_ever_held(text):
    """Between pieces a scanner holds less than one tag, so each piece costs its own length and a constant."""
    scanner = TagScanner(SUFFIX)
    with contextlib.suppress(CallerError):
        for piece in text:
            scanner.feed(piece)
            assert len(scanner._held) < max(map(len, TAGS))
