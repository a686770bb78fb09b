"""The keys of a policy: their defaults, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from proxy.grounding.calibration import Calibration, Curve
from proxy.grounding.types import Rule
from proxy.keys import validate
from proxy.policy.model import Policy, PolicyKeys
from proxy.yamlfile import parse

FILE = Path("acme.yaml")


def filled(text: str):
    """Fill a policy's keys from YAML: the keys or None, and the problems as printed."""
    keys, problems = validate(parse(FILE, text.encode(), environ={"N": "1500", "T": "0.25", "F": "false"}), PolicyKeys)
    return keys, [str(problem) for problem in problems]


def test_the_defaults_are_those_of_the_interface():
    """A policy that says nothing has every value that INTERFACES section 4 shows."""
    assert Policy().model_dump(by_alias=True) == {
        "name": "default",
        "description": "",
        "grounding": {"threshold": 0.7, "action": "block", "aggregate": "min"},
        "relevance": {"threshold": 0.5, "action": "block"},
        "blocked_message": "I can't answer that from the documents I have.",
        "redacted_message": "[removed: not in the documents]",
        "on_block": "message",
        "on_missing_context": "pass",
        "on_scorer_error": "block",
        "on_uninspected": {
            "tool_calls": "pass",
            "json": "score",
            "images": "block",
            "reasoning": "strip",
            "default": "block",
        },
        "abstention": "pass",
        "trust": ("system", "developer", "user"),
        "tool_results": "off",
        "history": "off",
        "query": "tagged",
        "stream": "sentence",
        "citations": {"threshold": 0.6},
        "calibration": None,
        "limits": {"source_chars": 100000, "query_chars": 1000, "answer_chars": 5000, "on_exceed": "score"},
        "timeout_ms": 2000,
        "retry": {"attempts": 0},
        "allow_trace": True,
        "audit_text": False,
        "models": ("*",),
        "shadow": None,
        "sample": 1.0,
    }


@pytest.mark.parametrize("off", ["off", '"off"', "false"])
def test_bare_and_quoted_off_mean_off(off):
    """YAML reads bare off as false; wherever off is a choice both are it."""
    keys, problems = filled(
        f"grounding: {{action: {off}}}\nrelevance: {{action: {off}}}\nhistory: {off}\ntool_results: {off}\n"
    )

    assert problems == []
    assert not keys.grounding.active
    assert not keys.relevance.active
    assert not Policy(**dict(keys)).active
    assert (keys.history, keys.tool_results) == ("off", "off")


def test_a_rule_is_overridden_key_by_key():
    """A rule that gives one key keeps the defaults of the others."""
    keys, _ = filled("grounding: {aggregate: mean}\nrelevance: {threshold: 0}\n")

    assert keys.grounding == Rule(threshold=0.7, aggregate="mean")
    assert keys.relevance == Rule(threshold=0.0)


@pytest.mark.parametrize("stream", ["sentence", "buffer", "after"])
def test_every_way_of_streaming_is_accepted(stream):
    """All three modes are choices."""
    assert filled(f"stream: {stream}")[0].stream == stream


def test_roles_may_be_any_of_a_conversation_and_their_order_does_not_count():
    """Two lists of the same roles are the same policy."""
    one, _ = filled("trust: [tool, assistant, system]")
    other, _ = filled("trust: [system, tool, assistant, tool]")

    assert one.trust == other.trust == ("system", "assistant", "tool")


def test_numbers_and_flags_may_come_from_the_environment():
    """Text from a variable stands for the number or the boolean it spells."""
    keys, problems = filled(
        "timeout_ms: os.environ/N\ngrounding: {threshold: os.environ/T}\nallow_trace: os.environ/F\n"
    )

    assert problems == []
    assert (keys.timeout_ms, keys.grounding.threshold, keys.allow_trace) == (1500, 0.25, False)


