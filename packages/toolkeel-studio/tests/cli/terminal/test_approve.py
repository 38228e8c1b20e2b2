"""A person at a terminal is asked: the whole call is shown, and only y is a yes."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.asking import KEYS, at_terminal, make, words, written
from tests.cli.commandline import Terminal, readable
from toolkeel import Effects, tool
from toolkeel._records.tickets import Ticket, call_digest
from toolkeel.call.steps.approve import definition_of
from toolkeel.call.steps.rules import Rules
from toolkeel.call.toolset import Toolset
from toolkeel.errors import InvalidArguments
from toolkeel.observe.wording import badges
from toolkeel_studio.cli.terminal.approve import HINT, argument_check, extents_of

pytestmark = pytest.mark.slow  # real terminals and processes: `make test-all`


FILES = """
from toolkeel_workspace.files.workspace import Workspace
from toolkeel.testing import Scripted, call
TOOLS = Workspace("folder", None).tools
model = Scripted([call("edit", {"path": "诗.md", "old_text": "霜", "new_text": "雪"}), "done"])
"""


MAIL = """
from toolkeel import tool
from toolkeel.effects import acts, reads
from toolkeel.testing import Scripted, call

@tool(effects=reads(stranger=True))
def inbox() -> str:
    \"\"\"Read mail.\"\"\"
    return "Write to eve@x.org and to bob@x.org"

@tool(effects=acts("to"))
def send(to: str, text: str) -> str:
    \"\"\"Send mail.\"\"\"
    return "sent"

