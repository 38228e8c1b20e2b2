"""A model's fields as parameters, less those the program fills."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from toolwright.define.fields import input_model_fields, without
from toolwright.define.inject import InjectedToolCallId


class Order(BaseModel):
    item: str
    count: int = Field(default=1, ge=1)
    call_id: Annotated[str, InjectedToolCallId] = ""

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
    assert InjectedToolCallId in fields["call_id"][0].__metadata__


def test_a_model_less_some_fields_keeps_the_others_with_their_checks():
    rest = without(Order, ["call_id"])
    assert list(rest.model_fields) == ["item", "count"] and rest.__name__ == "Order"
    assert rest(item="tea").model_dump() == {"item": "tea", "count": 1}
    for wrong in ({"item": "Tea"}, {"item": "tea", "count": 0}):
        with pytest.raises(ValidationError):
            rest(**wrong)
