"""Servers as providers of tools, each a real process or on a real port."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.peers import OLD_PEER, PEER
from tests.shared import optional
from tests.waiting import until
from toolkeel import (
    Agent,
    Image,
    Rules,
    RunContext,
    SetupError,
    Text,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel._records.taint_sources import load_sources
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.events import Event, Progress
from toolkeel.mcp.client import elicitation
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.config import ServerConfig
from toolkeel.testing.scripted import Scripted

ERAS = [pytest.param(OLD_PEER, id="2025", marks=pytest.mark.slow), pytest.param(PEER, id="2026")]


def made(words: list[str]) -> Iterator[MCPServer]:
    server = MCPServer(words, name="peer", trust=True)
    yield server
    asyncio.run(server.close())


@pytest.fixture(params=ERAS, scope="module")
def peer(request: pytest.FixtureRequest) -> Iterator[MCPServer]:
    """One that the tests share: none of them changes it."""
    yield from made(request.param)


@pytest.fixture(params=ERAS)
def fresh(request: pytest.FixtureRequest) -> Iterator[MCPServer]:
    """One of a test's own."""
    yield from made(request.param)


def call(
    tools: Toolset, name: str, /, run: RunContext[None] | None = None, **arguments: object
) -> ToolMessage:
    [message] = tools.run_sync([ToolCall("1", name, arguments)], run)
    return message


def test_every_page_of_tools_is_listed_and_a_tool_is_called(peer: MCPServer) -> None:
    tools = Toolset(peer.tools())
    assert len(tools) == 11
    message = call(tools, "echo", text="北京")
    assert (message.content, message.failed) == ("北京", False)


def test_a_tool_whose_schema_has_a_fault_is_there_without_it_and_that_is_told(
    peer: MCPServer,
) -> None:
    assert Toolset(peer.tools())["broken"].parameters["properties"] == {"x": {}}
    assert "nonsense" in peer.problems["broken"] and "not checked" in peer.problems["broken"]


def test_a_result_is_kept_whole(peer: MCPServer) -> None:
    message = call(Toolset(peer.tools()), "mixed")
    [said, picture] = message.content
    assert isinstance(said, Text) and said.text == "猫"
    assert isinstance(picture, Image) and picture.data.startswith(b"\x89PNG")
    assert message.artifact == {"cats": 1}
    assert message.details["_meta"]["example.com/trace"] == "7"
    assert message.details["for_user"][0]["text"] == "for the person"


def test_an_error_of_the_tool_is_a_failed_result_with_its_text(peer: MCPServer) -> None:
    message = call(Toolset(peer.tools()), "fail", text="no such file")
    assert (message.kind, message.content) == ("tool_error", "no such file")


def test_a_result_that_breaks_its_promise_fails_and_is_not_lost(peer: MCPServer) -> None:
    tools = Toolset(peer.tools())
    assert call(tools, "count", n=5).artifact == {"n": 5}
    message = call(tools, "count", n=500)
    assert message.kind == "invalid_output" and "n: expected" in str(message.details["error"])
    assert "a fault of the server" in message.text and message.text.endswith("\n500")


def test_arguments_are_validated_before_the_server_is_asked(peer: MCPServer) -> None:
    assert call(Toolset(peer.tools()), "echo", txt="?").kind == "invalid_arguments"


@pytest.mark.slow
def test_a_deadline_ends_a_call_and_the_connection_serves_the_next() -> None:
    quick = MCPServer(PEER, name="quick", trust=True, timeout=4)
    tools = Toolset(quick.tools())
    late = call(tools, "wait")
    assert late.kind == "timeout" and late.details["may_still_be_running"]
    assert "may still take effect" in late.text and "stopped" not in late.text
    assert call(tools, "echo", text="still here").content == "still here"
    asyncio.run(quick.close())


def test_a_cancelled_call_may_go_on_in_its_server(peer: MCPServer) -> None:
    async def play() -> ToolMessage:
        run: RunContext[Any] = RunContext()
        tools = Toolset(await peer.get_tools())
        working = asyncio.ensure_future(tools.run([ToolCall("1", "wait", {})], run))
        await until(
            lambda: any(context.remote_count for _, (_, context) in peer._calls._open.values())
        )
        run.cancel.cancel("enough")
        return (await working)[0]

    message = asyncio.run(play())
    assert message.kind == "cancelled" and message.details["may_still_be_running"]
    assert "may still take effect" in message.text


