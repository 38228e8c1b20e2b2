"""The embedded model drives real tools over the real loop."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers import toolkit as kit
from tests.providers.toolkit import Definition, definition
from tests.shared import optional
from toolkeel import Agent, Settings, tool
from toolkeel.builtin.catalog import load_builtin
from toolkeel.define.tool import AnyTool
from toolkeel.errors import ModelError, ToolError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ModelRequest, TextDelta
from toolkeel.providers.model_by_name import connect
from toolkeel.providers.offline.model import Offline, reply


@pytest.fixture(scope="module")
def builtins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[AnyTool]]:
    root = tmp_path_factory.mktemp("root")
    (root / "README.md").write_text("one\ntwo\nthree\n")
    with optional("toolkeel_studio.weather_fixture").WeatherFixture() as url:
        options: dict[str, dict[str, object]] = {
            "weather": {"base_url": url},
            "files": {"root": root},
        }
        names = ("calculator", "weather", "files", "clock")
        yield [tool for name in names for tool in load_builtin(name, **options.get(name, {}))]


def ask(tools: Sequence[AnyTool], prompt: str | list[Message]) -> tuple[str, list[Message]]:
    result = Agent(Offline(), list(tools)).run_sync(prompt)
    return result.output, result.messages


def calls_of(messages: Sequence[Message]) -> list[tuple[str, object]]:
    return [
        (call.name, json.loads(str(call.arguments)))
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]


# — the five prompts of a first minute —


def test_an_expression_is_calculated(builtins: list[AnyTool]) -> None:
    answer, messages = ask(builtins, "2 + 2 * (3 - 1)")
    assert calls_of(messages) == [("calculator", {"expression": "2 + 2 * (3 - 1)"})]
    assert answer == "offline model (rules only, no weights):\n2 + 2 * (3 - 1) = 6"


def test_a_chinese_question_gets_a_chinese_answer(builtins: list[AnyTool]) -> None:
    answer, messages = ask(builtins, "北京今天天气怎么样")
    assert calls_of(messages) == [("weather", {"city": "北京"})]
    assert answer.splitlines()[0] == "离线模型（只有规则，没有权重）："
    assert "北京：22 °C，晴" in answer


def test_two_cities_are_two_calls_of_one_turn(builtins: list[AnyTool]) -> None:
    answer, messages = ask(builtins, "weather in Paris and Tokyo")
    first = messages[1]
    assert isinstance(first, AssistantMessage)
    assert [call.arguments for call in first.tool_calls] == [
        '{"city": "Paris"}',
        '{"city": "Tokyo"}',
    ]
    assert "Paris: 16.5 °C, partly cloudy" in answer
    assert "Tokyo: 19 °C, light rain" in answer


def test_the_lines_of_a_file_are_counted_from_its_result(builtins: list[AnyTool]) -> None:
    answer, messages = ask(builtins, "how many lines has README.md")
    assert calls_of(messages) == [("read", {"path": "README.md"})]
    assert answer.endswith("README.md has 3 lines.")


def test_two_questions_are_two_tools_in_one_turn(builtins: list[AnyTool]) -> None:
    answer, messages = ask(builtins, "what is 15% of 80, and what day is it")
    assert [name for name, _ in calls_of(messages)] == ["calculator", "clock"]
    assert "15% of 80 = 12" in answer
    assert re.search(r"It is \w+day, \d{4}-\d{2}-\d{2}", answer)


# — correcting itself —


@pytest.mark.parametrize(
    ("prompt", "calls", "told"),
    [
        ("what's 2^10", [{"expression": "2^10"}, {"expression": "2**10"}], "= 1024"),
        ("weather in Pariss", [{"city": "Pariss"}, {"city": "Paris"}], "Paris: 16.5"),
        ("what time is it in Tokyo", [{"timezone": "Tokyo"}, {"timezone": "Asia/Tokyo"}], "(Asia/Tokyo)"),
        ("readme.md有多少行", [{"path": "readme.md"}, {"path": "README.md"}], "3 行"),
    ],
)  # fmt: skip
def test_a_failed_call_is_corrected_by_its_error(
    builtins: list[AnyTool], prompt: str, calls: list[object], told: str
) -> None:
    answer, messages = ask(builtins, prompt)
    assert [arguments for _, arguments in calls_of(messages)] == calls
    assert told in answer
    assert "failed" not in answer


def test_a_call_that_cannot_be_corrected_is_explained_and_not_repeated(
    builtins: list[AnyTool],
) -> None:
    answer, messages = ask(builtins, "1/0")
    assert len(calls_of(messages)) == 1
    assert answer.endswith('calculator(expression="1 / 0") failed: Division by zero.')


def test_a_correction_that_fails_is_not_corrected_again() -> None:
    @tool
    def lookup(word: str) -> str:
        """Look up the definition of a word in the dictionary."""
        raise ToolError(f"{word!r} is unknown. Did you mean {word + 'x'!r}?")

    answer, messages = ask([lookup], "definition of the word 'blorb'")
    assert [a for _, a in calls_of(messages)] == [{"word": "blorb"}, {"word": "blorbx"}]
    assert "failed, also after I corrected it once" in answer


def test_each_of_two_failures_is_told() -> None:
    @tool
    def lookup(word: str) -> str:
        """Look up the definition of a word in the dictionary."""
        raise ToolError(f"There is no network for {word}.")

    answer, _ = ask([lookup], "look up the definition of 'one' and 'two'")
    assert "There is no network for one." in answer
    assert "There is no network for two." in answer


# — conversation —


def test_a_missing_argument_is_asked_for_and_taken_from_the_answer(
    builtins: list[AnyTool],
) -> None:
    question, messages = ask(builtins, "what's the weather?")
    assert "To use weather I need: city" in question
    assert calls_of(messages) == []
    answer, messages = ask(builtins, [*messages, UserMessage("Paris")])
    assert "Paris: 16.5" in answer
    answer, messages = ask(builtins, [*messages, UserMessage("and Tokyo?")])
    assert "Tokyo: 19" in answer
    assert len(calls_of(messages)) == 2


@pytest.mark.parametrize("prompt", ["hello", "what can you do", "你好！", "你能做什么"])
def test_a_greeting_is_answered_with_what_the_tools_can_do(
    builtins: list[AnyTool], prompt: str
) -> None:
    answer, messages = ask(builtins, prompt)
    assert calls_of(messages) == []
    assert "- weather: Look up the current weather" in answer


def test_without_a_fitting_tool_it_says_so_and_lists_five(builtins: list[AnyTool]) -> None:
    answer, _ = ask(builtins, "who wrote hamlet?")
    assert "None of my tools fits that" in answer
    assert answer.count("\n- ") == 6  # five tools, and how many more


def test_without_any_tool_it_says_that_it_knows_nothing() -> None:
    answer, _ = ask([], "who wrote hamlet?")
    assert answer.endswith("I only call tools, and I was given none.")


# — settings —


def asked(prompt: str, tools: Sequence[AnyTool | Definition], **settings: object) -> list[Delta]:
    return reply(ModelRequest([UserMessage(prompt)], tools, Settings(**settings)))  # type: ignore[arg-type]


def assembled(deltas: Sequence[Delta]) -> tuple[str, list[ToolCall]]:
    """Text and calls of a reply; the decoder's work in short."""
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    parts: dict[int, list[str]] = {}
    for delta in deltas:
        if isinstance(delta, CallDelta):
            part = parts.setdefault(delta.index, ["", "", ""])
            part[0] += delta.id
            part[1] += delta.name
            part[2] += delta.arguments
    return text, [ToolCall(*part) for part in parts.values()]


