"""An agent as a tool of another: the whole pipeline around it, and its run within the outer one."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.agent.valid import problems
from tests.waiting import run as run_async
from toolkeel import Agent, RunState, SetupError, ToolContext, ToolError, Usage, tool
from toolkeel.agent.inner_agent import to_tool_name
from toolkeel.approvals import Rules
from toolkeel.call.steps.guard import Allow, Reject, Stop, input_guard, output_guard
from toolkeel.context import CancelToken
from toolkeel.effects import Effects
from toolkeel.errors import DefinitionError, ModelError
from toolkeel.events import Event, Nested
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call

KEY = b"k" * 32


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def asks(name: str = "clerk", **more: Any) -> Any:
    return call(name, {"input": "do it", **more})


def result_of(messages: Any, name: str = "clerk") -> ToolMessage:
    [found] = [m for m in messages if isinstance(m, ToolMessage) and m.name == name]
    return found


def test_an_agent_answers_a_call_of_another() -> None:
    clerk = Agent(Scripted(["It is 4."]), name="Clerk")
    boss = Agent(Scripted([asks(), "Thanks."]), [clerk.as_tool(description="Knows numbers.")])
    result = boss.run_sync("How many?")
    assert result.output == "Thanks." and problems(result.messages) == []
    answer = result_of(result.messages)
    assert answer.text == "It is 4." and answer.details["agent"] == "Clerk"


def test_the_caller_fills_one_text_or_what_the_parameters_say() -> None:
    class Order(BaseModel):
        item: str
        amount: int

    plain = Agent(Scripted([]), name="Shop (EU)").as_tool()
    assert plain.name == "shop_eu" and list(plain.parameters["properties"]) == ["input"]  # type: ignore[call-overload]
    model = Scripted(["ok", "ok"])
    shop = Agent(model, name="shop")
    tools = [
        shop.as_tool("order", "Order.", parameters=Order),
        shop.as_tool(
            "ask",
            "Ask.",
            parameters=Order,
            prompt=lambda given: f"{given['amount']} x {given['item']}",
        ),
    ]
    calls = [call("order", {"item": "茶", "amount": 2}), call("ask", {"item": "tea", "amount": 2})]
    Agent(Scripted([calls, "done"]), tools).run_sync("go")
    prompts = {request.messages[0].text for request in model.requests}
    assert prompts == {'{"item":"茶","amount":2}', "2 x tea"}


def test_arguments_of_the_wrong_kind_never_reach_the_agent() -> None:
    model = Scripted(["ok"])
    boss = Agent(
        Scripted([call("clerk", {"input": 5}), "x"]), [Agent(model, name="clerk").as_tool()]
    )
    assert result_of(boss.run_sync("go").messages).kind == "invalid_arguments"
    assert model.requests == []


def test_a_typed_answer_is_the_artifact_and_its_json_the_content() -> None:
    class Answer(BaseModel):
        city: str

    clerk = Agent(
        Scripted([call("final_result", {"city": "東京"})]), name="clerk", output_type=Answer
    )
    answer = result_of(Agent(Scripted([asks(), "x"]), [clerk.as_tool()]).run_sync("go").messages)
    assert answer.text == '{"city":"東京"}' and answer.artifact == Answer(city="東京")


def test_what_the_tool_gives_back_can_be_made_of_the_run() -> None:
    async def words(result: Any) -> str:
        return f"{len(result.output.split())} words"

    clerk = Agent(Scripted(["one two three"]), name="clerk")
    boss = Agent(Scripted([asks(), "x"]), [clerk.as_tool(output=words)])
    assert result_of(boss.run_sync("go").messages).text == "3 words"


def test_guards_stand_around_the_call_and_inside_it() -> None:
    def quiet(prepared: Any, context: Any) -> Any:
        return Reject("not that") if "secret" in prepared.arguments["input"] else Allow()

    def short(prepared: Any, context: Any, output: Any) -> Any:
        return Allow("[cut]")

    clerk = Agent(Scripted(["a long answer"]), name="clerk")
    guarded = clerk.as_tool(steps=[input_guard(quiet), output_guard(short)])
    model = Scripted([call("clerk", {"input": "the secret"}), asks(), "x"])
    messages = Agent(model, [guarded]).run_sync("go").messages
    results = [m for m in messages if isinstance(m, ToolMessage)]
    assert results[0].kind == "refused" and results[1].text == "[cut]"


def test_what_the_inner_run_spends_the_outer_one_pays() -> None:
    def spends(text: str) -> AssistantMessage:
        return AssistantMessage(text, usage=Usage(1, 10, 5))

    clerk = Agent(Scripted([spends("a"), spends("b")]), name="clerk")
    calls = AssistantMessage(tool_calls=(call("clerk", {"input": "1"}, "1"), call("clerk", {"input": "2"}, "2")), usage=Usage(1, 100, 50))  # fmt: skip
    result = Agent(Scripted([calls, spends("c")]), [clerk.as_tool()]).run_sync("go")
    assert result.usage == Usage(4, 130, 65)


def test_a_failed_inner_run_is_paid_for_too() -> None:
    lines = [
        AssistantMessage(tool_calls=(call("nope", {}, "1"),), usage=Usage(1, 7, 0)),
        ModelError("x"),
    ]
    clerk = Agent(Scripted(lines), name="clerk")
    result = Agent(Scripted([asks(), "x"]), [clerk.as_tool()]).run_sync("go")
    assert result.usage.input_tokens == 7


def test_events_of_the_inner_run_are_told_within_the_call_that_it_is() -> None:
    clerk = Agent(Scripted([call("add_one", {"n": 1}), "2"]), [add_one], name="clerk")
    events: list[Event] = []
    Agent(Scripted([asks(), "x"]), [clerk.as_tool()]).run_sync("go", listeners=[events.append])
    nested = [event for event in events if isinstance(event, Nested)]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.event.seq for event in nested] == list(range(1, len(nested) + 1))
    assert {event.run_id for event in nested} == {events[0].run_id}
    assert {event.event.run_id for event in nested} != {events[0].run_id}
    assert {event.agent for event in nested} == {"clerk"}
    types = [event.event.type for event in nested]
    assert types[0] == "run_started" and types[-1] == "run_finished" and "tool_finished" in types
    around = [event.type for event in events]
    assert around.index("tool_started") < around.index("nested")
    assert len(around) - 1 - around[::-1].index("nested") < around.index("tool_finished")
    assert {event.call_id for event in nested} == {"call_1"}


@tool
def add_one(n: int) -> int:
    """Add one."""
    return n + 1


def test_the_callers_context_store_and_injected_values_are_passed_or_mapped() -> None:
    seen: list[object] = []

    @tool
    def look(context: ToolContext[Any]) -> str:
        """Look."""
        seen.append((context.deps, context.store, context.run.scope.depth, context.agent))
        return "seen"

    one = Agent(Scripted([call("look"), "x"]), [look], name="one")
    two = Agent(Scripted([call("look"), "x"]), [look], name="two")
    tools = [one.as_tool(), two.as_tool(deps=lambda user: user["name"])]
    model = Scripted([call("one", {"input": "a"}), call("two", {"input": "a"}), "x"])
    user = {"name": "Ada"}
    Agent(model, tools).run_sync("go", deps=user, store="store")
    assert seen == [(user, "store", 1, one), ("Ada", "store", 1, two)]


def test_agents_that_call_each_other_are_stopped_at_a_depth() -> None:
    class Itself:
        def get_tools(self) -> list[Any]:
            return [again.as_tool(max_depth=3)]

    model = Scripted([call("again", {"input": "x"})] * 4 + ["done"] * 4)
    again = Agent(model, [Itself()], name="again")
    events: list[Event] = []
    result = again.run_sync("go", listeners=[events.append])
    assert result.output == "done" and max(map(depth, events)) == 3
    told = model.requests[4].messages[-1]
    assert isinstance(told, ToolMessage) and told.kind == "limit_reached"
    assert "The agent 'again' was not asked: 3 agents call each other already" in told.text


def depth(event: Event) -> int:
    return 1 + depth(event.event) if isinstance(event, Nested) else 0


def test_the_deadline_of_the_call_ends_the_inner_run_and_is_known_inside() -> None:
    left: list[float | None] = []

    @tool(timeout=None)
    async def hang(context: ToolContext[Any]) -> str:
        """Hang."""
        left.append(context.time_left)
        await asyncio.sleep(60)
        return "never"

    clerk = Agent(Scripted([call("hang"), "x"]), [hang], name="clerk")
    boss = Agent(Scripted([asks(), "sorry"]), [clerk.as_tool(timeout=0.3)])
    began = time.perf_counter()
    result = boss.run_sync("go")
    assert time.perf_counter() - began < 20
    assert result.output == "sorry" and result_of(result.messages).kind == "timeout"
    assert left[0] is not None and left[0] <= 0.3


def test_a_thread_that_outlives_the_inner_run_is_told_of() -> None:
    release = threading.Event()

    @tool(timeout=None)
    def stuck() -> str:
        """Wait where nobody can stop it."""
        release.wait(30)
        return "late"

    clerk = Agent(Scripted([call("stuck"), "x"]), [stuck], name="clerk")
    boss = Agent(Scripted([asks(), "sorry"]), [clerk.as_tool(timeout=0.3)])
    try:
        answer = result_of(boss.run_sync("go").messages)
    finally:
        release.set()
    assert answer.kind == "timeout" and answer.details["may_still_be_running"] is True


def test_a_cancel_passes_down() -> None:
    token = CancelToken()

    @tool
    async def hang() -> str:
        """Hang."""
        token.cancel("enough")
        await asyncio.sleep(60)
        return "never"

    clerk = Agent(Scripted([call("hang"), "x"]), [hang], name="clerk")
    result = Agent(Scripted([asks(), "x"]), [clerk.as_tool()]).run_sync("go", cancel=token)
    assert result.reason == "cancelled"
    [inner] = result.state.inner.values()
    assert result_of(inner.state.messages, "hang").kind == "cancelled"


def test_closing_the_outer_stream_ends_the_inner_run() -> None:
    ended = []

    @tool
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)
        return "never"

    async def main() -> None:
        before = asyncio.all_tasks()
        clerk = Agent(Scripted([call("hang"), "x"]), [hang], name="clerk")
        async with Agent(Scripted([asks(), "x"]), [clerk.as_tool()]).stream("go") as stream:
            async for event in stream:
                if isinstance(event, Nested) and event.event.type == "tool_started":
                    await asyncio.sleep(0.05)
                    break
        assert ended == [True] and asyncio.all_tasks() == before

    run_async(main)


def test_a_model_that_fails_inside_is_a_failed_call_and_not_the_end() -> None:
    clerk = Agent(Scripted([ModelError("key sk-123 is bad")]), name="clerk")
    result = Agent(Scripted([asks(), "sorry"]), [clerk.as_tool()]).run_sync("go")
    answer = result_of(result.messages)
    assert result.output == "sorry" and answer.kind == "tool_error"
    assert "sk-123" not in answer.text and "sk-123" in str(answer.details["error"])


def test_too_many_turns_inside_are_a_failed_call() -> None:
    clerk = Agent(Scripted([call("add_one", {"n": 1})] * 3), [add_one], name="clerk", max_turns=2)
    result = Agent(Scripted([asks(), "sorry"]), [clerk.as_tool()]).run_sync("go")
    assert "at its limit (turns: 2 of 2)" in result_of(result.messages).text


# — approvals —


def boss_of(*inner: Any, approval: bool = False, outer: Any = None) -> Agent:
    clerk = Agent(Scripted(inner), [pay], name="clerk")
    lines = outer or [asks(), "All paid."]
    return Agent(Scripted(lines), [clerk.as_tool(approval=approval)], name="boss")


def test_an_approver_of_the_outer_run_is_asked_about_inner_calls() -> None:
    asked = []

    def approve(ticket: Any) -> bool:
        asked.append((ticket.tool, dict(ticket.arguments)))
        return True

    result = boss_of(call("pay", {"amount": 5}), "paid").run_sync("go", approver=approve)
    assert asked == [("pay", {"amount": 5})] and result.output == "All paid."


@pytest.mark.parametrize("saved", ["object", "text", "signed"])
def test_an_inner_call_that_waits_suspends_the_outer_run_and_both_go_on(saved: str) -> None:
    boss = boss_of(call("pay", {"amount": 5}), "paid it")
    waiting = boss.run_sync("go")
    assert waiting.reason == "waiting" and [t.tool for t in waiting.pending] == ["pay"]
    state = waiting.state
    if saved != "object":
        key = KEY if saved == "signed" else b""
        state = RunState.from_json(state.to_json(key), key)
    done = boss.run_sync(state, decisions=[state.pending[0].approve()])
    assert done.output == "All paid." and result_of(done.messages).text == "paid it"
    assert problems(done.messages) == []


def test_a_denial_reaches_the_inner_model_alone() -> None:
    model = Scripted([call("pay", {"amount": 5}), "I may not."])
    clerk = Agent(model, [pay], name="clerk")
    boss = Agent(Scripted([asks(), "ok"]), [clerk.as_tool()])
    waiting = boss.run_sync("go")
    done = boss.run_sync(waiting.state, decisions=[waiting.pending[0].deny("too dear")])
    assert "too dear" in model.requests[-1].messages[-1].text
    assert result_of(done.messages).text == "I may not."


def test_an_edit_of_an_inner_call_runs_with_the_new_arguments() -> None:
    model = Scripted([call("pay", {"amount": 500}), "done"])
    boss = Agent(Scripted([asks(), "ok"]), [Agent(model, [pay], name="clerk").as_tool()])
    waiting = boss.run_sync("go")
    boss.run_sync(waiting.state, decisions=[waiting.pending[0].edit({"amount": 5})])
    assert model.requests[-1].messages[-1].text.startswith("paid 5\n")


def test_two_inner_runs_wait_side_by_side_and_are_told_apart() -> None:
    a = Agent(Scripted([call("pay", {"amount": 1}), "a paid"]), [pay], name="a")
    b = Agent(Scripted([call("pay", {"amount": 1}), "b paid not"]), [pay], name="b")
    calls = [call("a", {"input": "x"}), call("b", {"input": "x"})]
    boss = Agent(Scripted([calls, "end"]), [a.as_tool(), b.as_tool()])
    waiting = boss.run_sync("go")
    first, second = waiting.pending
    # The two tickets are for calls of the same id, name and arguments, in two inner runs.
    assert first.digest == second.digest and first.call_id == second.call_id
    half = boss.run_sync(waiting.state, decisions=[first.approve()])
    assert half.reason == "waiting" and [
        m.name for m in half.messages if isinstance(m, ToolMessage)
    ] == ["a"]
    done = boss.run_sync(half.state, decisions=[half.pending[0].deny()])
    assert result_of(done.messages, "a").text == "a paid"
    assert result_of(done.messages, "b").text == "b paid not"
    assert problems(done.messages) == []


def test_three_levels_wait_and_go_on() -> None:
    low = Agent(Scripted([call("pay", {"amount": 1}), "low"]), [pay], name="low")
    mid = Agent(Scripted([call("low", {"input": "x"}), "mid"]), [low.as_tool()], name="mid")
    top = Agent(Scripted([call("mid", {"input": "x"}), "top"]), [mid.as_tool()], name="top")
    waiting = top.run_sync("go")
    state = RunState.from_json(waiting.state.to_json(KEY), KEY)
    done = top.run_sync(state, decisions=[waiting.pending[0].approve()])
    assert done.output == "top" and result_of(done.messages, "mid").text == "mid"


def test_a_call_that_was_approved_itself_is_not_asked_about_again() -> None:
    boss = boss_of(call("pay", {"amount": 5}), "paid", approval=True)
    first = boss.run_sync("go")
    assert [t.tool for t in first.pending] == ["clerk"]
    second = boss.run_sync(first.state, decisions=[first.pending[0].approve()])
    assert [t.tool for t in second.pending] == ["pay"]
    done = boss.run_sync(second.state, decisions=[second.pending[0].approve()])
    assert done.output == "All paid."


def test_a_signed_state_keeps_the_approval_of_the_call_and_an_unsigned_one_does_not() -> None:
    for key, tools in ((KEY, []), (b"", ["clerk"])):
        boss = boss_of(call("pay", {"amount": 5}), "paid", approval=True)
        first = boss.run_sync("go")
        second = boss.run_sync(first.state, decisions=[first.pending[0].approve()])
        state = RunState.from_json(second.state.to_json(key), key)
        third = boss.run_sync(state, decisions=[state.pending[0].approve()])
        assert [t.tool for t in third.pending] == tools


def test_an_edited_call_goes_on_with_the_edited_arguments() -> None:
    model = Scripted([call("pay", {"amount": 5}), "paid"])
    clerk = Agent(model, [pay], name="clerk")
    boss = Agent(Scripted([asks(), "end"]), [clerk.as_tool(approval=True)])
    first = boss.run_sync("go")
    second = boss.run_sync(first.state, decisions=[first.pending[0].edit({"input": "do less"})])
    assert model.requests[0].messages[0].text == "do less"
    done = boss.run_sync(second.state, decisions=[second.pending[0].approve()])
    assert done.output == "end"


def test_a_decision_for_no_inner_call_is_refused_before_anything_runs() -> None:
    model = Scripted([call("pay", {"amount": 5}), "paid"])
    boss = Agent(Scripted([asks(), "end"]), [Agent(model, [pay], name="clerk").as_tool()])
    waiting = boss.run_sync("go")
    decision = waiting.pending[0].approve()
    boss.run_sync(waiting.state, decisions=[decision])
    asked = len(model.requests)
    with pytest.raises(SetupError, match="used already"):
        boss.run_sync(waiting.state, decisions=[decision])
    assert len(model.requests) == asked


def test_without_a_run_that_can_wait_an_inner_call_is_denied() -> None:
    model = Scripted([call("pay", {"amount": 5}), "I may not."])
    clerk = Agent(model, [pay], name="clerk")
    assert clerk.as_tool().invoke({"input": "x"}).content == "I may not."
    assert "approval" in model.requests[-1].messages[-1].text


def test_siblings_of_a_waiting_agent_run_once() -> None:
    ran = []

    @tool
    def mark() -> str:
        """Mark."""
        ran.append(1)
        return "marked"

    clerk = Agent(Scripted([call("pay", {"amount": 5}), "paid"]), [pay], name="clerk")
    boss = Agent(Scripted([[asks(), call("mark")], "end"]), [clerk.as_tool(), mark])
    waiting = boss.run_sync("go")
    done = boss.run_sync(waiting.state, decisions=[waiting.pending[0].approve()])
    assert ran == [1] and done.output == "end" and problems(done.messages) == []


# — names and mistakes —


@pytest.mark.parametrize(
    ("agent", "name"),
    [("Billing agent (EU)", "billing_agent_eu"), ("客服", "客服"), ("!!", "agent")],
)
def test_a_tool_is_called_after_its_agent(agent: str, name: str) -> None:
    assert to_tool_name(agent) == name


def test_parameters_without_a_schema_are_refused_when_the_tool_is_made() -> None:
    with pytest.raises(DefinitionError):
        Agent(Scripted([])).as_tool("x", "d", parameters=5)  # type: ignore[arg-type]


def test_an_error_of_the_programs_own_prompt_is_masked() -> None:
    def broken(given: Any) -> str:
        raise ToolError("there is no such customer")

    clerk = Agent(Scripted([]), name="clerk").as_tool(prompt=broken)
    answer = result_of(Agent(Scripted([asks(), "x"]), [clerk]).run_sync("go").messages)
    assert answer.text == "there is no such customer"


def test_rules_of_the_outer_agent_hold_in_the_inner_one_at_every_depth() -> None:
    paid = Scripted([call("pay", {"amount": 5}), "no"])
    clerk = Agent(paid, [pay], name="clerk")
    manager = Agent(Scripted([call("clerk", {"input": "pay"}), "no"]), [clerk.as_tool()], name="m")
    boss = Agent(
        Scripted([call("m", {"input": "pay"}), "done"]),
        [manager.as_tool()],
        rules=Rules(deny=["pay"]),
    )
    boss.run_sync("go", approver=lambda ticket: True)
    last = paid.requests[-1].messages[-1]
    assert isinstance(last, ToolMessage) and last.kind == "denied"


# — an inner run that a bound or a cancel of the outer run stopped has not finished —


class Report(BaseModel):
    text: str


@tool
def look(at: int) -> str:
    """Look."""
    return f"seen {at}"


def researcher(looks: int = 3, **more: Any) -> Any:
    lines = [call("look", {"at": n}, f"l{n}") for n in range(looks)]
    return Agent(Scripted([*lines, "found it"]), [look], name="clerk", **more)


def once(agent: Any, name: str, *lines: Any, **more: Any) -> Any:
    return Agent(Scripted([*lines, "end"]), [agent.as_tool()], name=name, **more)


def texts(result: Any) -> list[str]:
    return [m.text for m in result.messages if isinstance(m, ToolMessage)]


JSON = pytest.mark.parametrize("through_json", [False, True])


def saved(result: Any, through_json: bool) -> RunState:
    state: RunState = result.state
    return RunState.from_json(state.to_json(KEY), KEY) if through_json else state


@JSON
def test_a_bound_of_the_outer_run_leaves_the_inner_run_unfinished_and_it_continues(
    through_json: bool,
) -> None:
    clerk = researcher()
    boss = once(clerk, "boss", asks())
    first = boss.run_sync("go", limits=RunLimits(requests=3))
    assert first.reason == "limit" and first.limit == "requests: 3 of 3"
    assert texts(first) == [] and first.pending == ()
    again = boss.run_sync(saved(first, through_json), limits=RunLimits(requests=20))
    assert again.output == "end" and texts(again) == ["found it"]
    assert len(clerk.model.requests) == 4 and again.usage.requests == 6
    assert problems(again.messages) == []


@JSON
def test_it_continues_however_deep_it_is_and_at_whichever_request_it_stopped(
    through_json: bool,
) -> None:
    whole: list[str] = []
    for most in range(1, 9):
        clerk = researcher()
        middle = once(clerk, "middle", asks())
        boss = once(middle, "boss", asks("middle"))
        result = boss.run_sync("go", limits=RunLimits(requests=most))
        steps = 0
        while result.reason == "limit" and steps < 9:
            steps += 1
            limits = RunLimits(requests=most + steps)
            result = boss.run_sync(saved(result, through_json), limits=limits)
        assert (result.output, texts(result)) == ("end", ["end"])
        assert [len(each.model.requests) for each in (clerk, middle, boss)] == [4, 2, 2]
        whole.append(result.output)
    assert len(whole) == 8


def test_a_typed_answer_is_made_of_the_inner_answer_and_not_of_a_failure() -> None:
    clerk = researcher(output_type=Report)
    clerk = Agent(
        Scripted([call("look", {"at": 1}), call("final_result", {"text": "found"})]),
        [look],
        name="clerk",
        output_type=Report,
    )
    prompts: list[str] = []

    def report(request: Any) -> Any:
        prompts.append(request.messages[-1].text)
        return [call("final_result", {"text": request.messages[-1].text})]

    boss = Agent(Scripted([asks(), report]), [clerk.as_tool()], output_type=Report)
    first = boss.run_sync("go", limits=RunLimits(requests=2))
    assert first.reason == "limit" and prompts == []
    again = boss.run_sync(first.state, limits=RunLimits(requests=20))
    assert again.output.text == '{"text":"found"}'


def test_a_cancel_of_the_outer_run_leaves_the_inner_run_unfinished_and_it_continues() -> None:
    async def main() -> None:
        entered = asyncio.Event()
        waits = [True]

        @tool(effects=Effects(read_only=True))
        async def slow() -> str:
            """Wait, the first time."""
            if waits.pop() if waits else False:
                entered.set()
                await asyncio.Event().wait()
            return "slept"

        clerk = Agent(Scripted([call("slow"), call("slow"), "found it"]), [slow], name="clerk")
        middle = once(clerk, "middle", asks())
        boss = once(middle, "boss", asks("middle"))
        run = boss.start("go")
        await entered.wait()
        run.cancel("enough")
        first = await run
        assert first.reason == "cancelled" and texts(first) == []
        again = await boss.run(first.state)
        assert again.output == "end" and texts(again) == ["end"]
        assert len(middle.model.requests) == 2 and len(boss.model.requests) == 2
        assert len(clerk.model.requests) == 3

    run_async(main)


def test_a_cancelled_task_leaves_the_inner_run_unfinished_too() -> None:
    async def main() -> None:
        entered = asyncio.Event()
        waits = [True]

        @tool(effects=Effects(read_only=True))
        async def slow() -> str:
            """Wait, the first time."""
            if waits.pop() if waits else False:
                entered.set()
                await asyncio.Event().wait()
            return "slept"

        @tool
        async def glance() -> str:
            """Glance."""
            return "seen"

        clerk = Agent(Scripted([call("slow"), call("slow"), "found it"]), [slow], name="clerk")
        boss = Agent(Scripted([[asks(), call("glance")], "end"]), [clerk.as_tool(), glance])
        run = boss.start("go")
        await entered.wait()
        assert run._task is not None
        run._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert [m.name for m in run.messages if isinstance(m, ToolMessage)] == ["glance"]
        again = await boss.run(run.state)
        assert again.output == "end" and texts(again) == ["found it", "seen"]

    run_async(main)


def test_the_time_of_the_outer_run_leaves_the_inner_run_unfinished() -> None:
    waits = [True]

    @tool(effects=Effects(read_only=True))
    async def slow() -> str:
        """Wait, the first time."""
        if waits.pop() if waits else False:
            await asyncio.Event().wait()
        return "slept"

    clerk = Agent(Scripted([call("slow"), call("slow"), "found it"]), [slow], name="clerk")
    boss = once(clerk, "boss", asks())
    first = boss.run_sync("go", timeout=0.2)
    assert (first.reason, first.limit, texts(first)) == ("limit", "seconds: 0.2", [])
    assert texts(boss.run_sync(first.state, timeout=60)) == ["found it"]


def test_a_bound_of_the_inner_agent_itself_is_a_failed_call() -> None:
    clerk = researcher(limits=RunLimits(requests=2))
    result = once(clerk, "boss", asks()).run_sync("go", limits=RunLimits(requests=20))
    assert result.output == "end" and "at its limit" in texts(result)[0]


def test_an_approved_agent_that_has_not_finished_is_not_asked_about_again() -> None:
    clerk = researcher()
    asked: list[str] = []

    def approver(ticket: Any) -> bool:
        asked.append(ticket.tool)
        return True

    boss = Agent(Scripted([asks(), "end"]), [clerk.as_tool(approval=True)], name="boss")
    first = boss.run_sync("go", limits=RunLimits(requests=3), approver=approver)
    assert first.reason == "limit"
    again = boss.run_sync(saved(first, True), limits=RunLimits(requests=20), approver=approver)
    assert texts(again) == ["found it"] and asked == ["clerk"]


def test_events_of_an_unfinished_call_end_it_and_its_run_goes_on_in_a_stream() -> None:
    clerk = researcher()
    boss = once(clerk, "boss", asks())
    run = boss.stream("go", limits=RunLimits(requests=3))
    kinds = [event.type for event in run]
    assert kinds.count("tool_started") == kinds.count("tool_finished") == 1
    more = boss.stream(run.state, limits=RunLimits(requests=20))
    assert [event.type for event in more][-1] == "run_finished" and more.result.output == "end"


@pytest.mark.parametrize("reopened", [False, True])
def test_in_a_session_the_inner_run_continues_as_the_run_it_was(
    tmp_path: Path, reopened: bool
) -> None:
    clerk = researcher()
    middle = once(clerk, "middle", asks())
    boss = once(middle, "boss", asks("middle"))
    sessions = Sessions(tmp_path / "s.db")
    first = boss.run_sync("go", session=sessions["ada"], limits=RunLimits(requests=4))
    assert first.reason == "limit"
    if reopened:
        sessions.close()
        sessions = Sessions(tmp_path / "s.db")
    again = boss.run_sync(None, session=sessions["ada"], limits=RunLimits(requests=20))
    assert again.output == "end" and texts(again) == ["end"]
    assert [len(each.model.requests) for each in (clerk, middle, boss)] == [4, 2, 2]
    assert again.usage.requests == 8 and sessions["ada"].usage.requests == 8
    assert sessions["ada"].load_state().is_at_rest
    runs = [e.entry.run for e in sessions["ada"].entries() if e.entry.kind == "run_began"]  # type: ignore[attr-defined]
    assert len(runs) == len(set(runs)) == 3


def test_in_a_session_a_message_after_a_cancel_goes_on_without_the_inner_run(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        entered = asyncio.Event()

        @tool
        async def slow() -> str:
            """Wait."""
            entered.set()
            await asyncio.Event().wait()
            return "never"

        clerk = Agent(Scripted([call("slow"), "found it"]), [slow], name="clerk")
        boss = once(clerk, "boss", asks())
        session = Sessions(tmp_path / "s.db")["ada"]
        run = boss.start("go", session=session)
        await entered.wait()
        run.cancel()
        assert (await run).reason == "cancelled"
        result = await boss.run("something else", session=session)
        assert result.output == "end" and problems(result.messages) == []
        assert "has no result" in texts(result)[0] and len(clerk.model.requests) == 1
        assert session.load_state().is_at_rest

    run_async(main)


@pytest.mark.parametrize("form", ["state", "session"])
@pytest.mark.parametrize("sibling", ["pay", "look", ""])
def test_an_inner_run_that_a_mistake_of_the_program_ended_continues_when_it_is_mended(
    form: str, sibling: str
) -> None:
    is_mended: list[bool] = []

    @tool
    def read() -> str:
        """Read."""
        if not is_mended:
            raise SetupError("set DATABASE")
        return "read"

    turn = [
        call("read"),
        *{"pay": [call("pay", {"amount": 5})], "look": [call("look", {"at": 1})]}.get(sibling, []),
    ]
    clerk = Agent(Scripted([turn, "done"]), [pay, look, read], name="clerk")
    boss = Agent(Scripted([asks(), "end"]), [clerk.as_tool()])
    kept: Any = {"session": Sessions(":memory:")["ada"]} if form == "session" else {}
    with pytest.raises(SetupError, match="set DATABASE") as failed:
        boss.run_sync("go", **kept)
    run: Any = failed.value.run  # type: ignore[attr-defined]
    assert [ticket.tool for ticket in run.pending] == ["pay"] * (sibling == "pay")
    is_mended.append(True)
    start = None if kept else RunState.from_json(run.state.to_json(KEY), KEY)
    result = boss.run_sync(start, **kept, decisions=[ticket.approve() for ticket in run.pending])
    assert (result.output, result_of(result.messages).text) == ("end", "done")
    assert problems(result.messages) == []


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_guard_that_ends_an_inner_run_leaves_what_waits_beside_it(is_waiting: bool) -> None:
    class Ended(Exception):
        pass

    guarded = tool("read", steps=[input_guard(lambda prepared, context: Stop(Ended("no")))])(
        lambda: "read"
    )
    turn = [call("read"), *[call("pay", {"amount": 5})] * is_waiting]
    clerk = Agent(Scripted([turn, "paid"]), [pay, guarded], name="clerk")
    boss = Agent(Scripted([asks(), "end"]), [clerk.as_tool()])
    if not is_waiting:
        assert result_of(boss.run_sync("go").messages).kind == "crashed"
        return
    with pytest.raises(Ended) as failed:
        boss.run_sync("go")
    state: RunState = failed.value.run.state  # type: ignore[attr-defined]
    done = boss.run_sync(state, decisions=[state.pending[0].approve()])
    assert (done.output, result_of(done.messages).text) == ("end", "paid")
