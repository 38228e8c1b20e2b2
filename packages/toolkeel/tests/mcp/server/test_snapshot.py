"""What is offered at one time: pages, unknown names, structured results."""

from __future__ import annotations

import dataclasses
from time import process_time
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.client import Client as Peer
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tests.mcp.serving import both_eras, call, talk, text
from toolkeel import ToolOutput, Toolset, tool
from toolkeel.define.returns import OutputSchema
from toolkeel.mcp.server.snapshot import paginate, unknown_name_error
from toolkeel.mcp.server.tool_server import ToolServer


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


class City(BaseModel):
    """A city."""

    name: str
    people: int


@tool
def find(name: str, people: int = 1) -> City:
    """Find a city."""
    return City(name=name, people=people)


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
        output=OutputSchema({"type": "array", "items": {"type": "integer"}}, lambda value: value),
    )
    assert call(ToolServer([listed]), "many").structured_content == {"result": [1, 2]}


@both_eras
def test_an_unknown_tool_is_a_fault_of_the_protocol_and_names_the_nearest(era: str) -> None:
    with pytest.raises(MCPError, match="Did you mean 'find'") as caught:
        call(ToolServer([find]), "fnid", era=era)
    assert caught.value.error.code == types.INVALID_PARAMS


@given(st.integers(0, 12), st.integers(1, 5))
def test_pages_hold_every_item_once_in_order(count: int, size: int) -> None:
    items = [types.Tool(name=f"t{n}", input_schema={}) for n in range(count)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        shown, cursor = paginate(items, types.PaginatedRequestParams(cursor=cursor), size)
        assert len(shown) <= size
        found += [each.name for each in shown]
        if cursor is None:
            break
    assert found == [each.name for each in items]


@given(st.text())
def test_no_made_up_cursor_is_taken(cursor: str) -> None:
    items = [types.Tool(name=f"t{n}", input_schema={}) for n in range(5)]
    with pytest.raises(MCPError):
        paginate(items, types.PaginatedRequestParams(cursor=cursor), 2)


def test_a_name_that_leads_nowhere_is_told_at_once_however_long_it_is_and_however_many_there_are() -> (
    None
):
    began = process_time()
    for name in ("x" * 3_000_000, "tool_99999"):
        assert (
            "Unknown tool"
            in unknown_name_error("tool", name, [f"tool_{n}" for n in range(10_000)]).message
        )
    assert process_time() - began < 1
