"""Guards allow, change, reject or end the run; whatever else they do is a rejection."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import (
    Agent,
    AssistantMessage,
    Prepared,
    RunContext,
    ToolCall,
    ToolContext,
    ToolError,
    ToolkeelError,
    ToolMessage,
    ToolOutput,
    Toolset,
    tool,
)
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.steps.guard import Allow, Outcome, Reject, Stop, input_guard, output_guard
from toolkeel.events import Coerced, Event, ToolFinished
from toolkeel.testing.scripted import Scripted, call


class Forbidden(Exception):
    """An exception of a guard's own."""


def run(tools: Toolset, *arguments: Mapping[str, object], name: str = "pay") -> list[ToolMessage]:
    calls = [ToolCall(f"c{i}", name, given) for i, given in enumerate(arguments)]
    return tools.run_sync(calls)


def paying(*steps: Any, **options: Any) -> Toolset:
    @tool(steps=steps, **options)
    def pay(amount: int, to: str = "shop") -> str:
        """Pay."""
        return f"paid {amount} to {to}"

    return Toolset([pay])


def small(prepared: Prepared, context: ToolContext[Any]) -> Allow | Reject | Stop:
    amount = prepared.arguments["amount"]
    assert isinstance(amount, int)
    if amount < 0:
        return Stop(Forbidden("negative"))
    return Allow() if amount <= 100 else Reject(f"金额 {amount} 超过限制 100")


