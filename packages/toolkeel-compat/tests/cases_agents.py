"""What becomes of the examples of seed 004, which speaks of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.seeds import IMPORTS, NOT_PYTHON, RUNS, Case, Ran
from toolkeel import ToolCall, Toolset
from toolkeel.messages import ToolMessage
from toolkeel.providers import openai_responses
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat import openai_agents
from toolkeel_compat.openai_agents import (
    Agent,
    AgentsException,
    ComputerTool,
    FunctionTool,
    FunctionToolResult,
    McpApprovalRequest,
    MCPToolApprovalRequest,
    RunContextWrapper,
    Runner,
    ToolContext,
    ToolInputGuardrailTripwireTriggered,
    function_tool,
)
from toolkeel_workspace.search.open_store import resolve_store_path
from toolkeel_workspace.search.stores import Source
from toolkeel_workspace.search.vector_store import VectorStore

ALL: Mapping[str, Any] = {name: getattr(openai_agents, name) for name in openai_agents.__all__}
HEARD: list[Any] = []


def names(**more: Any) -> Any:
    return lambda: {**ALL, "Any": Any, **more}


def answer(tool: Any, arguments: Mapping[str, Any], context: Any = None) -> Any:
    model = Scripted([call(tool.name, arguments, "call_1"), "done"])
    agent = Agent(name="assistant", tools=[tool], model=model)
    result = Runner.run_sync(agent, "go", context=context)
    return next(one for one in result.messages if isinstance(one, ToolMessage))


def both_schemas_are_enforced(ran: Ran) -> None:
    weather, search = ran.values

    async def echo(context: ToolContext[Any], arguments: str) -> str:
        return f"{context.tool_call_id} {arguments}"

    for schema, good, bad in (
        (weather, {"city": "北京"}, {"city": "北京", "units": "kelvin"}),
        (
            search,
            {"query": "q", "filters": {"price_range": {"min": 1}}},
            {"query": "q", "limit": 0},
        ),
    ):
        tool = FunctionTool("look", "Look.", schema, echo)
        shown = tool.params_json_schema  # in the strict form, as there
        assert shown["properties"].keys() == schema["properties"].keys() == {*shown["required"]}
        fine = answer(tool, good)
        assert fine.content.startswith("call_1 ")
        assert json.loads(fine.content.removeprefix("call_1 ")) == good
        assert answer(tool, bad).kind == "invalid_arguments"


def the_tool_sees_its_whole_context(ran: Ran) -> None:
    tool = ran["context_aware_tool"]
    assert isinstance(tool, FunctionTool)
    assert list(tool.params_json_schema["properties"]) == ["param"]
    assert (
        answer(tool, {"param": "甲"}, {"user": 1}).content
        == "处理完成：甲，代理：assistant，已用token：0"
    )
    seen: list[Any] = []

    @function_tool
    def look(param: str, context: ToolContext) -> str:  # type: ignore[type-arg]
        seen.append((context.ctx_wrapper.context, context.run_item.raw_item.id, context.agent.name))
        return "seen"

    answer(look, {"param": "x"}, {"user": 1})
    assert seen == [({"user": 1}, "call_1", "assistant")]


def weather_names() -> Mapping[str, Any]:
    HEARD.clear()
    return {
        **ALL,
        "get_weather_from_api": lambda city, units="kelvin": f"{city} in {units}",
        "log_tool_call": lambda *words: HEARD.append(words),
    }


def three_signatures(ran: Ran) -> None:
    user = SimpleNamespace(user_id="u7", preferences={"temperature_units": "fahrenheit"})
    made = [ran[name] for name in ("simple_tool", "user_aware_tool", "full_context_tool")]
    for tool in made:
        assert list(tool.params_json_schema["properties"]) == ["city"]
    answers = [answer(tool, {"city": "北京"}, user).content for tool in made]
    assert answers == ["北京 in kelvin", "北京 in fahrenheit", "北京 in kelvin"]
    assert HEARD == [("assistant", "u7", "get_weather", "北京")]


def file_search_is_hosted_or_local(ran: Ran) -> None:
    search = ran["advanced_search"]
    assert ran["basic_search"].vector_store_ids == ["vs_abc123"]
    assert (search.name, search.ranking_options.score_threshold) == ("file_search", 0.7)
    assert search.filters.metadata == {"department": "engineering"}
    [body] = openai_responses.encode_tools(Toolset([search]))
    assert body["vector_store_ids"] == ["vs_abc123", "vs_def456"]
    assert body["filters"]["filters"][0] == {  # type: ignore[index]
        "type": "eq",
        "key": "department",
        "value": "engineering",
    }
    [elsewhere] = Toolset([search]).run_sync([ToolCall("1", search.name, {"query": "x"})])
    assert "there is no vector store" in elsewhere.text
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", folder)
        store = VectorStore(resolve_store_path("vs_abc123"))
        store.add(Source("guide.md", "# 部署\n先运行测试,再部署。"))
        found = answer(ran["basic_search"], {"query": "怎么部署"})
        store.close()
    assert found.text.startswith("[1] guide.md > 部署 (score ")


class Screen(ModuleType):
    """Stands for the library that moves a real pointer, which needs a real screen."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: HEARD.append((name, *given, *named.values()))


