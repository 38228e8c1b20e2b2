"""Tools picked for prompts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.providers import toolkit as kit
from tests.providers.toolkit import definition
from tests.shared import optional
from toolkeel.builtin.catalog import load_builtin
from toolkeel.define.tool import AnyTool
from toolkeel.providers.offline.choose_tool import ToolScorer, plan_calls


@cache
def builtins() -> list[AnyTool]:
    optional("toolkeel_studio.weather")
    names = ("calculator", "weather", "files", "clock")
    return [tool for name in names for tool in load_builtin(name)]


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("2 + 2 * (3 - 1)", ["calculator"]),
        ("what's the square root of 16", ["calculator"]),
        ("3的平方是多少", ["calculator"]),
        ("北京今天天气怎么样", ["weather"]),
        ("will it rain in Berlin tomorrow?", ["weather"]),
        ("weather in Paris and Tokyo", ["weather", "weather"]),
        ("how many lines has README.md", ["read"]),
        ("README.md有多少行", ["read"]),
        ("what is 15% of 80, and what day is it", ["calculator", "clock"]),
        ("北京和上海的天气，还有现在几点", ["weather", "weather", "clock"]),
        ("calculate 2+2 and the weather in London", ["calculator", "weather"]),
        ("list files", ["ls"]),
        ("列出文件", ["ls"]),
        ("what files are here?", ["ls"]),
        ("find 'def main' in *.py", ["grep"]),
        ("what time is it in Tokyo", ["clock"]),
        ("今天星期几", ["clock"]),
        ("2+2 and 3*3", ["calculator", "calculator"]),
    ],
)
def test_the_builtin_meant_is_picked(prompt: str, names: list[str]) -> None:
    assert [wish.tool.name for wish in plan_calls(prompt, builtins())] == names


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("search for cats and dogs", ["search"]),
        ("what is 3 plus 5", ["add"]),
        ("stock price of AAPL and MSFT", ["get_stock_price", "get_stock_price"]),
        ("book a flight from Paris to Tokyo on 2025-05-01 and greet Bob", ["book_flight", "greet"]),
        ("translate 'good morning' to German and turn on the kitchen light", ["translate", "set_light"]),
        ("weather in Rome, then greet Bob", ["get_weather", "greet"]),
        ("use create_user please", ["create_user"]),
        ("搜索猫，3条", ["search"]),
    ],
)  # fmt: skip
def test_a_users_own_tool_is_picked_by_its_name_and_docstring(
    prompt: str, names: list[str]
) -> None:
    assert [wish.tool.name for wish in plan_calls(prompt, kit.TOOLS)] == names


@pytest.mark.parametrize(
    "prompt", ["who wrote hamlet?", "tell me a joke", "how are you", "thanks!", "", "你好吗", "?!"]
)
def test_nothing_is_picked_for_what_no_tool_can_do(prompt: str) -> None:
    assert plan_calls(prompt, builtins()) == []


SEARCH = definition(
    "file_search",
    "Search the indexed documents for passages that answer a question.",
    query={"type": "string"},
)


@pytest.mark.parametrize(
    "prompt",
    ["How do I get a refund?", "海象住在哪里", "How do I get my money back?", "where is my money?"],
)
def test_a_question_about_no_tool_is_asked_of_the_one_that_searches_for_answers(
    prompt: str,
) -> None:
    [wish] = plan_calls(prompt, [*builtins(), SEARCH])
    assert (wish.tool.name, wish.arguments) == ("file_search", {"query": prompt})


@pytest.mark.parametrize(
    ("prompt", "name", "arguments"),
    [
        ("what files are here?", "ls", {}),
        ("find *.py", "find", {"pattern": "*.py"}),
        ("find all '*.py' files", "find", {"pattern": "*.py"}),
        ("find 'assert' in *.py", "grep", {"pattern": "assert", "glob": "*.py"}),
        ("find 'def main' in src", "grep", {"pattern": "def main"}),
        ("run `ls`", "bash", {"command": "ls"}),
        ("run the tests", "bash", {}),
    ],
)
def test_the_tool_of_a_folder_that_is_meant_is_picked(
    tmp_path: Path, prompt: str, name: str, arguments: dict[str, object]
) -> None:
    Workspace = optional("toolkeel_workspace").Workspace
    [wish] = plan_calls(prompt, Workspace(tmp_path, "off").tools)
    assert (wish.tool.name, wish.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "prompt", ["tell me a joke", "thanks!", "", "?!", "refund it", "how are you?"]
)
def test_what_is_no_question_is_not_searched_for(prompt: str) -> None:
    assert plan_calls(prompt, [*builtins(), SEARCH]) == []


def test_two_clauses_about_one_tool_are_two_wishes_if_each_is_whole() -> None:
    prompt = (
        "send an email to a@x.org with subject 'one' and body 'first', "
        "and send an email to b@x.org with subject 'two' and body 'second'"
    )
    assert [wish.arguments["subject"] for wish in plan_calls(prompt, kit.TOOLS)] == ["one", "two"]


def test_a_conjunction_inside_quotes_does_not_cut_the_prompt() -> None:
    [wish] = plan_calls("search for 'salt, pepper and weather'", kit.TOOLS)
    assert wish.arguments == {"query": "salt, pepper and weather"}


def test_the_same_wish_twice_is_one_wish() -> None:
    assert len(plan_calls("weather in Paris and weather in Paris", kit.TOOLS)) == 1


def test_a_word_that_all_tools_share_picks_none_of_them() -> None:
    tools = [definition(f"zoo_{name}", "Zoo.") for name in ("feed", "clean", "open", "count")]
    scorer = ToolScorer(tools)
    assert scorer.best("zoo feed", 0, 8, 1.0)[0] is tools[0]
    assert scorer.best("zoo", 0, 3, 2.0)[0] is None


def test_a_demand_lowers_the_bar_until_some_tool_passes() -> None:
    assert plan_calls("who are you", builtins(), threshold=float("-inf")) != []


def test_a_very_long_prompt_is_read_only_up_to_its_limit() -> None:
    assert [w.tool.name for w in plan_calls("weather in Paris. " + "x " * 100_000, builtins())] == [
        "weather"
    ]
