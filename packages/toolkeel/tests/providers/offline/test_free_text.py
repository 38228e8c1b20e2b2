"""Free text left in prompts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.offline.free_text import after_label, after_saying, is_name, longest_rest


def test_the_words_after_a_label_end_at_the_next_label() -> None:
    assert after_label("with subject a b and body c", ["subject"], ["body"]) == "a b"
    assert after_label("no label here", ["subject"], ["body"]) == ""


def test_a_colon_introduces_a_text() -> None:
    assert after_saying("tell Bob a message saying I will be late.", []) == "I will be late"


def test_commands_and_other_arguments_are_no_part_of_the_rest() -> None:
    assert (
        longest_rest("please search for red shoes in Paris", [(31, 36)], frozenset(["search"]))
        == "red shoes"
    )
    assert longest_rest("帮我搜索猫的图片", [], frozenset(["search"])) == "猫的图片"


def test_everyday_words_are_no_name() -> None:
    assert is_name("springfield") and not is_name("the weather")


@given(st.text(max_size=60))
def test_the_rest_is_a_part_of_the_prompt(text: str) -> None:
    assert longest_rest(text, [], frozenset()) in text
