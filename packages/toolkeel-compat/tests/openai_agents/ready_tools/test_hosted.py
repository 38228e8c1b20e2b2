"""What OpenAI hosts; `HostedMCPTool` run here against a real server, under its approval function."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.computer.test_tool import WARNING, Small
from tests.mcp.peers import http_peer
from toolkeel import Agent, RunContext, ToolCall, Toolset, UserMessage
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.tool_sources import gather_tools
from toolkeel.errors import SetupError
from toolkeel.messages import ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, openai_responses
from toolkeel.providers.openai_responses import encode_tools
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    AsyncComputer,
    CodeInterpreterTool,
    Computer,
    ComputerTool,
    ComputerToolSafetyCheckData,
    FileSearchTool,
    Filters,
    HostedMCPTool,
    Mcp,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
    RankingOptions,
)

CODE = {"type": "code_interpreter", "container": {"type": "auto", "memory_limit": "4g"}}


def test_its_configuration_is_what_openai_is_sent() -> None:
    assert encode_tools([CodeInterpreterTool(CODE).tool]) == [CODE]


def test_a_model_that_hosts_nothing_runs_it_here() -> None:
    model = Scripted([call("code_interpreter", {"code": "6 * 7"}), "done"])
    result = Agent(model, [CodeInterpreterTool(tool_config=CODE)]).run_sync("go")
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


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_peer() as (address, _):
        yield address


def run(tool: HostedMCPTool, name: str, context: object = None, **arguments: object) -> ToolMessage:
    model = Scripted([[ToolCall("1", name, arguments)], "done"])
    result = Agent(model, tools=[tool]).run_sync("go", deps=context)  # type: ignore[list-item]
    if result.pending:
        return ToolMessage("waits for a person", status="error", kind="denied")
    return next(m for m in result.messages if isinstance(m, ToolMessage))


def test_the_function_sees_the_whole_call_and_lets_it_through(url: str) -> None:
    seen: list[MCPToolApprovalRequest] = []

    async def approve(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        seen.append(request)
        return {"approve": True}

    config = Mcp(url, "key", {"server_label": "files", "allowed_tools": ["echo"]})
    user = SimpleNamespace(user_id="u1")
    assert run(HostedMCPTool(config, approve), "echo", user, text="北京").content == "北京"
    [request] = seen
    assert request.ctx_wrapper.context is user
    assert (request.data.tool_name, request.data.arguments) == ("echo", {"text": "北京"})
    assert request.data.server_name == "files"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"approve": False, "reason": "需要管理员权限"}, "需要管理员权限"),
        ({"approve": False}, "no reason was given"),
        ({"approve": "yes"}, "no reason was given"),
        (True, "no reason was given"),
        (None, "no reason was given"),
    ],
)
def test_anything_but_a_clear_yes_means_no_and_the_reason_is_told(
    url: str, answer: Any, told: str
) -> None:
    message = run(HostedMCPTool(Mcp(url), lambda request: answer), "echo", text="hi")
    assert (
        message.kind == "denied" and f"The call of 'echo' was not approved: {told}" in message.text
    )


def test_a_function_that_fails_means_no(url: str) -> None:
    def broken(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        raise KeyError("whitelist")

    message = run(HostedMCPTool(Mcp(url), broken), "echo", text="hi")
    assert message.kind == "denied" and "KeyError" in message.text


def test_without_a_function_the_runs_approver_is_asked(url: str) -> None:
    assert run(HostedMCPTool(Mcp(url)), "echo", text="hi").content == "waits for a person"


def test_the_sdks_own_form_of_the_configuration_is_taken(url: str) -> None:
    tool = HostedMCPTool(
        {"type": "mcp", "server_label": "files", "server_url": url, "allowed_tools": ["echo"]},
        lambda request: {"approve": True},
    )

    async def names() -> tuple[str, ...]:
        return (await gather_tools([tool], Toolset(), RunContext())).names

    assert run_sync(names) == ("echo",)
    assert (tool.name, tool.prefix) == ("hosted_mcp", "files_")


# — at a provider —


class AtProvider(Scripted):
    """A model whose server hosts tools."""

    def __init__(self, hosts: str) -> None:
        super().__init__([])
        self.hosts = hosts


def given(tool: HostedMCPTool, hosts: str) -> Toolset:
    agent = Agent(AtProvider(hosts), tools=[tool])
    run: RunContext = RunContext(SimpleNamespace(user_id="u1"), agent=agent)
    return run_sync(lambda: gather_tools([tool], Toolset(), run))


def asked(arguments: str) -> dict[str, Any]:
    item = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "files",
            "name": "delete", "arguments": arguments}  # fmt: skip
    return {"object": "response", "status": "completed", "model": "gpt-5", "output": [item]}


CONFIG = Mcp("https://mcp.example.com", "key", {"server_label": "files", "allowed_tools": ["a"]})


def test_openai_talks_to_the_server_by_itself_and_the_function_answers_what_it_asks() -> None:
    seen: list[Any] = []

    async def approve(request: MCPToolApprovalRequest) -> MCPToolApprovalFunctionResult:
        seen.append((request.data.tool_name, request.data.arguments))
        return {"approve": False, "reason": "需要管理员权限"}

    tools = given(HostedMCPTool(CONFIG, approve), "openai-responses")
    [body] = openai_responses.encode_tools(tools)
    assert body == {
        "type": "mcp",
        "server_label": "files",
        "server_url": "https://mcp.example.com",
        "authorization": "key",
        "allowed_tools": ["a"],
        "require_approval": "always",
    }
    reply = openai_responses.decode(asked('{"path": "/system"}'), tools=tools)
    results = tools.run_sync(reply.tool_calls)
    assert seen == [("delete", {"path": "/system"})]
    items = openai_responses.encode(ModelRequest([reply, *results], tools), "gpt-5")["input"]
    assert items[-1] == {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": False,
        "reason": "需要管理员权限",
    }


def test_arguments_that_cannot_be_read_are_not_approved() -> None:
    tools = given(HostedMCPTool(CONFIG, lambda request: {"approve": True}), "openai-responses")
    reply = openai_responses.decode(asked("{broken"), tools=tools)
    [result] = tools.run_sync(reply.tool_calls)
    assert '"approve": false' in result.text


def test_without_a_function_what_openai_asks_goes_to_the_approver() -> None:
    tools = given(HostedMCPTool(CONFIG), "openai-responses")
    reply = openai_responses.decode(asked("{}"), tools=tools)
    [denied] = tools.run_sync(reply.tool_calls)
    assert denied.kind == "denied"
    [approved] = tools.run_sync(reply.tool_calls, RunContext(approver=lambda ticket: True))
    assert approved.text == '{"approve": true}'


def test_anthropic_which_cannot_ask_hosts_only_what_asks_nobody(url: str) -> None:
    more = {"server_label": "files", "require_approval": "never", "allowed_tools": ["echo"]}
    tools = given(HostedMCPTool(Mcp(url, "key", more)), "anthropic")
    body = anthropic.encode(ModelRequest([UserMessage("hi")], tools), "claude")
    assert body["mcp_servers"] == [
        {"type": "url", "name": "files", "url": url, "authorization_token": "key"}
    ]
    assert body["tools"] == [
        {
            "type": "mcp_toolset",
            "mcp_server_name": "files",
            "default_config": {"enabled": False},
            "configs": {"echo": {"enabled": True}},
        }
    ]
    careful = HostedMCPTool(Mcp(url, "key", more), lambda request: {"approve": True})
    assert given(careful, "anthropic").names == ("echo",)


def sent(config: dict[str, Any]) -> dict[str, Any]:
    [body] = openai_responses.encode_tools(given(HostedMCPTool(config), "openai-responses"))
    return body


def test_a_connector_and_approvals_by_tool_reach_openai_as_they_are() -> None:
    config = {
        "type": "mcp",
        "server_label": "google_calendar",
        "connector_id": "connector_googlecalendar",
        "authorization": "key",
        "require_approval": {"never": {"tool_names": ["search"]}, "always": {"read_only": False}},
    }
    assert sent(config) == config


def test_a_word_for_approvals_that_is_none_is_refused() -> None:
    with pytest.raises(SetupError, match="sometimes"):
        HostedMCPTool({"server_url": "https://a.example", "require_approval": "sometimes"})


def test_a_key_of_the_configuration_that_would_be_lost_is_refused() -> None:
    config = {"type": "mcp", "server_label": "a", "server_url": "https://a.example", "tunnel": "t"}
    with pytest.raises(SetupError, match=r"has no 'tunnel'; it has type, server_url"):
        HostedMCPTool(config)
