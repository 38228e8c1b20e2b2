"""Exchanges with real weights on llama.cpp's server, recorded on 28 November 2026: what is sent and read.

Qwen2.5-Coder-0.5B-Instruct (Q4_K_M) and SmolLM2-135M-Instruct (Q4_1), at temperature 0. Each line is a
question, the ways of calling, both sides of its requests, and what was read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.providers.serving import paths
from toolkeel import Agent, Tool, connect
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Settings

HEAD, *RECORDED = map(
    json.loads, Path(__file__).with_name("recorded.jsonl").read_text("utf-8").splitlines()
)
TOOLS = [
    Tool.from_schema(one["name"], one["description"], one["parameters"], lambda _, arguments: "ok")
    for one in HEAD["tools"]
]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda one: f"{one['calls']}-{one['question']}")
def test_a_recorded_reply_is_read_and_its_request_is_sent_as_it_was(
    recorded: dict[str, Any],
) -> None:
    sent: list[Any] = []

    def reply(body: Any) -> bytes:
        sent.append(body)
        text: str = recorded["exchanges"][len(sent) - 1]["reply"]
        return text.encode()

    with paths({"/v1/chat/completions": reply}) as url:
        options = {"base_url": f"{url}/v1", "calls": recorded["calls"]}
        model = connect(f"llamacpp:{recorded['model']}", **options)
        settings = Settings(temperature=0, max_tokens=120)
        result = Agent(model, TOOLS, settings=settings, max_turns=1).run_sync(recorded["question"])

    last = [one for one in result.messages if isinstance(one, AssistantMessage)][-1]
    made = [[call.name, call.arguments, call.complete] for call in last.tool_calls]
    assert (last.text, made) == (recorded["text"], recorded["made"])
    assert sent == [exchange["request"] for exchange in recorded["exchanges"]]
