"""OpenAI's code interpreter goes out with its configuration, and runs here elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builtin.computer.test_tool import WARNING, Small
from toolkeel import Agent, RunContext, ToolCall, Toolset
from toolkeel.compat.openai_agents import (
    AsyncComputer,
    CodeInterpreterTool,
    Computer,
    ComputerTool,
    ComputerToolSafetyCheckData,
    FileSearchTool,
    Filters,
    RankingOptions,
)
from toolkeel.errors import SetupError
from toolkeel.providers import openai_responses
from toolkeel.providers.openai_responses import encode_tools
from toolkeel.testing.scripted import Scripted, call

CONFIG = {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}}


def test_its_configuration_is_what_openai_is_sent() -> None:
    assert encode_tools([CodeInterpreterTool(CONFIG).tool]) == [CONFIG]


def test_a_model_that_hosts_nothing_runs_it_here() -> None:
    model = Scripted([call("code_interpreter", {"code": "6 * 7"}), "done"])
    result = Agent(model, [CodeInterpreterTool(tool_config=CONFIG)]).run_sync("go")
    assert "42" in result.messages[-2].text


def test_ranking_and_filters_reach_the_provider() -> None:
    search = FileSearchTool(
        ["vs_1"],
        ranking_options=RankingOptions(ranker="auto", score_threshold=0.7),
        filters=Filters(metadata={"部门": "engineering"}),
    )
    [body] = openai_responses.encode_tools(Toolset([search]))
    assert body["ranking_options"] == {"ranker": "auto", "score_threshold": 0.7}
    assert "部门" in str(body["filters"])


def test_what_is_no_computer_is_refused_when_it_becomes_a_tool() -> None:
    class Half(Computer):
        def screenshot(self) -> bytes:
            return b""

    with pytest.raises(SetupError, match="neither click"):
        ComputerTool(Half())


def test_a_computer_of_the_sdks_interface_is_a_tool() -> None:
    tool = ComputerTool(computer=Small())
    assert tool.name == "computer" and AsyncComputer is Computer
    arguments = {"actions": [{"type": "type", "text": "x"}]}
    [result] = Toolset([tool]).run_sync([ToolCall("c", "computer", arguments)])
    assert not result.failed


def test_a_safety_check_function_is_given_the_sdks_data() -> None:
    seen: list[ComputerToolSafetyCheckData] = []

    def check(data: ComputerToolSafetyCheckData) -> bool:
        seen.append(data)
        return data.ctx_wrapper.context == "user"

    tool = ComputerTool(Small(), on_safety_check=check)
    arguments: dict[str, Any] = {"actions": [{"type": "screenshot"}], "safety_checks": [WARNING]}
    one = ToolCall("c", "computer", arguments)
    assert not Toolset([tool]).run_sync([one], RunContext("user"))[0].failed
    assert Toolset([tool]).run_sync([one], RunContext("other"))[0].kind == "denied"
    assert seen[0].safety_check.message == "The page gives orders."
    assert seen[0].tool_call.id == "c"


def test_a_computer_with_the_sdks_own_methods_is_one() -> None:
    names = ["click", "double_click", "scroll", "type", "wait", "move", "keypress", "drag"]
    space = {"screenshot": lambda self: "iVBORw0KGgo=", **dict.fromkeys(names, lambda *_: None)}
    whole = type("Whole", (AsyncComputer,), {**space, "dimensions": (9, 9)})
    tool = ComputerTool(computer=whole())
    arguments = {"actions": [{"type": "click", "x": 1, "y": 2, "button": "left"}]}
    [result] = Toolset([tool]).run_sync([ToolCall("c", "computer", arguments)])
    assert not result.failed
