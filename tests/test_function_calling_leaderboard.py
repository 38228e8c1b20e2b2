"""100 published tool sets become tools; their right calls are accepted, 909 wrong ones refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shared import shared_file
from toolkeel import Tool, ToolCall, Toolset
from toolkeel.define.import_definition import parse_definition
from toolkeel.providers import openai_chat

# Right by the leaderboard's own judge, which takes a variable's name for its value; by the tool's
# schema they are text where a list is due, and text never becomes a list here.
NAMES_FOR_LISTS = {"parallel_multiple_21", "simple_javascript_37", "simple_javascript_39"}


def _rows(name: str) -> Iterator[dict[str, Any]]:
    with shared_file(f"data/{name}").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.fixture(scope="module")
def sets() -> dict[str, Toolset]:
    made = {}
    for row in _rows("bfcl-sample.jsonl"):
        definitions = map(parse_definition, row["tools"])
        made[row["id"]] = Toolset(
            Tool.from_schema(d.name, d.description, d.schema, lambda _, given: given)
            for d in definitions
        )
    return made


def _holds(received: Any, sent: Any) -> bool:
    """Whether all that was sent arrived; defaults may have come to it, at any depth."""
    if isinstance(sent, dict):
        return all(key in received and _holds(received[key], sent[key]) for key in sent)
    return received == sent


def _wire_call(tools: Toolset, call: dict[str, Any]) -> ToolCall:
    """The call as it comes back from a server that was told the tools' wire names."""
    return ToolCall("call_1", tools.wire_names[call["name"]], json.dumps(call["arguments"]))


def test_every_set_becomes_tools_with_names_a_server_takes(sets):
    assert len(sets) == 100
    for tools in sets.values():
        names = [tool["function"]["name"] for tool in openai_chat.encode_tools(tools)]
        assert len(set(names)) == len(tools)
        assert all(name.replace("_", "").replace("-", "").isalnum() for name in names)


def test_every_right_call_runs_with_its_own_arguments_under_its_own_name(sets):
    seen = refused = 0
    for row in _rows("bfcl-sample.jsonl"):
        tools = sets[row["id"]]
        results = tools.run_sync([_wire_call(tools, call) for call in row["calls"]])
        for call, result in zip(row["calls"], results, strict=True):
            if result.failed and row["id"] in NAMES_FOR_LISTS:
                refused += 1
                continue
            assert result.status == "success", (row["id"], result.content)
            assert result.name == call["name"]
            assert _holds(json.loads(result.text), call["arguments"]), row["id"]
            seen += 1
    assert (seen, refused) == (162, 3)


def test_every_wrong_call_is_refused_with_a_message_that_names_the_field(sets):
    count = 0
    for row in _rows("bfcl-sample-bad.jsonl"):
        tools = sets[row["id"]]
        [result] = tools.run_sync([_wire_call(tools, row["call"])])
        words = row["why"].split()
        field = words[2] if words[0] == "missing" else words[0]
        assert result.kind == "invalid_arguments", row
        assert field in result.content, (row["why"], result.content)
        count += 1
    assert count == 909
