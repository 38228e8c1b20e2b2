"""Structure of results: promised by annotations as the official server does, wrapped where it must."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from mcp import Client
from pydantic import BaseModel

from toolkeel import Image, Text, ToolOutput, tool
from toolkeel.mcp.server.structured import infer_structured_output
from toolkeel.mcp.server.tool_server import ToolServer


class City(BaseModel):
    name: str
    people: int = 1


@dataclass
class Place:
    lat: float


class Folder(BaseModel):
    inside: list[Folder] = []


BONN = City(name="Bonn")
CASES: list[tuple[Any, Any, Any]] = [
    (City, BONN, {"name": "Bonn", "people": 1}),
    (Place, Place(1.5), {"lat": 1.5}),
    (list[City], [BONN], {"result": [{"name": "Bonn", "people": 1}]}),
    (City | None, None, {"result": None}),
    (City | None, BONN, {"result": {"name": "Bonn", "people": 1}}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict, {"a": [1]}, {"a": [1]}),
    (dict[str, Any], {"a": [1]}, {"a": [1]}),
    (Mapping[str, object], {"a": "b"}, {"a": "b"}),
    (list[dict[str, Any]], [{"a": None}], {"result": [{"a": None}]}),
    (dict[str, Any] | None, None, {"result": None}),
    (Folder, Folder(inside=[Folder()]), {"inside": [{"inside": []}]}),
    (int, 5, {"result": 5}),
    (bool, True, {"result": True}),
    (list[str], ["a", "猫"], {"result": ["a", "猫"]}),
    (tuple[int, str], (1, "a"), {"result": [1, "a"]}),
    (int | str, "a", {"result": "a"}),
    (Literal["on", "off"], "on", {"result": "on"}),
]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(("annotation", "value", "structure"), CASES)
def test_more_than_text_is_promised_and_kept_in_both_eras(
    annotation: Any, value: Any, structure: Any, era: str
) -> None:
    def give() -> object:
        """Give it."""
        return value

    give.__annotations__["return"] = annotation

    async def ask() -> Any:
        async with Client(ToolServer([tool(give)]).sdk, mode=era) as client:
            [listed] = (await client.list_tools()).tools
            assert listed.output_schema is not None and listed.output_schema["type"] == "object"
            return await client.call_tool("give", {})

    result = asyncio.run(ask())
    assert (result.structured_content, result.is_error) == (structure, False)


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        str | None,
        None,
        Any,
        object,
        bytes,
        Text,
        list[Text],
        list[Any],
        list,
        tuple,
        typing.List,  # noqa: UP006
        tuple[Any, ...],
        list | None,
        dict[str, Text],
        ToolOutput,
    ],
)
def test_text_and_blocks_promise_nothing(annotation: Any) -> None:
    def give() -> object:
        """Give it."""

    give.__annotations__["return"] = annotation
    assert infer_structured_output(tool(give)) is None or annotation == str | None


def test_a_generator_promises_nothing() -> None:
    def give() -> list[int]:  # type: ignore[misc]
        """Give it."""
        yield 1

    assert infer_structured_output(tool(give)) is None


PICTURE = Image(b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "image/png")


@pytest.mark.parametrize(("annotation", "value"), [(list, [PICTURE, "a"]), (tuple, (PICTURE, "a"))])
def test_a_list_or_tuple_of_any_kind_may_hold_pictures(annotation: Any, value: Any) -> None:
    def give() -> object:
        """Give it."""
        return value

    give.__annotations__["return"] = annotation

    async def ask() -> Any:
        async with Client(ToolServer([tool(give)]).sdk) as client:
            return await client.call_tool("give", {})

    result = asyncio.run(ask())
    assert not result.is_error and [block.type for block in result.content] == ["image", "text"]
