"""Output types of Pydantic AI, as tools that a model calls to answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from toolkeel.model_interface import OutputFormat
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ModelRetry,
    NativeOutput,
    ToolOutput,
)


class Box(BaseModel):
    width: int


class Failure(BaseModel):
    """Use it if there is no box."""

    why: str


@dataclass
class Crate:
    weight: int


def offered(asked: Any, *answers: Any) -> tuple[Any, Scripted, Any]:
    model = Scripted(list(answers))
    result = Agent(model, output_type=asked).run_sync("go")
    tools = {tool.name: tool.description for tool in model.requests[0].tools}
    return tools, model, result


@pytest.mark.parametrize("asked", [[Box, Failure], Box | Failure, [ToolOutput(Box), Failure]])
def test_each_of_several_types_has_a_tool(asked: Any) -> None:
    tools, model, result = offered(asked, call("final_result_Failure", {"why": "none"}))
    assert tools == {
        "final_result_Box": "Box: The final response which ends this conversation",
        "final_result_Failure": "Use it if there is no box.",
    }
    assert result.output == Failure(why="none")
    assert model.requests[0].settings.tool_choice == "required"
    assert result.all_messages()[-1].parts[0].content == "Final result processed."


def test_text_among_the_types_is_an_answer_as_it_is() -> None:
    tools, model, result = offered([Box, str, DeferredToolRequests], "12")
    assert list(tools) == ["final_result"] and result.output == "12"
    assert model.requests[0].settings.tool_choice is None
    assert offered([Box, str], call("final_result", {"width": 2}))[2].output == Box(width=2)


def test_types_that_are_no_objects_share_one_key_and_no_name() -> None:
    asked: Any = list[str] | list[int]
    tools, model, result = offered(asked, call("final_result_list_2", {"response": [1]}))
    assert list(tools) == ["final_result_list", "final_result_list_2"] and result.output == [1]
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["response"]


def test_an_output_may_name_and_describe_its_tool() -> None:
    asked = [
        ToolOutput(Crate, name="crate", description="Pack it"),
        ToolOutput(Failure, "fail", "No"),
    ]
    tools, _, result = offered(asked, call("crate", {"weight": 3}))
    assert tools == {"crate": "Pack it", "fail": "No. Use it if there is no box."}
    assert result.output == Crate(3) and result.usage.tool_calls == 0


def test_what_a_provider_enforces_is_one_form() -> None:
    choice = {"result": {"kind": "Box", "data": {"width": 1}}}
    tools, _, result = offered(NativeOutput([Box, Failure]), call("final_result", choice))
    assert list(tools) == ["final_result"] and result.output == Box(width=1)


class Native(Scripted):
    """A model whose server holds replies to a form."""

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        return True


def test_of_several_enforced_types_an_answer_says_its_kind_and_is_corrected() -> None:
    texts = [
        '{"result": {"kind": "Lid", "data": {}}}',
        '{"result": {"kind": "Box", "data": {"width": "x"}}}',
        '{"result": {"kind": "Failure", "data": {"why": "none"}}}',
    ]
    model = Native(texts)
    agent = Agent(model, output_type=NativeOutput([Box, Failure]), retries=2)
    assert agent.run_sync("go").output == Failure(why="none")
    asked = model.requests[0].settings.output
    assert asked is not None
    kinds = asked.schema["properties"]["result"]["anyOf"]  # type: ignore[index]
    assert [one["properties"]["kind"]["const"] for one in kinds] == ["Box", "Failure"]
    assert '"loc":["result","kind"]' in model.requests[1].messages[-1].text
    assert '"loc":["width"]' in model.requests[2].messages[-1].text


def test_an_answer_beside_a_call_that_is_corrected_is_put_off() -> None:
    fails = iter([True, False])
    first = call("final_result", {"width": 1}, "f1")
    model = Scripted([[first, call("look", {}, "c1")], call("final_result", {"width": 2}, "f2")])
    agent = Agent(model, output_type=Box)

    @agent.tool_plain
    def look() -> str:
        """Look."""
        if next(fails):
            raise ModelRetry("again")
        return "seen"

    result = agent.run_sync("go")
    assert result.output == Box(width=2)
    answer, problem = model.requests[1].messages[-2:]
    assert answer.text.startswith("Output not used as the final result")
    assert "again" in problem.text
    assert result.all_messages()[2].parts[0].content == answer.text


def test_wrong_answers_of_either_tool_count_together() -> None:
    wrong = call("final_result_Box", {"width": "x"}), call("final_result_Failure", {"why": 1})
    model = Scripted([*wrong, call("final_result_Box", {"width": 4})])
    agent = Agent(model, output_type=[Box, Failure], retries=2)
    assert agent.run_sync("go").output == Box(width=4)
    text = Scripted(["a box", call("final_result_Box", {"width": 4})])
    assert Agent(text, output_type=[Box, Failure]).run_sync("go").output == Box(width=4)
    assert "final_result_Box or final_result_Failure" in text.requests[1].messages[-1].text


def test_validators_see_text_and_answers_by_a_call() -> None:
    seen: list[object] = []
    model = Scripted(["no", call("final_result", {"width": 1}), "yes"])
    agent = Agent(model, output_type=[Box, str], retries=2)

    @agent.output_validator
    def check(output: Any) -> Any:
        seen.append(output)
        if output != "yes":
            raise ModelRetry("say yes")
        return "YES"

    assert agent.run_sync("go").output == "YES"
    assert seen == ["no", Box(width=1), "yes"]


class Tree(BaseModel):
    """A tree."""

    kept: Box | None = None
    branches: list[Tree] = []


def test_types_that_a_provider_enforces_may_contain_others() -> None:
    choice = {"result": {"kind": "Tree", "data": {"branches": [{"kept": {"width": 1}}]}}}
    asked = NativeOutput([Tree, Failure])
    agent = Agent(Scripted([json.dumps(choice)]), output_type=asked)
    assert agent.run_sync("?").output == Tree(branches=[Tree(kept=Box(width=1))])
