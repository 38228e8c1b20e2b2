"""Guardrails of tools and of agents: the core's, with the SDK's verdicts and exceptions."""

from __future__ import annotations

import ast
import asyncio
import json
from typing import Any

import pytest

from toolkeel import SetupError, ToolCall, ToolMessage, Toolset
from toolkeel.runs import GuardrailTripped
from toolkeel.testing import Scripted
from toolkeel_compat.openai_agents import (
    Agent,
    AgentsException,
    AllowBehavior,
    FunctionTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RaiseExceptionBehavior,
    RejectContentBehavior,
    Runner,
    ToolContext,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolInputGuardrailResult,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    ToolOutputGuardrailResult,
    ToolOutputGuardrailTripwireTriggered,
    function_tool,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from toolkeel_compat.openai_agents.guardrails import to_behavior

Output = ToolGuardrailFunctionOutput


def paying(inputs: Any = (), outputs: Any = ()) -> FunctionTool:
    @function_tool(tool_input_guardrails=inputs, tool_output_guardrails=outputs)
    def pay(amount: int, to: str = "shop") -> dict[str, Any]:
        """Pay."""
        if amount == 13:
            raise RuntimeError("secret-13")
        return {"paid": amount, "to": to}

    made: FunctionTool = pay
    return made


def pay(tool: FunctionTool, **args: Any) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", "pay", args)])
    return message


@tool_input_guardrail
def at_most_100(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
    amount = json.loads(data.context.tool_arguments)["amount"]
    return Output.allow() if amount <= 100 else Output.reject_content(f"{amount} is too much")


class Capped(ToolInputGuardrail):
    """Changes the arguments, as a dict or as text."""

    def __init__(self, as_text: bool) -> None:
        self.as_text = as_text

    def run(self, tool_name: str, arguments: Any, context: Any) -> ToolInputGuardrailResult:
        assert isinstance(context, ToolContext)
        assert tool_name == "pay"
        changed = {**arguments, "amount": min(arguments["amount"], 50)}
        content = json.dumps(changed) if self.as_text else changed
        return ToolInputGuardrailResult(output=Output(behavior=AllowBehavior(content)))


def test_a_decorated_function_guards_the_arguments() -> None:
    tool = paying([at_most_100])
    assert ast.literal_eval(pay(tool, amount=5).text) == {"paid": 5, "to": "shop"}
    refused = pay(tool, amount=500)
    assert (refused.content, refused.kind) == ("500 is too much", "refused")
    assert refused.details["guard"] == "at_most_100"


@pytest.mark.parametrize("as_text", [True, False])
def test_a_class_changes_the_arguments_and_the_next_guardrail_sees_them(as_text: bool) -> None:
    tool = paying([Capped(as_text), at_most_100])
    assert ast.literal_eval(pay(tool, amount=500).text.partition("\n")[0])["paid"] == 50


def test_an_output_guardrail_sees_the_value_or_the_text_of_the_error() -> None:
    seen: list[Any] = []

    @tool_output_guardrail(name="watch")
    async def watch(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        seen.append(data.output)
        return Output.allow()

    tool = paying((), [watch])
    pay(tool, amount=5)
    assert pay(tool, amount=13).kind == "crashed"
    assert seen[0] == {"paid": 5, "to": "shop"}
    assert "secret-13" not in seen[1]
    assert watch.get_name() == "watch"


def test_an_output_guardrail_as_a_class_sees_text_and_changes_or_rejects_it() -> None:
    class Clean(ToolOutputGuardrail):
        async def run(self, tool_name: str, output: Any, context: Any) -> ToolOutputGuardrailResult:
            assert isinstance(output, str)
            changed = output.replace("shop", "***")
            return ToolOutputGuardrailResult(output=Output(behavior=AllowBehavior(changed)))

    @tool_output_guardrail
    def no_stars(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        assert data.output == '{"paid":5,"to":"***"}'
        return Output.reject_content("withheld")

    assert json.loads(pay(paying((), [Clean()]), amount=5).text)["to"] == "***"
    rejected = pay(paying((), [Clean(), no_stars]), amount=5)
    assert (rejected.content, rejected.kind) == ("withheld", "refused")


def test_an_output_guardrail_ends_the_run_with_its_own_exception() -> None:
    @tool_output_guardrail
    def stop(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        return Output(behavior=RaiseExceptionBehavior("enough"))

    with pytest.raises(ToolOutputGuardrailTripwireTriggered, match="enough") as ended:
        pay(paying((), [stop]), amount=5)
    assert ended.value.guardrail is stop


@pytest.mark.parametrize(
    "answer", [None, "yes", Output(behavior={"type": "shrug"}), Output(behavior=None)]
)
def test_a_guardrail_that_says_nothing_clear_refuses_its_call(answer: Any) -> None:
    guardrail = ToolInputGuardrail(lambda data: answer, name="vague")
    message = pay(paying([guardrail]), amount=5)
    assert (message.kind, message.details["guard"]) == ("refused", "vague")


def test_a_guardrail_without_anything_to_run_refuses_and_says_why() -> None:
    message = pay(paying([ToolInputGuardrail()]), amount=5)
    assert message.kind == "refused"
    assert SetupError.__name__ in str(message.details["traceback"])


def test_a_guardrail_made_of_a_function_is_run_by_itself() -> None:
    @tool_input_guardrail
    async def never(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content(data.context.tool_name)

    data = ToolInputGuardrailData(ToolContext(None, tool_name="pay"), None)
    said = asyncio.run(never.run(data))
    assert (said.behavior["type"], said.behavior["message"] or said.behavior["reject_message"]) == (
        "reject_content", "pay",
    )  # fmt: skip


def test_a_behaviour_may_be_a_record_or_the_dict_of_the_sdk() -> None:
    assert to_behavior({"type": "allow"}) == AllowBehavior()
    assert to_behavior(AllowBehavior("x")) == AllowBehavior("x")
    rejected = to_behavior({"type": "reject_content", "message": "no"})
    assert isinstance(rejected, RejectContentBehavior)
    assert rejected.message == "no"
    assert to_behavior({"type": "raise_exception"}) == RaiseExceptionBehavior()


@pytest.mark.parametrize("unclear", [{"type": "shrug"}, {}, {"type": "allow", "bogus": 1}])
def test_a_dict_that_says_nothing_known_is_an_error(unclear: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError)):
        to_behavior(unclear)


def test_the_three_ways_out_have_short_names() -> None:
    made = ToolGuardrailFunctionOutput
    assert made.allow({"score": 1}) == made({"score": 1}, AllowBehavior())
    assert made.reject_content("no").behavior == RejectContentBehavior("no")
    assert made.raise_exception().behavior == RaiseExceptionBehavior()


@input_guardrail
async def no_math(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
    """Refuse homework."""
    return GuardrailFunctionOutput((context.context, agent.name, said), "solve" in str(said))


@output_guardrail(name="short")
def short(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    """Refuse long answers."""
    return GuardrailFunctionOutput(len(output), len(output) > 5)


def clerk(*lines: Any) -> Agent[Any]:
    guards = {"input_guardrails": [no_math], "output_guardrails": [short]}
    return Agent("clerk", model=Scripted(lines), **guards)  # type: ignore[arg-type]


def test_what_is_said_is_looked_at_and_a_tripwire_ends_the_run() -> None:
    assert Runner.run_sync(clerk("hi"), "hello").final_output == "hi"
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        Runner.run_sync(clerk("x = 3"), "solve it", context="Ada")
    result = caught.value.guardrail_result
    assert result.output.output_info == ("Ada", "clerk", "solve it")
    assert result.guardrail is no_math and no_math.get_name() == "no_math"
    assert isinstance(caught.value, AgentsException) and caught.value.run_data is not None


def test_what_is_answered_is_looked_at_too() -> None:
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        Runner.run_sync(clerk("too long an answer"), "hello")
    result = caught.value.guardrail_result
    assert (result.agent.name, result.agent_output) == ("clerk", "too long an answer")
    assert result.output.output_info == 18 and short.get_name() == "short"


def test_one_that_fails_has_refused_and_one_that_is_first_holds_the_request_back() -> None:
    def broken(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        raise ValueError("oh")

    model = Scripted(["hi"])
    first = InputGuardrail(broken, run_in_parallel=False)
    with pytest.raises(GuardrailTripped, match="broken"):
        Runner.run_sync(Agent(model=model, input_guardrails=[first]), "hello")
    assert model.requests == []


def test_a_streamed_run_ends_in_the_same_way() -> None:
    async def read() -> None:
        async for _ in Runner.run_streamed(clerk("x = 3"), "solve it").stream_events():
            pass

    with pytest.raises(InputGuardrailTripwireTriggered):
        asyncio.run(read())
