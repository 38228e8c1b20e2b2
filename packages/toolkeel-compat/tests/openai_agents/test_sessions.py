"""Sessions around runs: what was said before joins the next one."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.shared import peer
from toolkeel.errors import ModelError, SetupError
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    SessionABC,
    SessionSettings,
    SQLiteSession,
    function_tool,
    output_guardrail,
)
from toolkeel_compat.openai_agents.sessions import Session, drop_open_calls


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@function_tool
def look(word: str) -> str:
    """Look it up."""
    return word * 2


def items(session: Session, limit: int | None = None) -> list[Any]:
    return asyncio.run(session.get_items(limit))


def said(model: Scripted, request: int) -> list[str]:
    return [message.text for message in model.requests[request].messages]


def test_a_second_run_knows_what_was_said_and_done_in_the_first() -> None:
    session = SQLiteSession("ada")
    model = Scripted([call("look", {"word": "a"}, "c1"), "aa it is", "as I said"])
    agent = Agent(tools=[look], model=model)
    Runner.run_sync(agent, "look a up", session=session)
    Runner.run_sync(agent, "again?", session=session)
    assert said(model, 2) == ["look a up", "", "aa", "aa it is", "again?"]
    assert [one.get("type", one.get("role")) for one in items(session)][:3] == [
        "user", "function_call", "function_call_output",
    ]  # fmt: skip
    assert len(items(session)) == 6


def test_a_session_that_is_not_closed_closes_its_file_with_the_last_reference(
    tmp_path: Path,
) -> None:
    session = SQLiteSession("ada", tmp_path / "talk.db")
    database = session._db
    del session
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")


def test_a_session_of_a_file_is_read_by_another_process_in_the_tables_that_are_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "talk.db"
    Runner.run_sync(Agent(model=Scripted(["你好"])), "hi", session=SQLiteSession("ada", path))
    with closing(sqlite3.connect(path)) as other:
        rows = other.execute("SELECT session_id, message_data FROM agent_messages").fetchall()
    assert [row[0] for row in rows] == ["ada", "ada"]
    again = SQLiteSession("ada", path)
    assert items(again)[0] == {"role": "user", "content": "hi"}
    assert items(SQLiteSession("bob", path)) == []
    assert len(items(again, 1)) == 1
    assert asyncio.run(again.pop_item())["role"] == "assistant"  # type: ignore[index]
    asyncio.run(again.clear_session())
    assert items(again) == [] and asyncio.run(again.pop_item()) is None
    again.close()


def test_half_a_surrogate_pair_does_not_cost_a_turn(tmp_path: Path) -> None:
    session = SQLiteSession("ada", tmp_path / "talk.db")
    Runner.run_sync(Agent(model=Scripted(["\ud83d so"])), "\udc80", session=session)
    assert [item["role"] for item in items(session)] == ["user", "assistant"]
    assert items(session)[0]["content"] == "\udc80"
    session.close()


def test_the_latest_items_alone_join_a_run_where_it_says_so() -> None:
    session = SQLiteSession("ada")
    asyncio.run(session.add_items([{"role": "user", "content": str(n)} for n in range(5)]))
    model = Scripted(["x", "y"])
    config = RunConfig(session_settings=SessionSettings(limit=2))
    Runner.run_sync(Agent(model=model), "now", session=session, run_config=config)
    assert said(model, 0) == ["3", "4", "now"]

    async def last_only(history: list[Any], new: list[Any]) -> list[Any]:
        return [*history[-1:], *new]

    config = RunConfig(session_input_callback=last_only)
    Runner.run_sync(Agent(model=model), "then", session=session, run_config=config)
    assert said(model, 1) == ["x", "then"]
    assert len(items(session)) == 9  # what was left out of a request is kept all the same


def test_calls_that_wait_are_kept_and_their_results_follow_them() -> None:
    session = SQLiteSession("ada")
    agent = Agent(tools=[pay], model=Scripted([call("pay", {"amount": 5}, "c1"), "done"]))
    first = Runner.run_sync(agent, "pay 5", session=session)
    assert [one.get("type", one.get("role")) for one in items(session)] == ["user", "function_call"]
    other = Agent(model=Scripted(["hello"]))
    Runner.run_sync(other, "hi", session=session)
    assert [one.role for one in other.model.requests[0].messages] == ["user", "user"]
    asyncio.run(session.pop_item()), asyncio.run(session.pop_item())
    state = first.to_state()
    state.approve(first.interruptions[0])
    assert Runner.run_sync(agent, state, session=session).final_output == "done"
    kinds = [one.get("type", one.get("role")) for one in items(session)]
    assert kinds == ["user", "function_call", "function_call_output", "message"]


def test_a_run_that_failed_leaves_what_was_done_until_then() -> None:
    session = SQLiteSession("ada")
    model = Scripted([call("look", {"word": "a"}, "c1"), ModelError("no answer")])
    with pytest.raises(ModelError) as caught:
        Runner.run_sync(Agent(tools=[look], model=model), "go", session=session)
    assert [item.type for item in caught.value.run_data.new_items] == [  # type: ignore[attr-defined]
        "tool_call_item", "tool_call_output_item",
    ]  # fmt: skip
    assert len(items(session)) == 3


def test_a_session_of_the_programs_own_and_one_of_the_cores_serve_as_well() -> None:
    class Listed(SessionABC):
        session_id = "mine"

        def __init__(self) -> None:
            self.kept: list[Any] = []

        async def get_items(self, limit: int | None = None) -> list[Any]:
            return self.kept[-limit:] if limit else list(self.kept)

        async def add_items(self, items: list[Any]) -> None:
            self.kept += items

        async def pop_item(self) -> Any:
            return self.kept.pop()

        async def clear_session(self) -> None:
            self.kept.clear()

    mine = Listed()
    Runner.run_sync(Agent(model=Scripted(["one"])), "hi", session=mine)
    assert [one["role"] for one in mine.kept] == ["user", "assistant"]
    sessions, model = Sessions(":memory:"), Scripted(["one", "two"])
    agent = Agent(model=model)
    for text in ("hi", "and?"):
        Runner.run_sync(agent, text, session=sessions["ada"])
    assert said(model, 1) == ["hi", "one", "and?"]


def test_a_streamed_run_is_kept_as_any_other() -> None:
    session = SQLiteSession("ada")

    async def read() -> None:
        result = Runner.run_streamed(Agent(model=Scripted(["one"])), "hi", session=session)
        async for _ in result.stream_events():
            pass

    asyncio.run(read())
    assert len(items(session)) == 2


@pytest.mark.slow
def test_a_session_of_the_sdk_itself_is_kept_and_read(tmp_path: Path) -> None:
    theirs: Any = peer("agents.extensions.memory")
    path = tmp_path / "talk.db"
    session = theirs.AdvancedSQLiteSession(session_id="ada", db_path=path, create_tables=True)
    model = Scripted(["one", "two"])
    for text in ("hi", "again"):
        Runner.run_sync(Agent("a", model=model), text, session=session)
    assert [message.text for message in model.requests[1].messages] == ["hi", "one", "again"]
    assert len(asyncio.run(session.get_items())) == 4
    session.close()


def test_a_session_without_settings_says_so() -> None:
    """What stands around it asks for settings of its own kind."""
    assert SQLiteSession("ada").session_settings is None


def test_a_session_is_given_what_each_turn_added() -> None:
    class Noted(SQLiteSession):
        async def add_items(self, items: list[Any]) -> None:
            added.append([item.get("type") or item["role"] for item in items])
            await super().add_items(items)

    added: list[list[str]] = []
    calls = [[call("look", "{}", "c1"), call("look", "{}", "c2")], call("look", "{}", "c3"), "done"]

    @function_tool
    def look() -> str:
        """Look."""
        return "seen"

    agent = Agent("A", tools=[look], model=Scripted(calls))
    Runner.run_sync(agent, "go", session=Noted("s"))
    called, result = "function_call", "function_call_output"
    assert added == [["user"], [called, called, result, result], [called, result], ["message"]]


@output_guardrail
def no_secret(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    """Block an output with a secret."""
    return GuardrailFunctionOutput(None, "secret" in str(output))


class Answer(BaseModel):
    text: str


async def run_once(agent: Any, text: str, session: Any, streamed: bool) -> None:
    if not streamed:
        await Runner.run(agent, text, session=session)
        return
    async for _ in Runner.run_streamed(agent, text, session=session).stream_events():
        pass


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("last", "options", "kept"),
    [
        ("the secret is 1", {}, ["look", "found"]),
        (call("tell", {}, "c2"), {"tool_use_behavior": "stop_on_first_tool"}, ["Output withheld"]),
        (
            call("final_result", {"text": "secret"}, "c2"),
            {"output_type": Answer},
            ["look", "found"],
        ),
    ],
)
def test_a_session_keeps_nothing_that_an_output_guardrail_has_blocked(
    last: Any, options: Any, kept: list[str], streamed: bool
) -> None:
    @function_tool
    def look() -> str:
        """Look."""
        return "found"

    @function_tool
    def tell() -> str:
        """Tell."""
        return "the secret is 1"

    first = [] if "tool_use_behavior" in options else [call("look", {}, "c1")]
    model = Scripted([*first, last, "hello"])
    about: Any = {"tools": [look, tell], "output_guardrails": [no_secret], **options}
    agent, session = Agent("A", model=model, **about), SQLiteSession("ada")
    with pytest.raises(OutputGuardrailTripwireTriggered):
        asyncio.run(run_once(agent, "go", session, streamed))
    stored = str(items(session))
    assert "secret" not in stored and all(text in stored for text in kept)
    asyncio.run(run_once(Agent("A", model=model), "again", session, streamed))
    assert not any("secret" in text for text in said(model, -1))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_cancelled_run_leaves_the_results_of_its_parallel_calls(streamed: bool) -> None:
    started: list[str] = []

    @function_tool
    async def fast() -> str:
        """Answer at once."""
        started.append("fast")
        return "found"

    @function_tool
    async def slow() -> str:
        """Never answer."""
        started.append("slow")
        both.set()
        await asyncio.Event().wait()
        return "never"

    async def cancel_midway() -> None:
        going = asyncio.create_task(run_once(agent, "go", session, streamed))
        await both.wait()
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        assert going.cancelled()

    both, session = asyncio.Event(), SQLiteSession("ada")
    model = Scripted([[call("fast", {}, "c1"), call("slow", {}, "c2")], "hello"])
    agent = Agent("A", tools=[fast, slow], model=model)
    asyncio.run(cancel_midway())
    assert sorted(started) == ["fast", "slow"]
    outputs = [one["output"] for one in items(session) if one.get("type") == "function_call_output"]
    assert outputs[0] == "found" and "may have taken effect" in outputs[1]
    assert Runner.run_sync(agent, "and?", session=session).final_output == "hello"


def test_a_stream_that_is_left_leaves_the_calls_that_have_run() -> None:
    @function_tool
    def book() -> str:
        """Book."""
        return "booked"

    async def leave_at_the_result() -> None:
        streamed = Runner.run_streamed(agent, "go", session=session)
        async with aclosing(streamed.stream_events()) as events:
            async for event in events:
                if getattr(event, "name", "") == "tool_output":
                    break

    session = SQLiteSession("ada")
    agent = Agent("A", tools=[book], model=Scripted([call("book", {}), "Booked.", "hello"]))
    asyncio.run(leave_at_the_result())
    assert [one.get("output") for one in items(session)][:3] == [None, None, "booked"]


class FourMethods:
    """A session without any attribute."""

    def __init__(self, kept: list[Any]) -> None:
        self._kept = kept

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return self._kept[-limit:] if limit else list(self._kept)

    async def add_items(self, items: list[Any]) -> None:
        self._kept.extend(items)

    async def pop_item(self) -> Any:
        return self._kept.pop()

    async def clear_session(self) -> None:
        self._kept.clear()


def test_a_call_that_has_lost_its_output_is_left_out_with_its_reasoning() -> None:
    reasoning = {"type": "reasoning", "id": "r", "summary": []}
    lost = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    told = {"role": "user", "content": "go"}
    pair = [
        {**lost, "call_id": "b"},
        {"type": "function_call_output", "call_id": "b", "output": "x"},
    ]
    assert drop_open_calls([told, reasoning, lost, lost, reasoning, *pair, told]) == [
        told, reasoning, *pair, told,
    ]  # fmt: skip


def test_a_session_needs_its_four_methods_alone() -> None:
    kept: list[Any] = []
    model = Scripted(["one", "two"])
    for text in ("hi", "and?"):
        Runner.run_sync(Agent(model=model), text, session=FourMethods(kept))
    assert said(model, 1) == ["hi", "one", "and?"]
    assert [one["role"] for one in kept] == ["user", "assistant", "user", "assistant"]


def test_the_settings_of_a_session_of_the_programs_own_hold() -> None:
    class Short(FourMethods):
        session_settings = SessionSettings(limit=1)

    model = Scripted(["three"])
    kept = [{"role": "user", "content": str(n)} for n in range(3)]
    Runner.run_sync(Agent(model=model), "now", session=Short(kept))
    assert said(model, 0) == ["2", "now"]


def test_a_session_without_one_of_the_methods_is_refused_by_its_name() -> None:
    class Three(FourMethods):
        clear_session = None  # type: ignore[assignment]

    model = Scripted([])
    with pytest.raises(SetupError, match=r"the session Three has no method 'clear_session'"):
        Runner.run_sync(Agent(model=model), "hi", session=Three([]))
    assert not model.requests


def test_what_a_person_says_while_a_call_waits_parts_it_from_no_result() -> None:
    @function_tool(needs_approval=True)
    def cancel() -> str:
        """Cancel."""
        return "cancelled"

    session = SQLiteSession("x")
    script = Scripted([call("cancel", {}, "c1"), "while it waits", "done", "last"])
    agent = Agent(name="a", model=script, tools=[cancel])
    state = Runner.run_sync(agent, "first", session=session).to_state()
    Runner.run_sync(agent, "second", session=session)
    state.approve(state.get_interruptions()[0])
    Runner.run_sync(agent, state, session=session)
    Runner.run_sync(agent, "third", session=session)
    results = [each.text for each in script.requests[-1].messages if each.role == "tool"]
    assert results == ["cancelled"]
    stored = asyncio.run(session.get_items())
    assert [each["output"] for each in stored if "output" in each] == ["cancelled"]
