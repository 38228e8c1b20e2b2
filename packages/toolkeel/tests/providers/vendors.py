"""The vendors' own types, and the rules of their servers, as judges of the requests we build."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import botocore.session
from anthropic.types import message_create_params as params
from botocore.validate import ParamValidator
from pydantic import TypeAdapter

from tests.providers.judge import exhaust

Json = dict[str, Any]
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
IN_ORDER = ("tool_result", "toolResult")

_PLAIN = TypeAdapter[Any](params.MessageCreateParamsNonStreaming)
_STREAMED = TypeAdapter[Any](params.MessageCreateParamsStreaming)


def check_anthropic(body: Mapping[str, Any]) -> None:
    """Raise if anthropic's types or the API's rules do not allow `body`."""
    judge = _STREAMED if body.get("stream") else _PLAIN
    exhaust(judge.validate_python(dict(body)))
    check_turns(body["messages"], _anthropic_call, _anthropic_result)
    for message in body["messages"]:
        for block in [*message["content"], *_inside(message["content"])]:
            assert block["type"] != "text" or block["text"].strip(), "blank text"
            assert block["type"] != "tool_use" or isinstance(block["input"], dict)
        assert message["content"], "an empty message"
    for block in body.get("system", ()):
        assert block["text"].strip()
    marks = str(body).count("'cache_control'")
    assert marks <= 4, f"{marks} cache breakpoints"
    if any(_anthropic_call(one) for message in body["messages"] for one in message["content"]):
        assert body.get("tools"), "calls without tools"


def check_bedrock(body: Mapping[str, Any]) -> None:
    """Raise if botocore's model of the service or the service's rules do not allow `body`."""
    report = ParamValidator().validate(dict(body), _converse_shape())
    assert not report.has_errors(), report.generate_report()
    check_turns(body["messages"], _bedrock_call, _bedrock_result)
    labels = []
    for message in body["messages"]:
        assert message["content"], "an empty message"
        for block in message["content"]:
            inner = block.get("toolResult", {}).get("content", [])
            assert "toolResult" not in block or inner, "an empty result"
            for one in [block, *inner]:
                assert "text" not in one or one["text"].strip(), "blank text"
                if "document" in one:
                    labels.append(one["document"]["name"].lower())
    assert len(labels) == len(set(labels)), "two documents of one name"
    if any("toolUse" in one for message in body["messages"] for one in message["content"]):
        assert body.get("toolConfig"), "calls without toolConfig"


def check_turns(
    messages: Sequence[Json],
    call_of: Callable[[Json], str],
    result_of: Callable[[Json], str],
) -> None:
    """Roles alternate, the person first; each call is answered once, in the next message's front."""
    roles = [message["role"] for message in messages]
    assert roles == [("user", "assistant")[index % 2] for index in range(len(roles))], roles
    seen: set[str] = set()
    open_calls: list[str] = []
    for message in messages:
        results = [result_of(block) for block in message["content"]]
        answered = [id for id in results if id]
        assert answered == open_calls, f"{answered} answers {open_calls}"
        assert results[: len(answered)] == answered, "something stands before a result"
        calls = [id for block in message["content"] if (id := call_of(block))]
        for id in calls:
            assert ID.fullmatch(id), id
            assert id not in seen, f"{id} twice"
            seen.add(id)
        assert not calls or message["role"] == "assistant"
        open_calls = calls
    assert not open_calls, "calls without results at the end"


def _inside(content: Sequence[Json]) -> list[Json]:
    inner = [block.get("content") for block in content if block["type"] == "tool_result"]
    return [block for blocks in inner if isinstance(blocks, list) for block in blocks]


def _anthropic_call(block: Json) -> str:
    return block["id"] if block["type"] == "tool_use" else ""


def _anthropic_result(block: Json) -> str:
    return block["tool_use_id"] if block["type"] == "tool_result" else ""


def _bedrock_call(block: Json) -> str:
    use = block.get("toolUse", {})
    return use.get("toolUseId", "") if use.get("type") != "server_tool_use" else ""


def _bedrock_result(block: Json) -> str:
    result = block.get("toolResult", {})
    return result.get("toolUseId", "") if "type" not in result else ""


@cache
def _converse_shape() -> Any:
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    return service.operation_model("Converse").input_shape
