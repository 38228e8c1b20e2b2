"""Free text in prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.offline.text import after_saying, labelled, plain_words, rest


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("search for cats and dogs", "cats and dogs"),
        ("please find how to bake bread!", "bake bread"),
        ("帮我搜索猫的图片", "猫的图片"),
        ("查一下", ""),
        ("search", ""),
    ],
)
def test_commands_and_politeness_are_stripped_from_both_ends(prompt: str, expected: str) -> None:
    assert rest(prompt, [], ["search"]) == expected


def test_the_rest_does_not_reach_over_another_argument() -> None:
    prompt = "translate good morning to French now"
    start = prompt.index("French")
    assert rest(prompt, [(start, start + 6)], ["translate"]) == "good morning"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("tell Bob a message saying I will be late.", "I will be late"),
        ("发消息给小明，内容是：我到了。", "我到了"),
        ("say nothing", ""),
    ],
)
def test_what_follows_saying_is_taken_as_it_stands(prompt: str, expected: str) -> None:
    assert after_saying(prompt, []) == expected


def test_labelled_text_ends_at_the_next_label() -> None:
    prompt = "with subject hello there and body bye, thanks"
    assert labelled(prompt, ["subject"], ["body"]) == "hello there"
    assert labelled(prompt, ["body"], ["subject"]) == "bye"
    assert labelled(prompt, ["topic"], []) == ""


@pytest.mark.parametrize(
    ("text", "plain"),
    [("springfield", True), ("某某镇", True), ("", False), ("weather today", False), ("one two three four", False)],
)  # fmt: skip
def test_only_short_unknown_words_can_be_a_name_written_small(text: str, plain: bool) -> None:
    assert plain_words(text) is plain


@given(st.text(max_size=80))
def test_the_rest_is_always_a_part_of_the_prompt(prompt: str) -> None:
    assert rest(prompt, [], ["search"]) in prompt
    assert after_saying(prompt, []) in prompt
