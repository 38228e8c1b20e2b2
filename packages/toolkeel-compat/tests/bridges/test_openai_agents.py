"""The OpenAI Agents SDK's own tools run here, and ours run there: against the installed package."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.shared import peer
from toolkeel import (
    Agent,
    RunContext,
    SetupError,
    ToolCall,
    ToolContext,
    ToolError,
    ToolMessage,
    Toolset,
)
from toolkeel import tool as our_tool
from toolkeel.content import File, Image, Text, data_url
from toolkeel.testing.scripted import Scripted, call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def agents() -> Any:
    return peer("agents")


@pytest.fixture(scope="module")
def bridge(agents: Any) -> Any:
    return peer("toolkeel_compat.bridges.openai_agents")


def answer(tool: Any, arguments: Any, run: RunContext[Any] | None = None) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("c1", tool.name, arguments)], run)
    return message


def with_context(agents: Any, function: Any, kind: Any) -> Any:
    """The SDK looks a context up by its class, which is known only when it is installed."""
    function.__annotations__ = {**function.__annotations__, "ctx": kind, "word": str, "return": str}
    return agents.function_tool(function)


def test_their_tools_run_here_with_the_runs_context(agents: Any, bridge: Any) -> None:
    def greet(ctx: Any, word: str) -> str:
        """Greet.

        Args:
            word: How.
        """
        return f"{word} {ctx.context} {ctx.tool_name} {ctx.tool_call_id} {ctx.tool_arguments}"

    theirs = with_context(agents, greet, peer("agents.tool_context").ToolContext)
    ours = bridge.from_openai_agents(theirs)
    assert (ours.name, ours.description) == ("greet", "Greet.")
    assert ours.parameters["properties"]["word"]["description"] == "How."  # type: ignore[index]
    message = answer(ours, {"word": "你好"}, RunContext("ada"))
    assert message.content == '你好 ada greet c1 {"word":"你好"}'
    assert answer(ours, {"word": 7}).kind == "invalid_arguments"


def test_their_raw_tools_and_structured_outputs_come_along(agents: Any, bridge: Any) -> None:
    async def invoke(ctx: Any, arguments: str) -> Any:
        kind = json.loads(arguments)["kind"]
        return {
            "text": agents.ToolOutputText(text="shown"),
            "image": agents.ToolOutputImage(image_url="https://example.com/a.png"),
            "both": [{"type": "text", "text": "shown"}, agents.ToolOutputText(text="again")],
            "number": 7,
        }[kind]

    schema = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    theirs = agents.FunctionTool("show", "Show.", schema, invoke, strict_json_schema=False)
    ours = bridge.from_openai_agents(theirs)
    assert answer(ours, {"kind": "text"}).content == (Text("shown"),)
    assert answer(ours, {"kind": "image"}).content == (Image(url="https://example.com/a.png"),)
    assert answer(ours, {"kind": "both"}).content == (Text("shown"), Text("again"))
    assert answer(ours, {"kind": "number"}).content == "7"


def test_their_failures_are_told_or_masked(agents: Any, bridge: Any) -> None:
    def fail() -> str:
        """Fail."""
        raise LookupError("row 7 of secret.db")

    told = agents.function_tool(fail, failure_error_function=lambda ctx, error: f"no: {error}")
    assert answer(bridge.from_openai_agents(told), {}).content == "no: row 7 of secret.db"
    default = answer(bridge.from_openai_agents(agents.function_tool(fail)), {})
    assert "Please try again" in default.text
    raises = agents.function_tool(fail, failure_error_function=None)
    masked = answer(bridge.from_openai_agents(raises), {})
    assert masked.kind == "crashed"
    assert "secret" not in masked.text


def test_their_guardrails_guard_here(agents: Any, bridge: Any) -> None:
    output = agents.ToolGuardrailFunctionOutput

    @agents.tool_input_guardrail
    def limit(data: Any) -> Any:
        amount = json.loads(data.context.tool_arguments)["amount"]
        if amount < 0:
            return output.raise_exception("negative")
        return output.allow() if amount <= 100 else output.reject_content(f"{amount} is too much")

    @agents.tool_output_guardrail
    async def clean(data: Any) -> Any:
        return output.reject_content("withheld") if "13" in str(data.output) else output.allow()

    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    theirs = agents.function_tool(pay)
    theirs.tool_input_guardrails = [limit]
    theirs.tool_output_guardrails = [clean]
    ours = bridge.from_openai_agents(theirs)
    assert answer(ours, {"amount": 5}).content == "paid 5"
    refused, withheld = answer(ours, {"amount": 500}), answer(ours, {"amount": 13})
    assert (refused.content, refused.kind) == ("500 is too much", "refused")
    assert (withheld.content, withheld.kind) == ("withheld", "refused")
    with pytest.raises(agents.ToolInputGuardrailTripwireTriggered):
        answer(ours, {"amount": -1})


def test_whether_their_tool_is_enabled_and_asks_comes_along(agents: Any, bridge: Any) -> None:
    def act() -> str:
        """Act."""
        return "acted"

    off = bridge.from_openai_agents(agents.function_tool(act, is_enabled=False))
    assert answer(off, {}).kind == "disabled"
    admins = agents.function_tool(act, is_enabled=lambda ctx, agent: ctx.context == "admin")
    ours = bridge.from_openai_agents(admins)
    assert answer(ours, {}, RunContext("admin")).content == "acted"
    assert answer(ours, {}, RunContext("guest")).kind == "disabled"
    asks = bridge.from_openai_agents(agents.function_tool(act, needs_approval=True))
    assert answer(asks, {}).kind == "denied"
    assert answer(asks, {}, RunContext(approver=lambda ticket: True)).content == "acted"


def test_our_tools_run_there(agents: Any, bridge: Any) -> None:
    @our_tool
    def note(word: str, context: ToolContext[Any], times: int = 1) -> str:
        """Note a word."""
        if times < 1:
            raise ToolError("at least once")
        return f"{word * times} {context.deps} {context.tool_call_id}"

    theirs = bridge.to_openai_agents(note)
    assert isinstance(theirs, agents.FunctionTool)
    assert list(theirs.params_json_schema["properties"]) == ["word", "times"]
    their_context = peer("agents.tool_context").ToolContext

    def invoke(arguments: str) -> Any:
        context = their_context("me", tool_name="note", tool_call_id="c9", tool_arguments=arguments)
        return asyncio.run(theirs.on_invoke_tool(context, arguments))

    assert invoke('{"word": "a", "times": 2}') == "aa me c9"
    assert invoke('{"word": "a", "times": 0}') == "at least once"
    assert "word: expected a string" in invoke('{"word": 7}')
    assert "JSON" in invoke("{oops")


def test_their_runner_drives_our_tool(agents: Any, bridge: Any) -> None:
    @our_tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    responses = peer("openai.types.responses")
    model_module, usage = peer("agents.models.interface"), peer("agents.usage").Usage
    asked = responses.ResponseFunctionToolCall(
        arguments='{"a": 40, "b": 2}', call_id="c1", name="add", type="function_call", id="f1"
    )
    said = responses.ResponseOutputMessage(
        id="m1",
        role="assistant",
        status="completed",
        type="message",
        content=[
            responses.ResponseOutputText(text="It is 42.", type="output_text", annotations=[])
        ],
    )
    replies = iter([asked, said])

    class Replies(model_module.Model):  # type: ignore[misc,name-defined]
        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            return agents.ModelResponse(output=[next(replies)], usage=usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    agent = agents.Agent(name="clerk", model=Replies(), tools=[bridge.to_openai_agents(add)])
    result = asyncio.run(agents.Runner.run(agent, "40 and 2?"))
    assert result.final_output == "It is 42."
    assert [i.output for i in result.new_items if i.type == "tool_call_output_item"] == ["42"]


def test_a_tool_comes_back_from_there_as_it_went(bridge: Any) -> None:
    @our_tool
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    back = bridge.from_openai_agents(bridge.to_openai_agents(add))
    assert (back.name, back.description, back.parameters) == (
        add.name,
        add.description,
        add.parameters,
    )
    result = Agent(Scripted([call("add", {"a": 41}), "done"]), [back]).run_sync("go")
    assert [m.content for m in result.messages if isinstance(m, ToolMessage)] == ["42"]


def test_what_is_no_function_tool_is_refused(agents: Any, bridge: Any) -> None:
    for thing in (len, agents.WebSearchTool()):
        with pytest.raises(SetupError, match="FunctionTool"):
            bridge.from_openai_agents(thing)


def test_pictures_and_files_go_there_and_come_back(bridge: Any) -> None:
    given = (Text("see"), Image(b"GIF89a", "image/gif"), File(b"a,b", "t.csv", "text/csv"))

    @our_tool
    def look() -> object:
        """Look."""
        return list(given)

    back = bridge.from_openai_agents(bridge.to_openai_agents(look))
    [message] = Toolset([back]).run_sync([ToolCall("1", "look", "{}")])
    text, picture, file = message.content
    assert (text, file) == (given[0], given[2])
    assert data_url(picture) == data_url(given[1])


def test_what_only_a_file_id_names_is_refused(agents: Any, bridge: Any) -> None:
    def show(kind: str) -> Any:
        """Show."""
        picture = agents.ToolOutputImage(file_id="file_1")
        return picture if kind == "one" else [agents.ToolOutputText(text="see"), picture]

    ours = bridge.from_openai_agents(
        agents.function_tool(show, failure_error_function=None, strict_mode=False)
    )
    for kind in ("one", "several"):
        with pytest.raises(SetupError, match="only a file id"):
            answer(ours, {"kind": kind})


def test_our_pictures_artifacts_and_approvals_go_there(agents: Any, bridge: Any) -> None:
    @our_tool(returns="content_and_artifact", approval=lambda arguments: arguments["amount"] > 9)
    def pay(amount: int) -> Any:
        """Pay."""
        shown = [Text("see"), Image(url="https://a.example/b.png", extra={"detail": "low"})]
        return (shown if amount else ()), {"paid": amount}

    theirs = bridge.to_openai_agents(pay)
    their_context = peer("agents.tool_context").ToolContext

    def invoke(amount: int) -> tuple[Any, Any]:
        arguments = json.dumps({"amount": amount})
        context = their_context("me", tool_name="pay", tool_call_id="c9", tool_arguments=arguments)
        output = asyncio.run(theirs.on_invoke_tool(context, arguments))
        data = peer("agents.tool").FunctionToolCustomDataContext(context, theirs, output, {})
        return output, theirs.custom_data_extractor(data)

    assert [asyncio.run(theirs.needs_approval(None, {"amount": n}, "c9")) for n in (9, 10)] == [
        False,
        True,
    ]
    [words, picture], data = invoke(10)
    assert (words.text, picture.image_url, picture.detail) == (
        "see",
        "https://a.example/b.png",
        "low",
    )
    assert data == {"artifact": {"paid": 10}}
    assert invoke(0)[0] == "[]"
    always = our_tool("act", approval=True)(lambda: "acted")
    assert bridge.to_openai_agents(always).needs_approval is True


def test_a_tool_that_ends_the_run_does_not_go_there(bridge: Any) -> None:
    @our_tool(ends_run=True)
    def last() -> str:
        """Say the last word."""
        return "over"

    with pytest.raises(SetupError, match=r"ends_run=.*stop_at_tool_names"):
        bridge.to_openai_agents(last)


def test_what_a_tool_of_theirs_says_of_its_timeout_and_its_custom_data_comes_along(
    bridge: Any,
) -> None:
    sdk = peer("agents")

    async def slow(word: str) -> str:
        """Wait."""
        await asyncio.sleep(30 if word == "long" else 0)
        return word

    def of(**options: Any) -> Any:
        theirs = sdk.function_tool(slow, timeout=0.05, **options)
        return bridge.from_openai_agents(theirs)

    def told(tool: Any, word: str) -> Any:
        return Toolset([tool]).run_sync([ToolCall("c1", "slow", {"word": word})])[0]

    late = told(
        of(timeout_error_function=lambda context, error: f"{error.tool_name}: 太久"), "long"
    )
    assert (late.kind, late.text) == ("timeout", "slow: 太久")
    assert told(of(), "long").kind == "timeout"
    with pytest.raises(sdk.ToolTimeoutError, match="slow"):
        told(of(timeout_behavior="raise_exception"), "long")
    short = told(of(custom_data_extractor=lambda about: {"said": about.output}), "short")
    assert (short.text, short.artifact) == ("short", {"said": "short"})
