"""Each form holds exactly what it allows; anything else is no call."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.test_text_calls import ABOUT, WRITTEN
from toolwright import tool
from toolwright.messages import AssistantMessage
from toolwright.providers.text_calls import find_calls
from toolwright.providers.text_forms import FORMS, TextForm, json_calls, python_calls

SCHEMAS = {"get_weather": {}, "clock_now": {}, "f": {}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def test_every_form_of_the_table_is_among_those_tried() -> None:
    tried = "".join(text for text, _ in WRITTEN.values()).replace("\uff5c", "|")
    assert [form.open for form in FORMS if form.open.replace("\uff5c", "|") not in tried] == []


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


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.open)
@given(text=st.text() | st.sampled_from([*ABOUT, *(text for text, _ in WRITTEN.values())]))
def test_no_text_makes_a_parser_fail(form: TextForm, text: str) -> None:
    calls = form.parse(text, SCHEMAS)
    for name, arguments in calls or ():
        assert name in SCHEMAS
        assert isinstance(json.loads(arguments), dict)


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_json_comes_back_as_it_was_written(arguments: dict[str, object]) -> None:
    clean = json.loads(json.dumps(arguments).replace("\\u0000", ""))
    text = json.dumps({"name": "f", "arguments": clean}, ensure_ascii=False)
    [(name, found)] = json_calls(text, SCHEMAS) or []
    assert (name, json.loads(found)) == ("f", clean)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}x", fullmatch=True), JSON, max_size=3))
def test_python_literals_mean_what_they_say(arguments: dict[str, object]) -> None:
    clean = json.loads(json.dumps(arguments).replace("\\u0000", ""))
    written = ", ".join(f"{key}={value!r}" for key, value in clean.items())
    [(name, found)] = python_calls(f"[f({written})]", SCHEMAS) or []
    assert (name, json.loads(found)) == ("f", clean)