class Redact:
    """A guard with a setting, asked asynchronously."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.seen: list[Outcome] = []

    async def __call__(
        self, prepared: Prepared, outcome: Outcome, context: ToolContext[Any]
    ) -> Allow:
        await asyncio.sleep(0)
        self.seen.append(outcome)
        return Allow(outcome.text.replace(self.secret, "***"))


def test_an_input_guard_lets_good_calls_pass_and_tells_the_model_about_bad_ones() -> None:
    good, bad = run(paying(input_guard(small)), {"amount": 5}, {"amount": 500})
    assert (good.content, good.kind) == ("paid 5 to shop", None)
    assert (bad.content, bad.kind, bad.status) == ("金额 500 超过限制 100", "refused", "error")
    assert bad.details["guard"] == "small"


def test_a_guard_sees_only_valid_arguments() -> None:
    seen: list[object] = []

    def look(prepared: Prepared, context: ToolContext[Any]) -> Allow:
        seen.append(prepared.arguments["amount"])
        return Allow()

    results = run(paying(input_guard(look)), {"amount": "a lot"}, {"amount": 5})
    assert [m.kind for m in results] == ["invalid_arguments", None]
    assert seen == [5]


def test_arguments_that_a_guard_changed_are_validated_and_recorded() -> None:
    def cap(prepared: Prepared, context: ToolContext[Any]) -> Allow:
        return Allow({**prepared.arguments, "amount": min(prepared.arguments["amount"], 100)})  # type: ignore[type-var]

    events: list[Event] = []
    calls = [ToolCall("a", "pay", {"amount": 500}), ToolCall("b", "pay", {"amount": 5})]
    results = paying(input_guard(cap)).run_sync(calls, RunContext(listeners=(events.append,)))
    assert [m.content for m in results] == [
        "paid 100 to shop\n\n[The guard cap changed this call: amount from 500 to 100]",
        "paid 5 to shop",
    ]
    changes = [(e.call_id, e.changes) for e in events if isinstance(e, Coerced)]
    assert changes == [("a", ("the guard cap changed amount from 500 to 100",))]


@pytest.mark.parametrize(
    "changed", [{"amount": "much"}, {"amount": 1, "bogus": 2}, [1], [("amount", 1)], "{}", {}]
)
def test_arguments_that_a_guard_made_invalid_are_the_guards_fault(changed: object) -> None:
    [message] = run(paying(input_guard(lambda p, c: Allow(changed), "bad guard")), {"amount": 5})
    assert message.kind == "refused"
    assert message.content == "The call of 'pay' was refused, because a check of it failed."
    assert message.details["guard"] == "bad guard"


def test_a_guard_further_out_sees_what_a_step_further_in_has_changed() -> None:
    async def double(prepared: Prepared, context: ToolContext[Any], proceed: Any) -> object:
        twice = {**prepared.arguments, "amount": prepared.arguments["amount"] * 2}  # type: ignore[operator]
        return await proceed(Prepared(prepared.call, prepared.tool, twice))

    good, bad = run(paying(input_guard(small), double), {"amount": 50}, {"amount": 60})
    assert good.content == "paid 100 to shop"
    assert (bad.content, bad.kind) == ("金额 120 超过限制 100", "refused")


def test_guards_that_answer_each_others_changes_settle_or_refuse() -> None:
    def at_least(n: int) -> Any:
        def check(prepared: Prepared, context: ToolContext[Any]) -> Allow:
            return Allow({"amount": max(prepared.arguments["amount"], n)})  # type: ignore[type-var]

        return input_guard(check)

    def at_most(n: int) -> Any:
        def check(prepared: Prepared, context: ToolContext[Any]) -> Allow:
            return Allow({"amount": min(prepared.arguments["amount"], n)})  # type: ignore[type-var]

        return input_guard(check)

    [settled] = run(paying(at_least(10), at_most(50)), {"amount": 70})
    assert settled.text.partition("\n")[0] == "paid 50 to shop"
    [never] = run(paying(at_least(50), at_most(10)), {"amount": 70})
    assert never.kind == "refused"
    assert "keep changing" in never.text


@given(st.lists(st.integers(0, 100), max_size=5), st.integers(0, 100))
def test_guards_that_only_lower_a_value_always_settle_on_the_lowest(
    limits: list[int], amount: int
) -> None:
    def at_most(limit: int) -> Any:
        return input_guard(lambda p, c: Allow({"amount": min(p.arguments["amount"], limit)}))  # type: ignore[type-var]

    [message] = run(paying(*map(at_most, limits)), {"amount": amount})
    assert message.text.partition("\n")[0] == f"paid {min([amount, *limits])} to shop"


@pytest.mark.parametrize("answer", [None, True, "yes", Allow])
def test_a_guard_that_says_nothing_clear_has_refused(answer: Any) -> None:
    [message] = run(paying(input_guard(lambda p, c: answer, "vague")), {"amount": 5})
    assert message.kind == "refused"
    assert "must return Allow, Reject or Stop" in str(message.details["traceback"])


def test_a_guard_that_crashes_refuses_its_own_call_and_no_other() -> None:
    def picky(prepared: Prepared, context: ToolContext[Any]) -> Allow:
        if prepared.arguments["amount"] == 13:
            raise RuntimeError("password=hunter2")
        return Allow()

    first, crashed, last = run(
        paying(input_guard(picky)), {"amount": 1}, {"amount": 13}, {"amount": 3}
    )
    assert (first.content, last.content) == ("paid 1 to shop", "paid 3 to shop")
    assert crashed.kind == "refused"
    assert "hunter2" not in crashed.text
    assert crashed.details["exception"] == "RuntimeError"


def test_an_output_guard_that_crashes_withholds_the_result_and_says_that_it_ran() -> None:
    def broken(prepared: Prepared, outcome: Outcome, context: ToolContext[Any]) -> Allow:
        raise RuntimeError("no")

    [message] = run(paying(output_guard(broken)), {"amount": 5})
    assert message.kind == "refused"
    assert "was run, but its result is withheld" in message.text
    assert "paid" not in message.text


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("options", "ran"),
    [({}, True), ({"approval": True}, False)],
)
def test_a_withheld_result_says_whether_there_was_one(
    options: dict[str, Any], ran: bool, ends: bool
) -> None:
    def breaks(prepared: Prepared, outcome: Outcome, context: ToolContext[Any]) -> Stop:
        if ends:
            return Stop(Forbidden("no"))
        raise KeyError("broken")

    told: list[Event] = []
    tools = paying(output_guard(breaks), **options)
    with contextlib.suppress(Forbidden):
        tools.run_sync([ToolCall("1", "pay", {"amount": 1})], RunContext(listeners=(told.append,)))
    [text] = [event.message.text for event in told if isinstance(event, ToolFinished)]
    assert ("was run, but" in text) is ran and ("did not run;" in text) is not ran
    why = "and the run was ended." if ends else "because a check of it failed."
    assert text.endswith(f" its result is withheld, {why}")


def test_a_guard_that_ends_the_run_raises_after_every_call_has_its_result() -> None:
    tools = paying(input_guard(small))
    events: list[Event] = []
    shared = RunContext(listeners=(events.append,))

    async def play() -> list[ToolMessage]:
        calls = [ToolCall(str(n), "pay", {"amount": n}) for n in (1, -1, 2)]
        batch = tools.batch(calls, shared)
        with pytest.raises(Forbidden, match="negative"):
            await batch.run()
        return batch.results

    results = asyncio.run(play())
    assert [m.tool_call_id for m in results] == ["1", "-1", "2"]
    assert [m.kind for m in results] == [None, "refused", None]
    assert results[1].text == "The call of 'pay' was refused, and the run was ended."
    finished = {e.call_id: e.message for e in events if isinstance(e, ToolFinished)}
    assert finished == {m.tool_call_id: m for m in results}


def test_an_agent_ends_with_the_guards_exception_and_a_whole_transcript() -> None:
    model = Scripted([[call("pay", {"amount": 5}), call("pay", {"amount": -5})], "never said"])
    agent = Agent(model, paying(input_guard(small)))
    with pytest.raises(Forbidden) as raised:
        agent.run_sync("pay!")
    messages: Any = raised.value.run.messages  # type: ignore[attr-defined]
    assert isinstance(messages[1], AssistantMessage)
    assert [m.kind for m in messages[2:]] == [None, "refused"]
    assert len(model.requests) == 1


@pytest.mark.parametrize("value", [{"amount": -1}, ToolCall("1", "pay", {"amount": -1})])
def test_a_tool_invoked_by_itself_raises_the_guards_exception(value: object) -> None:
    with pytest.raises(Forbidden):
        paying(input_guard(small))["pay"].invoke(value)


def test_an_output_guard_changes_what_the_model_reads() -> None:
    [message] = run(paying(output_guard(Redact("shop"))), {"amount": 5})
    assert message.content == "paid 5 to ***"


def test_an_output_guard_rejects_or_ends_the_run() -> None:
    [message] = run(paying(output_guard(lambda p, o, c: Reject("not for you"))), {"amount": 5})
    assert (message.content, message.kind) == ("not for you", "refused")
    with pytest.raises(Forbidden):
        run(paying(output_guard(lambda p, o, c: Stop(Forbidden()))), {"amount": 5})


def test_an_output_guard_sees_errors_and_can_redact_them() -> None:
    guard = Redact("hunter2")

    @tool(steps=[output_guard(guard)], on_crash=lambda error: f"broke: {error}")
    def crash() -> str:
        raise RuntimeError("password=hunter2")

    @tool(steps=[output_guard(guard)])
    def complain() -> str:
        raise ToolError("hunter2 is wrong")

    tools = Toolset([crash, complain])
    [first] = run(tools, {}, name="crash")
    [second] = run(tools, {}, name="complain")
    assert (first.content, first.kind) == ("broke: password=***", "crashed")
    assert (second.content, second.kind) == ("*** is wrong", "tool_error")
    assert [type(o.error).__name__ for o in guard.seen] == ["Crashed", "ToolError"]


def test_an_error_that_an_output_guard_leaves_alone_is_told_as_ever() -> None:
    @tool(steps=[output_guard(lambda p, o, c: Allow())], on_error="try again")
    def complain() -> str:
        raise ToolError("wrong")

    [message] = run(Toolset([complain]), {}, name="complain")
    assert (message.content, message.kind) == ("try again", "tool_error")


def test_an_output_guard_sees_the_crash_of_a_step_further_in() -> None:
    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Any) -> object:
        raise KeyError("hunter2")

    guard = Redact("x")
    [message] = run(paying(output_guard(guard), step), {"amount": 1})
    assert message.kind == "crashed"
    assert "hunter2" not in message.text
    assert guard.seen[0].error is not None


def test_a_changed_text_keeps_artifact_and_details() -> None:
    guard = output_guard(Redact("secret"))

    @tool(steps=[guard])
    def apart() -> ToolOutput:
        return ToolOutput("secret", artifact=1, details={"d": 2})

    @tool(steps=[guard], returns="content_and_artifact")
    def pair() -> tuple[str, int]:
        return "secret", 1

    @tool(steps=[guard])
    def own() -> ToolMessage:
        return ToolMessage("secret", artifact=1, details={"d": 2})

    tools = Toolset([apart, pair, own])
    results = [run(tools, {}, name=name)[0] for name in tools.names]
    assert [m.content for m in results] == ["***"] * 3
    assert [m.artifact for m in results] == [1, 1, 1]
    assert [dict(m.details) for m in results] == [{"d": 2}, {}, {"d": 2}]


def test_output_guards_are_asked_from_the_body_outwards() -> None:
    def add(letter: str) -> Any:
        return output_guard(lambda p, o, c: Allow(o.text + letter))

    [message] = run(paying(add("b"), add("a")), {"amount": 1})
    assert message.content == "paid 1 to shopab"


def test_the_programs_own_mistakes_pass_every_guard() -> None:
    from typing import Annotated

    from toolkeel import Injected

    @tool(steps=[output_guard(lambda p, o, c: Allow("fine"))])
    def needs(user: Annotated[str, Injected]) -> str:
        return user

    with pytest.raises(ToolkeelError, match="nothing to inject"):
        run(Toolset([needs]), {}, name="needs")


def test_what_a_person_edits_is_guarded_again() -> None:
    tools = paying(input_guard(small), approval=True)
    asked: list[object] = []

    def edit_to(amount: int) -> Any:
        def approver(ticket: Ticket) -> Decision:
            asked.append(ticket.arguments["amount"])
            return ticket.edit({"amount": amount})

        return approver

    def play(amount: int) -> ToolMessage:
        [message] = tools.run_sync(
            [ToolCall("1", "pay", {"amount": 5})], RunContext(approver=edit_to(amount))
        )
        return message

    assert play(50).text.partition("\n")[0] == "paid 50 to shop"
    refused = play(500)
    assert (refused.text.partition("\n")[0], refused.kind) == ("金额 500 超过限制 100", "refused")
    assert asked == [5, 5]


def test_what_a_guard_makes_of_an_edit_is_asked_about_again() -> None:
    def cap(prepared: Prepared, context: ToolContext[Any]) -> Allow:
        return Allow({"amount": min(prepared.arguments["amount"], 100)})  # type: ignore[type-var]

    asked: list[object] = []

    def approver(ticket: Ticket) -> Decision | bool:
        asked.append(ticket.arguments["amount"])
        return ticket.edit({"amount": 500}) if len(asked) == 1 else True

    tools = paying(input_guard(cap), approval=True)
    [message] = tools.run_sync([ToolCall("1", "pay", {"amount": 5})], RunContext(approver=approver))
    assert message.text.splitlines() == [
        "paid 100 to shop",
        "",
        "[A person changed this call: amount from 5 to 500]",
        "[The guard cap changed this call: amount from 500 to 100]",
    ]
    assert asked == [5, 100]


@pytest.mark.parametrize("side", [input_guard, output_guard])
@pytest.mark.parametrize("inline", [False, True])
def test_a_sync_check_runs_in_a_thread_unless_it_is_inline(side: Any, inline: bool) -> None:
    on_loop: list[bool] = []

    async def main() -> None:
        loop = threading.get_ident()

        def check(*about: Any) -> Allow:
            on_loop.append(threading.get_ident() == loop)
            return Allow()

        tools = paying(side(check, inline=inline))
        for number in range(3):
            await tools.run([ToolCall(f"{number}", "pay", {"amount": 1})])

    asyncio.run(main())
    assert on_loop == [inline] * 3


def test_what_an_inline_check_returns_is_awaited() -> None:
    async def decide(prepared: Prepared) -> Reject:
        return Reject("no")

    tools = paying(input_guard(lambda prepared, context: decide(prepared), "late", inline=True))
    [message] = run(tools, {"amount": 5})
    assert (message.kind, message.text) == ("refused", "no")


def test_a_slow_sync_check_holds_up_nothing_but_its_call() -> None:
    over = threading.Event()

    def slow(*about: Any) -> Allow:
        over.wait(60)
        return Allow()

    async def main() -> list[ToolMessage]:
        waits = asyncio.ensure_future(
            paying(input_guard(slow)).run([ToolCall("1", "pay", {"amount": 1})])
        )
        [quick] = await paying().run([ToolCall("2", "pay", {"amount": 2})])
        assert not waits.done()
        over.set()
        return [*await waits, quick]

    assert [m.content for m in asyncio.run(main())] == ["paid 1 to shop", "paid 2 to shop"]


def test_the_same_guard_may_stand_twice() -> None:
    asked: list[int] = []

    def note(prepared: Prepared, context: ToolContext[Any]) -> Allow:
        asked.append(prepared.arguments["amount"])
        return Allow()

    def last(prepared: Prepared, context: ToolContext[Any]) -> Allow | Reject:
        return Reject("no") if len(asked) == 2 else Allow()

    twice = input_guard(note)
    [message] = run(paying(twice, twice, input_guard(last)), {"amount": 1})
    assert (message.content, asked) == ("no", [1, 1])


def test_a_guard_that_waits_is_stopped_by_the_runs_cancel_token() -> None:
    async def main() -> ToolMessage:
        run, asking = RunContext[Any](), asyncio.Event()

        async def check(prepared: Prepared, context: ToolContext[Any]) -> Allow:
            asking.set()
            await asyncio.sleep(60)
            return Allow()

        calls = [ToolCall("1", "pay", {"amount": 1})]
        task = asyncio.create_task(paying(input_guard(check)).run(calls, run))
        async with asyncio.timeout(30):
            await asking.wait()
            run.cancel.cancel("enough")
            return (await task)[0]

    assert asyncio.run(main()).kind == "cancelled"


@pytest.mark.parametrize("make", [input_guard, output_guard])
def test_a_guard_is_called_as_it_says_or_as_its_function_or_class(make: Any) -> None:
    class Check:
        def __call__(self, *_: object) -> Allow:
            return Allow()

    assert [make(check).name for check in (small, Check())] == ["small", "Check"]
    assert make(small, "limit").name == "limit"
