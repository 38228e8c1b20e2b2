"""Validator of a tool's arguments: pydantic first, and the advertised schema for what it lacks."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from tests.define.calling import answered, called, taking


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
