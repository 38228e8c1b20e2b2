"""A run that code of another run starts: rules, bounds, approver, usage, taint and events hold there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import run as run_async
from toolkeel import Agent, RunState, ToolContext, tool
from toolkeel.agent.history import Cut, HistoryView
from toolkeel.approvals import Rules
from toolkeel.call.enclosing_run import MAX_DEPTH, find_enclosing
from toolkeel.call.steps.guard import Allow, input_guard
from toolkeel.call.toolset import Toolset
from toolkeel.context import CancelToken, RunContext
from toolkeel.effects import Effects
from toolkeel.errors import SetupError
from toolkeel.events import Event, Nested, RunFinished, Streamed, ToolFinished
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.model_interface import ModelRequest, TextDelta
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call

paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@tool
def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


@tool(approval=True)
def order(amount: int) -> str:
    """Order."""
    paid.append(amount)
    return f"ordered {amount}"


def clerk_with(tools: Sequence[Any], *lines: Any) -> Agent[Any, str]:
    return Agent(Scripted(lines), tools, name="clerk")


def payer(*lines: Any) -> Agent[Any, str]:
    return clerk_with([pay], *(lines or (call("pay", {"amount": 5}), "done")))


# — every place from which a run can be started —

Start = Callable[[], Awaitable[object]]


def in_a_body(start: Start, **options: Any) -> Agent[Any, str]:
    @tool
    async def ask() -> str:
        """Ask."""
        return str(await start())

    return Agent(Scripted([call("ask"), "end"]), [ask], **options)


def in_a_guardrail(start: Start, **options: Any) -> Agent[Any, str]:
    async def check(said: object, run: RunContext) -> Allow:
        await start()
        return Allow()

    return Agent(Scripted(["end"]), input_guardrails=[check], **options)


def in_an_output_guardrail(start: Start, **options: Any) -> Agent[Any, str]:
    async def check(said: object, run: RunContext) -> Allow:
        await start()
        return Allow()

    return Agent(Scripted(["end"]), output_guardrails=[check], **options)


def in_a_predicate(start: Start, **options: Any) -> Agent[Any, str]:
    async def asks(arguments: dict[str, object]) -> bool:
        await start()
        return False

    @tool(approval=asks)
    def look() -> str:
        """Look."""
        return "seen"

    return Agent(Scripted([call("look"), "end"]), [look], **options)


def in_a_guard(start: Start, **options: Any) -> Agent[Any, str]:
    async def check(prepared: object, context: object) -> Allow:
        await start()
        return Allow()

    @tool(steps=[input_guard(check)])
    def look() -> str:
        """Look."""
        return "seen"

    return Agent(Scripted([call("look"), "end"]), [look], **options)


def in_a_model_step(start: Start, **options: Any) -> Agent[Any, str]:
    async def step(request: ModelRequest, run: RunContext, proceed: Any) -> AssistantMessage:
        await start()
        reply: AssistantMessage = await proceed(request)
        return reply

    return Agent(Scripted(["end"]), model_steps=[step], **options)


def in_a_history_policy(start: Start, **options: Any) -> Agent[Any, str]:
    class Policy:
        async def cuts(self, view: HistoryView) -> Sequence[Cut]:
            await start()
            return ()

    return Agent(Scripted(["end"]), history=Policy(), **options)


def in_instructions(start: Start, **options: Any) -> Agent[Any, str]:
    async def text(run: RunContext) -> str:
        await start()
        return "Be kind."

    return Agent(Scripted(["end"]), instructions=text, **options)


def in_a_tool_source(start: Start, **options: Any) -> Agent[Any, str]:
    class Source:
        async def get_tools(self) -> list[Any]:
            await start()
            return []

    return Agent(Scripted(["end"]), [Source()], **options)


PLACES = [
    in_a_body,
    in_a_guardrail,
    in_an_output_guardrail,
    in_a_predicate,
    in_a_guard,
    in_a_model_step,
    in_a_history_policy,
    in_instructions,
    in_a_tool_source,
]
each_place = pytest.mark.parametrize("place", PLACES)


@each_place
def test_its_requests_count_in_the_usage_and_the_bound_of_the_run_around_it(place: Any) -> None:
    clerk = payer(*[call("pay", {"amount": n}) for n in range(30)])
    seen: list[str] = []

    async def start() -> str:
        seen.append((await clerk.run("go")).reason)
        return seen[-1]

    result = place(start).run_sync("go", limits=RunLimits(requests=5))
    assert seen == ["limit"] and result.usage.requests <= 5
    assert len(clerk.model.requests) <= 5  # type: ignore[attr-defined]


@each_place
def test_its_events_are_nested_in_those_of_the_run_around_it(place: Any) -> None:
    clerk = payer()

    async def start() -> str:
        return (await clerk.run("go")).output

    events: list[Event] = []
    result = place(start).run_sync("go", listeners=[events.append])
    inner = [e for e in events if isinstance(e, Nested)]
    assert {e.agent for e in inner} == {"clerk"} and {e.run_id for e in inner} == {result.run_id}
    assert [e.event.call_id for e in inner if isinstance(e.event, ToolFinished)] != []
    assert isinstance(events[-1], RunFinished)


@each_place
def test_rules_of_the_run_around_it_apply_to_its_calls(place: Any) -> None:
    clerk = payer()

    async def start() -> str:
        return (await clerk.run("go")).output

    place(start, rules=Rules(deny=["pay*"])).run_sync("go")
    assert paid == []


@pytest.mark.parametrize("place", [in_a_body, in_a_guardrail, in_a_predicate, in_a_model_step])
def test_the_approver_of_the_run_around_it_decides_its_calls(place: Any) -> None:
    clerk = clerk_with([order], call("order", {"amount": 5}), "done")
    asked: list[str] = []

    async def start() -> str:
        return (await clerk.run("go")).output

    def approver(ticket: Any) -> bool:
        asked.append(ticket.tool)
        return False

    place(start).run_sync("go", approver=approver)
    assert asked == ["order"] and paid == []


@each_place
def test_a_cancel_of_the_run_around_it_ends_it(place: Any) -> None:
    ends: list[str] = []

    async def main() -> None:
        entered = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            entered.set()
            await asyncio.Event().wait()
            return "never"

        clerk = clerk_with([wait], call("wait"), "done")

        async def start() -> str:
            run = clerk.start("go")
            try:
                await run
            finally:
                ends.append(str(run.reason))
            return "ended"

        run = place(start).start("go")
        await entered.wait()
        run.cancel()
        await asyncio.wait([run._task])  # type: ignore[list-item]

    run_async(main)
    assert ends == ["cancelled"]


# — taint —


def test_what_it_touches_taints_the_run_around_it_and_the_other_way_round() -> None:
    @tool(effects=Effects(read_only=True, stranger=True))
    def read() -> str:
        """Read."""
        return "mail"

    seen: list[list[str]] = []

    def labels(run: RunContext) -> list[str]:
        return [] if run.taint is None else [source.tool for source in run.taint.sources]

    @tool
    async def ask(context: ToolContext) -> str:
        """Ask."""
        inner = await clerk_with([read], call("read"), "done").run("go")
        seen.append(labels(context.run))
        seen.append(labels(inner.run.context))
        return inner.output

    Agent(Scripted([call("ask"), "end"]), [ask]).run_sync("go")
    assert seen == [["read"], ["read"]]


# — routes: threads, streams, sessions, saved runs —


def test_a_sync_body_starts_it_from_a_thread_and_all_holds() -> None:
    clerk = clerk_with([order], call("order", {"amount": 5}), "done")
    threads: set[object] = set()

    @tool
    def ask() -> str:
        """Ask."""
        return clerk.run_sync("go").output

    async def main() -> tuple[Any, list[Event]]:
        home = asyncio.get_running_loop()
        events: list[Event] = []

        def listen(event: Event) -> None:
            threads.add(asyncio.get_running_loop())
            events.append(event)

        async def approver(ticket: Any) -> bool:
            threads.add(asyncio.get_running_loop())
            await asyncio.sleep(0)
            return True

        agent = Agent(Scripted([call("ask"), "end"]), [ask])
        result = await agent.run("go", listeners=[listen], approver=approver)
        assert threads == {home}
        return result, events

    result, events = run_async(main)
    assert paid == [5] and result.usage.requests == 4
    kinds = [type(e).__name__ for e in events]
    assert "Nested" in kinds and kinds[-1] == "RunFinished"
    inner = [at for at, e in enumerate(events) if isinstance(e, Nested)]
    [end] = [at for at, e in enumerate(events) if isinstance(e, ToolFinished)]
    assert max(inner) < end


def test_a_reader_of_a_stream_gets_its_events() -> None:
    clerk = payer()

    async def start() -> str:
        return (await clerk.run("go")).output

    agent = in_a_body(start)
    assert any(isinstance(event, Nested) for event in agent.stream("go"))


def test_the_pieces_of_two_runs_in_one_body_do_not_mix() -> None:
    clerk = [clerk_with([], "aaaa"), clerk_with([], "bbbb")]

    async def start() -> str:
        both = await asyncio.gather(*(each.run("go") for each in clerk))
        return " ".join(each.output for each in both)

    async def main() -> list[str]:
        run = in_a_body(start).stream("go")
        await run
        streamed = [e.event for e in [e async for e in run if isinstance(e, Nested)]]
        deltas = [e.delta for e in streamed if isinstance(e, Streamed)]
        return [each.text for each in deltas if isinstance(each, TextDelta)]

    texts = run_async(main)
    assert all(len(set(text)) == 1 for text in texts) and {text[0] for text in texts} == {"a", "b"}


def test_in_a_session_its_usage_is_in_the_journal_and_its_messages_are_not(tmp_path: Path) -> None:
    clerk = payer()

    async def start() -> str:
        return (await clerk.run("go")).output

    sessions = Sessions(tmp_path / "s.db")
    session = sessions["ada"]
    result = in_a_body(start).run_sync("go", session=session)
    assert result.usage.requests == 4 and session.usage.requests == 4
    assert [m.text for m in session.messages] == ["go", "", "done", "end"]
    [began] = [e.entry for e in session.entries() if getattr(e.entry, "joined", False)]
    assert began.parent == result.run_id  # type: ignore[union-attr]


def test_a_session_of_its_own_gets_what_the_run_around_it_has_touched(tmp_path: Path) -> None:
    @tool(effects=Effects(read_only=True, stranger=True))
    async def read() -> str:
        """Read."""
        return "mail"

    sessions = Sessions(tmp_path / "s.db")

    @tool(effects=Effects(safe_after=("stranger",)))
    async def ask() -> str:
        """Ask."""
        return (await clerk_with([], "done").run("go", session=sessions["inner"])).output

    agent = Agent(Scripted([call("read"), call("ask"), "end"]), [read, ask])
    agent.run_sync("go", session=sessions["outer"])
    assert sessions["inner"].load_state().taint == {"stranger": ("read",)}
    assert sessions["inner"].usage.requests == 1


def test_the_session_of_the_run_around_it_is_refused_at_once(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")

    @tool
    async def ask() -> str:
        """Ask."""
        return (await clerk_with([], "done").run("go", session=sessions["ada"])).output

    agent = Agent(Scripted([call("ask"), "end"]), [ask])
    with pytest.raises(SetupError, match="another session"):
        agent.run_sync("go", session=sessions["ada"])


def test_what_a_killed_body_had_started_does_not_go_on_in_place_of_another_run(
    tmp_path: Path,
) -> None:
    session = Sessions(tmp_path / "s.db")["ada"]

    async def start() -> str:
        await payer().run("go")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_a_body(start).run_sync("go", session=session)
    assert session.load_state().open_nested_runs() == []


def test_an_approval_used_in_a_body_serves_once(tmp_path: Path) -> None:
    clerk = Agent(
        Scripted([call("order", {"amount": 5}), "done", "done"]),
        [order],
        name="clerk",
        used_tickets=tmp_path,
    )
    first = clerk.run_sync("go")
    text = first.state.to_json()
    decision = first.pending[0].approve()

    async def start() -> str:
        return (await clerk.run(RunState.from_json(text), decisions=[decision])).output

    in_a_body(start).run_sync("go")
    assert paid == [5]
    with pytest.raises(SetupError):
        clerk.run_sync(RunState.from_json(text), decisions=[decision])
    assert paid == [5]


def test_a_run_that_waits_says_so_to_the_body_that_started_it() -> None:
    clerk = clerk_with([order], call("order", {"amount": 5}), "done")

    async def start() -> str:
        result = await clerk.run("go")
        return f"{result.reason} for {result.pending[0].tool}"

    result = in_a_body(start).run_sync("go")
    assert [m.text for m in result.messages if isinstance(m, ToolMessage)] == ["waiting for order"]


# — own options, and the way out —


def test_its_own_bound_holds_within_that_of_the_run_around_it() -> None:
    clerk = payer(*[call("pay", {"amount": n}) for n in range(30)])
    ends: list[Any] = []

    async def start() -> str:
        result = await clerk.run("go", limits=RunLimits(requests=2))
        ends.append(result.limit)
        return result.reason

    result = in_a_body(start).run_sync("go", limits=RunLimits(requests=20))
    assert ends == ["requests: 2 of 2"] and result.output == "end" and result.usage.requests == 4


def test_its_own_cancel_token_and_that_of_the_run_around_it_both_end_it() -> None:
    ends: list[str] = []
    token = CancelToken()

    async def start() -> str:
        token.cancel()
        ends.append((await payer().run("go", cancel=token)).reason)
        return "x"

    result = in_a_body(start).run_sync("go")
    assert ends == ["cancelled"] and result.output == "end"


@each_place
def test_a_standalone_run_shares_nothing(place: Any) -> None:
    clerk = payer()
    events: list[Event] = []

    async def start() -> str:
        return (await clerk.run("go", standalone=True)).output

    agent = place(start, rules=Rules(deny=["pay*"]))
    result = agent.run_sync("go", listeners=[events.append])
    assert paid == [5] and not any(isinstance(e, Nested) for e in events)
    assert result.usage.requests == len(agent.model.requests)


def test_runs_may_be_inside_each_other_so_deep_and_no_deeper() -> None:
    depths: list[int] = []

    @tool
    async def deeper(context: ToolContext) -> str:
        """Go deeper."""
        depths.append(context.run.scope.depth)
        return (await make().run("go")).output

    def make() -> Agent[Any, str]:
        return Agent(Scripted([call("deeper"), "end"]), [deeper])

    assert make().run_sync("go").output == "end"
    assert depths == list(range(MAX_DEPTH + 1))


def test_a_task_that_outlives_its_run_belongs_to_no_run() -> None:
    async def main() -> tuple[Any, Any]:
        over = asyncio.Event()
        tasks: list[asyncio.Task[Any]] = []

        async def later() -> Any:
            await over.wait()
            assert find_enclosing() is None
            return await payer().run("go")

        async def start() -> str:
            tasks.append(asyncio.create_task(later()))
            return "started"

        result = await in_a_body(start, rules=Rules(deny=["pay*"])).run("go")
        over.set()
        return result, await tasks[0]

    result, late = run_async(main)
    assert result.usage.requests == 2 and late.output == "done" and paid == [5]


def test_calls_without_an_agent_enclose_a_run_of_their_bodies_too() -> None:
    token = CancelToken()
    ends: list[str] = []

    @tool
    async def ask() -> str:
        """Ask."""
        token.cancel("enough")
        ends.append((await payer().run("go")).reason)
        return "x"

    run: RunContext[None] = RunContext(cancel=token)
    Toolset([ask]).run_sync([ToolCall("1", "ask", "{}")], run)
    assert ends == ["cancelled"] and paid == []
    assert find_enclosing() is None


def test_a_failed_run_in_a_body_counts_and_is_the_failure_of_its_call() -> None:
    clerk = payer(call("pay", {"amount": 1}), ValueError("lost"))

    async def start() -> str:
        return (await clerk.run("go")).output

    result = in_a_body(start).run_sync("go")
    [failed] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert failed.kind == "crashed" and result.usage.requests == 3
