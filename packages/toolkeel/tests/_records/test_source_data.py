"""Sources from what a provider says of them, and the marks of sources in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.source_data import find_marks, make_source, number_of, objects_in, span_of

FORMS = ["[{}]", "[ref_{}]", "[doc{}]", "[citation:{}]", "[web:{}]", "[^{}]", "[^{}^]"]


@given(st.lists(st.integers(0, 99), max_size=6), st.sampled_from(FORMS))
def test_every_mark_is_found_by_its_number(numbers: list[int], form: str) -> None:
    text = "".join(f"北 {form.format(number)}." for number in numbers)
    marks = find_marks(text)
    assert set(marks) == set(numbers)
    for number, (mark, spans) in marks.items():
        assert mark == form.format(number)
        assert len(spans) == numbers.count(number)
        assert all(text[start:end] == mark for start, end in spans)


def test_a_number_in_brackets_is_no_mark_beside_marks_of_the_other_form() -> None:
    assert set(find_marks("row[0] and row[7] are cold [ref_3]")) == {3}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"source": "https://kb.example/1"}, ("https://kb.example/1", "")),
        ({"source": "kb-1", "type": "search_result_location", "title": "K"}, ("", "kb-1")),
        ({"source": "brave", "title": "K"}, ("", "")),
        ({"url": "https://a.example", "source": "web"}, ("https://a.example", "")),
        ({"filepath": "f.pdf", "url": None}, ("", "f.pdf")),
        ({"document_index": 0}, ("", "0")),
    ],
)
def test_a_source_has_an_address_or_an_id(
    data: dict[str, object], expected: tuple[str, str]
) -> None:
    source = make_source(data)
    assert source is not None
    assert (source.url, source.id) == expected


@pytest.mark.parametrize(
    ("result", "number"),
    [({"index": 3}, 3), ({"refer": "ref_12"}, 12), ({"index": "4"}, 4), ({"refer": "x"}, None), ({"index": True}, None), ({}, None)],
)  # fmt: skip
def test_a_result_has_a_number_of_its_own_or_none(
    result: dict[str, object], number: int | None
) -> None:
    assert number_of(result) == number


def test_lists_in_a_list_are_one_list() -> None:
    assert objects_in([[{"a": 1}], {"b": 2}, "x", [[{"c": 3}]]]) == [{"a": 1}, {"b": 2}]
    assert objects_in({"a": 1}) == []


@given(st.integers(-2, 5), st.integers(-2, 5))
def test_a_place_outside_the_text_is_none(start: int, end: int) -> None:
    assert bool(span_of(start, end, "abc")) == (0 <= start < end <= 3)
