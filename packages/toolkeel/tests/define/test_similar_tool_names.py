"""A name that is spelt otherwise means its tool; one that is only like it is offered, not taken."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.nearest_names import fold_name
from toolkeel.define.similar_tool_names import equivalent_names, nearest_tools

WORDS = st.lists(st.from_regex(r"[a-z]{2,6}", fullmatch=True), min_size=1, max_size=4)


def spellings(words: list[str]) -> list[str]:
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    snake = "_".join(words)
    return [
        snake,
        camel,
        camel[0].upper() + camel[1:],
        "-".join(words),
        ".".join(words),
        snake.upper(),
    ]


@given(WORDS, st.sampled_from(["", "functions.", "tools::", "mcp/server/", "a.b:"]))
def test_every_spelling_in_every_namespace_means_the_one_tool(words: list[str], where: str) -> None:
    known = ["_".join(words), "_".join([*words, "more"])]
    for said in spellings(words):
        if not (where and re.search(r"\.", said)):
            assert equivalent_names(where + said, known) == [known[0]]


@given(WORDS)
def test_two_tools_of_one_form_are_both_said_to_be_meant(words: list[str]) -> None:
    alike = spellings([*words, "x"])[:2]
    assert equivalent_names(f"functions.{alike[0].upper()}", [*alike, "other"]) == alike


def test_forms_of_letters_and_case_are_one_and_words_are_not() -> None:
    assert fold_name("ＧｅｔWeather") == fold_name("get_weather") != fold_name("get_whether")
    assert equivalent_names("查询.天气", ["查询天气", "天气"]) == ["查询天气"]


def test_a_name_longer_than_any_tool_has_is_not_looked_for() -> None:
    assert equivalent_names("x" * 257, ["x" * 257]) == []
    assert nearest_tools("weather" + "!" * 10**6, ["weather"]) == []


def test_at_most_three_are_offered_the_nearest_first() -> None:
    known = ["read_file", "read_files", "write_file", "reed_file", "delete"]
    assert nearest_tools("functions.readFil", known)[0] == "read_file"
    assert len(nearest_tools("read_fil", known)) == 3
    assert nearest_tools("zzz", known) == []
