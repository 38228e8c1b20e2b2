"""Arguments read from prompts."""

from __future__ import annotations

import pytest

from tests.providers import toolkit as kit
from tests.providers.toolkit import definition
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.providers.offline.fill_arguments import fill_arguments as fill
from toolkeel.providers.offline.parameters import parameters_of


@pytest.mark.parametrize(
    ("tool", "prompt", "expected"),
    [
        (kit.search, "search for cats limit 5", {"query": "cats", "limit": 5}),
        (kit.search, "search 猫 limit=3", {"query": "猫", "limit": 3}),
        (kit.search, "搜索三条关于猫的新闻", {"query": "猫的新闻", "limit": 3}),
        (kit.search, "find 5 results about machine learning", {"query": "machine learning", "limit": 5}),
        (kit.search, "please look up 'red shoes'", {"query": "red shoes"}),
        (kit.add, "add 3 and 5", {"a": 3, "b": 5}),
        (kit.add, "3+5", {"a": 3, "b": 5}),
        (kit.add, "what is -3 plus 5", {"a": -3, "b": 5}),
        (kit.add, "b=5 a=3", {"a": 3, "b": 5}),
        (kit.get_weather, "weather in Paris in fahrenheit", {"city": "Paris", "unit": "fahrenheit"}),
        (kit.get_weather, "weather in springfield", {"city": "springfield"}),
        (kit.get_weather, "苏州天气怎么样", {"city": "苏州"}),
        (kit.get_weather, "杭州用华氏度是多少", {"city": "杭州", "unit": "fahrenheit"}),
        (kit.get_stock_price, "the price of AAPL please", {"symbol": "AAPL"}),
        (kit.get_stock_price, "stock price of apple", {"symbol": "apple"}),
        (kit.read_file, "show me src/main.py", {"path": "src/main.py"}),
        (kit.read_file, "读取数据.csv", {"path": "数据.csv"}),
        (kit.translate, "translate hello world to French", {"text": "hello world", "target_language": "French"}),
        (kit.translate, "把“你好”翻译成英文", {"text": "你好", "target_language": "英文"}),
        (kit.greet, "say hello to bob", {"name": "bob"}),
        (kit.set_light, "turn on the kitchen light", {"room": "kitchen", "on": True}),
        (kit.set_light, "turn off the light in the Kitchen", {"room": "Kitchen", "on": False}),
        (kit.average, "average of 1, 2 and 3.5", {"numbers": [1, 2, 3.5]}),
    ],
)  # fmt: skip
def test_a_prompt_fills_the_arguments_in_their_types(
    tool: AnyTool, prompt: str, expected: dict[str, object]
) -> None:
    found = fill(tool, prompt)
    assert found.arguments == expected
    assert found.missing == ()


def test_arguments_stand_in_the_order_of_the_schema() -> None:
    found = fill(kit.search, "limit 5 search for cats")
    assert list(found.arguments) == ["query", "limit"]


def test_currencies_are_found_by_code_and_in_chinese() -> None:
    text, number = {"type": "string"}, {"type": "number"}
    tool = definition("convert", "Convert money.", amount=number, source=text, target=text)
    found = fill(tool, "convert 100 USD to CNY").arguments
    assert found == {"amount": 100, "source": "USD", "target": "CNY"}
    found = fill(tool, "100美元是多少人民币").arguments
    assert found == {"amount": 100, "source": "美元", "target": "人民币"}


def test_prepositions_tell_origin_from_destination_whatever_their_order() -> None:
    found = fill(kit.book_flight, "to Paris from Tokyo on 2025-05-01 for 2 people in business")
    assert found.arguments == {
        "origin": "Tokyo",
        "destination": "Paris",
        "day": "2025-05-01",
        "passengers": 2,
        "cabin": "business",
    }


def test_chinese_prepositions_tell_origin_from_destination() -> None:
    found = fill(kit.book_flight, "订从北京到上海的机票，2025年5月1日")
    assert found.arguments == {"origin": "北京", "destination": "上海", "day": "2025-05-01"}


def test_quoted_texts_go_to_the_parameters_named_before_them() -> None:
    prompt = "send an email to bob@x.org with body \"How are you?\" and subject 'Hi there'"
    assert fill(kit.send_email, prompt).arguments == {
        "to": "bob@x.org",
        "subject": "Hi there",
        "body": "How are you?",
    }


def test_unquoted_texts_end_where_the_next_parameter_is_named() -> None:
    prompt = "send an email to bob@x.org with subject hello there and body see you soon"
    found = fill(kit.send_email, prompt)
    assert found.arguments["subject"] == "hello there"
    assert found.arguments["body"] == "see you soon"


@pytest.mark.parametrize(
    ("tool", "prompt", "missing"),
    [
        (kit.get_weather, "what's the weather", ["city"]),
        (kit.send_email, "email bob@x.org", ["subject", "body"]),
        (kit.book_flight, "book a flight", ["origin", "destination", "day"]),
        (kit.read_file, "read the file", ["path"]),
        (kit.add, "add some numbers", ["a", "b"]),
    ],
)
def test_what_the_prompt_does_not_say_is_missing_not_invented(
    tool: AnyTool, prompt: str, missing: list[str]
) -> None:
    found = fill(tool, prompt)
    assert [parameter.name for parameter in found.missing] == missing


