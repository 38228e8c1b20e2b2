"""The words for texts of a known pattern."""

from __future__ import annotations

import pytest

from toolkeel.define.text_patterns import describe_pattern, url_pattern, uuid_pattern


@pytest.mark.parametrize(
    ("schemes", "pattern", "words"),
    [
        (["https"], "^(https)://", "a URL (https://…)"),
        (["http", "https"], "^(http|https)://", "a URL (http://… or https://…)"),
        (["mailto", "https"], "^(mailto|https):", "a URL (mailto:… or https:…)"),
        (["a+b", "c-d"], r"^(a\+b|c-d):", "a URL (a+b:… or c-d:…)"),
        (list("abcd"), "^(a|b|c|d):", "a URL (a:…, b:…, c:… or d:…)"),
        (list("abcde"), "^(a|b|c|d|e):", "a URL (a:…, b:…, c:… or …)"),
    ],
)
def test_a_url_s_schemes_are_its_words(schemes: list[str], pattern: str, words: str) -> None:
    assert url_pattern(schemes) == pattern
    assert describe_pattern(pattern) == words


def test_a_pattern_that_is_not_known_has_no_words() -> None:
    assert describe_pattern(uuid_pattern(7)) == "a UUID of version 7"
    assert describe_pattern("^[a-c]+$") is None
    assert describe_pattern(None) is None
    assert describe_pattern(["a"]) is None  # a server's schema may have anything there
