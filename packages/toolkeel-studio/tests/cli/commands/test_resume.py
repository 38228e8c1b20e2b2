"""A run that waits is saved, decided about, and gone on with: in other processes, and once."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.asking import KEYS, at_terminal, ids, make, resume, saved, words, written
from tests.cli.commandline import environment, toolkeel
from tests.cli.conftest import Here
from toolkeel import RunState
from toolkeel_studio.cli.commands.launch import Launch
from toolkeel_studio.cli.commands.resume import _on
from toolkeel_studio.cli.exit_codes import UsageProblem

pytestmark = pytest.mark.slow  # real terminals and processes: `make test-all`


@pytest.fixture
def asker(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that waits, for what does not use it up."""
    folder = make(tmp_path_factory.mktemp("waiting"))
    saved(folder, "one")
    return folder


@pytest.fixture
def inside(here: Here, waiting: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """The command in this process, in that folder."""
    monkeypatch.chdir(waiting)
    return here


def decide(folder: Path, *more: str) -> None:
    """Decide in a process of its own, which needs neither tools nor a model."""
    ended = toolkeel("resume", "state.json", "--decide-only", *more, cwd=folder)
    assert ended.code == 0, ended.err


def test_without_a_terminal_the_run_is_saved_and_the_resume_command_works(asker: Path) -> None:
    home = asker / "xdg"
    run = toolkeel(*words("one"), cwd=asker, env={"XDG_STATE_HOME": str(home)})
    assert (run.code, run.out, written(asker)) == (75, "", [])
    [path] = (home / "toolkeel" / "runs").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    command = shlex.split(run.err.splitlines()[-1])
    assert command[:3] == ["toolkeel", "resume", str(path)]
    command[command.index("-m") + 1] = "models.py:after"  # a script begins anew in each process
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=asker,
        env=environment(XDG_STATE_HOME=str(home)),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert written(asker) == ["猫"]


@pytest.mark.parametrize("stdin", ["", "y\ny\n"])
def test_input_that_is_no_terminal_never_approves(asker: Path, stdin: str) -> None:
    ended = toolkeel(*words("one", "--state", "s"), cwd=asker, stdin=stdin, env={"CI": "true"})
    assert (ended.code, written(asker)) == (75, [])


def test_a_closed_stdin_never_approves(asker: Path) -> None:
    command = shlex.join([sys.executable, "-m", "toolkeel", *words("one", "--state", "s")])
    done = subprocess.run(
        ["sh", "-c", f"{command} <&-"], cwd=asker, env=environment(), stderr=-1, check=False
    )
    assert (done.returncode, written(asker)) == (75, []), done.stderr


def test_suspended_in_one_process_decided_in_a_second_finished_in_a_third(asker: Path) -> None:
    path = saved(asker)
    first, second = ids(path)
    decide(asker, "--approve", first)
    decide(asker, "--deny", second, "--reason", "不行")
    assert written(asker) == []
    ended = resume(asker, "--json")
    assert ended.code == 0
    assert written(asker) == ["first"]
    results = {
        event["message"]["content"]: event["message"]["status"]
        for event in map(json.loads, ended.out.splitlines())
        if event["type"] == "tool_finished"
    }
    assert results == {
        "wrote first": "success",
        "The call of 'write' was not approved: 不行": "error",
    }


def test_a_person_answers_in_place_of_a_call_and_nothing_is_run(asker: Path) -> None:
    path = saved(asker, "one")
    [id] = ids(path)
    assert resume(asker, "--answer", f"{id}=写 = done").code == 0
    assert not written(asker)


def test_a_saved_run_goes_on_once(asker: Path) -> None:
    path = saved(asker, "one")
    [id] = ids(path)
    assert resume(asker, "--approve", id).code == 0
    assert (path.exists(), Path(f"{path}.used").exists()) == (False, True)
    again = resume(asker, "--approve", id)
    assert (again.code, again.out) == (3, "")
    assert "was used already: a saved run goes on once" in again.err
    assert written(asker) == ["猫"]


def test_a_copy_of_a_saved_run_does_not_serve_again(asker: Path) -> None:
    path = saved(asker, "one")
    [id] = ids(path)
    decide(asker, "--approve", id)
    copy = asker / "copy.json"
    shutil.copy2(path, copy)
    assert resume(asker).code == 0
    copy.rename(path)
    again = resume(asker)
    assert again.code == 3
    assert "has served already" in again.err
    assert written(asker) == ["猫"]


def test_of_many_processes_one_goes_on(asker: Path) -> None:
    path = saved(asker, "one")
    decide(asker, "--approve", ids(path)[0])
    command = [sys.executable, "-m", "toolkeel", "resume", "state.json"]
    command += ["-t", "tools.py", "-m", "models.py:after"]
    running = [
        subprocess.Popen(command, cwd=asker, env=environment(), stdout=-3, stderr=-3)
        for _ in range(4)
    ]
    assert sorted(process.wait(60) for process in running) == [0, 3, 3, 3]
    assert written(asker) == ["猫"]


def test_edited_arguments_run_and_bad_ones_leave_the_run_as_it_was(asker: Path) -> None:
    path = saved(asker, "one")
    [id] = ids(path)
    bad = resume(asker, "--edit", f'{id}={{"text": "b", "times": "many"}}')
    assert bad.code == 2
    assert 'times: expected an integer, got "many"' in bad.err
    assert path.exists()
    good = resume(asker, "--edit", f'{id}={{"text": "狗", "times": 2}}')
    assert good.code == 0
    assert written(asker) == ["狗", "狗"]


def test_what_is_undecided_is_asked_about_on_the_terminal(asker: Path) -> None:
    path = saved(asker)
    words = ["resume", "state.json", "-t", "tools.py", "-m", "models.py:after"]
    terminal = at_terminal(asker, *words, "--approve", ids(path)[0])
    assert '"second"' in terminal.until(lambda screen: KEYS in screen)
    assert '"first"' not in terminal.screen.partition("needs your approval")[2]
    terminal.type("y")
    assert terminal.end().code == 0
    assert sorted(written(asker)) == ["first", "second"]


def test_without_decisions_and_terminal_the_saved_run_stays(asker: Path) -> None:
    path = saved(asker)
    before = path.read_text("utf-8")
    ended = resume(asker)
    assert ended.code == 75
    assert f"--approve {ids(path)[0]} --approve {ids(path)[1]}" in ended.err
    assert path.read_text("utf-8") == before


def test_a_run_decided_in_part_waits_again_for_the_rest(asker: Path) -> None:
    path = saved(asker)
    ended = resume(asker, "--approve", ids(path)[0], "--state", "next.json")
    assert ended.code == 75
    assert written(asker) == ["first"]
    state = RunState.from_json((asker / "next.json").read_text("utf-8"))
    assert [ticket.arguments for ticket in state.pending] == [{"text": "second", "times": 1}]


def test_a_run_that_asks_again_is_saved_again(asker: Path) -> None:
    path = saved(asker, "one")
    ended = resume(asker, "--approve", ids(path)[0], "--state", "next.json", model="again")
    assert ended.code == 75
    assert (asker / "next.json").exists()
    assert written(asker) == ["猫"]


def test_an_approval_is_not_for_a_tool_that_has_changed(asker: Path) -> None:
    """And nothing is used up: the run goes on without that decision, which is asked for anew."""
    path = saved(asker, "one")
    tools = asker / "tools.py"
    tools.write_text(tools.read_text("utf-8").replace("destructive=False", "destructive=True"))
    ended = resume(asker, "--approve", ids(path)[0], "--state", "next.json")
    assert (ended.code, written(asker), path.exists()) == (3, [], True)
    assert "has changed since the decision" in ended.err
    assert resume(asker, "--state", "next.json").code == 75


def test_a_decision_that_came_too_late_does_not_count(asker: Path) -> None:
    path = saved(asker, "one")
    data = json.loads(path.read_text("utf-8"))
    data["pending"][0]["expires"] = time.time() - 1
    path.write_text(json.dumps(data), "utf-8")
    ended = resume(asker, "--approve", ids(path)[0])
    assert ended.code == 3
    assert "has expired" in ended.err
    assert (path.exists(), written(asker)) == (True, [])


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--approve", "0"), 2, "no ticket '0' waits"),
        (("--approve", "ffffffffff"), 2, "no ticket 'ffffffffff' waits"),
        (("--approve", "ID", "--deny", "ID"), 2, "is decided twice"),
        (("--edit", "ID"), 2, "--edit takes ID=JSON"),
        (("--edit", "ID=[1]"), 2, "--edit takes ID=JSON"),
        (("--edit", "ID={"), 2, "this is no JSON"),
        (("--answer", "ID"), 2, "--answer takes ID=TEXT"),
        (("--reason", "no"), 2, "--reason says why of --deny"),
        (("--approve", "ID", "--state", "tools.py"), 2, "tools.py exists already"),
        (("--approve", "ID", "--state", "no/state"), 2, "there is no folder 'no'"),
        (("--approve", "ID", "-t", "nothing.py"), 3, "there is no file 'nothing.py'"),
        (("--approve", "ID", "--rules", "no.toml"), 3, "no.toml"),
    ],
)
def test_a_wrong_resume_says_why_and_uses_nothing_up(
    inside: Here, waiting: Path, more: tuple[str, ...], code: int, said: str
) -> None:
    path = waiting / "state.json"
    [id] = ids(path)
    words = ["resume", "state.json", "-t", "tools.py", "-m", "models.py:after"]
    ended = inside(*words, *(word.replace("ID", id) for word in more))
    assert ended.code == code
    assert said in ended.err
    assert (path.exists(), written(waiting)) == (True, [])


