"""The policies folder: whole sets, inheritance, and reloads that never lose the last good one."""

import asyncio
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.calibration import Calibration, Curve
from proxy.policy.model import Policy
from proxy.policy.store import PolicyStore, Reload, load_policy, policy_names, policy_problems
from proxy.yamlfile import ConfigError


def write(folder: Path, **texts: str) -> None:
    """Write policy files by name."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)


def store_of(folder: Path, **options) -> PolicyStore:
    """Open a folder without waiting for it to settle."""
    return PolicyStore(folder, settle=0, **options)


def problems_of(folder: Path) -> list[str]:
    """Load a folder that must fail, and give its problems with its own path cut off."""
    with pytest.raises(ConfigError) as caught:
        store_of(folder).load()
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_each_file_is_a_policy_named_after_it(tmp_path):
    """Both endings count; hidden files, other files and subfolders do not."""
    write(tmp_path, acme="timeout_ms: 10", default="timeout_ms: 20")
    (tmp_path / "beta.yml").write_text("timeout_ms: 30")
    (tmp_path / ".hidden.yaml").write_text("][")
    (tmp_path / "notes.txt").write_text("][")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "case.yaml").write_text("][")
    (tmp_path / "folder.yaml").mkdir()

    policies = store_of(tmp_path).load().policies

    assert {name: policy.timeout_ms for name, policy in policies.items()} == {"acme": 10, "default": 20, "beta": 30}
    assert all(policy.name == name for name, policy in policies.items())
    assert policy_names(tmp_path) == {"acme", "default", "beta"}


def test_default_exists_without_a_file(tmp_path):
    """A folder without default.yaml has the built-in defaults under that name, and files may extend them."""
    write(tmp_path, acme="extends: default\ntimeout_ms: 10")

    policies = store_of(tmp_path).load().policies

    assert policies["default"] == Policy(name="default")
    assert policies["acme"].timeout_ms == 10


def test_extending_overrides_key_by_key(tmp_path):
    """A chain of files is laid over one another, mappings merged, lists replaced."""
    write(
        tmp_path,
        default="timeout_ms: 10\nlimits: {source_chars: 1, query_chars: 1}\ntrust: [system, user]",
        middle="extends: default\nlimits: {source_chars: 2}",
        top="extends: middle\ntrust: [tool]\nlimits: {answer_chars: 3}",
    )

    top = store_of(tmp_path).load().policies["top"]

    assert top.timeout_ms == 10
    assert (top.limits.source_chars, top.limits.query_chars, top.limits.answer_chars) == (2, 1, 3)
    assert top.trust == ("tool",)


def test_a_file_stands_alone_unless_it_extends(tmp_path):
    """Without extends the values of default.yaml do not leak into another policy."""
    write(tmp_path, default="timeout_ms: 10", acme="description: mine")

    assert store_of(tmp_path).load().policies["acme"].timeout_ms == 2000


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"a": "timeout_ms: 1\nextends: nobody"}, ["a.yaml:2:10: extends: names a policy that does not exist"]),
        ({"a": "extends: a"}, ["a.yaml:1:10: extends: goes in a circle: a → a"]),
        ({"default": "extends: default"}, ["default.yaml:1:10: extends: goes in a circle"]),
        (
            {"a": "extends: b", "b": "description: x\nextends: a"},
            ["a.yaml:1:10: extends: goes in a circle", "b.yaml:2:10: extends: goes in a circle"],
        ),
        ({"a": "extends: [b]"}, ["a.yaml:1:10: extends: must name one policy"]),
        ({"a": "extends:"}, ["a.yaml:1:9: extends: must name one policy"]),
        ({"a": ""}, ["a.yaml:1:1: is empty"]),
        ({"a": "\n \n"}, ["a.yaml:1:1: is empty"]),
        ({"a": "x: ["}, ["a.yaml:1:"]),
        ({"a": "- x"}, ["a.yaml:1:1: must be a mapping"]),
        ({"a": "name: b"}, ["a.yaml:1:1: name: is not a known key"]),
        ({"a": "description: x\ndescription: y"}, ["a.yaml:2:1: description: is given twice"]),
        ({"a": "blocked_message: os.environ/NO_SUCH_VARIABLE"}, ["a.yaml:1:18: blocked_message: needs"]),
        ({"a b": "description: x"}, ["a b.yaml: must be named"]),
        (
            {"a": "timeout_ms: 0\nstream: x", "b": "trust: []"},
            ["a.yaml:1:13: timeout_ms", "a.yaml:2:9: stream", "b.yaml:1:8: trust"],
        ),
        (
            {"a": "extends: b\ntimeout_ms: 0", "b": "x: ["},
            ["a.yaml:2:13: timeout_ms", "b.yaml:1:"],
        ),
        (
            {"a": "extends: nobody\ntimeout_ms: 0"},
            ["a.yaml:1:10: extends", "a.yaml:2:13: timeout_ms"],
        ),
    ],
)
def test_every_problem_of_every_file_is_told_with_its_line(tmp_path, texts, expected):
    """What is wrong anywhere in the folder is found in one go."""
    write(tmp_path, **texts)

    found = problems_of(tmp_path)

    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_a_problem_of_a_base_is_told_once_and_in_its_own_file(tmp_path):
    """Policies that extend a wrong one do not repeat its problem."""
    write(tmp_path, base="limits: {source_chars: 0}", a="extends: base", b="extends: base")

    [found] = problems_of(tmp_path)

    assert found.startswith("base.yaml:1:24: limits.source_chars")


def test_two_files_of_one_name_are_refused(tmp_path):
    """acme.yaml and acme.yml cannot both be acme."""
    write(tmp_path, acme="description: x")
    (tmp_path / "acme.yml").write_text("description: y")

    assert problems_of(tmp_path) == ["acme.yml: names the same policy as acme.yaml; keep one"]


def test_an_endless_chain_is_bounded(tmp_path):
    """More than 20 files in a row are refused instead of followed."""
    write(tmp_path, p0="description: x", **{f"p{i}": f"extends: p{i - 1}" for i in range(1, 40)})

    assert all("in a row" in line for line in problems_of(tmp_path))


def test_what_cannot_be_read_is_a_problem(tmp_path):
    """A missing folder and a dangling link are told, not raised as they come."""
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")

    assert problems_of(tmp_path) == ["gone.yaml: cannot be read: no such file or directory"]
    assert "must be a folder" in problems_of(tmp_path / "none")[0]


def test_a_snapshot_is_whole_and_cannot_be_changed(tmp_path):
    """Its mapping is read-only, and its version follows the policies'."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    first = store.load()

    assert store.snapshot is first
    with pytest.raises(TypeError):
        first.policies["acme"] = Policy()
    write(tmp_path, acme="timeout_ms:   10 # the same")
    assert store.load().version == first.version
    write(tmp_path, acme="timeout_ms: 11")
    assert store.load().version != first.version


