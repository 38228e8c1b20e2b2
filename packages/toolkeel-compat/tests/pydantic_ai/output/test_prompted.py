"""Answers as JSON that the instructions ask for."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from toolkeel.testing import Scripted
from toolkeel_compat.pydantic_ai import Agent, PromptedOutput


class Row(BaseModel):
    """A row."""

    name: str


def query(sql: str) -> str:
    """Run a query."""
    return f"ran {sql}"


def run(asked: Any, *replies: str, **options: Any) -> tuple[str, Any, Scripted]:
    model = Scripted([*replies])
    result = Agent(model, output_type=asked, **options).run_sync("go")
    return model.requests[0].messages[0].text, result.output, model


def test_the_instructions_say_the_schema_and_no_tool_is_offered() -> None:
    told, output, model = run(PromptedOutput(Row), '{"name": "a"}', instructions="Be brief.")
    assert told.startswith("Be brief.\n\nAlways respond with a JSON object")
    assert json.loads(told.split("\n\n")[2])["properties"] == {"name": {"type": "string"}}
    assert output == Row(name="a") and not model.requests[0].tools
    assert run(PromptedOutput(Row, template="As {schema}."), '{"name": "a"}')[0].startswith("As {")
    assert run(PromptedOutput(int), '{"response": 3}')[1] == 3


def test_of_several_kinds_the_answer_says_which_it_is() -> None:
    asked = PromptedOutput([Row, query])
    reply = '{"result": {"kind": "query", "data": {"sql": "x"}}}'
    told, output, model = run(asked, '{"result": {"kind": "none"}}', reply)
    kinds = json.loads(told.split("\n\n")[1])["properties"]["result"]["anyOf"]
    assert [one["title"] for one in kinds] == ["Row", "query"] and output == "ran x"
    assert "Input should be 'Row' or 'query'" in model.requests[1].messages[-1].text


def test_a_wrong_answer_is_explained_and_a_fence_is_left_out() -> None:
    _, output, model = run(PromptedOutput(Row), "nope", '```json\n{"name": "a"}\n```')
    assert output == Row(name="a")
    assert '"type":"json_invalid"' in model.requests[1].messages[-1].text
    fences = "```\n{" * 5_000
    assert (
        run(PromptedOutput(Row), fences, 'So:\n```json\n{"name": "```"}\n``` is it')[1].name
        == "```"
    )


def test_kinds_of_one_name_are_numbered() -> None:
    reply = '{"result": {"kind": "list_2", "data": {"response": ["1"]}}}'
    assert run(PromptedOutput([list[int], list[str]]), reply)[1] == ["1"]
