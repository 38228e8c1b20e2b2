"""Sentences of the offline model."""

from __future__ import annotations

import pytest

from tests.providers import toolkit as kit
from toolkeel.providers.offline import sentences
from toolkeel.providers.offline.lexicon import Language
from toolkeel.providers.offline.parameters import parameters_of


def test_at_most_five_tools_are_listed_and_the_others_counted() -> None:
    listed = sentences.no_fit("en", kit.TOOLS)
    assert listed.count("\n- ") == 6
    assert f"- and {len(kit.TOOLS) - 5} more" in listed
    assert "- search: Search the catalogue." in listed


def test_what_is_missing_is_asked_for_by_name_and_description() -> None:
    missing = [parameter for parameter in parameters_of(kit.book_flight) if parameter.required]
    asked = sentences.ask_for("en", kit.book_flight, missing)
    assert "origin (City to fly from), destination (City to fly to)" in asked
    assert "origin（City to fly from）、destination" in sentences.ask_for(
        "zh", kit.book_flight, missing
    )


def test_a_long_error_is_shortened_in_the_answer() -> None:
    assert len(sentences.failed("en", "call", "x" * 10_000, False)) < 500


@pytest.mark.parametrize("speech", ["en", "zh"])
def test_each_sentence_exists_in_the_language(speech: Language) -> None:
    texts = [
        sentences.no_tools(speech),
        sentences.no_fit(speech, ()),
        sentences.hello(speech, ()),
        sentences.calls_forbidden(speech),
        sentences.failed(speech, "f()", "no", True),
    ]
    assert all(any("\u4e00" <= char <= "\u9fff" for char in t) == (speech == "zh") for t in texts)
