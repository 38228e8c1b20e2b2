"""Another author's tools as their user wants them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp.peers import PEER
from tests.waiting import run
from toolkeel import RunContext, SetupError, ToolCall, Toolset
from toolkeel.errors import DefinitionError, InvalidArguments
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.config import read_config
from toolkeel.mcp.launch_facts import launch_facts, shown_lines
from toolkeel.mcp.pins import Pins
from toolkeel.mcp.transforms import ToolTransform, parse_transforms, transform_tool

ISSUE = {
    "name": "create_issue",
    "description": "Create.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "repo": {"type": "string"},
            "body": {"type": "string", "maxLength": 900},
            "assignee": {"type": "string"},
        },
        "required": ["repo", "body"],
    },
}
CHANGE: ToolTransform = {
    "name": "report_bug",
    "arguments": {
        "repo": {"value": "acme/app"},
        "assignee": {"hide": True},
        "body": {"name": "text", "description": "In Markdown.", "schema": {"maxLength": 500}},
    },
}


def test_a_tool_is_shown_with_its_changes_and_called_in_the_servers_form() -> None:
    made = transform_tool(ISSUE, CHANGE)
    assert made.definition == {
        "name": "report_bug",
        "description": "Create.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "maxLength": 500, "description": "In Markdown."}
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    }
    assert made.to_original({"text": "猫"}) == {"repo": "acme/app", "body": "猫"}
    for name in ("repo", "body", "assignee"):
        with pytest.raises(InvalidArguments, match=f"report_bug.*\n- {name}: "):
            made.to_original({"text": "a", name: "evil"})
    assert "body" in ISSUE["inputSchema"]["properties"]  # type: ignore[index]


@given(st.permutations(["repo", "body", "assignee", "x"]), st.dictionaries(
    st.sampled_from(["repo", "body", "assignee"]), st.text(max_size=3)))  # fmt: skip
def test_any_renaming_has_a_way_back(names: list[str], arguments: dict[str, str]) -> None:
    new = dict(zip(["repo", "body", "assignee"], names, strict=False))
    made = transform_tool(ISSUE, {"arguments": {own: {"name": name} for own, name in new.items()}})
    assert made.to_original({new[own]: each for own, each in arguments.items()}) == arguments


def test_a_default_is_sent_for_what_is_left_out() -> None:
    made = transform_tool(ISSUE, {"arguments": {"repo": {"schema": {"default": "a/b"}}}})
    assert made.definition["inputSchema"]["required"] == ["body"]
    assert made.to_original({"body": "x"}) == {"repo": "a/b", "body": "x"}
    assert made.to_original({"body": "x", "repo": "c"})["repo"] == "c"


@pytest.mark.parametrize(("arguments", "why"), [
    ({"bdy": {"name": "x"}}, "argument 'bdy', and there is repo, body, assignee"),
    ({"repo": {"hide": True}}, "hides 'repo', which the tool requires; give it a value"),
    ({"repo": {"value": 7}}, "a value that does not fit: repo: expected a string"),
    ({"repo": {"schema": {"default": 7}}}, "a value that does not fit: repo: expected a string"),
    ({"repo": {"schema": {"type": "integer"}}}, "the tool takes 'string': no value is of both"),
    ({"body": {"name": "repo"}}, "two arguments the name 'repo'"),
])  # fmt: skip
def test_a_change_that_does_not_fit_the_tool_is_an_error(arguments: Any, why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        transform_tool(ISSUE, {"arguments": arguments})


@pytest.mark.parametrize(("written", "why"), [
    ({"a": {"nam": "b"}}, r"\['a'\]: there is no key 'nam'; there is name, description, arguments"),
    ({"a": {"name": "b c"}}, "contains ' '"),
    ({"a": {"arguments": []}}, "'arguments' is an object"),
    ({"a": {"arguments": {"x": {"hide": 1}}}}, "argument 'x': 'hide' is true or false"),
    ({"a": {"arguments": {"x": {"value": 1, "name": "y"}}}}, "'value' hides it"),
    ({"a": {"arguments": {"x": {"value": {1}}}}}, "JSON"),
    ([], "an object with names"),
])  # fmt: skip
def test_a_mistake_in_a_transform_is_named_with_its_place(written: Any, why: str) -> None:
    with pytest.raises(SetupError, match=f"here.*{why}"):
        parse_transforms("here", written)


def test_a_servers_tool_is_changed_in_one_call_and_pinned_as_it_was() -> None:
    pins = Pins()
    server = MCPServer(
        PEER,
        name="peer",
        trust=True,
        pins=pins,
        only=["echo", "count", "fail"],
        transform={
            "echo": {"name": "say", "arguments": {"text": {"name": "words"}}},
            "count": {"arguments": {"n": {"value": 7}}},
            "fail": {"arguments": {"text": {"name": "words"}}},
        },
    )

    async def main() -> list[str]:
        tools = Toolset(await server.get_tools())
        assert list(tools.names) == ["say", "fail", "count"]
        calls = [
            ToolCall("1", "say", {"words": "猫"}),
            ToolCall("2", "count", {}),
            ToolCall("3", "fail", {"words": "the text is bad"}),
            ToolCall("4", "say", {"text": "猫"}),
        ]
        batch = tools.batch(calls, RunContext())
        await batch.run()
        original = await server.definitions()
        assert pins.get(server.config.identity, "echo") == original["echo"]
        await server.close()
        return [message.text for message in batch.results]

    said, counted, failed, wrong = asyncio.run(main())
    assert (said, counted) == ("猫", "7") and "'text' is 'words'" in failed
    assert "arguments of say" in wrong and "words: expected" in wrong


def test_a_transform_of_a_tool_that_is_not_there_is_an_error() -> None:
    server = MCPServer(PEER, name="peer", transform={"ech": {"name": "say"}})
    with pytest.raises(SetupError, match="no tool 'ech'; there is echo"):
        run(server.get_tools)
    run(server.close)


def test_a_file_holds_transforms_and_a_person_agrees_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPO", "acme/secret")
    change = {"create_issue": {"arguments": {"repo": {"value": "${REPO}"}}}}
    file = tmp_path / "mcp.json"
    entry = {"command": "server", "transform": change}
    file.write_text(json.dumps({"mcpServers": {"a": entry}}), "utf-8")
    config = read_config(file)["a"]
    assert config.transforms == parse_transforms("", change, lambda _: "acme/secret")
    lines = "\n".join(shown_lines(launch_facts(config)))
    assert "create_issue changed" in lines and "${REPO}" in lines and "secret" not in lines
    file.write_text(file.read_text("utf-8").replace("value", "valu"), "utf-8")
    with pytest.raises(SetupError, match=r"'a': transform.*no key 'valu'"):
        read_config(file)