def test_one_call_at_a_time_if_parallel_calls_are_off(builtins: list[AnyTool]) -> None:
    settings = Settings(parallel_tool_calls=False)
    result = Agent(Offline(), builtins, settings=settings).run_sync("weather in Paris and Tokyo")
    replies = [m for m in result.messages if isinstance(m, AssistantMessage)]
    assert [len(message.tool_calls) for message in replies] == [1, 1, 0]
    assert "Paris: 16.5" in result.output and "Tokyo: 19" in result.output


def test_no_call_is_made_if_calls_are_switched_off(builtins: list[AnyTool]) -> None:
    text, calls = assembled(asked("weather in Paris", builtins, tool_choice="none"))
    assert calls == []
    assert "switched off" in text


def test_a_demanded_call_is_made_even_if_nothing_fits(builtins: list[AnyTool]) -> None:
    _, calls = assembled(asked("who are you", builtins, tool_choice="required"))
    assert len(calls) == 1


def test_a_demanded_tool_is_the_one_that_is_called() -> None:
    _, calls = assembled(asked("Paris", kit.TOOLS, tool_choice="greet"))
    assert [(call.name, call.arguments) for call in calls] == [("greet", '{"name": "Paris"}')]


def test_a_demanded_tool_that_is_not_there_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="no such tool"):
        asked("x", kit.TOOLS, tool_choice="nope")


# — as a model —


def test_it_streams_in_small_pieces_and_ends_with_finish() -> None:
    async def collect() -> list[Delta]:
        request = ModelRequest([UserMessage("weather in Paris")], kit.TOOLS)
        return [delta async for delta in Offline().stream(request)]

    deltas = asyncio.run(collect())
    assert deltas[-1] == Finish("tool_calls", deltas[-1].usage, "offline")  # type: ignore[union-attr]
    assert len(deltas) > 3
    assert all(len(d.arguments) <= 12 for d in deltas if isinstance(d, CallDelta))


def test_it_is_known_by_its_name() -> None:
    assert isinstance(connect("offline"), Offline)
    assert repr(Offline()) == "Offline()"
    assert "rules only" in Offline.note