@tool
def bash(command: str, timeout: float = 5) -> str:
    """Run a shell command.

    Args:
        command: The command, as typed into bash.
    """
    return command


@tool
def run_python(code: str) -> str:
    """Run a program."""
    return code


@tool
def shell(commands: list[str]) -> str:
    """Run several commands."""
    return " ".join(commands)


@tool
def stock(code: str) -> str:
    """The price of a stock.

    Args:
        code: Ticker code, such as AAPL.
    """
    return code


@pytest.mark.parametrize("sole", [bash, run_python, shell])
@pytest.mark.parametrize(
    "prompt",
    [
        "run the tests",
        "run the command ls -la",
        "command: rm -rf build",
        "code=print(1) command=ls commands=ls",
        "run some python that adds NVDA and ORD-123",
        "run the commands ls and pwd",
        "saying: ls",
        "执行命令 ls",
    ],
)
def test_a_command_is_never_guessed_from_words_of_the_prompt(sole: AnyTool, prompt: str) -> None:
    found = fill(sole, prompt)
    wanted = [parameter.name for parameter in parameters_of(sole) if parameter.required]
    assert [parameter.name for parameter in found.missing] == wanted
    assert not set(wanted) & set(found.arguments)


@pytest.mark.parametrize(
    ("tool", "prompt", "expected"),
    [
        (bash, "run `ls -la; echo 'x'`", {"command": "ls -la; echo 'x'"}),
        (bash, "command=\"echo 'a b'\"", {"command": "echo 'a b'"}),
        (bash, "执行“ls -l”", {"command": "ls -l"}),
        (run_python, "run\n```python\nx = 2\nprint(x)\n```\nplease", {"code": "x = 2\nprint(x)"}),
        (shell, "run `ls` and `pwd`", {"commands": ["ls", "pwd"]}),
        (stock, "price of AAPL", {"code": "AAPL"}),
        (kit.send_email, 'email a@b.org subject="hello there" body=Hi', {"to": "a@b.org", "subject": "hello there", "body": "Hi"}),
    ],
)  # fmt: skip
def test_a_command_that_stands_in_quotes_is_taken_whole(
    tool: AnyTool, prompt: str, expected: dict[str, object]
) -> None:
    assert fill(tool, prompt).arguments == expected


@pytest.mark.parametrize(
    ("tool", "prompt", "name", "values"),
    [
        (kit.get_weather, "weather in Paris and Tokyo", "city", ["Paris", "Tokyo"]),
        (kit.get_weather, "weather in Paris, Tokyo and New York", "city", ["Paris", "Tokyo", "New York"]),
        (kit.get_weather, "北京、上海和苏州的天气", "city", ["北京", "上海", "苏州"]),
        (kit.get_weather, "the weather in Paris and the weather in Rome", "city", ["Paris", "Rome"]),
        (kit.greet, "greet Bob and Alice", "name", ["Bob", "Alice"]),
        (kit.get_stock_price, "stock price of AAPL, MSFT", "symbol", ["AAPL", "MSFT"]),
        (kit.search, 'search for "cats" and "dogs"', "query", ["cats", "dogs"]),
        (kit.read_file, "read a.txt and b.txt", "path", ["a.txt", "b.txt"]),
    ],
)  # fmt: skip
def test_several_things_of_one_kind_are_several_calls(
    tool: AnyTool, prompt: str, name: str, values: list[str]
) -> None:
    found = fill(tool, prompt)
    assert [found.arguments[name], *(more[name] for more in found.more)] == values


def test_what_the_calls_share_is_in_each_of_them() -> None:
    found = fill(kit.get_weather, "weather in Paris and Tokyo in fahrenheit")
    assert {each["unit"] for each in (found.arguments, *found.more)} == {"fahrenheit"}


def test_a_name_that_does_not_stand_in_the_list_is_no_further_thing() -> None:
    assert fill(kit.get_weather, "weather in Paris on behalf of Bob").more == ()


def test_values_the_schema_refuses_are_not_used() -> None:
    tool = definition("roll", "Roll dice.", count={"type": "integer", "maximum": 10})
    assert fill(tool, "roll 5 dice").arguments == {"count": 5}
    assert [parameter.name for parameter in fill(tool, "roll 5000 dice").missing] == ["count"]


def test_a_parameter_with_one_possible_value_takes_it() -> None:
    tool = definition("go", "Go.", kind={"const": "walk"}, mode={"enum": ["fast", "slow"]})
    assert fill(tool, "go slow").arguments == {"kind": "walk", "mode": "slow"}


def test_an_optional_flag_is_set_when_named_and_unset_when_negated() -> None:
    tool = definition("list_all", "List.", _recursive={"type": "boolean"})
    assert fill(tool, "list recursive").arguments == {"recursive": True}
    assert fill(tool, "list without recursive").arguments == {"recursive": False}
    assert fill(tool, "list").arguments == {}


def test_each_item_of_a_list_of_options_is_found() -> None:
    colours = {"type": "array", "items": {"enum": ["red", "green", "blue"]}}
    tool = definition("paint", "Paint.", colours=colours)
    assert fill(tool, "paint it red and blue").arguments == {"colours": ["red", "blue"]}


def test_terms_of_a_sum_fill_no_single_number() -> None:
    assert fill(kit.add, "1 + 2 + 3").arguments == {}
