"""Many servers as one: everything passed through, in every pairing of the protocol's eras."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.gateway.behind import client_of, config
from tests.mcp.authorizing import agreeing, authorized
from tests.waiting import until
from tests.warm import WARM
from toolkeel import Rules, SetupError
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.mcp.client import MCPServer, OAuth
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.pins import Pin, Pins, make_pin
from toolkeel.sessions import ApprovalQueue, KeyValueStore
from toolkeel_studio.gateway.audit import AuditFile
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Limit, Policy
from toolkeel_studio.gateway.search import NAME
from toolkeel_studio.gateway.upstream_pool import STARTED_BY, gateway_chain

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


def text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def fill(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"city": "Bonn", "days": 2})


@ERAS
def test_tools_of_both_eras_are_called_and_a_dead_server_costs_its_own(era: str) -> None:
    gateway = Gateway([config("new"), config("old"), config("dead", ["/no/such/program"])])
    seen: list[float] = []

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def use() -> None:
        async with client_of(gateway, era, elicitation_callback=fill) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[0] == "new__echo" and "old__echo" in names and len(names) == 22
            assert list(gateway.problems) == ["dead"]
            for server in ("new", "old"):
                echoed = await client.call_tool(f"{server}__echo", {"text": "北京"})
                assert text(echoed) == "北京"
                asked = await client.call_tool(f"{server}__ask", {})
                assert text(asked) == "accept {'city': 'Bonn', 'days': 2}"
                seen.clear()
                await client.call_tool(f"{server}__steps", {}, progress_callback=progressed)
                assert seen == [0.0, 1.0, 2.0]
                counted = await client.call_tool(f"{server}__count", {"n": 2})
                assert counted.structured_content == {"n": 2}
                mixed = await client.call_tool(f"{server}__mixed", {})
                assert [block.type for block in mixed.content] == ["text", "image", "text"]
                assert (mixed.meta or {})["example.com/trace"] == "7"
            with pytest.raises(MCPError, match="Did you mean 'new__echo'"):
                await client.call_tool("new__ecko", {})

    asyncio.run(use())


@ERAS
def test_rules_refuse_ask_and_count_before_anything_is_sent(era: str, tmp_path: Path) -> None:
    policy = Policy(
        Rules(deny=["new__fail", "new__echo(text=secret*)"], ask=["new__pid"]),
        limits=[Limit("new__count", 1, 3600)],
    )
    gateway = Gateway([config("new")], policy, audit=AuditFile(tmp_path / "audit"))
    approved = [False]
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": approved[0]})

    async def use() -> None:
        async with client_of(gateway, era, elicitation_callback=answer) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            with pytest.raises(MCPError, match="Unknown tool: 'new__fai'") as unknown:
                await client.call_tool("new__fai", {})
            assert "new__fail" not in str(unknown.value)  # which is not listed
            assert "new__fail" not in names and "new__echo" in names
            refused = await client.call_tool("new__echo", {"text": "secret 1"})
            assert refused.is_error and "The gateway does not allow this call" in text(refused)
            denied = await client.call_tool("new__pid", {})
            assert denied.is_error and "did not approve" in text(denied)
            approved[0] = True
            allowed = await client.call_tool("new__pid", {})
            assert not allowed.is_error and text(allowed).isdigit()
            assert "May new__pid run" in asked[0] and len(asked) == 2
            first = await client.call_tool("new__count", {"n": 1})
            second = await client.call_tool("new__count", {"n": 1})
            assert not first.is_error and "limit of 1 calls" in text(second)

    asyncio.run(use())
    entries = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    told = [(entry["event"], entry["tool"]) for entry in entries]
    assert told == [
        ("refused", "echo"), ("deny", "pid"), ("refused", "pid"),
        ("approve", "pid"), ("call", "pid"), ("end", "pid"),
        ("call", "count"), ("end", "count"), ("refused", "count"),
    ]  # fmt: skip
    assert "secret 1" not in (tmp_path / "audit").read_text()


def test_a_host_that_cannot_ask_is_told_how_to_allow_a_call() -> None:
    gateway = Gateway([config("new")], Policy(Rules(ask=["*"])))

    async def use() -> str:
        async with client_of(gateway) as client:
            return text(await client.call_tool("new__pid", {}))

    told = asyncio.run(use())
    assert "this host cannot ask one" in told and "rule: ask" in told and "It was not sent" in told


def test_a_changed_definition_is_not_called_until_a_person_has_seen_it() -> None:
    pins = Pins()
    pins.set(config("new").identity, "echo", Pin("0" * 64, {"name": "echo", "description": "Old."}))
    gateway = Gateway([config("new")], pins=pins)

    async def use() -> tuple[str, str]:
        async with client_of(gateway) as client:
            changed = await client.call_tool("new__echo", {"text": "x"})
            other = await client.call_tool("new__pid", {})
            return text(changed), text(other)

    changed, other = asyncio.run(use())
    assert "has changed this tool since it was approved, so the call was not sent" in changed
    assert "toolkeel mcp pin new" in changed
    assert other.isdigit() and pins.get(config("new").identity, "pid") is not None


def test_many_tools_are_searched_for_listed_once_found_and_callable_all_along() -> None:
    gateway = Gateway([config("new")], threshold=3)

    async def use() -> None:
        async with client_of(gateway) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [NAME]
            assert text(await client.call_tool("new__echo", {"text": "x"})) == "x"
            found = await client.call_tool(NAME, {"query": "say it again"})
            assert json.loads(text(found))[0]["name"] == "new__echo"
            again = await client.list_tools(cache_mode="refresh")
            assert "new__echo" in [tool.name for tool in again.tools]
            wrong = await client.call_tool(NAME, {})
            assert wrong.is_error

    asyncio.run(use())


def test_a_server_that_changes_its_tools_is_listed_anew() -> None:
    gateway = Gateway([config("new")])

    async def use() -> None:
        async with client_of(gateway) as client:
            await client.list_tools()
            await client.call_tool("new__change", {})

            echo = gateway.servers["new"]
            await until(lambda: "delete" in str(echo.lists.tools["echo"].description))
            listed = await client.list_tools(cache_mode="refresh")
            assert "delete the file" in str(listed.tools[0].description)
            refused = await client.call_tool("new__echo", {"text": "x"})
            assert not refused.is_error  # nobody had called, and so approved, the old one

    asyncio.run(use())


def test_servers_come_and_go_while_others_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway([config("new"), config("old")])

    async def use() -> None:
        async with client_of(gateway) as client:
            await client.list_tools()
            before = text(await client.call_tool("new__pid", {}))
            await gateway.set_servers(
                {"new": config("new"), "more": config("more", config("new").command)}
            )
            names = {tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools}
            assert "more__echo" in names and "old__echo" not in names
            assert text(await client.call_tool("new__pid", {})) == before
            with pytest.raises(SetupError, match="itself"), monkeypatch.context() as patch:
                same = {"new": config("new")}
                patch.setenv(STARTED_BY, gateway_chain(same.values()))
                await gateway.set_servers(same)
            assert text(await client.call_tool("new__pid", {})) == before

    asyncio.run(use())


TALKATIVE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("x", instructions="Ask first\u200b. " + "x" * 9000)


@server.tool()
def one() -> str:
    "One."
    return "1"


server.run("stdio")
"""


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_instructions_of_all_servers_are_joined_and_a_rule_about_nothing_is_told(
    era: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "toolkeel_studio.gateway.upstream_pool.CONNECT_LIST_SECONDS", 60.0
    )  # a busy machine starts slowly
    servers = [config(name, [*WARM, "-c", TALKATIVE]) for name in ("a", "b")]
    policy = Policy(
        Rules(deny=["a__two", "*__one(x=y)"]),
        {"ada": Rules(ask=["git__*"])},
        limits=[Limit("b__*", 9, 9)],
    )

    async def use() -> str | None:
        async with client_of(Gateway([*servers, config("new")], policy), era) as client:
            await client.list_tools()
            return client.instructions

    said = asyncio.run(use()) or ""
    assert said.startswith("# a\n\nAsk first. xxx") and "\n\n# b\n\nAsk first. xxx" in said
    assert len(said) < 9000 and "new" not in said
    told = [record.args for record in caplog.records if "is about no tool" in record.msg]
    assert told == [("deny a__two",), ("ask git__*",)]