def test_a_file_that_others_can_write_is_not_trusted(asker: Path) -> None:
    path = saved(asker, "one")
    path.chmod(0o666)
    ended = resume(asker, "--approve", ids(path)[0])
    assert ended.code == 3
    assert "not trusted" in ended.err
    assert written(asker) == []


@pytest.mark.parametrize(
    "change",
    [
        {"decisions": [{"ticket": "../../x", "seal": "", "verdict": "approve"}]},
        {"decisions": [{"ticket": "0" * 32, "seal": "", "verdict": "approve"}]},
        {"decisions": [3]},
        {"decisions": 3},
        {"version": 99},
        {"pending": [{}]},
    ],
)
def test_a_file_that_was_tampered_with_is_refused(
    inside: Here, waiting: Path, change: dict[str, object]
) -> None:
    data = json.loads((waiting / "state.json").read_text("utf-8"))
    other = waiting / "tampered.json"
    other.touch(0o600)
    other.write_text(json.dumps({**data, **change}), "utf-8")
    ended = inside("resume", "tampered.json", "-t", "tools.py")
    assert ended.code == 3
    assert written(waiting) == []


def test_a_decision_with_another_digest_counts_for_nothing(asker: Path) -> None:
    path = saved(asker, "one")
    decide(asker, "--approve", ids(path)[0])
    data = json.loads(path.read_text("utf-8"))
    data["pending"][0]["arguments"] = {"text": "evil"}
    data["decisions"][0]["seal"] = "0" * 64
    path.write_text(json.dumps(data), "utf-8")
    assert resume(asker).code == 3
    assert written(asker) == []


