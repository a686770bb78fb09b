"""YAML with places, and what it refuses."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.yamlfile import MAX_BYTES, ConfigError, FromEnvironment, Problem, dotted, in_order, parse, plain, read

FILE = Path("config.yaml")


def parsed(text: str, **environ: str):
    """Parse a text with these variables and no others."""
    return parse(FILE, text.encode(), environ=environ)


def lines_of(text: str, **environ: str) -> list[str]:
    """Give every problem of a text, as printed."""
    try:
        return [str(problem) for problem in parsed(text, **environ).problems]
    except ConfigError as error:
        return [str(problem) for problem in error.problems]


def test_every_key_and_value_knows_its_place():
    """A problem is placed at the value it is about, or at its key when asked, counted from 1."""
    document = parsed("server:\n  port:   80\ntenants:\n  - id: a\n")

    assert str(document.problem(("server", "port"), "is odd")) == "config.yaml:2:11: server.port: is odd"
    assert str(document.problem(("server", "port"), "is odd", at_key=True)) == "config.yaml:2:3: server.port: is odd"
    assert str(document.problem(("tenants", 0, "id"), "is odd")) == "config.yaml:4:9: tenants[0].id: is odd"


def test_what_is_missing_is_placed_at_what_surrounds_it():
    """A problem about a key that is not there stands at the nearest mapping that is."""
    document = parsed("a: 1\nserver:\n  port: 80\n")

    assert document.problem(("server", "host", "name"), "is required").line == 3
    assert document.problem(("other",), "is required").line == 1


def test_a_key_given_twice_is_refused_at_its_second_line():
    """Duplicate keys are a problem, the first value stays, and reading goes on."""
    document = parsed("a: 1\nb: 2\na: 3\nb: 4\n")

    assert [problem.line for problem in document.problems] == [3, 4]
    assert document.value == {"a": 1, "b": 2}


def test_keys_and_dates_are_taken_as_written():
    """What YAML 1.1 would turn into booleans, numbers or dates stays text where JSON has no such thing."""
    document = parsed("off: 1\n50256: 2\nversion: 2024-02-01\n")

    assert document.value == {"off": 1, "50256": 2, "version": "2024-02-01"}


def test_plain_values_have_their_json_types():
    """Numbers, booleans, null, text, lists and mappings come out as Python's own."""
    value = parsed("a: 1\nb: 1.5\nc: true\nd: ~\ne: 'x'\nf: [1, {g: off}]\n").value

    assert value == {"a": 1, "b": 1.5, "c": True, "d": None, "e": "x", "f": [1, {"g": False}]}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_document_is_an_empty_mapping(text):
    """No keys are no error here: whether some are needed is for others to say."""
    assert lines_of(text) == []
    assert parsed(text).value == {}


def test_variables_are_resolved_everywhere():
    """A variable's value replaces its name in mappings, lists and below."""
    document = parsed("a: os.environ/K\nb: [os.environ/K, {c: os.environ/K}]\nd: see os.environ/K\n", K="v")

    assert document.value == {"a": "v", "b": ["v", {"c": "v"}], "d": "see os.environ/K"}


def test_a_missing_variable_names_file_line_and_variable():
    """An unset or empty variable is a problem at its line, and does not stop the reading."""
    found = lines_of("a: 1\nkey: os.environ/NOPE\nother: os.environ/EMPTY\n", EMPTY="")

    assert found[0].startswith("config.yaml:2:6: key: needs the environment variable NOPE")
    assert found[1].startswith("config.yaml:3:8: other: needs the environment variable EMPTY")


def test_the_environment_of_the_process_is_the_default(monkeypatch):
    """Without a mapping of their own callers get the process's variables."""
    monkeypatch.setenv("GROUNDWARDEN_TEST", "v")

    assert parse(FILE, b"a: os.environ/GROUNDWARDEN_TEST").value == {"a": "v"}


def test_text_from_the_environment_may_stand_for_a_number_and_hides_when_printed():
    """Such text reads as YAML would read it, keeps what is no scalar as text, and does not show in a repr."""
    assert FromEnvironment("8080").scalar() == 8080
    assert FromEnvironment("true").scalar() is True
    assert FromEnvironment("[").scalar() == "["
    assert FromEnvironment("0x" + "f" * 5000).scalar() == "0x" + "f" * 5000
    assert "secret" not in repr({"key": FromEnvironment("secret")})


def test_plain_leaves_only_pythons_own_text():
    """A plain copy holds exact types, so that no library meets ours."""
    copied = plain(parsed("a: [os.environ/K, 1]", K="v").value)

    assert copied == {"a": ["v", 1]}
    assert type(copied["a"][0]) is str