def test_names_stay_for_one_server_and_several_need_prefixes() -> None:
    gateway = Gateway([config("new")], prefixed=False)

    async def use() -> str:
        async with client_of(gateway) as client:
            return text(await client.call_tool("echo", {"text": "x"}))

    assert asyncio.run(use()) == "x"
    with pytest.raises(SetupError, match="only if there is one"):
        Gateway([config("new"), config("old")], prefixed=False)


def test_a_call_that_is_cancelled_here_is_cancelled_there() -> None:
    gateway = Gateway([config("new")])

    async def use() -> None:
        async with client_of(gateway) as client:
            await client.list_tools()
            waiting = asyncio.ensure_future(client.call_tool("new__wait", {}))
            server = gateway.servers["new"]
            await until(lambda: server._shared.is_busy)
            waiting.cancel()
            await asyncio.wait([waiting])
            await until(lambda: not server._shared.is_busy)
            assert text(await client.call_tool("new__echo", {"text": "x"})) == "x"

    asyncio.run(use())


def test_a_server_that_dies_in_mid_call_leaves_an_unknown_outcome() -> None:
    gateway = Gateway([config("new")])

    async def use() -> str:
        async with client_of(gateway) as client:
            await client.list_tools()
            pid = int(text(await client.call_tool("new__pid", {})))
            waiting = asyncio.ensure_future(client.call_tool("new__wait", {}))
            await until(lambda: gateway.servers["new"]._shared.is_busy)
            os.kill(pid, signal.SIGKILL)
            said = text(await waiting)
            assert text(await client.call_tool("new__echo", {"text": "x"})) == "x"
            return said

    assert "not known" in asyncio.run(use())


