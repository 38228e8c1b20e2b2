"""A model's fields as parameters, less those the program fills."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pytest
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator

from toolkeel import Injected
from toolkeel.define.schema.model_fields import (
    has_cross_field_validators,
    input_model_fields,
    model_validators,
    without_fields,
)


class CallId(Injected):
    """A marker of a program."""


class Order(BaseModel):
    item: str
    count: int = Field(default=1, ge=1)
    call_id: Annotated[str, CallId] = ""

    @field_validator("item")
    @classmethod
    def lower(cls, value: str) -> str:
        if value != value.lower():
            raise ValueError("write it in lower case")
        return value


def test_each_field_tells_its_annotation_with_markers_and_whether_it_has_a_default():
    fields = input_model_fields(Order)
    assert fields["item"] == (str, False)
    assert fields["count"][1] and fields["call_id"][1]
    assert CallId in fields["call_id"][0].__metadata__


def test_a_model_less_some_fields_keeps_the_others_with_their_checks():
    rest = without_fields(Order, ["call_id"])
    assert list(rest.model_fields) == ["item", "count"] and rest.__name__ == "Order"
    assert rest(item="tea").model_dump() == {"item": "tea", "count": 1}
    for wrong in ({"item": "Tea"}, {"item": "tea", "count": 0}):
        with pytest.raises(ValidationError):
            rest(**wrong)


class Limited(BaseModel):
    most: ClassVar[int] = 10
    n: int
    marks: list[int] = []
    call_id: Annotated[str, CallId] = ""

    @classmethod
    def fits(cls, value: int) -> bool:
        return value < cls.most

    @field_validator("n")
    @classmethod
    def small(cls, value: int) -> int:
        if not cls.fits(value):
            raise ValueError(f"too large for {cls.__name__}")
        return value

    @field_validator("n", mode="before")
    @staticmethod
    def doubled(value: int) -> int:
        return 2 * value

    @field_validator("marks", mode="wrap")
    @classmethod
    def marked(cls, value, handler):
        return [*handler(value), cls.most]


def test_validators_still_see_what_else_their_class_has():
    rest = without_fields(Limited, ["call_id"])
    assert rest(n=4, marks=[1]).model_dump() == {"n": 8, "marks": [1, 10]}
    with pytest.raises(ValidationError, match=r"too large for Limited"):
        rest(n=5)


def test_where_one_validator_sees_other_fields_those_after_the_types_wait_for_them():
    class Seeing(Limited):
        @field_validator("marks")
        @classmethod
        def few(cls, value: list[int], info: ValidationInfo) -> list[int]:
            return [*value, info.data["n"]]

    assert (
        has_cross_field_validators(Seeing)
        and not has_cross_field_validators(Limited)
        and not has_cross_field_validators(Order)
    )
    assert without_fields(Seeing, ["call_id"])(n=5, marks=[]).model_dump() == {
        "n": 10,
        "marks": [10],
    }
    check = model_validators("tool", Seeing, ["call_id"])
    assert check is not None
    assert check({"n": 2, "marks": []}, {"call_id": "c"}) == {"n": 4, "marks": [10, 4]}
