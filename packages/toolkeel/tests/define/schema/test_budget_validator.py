"""Validator of a tool's arguments: pydantic first, and the advertised schema for what it lacks."""

from __future__ import annotations

import datetime as dt
import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from tests.define.calling import answered, called, taking
from toolkeel.define.explain.error_budget import LONG, BoundedValidator
from toolkeel.define.schema.budget_validator import BudgetValidator
from toolkeel.define.schema.closed_objects import SchemaFacts
from toolkeel.define.schema.gaps import Gaps


class Node(BaseModel):
    next: Node | None = None
    even: Annotated[int, Field(json_schema_extra={"multipleOf": 2})] = 0
    odd: Annotated[int, AfterValidator(lambda number: number + 1)] = 0


def refuse(number: int) -> int:
    raise ValueError("not today")


def test_faults_of_the_schema_and_of_a_types_code_are_reported_one_after_the_other() -> None:
    take, received = taking(Annotated[Node, AfterValidator(refuse)])
    assert "x.next.even: expected an integer, a multiple of 2, got 3" in (
        answered(take, {"x": {"next": {"even": 3}}}).text
    )
    assert "not today" in answered(take, {"x": {"next": {"even": 4}}}).text
    assert received == []


def test_what_the_schema_accepts_is_parsed_by_the_type() -> None:
    take, received = taking(Node)
    called(take, {"x": {"next": {"even": 4, "odd": 1}}})
    assert received[0].next.odd == 2


def validator_of_days() -> tuple[BudgetValidator, list[int]]:
    """A validator of many days, and the length of each text that pydantic read."""
    days: TypeAdapter[Any] = TypeAdapter(dict[str, list[dt.date]])
    schema = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "string", "format": "date"}},
    }
    read: list[int] = []

    def validate(text: str | bytes) -> Any:
        read.append(len(text))
        return days.validate_json(text, strict=True)

    facts = SchemaFacts(None, False, False, False, (), has_parsers=False)
    made = BudgetValidator(
        "take", schema, validate, facts, Gaps(schema, False), BoundedValidator(schema)
    )
    return made, read


def test_of_a_long_list_pydantic_reads_the_first_items_alone_if_they_are_wrong() -> None:
    made, read = validator_of_days()
    text = json.dumps({"x": ["2026-13-01"] * (LONG // 10)})
    with pytest.raises(ValueError, match="month value is outside"):
        made.validate(text)
    assert max(read) < len(text) / 100


def test_an_error_of_pydantics_is_explained_and_no_other() -> None:
    made, _ = validator_of_days()
    sent = {"x": ["2026-13-01"]}
    with pytest.raises(ValidationError) as caught:
        made.validate(json.dumps(sent))
    explained = made.explain(caught.value, sent)
    assert explained is not None
    assert [each.path for each in explained.errors] == [("x", 0)]
    assert made.explain(ValueError("of another kind"), sent) is None