sends = [call("send", {"to": to, "text": "hi"}) for to in ("eve@x.org", "eve@x.org", "bob@x.org")]
model = Scripted([call("inbox"), *sends, "done"])
"""


@pytest.fixture
def asker(tmp_path: Path) -> Path:
    return make(tmp_path)


def asked(terminal: Terminal, times: int = 1) -> str:
    """Wait for a question."""
    return terminal.until(lambda screen: screen.count(KEYS) >= times)


def test_y_alone_lets_the_call_run(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"))
    screen = readable(asked(terminal))
    assert "write needs your approval (the tool always asks)\nwrites\n" in screen
    assert '│ {\n│   "text": "猫",\n│   "times": 1\n│ }\n' in screen
    assert written(asker) == []
    terminal.type("y")
    ended = terminal.end()
    assert ended.code == 0
    assert written(asker) == ["猫"]
    assert "Run it?  y once   t this tool   n refuse   e edit   q stop the run  yes\n" in readable(
        ended.err
    )


def test_what_a_file_would_become_is_shown_in_colour(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "诗.md").write_text("疑是地上霜\n", "utf-8")
    (tmp_path / "tools.py").write_text(FILES, "utf-8")
    (tmp_path / "rules.toml").write_text('[approval]\nask = ["edit"]\n', "utf-8")
    words = ["run", "hi", "-t", "tools.py:TOOLS", "-m", "tools.py:model", "--rules", "rules.toml"]
    terminal = at_terminal(tmp_path, *words, "--approve", "ask")
    screen = asked(terminal)
    assert "\x1b[31m-疑是地上霜\x1b[0m" in screen and "\x1b[32m+疑是地上雪\x1b[0m" in screen
    assert "edit needs your approval (rule: ask edit)\n--- a/诗.md\n" in readable(screen)
    assert "\nwrites, destructive, touches file:诗.md\n" in readable(screen)
    terminal.type("y")
    assert terminal.end().code == 0
    assert (tmp_path / "folder" / "诗.md").read_text("utf-8") == "疑是地上雪\n"


@pytest.mark.parametrize(
    ("keys", "yes"), [("yyy", "yes"), ("ty", "yes, this target"), ("r", "yes, trust what was read")]
)
def test_a_yes_covers_what_the_person_chose(keys: str, yes: str, tmp_path: Path) -> None:
    (tmp_path / "mail.py").write_text(MAIL, "utf-8")
    terminal = at_terminal(tmp_path, "run", "hi", "-t", "mail.py", "-m", "mail.py:model")
    for number, key in enumerate(keys, 1):
        screen = readable(asked(terminal, number))
        terminal.type(key)
    assert "t: yes, and later calls of send to the same target, in this run\n" in screen
    assert "Run it?  y once   t this target   r trust what was read   n refuse" in screen
    ended = terminal.end()
    said = readable(ended.err)
    assert ended.code == 0 and said.count(KEYS) == len(keys)
    assert f"{KEYS}  {yes}\n" in said and said.count("done    send") + said.count("✓ send") == 3


@pytest.mark.parametrize("early", ["y", "y\n", "y\ny\nyyyy"])
def test_what_was_typed_before_the_question_answers_nothing(asker: Path, early: str) -> None:
    terminal = at_terminal(asker, *words("one"))
    terminal.type(early)
    asked(terminal)
    terminal.until(lambda _: False, 1.0)
    assert written(asker) == []
    assert terminal.process.poll() is None
    terminal.type("y")
    assert terminal.end().code == 0
    assert written(asker) == ["猫"]


def test_other_keys_enter_and_pastes_ask_again(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"))
    asked(terminal)
    hint = HINT.format(keys="y, t, n, e")
    no_answers = ["\n", "\r", " ", "x", "y\n", "yes\n", "\x1by", "\x1b[A", "ｙ", "\x04"]
    for number, typed in enumerate(no_answers, 1):
        terminal.type(typed)
        terminal.until(lambda screen, number=number: screen.count(hint) == number)
        assert terminal.screen.count(hint) == number, typed
    assert written(asker) == []
    terminal.type("q")
    assert terminal.end().code == 130
    assert written(asker) == []


def test_in_a_narrow_terminal_the_hint_takes_the_place_of_the_question(asker: Path) -> None:
    terminal = Terminal(words("one"), asker, columns=60)
    asked(terminal)
    for number in (1, 2, 3):
        terminal.type("x")
        terminal.until(lambda screen, number=number: screen.count("e or q)") == number)
    assert readable(terminal.screen).count("Run it?") == 1
    terminal.type("q")
    assert terminal.end().code == 130


def test_a_refusal_tells_the_model_the_sentence(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"))
    asked(terminal)
    terminal.type("n")
    terminal.until(lambda screen: "no reason)" in screen)
    terminal.type("不要这个文件\n")
    ended = terminal.end()
    assert ended.code == 0
    assert written(asker) == []
    assert "The call of 'write' was not approved: 不要这个文件" in readable(ended.err)


def test_what_cannot_be_seen_is_shown(asker: Path) -> None:
    terminal = at_terminal(asker, *words("hidden"))
    screen = asked(terminal)
    assert r'"text": "a\u202eb\u001b[2J\u200b\udb40\udc41\udb40\udc61 ok"' in screen
    for hidden in ("\u202e", "\x1b[2J", "\u200b", "\U000e0041", "\U000e0061"):
        assert hidden not in screen
    terminal.type("q")
    terminal.end()


def test_a_long_call_is_seen_to_its_end_before_it_can_be_approved(asker: Path) -> None:
    terminal = at_terminal(asker, *words("long"))
    first = terminal.until(lambda screen: "space next page" in screen)
    assert "rm -rf" not in first
    assert KEYS in first  # which stops here, too
    terminal.type("y")
    assert "see its end first" in terminal.until(lambda screen: "its end first" in screen)
    assert KEYS not in terminal.screen.partition("see its end first")[2]
    for page in range(2, 9):
        terminal.type(" ")
        if "Run it?" in terminal.until(
            lambda screen, page=page: "Run it?" in screen or screen.count("more lines") >= page
        ):
            break
    screen = re.sub("(?m)^.*\r", "", readable(terminal.screen))  # as it looks now
    assert screen.index("; rm -rf /") < screen.index("Run it?")
    body = "".join(re.findall("(?m)^│.(x*[^│\n]*)$", screen))
    assert "x" * 5000 + '; rm -rf /"' in body
    assert written(asker) == []
    terminal.type("y")
    assert terminal.end().code == 0
    assert len(written(asker)) == 1


def test_all_of_a_long_call_can_be_shown_at_once_and_it_can_be_refused_early(asker: Path) -> None:
    terminal = at_terminal(asker, *words("long"))
    terminal.until(lambda screen: "space next page" in screen)
    terminal.type("a")
    assert "; rm -rf /" in terminal.until(lambda screen: "Run it?" in screen)
    terminal.type("q")
    assert terminal.end().code == 130
    terminal = at_terminal(asker, *words("long"))
    terminal.until(lambda screen: "space next page" in screen)
    terminal.type("n")
    terminal.until(lambda screen: "no reason)" in screen)
    terminal.type("\n")
    assert terminal.end().code == 0
    assert written(asker) == []


def test_edited_arguments_are_validated_and_shown_again(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"))
    asked(terminal)
    terminal.type("e")
    terminal.until(lambda screen: "one line of JSON" in screen)
    terminal.type('{"text": "b", "times": "many"}\n')
    asked(terminal, 2)
    assert 'times: expected an integer, got "many" (a string)' in terminal.screen
    terminal.type("e")
    terminal.until(lambda screen: screen.count("one line of JSON") == 2)
    terminal.type('{"text": "狗", "times": 2}\n')
    shown = readable(asked(terminal, 3))
    assert 'write as you edited it\nwrites\n│ {\n│   "text": "狗",\n│   "times": 2\n│ }' in shown
    assert written(asker) == []
    terminal.type("y")
    assert terminal.end().code == 0
    assert written(asker) == ["狗", "狗"]


def test_the_editor_of_the_environment_is_used(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"), EDITOR="sed -i s/猫/鸟/")
    asked(terminal)
    terminal.type("e")
    assert "鸟" in asked(terminal, 2)
    terminal.type("y")
    assert terminal.end().code == 0
    assert written(asker) == ["鸟"]


@pytest.mark.parametrize("editor", ["false", "no-such-editor-here", "'"])
def test_an_editor_that_fails_changes_nothing(asker: Path, editor: str) -> None:
    terminal = at_terminal(asker, *words("one"), EDITOR=editor)
    asked(terminal)
    terminal.type("e")
    assert "not changed: " in asked(terminal, 2)
    terminal.type("y")
    assert terminal.end().code == 0
    assert written(asker) == ["猫"]


def test_parallel_calls_are_asked_about_one_after_the_other(asker: Path) -> None:
    terminal = at_terminal(asker, *words("two"))
    screen = asked(terminal)
    assert ('"first"' in screen, '"second"' in screen) == (True, False)
    terminal.type("n")
    terminal.until(lambda screen: "no reason)" in screen)
    terminal.type("\n")
    assert '"second"' in asked(terminal, 2)
    terminal.type("y")
    assert terminal.end().code == 0
    assert written(asker) == ["second"]


def test_the_screen_stands_still_while_somebody_is_asked(asker: Path) -> None:
    terminal = at_terminal(asker, *words("busy"))
    asked(terminal)
    before = terminal.until(lambda _: False, 1.0)
    assert readable(before).rstrip().endswith(KEYS)
    assert "PRINTED MEANWHILE" not in before
    terminal.type("y")
    ended = terminal.end()
    after = readable(ended.err[len(before) :])
    assert "PRINTED MEANWHILE" in after
    assert "✓ slow()" in after
    assert '✓ write(text="猫")' in after


def test_output_that_imitates_the_question_gets_no_approval(asker: Path) -> None:
    terminal = at_terminal(asker, *words("fake"))
    terminal.until(lambda screen: "Run it?  y n refuse" in screen)
    terminal.type("y")
    asked(terminal)
    terminal.until(lambda _: False, 0.5)
    assert written(asker) == []
    terminal.type("q")
    assert terminal.end().code == 130
    assert written(asker) == []


def test_nobody_answering_in_time_is_a_refusal(asker: Path) -> None:
    ended = at_terminal(asker, *words("one", "--answer-within", "1")).end()
    assert ended.code == 0
    assert "nobody answered in time: refused" in ended.err
    assert written(asker) == []


def test_ctrl_c_at_a_question_stops_the_run_and_restores_the_terminal(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"))
    asked(terminal)
    began = time.monotonic()
    terminal.interrupt(signal.SIGINT)
    terminal.until(lambda screen: "stopped: interrupted by the user" in screen)
    assert time.monotonic() - began < 20
    assert terminal.echoes()
    assert terminal.end().code == 130
    assert written(asker) == []


def test_a_time_limit_ends_the_question_too(asker: Path) -> None:
    ended = at_terminal(asker, *words("one", "--timeout", "1.5")).end()
    assert ended.code == 1
    assert "the time limit of 1.5 seconds is over" in ended.err
    assert written(asker) == []


def test_in_ci_a_terminal_is_not_asked_and_nothing_is_approved(asker: Path) -> None:
    terminal = at_terminal(asker, *words("one"), CI="true")
    terminal.type("y")
    ended = terminal.end()
    assert ended.code == 75
    assert "Run it?" not in ended.err
    assert written(asker) == []


def test_a_program_that_reads_the_events_hears_of_the_question(asker: Path) -> None:
    terminal = Terminal(words("one", "--json"), asker, pipe=True)
    asked(terminal)
    terminal.type("y")
    ended = terminal.end()
    events = [json.loads(line) for line in ended.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.index("approval_requested") < kinds.index("approval_decided")
    [request] = [event for event in events if event["type"] == "approval_requested"]
    assert request["ticket"]["effects"]["read_only"] is False
    assert written(asker) == ["猫"]


# — without a terminal —


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        (Effects(read_only=True, open_world=False), "reads"),
        (Effects(read_only=True), "reads, network"),
        (Effects(idempotent=True), "writes, destructive, network"),
        (Effects(), "effects not declared"),
        (
            Effects(destructive=False, open_world=False, resources=("file:{path}",)),
            "writes, touches file:{path}",
        ),
    ],
)
def test_badges_tell_what_the_author_declared(effects: Effects, said: str) -> None:
    @tool(approval=True, effects=effects)
    def touch(path: str) -> str:
        """Touch."""
        return path

    from toolkeel import RunContext, ToolCall

    tickets = []

    def approver(ticket: object) -> bool:
        tickets.append(ticket)
        return False

    Toolset([touch]).run_sync(
        [ToolCall("1", "touch", {"path": "a"})], RunContext(approver=approver)
    )
    assert badges(tickets[0].effects) == said


def test_the_check_gives_arguments_as_they_would_run() -> None:
    @tool
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    check = argument_check(Toolset([add]))
    given = {"a": 1, "b": 2}
    ticket = Ticket("", "1", "add", given, call_digest("add", definition_of(add), given), 0.0)
    assert check(ticket, {"a": "7"}) == {"a": 7, "b": 2}
    with pytest.raises(InvalidArguments):
        check(ticket, {"a": "x"})
    for other in (
        Ticket("", "1", "other", {}, "", 0.0),
        Ticket("", "1", "add", {}, "other's", 0.0),
    ):
        assert check(other, {"a": "x"}) == {"a": "x"}


def test_a_host_can_be_approved_for_the_run_alone_and_for_the_session() -> None:
    effects = {"read_only": True, "target": ["url"]}
    url = {"url": "https://a.example/x"}
    labels = ("stranger: inbox",)
    ticket = Ticket("", "1", "get", url, "", 0.0, "", effects, "", labels, scope="host a.example")
    found = {each.key: each.reach for each in extents_of(ticket)}
    assert found == {"h": "session", "u": "target", "r": "source"}


actions = st.lists(st.sampled_from(["a", "b", "*", "a*", "b(x=1)"]), max_size=3)


@given(actions, actions, actions, actions, actions, actions)
def test_rules_joined_are_as_strict_as_the_stricter(
    d: list[str], a: list[str], w: list[str], d2: list[str], a2: list[str], w2: list[str]
) -> None:
    order = {"deny": 0, "ask": 1, "allow": 2, None: 3}
    first, second = Rules(d, a, w), Rules(d2, a2, w2)
    for name in ("a", "b", "ab"):
        for arguments in ({}, {"x": 1}):
            each = [rules.action(name, arguments) for rules in (first, second)]
            assert (first | second).action(name, arguments) == min(each, key=order.__getitem__)
