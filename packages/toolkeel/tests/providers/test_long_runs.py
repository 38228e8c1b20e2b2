"""A run of sixty requests with long results stays within its budget, on every wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.agent.valid import problems
from tests.providers.gemini import test_public as test_gemini
from tests.providers.judge import check_body
from tests.providers.loopback import Json
from tests.providers.openai_responses import test_public as test_openai_responses
from tests.providers.vendors import check_anthropic, check_bedrock
from tests.shared import optional
from toolkeel import Agent, tool
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.sessions import KeepTokens
from toolkeel.sessions.history_policies import estimated_tokens
from toolkeel.testing.scripted import Scripted, call

BUDGET = 30_000
READ = re.compile(r'(read\w*)\(path="(output:\w+)"\)')


@tool(max_output=None)
def numbers(n: int) -> str:
    """Give 4,800 lines, of about 20 kB."""
    return "\n".join(str(n * line % 997) for line in range(1, 4801))


def reads(request: ModelRequest) -> list[ToolCall]:
    """Read line 4,711 of the fifth result, as the text in its place says."""
    [found] = [
        found
        for message in request.messages
        if isinstance(message, ToolMessage) and message.tool_call_id == "n5"
        and (found := READ.search(message.text))
    ]  # fmt: skip
    return [call(found[1], {"path": found[2], "offset": 4711, "limit": 1}, id="read")]


def thinking(n: int) -> AssistantMessage:
    """A call with a signed thought, as some providers want it back."""
    thought = Reasoning("Next.", "c2ln", "scripted")
    return AssistantMessage("", (call("numbers", {"n": n}, id=f"n{n}"),), "tool_calls", reasoning=(thought,))  # fmt: skip


def accepts_gemini(body: Json) -> None:
    test_gemini.check_body({key: value for key, value in body.items() if key != "toolConfig"})


WIRES: list[tuple[Any, Callable[[Json], None]]] = [
    (openai_chat, check_body),
    (openai_responses, test_openai_responses.check_body),
    (anthropic, check_anthropic),
    (gemini, accepts_gemini),
    (bedrock, check_bedrock),
]


def texts(body: object) -> Iterator[str]:
    """All names and texts of a request."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for name, value in body.items():
            yield from (name, *texts(value))
    elif isinstance(body, list | tuple):
        for value in body:
            yield from texts(value)


def long_run(*tools: Any) -> tuple[list[ModelRequest], list[Message]]:
    lines = [*(thinking(n) for n in range(1, 20)), reads, *(thinking(n) for n in range(20, 59))]
    model = Scripted([*lines, "done"], "scripted")
    agent = Agent(model, [numbers, *tools], history=KeepTokens(28_000, 18_000), max_turns=60)
    return model.requests, agent.run_sync("Look at all numbers.").messages


def test_every_request_is_valid_on_every_wire_and_within_the_budget() -> None:
    requests, messages = long_run()
    assert len(requests) == 60 and len(messages) == 120
    changes = 0
    for before, request in zip([None, *requests], requests, strict=False):
        assert problems(request.messages) == []
        same = before is None or request.messages[: len(before.messages)] == before.messages
        changes += not same
        for wire, accepts in WIRES:
            body = wire.encode(request, "m")
            accepts(json.loads(json.dumps(body)) if wire is not bedrock else body)
            assert estimated_tokens([UserMessage("".join(texts(body)))]) < BUDGET
    total = estimated_tokens(messages)
    assert total > 10 * BUDGET and changes <= -(-total // 10_000)


def test_the_model_reads_a_line_of_a_result_it_is_no_longer_shown() -> None:
    requests, messages = long_run()
    [read] = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == "read"]
    assert read.name == "read_result" and read.text.split("\n")[0] == str(5 * 4711 % 997)
    offered = [[each.name for each in request.tools] for request in requests]
    assert offered[0] == ["numbers"] and offered[-1] == ["numbers", "read_result"]


def test_where_a_tool_of_files_reads_kept_results_it_reads_these(tmp_path: Path) -> None:
    requests, messages = long_run(
        optional("toolkeel_workspace.files.file_tools").Files(tmp_path).read
    )
    [read] = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == "read"]
    assert read.name == "read" and read.text.split("\n")[0] == str(5 * 4711 % 997)
    assert all([t.name for t in request.tools] == ["numbers", "read"] for request in requests)
