"""Whatever is given as a tool becomes one, or one sentence says what to give."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Toolset
from toolkeel.define.tool_mistakes import explain_non_list, explain_non_tool
from toolkeel.errors import DefinitionError, SetupError

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.sampled_from([object(), math, dict, len, ValueError, pytest, Toolset()]),
    ),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner), st.dictionaries(st.text(), inner)),
    max_leaves=4,
)


@given(anything)
def test_whatever_is_no_tool_is_told_in_one_sentence_with_the_fix(item: Any) -> None:
    if item is len:  # can be called, and says what it takes
        assert explain_non_tool(item) is None
        return
    with pytest.raises(DefinitionError) as told:
        Toolset([item])
    text = str(told.value)
    assert "\n" not in text and len(text) < 300
    assert "give" in text or "write" in text or "join" in text


@given(st.one_of(st.text(), st.dictionaries(st.text(), st.just(len))))
def test_texts_and_dicts_are_no_lists_of_tools(tools: Any) -> None:
    assert explain_non_list(tools)
    with pytest.raises(SetupError, match="give a list"):
        Toolset(tools)


def test_an_awaitable_that_was_made_by_a_call_is_closed_by_who_made_it() -> None:
    async def look_up() -> str:
        return ""

    called = look_up()
    with pytest.raises(DefinitionError, match="look_up was called already"):
        Toolset([called])  # type: ignore[list-item]
    called.close()
