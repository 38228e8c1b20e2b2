"""Requests with invalid parameters: the error names the parameter."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolkeel import tool
from toolkeel.mcp.server.invalid_requests import name_invalid_params
from toolkeel.mcp.server.tool_server import ToolServer


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"hi {name}"


@pytest.mark.parametrize(("method", "params", "told"), [
    ("tools/call", {"name": "greet", "arguments": "{}"}, "params.arguments"),
    ("tools/call", {"name": 5}, "params.name"),
    ("tools/list", {"cursor": 5}, "params.cursor"),
    ("logging/setLevel", {"level": "loud"}, "params.level"),
])  # fmt: skip
def test_the_wrong_parameter_is_named(method: str, params: dict[str, Any], told: str) -> None:
    async def ask() -> str:
        async with ToolServer([greet]).client(mode="legacy") as client:
            send = client.session._dispatcher.send_raw_request
            with pytest.raises(MCPError) as error:
                await send(method, params, {"timeout": 30.0})
            assert error.value.code == types.INVALID_PARAMS
            return error.value.message

    assert told in asyncio.run(ask())


@dataclass
class _Asked:
    method: str = "tools/list"


@pytest.mark.parametrize(("error", "told"), [
    (MCPError(types.INVALID_PARAMS, "Invalid request parameters", ""), "began with initialize"),
    (MCPError(types.INVALID_PARAMS, "Unknown tool: 'x'"), "Unknown tool: 'x'"),
])  # fmt: skip
def test_only_what_the_sdk_says_of_nothing_is_replaced(error: MCPError, told: str) -> None:
    async def refuse(_: object) -> Any:
        raise error

    with pytest.raises(MCPError, match=told):
        asyncio.run(name_invalid_params(_Asked(), refuse))  # type: ignore[arg-type]


def test_no_part_of_a_request_is_repeated_in_its_error() -> None:
    async def validate(_: object) -> Any:
        types.CallToolRequestParams.model_validate({"name": ["s3cret"]})

    with pytest.raises(MCPError) as error:
        asyncio.run(name_invalid_params(_Asked(), validate))  # type: ignore[arg-type]
    assert isinstance(error.value.__cause__, ValidationError)
    assert "name" in error.value.message and "s3cret" not in error.value.message
