"""A run goes to JSON and back, and nothing but a run that was saved comes back."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkeel
from tests.messages_made import JSON, MESSAGE, TICKET
from toolkeel import (
    Agent,
    AssistantMessage,
    Image,
    RunState,
    SetupError,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    tool,
)
from toolkeel._records.messages_json import dump_message, load_message
from toolkeel._records.record_json import DEPTH
from toolkeel._records.tickets import Ticket
from toolkeel._records.typed_values import UnsavedValue
from toolkeel.errors import FieldError
from toolkeel.testing.scripted import Scripted, call


@given(st.lists(MESSAGE, max_size=5).map(tuple), st.lists(TICKET, max_size=2).map(tuple))
def test_any_run_comes_back_as_it_was(
    messages: tuple[Any, ...], pending: tuple[Ticket, ...]
) -> None:
    state = RunState(messages, pending)
    text = state.to_json()
    assert RunState.from_json(text) == state
    assert RunState.from_json(text).to_json() == text
    assert RunState.from_json(state.to_json(b"key"), b"key") == state


def test_text_is_saved_as_it_is_read_and_not_escaped() -> None:
    state = RunState((UserMessage("查一下北京的天气"), ToolMessage("晴", "1", "天气")))
    assert "查一下北京的天气" in state.to_json()


def test_half_a_surrogate_pair_survives_and_the_text_can_be_written_to_a_file() -> None:
    state = RunState((UserMessage("北京 \ud83d"),))
    text = state.to_json()
    text.encode()
    assert RunState.from_json(text) == state


@pytest.mark.parametrize("arguments", [{"\udca0b": 1}, {"a": ["\ud83d"]}, '{"a": "\ud83d"}'])
def test_a_run_with_a_call_that_holds_half_a_surrogate_pair_can_be_saved(arguments: Any) -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("1", "add", arguments),))
    result = ToolMessage("malformed", "1", "add", "error", "malformed_arguments")
    state = RunState((UserMessage("add"), reply, result))
    assert RunState.from_json(state.to_json(b"key"), b"key") == state


@dataclasses.dataclass
class Chart:
    points: list[float]


def test_artifacts_keep_their_types_details_are_described_and_nothing_becomes_null() -> None:
    endless: list[Any] = []
    endless.append(endless)
    artifact = {"rows": [1, 2.5], "bad": float("inf"), "object": object(), "chart": Chart([1.0])}
    message = ToolMessage(
        "x",
        "1",
        "t",
        artifact=artifact,
        details={
            "errors": (FieldError(("items", 0), "an integer", '"五"'),),
            "raw": b"bytes",
            "endless": endless,
            1: "one",  # type: ignore[dict-item]
        },
    )
    [back] = RunState.from_json(RunState((message,)).to_json()).messages
    assert isinstance(back, ToolMessage)
    assert back.artifact == {
        "rows": [1, 2.5],
        "bad": artifact["bad"],
        "object": UnsavedValue("object"),
        "chart": Chart([1.0]),
    }
    assert back.details["errors"] == [
        {"path": ["items", 0], "expected": "an integer", "got": '"五"'}
    ]
    assert (back.details["raw"], back.details["1"]) == ("<5 bytes>", "one")
    only_an_object = ToolMessage("x", "1", "t", artifact=object())
    [back] = RunState.from_json(RunState((only_an_object,)).to_json()).messages
    assert back == dataclasses.replace(only_an_object, artifact=UnsavedValue("object"))


def test_what_lies_deeper_than_anybody_reads_stays_behind() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    message = ToolMessage("x", "1", "t", artifact=deep)
    text = RunState((message,)).to_json()
    assert text.count("[") < DEPTH + 10
    assert RunState.from_json(text)


def test_arguments_are_saved_exactly_or_not_at_all() -> None:
    exact = ToolCall("1", "add", {"n": 2**70, "x": 0.1, "城市": ["北京", None]})
    [back] = RunState.from_json(
        RunState((AssistantMessage(tool_calls=(exact,)),)).to_json()
    ).messages
    assert back == AssistantMessage(tool_calls=(exact,))
    for value in (object(), float("nan")):
        odd = AssistantMessage(tool_calls=(ToolCall("1", "add", {"n": value}),))
        with pytest.raises(SetupError, match="the call '1' of 'add'"):
            RunState((odd,)).to_json()


def test_what_a_block_says_besides_its_content_is_saved_with_it() -> None:
    block = Text("look", {"annotations": {"audience": ["user"]}})
    state = RunState((ToolMessage((block,), "1", "see"),))
    assert RunState.from_json(state.to_json()) == state


# — what is no saved run —

SAVED = RunState(
    (
        SystemMessage("be kind"),
        UserMessage((Text("look"), Image(b"1234"))),
        AssistantMessage("", (ToolCall("1", "add", {"a": 1}),), "tool_calls", Usage(1, 2, 3)),
        ToolMessage("3", "1", "add", duration=0.5),
        AssistantMessage("", (ToolCall("2", "rm", '{"path": "a"}'),), "tool_calls"),
    ),
    (Ticket("t", "2", "rm", {"path": "a"}, "d" * 64, 1e9),),
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "5",
        '"x"',
        "{}",
        "{",
        "[" * 100_000,
        '{"version": 1}',
        "\ud800",
        "9" * 9999,
    ],
)
def test_text_that_is_no_saved_run_is_refused(text: str) -> None:
    with pytest.raises(SetupError):
        RunState.from_json(text)


@pytest.mark.parametrize("version", [0, 4, "1", True, None, [], 1.5, "x" * 10_000])
def test_another_version_is_refused_and_named(version: object) -> None:
    data = {**json.loads(SAVED.to_json()), "version": version}
    with pytest.raises(SetupError, match="version") as caught:
        RunState.from_json(json.dumps(data))
    assert len(str(caught.value)) < 400


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a JSON value, the root left out."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    below = [p for key, item in items for p in paths(item, (*path, key))]
    return [path, *below] if path else below


FREE = {"arguments", "effects", "artifact", "details", "extra", "provider_options"}
PLACES = [p for p in paths(json.loads(SAVED.to_json())) if not FREE & set(p[:-1])]


@given(st.sampled_from(PLACES), JSON)
def test_a_tampered_state_is_refused_or_is_a_state_of_the_right_types(
    path: tuple[Any, ...], value: object
) -> None:
    data = json.loads(SAVED.to_json())
    spot = data
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = value
    try:
        state = RunState.from_json(json.dumps(data))
    except SetupError:
        return
    assert RunState.from_json(state.to_json()) == state
    for message in state.messages:
        for each in getattr(message, "tool_calls", ()):
            assert (type(each.id), type(each.name), type(each.complete)) == (str, str, bool)
            assert isinstance(each.arguments, str | Mapping)


@given(st.sampled_from(PLACES))
def test_a_state_with_a_piece_cut_out_is_refused_or_still_a_state(path: tuple[Any, ...]) -> None:
    data = json.loads(SAVED.to_json())
    spot = data
    for key in path[:-1]:
        spot = spot[key]
    del spot[path[-1]]
    try:
        state = RunState.from_json(json.dumps(data))
    except SetupError:
        return
    assert RunState.from_json(state.to_json()) == state


@pytest.mark.parametrize(
    "message",
    [
        {"role": "developer", "content": "obey"},
        {"role": None, "content": "x"},
        {"content": "x"},
        [],
        "x",
        {"role": "user", "content": 5},
        {"role": "user", "content": [{"type": "pickle", "data": "gASVAAAA"}]},
        {"role": "user", "content": [{"type": ["text"], "text": "x"}]},
        {"role": "user", "content": [{"type": "text", "text": "x", "more": 1}]},
        {
            "role": "user",
            "content": [{"type": "file", "data": "!!", "name": "", "media_type": "", "url": ""}],
        },
        {"role": "tool", "content": "x", "status": "perhaps"},
        {"role": "tool", "content": "x", "kind": "fine"},
        {"role": "tool", "content": "x", "duration": "long"},
        {"role": "assistant", "content": "x", "finish_reason": "bored"},
        {"role": "assistant", "content": "x", "finish_reason": "stop", "lc": 1},
        {"role": "assistant", "finish_reason": "stop", "tool_calls": [{"id": "1"}]},
        {
            "role": "assistant",
            "finish_reason": "stop",
            "tool_calls": [{"id": "1", "name": "a", "complete": "no"}],
        },
        {"role": "assistant", "finish_reason": "stop", "usage": {"requests": "many"}},
    ],
)
def test_a_message_of_another_form_is_refused(message: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        load_message(message)
    with pytest.raises(SetupError):
        RunState.from_json(json.dumps({"version": 1, "messages": [message], "pending": []}))


def test_a_number_that_json_does_not_know_is_refused() -> None:
    for number in ("NaN", "Infinity", "-Infinity"):
        text = SAVED.to_json().replace("1000000000.0", number)
        assert number in text
        with pytest.raises(SetupError, match="is no number"):
            RunState.from_json(text)


@given(st.sampled_from(PLACES), JSON)
def test_a_signed_state_that_was_changed_is_refused(path: tuple[Any, ...], value: object) -> None:
    data = json.loads(SAVED.to_json(b"secret"))
    spot = data
    for key in path[:-1]:
        spot = spot[key]
    same = json.dumps(spot[path[-1]]) == json.dumps(value)
    spot[path[-1]] = value
    if not same:
        with pytest.raises(SetupError):
            RunState.from_json(json.dumps(data), b"secret")


def test_a_key_accepts_only_its_own_signature() -> None:
    for text in (SAVED.to_json(), SAVED.to_json(b"other")):
        with pytest.raises(SetupError, match="not signed"):
            RunState.from_json(text, b"secret")
    assert RunState.from_json(SAVED.to_json(b"secret")) == SAVED


def test_a_key_that_is_a_text_is_refused_with_the_remedy_and_not_quoted() -> None:
    wrong: Any = "s3cr3t"
    for use in (SAVED.to_json, partial(RunState.from_json, SAVED.to_json(b"s3cr3t"))):
        with pytest.raises(SetupError, match=r"key=\.\.\..*bytes.*text\.encode\(\)") as refused:
            use(key=wrong)
        assert wrong not in str(refused.value)


# — three processes —

TOOLS = """
import sys
from pathlib import Path
from toolkeel import Agent, RunState, tool
from toolkeel._records.tickets import Decision
from toolkeel.testing.scripted import Scripted, call
import json

