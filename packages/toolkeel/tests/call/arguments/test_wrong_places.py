"""Where large arguments break the advertised schema, so that coercion looks at nothing else."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from pydantic import BaseModel, BeforeValidator, ValidationError

from tests.call.arguments.test_coerce import SCHEMAS, VALUES
from tests.define.calling import answered, called, taking
from toolkeel import tool
from toolkeel.call.arguments.coerce import coerce
from toolkeel.call.arguments.wrong_places import WrongPlaces, find_wrong_places
from toolkeel.define.explain.error_budget import LARGE
from toolkeel.define.schema.json_schema_validator import compile_json_schema


class U(BaseModel):
    kind: Literal["u"]
    when: date


class V(BaseModel):
    kind: Literal["v"]
    n: int


class Box(BaseModel):
    rows: list[U | V]


RIGHT: Any = {"kind": "v", "n": 1}
WRONG: Any = {"kind": "u", "when": "soon"}
MANY = LARGE // 20


@given(SCHEMAS, VALUES)
def test_coercion_of_wrong_places_alone_mends_what_coercion_of_all_mends(
    schema: dict[str, Any], value: object
) -> None:
    root = {"type": "object", "properties": {"x": schema, "y": schema}, "required": ["x"]}
    validator = compile_json_schema(root)
    sent = {"x": value, "y": json.loads(json.dumps(value))}
    if any(each in json.dumps(sent) for each in ("5.0", "e+", "e-")):
        return
    found = validator.mismatches.wrong_places(sent)
    assert found is not None and bool(found) != validator.is_valid(sent)
    full = coerce(sent, root)
    mended = coerce(sent, root, places=WrongPlaces(found))
    assert validator.is_valid(mended.value) == validator.is_valid(full.value)
    for change in mended.changes:
        assert any(change.path[: len(place)] == place for place in found)
    if validator.is_valid(sent):
        assert mended.value is sent


@pytest.mark.parametrize("type_", [list[U | V], dict[str, U | V], Box])
def test_the_only_mistake_of_many_is_mended_or_reported(type_: Any) -> None:
    def with_last(last: object) -> object:
        rows = [RIGHT] * MANY + [last]
        if type_ is Box:
            return {"rows": rows}
        return rows if "list" in str(type_) else {str(n): row for n, row in enumerate(rows)}

    take, received = taking(type_)
    called(take, {"x": with_last({"kind": "v", "n": "12"})})
    assert "n=12" in repr(received[0])
    text = answered(take, {"x": with_last(WRONG)}).text
    assert text.count("\n- ") == 1 and f"{MANY}" in text and 'got "soon"' in text


def test_many_wrong_items_are_refused_by_the_first_ones() -> None:
    take, _ = taking(list[U | V])
    with pytest.raises(ValueError) as caught:
        take.arguments.validate_long(json.dumps({"x": [WRONG] * MANY}))  # type: ignore[misc]
    assert not isinstance(caught.value, ValidationError)  # which lists them all
    text = answered(take, {"x": [WRONG] * MANY}).text
    assert "- x[0].when: expected a date" in text and "- and at least " in text


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_that_a_types_code_reads_before_is_judged_as_a_whole(order: int) -> None:
    last = Annotated[list[U | V], BeforeValidator(lambda rows: rows[::order][:5])]
    take, received = taking(last)
    rows = [RIGHT] * MANY + [WRONG] * MANY
    called(take, {"x": rows[::order]})
    assert len(received[0]) == 5


def test_an_item_whose_own_list_was_cut_is_judged_as_a_whole() -> None:
    class Row(BaseModel):
        rows: list[U | V]

        def model_post_init(self, context: object) -> None:
            if len(self.rows) < MANY:
                raise ValueError("too few")

    take, received = taking(list[Row])
    called(take, {"x": [{"rows": [RIGHT] * MANY}] * 2})
    assert len(received) == 1


@tool
def count(n: list[int] = [], m: float = 0) -> None:  # noqa: B006
    """Count."""


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({"n": [1] * LARGE}, []),
        ({"n": [1] * LARGE, "m": 10.05}, []),
        ({"n": [*[1] * LARGE, "2"]}, [("n", LARGE)]),
        ({"n": [1] * LARGE, "m": 5.0}, None),
        ({"n": [1] * LARGE, "m": 1e20}, None),
        ({"n": ["a"] * LARGE}, None),
        ({"n": [1]}, None),
    ],
)
def test_places_are_known_of_large_arguments_with_few_mistakes_and_no_whole_floats(
    value: dict[str, Any], places: list[Any] | None
) -> None:
    found = find_wrong_places(count, json.dumps(value), value)
    assert (found is None) == (places is None)
    if found is not None:
        assert found.is_right(("m",)) and all(not found.is_right(each) for each in places or ())