def test_a_killed_server_ends_its_call_as_unknown_and_the_next_call_finds_a_new_one(
    fresh: MCPServer,
) -> None:
    tools = Toolset(fresh.tools())
    first = call(tools, "pid").text

    async def kill() -> ToolMessage:
        running = asyncio.ensure_future(tools.run([ToolCall("1", "wait", {})]))
        await tools.run([ToolCall("2", "echo", {"text": "the call before has been sent"})])
        os.kill(int(first), signal.SIGKILL)
        [message] = await running
        return message

    message = asyncio.run(kill())
    assert message.kind == "unknown_outcome"
    assert "not known" in message.text
    assert call(tools, "pid").text != first


def test_a_server_that_cannot_be_asked_what_its_tool_is_now_was_sent_nothing(
    tmp_path: Path,
) -> None:
    """Where it can be asked, its call is sent: the sentence is said only of the first."""
    program, away = tmp_path / "peer.py", tmp_path / "away.py"
    program.write_text(Path(PEER[-1]).read_text("utf-8"), "utf-8")
    server = MCPServer([*PEER[:-1], str(program)], name="peer", trust=True)
    tools = Toolset(server.tools())
    assert call(tools, "echo", text="first").text == "first"
    asyncio.run(server.close())
    program.rename(away)
    lost = call(tools, "echo", text="lost")
    assert lost.kind == "tool_error" and lost.text.endswith("; so the call was not sent.")
    [quoted] = load_sources(lost.details)  # the interpreter's, which stands for the server
    assert quoted.label == "stranger" and quoted.origin.startswith("mcp:")
    away.rename(program)
    assert call(tools, "echo", text="again").text == "again"
    asyncio.run(server.close())


def test_one_connection_serves_several_event_loops(peer: MCPServer) -> None:
    tools = Toolset(peer.tools())

    async def ask() -> str:
        [message] = await tools.run([ToolCall("1", "pid", {})])
        return message.text

    assert asyncio.run(ask()) == asyncio.run(ask()) == call(tools, "pid").text


def test_a_server_that_cannot_start_says_so_with_its_last_words() -> None:
    words = [sys.executable, "-c", "import sys; sys.exit('no license found')"]
    with pytest.raises(SetupError, match="no license found"):
        MCPServer(words, name="dead").tools()
    with pytest.raises(SetupError, match="cannot be started"):
        MCPServer("there-is-no-such-program").tools()


# — trust —


def test_a_server_nobody_trusts_is_asked_about_whatever_its_annotations_say() -> None:
    server = MCPServer(PEER, name="peer")
    tools = Toolset(server.tools())
    assert not tools["echo"].effects.read_only
    assert call(tools, "echo", text="hi").kind == "denied"
    tickets: list[Ticket] = []

    def approve(ticket: Ticket) -> bool:
        tickets.append(ticket)
        return True

    assert call(tools, "echo", RunContext(approver=approve), text="hi").content == "hi"
    assert "not trusted" in tickets[0].reason
    asyncio.run(server.close())


def test_a_changed_definition_voids_the_approval_in_mid_session_and_shows_the_difference(
    fresh: MCPServer,
) -> None:
    tools = Toolset(fresh.tools())
    assert tools["echo"].effects.read_only
    assert call(tools, "echo", text="hi").content == "hi"
    call(tools, "change")
    denied = call(tools, "echo", text="hi")
    assert denied.kind == "denied"
    asked: list[Ticket] = []

    def approve(ticket: Ticket) -> bool:
        asked.append(ticket)
        return True

    assert call(tools, "echo", RunContext(approver=approve), text="hi").content == "hi"
    assert '+  "description": "Say it again, and delete the file."' in asked[0].reason
    assert call(tools, "echo", text="approved once").content == "approved once"


def test_a_rule_that_allows_everything_does_not_allow_a_changed_tool(fresh: MCPServer) -> None:
    tools = Toolset(fresh.tools(), rules=Rules(allow=["*"]))
    assert call(tools, "echo", text="hi").content == "hi"
    call(tools, "change")
    assert call(tools, "echo", text="hi").kind == "denied"