here = Path(sys.argv[1])

@tool(approval=True)
def remove(path: str) -> str:
    "Remove a file."
    with (here / "removed").open("a", encoding="utf-8") as file:
        file.write(path + "\\n")
    return f"removed {path}"

@tool
def note(text: str) -> str:
    "Write a note."
    with (here / "notes").open("a", encoding="utf-8") as file:
        file.write(text + "\\n")
    return "noted"

def agent(*replies):
    return Agent(Scripted(replies), [remove, note])
"""
ASK = """
calls = [call("note", {"text": "一"}), call("remove", {"path": "甲"}), call("remove", {"path": "乙"})]
result = agent(calls).run_sync("clean up")
assert result.reason == "waiting"
(here / "state").write_text(result.state.to_json(b"k"), "utf-8")
"""
DECIDE = """
state = RunState.from_json((here / "state").read_text("utf-8"), b"k")
yes, no = state.pending
decisions = [yes.approve(), no.deny("keep it")]
(here / "decisions").write_text(json.dumps([d.to_dict() for d in decisions]), "utf-8")
"""
FINISH = """
state = RunState.from_json((here / "state").read_text("utf-8"), b"k")
decisions = [Decision.from_dict(d) for d in json.loads((here / "decisions").read_text("utf-8"))]
result = agent("All done.").run_sync(state, decisions=decisions)
assert result.reason == "answered", result
print(json.dumps([[m.tool_call_id, m.kind] for m in result.messages if hasattr(m, "kind")]))
"""


def process(script: str, folder: Path) -> str:
    path = folder / "script.py"
    path.write_text(TOOLS + script, "utf-8")
    source = str(Path(toolkeel.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), str(folder)],
        env={"PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_not_decided_yet_waits_on_under_the_same_ticket() -> None:
    """Who was asked about it decides later, whatever became of the other calls meanwhile."""
    ran: list[int] = []

    @tool(approval=True)
    def pay(n: int) -> str:
        """Pay."""
        ran.append(n)
        return f"paid {n}"

    model = Scripted([[call("pay", {"n": 1}), call("pay", {"n": 2})], "done"])
    agent = Agent(model, [pay])
    first = agent.run_sync("go")
    one, two = first.pending
    later = agent.run_sync(RunState.from_json(first.state.to_json()), decisions=[two.approve()])
    assert (later.reason, ran) == ("waiting", [2])
    assert [ticket.seal for ticket in later.pending] == [one.seal]
    done = agent.run_sync(later.state, decisions=[one.deny("too much")])
    assert (done.output, ran) == ("done", [2])
    with pytest.raises(SetupError, match="no ticket that waits"):
        agent.run_sync(later.state, decisions=[two.approve()])


def test_a_run_suspended_in_one_process_is_decided_in_a_second_and_finished_in_a_third(
    tmp_path: Path,
) -> None:
    process(ASK, tmp_path)
    assert not (tmp_path / "removed").exists()
    process(DECIDE, tmp_path)
    assert not (tmp_path / "removed").exists()
    said = json.loads(process(FINISH, tmp_path))
    assert said == [["call_1", None], ["call_2", None], ["call_3", "denied"]]
    assert (tmp_path / "removed").read_text("utf-8") == "甲\n"
    assert (tmp_path / "notes").read_text("utf-8") == "一\n"


def test_a_saved_run_goes_on_where_it_stopped_and_not_before() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        """Write a note."""
        ran.append(text)
        return "noted"

    @tool(approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        ran.append(path)
        return "removed"

    model = Scripted([[call("note", {"text": "x"}), call("remove", {"path": "a"})], "done"])
    first = Agent(model, [note, remove]).run_sync("go")
    state = RunState.from_json(first.state.to_json())
    second = Agent(model, [note, remove]).run_sync(state, decisions=[state.pending[0].approve()])
    assert ran == ["x", "a"]
    assert second.messages[: len(first.messages)] == first.messages
    assert [type(m) for m in second.messages[-2:]] == [ToolMessage, AssistantMessage]


def test_defaults_are_left_out_of_what_is_saved() -> None:
    assert dump_message(ToolMessage("x", "1")) == {
        "role": "tool",
        "content": "x",
        "tool_call_id": "1",
    }
    text = textwrap.dedent(RunState((UserMessage("x"),)).to_json())
    assert text == '{"version": 3, "messages": [{"role": "user", "content": "x"}], "pending": []}'


def test_what_was_said_to_a_run_that_waits_is_saved_and_comes_behind_the_result() -> None:
    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    waiting = Agent(Scripted([call("pay")]), [pay]).start("go")
    [ticket] = asyncio.run(waiting.run()).pending
    waiting.say("查一下")
    waiting.queue("and then?")
    text = waiting.state.to_json(b"key")
    state = RunState.from_json(text, b"key")
    assert state.to_json(b"key") == text
    assert [m.text for m in (*state.inbox, *state.follow_ups)] == ["查一下", "and then?"]
    model = Scripted(["done", "then this"])
    result = Agent(model, [pay]).run_sync(state, decisions=[ticket.approve()])
    told = ["go", "", "paid", "查一下"]
    assert [m.text for m in model.requests[0].messages] == told
    assert [m.text for m in result.messages] == [*told, "done", "and then?", "then this"]


IN_FLIGHT = """
import asyncio, os, signal, sys
from pathlib import Path
from toolkeel import Agent, tool
from toolkeel.testing.scripted import Scripted, call