def test_a_login_that_a_person_has_made_is_the_gateways_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with authorized() as (url, authority):
        far = ServerConfig("far", url=url, kind="http")
        assert "toolkeel mcp login" in asyncio.run(echoed(Gateway([far])))

        async def log_in() -> None:
            async with MCPServer(far, auth=OAuth(visit=agreeing)):
                pass

        asyncio.run(log_in())
        authority.revoke()  # the gateway refreshes by itself
        assert asyncio.run(echoed(Gateway([far]))) == "hi"
        assert (authority.logins, authority.refreshed) == (1, 1)


async def echoed(gateway: Gateway) -> str:
    """What a call gives, or why there is none."""
    async with client_of(gateway) as client:
        await client.list_tools()
        if gateway.problems:
            return gateway.problems["far"]
        return text(await client.call_tool("far__echo", {"text": "hi"}))


@ERAS
def test_a_call_is_decided_at_a_desk_beside_the_host(era: str, tmp_path: Path) -> None:
    desk = ApprovalQueue(KeyValueStore(tmp_path / "desk.db"), wait=0.6)
    gateway = Gateway([config("new")], Policy(Rules(ask=["new__echo"])), approver=desk)

    async def use() -> None:
        async with client_of(gateway, era) as client:  # which cannot show forms
            await client.list_tools()

            async def decide(verdict: str) -> None:
                await until(lambda: bool(desk.waiting()))
                [ticket] = desk.waiting()
                assert ticket.arguments == {"text": "x"} and ticket.reason == "rule: ask new__echo"
                made = ticket.edit({"text": "北京"}) if verdict == "edit" else ticket.answer("mine")
                desk.decide(made, "ada")

            for verdict, said in (("edit", "北京"), ("answer", "mine")):
                called, _ = await asyncio.gather(
                    client.call_tool("new__echo", {"text": "x"}), decide(verdict)
                )
                assert not called.is_error and text(called) == said
            late = await client.call_tool("new__echo", {"text": "x"})
            assert late.is_error and "nobody decided within 0.6 seconds" in text(late)
            assert "did not run" in text(late)

    asyncio.run(use())


