"""What is joined of fragments is what pydantic makes of the whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import (
    ValidationError,
)

from tests.define.annotation_cases import (
    OTHER_ADDRESS,
    VALUES,
    Address,
    Person,
    fields_of,
    parameters,
)
from toolkeel import tool
from toolkeel.define.schema.argument_schema import from_pydantic
from toolkeel.define.schema.join_fragments import join


def outcome(validate: Callable[..., Any], text: str, options: Mapping[str, Any] | None) -> object:
    try:
        return repr(validate(text, **(options or {})))
    except ValidationError as error:
        return [(each["loc"], each["type"], each["msg"]) for each in error.errors()]


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(parameters, st.booleans(), st.lists(st.sampled_from(VALUES), min_size=4, max_size=4))
def test_joined_fragments_are_what_pydantic_makes_of_the_whole(
    given: list[tuple[Any, bool, str | None]], closing: bool, values: list[str]
) -> None:
    fields = fields_of(given)
    made = join("t", fields, closing)

    if made is None:
        return
    schema, validate, facts = made
    schema_whole, validate_whole, facts_whole = from_pydantic("t", fields, {}, closing)
    assert json.dumps(schema) == json.dumps(schema_whole)
    assert facts == facts_whole
    several = ", ".join(f'"p{n}": {v}' for n, v in enumerate(values[: len(given)]))
    for text in ("{}", '{"other": 1}', f"{{{several}}}", *(f'{{"p0": {v}}}' for v in VALUES)):
        assert outcome(validate, text, facts.options) == outcome(
            validate_whole, text, facts.options
        )


def test_two_models_of_one_name_are_told_apart_by_their_modules() -> None:
    def move(here: Address, there: Any) -> None: ...

    move.__annotations__ = {"here": Address, "there": OTHER_ADDRESS}
    assert len(tool(move).parameters["$defs"]) == 2  # type: ignore[arg-type]


def test_a_change_of_one_tools_schema_does_not_reach_another() -> None:
    def one(person: Person, tags: list[str]) -> None: ...
    def two(person: Person, tags: list[str]) -> None: ...

    first, second = tool(one), tool(two)
    before = json.dumps(second.parameters)
    shown: Any = first.parameters
    shown["$defs"]["Person"]["properties"].clear()
    shown["properties"]["tags"]["items"]["type"] = "integer"
    assert json.dumps(second.parameters) == before
    assert json.dumps(tool(two).parameters) == before