# — policies —


def test_deny_refuses_what_asks_and_the_model_goes_on(asker: Path) -> None:
    ended = toolkeel(*words("one", "--approve", "deny"), cwd=asker)
    assert (ended.code, ended.out) == (0, "done\n")
    assert "this run refuses whatever needs approval" in ended.err
    assert written(asker) == []


def test_rules_and_named_tools_are_let_through(asker: Path) -> None:
    (asker / "rules.toml").write_text('[approval]\nask = ["write(text=second)"]\n', "utf-8")
    ended = toolkeel(
        *words("two", "--rules", "rules.toml", "--yes-to", "wri*", "--state", "s"), cwd=asker
    )
    assert ended.code == 75  # what the file asks about is asked about
    assert written(asker) == ["first"]
    assert "--rules rules.toml --yes-to 'wri*'" in ended.err


@pytest.mark.parametrize("way", ["never", "yes", "always", ""])
def test_there_is_no_way_to_approve_everything_by_a_word(
    inside: Here, waiting: Path, way: str
) -> None:
    assert inside(*words("one", "--approve", way)).code == 2
    assert written(waiting) == []


def test_a_state_is_never_overwritten(asker: Path) -> None:
    path = saved(asker, "one")
    before = path.read_bytes()
    ended = toolkeel(*words("one", "--state", "state.json"), cwd=asker)
    assert ended.code == 2
    assert "state.json exists already" in ended.err
    assert path.read_bytes() == before


def test_a_saved_run_says_what_it_ran_with_and_nothing_of_it_is_loaded_unasked(
    asker: Path,
) -> None:
    saved(asker, "two")
    before = (asker / "state.json").read_bytes()
    (asker / "tools.py").write_text("raise SystemExit('loaded')")
    unasked = toolkeel("resume", "state.json", cwd=asker)
    assert unasked.code == 2
    assert "would load: -t tools.py -m models.py:two" in " ".join(unasked.err.split())
    assert (asker / "state.json").read_bytes() == before
    make(asker)
    decided = [word for id in ids(asker / "state.json") for word in ("--approve", id)]
    done = toolkeel("resume", "state.json", "--yes", "-m", "models.py:after", *decided, cwd=asker)
    assert (done.code, done.out.strip()) == (0, "done"), done.err
    assert sorted(written(asker)) == ["first", "second"]  # side by side


def test_at_a_terminal_a_person_is_asked_what_may_be_loaded(asker: Path) -> None:
    saved(asker, "one")
    terminal = at_terminal(asker, "resume", "state.json")
    asked = " ".join(terminal.until(lambda screen: "[y/N]" in screen).split())
    assert "wants to load: -t tools.py -m models.py:one. Do so?" in asked
    terminal.type("n\r")
    ended = terminal.end()
    assert ended.code == 2 and written(asker) == []
    assert (asker / "state.json").exists()


def test_a_saved_run_goes_on_with_its_history_and_turns_unless_others_are_given() -> None:
    begun = Launch(("tools.py",), "offline", max_turns=7, history="turns:2")
    assert _on(Launch((), "offline"), begun.words()) == begun
    other = Launch((), "offline", max_turns=3, history="tokens:900")
    went_on = _on(other, begun.words())
    assert (went_on.max_turns, went_on.history) == (3, "tokens:900")
    with pytest.raises(UsageProblem, match="--max-turns 'x'"):
        _on(Launch((), "offline"), ["--max-turns", "x"])