def test_ids_of_calls_are_new_in_the_whole_transcript(builtins: list[AnyTool]) -> None:
    _, messages = ask(builtins, "weather in Paris and Tokyo")
    _, messages = ask(builtins, [*messages, UserMessage("and London?")])
    ids = [c.id for m in messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert ids == ["call_1", "call_2", "call_3"]


def test_at_most_sixteen_calls_are_made_for_one_prompt() -> None:
    names = ", ".join(f"'n{number}'" for number in range(40))
    _, calls = assembled(asked(f"search for {names}", kit.TOOLS))
    assert len(calls) == 16


# — whatever it is given —

names = st.sampled_from(
    ["city", "path", "query", "limit", "unit", "to", "on", "name", "a_b", "城市", "expression", "x"]
)
scalars = st.one_of(
    st.just({"type": "string"}),
    st.just({"type": "integer", "minimum": 0, "maximum": 50}),
    st.just({"type": "number"}),
    st.just({"type": "boolean"}),
    st.just({"type": "string", "format": "date"}),
    st.just({"type": "string", "pattern": "^[a-z]+$"}),
    st.just({"enum": ["red", "蓝", 3, None]}),
    st.just({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    st.just({"type": "array", "items": {"type": "string"}, "minItems": 2}),
    st.just({}),
)


def objects(inner: st.SearchStrategy[Mapping[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    def made(properties: dict[str, object], required: list[str]) -> dict[str, object]:
        kept = [name for name in properties if name in required]
        return {
            "type": "object",
            "properties": properties,
            "required": kept,
            "additionalProperties": False,
        }

    return st.builds(made, st.dictionaries(names, inner, max_size=4), st.lists(names, max_size=3))


schemas = objects(st.recursive(scalars, lambda inner: objects(inner), max_leaves=4))
definitions = st.lists(
    st.builds(
        Definition,
        st.sampled_from(["search", "get_weather", "add", "x", "发送", "read_file"]),
        st.sampled_from(["", "Search the web.", "查询天气。", "Add numbers to a file."]),
        schemas,
    ),
    max_size=3,
    unique_by=lambda made: made.name,
)
prompts = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "weather",
                "search",
                "add",
                "in",
                "to",
                "and",
                "Paris",
                "北京",
                "的天气",
                "3",
                "5.5",
                "red",
                "蓝",
                "2025-05-01",
                "'a",
                "b'",
                "x.py",
                "limit=5",
                "on",
                "off",
                "ab,",
                "。",
                "https://a.b/c",
                "what",
                "is",
                "2+2",
                "搜索",
                "city:",
                "and城市",
            ]
        ),
        max_size=10,
    ).map(" ".join),
)


@given(prompts, definitions, st.sampled_from(["auto", "none", "required"]))
def test_any_prompt_and_tools_give_one_whole_and_valid_reply(
    prompt: str, tools: list[Definition], choice: str
) -> None:
    deltas = asked(prompt, tools, tool_choice=choice)
    assert [type(delta) for delta in deltas].count(Finish) == 1
    assert isinstance(deltas[-1], Finish)
    assert deltas == asked(prompt, tools, tool_choice=choice)
    text, calls = assembled(deltas)
    assert bool(text) != bool(calls)
    assert deltas[-1].reason == ("tool_calls" if calls else "stop")
    by_name = {made.name: made for made in tools}
    for call in calls:
        assert choice != "none"
        schema = dict(by_name[call.name].parameters)
        assert jsonschema_rs.is_valid(schema, json.loads(str(call.arguments)))


@given(prompts, st.lists(st.text(max_size=40), min_size=4, max_size=4), st.booleans())
def test_any_results_lead_to_an_answer_in_a_few_turns(
    prompt: str, results: list[str], failed: bool
) -> None:
    tools = [definition("search", "Search.", query={"type": "string"}), kit.add, kit.get_weather]
    messages: list[Message] = [UserMessage(prompt)]
    for text in results:
        answer, calls = assembled(reply(ModelRequest(messages, tools)))
        messages.append(AssistantMessage(answer, tuple(calls)))
        if not calls:
            return
        status = "error" if failed else "success"
        messages += [ToolMessage(text, call.id, call.name, status) for call in calls]
    raise AssertionError(f"still calling after {len(results)} turns")


@pytest.mark.parametrize(
    "piece", ["x", "天", "天气", "1,", "1 ", "1+", "(", "Paris ", "\"'", "a/", "a.", "a@", "and ", "add 1, ", "-", "\n"]
)  # fmt: skip
def test_a_long_monotonous_prompt_is_answered_at_once(piece: str) -> None:
    prompt = piece * (50_000 // len(piece))
    start = time.process_time()
    asked(prompt, kit.TOOLS)
    assert time.process_time() - start < 3.0  # a bound on growth, not on speed


class City(TypedDict):
    name: str
    people: int


def test_the_last_result_is_the_answer_of_a_type_that_is_asked_for_if_it_is_of_it() -> None:
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def look_up(city: str) -> dict[str, object]:
        """Look up a city."""
        return {"name": city, "people": 709_000}

    assert Agent("offline", [add], output_type=int).run_sync("add 2 and 3").output == 5
    found = Agent("offline", [look_up], output_type=City).run_sync("look up the city Oslo")
    assert found.output == {"name": "Oslo", "people": 709_000}
    assert found.usage.requests == 2  # nobody had to ask for the form once more
