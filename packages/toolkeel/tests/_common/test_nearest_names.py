"""What a misspelt name was meant to be: one spelling for all, a bounded search, the nearest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.nearest_names import (
    MAX_NAMES,
    did_you_mean,
    fold_name,
    nearest_names,
)

NAMES = st.from_regex(r"[a-z]{3,8}(_[a-z]{3,8}){0,2}", fullmatch=True)


@given(NAMES, st.lists(NAMES, max_size=5))
def test_a_name_in_another_spelling_is_the_nearest(name: str, others: list[str]) -> None:
    spelled = name.title().replace("_", "-")
    near = nearest_names(spelled, [*others, name])
    assert fold_name(near[0]) == fold_name(name)


def test_forms_of_letters_and_case_are_one_and_words_are_not() -> None:
    assert fold_name("ＧｅｔWeather") == fold_name("get_weather") != fold_name("get_whether")


def test_a_name_that_is_much_less_alike_than_the_nearest_is_left_out() -> None:
    assert nearest_names("txt", ["text", "texts", "tax_rate"]) == ["text", "texts"]
    assert nearest_names("serch", ["search", "research_papers"]) == ["search"]
    assert nearest_names("zzz", ["search", "read"]) == nearest_names("", ["a"]) == []


def test_among_many_names_those_of_a_similar_length_are_compared() -> None:
    many = [f"{'x' * 40}_{number}" for number in range(2 * MAX_NAMES)]
    assert nearest_names("serch", [*many, "search"]) == ["search"]
    assert nearest_names("w" * 10**6, ["weather"]) == []
    assert nearest_names("weather", ["w" * 10**6, "weather"]) == ["weather"]


def test_the_hint_names_the_nearest_or_is_empty() -> None:
    assert did_you_mean("timeot", ["timeout", "tags"]) == "; did you mean 'timeout'?"
    assert did_you_mean("zzz", ["timeout", "tags"]) == did_you_mean("zzz", []) == ""
