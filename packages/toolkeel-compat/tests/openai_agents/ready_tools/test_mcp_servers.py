"""MCP servers under the SDK's names."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp.peers import PEER
from toolkeel import RunContext, SetupError, ToolCall, ToolContext
from toolkeel.define.tool import Tool
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    MCPServerManager,
    MCPServerSse,
    MCPServerStdio,
    MCPServerStreamableHttp,
    MCPUtil,
    RunContextWrapper,
    Runner,
    ToolFilterContext,
    create_static_tool_filter,
)
from toolkeel_compat.openai_agents.ready_tools.mcp_servers import passes_filter, read_approvals

pytestmark = pytest.mark.usefixtures("warm_python")


def test_a_servers_tools_are_the_agents_and_run_without_being_asked_about() -> None:
    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params, name="peer", cache_tools_list=True) as server:
            assert server.name == "peer"
            names = [tool.name for tool in await server.list_tools()]
            agent = Agent(
                name="a", mcp_servers=[server],
                model=Scripted([call(names[0], {}), "done"]),
            )  # fmt: skip
            return await Runner.run(agent, "go")

    result = asyncio.run(main())
    assert result.final_output == "done" and not result.interruptions


SERVER = """
from mcp.server import MCPServer
server = MCPServer("notes")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."
@server.resource("note://1")
def note() -> str:
    return "buy tea"
@server.resource("note://{number}/copy")
def copy(number: str) -> str:
    return number