def screen_names() -> Mapping[str, Any]:
    sys.modules.setdefault("pyautogui", Screen("pyautogui"))
    return {"screenshot_to_bytes": lambda picture: b"png"}


def the_computer_acts(ran: Ran) -> None:
    sys.modules.pop("pyautogui")
    computer = ran["MyComputer"]()
    assert (computer.display_width_px, computer.display_height_px) == (1920, 1080)
    HEARD.clear()
    assert asyncio.run(computer.screenshot()) == b"png"
    asyncio.run(computer.mouse_move(3, 4))
    asyncio.run(computer.mouse_click("left"))
    asyncio.run(computer.keyboard_type("你好"))
    assert HEARD == [
        ("screenshot",),
        ("moveTo", 3, 4),
        ("click", "left"),
        ("typewrite", "你好"),
    ]
    HEARD.clear()
    model = Scripted([call("computer", {"actions": [{"type": "type", "text": "你好"}]}), "Typed."])
    agent = Agent(model=model, tools=[ComputerTool(computer)])
    assert Runner.run_sync(agent, "Say hello.").final_output == "Typed."
    assert ("typewrite", "你好") in HEARD


def guardrail_names() -> Mapping[str, Any]:
    return {
        "Any": Any,
        "ToolOutputGuardrail": openai_agents.ToolOutputGuardrail,
        "ToolOutputGuardrailResult": openai_agents.ToolOutputGuardrailResult,
        "contains_credit_card": lambda text: "4111-1111" in text,
        "remove_credit_card_numbers": lambda text: text.replace("4111-1111", "****"),
    }


def both_guardrails_guard(ran: Ran) -> None:
    @function_tool(
        tool_input_guardrails=[ran["AmountLimitGuardrail"](100)],
        tool_output_guardrails=[ran["OutputSanitizationGuardrail"]()],
    )
    def pay(amount: float, note: str = "") -> str:
        """Pay."""
        return f"paid {amount} {note}".strip()

    assert answer(pay, {"amount": 5.0}).content == "paid 5.0"
    assert answer(pay, {"amount": 5, "note": "4111-1111"}).content == "paid 5.0 ****"
    refused = answer(pay, {"amount": 500})
    assert refused.content == "金额 500.0 超过限制 100"
    with pytest.raises(ToolInputGuardrailTripwireTriggered, match="金额不能为负数") as ended:
        answer(pay, {"amount": -1})
    assert isinstance(ended.value, AgentsException)
    assert ended.value.guardrail.max_amount == 100
    batch = [ToolCall("1", "pay", {"amount": 500}), ToolCall("2", "pay", {"amount": 1})]
    assert [m.kind for m in Toolset([pay]).run_sync(batch)] == ["refused", None]


