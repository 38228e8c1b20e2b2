"""A call as a client sends it, and as its server gets it."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.behind import client_of
from tests.mcp.peers import OLD_PEER, PEER
from tests.waiting import run
from toolkeel import Rules
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.pins import Pins
from toolkeel.mcp.transforms import parse_transforms
from toolkeel_studio.gateway.client_call import forwarded_params
from toolkeel_studio.gateway.gateway import Gateway
from toolkeel_studio.gateway.policy import Policy

META = st.dictionaries(
    st.sampled_from(["progressToken", "traceparent", "example.com/x"])
    | st.just("io.modelcontextprotocol/protocolVersion"),
    st.integers(),
)


@given(META, st.dictionaries(st.sampled_from(["name", "arguments", "uri"]), st.integers()))
def test_nothing_between_client_and_gateway_goes_on(meta: Any, params: Any) -> None:
    sent = forwarded_params({**params, "_meta": meta})
    kept = {key: meta[key] for key in ("traceparent", "example.com/x") if key in meta}
    assert sent.get("_meta", {}) == kept
    assert {key: value for key, value in sent.items() if key != "_meta"} == params


CHANGES = {
    "echo": {
        "name": "say",
        "description": "Say something short.",
        "arguments": {"text": {"name": "words", "schema": {"maxLength": 5}}},
    },
    "count": {"arguments": {"n": {"value": 7}}},
    "fail": {"arguments": {"text": {"name": "words"}}},
    "pid": {"arguments": {"absent": {"hide": True}}},
}


def gateway_of(words: list[str], policy: Policy | None = None, pins: Pins | None = None) -> Gateway:
    changes = parse_transforms("here", CHANGES)
    config = ServerConfig("p", command=tuple(words), transforms=changes)
    return Gateway([config], policy, pins, prefixed=False)


def said(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@pytest.mark.parametrize("words", [PEER, OLD_PEER])
def test_a_transformed_tool_is_listed_checked_and_called_in_its_new_form(words: list[str]) -> None:
    pins = Pins()

    async def main() -> None:
        async with client_of(gateway_of(words, pins=pins)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "echo" not in tools and "pid" not in tools  # whose transform does not fit
            assert tools["say"].description == "Say something short."
            assert tools["say"].input_schema["properties"] == {
                "words": {"type": "string", "maxLength": 5}
            }
            assert tools["count"].input_schema["properties"] == {}
            assert said(await client.call_tool("say", {"words": "猫"})) == "猫"
            assert said(await client.call_tool("count", {})) == "7"
            long = await client.call_tool("say", {"words": "too long"})
            assert long.is_error and "words: expected" in said(long) and "text" not in said(long)
            for wrong in ({"text": "a"}, {"words": "a", "text": "b"}):
                refused = await client.call_tool("say", wrong)
                assert refused.is_error and "did not run" in said(refused)
            free = await client.call_tool("count", {"n": 8})
            assert free.is_error and "n: expected no keys at all" in said(free)

    run(main)
    [pinned] = [pins.all_of(key) for key in pins._pins]
    assert pinned["echo"].definition["description"] == "Say it again."
    assert pinned["echo"].definition["inputSchema"]["required"] == ["text"]


def test_an_error_of_the_server_is_translated_to_the_names_that_clients_know() -> None:
    async def main() -> None:
        async with client_of(gateway_of(PEER)) as client:
            failed = said(await client.call_tool("fail", {"words": "text must be longer"}))
            assert failed.startswith("text must be longer") and "'text' is 'words'" in failed

    run(main)


@pytest.mark.parametrize("rule", ["say(words=rm*)", "say(text=rm*)"])
def test_a_rule_names_a_renamed_argument_by_either_name(rule: str) -> None:
    async def main() -> None:
        async with client_of(gateway_of(PEER, Policy(Rules(deny=[rule])))) as client:
            assert (await client.call_tool("say", {"words": "rm x"})).is_error
            assert not (await client.call_tool("say", {"words": "ls x"})).is_error

    run(main)