@tool
async def note() -> str:
    "Note."
    return "noted"

@tool
async def pay() -> str:
    "Pay; the program saves its run meanwhile and is killed."
    while "noted" not in run.state.to_json():
        await asyncio.sleep(0)
    Path(sys.argv[1]).write_text(run.state.to_json(), "utf-8")
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    global run
    run = Agent(Scripted([[call("pay"), call("note")]]), [pay, note]).start("go")
    await run

asyncio.run(main())
"""


def test_a_run_saved_in_mid_call_by_a_program_that_was_killed_says_what_nobody_knows(
    tmp_path: Path,
) -> None:
    @tool
    def pay() -> str:
        """Pay."""
        raise AssertionError("it may have run before")

    file = tmp_path / "state"
    command = [sys.executable, "-c", IN_FLIGHT, str(file)]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    model = Scripted(["done"])
    result = Agent(model, [pay]).run_sync(RunState.from_json(file.read_text("utf-8")))
    told = [m for m in model.requests[0].messages if isinstance(m, ToolMessage)]
    assert [(m.name, m.kind) for m in told] == [("pay", "unknown_outcome"), ("note", None)]
    assert "not known" in told[0].text and result.reason == "answered"


def test_a_run_saved_by_version_2_is_read_with_its_inner_runs() -> None:
    said = {"role": "user", "content": "and hurry"}
    old = {"messages": [], "pending": [], "path": ["boss"], "said": [said], "later": [said]}
    inner = {"1": {"state": {**old, "left": ["open"], "values": {"n": [1]}}}}
    state = RunState.from_json(json.dumps({"version": 2, **old, "inner": inner}))
    for each in (state, state.inner["1"].state):
        assert each.previous_agents == ("boss",)
        assert [each.inbox[0].text, each.follow_ups[0].text] == ["and hurry"] * 2
    assert state.inner["1"].state.omitted_values == ("open",)
    assert state.inner["1"].state.values == {"n": [1]}
