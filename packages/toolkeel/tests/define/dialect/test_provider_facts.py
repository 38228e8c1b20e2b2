from __future__ import annotations

from typing import get_args

from toolkeel.define.dialect.provider_facts import DIALECTS, LIMITS, Target


def test_every_target_has_a_row_and_every_row_a_target() -> None:
    assert {*get_args(Target)} == DIALECTS.keys()
    assert LIMITS.keys() <= DIALECTS.keys()


def test_a_strict_row_falls_back_to_one_that_takes_everything() -> None:
    strict = {target for target, dialect in DIALECTS.items() if dialect.fallback}
    assert strict == {"openai-strict", "anthropic-strict"}
    for target in strict:
        fallback = DIALECTS[target].fallback
        assert fallback is not None
        assert DIALECTS[fallback].fallback is None
        assert DIALECTS[fallback].keywords is None


def test_no_row_contradicts_itself() -> None:
    for target, row in DIALECTS.items():
        assert row.keywords is None or not row.refused & row.keywords, target
        assert not row.refused or row.fallback, target
        assert row.refs == "inline" or row.takes("$ref"), target
        assert row.any_of == "none" or row.takes("anyOf"), target
        assert row.null != "flag" or row.takes("nullable"), target
        assert row.explicit or not row.all_required, target
        assert row.formats is None or row.takes("format"), target


def test_the_rows_take_the_keywords_of_their_documents() -> None:
    assert DIALECTS["openai-strict"].takes("multipleOf")
    assert not DIALECTS["openai-strict"].takes("uniqueItems")
    assert not DIALECTS["anthropic-strict"].takes("maximum")
    assert not DIALECTS["gemini-legacy"].takes("additionalProperties")
    assert not DIALECTS["compatible"].takes("title")
    assert DIALECTS["mcp"].takes("unevaluatedProperties")