def test_what_was_edited_is_judged_by_the_rules_and_approval_is_of_that_call_alone() -> None:
    rules = Rules(ask=["new__echo"], deny=["new__echo(text=secret*)"])
    made = iter([lambda t: t.edit({"text": "secret"}), lambda t: Decision("x", "y", "approve")])
    gateway = Gateway([config("new")], Policy(rules), approver=lambda t: next(made)(t))

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            return [text(await client.call_tool("new__echo", {"text": "x"})) for _ in range(2)]

    edited, other = asyncio.run(use())
    assert "does not allow this call" in edited and "about another call" in other


def test_who_has_read_what_is_private_is_asked_about_before_it_goes_out(tmp_path: Path) -> None:
    taint = {"private": ["new__count"], "outward": ["new__echo"]}
    asked: list[str] = []

    def no(ticket: Ticket) -> bool:
        asked.append(ticket.reason)
        return False

    kept = KeyValueStore(tmp_path / "s.db")
    one, other = (
        Gateway([config("new")], Policy(taint=taint), approver=no, shared=kept) for _ in "12"
    )

    async def use() -> None:
        async with client_of(one) as client, client_of(other) as beside:
            assert text(await client.call_tool("new__echo", {"text": "x"})) == "x"
            await client.call_tool("new__count", {"n": 1})
            for each in (client, beside):  # another worker of the same gateway
                assert "did not approve" in text(await each.call_tool("new__echo", {"text": "x"}))

    asyncio.run(use())
    assert asked == ["it acts outward, and this client has read private data (new__count)"] * 2


READER = """
import asyncio
from toolkeel import Effects, tool
from toolkeel.mcp.server import ToolServer
from toolkeel.mcp.server.stdio import serve_stdio

calls = []


@tool(effects=Effects(read_only=True))
def look(at: str) -> str:
    "Look at something."
    calls.append(at)
    if at == "bad":
        raise ValueError("no")
    return f"{at} {len(calls)}"


@tool
def write() -> str:
    "Write something."
    return "written"


asyncio.run(serve_stdio(ToolServer([look, write])))
"""


@ERAS
def test_results_of_tools_that_only_read_are_kept_until_something_is_written(
    era: str, tmp_path: Path
) -> None:
    policy = Policy(cache={"docs__*": 60.0}, taint={"stranger": ["docs__look"]})
    server = config("docs", [*WARM, "-c", READER])
    gateway = Gateway([server], policy, audit=AuditFile(tmp_path / "audit"))

    async def use() -> list[str]:
        async with client_of(gateway, era) as client:
            calls = ["a", "a", "b", "bad", "bad", "", "a"]
            return [
                text(await client.call_tool("docs__look", {"at": at}))
                if at
                else text(await client.call_tool("docs__write", {}))
                for at in calls
            ]

    said = asyncio.run(use())
    assert said[:3] == ["a 1", "a 1", "b 2"] and said[5:] == ["written", "a 5"]
    entries = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [entry["event"] for entry in entries] == [
        "call", "end", "cached", *["call", "end"] * 5,
    ]  # fmt: skip


def test_the_state_of_a_call_that_waits_lets_no_older_session_past_its_question() -> None:
    gateway = Gateway([config("new")], Policy(Rules(ask=["new__echo"])))
    called: dict[str, Any] = {"name": "new__echo", "arguments": {"text": "x"}}

    async def use() -> None:
        async with client_of(gateway, "2026-07-28", elicitation_callback=fill) as client:
            await client.list_tools()
            first = await client.session.call_tool(
                called["name"], called["arguments"], allow_input_required=True
            )
            assert isinstance(first, types.InputRequiredResult)
            sent = {**called, "requestState": "upstream x"}  # nobody's: a client has made it up
            with pytest.raises(MCPError, match="requestState"):
                await client.session._dispatcher.send_raw_request("tools/call", sent, {})
            async with client_of(gateway, "legacy") as older:
                send = older.session._dispatcher.send_raw_request
                sent = {**called, "requestState": first.request_state}
                result = types.CallToolResult.model_validate(await send("tools/call", sent, {}))
        assert result.is_error and "not sent" in text(result)

    asyncio.run(use())


