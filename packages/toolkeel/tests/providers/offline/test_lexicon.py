"""Texts as ideas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.offline.lexicon import idea_of, ideas_of, language_of, stem, words_of


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("weather forecast", "天气预报"),
        ("calculate", "计算"),
        ("search", "搜索"),
        ("translate", "翻译"),
        ("files", "文件"),
        ("lines", "行"),
        ("what day", "星期几"),
        ("what time", "几点"),
        ("stock", "股票"),
    ],
)
def test_english_and_chinese_words_share_their_ideas(english: str, chinese: str) -> None:
    assert ideas_of(english) & ideas_of(chinese)


def test_names_in_snake_and_camel_case_are_taken_apart() -> None:
    assert ideas_of("get_stock_price") == ideas_of("getStockPrice") == {"stock", "price"}


def test_unknown_chinese_is_compared_by_neighbouring_characters() -> None:
    assert ideas_of("熊猫饲养") & ideas_of("饲养员")


def test_words_that_say_nothing_are_left_out() -> None:
    assert ideas_of("could you please tell me what the") == frozenset()
    assert ideas_of("请帮我一下吧") == frozenset()


@pytest.mark.parametrize(("one", "many"), [("city", "cities"), ("file", "files"), ("box", "boxes")])
def test_singular_and_plural_have_one_stem(one: str, many: str) -> None:
    assert stem(one) == stem(many)


def test_a_text_with_any_chinese_is_answered_in_chinese() -> None:
    assert language_of("weather 北京") == "zh"
    assert language_of("weather in Paris") == "en"


def test_a_stop_word_has_no_idea() -> None:
    assert idea_of("The") == ""


@given(st.text(max_size=80))
def test_words_lie_inside_the_text_and_in_order(text: str) -> None:
    found = words_of(text)
    assert all(0 <= word.start < word.end <= len(text) for word in found)
    assert [word.start for word in found] == sorted(word.start for word in found)


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=30))
def test_pieces_of_a_run_are_the_whole_run(run: str) -> None:
    assert "".join(word.text for word in words_of(run)) == run
