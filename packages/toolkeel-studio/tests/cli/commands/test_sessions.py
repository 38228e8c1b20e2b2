"""``toolkeel sessions``, and ``run --session``: a conversation at the command line."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.asking import make
from tests.cli.commandline import Ended, toolkeel
from toolkeel import Agent
from toolkeel.sessions import SessionError, Sessions
from toolkeel.testing import Scripted
from toolkeel_studio.cli.commands.sessions import (
    compact_command,
    compare_command,
    delete_command,
    export_command,
    fork_command,
    import_command,
    list_command,
    prune_command,
    search_command,
    show_command,
)
from toolkeel_studio.cli.exit_codes import UsageProblem

pytestmark = pytest.mark.slow  # real processes: `make test-all`


def at(folder: Path, *words: str) -> Ended:
    """A command whose sessions are in a folder of their own."""
    return toolkeel(*words, cwd=folder, env={"TOOLKEEL_DATA": str(folder / "data")})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for prompt in ("what is 3 times 4?", "and 5 plus 6?"):
        ended = at(tmp_path, "run", prompt, "-t", "calculator", "--session", "ada")
        assert ended.code == 0
    return tmp_path


def test_a_session_goes_on_and_is_listed_and_shown(home: Path) -> None:
    ended = at(home, "run", "2 plus 2?", "-t", "calculator", "--continue")
    assert ended.code == 0 and "\n1 call, 2 turns, " in ended.err  # of this run, not of all three
    [listed] = at(home, "sessions", "list").out.splitlines()
    assert listed.startswith("ada  ")
    assert listed.endswith("3 turns  what is 3 times 4?")
    shown = at(home, "sessions", "show", "ada").out
    assert "you: and 5 plus 6?\n" in shown
    assert "  calculator: 11\n" in shown
    [data] = json.loads(at(home, "sessions", "list", "--json").out)
    assert (data["name"], data["turns"]) == ("ada", 3)


def test_sessions_are_searched_and_those_of_other_scopes_are_listed_with_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = at(home, "sessions", "search", "PLUS", "5")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("ada  #") and "and 5 plus 6?" in found.out
    nothing = at(home, "sessions", "search", "nowhere")
    assert (nothing.code, nothing.out) == (1, "")
    monkeypatch.setenv("TOOLKEEL_DATA", str(home / "data"))
    sessions = Sessions()
    Agent(Scripted(["yes"])).run_sync("and 5 plus 7?", session=sessions.open("main", "u1"))
    sessions.close()
    listed = at(home, "sessions", "list")
    assert len(listed.out.splitlines()) == 1
    assert listed.err == "1 session in other scopes: toolkeel sessions list --all\n"
    everything = at(home, "sessions", "list", "--all")
    assert "u1/main  " in everything.out and everything.err == ""
    data = json.loads(at(home, "sessions", "search", "plus", "5", "--all", "--json").out)
    assert {each["scope"] for each in data} == {"", "u1"}


def test_every_command_reaches_the_sessions_of_a_scope_and_leaves_others_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "talk.db")
    sessions = Sessions(place)
    for scope, said in (("", "mine"), ("租户", "theirs")):
        Agent(Scripted(["yes"])).run_sync(said, session=sessions.open("main", scope))
    theirs = {"file": place, "scope": "租户"}

    def printed(command: Callable[..., None], *words: object, **options: Any) -> str:
        command(*words, **options)
        return capsys.readouterr().out

    assert "you: theirs\n" in printed(show_command, "main", **theirs)
    assert '"scope": "租户"' in printed(show_command, "main", **theirs, as_json=True)
    out = tmp_path / "out.jsonl"
    printed(export_command, "main", out, **theirs)
    printed(import_command, out, "copy", **theirs)
    printed(fork_command, "main", "b", **theirs)
    printed(compare_command, "main", "b", **theirs)
    printed(compact_command, "b", **theirs)
    names = [line.split("  ")[0] for line in printed(list_command, **theirs).splitlines()]
    assert sorted(names) == ["租户/b", "租户/copy", "租户/main"]
    assert printed(search_command, ["theirs"], **theirs).count("租户/") == 3
    printed(delete_command, "b", **theirs)
    pruned = printed(prune_command, 0, really=True, **theirs)
    assert sorted(pruned.splitlines()) == ["租户/copy", "租户/main"]
    assert [(info.scope, info.name) for info in sessions.list(None)] == [("", "main")]
    assert printed(prune_command, 0, file=place, every=True) == "main\n"
    searched = lambda **options: search_command(["mine"], **options)  # noqa: E731
    for command in (list_command, searched, lambda **options: prune_command(0, **options)):
        with pytest.raises(UsageProblem, match="--scope or --all"):
            command(**theirs, every=True)
    sessions.close()


def test_a_session_is_forked_exported_imported_and_deleted(home: Path) -> None:
    assert at(home, "sessions", "fork", "ada", "b", "--turn", "1").code == 0
    out = home / "b.jsonl"
    assert at(home, "sessions", "export", "b", "-o", str(out)).code == 0
    assert out.stat().st_mode & 0o777 == 0o600
    assert at(home, "sessions", "export", "b").out == out.read_text("utf-8")
    assert at(home, "sessions", "export", "b", "-o", str(out)).code == 2
    assert at(home, "sessions", "import", str(out), "c").code == 0
    shown = [at(home, "sessions", "show", name).out for name in "bc"]
    assert shown[0] == shown[1]
    assert "5 plus 6" not in shown[0]
    assert at(home, "sessions", "delete", "b").code == 0
    gone = at(home, "sessions", "show", "b")
    assert (gone.code, gone.out) == (3, "")
    assert "there is no session 'b'" in gone.err


def test_two_sessions_are_compared_and_the_exit_code_says_whether_they_differ(home: Path) -> None:
    assert at(home, "sessions", "fork", "ada", "b", "--turn", "1").code == 0
    differ = at(home, "sessions", "compare", "ada", "b")
    assert (differ.code, differ.err) == (1, "")
    assert "turns     2             1             -1 (-50%)\n" in differ.out
    assert "  you: what is 3 times 4?\n" in differ.out and "- you: and 5 plus 6?\n" in differ.out
    data = json.loads(at(home, "sessions", "compare", "ada", "b", "--json").out)
    assert (data["b"], data["totals"]["calls"]) == ("b", [2, 1])
    assert data["rows"][0] == [["you", "what is 3 times 4?"]] * 2
    assert at(home, "sessions", "compare", "ada", "ada").code == 0
    nobody = at(home, "sessions", "compare", "ada", "nobody")
    assert (nobody.code, nobody.out) == (3, "")
    assert "there is no session 'nobody'" in nobody.err


def test_a_session_is_compacted_and_its_journal_stays(home: Path) -> None:
    before = at(home, "sessions", "show", "ada").out
    done = at(home, "sessions", "compact", "ada", "--history", "turns:1")
    assert (done.code, "later requests are shorter" in done.err) == (0, True)
    assert "nothing to leave out" in at(home, "sessions", "compact", "ada").err
    assert before.splitlines()[:2] == at(home, "sessions", "show", "ada").out.splitlines()[:2]
    wrong = at(home, "sessions", "compact", "ada", "--history", "ten")
    assert (wrong.code, "expected turns:N|tokens:N" in wrong.err) == (2, True)


def test_nothing_is_pruned_without_a_clear_word(home: Path) -> None:
    dry = at(home, "sessions", "prune", "0")
    assert dry.out == "ada\n"
    assert "would be deleted" in dry.err
    assert at(home, "sessions", "prune", "0", "--really").out == "ada\n"
    assert at(home, "sessions", "list").out == ""


def test_a_call_that_waits_is_decided_and_the_session_goes_on(tmp_path: Path) -> None:
    folder = make(tmp_path)
    terms = ("-t", "tools.py", "-m", "models.py:one")
    waits = at(folder, "run", "go", *terms, "--session", "ada")
    assert waits.code == 75, waits.err
    assert "toolkeel sessions decide ada --approve" in waits.err
    id = waits.err.split("--approve ")[1].split()[0]
    assert at(folder, "sessions", "decide", "ada", "--approve", "nope").code == 2
    assert at(folder, "sessions", "decide", "ada").code == 2
    assert at(folder, "sessions", "decide", "ada", "--approve", id).code == 0
    ended = at(folder, "run", *terms[:3], "models.py:after", "--session", "ada")
    assert ended.code == 0, ended.err


def test_there_is_nothing_to_go_on_with_in_an_empty_folder(tmp_path: Path) -> None:
    ended = at(tmp_path, "run", "hi", "--continue")
    assert ended.code == 2
    assert "no session to go on with" in ended.err
    nothing = at(tmp_path, "run", "--session", "ada")
    assert nothing.code == 3
    assert "say something" in nothing.err


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("no/talk.db", UsageProblem, "there is no file no/talk.db"),
        ("postgresql:/host/app", SessionError, "that begins postgresql://"),
        ("postgres//host/app", SessionError, "that begins postgresql://"),
        ("postgresql+psycopg://host/app", SessionError, "that begins postgresql://"),
        ("POSTGRESQL://host/app", SessionError, "that begins postgresql://"),
        ("mysql://host/app", SessionError, "mysql: is no folder"),
    ],
)
def test_a_place_that_is_wrong_is_an_error_and_nothing_is_made_there(
    place: str,
    error: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        list_command(place)
    assert not list(tmp_path.iterdir())


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_session_rules_no_terminal_as_json_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, model = tmp_path / "s.db", Scripted(["a \x9d52;c;cm0=\x9c\u202e b"])
    Agent(model).run_sync("hello", session=Sessions(file)["ada"])
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    show_command("ada", file, as_json=True)
    export_command("ada", None, file)
    told = screen.getvalue()
    assert told.count(r"a \x9d52;c;cm0=\x9c\u202e b") >= 2
    assert not {"\x9d", "\x9c", "\u202e"} & set(told)