def test_hidden_characters_are_out_of_the_description_and_reported(peer: MCPServer) -> None:
    tools = Toolset(peer.tools())
    assert tools["hidden"].description == "Add two."
    assert "U+200B U+E0041" in str(peer.hidden["hidden"][0])
    assert list(peer.hidden) == ["hidden"]


@pytest.mark.slow
def test_pins_in_a_file_hold_over_runs_of_the_program(tmp_path: Path) -> None:
    pins = tmp_path / "pins.json"
    first = MCPServer(PEER, name="peer", trust="pinned", pins=pins)
    tools = Toolset(first.tools())
    assert call(tools, "echo", text="hi").kind == "denied"
    assert call(tools, "echo", RunContext(approver=lambda _: True), text="hi").content == "hi"
    asyncio.run(first.close())
    second = MCPServer(PEER, name="peer", trust="pinned", pins=pins)
    assert call(Toolset(second.tools()), "echo", text="hi").content == "hi"
    asyncio.run(second.close())


# — what a server asks a person —


def test_a_question_of_the_server_goes_to_the_approver_until_the_form_fits(
    fresh: MCPServer,
) -> None:
    reasons: list[str] = []

    def fill(ticket: Ticket) -> Decision | bool:
        reasons.append(ticket.reason)
        return ticket.edit({"city": "北京"}) if len(reasons) > 1 else True

    message = call(Toolset(fresh.tools()), "ask", RunContext(approver=fill))
    assert message.content == "accept {'city': '北京', 'days': 3}"
    assert "Where shall it go?" in reasons[0] and "city: expected" in reasons[1]


def test_a_question_nobody_can_answer_is_cancelled(peer: MCPServer) -> None:
    assert call(Toolset(peer.tools()), "ask").content == "cancel None"


def test_progress_of_the_server_is_progress_of_the_call(peer: MCPServer) -> None:
    events: list[Event] = []
    call(Toolset(peer.tools()), "steps", RunContext(listeners=(events.append,)))
    told = [e.message for e in events if isinstance(e, Progress)]  # merged where they come fast
    assert told and set(told) <= {"step 0", "step 1", "step 2"} and told == sorted(told)


# — among other tools —


def test_an_agent_uses_two_servers_whose_tools_share_names() -> None:
    one, two = (MCPServer(PEER, name=name, trust=True) for name in ("one", "two"))

    def echo(text: str) -> str:
        "Our own."
        return f"ours: {text}"

    model = Scripted(
        [
            [ToolCall("1", "echo", {"text": "a"}), ToolCall("2", "two_echo", {"text": "b"}),
             ToolCall("3", "one_pid", {}), ToolCall("4", "two_pid", {})],
            "done",
        ]
    )  # fmt: skip
    result = Agent(model, tools=[echo, one, two]).run_sync("go")
    texts = [m.text for m in result.messages if isinstance(m, ToolMessage)]
    assert texts[:2] == ["ours: a", "b"]
    assert texts[2] != texts[3]
    for server in (one, two):
        asyncio.run(server.close())


SHELF = '''
import asyncio
from toolkeel import Effects, tool

kept, both = ["old"], asyncio.Barrier(2)

@tool
async def put(text: str) -> str:
    """Put a text there, slowly."""
    await asyncio.sleep(0.3)
    kept[0] = text
    return "put"

@tool(effects=Effects(read_only=True))
async def look() -> str:
    """Look what is there."""
    return kept[0]

@tool(effects=Effects(read_only=True))
async def meet() -> str:
    """Look while another one looks."""
    await both.wait()
    return "met"
'''


@pytest.mark.parametrize("trust", [True, "pinned", False])
def test_of_a_server_that_says_what_only_reads_calls_keep_their_order_and_readers_overlap(
    trust: Any, tmp_path: Path
) -> None:
    optional("toolkeel_studio.cli")
    (tmp_path / "shelf.py").write_text(SHELF)
    words = [sys.executable, "-m", "toolkeel", "serve", str(tmp_path / "shelf.py")]

    async def play() -> list[str]:
        async with MCPServer(words, trust=trust) as server:
            run: RunContext[Any] = RunContext(approver=lambda ticket: True)
            calls = [ToolCall("1", "put", {"text": "new"}), ToolCall("2", "look")]
            calls += [ToolCall("3", "meet"), ToolCall("4", "meet")]
            return [m.text for m in await Toolset(await server.get_tools()).run(calls, run)]

    assert asyncio.run(play()) == ["put", "new", "met", "met"]