def test_there_is_no_snapshot_before_the_first_load(tmp_path):
    """Asking too early is a mistake in the program, and says so."""
    with pytest.raises(RuntimeError, match="not loaded"):
        _ = store_of(tmp_path).snapshot


def test_a_refresh_says_what_happened(tmp_path):
    """Unchanged, success and failure are told apart; a bad set is told once and leaves the last good one."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    assert store.refresh() == Reload(result="unchanged")

    write(tmp_path, acme="timeout_ms: 20")
    assert store.refresh() == Reload(result="success")
    assert store.snapshot.policies["acme"].timeout_ms == 20

    write(tmp_path, acme="timeout_ms: 0")
    failed = store.refresh()
    assert failed.result == "failure"
    assert failed.problems[0].line == 1
    assert store.refresh() == Reload(result="unchanged")
    assert store.snapshot.policies["acme"].timeout_ms == 20

    write(tmp_path, acme="timeout_ms: 30")
    assert store.refresh() == Reload(result="success")
    assert store.snapshot.policies["acme"].timeout_ms == 30


def test_a_bad_set_changes_nothing_at_all(tmp_path):
    """One wrong file keeps every other file's edit out too."""
    write(tmp_path, a="timeout_ms: 10", b="timeout_ms: 10")
    store = store_of(tmp_path)
    before = store.load()

    write(tmp_path, a="timeout_ms: 20", b="timeout_ms: 0")

    assert store.refresh().result == "failure"
    assert store.snapshot is before


