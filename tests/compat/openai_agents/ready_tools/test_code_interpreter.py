"""OpenAI's code interpreter goes out with its configuration, and runs here elsewhere."""

from __future__ import annotations

from toolkeel import Agent
from toolkeel.compat.openai_agents import CodeInterpreterTool
from toolkeel.providers.openai_responses import encode_tools
from toolkeel.testing.scripted import Scripted, call

CONFIG = {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}}


def test_its_configuration_is_what_openai_is_sent() -> None:
    assert encode_tools([CodeInterpreterTool(CONFIG).tool]) == [CONFIG]


def test_a_model_that_hosts_nothing_runs_it_here() -> None:
    model = Scripted([call("code_interpreter", {"code": "6 * 7"}), "done"])
    result = Agent(model, [CodeInterpreterTool(tool_config=CONFIG)]).run_sync("go")
    assert "42" in result.messages[-2].text