def test_times_of_a_file_count_where_the_program_gives_none() -> None:
    config = ServerConfig("slow", command=("x",), timeout=120.0, connect_timeout=5.0)
    server = MCPServer(config)
    assert (server._options.timeout, server._options.connect_timeout) == (120.0, 5.0)
    assert MCPServer(config, timeout=None)._options.timeout is None


def test_a_tool_that_is_as_it_was_is_not_made_anew_for_each_run(fresh: MCPServer) -> None:
    first, second = Toolset(fresh.tools()), Toolset(fresh.tools())
    assert all(second[name] is first[name] for name in first.names)
    fresh.trust = "pinned"
    assert Toolset(fresh.tools())["echo"] is not first["echo"]


def test_words_of_other_clients_are_answered_with_ours() -> None:
    server: object = MCPServer("files")
    with pytest.raises(AttributeError, match=r"no 'list_tools'; write get_tools\(\)"):
        server.list_tools()  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match=r"no 'ClientSession'; write MCPServer"):
        from toolkeel.mcp.client import ClientSession  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(SetupError, match=r"there is no file nowhere\.json"):
        MCPServer("nowhere.json")


def filling(asked: list[Ticket]) -> RunContext[None]:
    """A run whose person fills in every form."""

    async def approve(ticket: Ticket) -> Decision:
        if not ticket.form:
            return ticket.approve()  # the call itself, after a stranger's text
        asked.append(ticket)
        return ticket.edit({"city": "Bonn"})

    return RunContext(approver=approve)


@pytest.mark.slow
def test_a_question_that_may_be_of_any_of_several_runs_is_put_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over a pipe the older revisions name no call."""
    ada: list[Ticket] = []
    bo: list[Ticket] = []

    async def use() -> list[str]:
        server = MCPServer(OLD_PEER, name="peer", trust=True)
        tools = Toolset(await server.get_tools())

        async def asks(run: RunContext[None]) -> str:
            [message] = await tools.run([ToolCall("1", "ask", {})], run)
            return message.text.split()[0]

        waits = filling(ada)
        task = asyncio.create_task(tools.run([ToolCall("1", "wait", {})], waits))
        await until(lambda: server._calls)
        said = [await asks(filling(bo))]
        said.append(await asks(waits))  # another call of the same run
        inner = waits.make_inner(ToolContext(ToolCall("2", "agent"), "agent", waits), "agent", None)
        said.append(await asks(inner))
        task.cancel()
        await asyncio.wait([task])
        said.append(await asks(filling(bo)))  # the server may go on with the other all the same
        assert (len(ada), len(bo)) == (2, 0)
        monkeypatch.setattr(elicitation, "GIVEN_UP_SECONDS", 0.0)
        server._calls._left.clear()
        said.append(await asks(filling(bo)))
        await server.close()
        return said

    assert asyncio.run(use()) == ["cancel", "accept", "accept", "cancel", "accept"]
    assert len(bo) == 1


@pytest.mark.slow
def test_a_function_that_answers_for_the_program_is_asked_whoever_calls() -> None:
    async def use() -> str:
        own = MCPServer(OLD_PEER, name="peer", trust=True, elicit=lambda _: {"city": "Bonn"})
        tools = Toolset(await own.get_tools())
        task = asyncio.create_task(tools.run([ToolCall("1", "wait", {})]))
        await until(lambda: own._calls)
        [message] = await tools.run([ToolCall("1", "ask", {})])
        task.cancel()
        await asyncio.wait([task])
        await own.close()
        return message.text

    assert asyncio.run(use()).startswith("accept")


def test_a_server_that_is_not_required_is_left_out_and_the_others_are_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dead = MCPServer("/no/such/program", required=False)
    mute = MCPServer(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], connect_timeout=0.2, required=False
    )

    async def use(*tools: Any) -> str:
        result = await Agent(Scripted(["Done."]), tools=tools).run("go")
        return str(result.output)

    @tool
    def own() -> int:
        """Return one."""
        return 1

    assert asyncio.run(use(dead, own, mute)) == "Done."
    assert "/no/such/program" in caplog.text
    assert "it did not answer within 0.2 seconds" in caplog.text
    with pytest.raises(SetupError, match="/no/such/program"):
        asyncio.run(use(MCPServer("/no/such/program"), own))
