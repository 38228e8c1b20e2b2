"""Ids of responses and calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.serve.errors import UnknownSession
from toolkeel_studio.serve.openai_api.ids import (
    ResponseId,
    pack_call_id,
    parse_call_id,
    parse_response_id,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(NAMES, st.integers(0, 10**17), NAMES)
def test_an_id_names_what_it_was_made_of(session: str, after: int, call: str) -> None:
    id = ResponseId(session, after)
    assert parse_response_id(str(id)) == id
    assert parse_call_id(pack_call_id(session, call)) == (session, call)


@given(st.text(max_size=12) | st.integers() | st.none())
def test_any_other_text_names_nothing(text: object) -> None:
    for parse in (parse_response_id, parse_call_id):
        with pytest.raises(UnknownSession):
            parse(text)
        if isinstance(text, str):
            with pytest.raises(UnknownSession):
                parse(f"call_%{text}" if parse is parse_call_id else f"resp_{text}.x")
