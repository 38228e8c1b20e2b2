"""Tools served over the protocol: what clients are told, what they get, and what they cannot do."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import mcp_types as types
import pytest
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tests.mcp.serving import answering, both_eras, call, talk, text
from tests.waiting import until
from toolwright import (
    Audio,
    Effects,
    File,
    Image,
    InjectedToolArg,
    Rules,
    Run,
    Secret,
    Text,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
    Toolset,
    tool,
)
from toolwright.define.output import Output
from toolwright.errors import DuplicateToolError, Refused, SetupError
from toolwright.events import Event
from toolwright.mcp.server import ToolServer, resource

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool(effects=Effects(read_only=True, open_world=False))
def find(name: str, people: int = 1) -> City:
    """Find a city."""
    return City(name=name, people=people)


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


# — definitions —


@both_eras
def test_clients_are_told_all_of_a_tool_in_the_sets_order(era: str) -> None:
    async def test(peer: Peer) -> types.ListToolsResult:
        return await peer.list_tools()

    listed = talk(ToolServer([find, echo]), test, era)
    assert [each.name for each in listed.tools] == ["find", "echo"]
    first = listed.tools[0]
    assert first.description == "Find a city."
    assert first.input_schema == find.parameters
    assert first.output_schema is not None and first.output_schema["required"] == ["name", "people"]
    assert first.annotations is not None and first.annotations.read_only_hint is True
    assert listed.tools[1].output_schema is None


def test_a_name_the_protocol_cannot_say_gets_an_alias_and_stays_the_title() -> None:
    @tool("查询天气")
    def weather(city: str) -> str:
        """天气。"""
        return f"{city}: 晴"

    async def test(peer: Peer) -> types.CallToolResult:
        [listed] = (await peer.list_tools()).tools
        assert listed.title == "查询天气" and listed.name.isascii()
        return await peer.call_tool(listed.name, {"city": "北京"})

    assert text(talk(ToolServer([weather]), test)) == "北京: 晴"


def test_a_tool_that_is_switched_off_is_neither_listed_nor_called() -> None:
    server = ToolServer([echo, dataclasses.replace(find, enabled=False)])

    async def test(peer: Peer) -> list[str]:
        return [each.name for each in (await peer.list_tools()).tools]

    assert talk(server, test) == ["echo"]
    with pytest.raises(MCPError, match="Unknown tool"):
        call(server, "find", {"name": "x"})


@both_eras
def test_every_page_of_a_long_list_is_reached_once_and_in_order(era: str) -> None:
    many = [dataclasses.replace(echo, name=f"t{n}") for n in range(7)]

    async def test(peer: Peer) -> list[str]:
        names: list[str] = []
        cursor: str | None = None
        while True:
            listed = await peer.list_tools(cursor=cursor)
            assert len(listed.tools) <= 3
            names += [each.name for each in listed.tools]
            cursor = listed.next_cursor
            if cursor is None:
                return names

    assert talk(ToolServer(many, page_size=3), test, era) == [f"t{n}" for n in range(7)]


def test_a_cursor_of_another_list_or_of_nobody_is_refused() -> None:
    many = [dataclasses.replace(echo, name=f"t{n}") for n in range(5)]
    server = ToolServer(many, page_size=2)

    async def test(peer: Peer) -> None:
        cursor = (await peer.list_tools()).next_cursor
        await server.update(Toolset([find, echo, *many]))
        for wrong in (cursor, "", "x", "MTI=", "é"):
            with pytest.raises(MCPError) as caught:
                await peer.list_tools(cursor=wrong, cache_mode="bypass")
            assert caught.value.error.code == types.INVALID_PARAMS

    talk(server, test)


# — results —


@both_eras
def test_a_promised_structure_stands_beside_the_same_as_text(era: str) -> None:
    result = call(ToolServer([find]), "find", {"name": "北京", "people": 3}, era)
    assert result.structured_content == {"name": "北京", "people": 3}
    assert text(result) == '{"name":"北京","people":3}'
    assert not result.is_error


def test_a_structure_is_whole_even_if_the_text_for_the_model_was_cut() -> None:
    short = dataclasses.replace(find, max_output=10)
    result = call(ToolServer([short]), "find", {"name": "x" * 100})
    assert result.structured_content == {"name": "x" * 100, "people": 1}
    assert "left out" in text(result)


def test_a_tool_may_say_text_and_structure_apart() -> None:
    def told(name: str) -> City:
        """Find a city."""
        return ToolOutput(f"It is {name}.", artifact={"name": name, "people": 1})  # type: ignore[return-value]

    result = call(ToolServer([told]), "told", {"name": "Bonn"})
    assert (text(result), result.structured_content) == (
        "It is Bonn.",
        {"name": "Bonn", "people": 1},
    )


def test_a_result_that_breaks_its_promise_after_the_guards_is_not_released() -> None:
    async def spoil(prepared: Any, context: Any, proceed: Any) -> object:
        await proceed(prepared)
        return {"name": "secret"}

    result = call(ToolServer(Toolset([find], steps=[spoil])), "find", {"name": "x"})
    assert result.is_error and result.structured_content is None
    assert "does not fit" in text(result) and "secret" not in text(result)


def test_a_structure_of_any_kind_follows_the_schema_it_promises() -> None:
    listed = dataclasses.replace(
        tool("many", description="Many.")(lambda: [1, 2]),
        output=Output({"type": "array", "items": {"type": "integer"}}, lambda value: value),
    )
    assert call(ToolServer([listed]), "many").structured_content == [1, 2]


@both_eras
def test_pictures_sounds_files_and_links_arrive_as_what_they_are(era: str) -> None:
    @tool
    def show() -> list[object]:
        """Show everything."""
        note = {"annotations": {"audience": ["user"], "priority": 0.5}}
        return [
            Text("看", note),
            Image(PNG),
            Audio(b"RIFF"),
            File(b"a,b", "t.csv", "text/csv"),
            File(url="https://example.org/a.pdf", name="a.pdf", media_type="application/pdf"),
        ]

    found = call(ToolServer([show]), "show", era=era).content
    kinds = ["text", "image", "audio", "resource", "resource_link"]
    assert [block.type for block in found] == kinds
    assert found[0].annotations is not None and found[0].annotations.audience == ["user"]


# — failures —


@both_eras
def test_an_unknown_tool_is_a_fault_of_the_protocol_and_names_the_nearest(era: str) -> None:
    with pytest.raises(MCPError, match="Did you mean 'find'") as caught:
        call(ToolServer([find]), "fnid", era=era)
    assert caught.value.error.code == types.INVALID_PARAMS


@both_eras
@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"people": "x"}, "people"), ({"name": "x", "nmae": 1}, "nmae"), ({}, "name")],
)
def test_wrong_arguments_are_a_result_the_model_can_mend(
    arguments: dict[str, Any], told: str, era: str
) -> None:
    result = call(ToolServer([find]), "find", arguments, era)
    assert result.is_error and told in text(result)


def test_what_a_tool_says_is_told_and_what_it_did_not_mean_to_say_is_masked() -> None:
    @tool
    def fail(crash: bool) -> str:
        """Fail."""
        raise RuntimeError("token=hunter2") if crash else ToolError("no such city")

    server = ToolServer([fail])
    assert text(call(server, "fail", {"crash": False})) == "no such city"
    crashed = call(server, "fail", {"crash": True})
    assert crashed.is_error and "hunter2" not in text(crashed)


def test_a_guard_refuses_over_the_protocol_as_anywhere() -> None:
    async def guard(prepared: Any, context: Any, proceed: Any) -> object:
        raise Refused("not on Sundays")

    result = call(ToolServer(Toolset([echo], steps=[guard])), "echo", {"text": "x"})
    assert result.is_error and text(result) == "not on Sundays"


def test_a_mistake_of_the_program_fails_the_call_and_not_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    def needs(user: Annotated[str, InjectedToolArg]) -> str:
        """Need somebody."""
        return user

    server = ToolServer([needs, echo])

    async def test(peer: Peer) -> None:
        assert (await peer.call_tool("needs", {})).is_error
        assert text(await peer.call_tool("echo", {"text": "a"})) == "a"

    talk(server, test)
    assert "user" in caplog.text


# — what a call sees —


def test_each_call_has_the_run_that_was_made_for_its_request() -> None:
    events: list[Event] = []

    @tool
    def whoami(user: Annotated[str, InjectedToolArg], context: ToolContext[str]) -> str:
        """Say who calls."""
        return f"{user} of {context.context}"

    def make(request: Any) -> Run[Any]:
        return Run(request.protocol_version, inject={"user": "李"}, listeners=(events.append,))

    assert text(call(ToolServer([whoami], run=make), "whoami")) == "李 of 2026-07-28"
    assert [event.type for event in events] == ["tool_call", "tool_result"]


def test_nothing_a_client_sends_fills_what_is_injected() -> None:
    @tool
    def whoami(user: Annotated[str, InjectedToolArg] = "nobody") -> str:
        """Say who calls."""
        return user

    server = ToolServer([whoami])
    assert call(server, "whoami", {"user": "root"}).is_error
    assert text(call(server, "whoami")) == "nobody"


def test_secrets_stay_out_of_failures() -> None:
    @tool
    def login(password: Annotated[str, Secret()]) -> str:
        """Log in."""
        raise ToolError(f"wrong password {password}")

    result = call(ToolServer([login]), "login", {"password": "hunter2"})
    assert result.is_error and "hunter2" not in text(result)


# — progress and cancellation —


@both_eras
def test_progress_rises_keeps_the_order_and_ends_before_the_result(era: str) -> None:
    @tool
    async def work(context: ToolContext) -> str:
        """Work."""
        for done in (1, 3, 2, 5):
            context.progress(f"at {done}", done, 5)
            await asyncio.sleep(0.06)
        context.progress("last", 6, 6)
        return "done"

    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def test(peer: Peer) -> int:
        await peer.call_tool("work", {}, progress_callback=note)
        return len(seen)

    at_result = talk(ToolServer([work]), test, era)
    values = [each[0] for each in seen]
    assert values == sorted(set(values)) and values[-1] == 6 and 2 not in values
    assert at_result == len(seen) and seen[-1] == (6, 6, "last")


@both_eras
def test_a_call_that_its_client_gives_up_is_stopped(era: str) -> None:
    stopped: list[str] = []

    @tool(timeout=None)
    async def wait() -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("async")
            raise
        return "never"

    @tool(timeout=None)
    def wait_in_thread(context: ToolContext) -> str:
        """Wait."""
        import time

        for _ in range(6000):
            if context.cancel.cancelled:
                stopped.append("thread")
                break
            time.sleep(0.01)
        return "never"

    async def test(peer: Peer) -> None:
        for name in ("wait", "wait_in_thread"):
            with pytest.raises(MCPError):
                await peer.call_tool(name, {}, read_timeout_seconds=0.3)
        await until(lambda: len(stopped) == 2)

    talk(ToolServer([wait, wait_in_thread]), test, era)
    assert stopped == ["async", "thread"]


# — approval —


def ask_first(approve: bool | None = None) -> ToolServer:
    @tool(approval=True)
    def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return ToolServer([delete])


@both_eras
def test_a_call_that_needs_approval_is_put_to_the_clients_person(era: str) -> None:
    asked: list[Any] = []

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"approve": True})

    result = call(ask_first(), "delete", {"path": "甲\u202e"}, era, elicitation_callback=elicit)
    assert text(result) == "deleted 甲\u202e"
    [params] = asked
    assert "delete" in params.message and "甲\\u202e" in params.message


@both_eras
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept", "content": {"approve": False, "reason": "not mine"}}, "not mine"),
        ({"action": "accept", "content": {}}, "does not fit"),
        ({"action": "decline"}, "said no"),
        ({"action": "cancel"}, "did not decide"),
    ],
)
def test_anything_but_a_clear_yes_means_no(answer: dict[str, Any], told: str, era: str) -> None:
    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult.model_validate(answer)

    result = call(ask_first(), "delete", {"path": "a"}, era, elicitation_callback=elicit)
    assert result.is_error and told in text(result)


@both_eras
def test_a_client_without_a_person_gets_a_refusal(era: str) -> None:
    result = call(ask_first(), "delete", {"path": "a"}, era)
    assert result.is_error and "cannot ask a person" in text(result)


def test_rules_hold_for_clients_as_for_models() -> None:
    tools = Toolset([echo, find], rules=Rules(deny=["echo"], ask=["find"], allow=["*"]))
    server = ToolServer(tools)
    assert "not allowed" in text(call(server, "echo", {"text": "x"}))
    yes = answering(approve=True)
    assert not call(server, "find", {"name": "x"}, **yes).is_error


# — changes —


@pytest.mark.parametrize("what", ["tools", "resources"])
def test_clients_of_both_eras_are_told_of_changes(what: str) -> None:
    server = ToolServer([echo], resources=[])

    @resource("app://a")
    def a() -> str:
        """A."""
        return "a"

    change: Callable[[], Awaitable[None]] = (
        (lambda: server.update(Toolset([find])))
        if what == "tools"
        else (lambda: server.update(resources=[a]))
    )
    heard: list[str] = []

    async def note(message: Any) -> None:
        heard.append(getattr(message, "method", ""))

    async def legacy(peer: Peer) -> None:
        await peer.list_tools()
        await change()
        await until(lambda: f"notifications/{what}/list_changed" in heard)

    async def modern(peer: Peer) -> str:
        wanted: dict[str, Any] = {f"{what}_list_changed": True}
        async with peer.listen(**wanted) as subscription:
            await change()
            return type(await anext(aiter(subscription))).__name__

    talk(server, legacy, "legacy", message_handler=note)
    assert talk(server, modern).lower().startswith(what)


def test_new_tools_are_listed_and_old_ones_are_gone() -> None:
    server = ToolServer([echo])

    async def test(peer: Peer) -> list[str]:
        await server.update(Toolset([find]))
        with pytest.raises(MCPError, match="Unknown tool"):
            await peer.call_tool("echo", {"text": "x"})
        return [each.name for each in (await peer.list_tools(cache_mode="bypass")).tools]

    assert talk(server, test) == ["find"]


def test_providers_are_asked_when_the_server_starts() -> None:
    class Provider:
        async def get_tools(self) -> list[Any]:
            return [find]

    async def test(peer: Peer) -> list[str]:
        return [each.name for each in (await peer.list_tools()).tools]

    server = ToolServer([echo, Provider()])
    assert talk(server, test) == ["echo", "find"]


# — mistakes at setup —


def test_mistakes_are_named_before_anything_is_served() -> None:
    @resource("app://a")
    def a() -> str:
        """A."""
        return "a"

    with pytest.raises(DuplicateToolError, match="app://a"):
        ToolServer([], resources=[a, a])
    with pytest.raises(SetupError, match="page_size"):
        ToolServer([], page_size=0)


def test_only_what_is_there_is_declared() -> None:
    async def test(peer: Peer) -> types.ServerCapabilities | None:
        return peer.server_capabilities

    bare = talk(ToolServer([echo]), test, "auto")
    assert bare is not None and bare.tools is not None
    assert bare.prompts is None and bare.resources is None and bare.completions is None
    assert bare.tools.list_changed is True


def test_a_schema_is_listed_word_for_word() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"a": {"$anchor": "x", "type": "string"}},
        "properties": {"p": {"$ref": "#/$defs/a"}},
        "if": {"required": ["p"]},
        "then": {"minProperties": 1},
        "additionalProperties": False,
    }
    made = Tool.from_schema("t", "T.", schema, lambda _, arguments: "ok")

    async def test(peer: Peer) -> dict[str, Any]:
        return (await peer.list_tools()).tools[0].input_schema

    assert talk(ToolServer([made]), test) == schema