def test_a_repair_with_the_same_time_stamp_is_seen(tmp_path):
    """Content decides, not the modification time or the size."""
    file = tmp_path / "acme.yaml"
    file.write_text("timeout_ms: 10")
    os.utime(file, (1, 1))
    store = store_of(tmp_path)
    store.load()

    for value, result in {"00": "failure", "20": "success"}.items():
        file.write_text(f"timeout_ms: {value}")
        os.utime(file, (1, 1))
        assert store.refresh().result == result
    assert store.snapshot.policies["acme"].timeout_ms == 20


def test_undoing_a_bad_edit_is_a_success(tmp_path):
    """Back at the good content the failure is over."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    write(tmp_path, acme="timeout_ms: 0")
    store.refresh()
    write(tmp_path, acme="timeout_ms: 10")

    assert store.refresh().result == "success"


def test_a_configmap_swap_is_seen(tmp_path):
    """Files behind a symbolic link to a folder change when the link is renamed over."""
    for name, value in {"one": 10, "two": 20}.items():
        (tmp_path / f"..{name}").mkdir()
        write(tmp_path / f"..{name}", acme=f"timeout_ms: {value}")
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "acme.yaml").symlink_to("..data/acme.yaml")
    store = store_of(tmp_path)
    assert store.load().policies["acme"].timeout_ms == 10

    (tmp_path / "..next").symlink_to("..two")
    (tmp_path / "..next").replace(tmp_path / "..data")

    assert store.refresh().result == "success"
    assert store.snapshot.policies["acme"].timeout_ms == 20


def test_a_vanished_folder_is_one_failure_and_its_return_a_success(tmp_path):
    """Unmounting the folder keeps the last good set in force."""
    folder = tmp_path / "policies"
    folder.mkdir()
    write(folder, acme="timeout_ms: 10")
    store = store_of(folder)
    before = store.load()

    shutil.move(folder, tmp_path / "away")
    assert [store.refresh().result, store.refresh().result] == ["failure", "unchanged"]
    assert store.snapshot is before
    shutil.move(tmp_path / "away", folder)
    assert store.refresh().result == "success"


def test_a_policy_in_use_may_not_be_dropped(tmp_path):
    """Removing what a tenant refers to fails with its name; so does starting without it."""
    write(tmp_path, acme="timeout_ms: 10", other="timeout_ms: 10")
    store = store_of(tmp_path, required={"acme"})
    store.load()

    (tmp_path / "other.yaml").unlink()
    assert store.refresh().result == "success"
    (tmp_path / "acme.yaml").unlink()
    failed = store.refresh()

    assert failed.result == "failure"
    assert str(failed.problems[0]) == f"{tmp_path}/acme.yaml: does not exist, but a tenant uses this policy"
    assert "acme" in store.snapshot.policies
    with pytest.raises(ConfigError, match="a tenant uses"):
        store_of(tmp_path, required={"acme"}).load()


def test_a_file_still_being_written_is_left_alone(tmp_path):
    """A folder that differs a moment later does not count yet: half a policy can be valid and laxer than the whole."""
    write(tmp_path, acme="timeout_ms: 10")
    store = PolicyStore(tmp_path, settle=0.3)
    store.load()
    write(tmp_path, acme="timeout_ms: 20\n")
    rest = threading.Timer(0.1, write, [tmp_path], {"acme": "timeout_ms: 20\non_missing_context: block\n"})
    rest.start()

    assert store.refresh().result == "unchanged"
    rest.join()
    assert store.snapshot.policies["acme"].timeout_ms == 10
    assert store.refresh().result == "success"
    assert store.snapshot.policies["acme"].on_missing_context == "block"


async def test_an_edit_shows_within_two_seconds(tmp_path):
    """The watch swaps the set and reports it; cancelling ends it."""
    write(tmp_path, acme="timeout_ms: 10")
    store = PolicyStore(tmp_path)
    store.load()
    reports: asyncio.Queue[Reload] = asyncio.Queue()
    watching = asyncio.create_task(store.watch(reports.put_nowait))
    write(tmp_path, acme="timeout_ms: 20")

    async with asyncio.timeout(2):
        assert (await reports.get()).result == "success"
    assert store.snapshot.policies["acme"].timeout_ms == 20
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching


def test_a_default_that_goes_is_a_failure(tmp_path):
    """Deleting default.yaml while serving keeps the last good set and says so; it may come back."""
    write(tmp_path, default="timeout_ms: 7")
    store = store_of(tmp_path)
    store.load()
    (tmp_path / "default.yaml").unlink()
    reload = store.refresh()
    assert (reload.result, "is gone" in str(reload.problems[0])) == ("failure", True)
    assert store.snapshot.policies["default"].timeout_ms == 7
    write(tmp_path, default="timeout_ms: 8")
    assert (store.refresh().result, store.snapshot.policies["default"].timeout_ms) == ("success", 8)


def test_a_pipe_is_no_policy(tmp_path):
    """Something that would wait for a writer is passed over, and edits are still seen."""
    write(tmp_path, default="timeout_ms: 7")
    store = store_of(tmp_path)
    store.load()
    os.mkfifo(tmp_path / "pipe.yaml")
    write(tmp_path, default="timeout_ms: 8")
    assert (store.refresh().result, store.snapshot.policies["default"].timeout_ms) == ("success", 8)


def test_a_name_that_is_no_text_is_a_problem_and_not_the_end_of_watching(tmp_path):
    """A file's name may be any bytes; the set in force stays, and is told about once."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml"))
    odd.write_text("timeout_ms: 20")

    failed = store.refresh()
    assert (failed.result, [problem.message for problem in failed.problems]) == (
        "failure",
        ["must be named with up to 64 letters, digits, dots, dashes and underscores"],
    )
    assert store.refresh() == Reload(result="unchanged")
    odd.unlink()
    assert store.refresh().result == "success"


