"""A model for tests calls each tool once."""

from __future__ import annotations

import datetime
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from toolkeel_compat.pydantic_ai import Agent, TestModel
from toolkeel_compat.pydantic_ai.models.test_model import generate


class Part(BaseModel):
    kind: Literal["a", "b"]
    when: datetime.date
    count: int = Field(ge=3)


class Everything(BaseModel):
    name: str = Field(min_length=2)
    parts: list[Part] = Field(min_length=1)
    maybe: int | None
    share: float
    flag: bool
    more: dict[str, int]


@given(st.integers(0, 40))
def test_what_is_generated_is_valid(seed: int) -> None:
    schema = Everything.model_json_schema()
    made = generate(schema, schema, seed)
    assert TypeAdapter(Everything).validate_python(made).parts[0].count >= 3


def look(word: str, times: int = 2) -> str:
    """Look."""
    return word * times


def test_it_calls_each_tool_once_and_answers_with_the_results() -> None:
    assert Agent(TestModel(), tools=[look]).run_sync("go").output == '{"look":"aa"}'
    assert Agent("test").run_sync("go").output == "success (no tool calls)"


def test_it_remembers_the_tools_of_the_last_request() -> None:
    model = TestModel()
    assert model.last_model_request_parameters is None
    Agent(model, tools=[look], output_type=Part).run_sync("go")
    offered = model.last_model_request_parameters
    assert offered is not None
    [tool], [answer] = offered.function_tools, offered.output_tools
    assert (tool.name, tool.description) == ("look", "Look.")
    assert [*tool.parameters_json_schema["properties"]] == ["word", "times"]
    assert answer.name == "final_result"


def test_its_answer_and_its_calls_may_be_given() -> None:
    model = TestModel(call_tools=[], custom_output_text="Hi there")
    assert Agent(model, tools=[look]).run_sync("go").output == "Hi there"
    given_args: Any = {"kind": "b", "when": "2026-01-01", "count": 4}
    part = Agent(TestModel(custom_output_args=given_args), output_type=Part).run_sync("go").output
    assert (part.kind, part.count) == ("b", 4)


def test_lists_have_an_item_unless_it_would_hold_itself() -> None:
    class Node(BaseModel):
        names: list[str]
        children: list[Node]

    Node.model_rebuild()
    schema = Node.model_json_schema()
    assert generate(schema, schema) == {"names": ["a"], "children": []}


def test_the_seed_chooses_among_the_types_of_a_union() -> None:
    class Good(BaseModel):
        text: str

    class Bad(BaseModel):
        error: str

    agent = Agent(TestModel(custom_output_args={"error": "no"}, seed=1), output_type=[Good, Bad])
    assert agent.run_sync("?").output == Bad(error="no")


def test_of_several_types_with_text_the_answer_is_text() -> None:
    union: Any = Agent(TestModel(), output_type=[int, str])
    assert union.run_sync("go").output == "success (no tool calls)"
    chosen: Any = Agent(TestModel(custom_output_text="7 teas"), output_type=[int, str])
    assert chosen.run_sync("go").output == "7 teas"
    number: Any = Agent(TestModel(), output_type=[int, bool])
    assert number.run_sync("go").output == 0
