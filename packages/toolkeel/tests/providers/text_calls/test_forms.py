"""Each form holds exactly what it allows; anything else is no call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.text_calls.test_decoder import ABOUT, WRITTEN
from toolkeel import tool
from toolkeel.messages import AssistantMessage
from toolkeel.providers.text_calls.decoder import find_calls
from toolkeel.providers.text_calls.forms import (
    FORMS,
    TextForm,
    deepseek_calls,
    function_calls,
    invoked_calls,
    json_calls,
    mistral_calls,
    python_calls,
    tagged_calls,
)
from toolkeel.providers.wire.plain_json import dumps

SCHEMAS = {"get_weather": {}, "clock_now": {}, "f": {}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_every_form_of_the_table_is_among_those_tried() -> None:
    tried = "".join(text for text, _ in WRITTEN.values()).replace("\uff5c", "|")
    assert [form.open for form in FORMS if form.open.replace("\uff5c", "|") not in tried] == []


def test_text_without_the_end_of_a_call_is_read_once_however_long_it_is() -> None:
    blank = "f" + " " * 100_000
    pairs = "f<arg_key>a</arg_key><arg_value>" * 20_000
    for read, text in ((mistral_calls, blank), (tagged_calls, pairs)):
        with pytest.raises(ValueError):
            [*read(text, SCHEMAS)]


def test_values_written_as_text_mean_what_the_schema_says() -> None:
    @tool
    def f(
        name: str,
        count: int,
        ratio: float | None,
        on: bool,
        tags: list[str],
        maybe: str | None = None,
    ) -> None:
        """Take all kinds."""

    said = {
        "name": "12",
        "count": "12",
        "ratio": "null",
        "on": "true",
        "tags": '["a"]',
        "maybe": "7",
    }
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in said.items())
    reply = find_calls(AssistantMessage(f"<function=f>\n{body}</function>"), [f])
    assert json.loads(str(reply.tool_calls[0].arguments)) == {
        "name": "12",
        "count": 12,
        "ratio": None,
        "on": True,
        "tags": ["a"],
        "maybe": "7",
    }


@given(text=st.text() | st.sampled_from([*ABOUT, *(text for text, _ in WRITTEN.values())]))
def test_no_text_makes_a_parser_fail(text: str) -> None:
    for form in FORMS:
        for name, arguments in form.parse(text, SCHEMAS):
            assert name in SCHEMAS, form.open
            assert isinstance(json.loads(arguments), dict), form.open


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_json_comes_back_as_it_was_written(arguments: dict[str, object]) -> None:
    clean = json.loads(dumps(arguments))
    text = json.dumps({"name": "f", "arguments": clean}, ensure_ascii=False)
    [(name, found)] = TextForm("", "", json_calls).parse(text, SCHEMAS)
    assert (name, json.loads(found)) == ("f", clean)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}x", fullmatch=True), JSON, max_size=3))
def test_python_literals_mean_what_they_say(arguments: dict[str, object]) -> None:
    clean = json.loads(dumps(arguments))
    written = ", ".join(f"{key}={value!r}" for key, value in clean.items())
    [(name, found)] = TextForm("", "", python_calls).parse(f"[f({written})]", SCHEMAS)
    assert (name, json.loads(found)) == ("f", clean)


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,8})?", fullmatch=True
)
ODD = ["7786572e5565681", "-0", "1.0", "1E5", "NaN", "-Infinity", "9" * 5000, "0.1000", "1e-999"]


@given(NUMBERS | st.sampled_from(ODD))
def test_numbers_stay_as_they_were_written_wherever_they_stand(number: str) -> None:
    given = f'{{"a":{number},"b":[{{"c":{number}}}]}}'
    forms = [
        f'<tool_call>{{"name": "f", "arguments": {given}}}</tool_call>',
        f"<function=f>{given}</function>",
        f'[TOOL_CALLS][{{"name": "f", "arguments": {given}}}]',
        f'{{"name": "f", "parameters": {given}}}',
        f'{{"name": "f", "arguments": {json.dumps(given)}}}',
    ]
    for text in forms:
        [call] = find_calls(AssistantMessage(text), [f]).tool_calls
        assert call.arguments == given
    pairs = f"<parameter=a>\n{number}\n</parameter>"
    [call] = find_calls(AssistantMessage(f"<function=f>\n{pairs}\n</function>"), [f]).tool_calls
    assert call.arguments == f'{{"a":{number}}}'


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"a": 1, "a": 2}}</tool_call>',
        '<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {"b": [{"c": 1, "c": 1}]}}</tool_call>',
        "<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>",
        '<minimax:tool_call><invoke name="f"><parameter name="a">1</parameter>'
        '<parameter name="a">2</parameter></invoke></minimax:tool_call>',
        "[f(a=1, a=2)]",
        "[f(a=1e999)]",
    ],
)
def test_what_is_said_twice_or_cannot_be_said_is_no_call(text: str) -> None:
    reply = AssistantMessage(text)
    assert find_calls(reply, [f]) == reply


@tool
def f(a: float, b: list[dict[str, float]]) -> None:
    """Take numbers."""


@pytest.mark.parametrize(
    ("parse", "begin"),
    [
        (function_calls, "<function=f>"),
        (invoked_calls, '<invoke name="f">'),
        (deepseek_calls, "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json"),
    ],
)
def test_a_call_that_ends_in_spaces_without_end_takes_no_time(parse: Any, begin: str) -> None:
    """What takes quadratic time would take minutes here."""
    with pytest.raises(ValueError):
        list(parse(f"{begin}{' ' * 100_000}x<｜tool▁call▁end｜>", {"f": {}}))