async def test_watching_outlives_what_nobody_thought_of(tmp_path, monkeypatch):
    """An error of ours while a set is read is a failure of that set, told once; the next good edit is taken up."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    heard: list[Reload] = []
    watching = asyncio.create_task(store.watch(heard.append, interval=0.02))
    with monkeypatch.context() as patched:
        patched.setattr("proxy.policy.store._policies", lambda *_: 1 / 0)
        write(tmp_path, acme="timeout_ms: 20")
        await asyncio.sleep(0.3)
    assert [each.result for each in heard] == ["failure"]
    assert store.snapshot.policies["acme"].timeout_ms == 10
    assert store.refresh(asked=True).result == "failure"

    write(tmp_path, acme="timeout_ms: 30")
    await asyncio.sleep(0.3)
    watching.cancel()
    assert [each.result for each in heard] == ["failure", "success"]
    assert store.snapshot.policies["acme"].timeout_ms == 30


GOOD = st.integers(1, 99).map(lambda number: f"timeout_ms: {number}")
BAD = st.sampled_from(["timeout_ms: 0", "x: [", "", "extends: nobody", "stream: no", "- x"])
EDITS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "default"]), GOOD | BAD | st.none(), min_size=1), max_size=8
)


@given(EDITS)
@settings(deadline=None, max_examples=60)
def test_the_snapshot_is_always_the_last_good_whole_set(edits):
    """After any sequence of edits the set in force is what a fresh start at the last good moment would load."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = store_of(folder)
        expected = dict(store.load().policies)
        default = False
        for edit in edits:
            for policy, text in edit.items():
                (folder / f"{policy}.yaml").unlink(missing_ok=True)
                if text is not None:
                    write(folder, **{policy: text})
            result = store.refresh().result
            try:
                fresh = dict(store_of(folder).load().policies)
            except ConfigError:
                assert result != "success"
            else:
                if default and not (folder / "default.yaml").exists():
                    assert result != "success"  # a default that goes is not silently replaced by the built-in one
                    continue
                expected, default = fresh, (folder / "default.yaml").exists()
            assert dict(store.snapshot.policies) == expected


