"""Types of answers: wrapped ones, and forms with a check of the program's own."""

from __future__ import annotations

import enum
import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from tests.shared import peer
from toolkeel.model_interface import OutputFormat
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.testing import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    AgentOutputSchema,
    AgentOutputSchemaBase,
    ModelBehaviorError,
    Runner,
    UserError,
)


class Jokes(AgentOutputSchemaBase):
    def is_plain_text(self) -> bool:
        return False

    def name(self) -> str:
        return "Jokes"

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"jokes": {"type": "object"}}}

    def is_strict_json_schema(self) -> bool:
        return False

    def validate_json(self, json_str: str) -> Any:
        found = json.loads(json_str)
        if not found.get("jokes"):
            raise ModelBehaviorError("there is no joke")
        return list(found["jokes"].values())


def test_a_form_with_a_check_of_its_own_makes_the_answer_and_says_what_is_wrong() -> None:
    model = Scripted(
        [call("final_result", {"jokes": {}}), call("final_result", {"jokes": {"a": "ha"}})]
    )
    result = Runner.run_sync(Agent(model=model, output_type=Jokes()), "go")
    assert result.final_output == ["ha"]
    assert "there is no joke" in model.requests[1].messages[-1].text
    assert model.requests[0].tools[0].parameters["properties"] == {"jokes": {"type": "object"}}


def test_a_wrapped_type_is_the_type_itself() -> None:
    agent = Agent(
        model=Scripted([call("final_result", {"response": 5})]), output_type=AgentOutputSchema(int)
    )
    assert Runner.run_sync(agent, "go").final_output == 5
    loose, text = AgentOutputSchema(int, strict_json_schema=False), AgentOutputSchema(str)
    assert (loose.name(), loose.is_plain_text(), loose.is_strict_json_schema()) == (
        "int",
        False,
        False,
    )
    assert (text.name(), text.is_plain_text(), text.is_strict_json_schema()) == ("str", True, True)


def test_an_answer_is_asked_for_by_name_and_schema_of_the_original() -> None:
    """A pair of numbers in the original's strict form: a default makes nothing nullable."""
    model = Native(['{"left": 1, "right": 3}'])
    agent = Agent(model=model, output_type=Pair)
    assert Runner.run_sync(agent, "go").final_output == Pair(left=1, right=3)
    asked = model.requests[0].settings.output
    assert asked is not None
    form = compile_format(asked, "openai-strict")
    assert (asked.name, asked.description, form.strict) == ("final_output", "", True)
    assert form.schema == Pair.model_json_schema() | {
        "required": ["left", "right"],
        "additionalProperties": False,
    }


def test_what_is_no_object_stands_under_response() -> None:
    model = Scripted([call("final_result", {"response": ["a"]})])
    agent = Agent(model=model, output_type=list[str])
    assert Runner.run_sync(agent, "go").final_output == ["a"]
    assert [*model.requests[0].tools[0].parameters["properties"]] == ["response"]


def test_a_wrapped_type_shows_its_schema_and_reads_answers() -> None:
    form = AgentOutputSchema(list[int])
    assert form.json_schema()["required"] == ["response"]
    assert form.validate_json('{"response": [1]}') == [1]
    with pytest.raises(ModelBehaviorError, match="valid integer"):
        form.validate_json('{"response": ["a"]}')


def test_a_type_is_called_with_its_parts() -> None:
    names = [
        AgentOutputSchema(one, False).name() for one in (int, list[dict[str, int]], Literal["a"])
    ]
    assert names == ["int", "list[dict[str, int]]", "Literal['a']"]


class Open(BaseModel):
    by_name: dict[str, int]


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("form", [dict, dict[str, int], list[dict[str, Any]], Open, Extra])
def test_a_type_with_undeclared_keys_is_refused_unless_it_is_not_strict(form: Any) -> None:
    with pytest.raises(UserError, match=r"AgentOutputSchema\(.*, strict_json_schema=False\)"):
        AgentOutputSchema(form)
    model = Scripted([])
    agent = Agent(model=model, output_type=form)
    with pytest.raises(UserError, match=r"declare the keys in a model"):
        Runner.run_sync(agent, "go")
    assert not model.requests
    assert not AgentOutputSchema(form, strict_json_schema=False).is_strict_json_schema()


def test_a_type_becomes_acceptable_between_runs() -> None:
    agent = Agent(model=Scripted([call("final_result", {"by_name": {"a": 1}})]), output_type=Open)
    with pytest.raises(UserError):
        Runner.run_sync(agent, "go")
    agent.output_type = AgentOutputSchema(Open, strict_json_schema=False)
    assert Runner.run_sync(agent, "go").final_output == Open(by_name={"a": 1})


@pytest.mark.parametrize(
    "form", [str, Any, object, list, tuple[int, str], int | None, Literal["a"]]
)
def test_a_type_without_undeclared_keys_is_strict(form: Any) -> None:
    assert AgentOutputSchema(form).is_strict_json_schema()


class Pair(BaseModel):
    left: int
    right: int = 2


@pytest.mark.slow
@pytest.mark.parametrize("form", [Pair, dict[str, Pair], list[Pair]])
def test_a_loose_type_is_asked_for_as_by_the_original(form: Any) -> None:
    theirs = peer("agents").AgentOutputSchema(form, strict_json_schema=False).json_schema()
    ours = AgentOutputSchema(form, strict_json_schema=False).json_schema()
    assert without_titles(ours) == without_titles(theirs)


def without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_titles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_titles(one) for key, one in schema.items() if key != "title"}


class Native(Scripted):
    """A model whose server holds replies to a form."""

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        return True


def test_a_loose_type_is_asked_for_by_an_open_schema_that_is_not_enforced() -> None:
    form = AgentOutputSchema(Pair, strict_json_schema=False)
    assert "additionalProperties" not in form.json_schema()
    model = Native(['{"left": 1, "more": 3}'])
    assert Runner.run_sync(Agent(model=model, output_type=form), "go").final_output == Pair(left=1)
    asked = model.requests[0].settings.output
    assert asked is not None and not asked.strict
    assert "additionalProperties" not in asked.schema
    strict = AgentOutputSchema(Pair).json_schema()
    assert (strict["additionalProperties"], strict["required"]) == (False, ["left", "right"])


class Size(enum.StrEnum):
    SMALL = "s"
    LARGE = "l"


def test_one_of_several_texts_is_asked_for_within_an_object() -> None:
    model = Native(['{"response": "l"}'])
    assert Runner.run_sync(Agent(model=model, output_type=Size), "go").final_output == Size.LARGE
    asked = model.requests[0].settings.output
    assert asked is not None and list(asked.schema["properties"]) == ["response"]