server.run()
"""


def test_a_program_may_ask_a_server_itself(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(SERVER, "utf-8")

    async def main() -> None:
        params = {"command": sys.executable, "args": [str(program)]}
        async with MCPServerStdio(params=params) as server:
            assert [one.name for one in (await server.list_prompts()).prompts] == ["greet"]
            filled = await server.get_prompt("greet", {"name": "Ada"})
            assert filled.messages[0].content.text == "Greet Ada."
            assert str((await server.list_resources()).resources[0].uri) == "note://1"
            assert (await server.read_resource("note://1")).contents[0].text == "buy tea"
            [template] = (await server.list_resource_templates()).resource_templates
            assert template.name == "copy"
            assert (await server.call_tool("add", {"a": 2, "b": 3})).content[0].text == "5"

    asyncio.run(main())


def test_only_the_tools_that_are_allowed_are_taken() -> None:
    async def main() -> list[str]:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params) as server:
            first = (await server.list_tools())[0].name
        only = create_static_tool_filter(allowed_tool_names=[first])
        async with MCPServerStdio(params=params, tool_filter=only) as server:
            return [first, *(tool.name for tool in await server.list_tools())]

    first, *kept = asyncio.run(main())
    assert kept == [first]


def test_addresses_make_servers_of_both_kinds_on_the_network() -> None:
    params = {"url": "http://127.0.0.1:9/mcp", "headers": {"a": "b"}}
    assert MCPServerStreamableHttp(params).config.kind == "http"
    assert MCPServerSse(params, name="old").config.kind == "sse"
    assert MCPServerSse(params, name="old").name == "old"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_retry_attempts": 3}, "max_retry_attempts"),
        ({"require_approval": {"always": {"names": ["x"]}}}, "require_approval"),
        ({"require_approval": "sometimes"}, "require_approval"),
    ],
)
def test_an_option_that_would_not_be_honoured_is_refused(options: Any, named: str) -> None:
    with pytest.raises(SetupError, match=named):
        MCPServerStreamableHttp({"url": "http://127.0.0.1:9"}, **options)


def test_a_parameter_that_would_be_dropped_is_refused() -> None:
    with pytest.raises(SetupError, match="encoding"):
        MCPServerStdio({"command": "x", "encoding": "latin1"})


def test_a_filter_takes_names_away_or_decides_by_run_and_tool() -> None:
    async def main() -> None:
        params = {"command": PEER[0], "args": PEER[1:]}
        seen: list[tuple[object, object, str]] = []

        async def short(context: Any, tool: Any) -> bool:
            seen.append((context.run_context.context, context.agent.name, context.server_name))
            return len(tool.name) < 7

        async with MCPServerStdio(params=params, name="peer") as server:
            names = [tool.name for tool in await server.list_tools()]
            server.tool_filter = create_static_tool_filter(blocked_tool_names=names[:1])
            assert [tool.name for tool in await server.list_tools()] == names[1:]
            server.tool_filter = short
            agent = Agent(name="who", mcp_servers=[server])
            found = await MCPUtil.get_all_function_tools(
                [server], True, RunContextWrapper("mine"), agent
            )
            assert [tool.name for tool in found] == [name for name in names if len(name) < 7]
            assert all(tool.provider_options["strict"] for tool in found)
            assert seen[0] == ("mine", "who", "peer") and len(seen) == len(names)
            assert [tool.name for tool in await agent.get_all_tools(RunContextWrapper())] == [
                tool.name for tool in found
            ]

    asyncio.run(main())


def test_a_mapping_says_which_tools_a_person_is_asked_about() -> None:
    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params) as server:
            first, second, *_ = [tool.name for tool in await server.list_tools()]
        approvals = {"always": {"tool_names": [first]}, second: "always"}
        async with MCPServerStdio(params=params, require_approval=approvals) as server:
            return first, second, await server.list_tools()

    first, second, tools = asyncio.run(main())
    given = {tool.name: tool.approval for tool in tools}
    asked = {name for name, needs in given.items() if asyncio.run(_asks(needs))}
    assert asked == {first, second}
    assert all(hasattr(needs, "despite_rules") for needs in given.values())  # of changed tools


async def _asks(needs: Any) -> bool:
    wanted = needs({}, ToolContext(ToolCall("1", "x", {}), "x", RunContext()))
    return bool(await wanted if asyncio.iscoroutine(wanted) else wanted)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_function_says_which_calls_a_person_is_asked_about(wanted: bool) -> None:
    seen: list[Any] = []

    async def decide(context: Any, agent: Any, tool: Any) -> bool:
        seen.append((context.context, agent.name, tool.name))
        return wanted

    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params, require_approval=decide) as server:
            model = Scripted([call("fail", {"text": "x"}), "done"])
            agent = Agent(name="a", mcp_servers=[server], model=model)
            return await Runner.run(agent, "go", context="mine")

    result = asyncio.run(main())
    assert bool(result.interruptions) is wanted and seen == [("mine", "a", "fail")]


def test_a_tool_that_a_filter_fails_on_is_left_out_and_no_other() -> None:
    def only_short(context: Any, tool: Any) -> bool:
        return 1 / (len(tool.name) - len(first)) != 0

    async def main() -> list[str]:
        return [t.name for t in await server.list_tools()]

    server = MCPServerStdio(params={"command": PEER[0], "args": PEER[1:]})
    first, *_ = names = asyncio.run(main())
    server.tool_filter = only_short
    assert asyncio.run(main()) == [name for name in names if len(name) != len(first)]
    asyncio.run(server.cleanup())


def test_a_manager_connects_what_can_be_reached_and_tells_the_rest() -> None:
    async def main() -> None:
        good = MCPServerStdio(params={"command": PEER[0], "args": PEER[1:]}, name="good")
        bad = MCPServerStdio(params={"command": PEER[0], "args": ["-c", "pass"]}, name="bad")
        async with MCPServerManager([good, bad]) as manager:
            assert (manager.active_servers, manager.failed_servers) == ([good], [bad])
            assert "bad" in str(manager.errors[bad])
            assert await manager.reconnect() == [good]
        with pytest.raises(SetupError):
            await MCPServerManager([bad], strict=True).__aenter__()

    asyncio.run(main())


def test_what_a_server_says_of_a_failure_is_read_as_it_says_it() -> None:
    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params) as server:
            model = Scripted([call("fail", {"text": "no such row"}), "done"])
            await Runner.run(Agent(name="a", mcp_servers=[server], model=model), "go")
            return model.requests[-1].messages[-1]

    told = asyncio.run(main())
    assert told.content == "no such row" and not told.failed


@pytest.mark.parametrize(
    ("options", "waits"), [({}, False), ({"require_approval": {"fail": "always"}}, True)]
)
def test_what_a_server_says_that_nobody_is_asked_about_asks_about_no_later_call(
    options: Any, waits: bool
) -> None:
    async def main() -> Any:
        params = {"command": PEER[0], "args": PEER[1:]}
        async with MCPServerStdio(params=params, **options) as server:
            server.invalidate_tools_cache()
            script = [call("fail", {"text": "x"}), call("fail", {"text": "y"}), "done"]
            agent = Agent(name="a", mcp_servers=[server], model=Scripted(script))
            result = await Runner.run(agent, "go")
            if not waits:
                return result.final_output
            state = result.to_state()
            state.reject(result.interruptions[0], rejection_message="no")
            [read] = [m.text for m in (await Runner.run(agent, state)).messages if m.text == "no"]
            return read

    assert asyncio.run(main()) == ("no" if waits else "done")


names = st.sets(st.sampled_from(["a", "b", "c"]))


def made(name: str) -> Any:
    return Tool.from_schema(
        f"peer_{name}", "", {"type": "object"}, lambda c, a: "", metadata={"mcp": {"tool": name}}
    )


@given(st.none() | names, st.none() | names, st.sampled_from(["a", "b", "c"]))
def test_a_tool_is_taken_if_it_is_allowed_and_not_blocked(
    allowed: Any, blocked: Any, name: str
) -> None:
    wanted = create_static_tool_filter(allowed, blocked)
    context = ToolFilterContext(RunContextWrapper(), None, "peer")
    expected = (allowed is None or name in allowed) and name not in (blocked or ())
    assert asyncio.run(passes_filter(made(name), wanted, context)) is expected


@given(names, names)
def test_those_that_are_named_are_asked_about(always: Any, each: Any) -> None:
    approvals = {"always": {"tool_names": [*always]}, **dict.fromkeys(each, "always")}
    assert read_approvals(approvals) == always | each