STATEFUL = """
import asyncio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

FORM = {"type": "object", "properties": {"city": {"type": "string"}}}


async def call(context, params):
    if params.name == "ask" and params.request_state is None:
        form = types.ElicitRequestFormParams(message="Where?", requested_schema=FORM)
        asked = {"where": types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=asked, request_state="first")
    said = f"{params.request_state} {params.input_responses}"
    return types.CallToolResult(content=[types.TextContent(text=said)])


async def tools(context, params):
    listed = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("ask", "read")]
    return types.ListToolsResult(tools=listed)


async def main():
    server = Server("s", on_call_tool=call, on_list_tools=tools)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


asyncio.run(main())
"""


def test_a_call_whose_server_has_asked_is_judged_again_when_it_goes_on() -> None:
    policy = Policy(taint={"private": ["s__read"], "outward": ["s__ask"]})
    gateway = Gateway([config("s", [*WARM, "-c", STATEFUL])], policy)

    async def use() -> list[Any]:
        found = []
        async with client_of(gateway, "2026-07-28", elicitation_callback=fill) as client:
            await client.list_tools()
            for reads in (False, True):
                ask: dict[str, Any] = {"name": "s__ask", "allow_input_required": True}
                first: Any = await client.session.call_tool(**ask)
                if reads:
                    await client.call_tool("s__read", {})
                answers = {"where": await fill(None, None)}
                ask |= {"input_responses": answers, "request_state": first.request_state}
                found.append(await client.session.call_tool(**ask))
            yes = types.ElicitResult(action="accept", content={"approve": True})
            ask |= {"input_responses": {"approve": yes}, "request_state": found[1].request_state}
            return [*found, await client.session.call_tool(**ask)]

    at_once, question, approved = asyncio.run(use())
    assert text(at_once).startswith("first") and "Bonn" in text(at_once)
    assert [*question.input_requests] == ["approve"]
    assert text(approved) == text(at_once)


def test_what_changed_or_went_while_a_person_was_asked_is_not_called() -> None:
    gateway = Gateway([config("new"), config("old")], Policy(Rules(ask=["*__echo"])))

    async def gone(ticket: Ticket) -> bool:
        await gateway.set_servers({"old": config("old")})
        return True

    gateway._enforcer._approver = gone

    async def use() -> str:
        async with client_of(gateway) as client:
            await client.list_tools()
            server = gateway.servers["new"]
            said = text(await client.call_tool("new__echo", {"text": "x"}))
            assert not server.link.is_alive
            return said

    assert "while the call waited" in asyncio.run(use())


def test_a_definition_that_another_program_pinned_while_a_person_was_asked_counts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pins.json"
    gateway = Gateway([config("new")], Policy(Rules(ask=["*__echo"])), Pins(path))

    async def pins_another(ticket: Ticket) -> bool:
        identity = gateway.servers["new"].config.identity
        Pins(path).set(
            identity, "echo", make_pin(identity, {"name": "echo", "description": "Old."})
        )
        return True

    gateway._enforcer._approver = pins_another

    async def use() -> str:
        async with client_of(gateway) as client:
            await client.list_tools()
            return text(await client.call_tool("new__echo", {"text": "x"}))

    assert "has changed this tool since it was approved" in asyncio.run(use())


def test_what_one_server_gave_is_not_given_as_that_of_another_with_its_name() -> None:
    words = (*WARM, "-c", READER)
    gateway = Gateway([config("docs", words)], Policy(cache={"docs__*": 60.0}))

    async def use() -> list[str]:
        async with client_of(gateway) as client:
            said = [text(await client.call_tool("docs__look", {"at": at})) for at in "baa"]
            other = ServerConfig("docs", command=words, env={"ACCOUNT": "another"})
            await gateway.set_servers({"docs": other})
            return [*said, text(await client.call_tool("docs__look", {"at": "a"}))]

    assert asyncio.run(use()) == ["b 1", "a 2", "a 2", "a 1"]
