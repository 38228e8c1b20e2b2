"""Answers of a given type: had as text or by a tool, corrected, counted, shown while they arrive."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from tests.agent.valid import problems
from tests.waiting import run as run_async
from toolkeel import Agent, Effects, Rules, Settings, SetupError, ToolMessage, UserMessage, tool
from toolkeel.agent.output import MAX_RETRIES
from toolkeel.call.arguments.partial_value import PartialValue
from toolkeel.define.output_type import OUTPUT_TOOL, OutputTool
from toolkeel.errors import DefinitionError, OutputError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import CallDelta, Finish, ModelRequest, OutputFormat, TextDelta
from toolkeel.runs import RunState
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = Field(ge=0)
    address: Address | None = None


@dataclass
class Point:
    x: float
    y: float = 0.0


class Movie(TypedDict):
    title: str
    year: int


class Node(BaseModel):
    value: int
    children: list[Node] = []


ADA: dict[str, Any] = {"name": "Ada", "age": 36}


class Held(Scripted):
    """A scripted model whose wire holds replies to a schema."""

    def __init__(self, *lines: Any, holds: bool = True) -> None:
        super().__init__(lines)
        self._holds = holds
        self.asked: list[tuple[OutputFormat, bool]] = []

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        self.asked.append((output, tools))
        return self._holds


@tool
def look_up(name: str) -> str:
    """Look somebody up."""
    return f"{name} is 36"


@pytest.mark.parametrize(
    ("output_type", "arguments", "value"),
    [
        (Person, ADA, Person(name="Ada", age=36)),
        (Point, {"x": 1.5}, Point(1.5)),
        (Movie, {"title": "羅生門", "year": 1950}, {"title": "羅生門", "year": 1950}),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(value=1, children=[Node(value=2)])),
        (list[Person], {"result": [ADA]}, [Person(name="Ada", age=36)]),
        (int, {"result": 42}, 42),
        (Person | Point, {"result": {"x": 1, "y": 2}}, Point(1, 2)),
        (Person | None, {"result": None}, None),
        (Literal["yes", "no"], {"result": "no"}, "no"),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (date, {"result": "2026-11-22"}, date(2026, 11, 22)),
        (tuple[int, str], {"result": [1, "a"]}, (1, "a")),
    ],
)
def test_an_answer_of_any_type_is_given_by_a_tool_or_as_text(
    output_type: Any, arguments: dict[str, Any], value: object
) -> None:
    called = Agent(Scripted([call(OUTPUT_TOOL, arguments)]), output_type=output_type).run_sync("go")
    assert called.output == value and type(called.output) is type(value)
    assert called.reason == "answered" and problems(called.messages) == []
    said = Agent(Held(json.dumps(arguments)), output_type=output_type).run_sync("go")
    assert said.output == value and type(said.output) is type(value)


def test_without_a_type_the_output_is_text() -> None:
    assert Agent(Scripted(["hi"])).run_sync("go").output == "hi"
    assert Agent(Scripted(["hi"]), output_type=str).run_sync("go").output == "hi"


def test_a_run_can_ask_for_another_type_than_its_agent() -> None:
    agent = Agent(
        Scripted([call(OUTPUT_TOOL, {"result": 3}), call(OUTPUT_TOOL, ADA)]), output_type=Person
    )
    assert agent.run_sync("go", output_type=int).output == 3
    assert agent.run_sync("go").output == Person(name="Ada", age=36)


def test_the_model_decides_whether_its_wire_holds_the_form() -> None:
    held, not_held = Held(json.dumps(ADA)), Held(call(OUTPUT_TOOL, ADA), holds=False)
    Agent(held, [look_up], output_type=Person).run_sync("go")
    Agent(not_held, output_type=Person).run_sync("go")
    [request], [other] = held.requests, not_held.requests
    assert request.settings.output is not None and request.settings.tool_choice is None
    assert request.settings.output.description.endswith("Somebody.")
    assert [t.name for t in request.tools] == ["look_up"]
    assert other.settings.output is None and other.settings.tool_choice == "required"
    assert [t.name for t in other.tools] == [OUTPUT_TOOL]
    assert held.asked[0][1] is True and not_held.asked[0][1] is False


def test_tools_are_called_before_the_answer_is_given() -> None:
    model = Scripted([call("look_up", {"name": "Ada"}), call(OUTPUT_TOOL, ADA)])
    result = Agent(model, [look_up], output_type=Person).run_sync("go")
    assert result.output.age == 36
    assert [m.name for m in result.messages if isinstance(m, ToolMessage)] == [
        "look_up",
        OUTPUT_TOOL,
    ]


def test_other_calls_of_the_answering_turn_have_their_results() -> None:
    model = Scripted([[call(OUTPUT_TOOL, ADA), call("look_up", {"name": "Ada"})]])
    result = Agent(model, [look_up], output_type=Person).run_sync("go")
    assert result.output.name == "Ada" and problems(result.messages) == []
    assert result.messages[-1].text == "Ada is 36"


def test_of_two_answers_in_one_turn_the_first_right_one_counts() -> None:
    wrong, right, late = {"name": "?"}, ADA, {"name": "Eve", "age": 1}
    model = Scripted(
        [[call(OUTPUT_TOOL, wrong), call(OUTPUT_TOOL, right), call(OUTPUT_TOOL, late)]]
    )
    assert Agent(model, output_type=Person).run_sync("go").output.name == "Ada"


BAD = {"name": "Ada", "age": -1, "address": {"street": "x", "zip": "1"}}


@pytest.mark.parametrize("native", [False, True])
def test_a_wrong_answer_goes_back_with_every_field_that_is_wrong(native: bool) -> None:
    lines: list[Any] = [json.dumps(BAD), json.dumps(ADA)]
    model = Held(*lines) if native else Scripted([call(OUTPUT_TOOL, BAD), call(OUTPUT_TOOL, ADA)])
    result = Agent(model, output_type=Person).run_sync("go")
    assert result.output.age == 36
    told = result.messages[2].text
    assert "age: expected" in told and "address.zip" in told and "-1" in told
    assert isinstance(result.messages[2], UserMessage if native else ToolMessage)


def test_a_correction_of_text_repeats_the_schema() -> None:
    result = Agent(Held("Ada, 36", json.dumps(ADA)), output_type=Person).run_sync("go")
    told = result.messages[2].text
    assert "JSON" in told and '"age"' in told and "Ada, 36" not in told.splitlines()[-1]


def test_text_where_a_call_was_wanted_is_read_if_it_fits_and_else_sent_back() -> None:
    fenced = "```json\n" + json.dumps(ADA) + "\n```"
    assert Agent(Scripted([fenced]), output_type=Person).run_sync("go").output.name == "Ada"
    result = Agent(Scripted(["It is Ada.", call(OUTPUT_TOOL, ADA)]), output_type=Person).run_sync(
        "go"
    )
    assert f"by calling {OUTPUT_TOOL}" in result.messages[2].text


@pytest.mark.parametrize(
    ("output_type", "text", "value"),
    [(int, "5", 5), (list[int], "[1, 2]", [1, 2]), (Literal["yes", "no"], "yes", "yes")],
)
def test_a_bare_value_needs_no_object_around_it(output_type: Any, text: str, value: object) -> None:
    assert Agent(Scripted([text]), output_type=output_type).run_sync("go").output == value


def test_text_is_an_answer_where_the_type_has_text_among_others() -> None:
    assert Agent(Scripted(["I cannot."]), output_type=Person | str).run_sync("x").output == (
        "I cannot."
    )


@pytest.mark.parametrize("native", [False, True])
def test_corrections_are_counted_and_capped(native: bool) -> None:
    lines: list[Any] = [json.dumps(BAD) if native else call(OUTPUT_TOOL, BAD)] * 9
    model = Held(*lines) if native else Scripted(lines)
    with pytest.raises(OutputError, match="4 times: age") as raised:
        Agent(model, output_type=Person).run_sync("go")
    assert len(model.requests) == MAX_RETRIES + 1
    assert {error.where for error in raised.value.errors} == {"age", "address.zip"}
    model = Held(*lines) if native else Scripted(lines)
    with pytest.raises(OutputError, match="1 times"):
        Agent(model, output_type=Person, output_retries=0).run_sync("go")


def test_corrections_are_reported_with_those_of_tools() -> None:
    result = Agent(Scripted([call(OUTPUT_TOOL, BAD), call(OUTPUT_TOOL, ADA)]), output_type=Person)
    assert result.run_sync("go").corrections[OUTPUT_TOOL].corrected == 1


def test_a_refusal_is_no_answer_and_is_not_corrected() -> None:
    model = Held(AssistantMessage("I won't.", finish_reason="refusal"))
    with pytest.raises(OutputError, match=r"refused.*I won't"):
        Agent(model, output_type=Person).run_sync("go")


def test_an_answer_that_was_cut_off_is_asked_for_shorter() -> None:
    cut = AssistantMessage('{"name": "Ada', finish_reason="length")
    result = Agent(Held(cut, json.dumps(ADA)), output_type=Person).run_sync("go")
    assert "cut off" in result.messages[2].text


def test_there_is_no_output_without_an_answer() -> None:
    model = Scripted([call("look_up", {"name": "x"})] * 3)
    result = Agent(model, [look_up], output_type=Person, max_turns=2).run_sync("go")
    assert result.reason == "limit"
    with pytest.raises(OutputError, match="limit"):
        _ = result.output


def test_steps_and_rules_of_the_tools_are_not_about_the_answer() -> None:
    async def step(prepared: Any, context: Any, proceed: Callable[..., Any]) -> object:
        seen.append(prepared.tool.name)
        return await proceed(prepared)

    seen: list[str] = []
    model = Scripted([call("look_up", {"name": "x"}), call(OUTPUT_TOOL, ADA)])
    rules = Rules(deny=[f"{OUTPUT_TOOL}*"])
    Agent(model, [look_up], output_type=Person, steps=[step], rules=rules).run_sync("go")
    assert seen == ["look_up"]


def test_the_answer_is_offered_beside_the_search_for_tools() -> None:
    model = Scripted([call(OUTPUT_TOOL, ADA)])
    Agent(model, [look_up], output_type=Person, search_tools=True).run_sync("go")
    assert [t.name for t in model.requests[0].tools] == ["search_tools", OUTPUT_TOOL]


def test_a_tool_of_the_same_name_keeps_it() -> None:
    @tool("final_result")
    def other() -> str:
        """Something else."""
        return "x"

    model = Scripted([call("final_result"), call("final_result_2", ADA)])
    assert Agent(model, [other], output_type=Person).run_sync("go").output.name == "Ada"


def test_a_tool_that_answers_the_person_itself_is_refused_beside_a_type() -> None:
    @tool(ends_run=True)
    def straight() -> str:
        """Answer."""
        return "x"

    with pytest.raises(SetupError, match="straight"):
        Agent(Scripted(["x"]), [straight], output_type=Person).run_sync("go")


def test_a_type_without_a_json_form_is_refused_when_the_agent_is_made() -> None:
    with pytest.raises(DefinitionError, match="output_type"):
        Agent(Scripted([]), output_type=Callable[[int], int])


def test_the_choice_of_a_tool_stays_what_the_program_says() -> None:
    model = Scripted([call(OUTPUT_TOOL, ADA)])
    Agent(model, output_type=Person, settings=Settings(tool_choice="auto")).run_sync("go")
    assert model.requests[0].settings.tool_choice == "auto"


def test_an_answer_survives_a_run_that_waited_for_a_person() -> None:
    @tool(approval=True, effects=Effects(destructive=True))
    def drop(table: str) -> str:
        """Drop a table."""
        return "dropped"

    model = Scripted([call("drop", {"table": "t"}), call(OUTPUT_TOOL, ADA)])
    agent = Agent(model, [drop], output_type=Person)
    waiting = agent.run_sync("go")
    with pytest.raises(OutputError, match="waiting"):
        _ = waiting.output
    done = agent.run_sync(waiting.state, decisions=[waiting.pending[0].approve()])
    assert done.output.name == "Ada"


# — while it arrives —


def pieces(text: str, size: int = 3) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize("native", [False, True])
def test_an_answer_is_shown_while_it_arrives(native: bool) -> None:
    text = json.dumps({"name": "Ada 洛芙莱斯", "age": 36}, ensure_ascii=False)
    deltas: list[Any] = [TextDelta(piece) for piece in pieces(text)]
    if not native:
        deltas = [
            CallDelta(0, "c1", OUTPUT_TOOL),
            *(CallDelta(0, arguments=p) for p in pieces(text)),
        ]
    deltas.append(Finish("stop" if native else "tool_calls"))
    model = Held(deltas) if native else Scripted([deltas])

    async def main() -> None:
        shown = []
        async with Agent(model, output_type=Person).stream("go") as stream:
            async for partial in stream.stream_outputs():
                assert isinstance(partial, PartialValue)
                shown.append({str(key): item for key, item in partial.items()})
        assert stream.result.output == Person(name="Ada 洛芙莱斯", age=36)
        assert shown[0].keys() == {"name"} and len(shown) > 5
        assert shown[-1] == {"name": "Ada 洛芙莱斯", "age": 36}
        names = [str(one["name"]) for one in shown]
        assert all(b.startswith(a) for a, b in itertools.pairwise(names))

    run_async(main)


def test_a_union_whose_members_name_tools_is_answered_by_them_or_by_text() -> None:
    asked: Any = Annotated[Person, OutputTool("person")] | Annotated[Point, OutputTool("point")]
    deltas = [CallDelta(0, "c1", "point"), CallDelta(0, arguments='{"x": 1, '), CallDelta(0, arguments='"y": 2}')]  # fmt: skip
    model = Held([*deltas, Finish("tool_calls")])

    async def main() -> None:
        async with Agent(model, output_type=asked).stream("go") as stream:
            shown = [dict(partial.items()) async for partial in stream.stream_outputs()]
        assert shown[-1] == {"x": 1, "y": 2} and stream.result.output == Point(1, 2)

    run_async(main)
    assert [one.name for one in model.requests[0].tools] == ["person", "point"]
    with_text = Held("Nobody.")
    assert Agent(with_text, output_type=asked | str).run_sync("go").output == "Nobody."
    assert with_text.requests[0].settings.tool_choice is None


def test_an_answer_of_a_union_of_named_tools_is_read_again_from_a_session(tmp_path: Path) -> None:
    asked: Any = Annotated[Person, OutputTool("person")] | Annotated[Point, OutputTool("point")]
    session = Sessions(tmp_path / "s.db")["ada"]
    model = Scripted([call("point", {"x": 1, "y": 2})])
    first = Agent(model, output_type=asked).run_sync("go", session=session)
    again = Agent(model, output_type=asked).run_sync(None, session=session)
    assert first.output == again.output == Point(1, 2)


def test_a_list_is_shown_without_the_object_around_it() -> None:
    text = '{"result": [1, 2, 30]}'
    deltas = [*(TextDelta(p) for p in pieces(text)), Finish("stop")]

    async def main() -> None:
        stream = Agent(Held(deltas), output_type=list[int]).stream("go")
        shown = [
            list(p)
            for p in [p async for p in stream.stream_outputs()]
            if isinstance(p, PartialValue)
        ]
        assert shown[-1] == [1, 2, 30] and stream.result.output == [1, 2, 30]

    run_async(main)


def test_outputs_need_a_type() -> None:
    async def main() -> None:
        with pytest.raises(SetupError, match="output_type"):
            async for _ in Agent(Scripted(["x"])).stream("go").stream_outputs():
                pass

    run_async(main)


def test_leaving_the_outputs_early_stops_the_run() -> None:
    async def main() -> None:
        before = asyncio.all_tasks()
        deltas = [*(TextDelta(p) for p in pieces(json.dumps(ADA))), Finish("stop")]
        async with Agent(Held(deltas), output_type=Person).stream("go") as stream:
            async for _ in stream.stream_outputs():
                break
        assert asyncio.all_tasks() == before

    run_async(main)


# — any value —

JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@examples(max_examples=60, deadline=None)
@given(st.lists(st.builds(Person, name=st.text(max_size=9), age=st.integers(0, 120)), max_size=3))
def test_whatever_a_type_can_say_comes_back_from_either_road(value: list[Person]) -> None:
    text = TypeAdapter(list[Person]).dump_json(value).decode()
    for line in (f'{{"result": {text}}}', text):
        assert Agent(Held(line), output_type=list[Person]).run_sync("x").output == value
    called = Scripted([call(OUTPUT_TOOL, f'{{"result": {text}}}')])
    assert Agent(called, output_type=list[Person]).run_sync("x").output == value


@examples(max_examples=60, deadline=None)
@given(JSONISH)
def test_whatever_a_model_says_is_an_answer_of_the_type_or_is_told_what_is_wrong(said: Any) -> None:
    model = Held(json.dumps(said), json.dumps(ADA))
    result = Agent(model, output_type=Person).run_sync("x")
    assert isinstance(result.output, Person)


def test_a_request_is_made_once_for_a_run_that_needs_no_correction() -> None:
    seen: list[ModelRequest] = []

    def line(request: ModelRequest) -> str:
        seen.append(request)
        return json.dumps(ADA)

    Agent(Held(line), output_type=Person).run_sync("x")
    assert len(seen) == 1


@pytest.mark.parametrize("route", ["session", "saved state", "same process"])
def test_an_accepted_answer_is_final_though_a_call_beside_it_waits(route: str) -> None:
    class Local(BaseModel):
        name: str
        age: int

    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    turn = [call(OUTPUT_TOOL, ADA), call("pay", {"amount": 7})]
    for kind in (Person, Local):
        session = Sessions(":memory:")["ada"] if route == "session" else None
        agent = Agent(Scripted([turn]), [pay], output_type=kind)
        first = agent.run_sync("go", session=session)
        assert first.reason == "waiting"
        state = RunState.from_json(first.state.to_json()) if route == "saved state" else first.state
        done = agent.run_sync(
            None if session else state, session=session, decisions=[first.pending[0].approve()]
        )
        assert done.reason == "answered" and done.output == kind(**ADA)
    assert paid == [7, 7]


def test_an_answer_that_needs_success_waits_for_the_correction_of_a_call_beside_it() -> None:
    """It is no failed attempt: the agent may correct no answer. An unknown tool puts off nothing."""

    @tool
    def half(number: int) -> int:
        """Halve it."""
        return number // 2

    needy = Annotated[int, OutputTool(needs_success=True)]
    first, wrong = call(OUTPUT_TOOL, {"result": 1}), call("half", {"number": "x"})
    model = Scripted([[first, wrong], call(OUTPUT_TOOL, {"result": 2})])
    agent = Agent(model, tools=[half], output_retries=0)
    assert agent.run_sync("go", output_type=needy).output == 2
    unknown = Scripted([[first, call("third", {})]])
    assert Agent(unknown, tools=[half]).run_sync("go", output_type=needy).output == 1


def test_wrong_answers_of_one_turn_are_one_attempt() -> None:
    class Answer(BaseModel):
        number: int

    wrong = [call("final_result", {"number": "x"}) for _ in range(5)]
    model = Scripted([wrong, wrong, call("final_result", {"number": 4})])
    result = Agent(model, output_type=Answer, output_retries=2).run_sync("go")
    assert result.output.number == 4
    with pytest.raises(OutputError):
        Agent(Scripted([wrong] * 3), output_type=Answer, output_retries=2).run_sync("go")