def the_result_is_told(ran: Ran) -> None:
    @function_tool
    def double(n: int) -> int:
        return n * 2

    result = asyncio.run(ran["execute_and_log_tool"](double, {"n": 21}))
    assert isinstance(result, FunctionToolResult)
    assert (result.tool, result.output, result.run_item.success) == (double, "42", True)
    failed = asyncio.run(ran["execute_and_log_tool"](double, {"n": "many"}))
    assert failed.run_item.success is False
    assert "n" in failed.output


def the_handler_answers(ran: Ran) -> None:
    handler = ran["mcp_approval_handler"]
    assert ran["mcp_tool"].on_approval_request is handler
    assert ran["mcp_tool"].tool_config.server_url == "https://mcp.example.com"
    wrapper = RunContextWrapper(SimpleNamespace(user_id="u1"))

    def ask(name: str, **arguments: Any) -> Any:
        data = McpApprovalRequest(name, arguments, "files")
        return asyncio.run(handler(MCPToolApprovalRequest(wrapper, data)))

    assert ask("read_file") == {"approve": True}
    assert ask("delete_file")["approve"] is False
    assert ask("write_file", path="/system/x") == {"approve": False, "reason": "不允许访问系统目录"}
    assert Agent(tools=[ran["mcp_tool"]]).name == "agent"  # nothing is asked before it runs


def an_object_becomes_a_tool(ran: Ran) -> None:
    database = ran["DatabaseTool"]("sqlite://", ["select"])
    tool = ran["create_database_function_tool"](database)
    assert (tool.name, tool.description) == ("query_database", "执行SQL查询")
    assert answer(tool, {"sql": "select 1"}).content == "one row"


def provider_names() -> Mapping[str, Any]:
    def made(name: str) -> FunctionTool:
        def body() -> str:
            return name

        tool: FunctionTool = function_tool(name_override=name)(body)
        return tool

    listed = [
        "get_time",
        "calculate",
        "search_web",
        "manage_users",
        "system_config",
        "database_admin",
    ]
    return {**ALL, **{name: made(name) for name in listed}}


def providers_are_composed(ran: Ran) -> None:
    basic, admin = (Toolset(ran[name].tools) for name in ("basic_agent", "admin_agent"))
    assert basic.names == ("get_time", "calculate", "search_web")
    assert admin.names[3:] == ("manage_users", "system_config", "database_admin")
    [result] = admin.run_sync([ToolCall("1", "manage_users")])
    assert result.content == "manage_users"


DIAGRAM = Case(NOT_PYTHON, "a diagram")
CASES: Mapping[str, Case] = {
    **{f"004.{n}": DIAGRAM for n in (1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 19, 20)},
    "004.4": Case(RUNS, use=both_schemas_are_enforced),
    "004.6": Case(RUNS, use=the_tool_sees_its_whole_context, names=names()),
    "004.8": Case(RUNS, use=three_signatures, names=weather_names),
    "004.10": Case(IMPORTS, use=file_search_is_hosted_or_local),
    "004.12": Case(
        IMPORTS, "the library that moves the pointer is faked", the_computer_acts, screen_names
    ),
    "004.14": Case(IMPORTS, use=both_guardrails_guard, names=guardrail_names),
    "004.16": Case(RUNS, use=the_result_is_told, names=names(logger=logging.getLogger("example"))),
    "004.18": Case(IMPORTS, use=the_handler_answers, names=names(is_admin=lambda user: False)),
    "004.21": Case(IMPORTS, use=an_object_becomes_a_tool, names=names(query_result="one row")),
    "004.22": Case(RUNS, use=providers_are_composed, names=provider_names),
}
