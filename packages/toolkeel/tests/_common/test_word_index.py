"""Texts are ranked by the words they share with a query."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.word_index import WordIndex

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=8)
QUERY = st.lists(st.sampled_from("abcdefg"), max_size=4)


def index(texts: list[list[str]]) -> WordIndex[int]:
    return WordIndex((number, Counter(text)) for number, text in enumerate(texts))


@given(TEXTS, QUERY, st.integers(0, 9))
def test_what_shares_a_word_is_found_and_nothing_else(
    texts: list[list[str]], query: list[str], limit: int
) -> None:
    found = index(texts).find(query, limit)
    fitting = {number for number, text in enumerate(texts) if {*text} & {*query}}
    assert {*found} <= fitting and len(found) == len({*found}) == min(limit, len(fitting))


@given(TEXTS, QUERY)
def test_the_order_of_a_query_does_not_matter(texts: list[list[str]], query: list[str]) -> None:
    assert index(texts).find(query, 9) == index(texts).find(query[::-1], 9)


def test_rare_words_count_more_and_of_two_texts_the_shorter_is_first() -> None:
    texts = [["common", "x"], ["common", "rare"], ["common", "x", "y", "z"], ["common"]]
    assert index(texts).find(["common", "rare"], 2) == [1, 3]