REFUSED = [
    ("grounding: {threshold: 1}", "grounding.threshold: must be 0.99 or less; try 0.7"),
    ("grounding: {threshold: 0.991}", "0.99 or less"),
    ("grounding: {threshold: -0.01}", "0 or more"),
    ("grounding: {threshold: .nan}", "finite"),
    ("grounding: {threshold: .inf}", "grounding.threshold: must be"),
    ('grounding: {threshold: "0.7"}', "must be a number"),
    ("grounding: {threshold: true}", "must be a number"),
    ("grounding: {threshold: null}", "must be a number"),
    ("grounding: {action: blok}", "must be block, flag, redact or off; try block"),
    ("grounding: {action: true}", "grounding.action: must be"),
    ("grounding: {action: 0}", "grounding.action: must be"),
    ("grounding: {aggregate: max}", "must be min or mean"),
    ("grounding: {treshold: 0.5}", "grounding.treshold: is not a known key; try threshold"),
    ("grounding: 0.7", "grounding: must be a mapping"),
    ("grounding:", "grounding: must be a mapping"),
    ("relevance: {threshold: 1.0}", "0.99 or less"),
    ("relevance: {action: redact}", "must be block, flag or off"),
    ("relevance: {aggregate: mean}", "relevance.aggregate: is not a known key"),
    ("citations: {threshold: 1}", "0.99 or less"),
    ('blocked_message: ""', "must not be empty"),
    ("blocked_message: 5", "must be text"),
    ("on_block: errors", "must be message or error; try error"),
    ("on_missing_context: flag", "must be pass or block"),
    ("on_scorer_error: flag", "must be block or pass"),
    ("on_uninspected: {json: skip}", "on_uninspected.json: must be score, pass or block"),
    ("on_uninspected: {tool_call: pass}", "try tool_calls"),
    ("on_uninspected: {jsn: pass}", "try json"),
    ("on_uninspected: {images: strip}", "must be block or pass"),
    ("abstention: flag", "must be pass, score or block"),
    ("trust: []", "at least one role"),
    ("trust: user", "must be a list"),
    ("trust: [admin]", "trust[0]: must be"),
    ("query: none", "must be tagged or last_user"),
    ("stream: sentences", "must be sentence, buffer or after; try sentence"),
    ("limits: {source_chars: 0}", "must be 1 or more; try 100000"),
    ("limits: {answer_chars: 1.5}", "must be a whole number"),
    ("limits: {query_chars: true}", "must be a whole number"),
    ("limits: {on_exceed: cut}", "must be score or reject"),
    ("timeout_ms: 0", "must be 1 or more; try 2000"),
    ("timeout_ms: 600001", "must be 600000 or less"),
    ("retry: {attempts: 6}", "must be 5 or less"),
    ("retry: {attempt: 1}", "try attempts"),
    ("sample: 1.5", "sample: must be 1 or less; try 1"),
    ("sample: -0.1", "0 or more"),
    ("shadow: [strict]", "shadow: must be one text"),
    ("redacted_message: 5", "must be text"),
    ("retry: {attempts: -1}", "must be 0 or more"),
    ("audit_text: 1", "must be true or false"),
    ("allow_trace: 1", "must be true or false; try true"),
    ("models: gpt", "must be a list"),
    ('models: [""]', "must not be empty"),
    ("calibration: cal.json", "must be the path of a calibration file"),
    ("name: other", "name: is not a known key; the keys here are description, grounding"),
    ("version: '1'", "version: is not a known key"),
    ("grouding: {}", "try grounding"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_every_wrong_value_is_refused_at_its_line(text, words):
    """Each thing refused names file, line and key, and what would be right."""
    keys, [problem] = filled(f"description: x\n{text}\n")

    assert keys is None
    assert problem.startswith("acme.yaml:2:")
    assert words in problem


def test_all_problems_are_found_at_once():
    """One wrong key hides no other."""
    text = "".join(f"{line}\n" for line in ("timeout_ms: 0", "stream: x", "trust: []", "grounding: {threshold: 2}"))

    assert len(filled(text)[1]) == 4


def test_a_value_is_never_repeated_in_a_message():
    """Whatever was written where it does not belong stays out of the log."""
    text = "timeout_ms: sk-secret\nstream: sk-secret\ntrust: [sk-secret]\nlimits: sk-secret\naudit_text: sk-secret\n"

    assert len(filled(text)[1]) == 5
    assert "sk-secret" not in str(filled(text)[1])


def test_a_message_of_any_length_a_chat_shows_is_accepted():
    """Up to 5,000 characters are accepted, no more."""
    assert filled(f"blocked_message: {'x' * 5000}")[1] == []
    assert "at most 5000" in filled(f"blocked_message: {'x' * 5001}")[1][0]


def test_a_policy_is_frozen():
    """A request keeps the policy it began with: nothing can change it."""
    with pytest.raises(ValidationError):
        Policy().stream = "after"
    with pytest.raises(ValidationError):
        Policy().limits.source_chars = 1


def test_the_version_is_the_policys_and_not_its_names():
    """Equal rules under two names have one version of 8 hexadecimal digits; any other value has another."""
    version = Policy().version

    assert len(version) == 8
    assert int(version, 16) >= 0
    assert Policy(name="other").version == version
    assert Policy(grounding=Rule(threshold=0.7)).version == version
    assert Policy(grounding=Rule(threshold=0.71)).version != version
    assert Policy(description="x").version != version


def test_a_calibration_is_part_of_the_version():
    """Two policies that differ in nothing but what a score means are two policies."""
    knots = ((0.0, 0.0), (0.5, 0.6), (1.0, 1.0))
    fitted = Calibration(scorer="x", grounding=Curve(knots=knots, method="platt", rows=60, positives=30))
    other = Calibration(scorer="x", relevance=fitted.grounding)

    assert len({Policy(calibration=each).version for each in (Calibration(), fitted, other)}) == 3
    assert Policy(calibration=None) == Policy()
    with pytest.raises(ValidationError, match="must be the path"):
        Policy(calibration={"scorer": "x"})


def test_rules_given_in_code_are_checked_too():
    """A rule made in Python meets the same conditions as one from a file."""
    assert Policy(relevance=Rule(threshold=0.2, action="flag")).relevance == Rule(threshold=0.2, action="flag")
    with pytest.raises(ValidationError):
        Policy(relevance=Rule(threshold=0.5, action="redact"))


def test_models_are_shell_patterns():
    """A model may be used when any pattern matches its whole name, letters in their case."""
    policy = Policy(models=("gpt-4*", "claude-?"))

    assert policy.allows_model("gpt-4o-mini")
    assert policy.allows_model("claude-3")
    assert not policy.allows_model("GPT-4o")
    assert not policy.allows_model("my-gpt-4")
    assert Policy().allows_model("anything/at:all")
    assert not Policy(models=()).allows_model("gpt-4o")


@given(st.floats(min_value=0, max_value=0.99))
def test_every_threshold_in_range_is_accepted(threshold):
    """From 0 to 0.99, both included, every number is a threshold."""
    keys, problems = filled(f"grounding: {{threshold: {threshold:.17f}}}")

    assert problems == []
    assert keys.grounding.threshold == pytest.approx(threshold)


@given(st.floats().filter(lambda number: not 0 <= number <= 0.99))
def test_every_threshold_out_of_range_is_refused(threshold):
    """Everything else is refused, whatever kind of number it is."""
    with pytest.raises(ValidationError):
        PolicyKeys.model_validate({"grounding": {"threshold": threshold}})


@given(st.text(min_size=1), st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_a_request_is_in_every_sample_that_is_as_large(request_id, share, other):
    """The id alone decides, so the sample of a larger share holds that of a smaller one."""
    smaller, larger = (Policy(sample=each).for_request(request_id).active for each in sorted((share, other)))

    assert larger or not smaller
    assert Policy(sample=share).for_request(request_id).active == Policy(sample=share).for_request(request_id).active


def test_a_sample_is_about_its_share_and_keeps_the_policys_name():
    """Of many ids the share is in; what is out is the same policy, in name and version, that judges nothing."""
    policy = Policy(name="acme", sample=0.25)
    drawn = [policy.for_request(f"req_{number}") for number in range(4000)]

    assert sum(each.active for each in drawn) == pytest.approx(1000, abs=120)
    assert {(each.name, each.version) for each in drawn} == {("acme", policy.version)}
    assert not Policy(sample=0).for_request("any").active
    assert all(Policy().for_request(f"req_{number}").active for number in range(100))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", False),
        ("grounding: {action: redact}", True),
        ("retry: {attempts: 1}", True),
        ("retry: {attempts: 1}\ngrounding: {action: flag}", False),
    ],
)
def test_what_may_be_changed_or_asked_for_again_is_held_whole(text, whole):
    """Redaction and retries need the whole answer before any of it leaves; a flag needs nothing."""
    assert Policy(**dict(filled(text)[0])).held_whole is whole
