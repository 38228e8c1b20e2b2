"""A conversation goes on: in the next run, in the next process, after a stop and after a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agent.valid import problems
from tests.sessions.conftest import STORES
from tests.sessions.dict_store import DictStore
from tests.sessions.talking import add, agent, say
from tests.waiting import run, until
from toolkeel import Agent, CancelToken, RunState, SetupError, ToolContext, UserMessage, tool
from toolkeel._records import tickets
from toolkeel.agent.result import RunResult
from toolkeel.approvals import Ticket
from toolkeel.call.steps import approve
from toolkeel.effects import acts, reads
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Message, ToolMessage, Usage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import Session, Sessions
from toolkeel.sessions.errors import SessionBusy, SessionError
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call


@pytest.fixture
def sessions(store: str | DictStore) -> Any:
    made = Sessions(store)
    yield made
    made.close()


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


class Seen(Scripted):
    """A model that keeps what it was sent."""

    def __init__(self, *lines: Any) -> None:
        super().__init__(lines)
        self.sent: list[list[Message]] = []

    def stream(self, request: ModelRequest) -> Any:
        self.sent.append(list(request.messages))
        return super().stream(request)


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def test_the_next_run_is_sent_what_was_said_before(sessions: Sessions) -> None:
    say(sessions["ada"], "I am Ada", "Hello Ada")
    model = Seen("You are Ada")
    result = Agent(model).run_sync("Who am I?", session=sessions["ada"])
    assert texts(model.sent[0]) == ["I am Ada", "Hello Ada", "Who am I?"]
    assert result.output == "You are Ada"
    assert texts(sessions["ada"].messages) == [*texts(model.sent[0]), "You are Ada"]


def test_when_how_much_was_written_is_told_without_reading_it(sessions: Sessions) -> None:
    session = sessions["ada"]
    for text in ("One.", "Two."):
        say(session, text, "ok")
    found = session.activity(7)
    assert sum(count for _, count, _ in found) == session.info.head == found[-1][2]
    assert 0 <= found[0][0] <= found[-1][0] < 7
    fork = sessions.fork("ada", "b")
    assert sum(count for _, count, _ in fork.activity(3)) == fork.info.head


def test_two_people_and_two_scopes_do_not_hear_each_other(sessions: Sessions) -> None:
    say(sessions.open("main", "ada"), "I am Ada", "Hello Ada")
    model = Seen("Who?")
    Agent(model).run_sync("Who am I?", session=sessions.open("main", "bob"))
    assert texts(model.sent[0]) == ["Who am I?"]


def test_instructions_are_the_agents_and_not_the_conversations(sessions: Sessions) -> None:
    models = Seen("a"), Seen("b")
    for model, told in zip(models, ("be brief", "be kind"), strict=True):
        Agent(model, instructions=told).run_sync("hi", session=sessions["ada"])
    assert texts(models[0].sent[0]) == ["be brief", "hi"]
    assert texts(models[1].sent[0]) == ["be kind", "hi", "a", "hi"]
    assert texts(sessions["ada"].messages) == ["hi", "a", "hi", "b"]


def test_state_that_tools_wrote_is_there_in_the_next_run(sessions: Sessions) -> None:
    @tool
    def count(context: ToolContext[Any]) -> int:
        """Count."""
        return context.update("n", lambda n: n + 1, 0)

    for _ in range(3):
        agent(call("count", {}), "ok", tools=(count,)).run_sync("go", session=sessions["ada"])
    assert sessions["ada"].state == {"n": 3}


def test_a_session_goes_on_in_another_process_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    agent("first").run_sync("a", session=path)
    Sessions(path).close()
    model = Seen("second")
    Agent(model).run_sync("b", session=path)
    assert texts(model.sent[0]) == ["a", "first", "b"]
    Sessions(path).close()


def test_a_name_alone_means_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path / "data"))
    agent("hello").run_sync("hi", session="ada")
    sessions = Sessions()
    assert sessions.path == str(tmp_path / "data" / "sessions.db")
    assert texts(sessions["ada"].messages) == ["hi", "hello"]
    sessions.close()


def test_what_is_no_session_is_refused_before_anything_runs() -> None:
    for value, shown in ((5, "5"), (Sessions(":memory:"), "Sessions")):
        with pytest.raises(SetupError) as refused:
            agent("x").run_sync("hi", session=value)  # type: ignore[arg-type]
        assert str(refused.value) == (
            "Agent.run(session=...): expected a session's name, a path, or one of Sessions(...): "
            f"sessions['ada'], got {shown}"
        )
    with pytest.raises(SetupError, match="without a session"):
        agent("x").run_sync(agent("y").run_sync("hi").state, session=":memory:")


def test_a_call_waits_for_a_person_and_goes_on_in_its_own_run(sessions: Sessions) -> None:
    lines = call("pay", {"amount": 5}), "Done"
    first = Agent(Scripted(lines[:1]), [pay]).run_sync("pay 5", session=sessions["ada"])
    assert first.reason == "waiting"
    [ticket] = sessions["ada"].pending
    assert ticket.id == first.pending[0].id
    second = Agent(Scripted(lines[1:]), [pay]).run_sync(
        None, session=sessions["ada"], decisions=[ticket.approve()]
    )
    assert second.run_id == first.run_id
    assert texts(second.messages) == ["pay 5", "", "paid 5", "Done"]
    assert sessions["ada"].pending == ()


def test_a_decision_left_by_another_process_counts_once(sessions: Sessions) -> None:
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay", session=sessions["ada"])
    [ticket] = sessions["ada"].pending
    assert sessions["ada"].decide(ticket.deny("too much"), who="bob") is None
    first = sessions["ada"].decide(ticket.approve(), who="eve")
    assert first is not None and (first.who, first.decision.verdict) == ("bob", "deny")
    result = Agent(Scripted(["Fine"]), [pay]).run_sync(None, session=sessions["ada"])
    assert "too much" in result.messages[2].text
    decided = [e.entry for e in sessions["ada"].entries() if e.entry.kind == "decided"]
    assert [each.who for each in decided] == ["bob", "eve"]  # type: ignore[union-attr]


def test_what_is_said_while_a_call_waits_is_kept_until_it_is_decided(sessions: Sessions) -> None:
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay", session=sessions["ada"])
    waiting = agent("no").run_sync("and hurry", session=sessions["ada"])
    assert waiting.reason == "waiting"
    [ticket] = waiting.pending
    model = Seen("Done")
    Agent(model, [pay]).run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
    assert texts(model.sent[0]) == ["pay", "", "paid 5", "and hurry"]
    assert texts(sessions["ada"].messages) == [*texts(model.sent[0]), "Done"]
    say(sessions["ada"], "thanks", "Welcome")
    assert texts(sessions["ada"].messages)[-3:] == ["Done", "thanks", "Welcome"]


def test_a_run_that_finds_its_session_waiting_still_tells_how_it_ended(sessions: Sessions) -> None:
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay", session=sessions["ada"])
    stream = agent("no").stream(None, session=sessions["ada"])
    began, ended = stream
    assert (began.type, ended.type, ended.reason) == ("run_started", "run_finished", "waiting")  # type: ignore[attr-defined]
    assert (stream.reason, stream.say("too late")) == ("waiting", False)


def test_what_a_person_decided_at_the_terminal_is_asked_there(sessions: Sessions) -> None:
    Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync("pay", session=sessions["ada"])
    asked: list[Ticket] = []

    def yes(ticket: Ticket) -> bool:
        asked.append(ticket)
        return True

    result = Agent(Scripted(["Done"]), [pay]).run_sync(None, session=sessions["ada"], approver=yes)
    assert [each.tool for each in asked] == ["pay"]
    assert result.output == "Done"


def test_a_model_that_fails_costs_nothing_of_what_was_said(sessions: Sessions) -> None:
    class Broken(Scripted):
        async def stream(self, request: ModelRequest) -> Any:
            raise ModelError("overloaded")
            yield

    with pytest.raises(ModelError):
        Agent(Broken([])).run_sync("hi", session=sessions["ada"])
    model = Seen("hello")
    Agent(model).run_sync(None, session=sessions["ada"])
    assert texts(model.sent[0]) == ["hi"]


def test_a_run_that_was_cancelled_leaves_results_for_every_call(sessions: Sessions) -> None:
    cancel = CancelToken()

    @tool
    async def stop() -> str:
        """Stop."""
        cancel.cancel("enough")
        await asyncio.sleep(60)
        return "never"

    lines = [[call("stop", {}), call("add", {"a": 1, "b": 2})]]
    Agent(Scripted(lines), [stop, add]).run_sync("go", session=sessions["ada"], cancel=cancel)
    assert "not started" in sessions["ada"].messages[3].text
    model = Seen("ok")
    Agent(model).run_sync("what happened?", session=sessions["ada"])
    assert len(model.sent[0]) == 5


def test_nothing_to_go_on_with_is_said_and_not_sent(sessions: Sessions) -> None:
    with pytest.raises(SessionError, match="say something"):
        agent("x").run_sync(None, session=sessions["ada"])


@tool(ends_run=True)
def finish(text: str) -> str:
    """Answer."""
    return f"finished: {text}"


TRUE_ANSWERS: list[tuple[Any, Any, list[Any]]] = [
    ("text", "Hello", ["Hello"]),
    ("returned", "finished: x", [call("finish", {"text": "x"})]),
    ("typed", [1, 2], [call("final_result", {"result": [1, 2]})]),
]


@pytest.mark.parametrize("later", [str, list[str]])
def test_a_repeated_answer_of_another_output_type_is_no_output(later: Any) -> None:
    session = Sessions(":memory:")["ada"]
    answer = call("final_result", {"result": [5]})
    Agent(Scripted([answer]), output_type=list[int]).run_sync("hi", session=session)
    again = Agent(Scripted([]), output_type=later).run_sync(None, session=session)
    assert again.reason == "answered" and not again.has_output
    same = Agent(Scripted([]), output_type=list[int]).run_sync(None, session=session)
    assert same.output == [5]


@pytest.mark.parametrize(("form", "output", "lines"), TRUE_ANSWERS)
@pytest.mark.parametrize("how", ["run", "sync", "stream"])
def test_a_run_where_nothing_waits_returns_the_last_result_without_a_request(
    sessions: Sessions, form: str, output: object, lines: list[Any], how: str
) -> None:
    model = Seen(*lines)
    tools = [] if form == "typed" else [finish]
    mine: Any = Agent(model, tools, output_type=list[int] if form == "typed" else str)
    first = mine.run_sync("hi", session=sessions["ada"])
    assert first.output == output
    head = sessions["ada"].info.head

    async def streamed() -> tuple[list[str], RunResult]:
        run = mine.stream(None, session=sessions["ada"])
        return [event.type async for event in run], run.result

    for _ in range(2):
        if how == "stream":
            types, again = run(streamed)
            assert types == ["run_started", "run_finished"]
        elif how == "sync":
            again = mine.run_sync(None, session=sessions["ada"])
        else:
            again = run(lambda: mine.run(None, session=sessions["ada"]))
        assert (again.output, again.reason, again.run_id) == (output, first.reason, first.run_id)
        assert again.messages == first.messages and again.usage.requests == 0
    assert (len(model.sent), sessions["ada"].info.head) == (1, head)


def test_a_second_click_on_approve_returns_what_the_first_came_to(sessions: Sessions) -> None:
    model = Seen(call("pay", {"amount": 5}), "Paid.")
    payer = Agent(model, [pay])
    [ticket] = payer.run_sync("pay", session=sessions["ada"]).pending
    clicks = [
        payer.run_sync(None, session=sessions["ada"], decisions=[ticket.approve()])
        for _ in range(2)
    ]
    assert [click.output for click in clicks] == ["Paid.", "Paid."]
    assert len(model.sent) == 2
    assert [m.text for m in sessions["ada"].messages if isinstance(m, ToolMessage)] == ["paid 5"]


def test_messages_that_come_at_once_queue_up_and_none_is_lost(sessions: Sessions) -> None:
    async def main() -> list[RunResult]:
        turns = (agent(f"to {n}").run(f"from {n}", session=sessions["ada"]) for n in range(10))
        return await asyncio.gather(*turns)

    results = run(main)
    assert [result.output for result in results] == [f"to {n}" for n in range(10)]
    said = [f"{way} {n}" for n in range(10) for way in ("from", "to")]
    assert sorted(texts(sessions["ada"].messages)) == sorted(said)
    assert [len(result.messages) for result in sorted(results, key=lambda r: len(r.messages))] == [
        2 * n for n in range(1, 11)
    ]


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_who_does_not_wait_is_told_who_writes(sessions: Sessions) -> None:
    release = asyncio.Event()

    @tool
    async def hold() -> str:
        """Hold."""
        await release.wait()
        return "let go"

    async def main() -> None:
        first = Agent(Scripted([call("hold", {}), "ok"]), [hold])
        task = asyncio.create_task(first.run("go", session=sessions["ada"]))
        await until(lambda: sessions["ada"].writer is not None)
        with pytest.raises(SessionBusy, match=r"process \d+ .* writes to the session 'ada'"):
            await agent("x").run("me too", session=sessions.open("ada", wait=False))
        release.set()
        await task
        assert sessions["ada"].writer is None

    run(main)


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_what_is_said_to_a_run_that_goes_on_joins_it_in_order(sessions: Sessions) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> str:
        """Hold."""
        begun.set()
        await release.wait()
        return "let go"

    model = Seen(call("hold", {}), "ok")

    async def main() -> None:
        task = asyncio.create_task(Agent(model, [hold]).run("go", session=sessions["ada"]))
        await begun.wait()
        for n in range(3):
            sessions["ada"].say(f"and {n}", who="bob")
        await until(lambda: len(sessions["ada"].load_state().queued) == 3)
        release.set()
        await task

    run(main)
    assert texts(model.sent[1]) == ["go", "", "let go", "and 0", "and 1", "and 2"]
    assert not sessions["ada"].load_state().queued


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_another_process_can_stop_a_run(sessions: Sessions) -> None:
    @tool
    async def hold() -> str:
        """Hold."""
        await asyncio.sleep(60)
        return "never"

    async def main() -> RunResult:
        agent = Agent(Scripted([call("hold", {}), "ok"]), [hold])
        task = asyncio.create_task(agent.run("go", session=sessions["ada"]))
        await until(lambda: sessions["ada"].writer is not None)
        sessions["ada"].cancel("closing time")
        return await task

    assert run(main).reason == "cancelled"


def test_what_is_said_to_nobody_is_kept_for_the_next_run(sessions: Sessions) -> None:
    sessions["ada"].say("remember the milk")
    model = Seen("ok")
    Agent(model).run_sync("hi", session=sessions["ada"])
    assert texts(model.sent[0]) == ["remember the milk", "hi"]


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_large_values_are_kept_apart_and_come_back(sessions: Sessions, tmp_path: Path) -> None:
    @tool
    def much() -> str:
        """Give much."""
        return "北京" * 100_000

    maker = (
        Agent(Scripted([call("much", {}), "ok"]), [much.with_options(result_limit=None)])
        if (hasattr(much, "with_options"))
        else Agent(Scripted([call("much", {}), "ok"]), [much])
    )
    maker.run_sync("x" * 200_000, session=sessions["ada"])
    assert sessions["ada"].messages[0] == UserMessage("x" * 200_000)
    kept = sessions._storage.store
    ask = "SELECT digest FROM artifact"
    rows = kept.database.read(lambda connection: connection.execute(ask).fetchall())
    files = tmp_path / "talk.db.artifacts"
    assert rows and all(kept.artifacts.find(digest) for [digest] in rows)
    assert not files.exists() or {file.name for file in files.iterdir()} == {d for [d] in rows}
    sessions.delete("ada")
    assert not any(kept.artifacts.find(digest) for [digest] in rows)
    assert not files.exists() or not list(files.iterdir())


def test_a_list_says_what_was_said_first_and_last(sessions: Sessions) -> None:
    say(sessions["ada"], "What is\n the capital of France?", "Paris")
    say(sessions["ada"], "and of Spain?", "Madrid " * 50)
    [info] = sessions.list()
    assert (info.turns, info.first, info.ended) == (2, "What is the capital of France?", "answered")
    assert info.last.startswith("Madrid Madrid")
    assert len(info.last) == 80


def test_a_session_shows_itself_by_its_name(sessions: Sessions) -> None:
    session: Session = sessions["ada"]
    assert repr(session) == "Session('ada', scope='')"
    assert not session.exists
    with pytest.raises(SessionError, match="no session 'ada'"):
        _ = session.info


def test_what_one_run_has_touched_is_known_to_the_next(sessions: Sessions) -> None:
    @tool(effects=reads(stranger=True))
    def page() -> str:
        """Read a page."""
        return "order"

    @tool(effects=acts("to"))
    def send(to: str) -> str:
        """Send."""
        return "sent"

    tools = [page, send]
    Agent(Scripted([call("page", {}), "read"]), tools).run_sync("read", session=sessions["ada"])
    assert sessions["ada"].load_state().taint == {"stranger": ("page",)}
    sending = Scripted([call("send", {"to": "eve@evil.example"}), "done"])
    result = Agent(sending, tools).run_sync("go on", session=sessions["ada"])
    assert result.reason == "waiting" and "page" in result.pending[0].reason


def paying(description: str = "Pay.") -> Any:
    @tool(approval=True, description=description)
    def pay(amount: int) -> str:
        return f"paid {amount}"

    return pay


def waits_for_a_yes(session: Session) -> Ticket:
    first = Agent(Scripted([call("pay", {"amount": 5})]), [paying()])
    assert first.run_sync("Pay.", session=session).reason == "waiting"
    [ticket] = session.pending
    return ticket


def goes_on(session: Session, *tools: Any) -> RunResult:
    return Agent(Scripted(["done"]), list(tools)).run_sync(None, session=session)


def test_a_call_waits_on_when_its_tool_is_missing_and_runs_once_it_is_back(
    sessions: Sessions,
) -> None:
    sessions["ada"].decide(waits_for_a_yes(sessions["ada"]).approve())
    for _ in range(2):
        with pytest.raises(SetupError, match="no such tool here"):
            goes_on(sessions["ada"])
        assert len(sessions["ada"].pending) == 1
    assert [m.text for m in goes_on(sessions["ada"], paying()).messages[2:]] == ["paid 5", "done"]


def test_a_call_whose_tool_changed_after_the_decision_is_asked_about_anew(
    sessions: Sessions,
) -> None:
    ticket = waits_for_a_yes(sessions["ada"])
    sessions["ada"].decide(ticket.approve())
    assert goes_on(sessions["ada"], paying("Pay twice.")).reason == "waiting"
    [anew] = sessions["ada"].pending
    assert anew.digest != ticket.digest
    sessions["ada"].decide(anew.approve())
    assert goes_on(sessions["ada"], paying("Pay twice.")).messages[2].text == "paid 5"


def test_a_decision_that_comes_too_late_is_asked_for_anew(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = waits_for_a_yes(sessions["ada"])
    sessions["ada"].decide(ticket.approve())
    monkeypatch.setattr(tickets, "time", lambda: ticket.expires + 1)
    monkeypatch.setattr(approve, "time", lambda: ticket.expires + 1)
    assert goes_on(sessions["ada"], paying()).reason == "waiting"
    [anew] = sessions["ada"].pending
    assert (anew.id != ticket.id, anew.expired) == (True, False)
    sessions["ada"].decide(anew.approve())
    assert goes_on(sessions["ada"], paying()).messages[2].text == "paid 5"


SPENT = Usage(1, 40, 2)


def waits_and_goes_on(session: Session, limits: RunLimits, *after: Any) -> list[RunResult]:
    """A run that adds, waits for a yes, and goes on: both its parts."""
    calls = call("add", {"a": 1, "b": 2}, "1"), call("pay", {"amount": 5}, "2")
    before = AssistantMessage(tool_calls=calls, usage=SPENT)
    first = Agent(Scripted([before]), [pay, add]).run_sync("go", session=session, limits=limits)
    [ticket] = first.pending
    second = Agent(Scripted(after), [pay, add])
    decided = [ticket.approve()]
    return [first, second.run_sync(None, session=session, decisions=decided, limits=limits)]


def test_a_run_that_goes_on_after_a_wait_knows_what_it_has_spent(sessions: Sessions) -> None:
    limits = RunLimits(requests=5)
    first, second = waits_and_goes_on(
        sessions["ada"], limits, AssistantMessage("done", usage=SPENT)
    )
    assert (first.usage, second.usage) == (SPENT, SPENT + SPENT)
    assert second.run_id == first.run_id
    assert sessions["ada"].usage == second.usage


def test_a_bound_of_calls_holds_over_both_parts_of_a_run_that_waited(sessions: Sessions) -> None:
    again = call("add", {"a": 3, "b": 4})
    limits = RunLimits(calls={"add": 2, "pay": 1})
    after = [again, [again, call("pay", {"amount": 6})], "done"]
    _, second = waits_and_goes_on(sessions["ada"], limits, *after)
    results = [(m.name, m.failed) for m in second.messages if isinstance(m, ToolMessage)]
    assert results == [
        ("add", False), ("pay", False), ("add", False), ("add", True), ("pay", True),
    ]  # fmt: skip


def test_a_bound_of_requests_holds_over_both_parts_of_a_run_that_waited(
    sessions: Sessions,
) -> None:
    more = [call("add", {"a": n, "b": n}) for n in range(3)]
    first, second = waits_and_goes_on(sessions["ada"], RunLimits(requests=3), *more)
    assert (first.reason, second.reason) == ("waiting", "limit")
    assert second.limit == "requests: 3 of 3"
    replies = [m for m in second.messages if isinstance(m, AssistantMessage)]
    assert len(replies) == 3  # one of them before the wait


def test_a_text_that_is_no_unicode_is_kept_as_it_came() -> None:
    """Half a surrogate pair stands for a byte of a file's name, or comes from a model's own escape."""
    session = Sessions(":memory:")["ada"]
    half = "caf\udce9"
    assert say(session, half, f"done {half}").output == f"done {half}"
    assert [message.text for message in session.messages] == [half, f"done {half}"]
    assert (session.info.first, session.info.last) == ("caf?", "done caf?")


@pytest.mark.parametrize("at", ["step 1", "step 2", "end"])
def test_a_run_whose_session_cannot_be_written_any_more_is_carried_by_what_is_raised(
    tmp_path: Path, at: str
) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    ran: list[str] = []

    @tool
    def step(name: str, context: ToolContext[Any]) -> str:
        """Do a step."""
        ran.append(name)
        context.state["last"] = name
        if name == at:
            sessions.close()
        return f"did {name}"

    def last(request: ModelRequest) -> str:
        sessions.close()
        return "done"

    lines = [call("step", {"name": f"step {n}"}) for n in (1, 2)]
    with pytest.raises(SessionError) as raised:
        Agent(Scripted([*lines, last]), [step]).run_sync("go", session=sessions["ada"])
    left = raised.value.run  # type: ignore[attr-defined]
    state = RunState.from_json(left.state.to_json())
    assert left.reason == "failed" or at == "end"
    assert state.values == {"last": ran[-1]} and problems(state.messages) == []
    assert [m.text for m in state.messages if m.text.startswith("did")] == [f"did {n}" for n in ran]


def test_a_session_that_was_never_used_is_empty(sessions: Sessions) -> None:
    new = sessions["new"]
    assert (new.messages, new.state, new.pending, new.unread, new.decisions) == ([], {}, (), (), {})
    assert new.usage.requests == 0 and not new.exists
    with pytest.raises(SessionError, match="no session"):
        _ = new.info
