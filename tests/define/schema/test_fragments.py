"""Which annotations are shared, and for how long."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from annotated_types import Ge
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SecretStr,
    StringConstraints,
    create_model,
)

from tests.define.annotation_cases import (
    OTHER_ADDRESS,
    Address,
    Colour,
    Dynamic,
    Loose,
    Odd,
    Own,
    Person,
    Point,
    Tree,
    dynamic,
    fields_of,
)
from toolkeel import Secret, tool
from toolkeel.define.schema import fragments
from toolkeel.define.schema.fragments import fragment_of, key_of
from toolkeel.define.schema.join_fragments import join

SHARED = [
    str, int, float, bool, Any, list[str], dict[str, int], list, Optional[int], int | str,  # noqa: UP045
    Literal["a"], Colour, Address, list[Person], Tree, dt.date, Annotated[int, Field(ge=1, le=3)],
    Annotated[str, Field(pattern="a")], Annotated[str, StringConstraints(max_length=3)], SecretStr,
    Annotated[str, Secret], Path, Point, Loose, Sequence[int], Mapping[str, Point],
    Annotated[str, Field(description="x")], Annotated[str, "x"], Annotated[int, Ge(1)],
]  # fmt: skip


@pytest.mark.parametrize("annotation", SHARED)
def test_ordinary_annotations_are_shared(annotation: Any) -> None:
    known: Any = fields_of([(annotation, True, "text")])["p0"].annotation
    key = key_of(known)
    assert key is not None
    assert fragment_of(known, key, True) is fragment_of(known, key, True) is not None


ALONE = [
    Dynamic, list[Dynamic], Own, list[Own], Annotated[int, SimpleNamespace()], re.Pattern,
    Annotated[str, AfterValidator(str.lower)], Annotated[int, Field(default_factory=int, gt=Odd())],
    Annotated[str, Field(json_schema_extra=dynamic)], Annotated[str, Field(alias="x")],
]  # fmt: skip


@pytest.mark.parametrize("annotation", ALONE)
def test_what_has_code_or_names_of_its_own_is_left_to_pydantic(annotation: Any) -> None:
    assert join("t", fields_of([(annotation, True, None)]), True) is None


SAME = [
    (list[int], list[int]),
    (Optional[int], Union[int, None]),  # noqa: UP007, UP045
    (Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]),
    (Annotated[str, "one text"], Annotated[str, "another"]),
]
OTHER = [
    (Literal["a", "b"], Literal["b", "a"]),
    (Literal[1], Literal[True]),
    (int | str, str | int),
    (Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1.0)]),
    (Annotated[int, Field(ge=1)], Annotated[int, Field(ge=True)]),
    (Annotated[int, Field(ge=1)], Annotated[int, Field(gt=1)]),
    (list[Literal["a", "b"]], list[Literal["b", "a"]]),
    (dict[str, int], dict[int, str]),
    (Address, OTHER_ADDRESS),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_becomes_the_same_has_one_key(one: Any, other: Any) -> None:
    assert key_of(one) == key_of(other) is not None


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_python_takes_for_equal_but_pydantic_does_not_has_two_keys(
    one: Any, other: Any
) -> None:
    assert key_of(one) != key_of(other)


def test_a_model_that_was_built_anew_is_read_anew() -> None:
    class Late(BaseModel):
        """First."""

        x: int

    def use(late: Late) -> None: ...

    use.__annotations__["late"] = Late
    before: Any = tool(use).parameters
    assert before["$defs"]["Late"]["properties"] == {"x": {"type": "integer"}}
    Late.model_fields["x"].annotation = str
    Late.model_rebuild(force=True)
    Late.__doc__ = "Second."
    after: Any = tool(use).parameters
    assert after["$defs"]["Late"]["properties"] == {"x": {"type": "string"}}
    assert after["$defs"]["Late"]["description"] == "Second."
    assert before["$defs"]["Late"]["description"] == "First."


def test_classes_without_end_are_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "MOST", 5)
    monkeypatch.setattr(fragments, "_known", {})
    for number in range(12):
        model = create_model(f"Model{number}", x=(int, ...))
        assert fragment_of(model, key_of(model), True) is not None
        assert len(fragments._known) <= 5