def test_aliases_and_merges_are_resolved():
    """An alias repeats its anchor's value; a merge adds keys that are not given already, the first mapping first."""
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nuse: *b\nover:\n  <<: [*b, *m]\n  x: 9\n"
    value = parsed(text).value

    assert value["use"] == {"x": 1, "y": 2}
    assert value["over"] == {"x": 9, "y": 2, "z": 4}


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 40)),
        "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 2000)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 2000)),
        "a: " + "[" * 5000,
        "a: &a [*a]\n",
        "a: &a {<<: *a}\n",
    ],
    ids=["lists", "merges", "chain", "merge chain", "brackets", "itself", "merges itself"],
)
def test_bombs_are_bounded(bomb):
    """A small file that would expand without end is refused with a line, and soon."""
    [found] = lines_of(bomb)

    assert found.startswith("config.yaml:")
    assert any(word in found for word in ("values", "deeper", "itself"))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "not valid YAML"),
        ("a: *nobody\n", 1, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("- a\n- b\n", 1, "must be a mapping"),
        ("text\n", 1, "must be a mapping"),
        ("a: 1\nb: !secret x\n", 2, "tag"),
        ("a: 1\nb: !!python/name:os.system x\n", 2, "tag"),
        ("a: 1\n? [x]\n: 2\n", 2, "not plain text"),
        ("a: 1\nb:\n  <<: 5\n", 3, "not a mapping"),
        ("a: 1\nb: !!int x\n", 2, "not a valid int"),
        ("a: 1\nb: " + "9" * 5000 + "\n", 2, "not a valid int"),
        ("a: 1\nb: 9223372036854775808\n", 2, "is out of range"),
        ("a: 1\nb: 0x" + "f" * 5000 + "\n", 2, "is out of range"),
        ("a: 1\nb: os.environ/not-a-name\n", 2, "must name a variable"),
        ("a: 1\nb: \x00\n", 2, "does not allow"),
    ],
)
def test_every_refusal_names_its_line(text, line, words):
    """What cannot be read is said once, with file and line."""
    [found] = lines_of(text)

    assert found.startswith(f"config.yaml:{line}:")
    assert words in found


def test_other_encodings_are_refused_with_their_line():
    """Bytes that are not UTF-8 are named by line; a byte order mark is no problem."""
    with pytest.raises(ConfigError, match=r"config\.yaml:2:4: is not UTF-8"):
        parse(FILE, b"a: 1\nb: \xe9\n")
    assert parse(FILE, b"\xef\xbb\xbfa: 1").value == {"a": 1}


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path):
    """A missing file, a folder and a huge file raise our own error."""
    (tmp_path / "huge.yaml").write_bytes(b"#" * (MAX_BYTES + 1))

    for name, words in {"none.yaml": "does not exist", "": "is a directory", "huge.yaml": "larger"}.items():
        with pytest.raises(ConfigError, match=words):
            read(tmp_path / name)


@pytest.mark.parametrize(
    "text",
    [
        "key: 'sk-secret\n",
        "key: *sk-secret\n",
        "key: !sk-secret x\n",
        "key: !sk-secret!x y\n",
        "key: os.environ/sk-secret\n",
        "key: sk-secret\nkey: sk-secret\n",
        "key: &sk-secret [*sk-secret]\n",
        "key: {sk-secret\n",
        "key: [sk-secret, !!int sk-secret]\n",
        "sk-secret\n",
        "key: sk-secret: x\n",
        'key: "sk-secret\\q"\n',
        "key: !!timestamp sk-secret\nother: !!binary sk-secret\n",
    ],
)
def test_secrets_never_appear_in_a_message(text):
    """Whatever is wrong around a secret, its text is not repeated."""
    assert all("sk-secret" not in line for line in lines_of(text))


def test_a_document_over_another_overrides_key_by_key():
    """Mappings merge at every depth, everything else is replaced, and each value keeps its own file."""
    base = parse(Path("base.yaml"), b"a: {x: 1, y: 2}\nlist: [1, 2]\n")
    over = parse(Path("over.yaml"), b"a: {y: 3}\nlist: [9]\n").over(base)

    assert over.value == {"a": {"x": 1, "y": 3}, "list": [9]}
    assert over.problem(("a", "x"), "").file == Path("base.yaml")
    assert over.problem(("a", "y"), "").file == Path("over.yaml")


def test_problems_are_told_in_the_order_of_their_lines():
    """Problems are sorted by file and line, and each is told once."""
    late, early = (Problem(file=FILE, line=line, column=1, message="is odd") for line in (9, 2))

    assert in_order([late, early, late]) == [early, late]
    assert str(ConfigError([late, early])) == "config.yaml:2:1: is odd\nconfig.yaml:9:1: is odd"


def test_paths_are_written_as_people_do():
    """Keys are joined by dots and indices stand in brackets."""
    assert dotted(("tenants", 1, "policy")) == "tenants[1].policy"
    assert dotted(()) == ""


def test_half_a_character_is_replaced():
    """Two halves make one character, and one alone becomes the replacement character, so that all text can be sent."""
    assert parsed(r'a: "\ud83d\ude00 \ud83d"').value == {"a": "😀 �"}


@given(st.text(max_size=200) | st.text(alphabet="ab:-[]{}&*<>!'\"\n #,?|\t0.", max_size=60))
def test_no_text_breaks_the_reader(text):
    """Any text is either read or refused with our own error."""
    assert isinstance(lines_of(text), list)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1, max_size=40), json_values, max_size=4))
def test_json_reads_as_json(value):
    """YAML is a superset of JSON: what JSON wrote comes back equal."""
    import json

    assert parse(FILE, json.dumps(value).encode(), environ={}).value == value