def test_a_policy_is_checked_alone_with_those_it_extends(tmp_path):
    """Checking one file finds its own and its bases' problems, and none of its neighbours'."""
    write(tmp_path, base="timeout_ms: 0", a="extends: base\nstream: x", neighbour="stream: x", fine="stream: after")

    assert {problem.file.name for problem in policy_problems(tmp_path / "a.yaml")} == {"a.yaml", "base.yaml"}
    assert policy_problems(tmp_path / "fine.yaml") == []
    assert "does not exist" in str(policy_problems(tmp_path / "none.yaml")[0])
    assert "must be a folder" in str(policy_problems(tmp_path / "none" / "a.yaml")[0])
    assert "does not exist" in str(policy_problems(tmp_path / "a.txt")[0])
    (tmp_path / "a.txt").write_text("timeout_ms: 1")
    assert "ends in .yaml" in str(policy_problems(tmp_path / "a.txt")[0])


def calibration(middle: float, scorer: str = "embedded/1") -> Calibration:
    """A calibration that lifts 0.5 to ``middle``."""
    knots = ((0.0, 0.0), (0.5, middle), (1.0, 1.0))
    return Calibration(scorer=scorer, grounding=Curve(knots=knots, method="platt", rows=60, positives=30))


def test_a_policy_names_its_calibration_by_a_path_from_its_own_file(tmp_path):
    """The file may lie anywhere; without one nothing is changed; null takes away what a base names."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (tmp_path / "cal.json").write_text(calibration(0.2).text)
    (folder / "near.json").write_text("\ufeff" + calibration(0.3).text)
    write(
        folder,
        far="calibration: ../cal.json",
        near="calibration: near.json",
        whole=f"calibration: {tmp_path / 'cal.json'}",
        plain="description: x",
        none="extends: far\ncalibration: null",
    )

    policies = store_of(folder).load().policies

    assert policies["far"].calibration == policies["whole"].calibration == calibration(0.2)
    assert policies["near"].calibration.grounding(0.5) == 0.3
    assert policies["plain"].calibration == policies["none"].calibration == Calibration()
    assert load_policy(folder / "far.yaml").calibration == calibration(0.2)


def test_a_calibration_through_extends_is_relative_to_the_file_that_names_it(tmp_path):
    """What extends takes the calibration too, and every version in it follows the file's content."""
    (tmp_path / "cal.json").write_text(calibration(0.2).text)
    write(tmp_path, base="calibration: cal.json", top="extends: base\ntimeout_ms: 10")
    store = store_of(tmp_path)
    first = store.load()
    assert first.policies["top"].calibration == calibration(0.2)

    (tmp_path / "cal.json").write_text(calibration(0.3).text)
    second = store.load()

    assert second.version != first.version
    for name in ("base", "top"):
        assert second.policies[name].version != first.policies[name].version
    assert first.policies["default"].version == second.policies["default"].version


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("calibration: none.json", "names a file that cannot be read: no such file or directory; its path is relative"),
        ("calibration: .", "names a file that is no ordinary file"),
        ("calibration: pipe", "names a file that is no ordinary file"),
        ('calibration: "a\\0b"', "names a file that has a name that no file can have"),
        ("calibration: bad.json", "names a file that cannot be used: is not valid JSON"),
        ("calibration: bytes.json", "names a file that cannot be used: is not UTF-8 text"),
        ("calibration: big.json", "names a file larger than"),
        ("calibration: other.json", "for the scorer remote/x, and scores come from embedded/1; fit one"),
        ("calibration: a.yaml", "names a file that cannot be used: is not valid JSON"),
        ("calibration: 5", "must be the path of a calibration file, or null"),
        ("calibration: {method: platt}", "must be the path of a calibration file"),
        ('calibration: ""', "must be the path of a calibration file"),
        ("calibration: os.environ/NO_SUCH_VARIABLE", "needs the environment variable"),
    ],
)
def test_a_calibration_that_cannot_be_used_is_a_problem_of_its_line(tmp_path, written, words):
    """Whatever is wrong with the file or its path: one problem, at the line that names it, told once."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bad.json").write_text('{"groundwarden_cali')
    (tmp_path / "bytes.json").write_bytes(b'{"\xff')
    (tmp_path / "big.json").write_bytes(b" " * 1_048_577)
    (tmp_path / "other.json").write_text(calibration(0.2, scorer="remote/x").text)
    write(tmp_path, a=f"description: x\n{written}", b="extends: a")
    with pytest.raises(ConfigError) as caught:
        store_of(tmp_path, scorer="embedded/1").load()
    [problem] = caught.value.problems
    assert (problem.file.name, problem.line) == ("a.yaml", 2)
    assert words in str(problem)


def test_a_wrong_calibration_hides_no_other_problem(tmp_path):
    """Everything in the folder is still found at once."""
    write(tmp_path, a="calibration: none.json\ntimeout_ms: 0", b="extends: nobody\ncalibration: none.json")
    assert [line.split(": ")[1] for line in problems_of(tmp_path)] == [
        "calibration",
        "timeout_ms",
        "extends",
        "calibration",
    ]


def test_a_changed_calibration_is_seen_and_a_bad_one_changes_nothing(tmp_path):
    """The file is watched with the policies, wherever it lies; repaired with an old time stamp it is seen too."""
    folder, file = tmp_path / "policies", tmp_path / "cal.json"
    folder.mkdir()
    file.write_text(calibration(0.2).text)
    write(folder, acme="calibration: ../cal.json")
    store = store_of(folder)
    store.load()
    assert store.refresh().result == "unchanged"

    file.write_text(calibration(0.3).text)
    assert store.refresh().result == "success"
    assert store.snapshot.policies["acme"].calibration == calibration(0.3)

    file.write_text("{")
    failed = store.refresh()
    assert (failed.result, failed.problems[0].file.name) == ("failure", "acme.yaml")
    assert store.refresh().result == "unchanged"
    file.unlink()
    assert store.refresh().result == "failure"
    assert store.snapshot.policies["acme"].calibration == calibration(0.3)

    file.write_text(calibration(0.3).text)
    os.utime(file, (1, 1))
    assert store.refresh().result == "success"


def test_a_calibration_no_longer_named_is_no_longer_watched(tmp_path):
    """And one that is named anew is watched from then on."""
    (tmp_path / "cal.json").write_text(calibration(0.2).text)
    write(tmp_path, acme="calibration: cal.json")
    store = store_of(tmp_path)
    store.load()
    write(tmp_path, acme="description: x")
    assert store.refresh().result == "success"
    (tmp_path / "cal.json").write_text("{")
    assert store.refresh().result == "unchanged"
    write(tmp_path, acme="calibration: cal.json")
    assert store.refresh().result == "failure"
    (tmp_path / "cal.json").write_text(calibration(0.3).text)
    assert store.refresh().result == "success"
    assert store.snapshot.policies["acme"].calibration == calibration(0.3)


def test_a_store_told_what_scores_come_from_takes_only_calibrations_for_it(tmp_path):
    """A scorer's name may be known only when it is warm: then the set in force is judged by it, and every later one."""
    (tmp_path / "cal.json").write_text(calibration(0.2).text)
    write(tmp_path, acme="calibration: cal.json")
    store = store_of(tmp_path)
    before = store.load()
    store.expect("embedded/1")
    assert store.snapshot.version == before.version

    (tmp_path / "cal.json").write_text(calibration(0.2, scorer="remote/x").text)
    assert store.refresh().result == "failure"
    (tmp_path / "cal.json").write_text(calibration(0.2).text)
    with pytest.raises(ConfigError, match="for the scorer embedded/1, and scores come from other"):
        store.expect("other")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            {"acme": "shadow: stict", "strict": "{}"},
            "acme.yaml:1:9: shadow: names a policy that does not exist; try strict",
        ),
        (
            {"acme": "shadow: next", "next": "trust: [user]"},
            "acme.yaml:1:9: shadow: judges what this policy reads: trust must be the same there; try extends: acme in",
        ),
        ({"acme": "shadow: next", "next": "history: source"}, "history must be the same there"),
        (
            {"acme": "shadow: acme-next", "strict": "{}"},  # itself, the nearest name, would be no shadow
            "acme.yaml:1:9: shadow: names a policy that does not exist; try default",
        ),
        ({"acme": "extends: acme-base"}, "acme.yaml:1:10: extends: names a policy that does not exist; try default"),
    ],
)
def test_a_shadow_or_base_must_exist_and_a_shadow_read_the_same(tmp_path, texts, words):
    """What is judged twice must be the same, or the two outcomes would say nothing of the policies."""
    write(tmp_path, **texts)
    [problem] = problems_of(tmp_path)

    assert words in problem


