from __future__ import annotations

from toolkeel.define.dialect.conversion import Conversion, SchemaPlace, add_note
from toolkeel.define.dialect.provider_facts import DIALECTS


def test_a_note_joins_the_description_and_keeps_chinese_as_it_is() -> None:
    assert add_note({}, "default", "北京") == {"description": '(default: "北京")'}
    assert add_note({"description": "城市"}, "enum", [1])["description"] == "城市 (enum: [1])"


def test_a_long_note_is_cut_with_an_ellipsis() -> None:
    assert len(add_note({}, "enum", ["x" * 50] * 100)["description"]) < 420
    assert "…" in add_note({}, "enum", ["x" * 50] * 100)["description"]


def test_a_note_of_the_greatest_length_is_kept_and_a_longer_one_has_that_length() -> None:
    for length in (397, 398, 399, 5000):
        note = add_note({}, "pattern", "x" * length)["description"].removeprefix("(pattern: ")[:-1]
        assert len(note) == min(length + 2, 400)
        assert note.endswith("…") == (length > 398)


def test_a_dropped_keyword_is_told_and_reported_once() -> None:
    run = Conversion(DIALECTS["compatible"], {})
    for _ in range(2):
        told = run.drop_keyword(
            {"type": "string", "format": "uri"}, "format", SchemaPlace("#/properties/it")
        )
    assert told == {"type": "string", "description": '(format: "uri")'}
    assert [str(loss) for loss in run.losses] == [
        "#/properties/it: format: an OpenAI-compatible server does not take format; "
        "it is in the description"
    ]


def test_what_tells_a_model_nothing_is_reported_but_not_noted() -> None:
    run = Conversion(DIALECTS["compatible"], {})
    for keyword, value in (("title", "T"), ("default", None), ("additionalProperties", False)):
        assert run.drop_keyword({keyword: value}, keyword, SchemaPlace("#")) == {}
    assert [loss.what for loss in run.losses] == ["title", "default", "additionalProperties"]


def test_a_refusal_counts_as_a_loss_where_there_is_no_other_mode() -> None:
    strict, ordinary = Conversion(DIALECTS["openai-strict"], {}), Conversion(DIALECTS["openai"], {})
    for run in (strict, ordinary):
        run.refuse_strict(SchemaPlace("#"), "not", "because")
    assert (len(strict.refusals), len(strict.losses)) == (1, 0)
    assert (len(ordinary.refusals), len(ordinary.losses)) == (0, 1)


def test_recursion_is_seen_through_other_definitions() -> None:
    defs = {
        "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"items": {"$ref": "#/$defs/A"}},
        "C": {"$ref": "#/$defs/A"},
    }
    assert Conversion(DIALECTS["openai"], defs).recursive == {"A", "B"}
