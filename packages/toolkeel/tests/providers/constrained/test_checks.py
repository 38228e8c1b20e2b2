"""Only text that may still be an unread call is held back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.constrained.local_server import get_weather
from toolkeel.errors import ModelError, model_error
from toolkeel.messages import UserMessage
from toolkeel.model_interface import CallDelta, Finish, ModelRequest, Settings, TextDelta
from toolkeel.providers.constrained.checks import CallCheck, is_unread_call, lacks_tools

REQUEST = ModelRequest([UserMessage("hi")], [get_weather])
REQUIRED = ModelRequest([UserMessage("hi")], [get_weather], Settings(tool_choice="required"))

UNREAD = [
    '{"name": "get_weather", "arguments": {"city": "Paris"}',
    "{'name': 'get_weather', 'arguments': {'city': 'Paris'}}",
    "```python\nget_weather(city='Paris')\n```",
    "<get_weather><parameter>Paris</parameter></get_weather>",
    '[{"name": "get_weather", "parameters": {}},]',
]
READ = [
    "",
    "get_weather(city='Paris')",
    'Use {"name": "get_weather", "arguments": {}}',
    '{"name": "get_weather_report", "arguments": {}}',
    '{"city": "Paris", "temperature": 21}',
    "```python\nprint(1)\n```",
    "<p>It is sunny (21).</p>",
]


@pytest.mark.parametrize("text", UNREAD)
def test_broken_calls_are_recognized(text: str) -> None:
    assert is_unread_call(text, [get_weather])
    check = CallCheck(REQUEST)
    passed = [one for letter in text for one in check.feed(TextDelta(letter))]
    assert passed == []
    with pytest.raises(ModelError, match="not in a form that can be read") as raised:
        check.feed(Finish("stop"))
    assert raised.value.mistake


@pytest.mark.parametrize("text", READ)
def test_other_text_is_none(text: str) -> None:
    assert not is_unread_call(text, [get_weather])


@given(st.sampled_from(READ) | st.text(max_size=40), st.integers(1, 9))
def test_text_that_may_pass_passes_unchanged(text: str, size: int) -> None:
    check = CallCheck(REQUEST)
    pieces = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    passed = [one for piece in [*pieces, Finish("stop")] for one in check.feed(piece)]
    assert "".join(one.text for one in passed if isinstance(one, TextDelta)) == text
    assert passed[-1] == Finish("stop")


def test_text_is_held_back_no_longer_than_needed() -> None:
    check = CallCheck(REQUEST)
    assert check.feed(TextDelta("```py")) == []
    long = "thon\n" + "x = 1\n" * 40
    assert check.feed(TextDelta(long)) == [TextDelta("```py" + long)]
    assert check.feed(TextDelta("more")) == [TextDelta("more")]
    assert CallCheck(REQUEST).feed(TextDelta("Hello")) == [TextDelta("Hello")]


def test_a_call_satisfies_a_required_one_and_text_does_not() -> None:
    check = CallCheck(REQUIRED)
    assert check.feed(TextDelta("I call.")) == []
    call = CallDelta(0, "c", "get_weather", "{}")
    assert check.feed(call) == [TextDelta("I call."), call]
    assert check.feed(Finish("tool_calls")) == [Finish("tool_calls")]
    for reason in ("stop", "length"):
        check = CallCheck(REQUIRED)
        check.feed(TextDelta("No.\n\n\n"))
        with pytest.raises(ModelError, match="a call of a tool is required"):
            check.feed(Finish(reason))


def test_errors_of_servers_without_tools_are_recognized() -> None:
    assert lacks_tools(model_error("m: tools param requires --jinja flag", status=400))
    assert not lacks_tools(model_error("requires --jinja", status=503))
    assert not lacks_tools(model_error("bad request", status=400))