def test_a_shadow_may_extend_what_it_is_the_shadow_of(tmp_path):
    """Then it inherits the key, and is its own shadow, which is none; the built-in default can be one too."""
    write(
        tmp_path,
        acme="shadow: next\nhistory: off",
        next="extends: acme\ngrounding: {threshold: 0.8}",
        b="shadow: default",
    )
    policies = store_of(tmp_path).load().policies

    assert (policies["acme"].shadow, policies["next"].shadow, policies["b"].shadow) == ("next", "next", "default")


def test_who_asks_hears_again_what_failed(tmp_path):
    """A look that somebody asked for tells of a bad set each time, and is quiet again once it is good."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    assert store.refresh(asked=True).result == "unchanged"

    write(tmp_path, acme="timeout_ms: 0")
    first, second = store.refresh(asked=True), store.refresh(asked=True)
    assert (first.result, first.problems) == ("failure", second.problems)
    assert store.refresh().result == "unchanged"

    write(tmp_path, acme="timeout_ms: 20")
    assert store.refresh(asked=True).result == "success"
    assert store.refresh(asked=True) == Reload(result="unchanged")


def test_who_asks_waits_for_a_folder_that_is_being_written(tmp_path, monkeypatch):
    """It is looked at again until it stays the same; if it never does, that is told and nothing is swapped."""
    write(tmp_path, acme="timeout_ms: 10")
    store = store_of(tmp_path)
    store.load()
    number = 11

    def keeps_changing(_: float) -> None:
        nonlocal number
        number += 1
        write(tmp_path, acme=f"timeout_ms: {number}")

    write(tmp_path, acme="timeout_ms: 11")
    monkeypatch.setattr("proxy.policy.store.time.sleep", keeps_changing)
    reload = store.refresh(asked=True)
    assert (reload.result, len(reload.problems)) == ("unchanged", 1)
    assert "is being written" in str(reload.problems[0])
    assert store.snapshot.policies["acme"].timeout_ms == 10

    waits = iter([True, False, False])
    monkeypatch.setattr("proxy.policy.store.time.sleep", lambda _: keeps_changing(0) if next(waits) else None)
    assert store.refresh(asked=True).result == "success"
    assert store.snapshot.policies["acme"].timeout_ms == number
