"""Defaults that break their own annotation: found when the tool is defined, never advertised."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from tests.define.calling import called
from toolkeel import tool
from toolkeel.define.subschemas import violates
from toolkeel.errors import DefinitionError


class Size(enum.Enum):
    SMALL = "s"


AtLeast5 = Annotated[int, Field(ge=5)]
WRONG: list[tuple[Any, object]] = [
    (int, "x"),
    (int, 1.5),
    (int, True),
    (int, []),
    (bool, 0),
    (str, 1),
    (AtLeast5, 1),
    (Annotated[str, Field(max_length=2)], "long"),
    (Literal["a", "b"], "c"),
    (Size, "small"),
    (list[int], ("a",)),
    (list[AtLeast5], [1]),
    (int | None, "x"),
    (AtLeast5 | None, 1),
    (dict[str, int], []),
]
RIGHT: list[tuple[Any, object]] = [
    (int, 5),
    (int, 5.0),
    (float, 1),
    (list[int], ()),
    (set[int], {1}),
    (Literal["a", 1], 1),
    (Size, Size.SMALL),
    (int | None, None),
    (Any, "x"),
    (dict[str, int], {"a": 1}),
]


def made(annotation: Any, default: object) -> Any:
    def pick(what: Any = default) -> str:
        """Pick."""
        return repr(what)

    pick.__annotations__["what"] = annotation
    return tool(pick)


@pytest.mark.parametrize(("annotation", "default"), WRONG)
def test_a_default_the_model_could_not_send_is_refused_with_function_parameter_and_fix(
    annotation: Any, default: object
) -> None:
    with pytest.raises(DefinitionError, match=r"pick: the default of parameter 'what' .*give a"):
        made(annotation, default)


@pytest.mark.parametrize(("annotation", "default"), RIGHT)
def test_a_default_that_fits_is_advertised_as_it_can_be_sent(
    annotation: Any, default: object
) -> None:
    pick = made(annotation, default)
    assert called(pick) == repr(default)
    called(pick, {"what": pick.parameters["properties"]["what"]["default"]})


@pytest.mark.parametrize("annotation", [int, AtLeast5, list[str], Size, BaseModel])
def test_none_says_that_a_parameter_may_be_left_out_and_is_not_advertised(annotation: Any) -> None:
    pick = made(annotation, None)
    assert "default" not in pick.parameters["properties"]["what"]
    assert "required" not in pick.parameters and called(pick) == "None"


def test_what_a_type_of_the_users_own_makes_of_a_default_is_its_own_affair() -> None:
    def parse(value: object) -> object:
        return int(value[:-1]) * 1000 if isinstance(value, str) else value

    def refuse(value: int) -> int:
        raise LookupError("not while defining")

    pick = made(Annotated[int, BeforeValidator(parse)], "5k")
    assert "default" not in pick.parameters["properties"]["what"]
    assert made(Annotated[int, AfterValidator(refuse)], 3).parameters


class Foreign(BaseModel):
    size: int = "large"  # type: ignore[assignment]
    count: int = 3


def test_a_models_default_that_could_not_be_sent_is_not_advertised() -> None:
    @tool
    def pick(what: Foreign) -> str:
        """Pick."""
        return repr(what)

    shown: Any = pick.parameters["$defs"]
    assert shown["Foreign"]["properties"] == {
        "size": {"type": "integer"},
        "count": {"type": "integer", "default": 3},
    }
    assert called(pick, {"what": {}}) == "Foreign(size='large', count=3)"


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text(max_size=3)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
PARTS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "null", "array", "object"]
            ),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": SCALARS,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 3),
            "$ref": st.just("#/$defs/some"),
        },
    ),
    lambda inner: (
        st.fixed_dictionaries({"items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
    ),
    max_leaves=4,
)


@given(VALUES, PARTS, st.sampled_from([{"type": "integer"}, {}, {"$ref": "#/$defs/some"}]))
def test_what_is_said_to_break_a_schema_does(value: Any, part: Any, some: Any) -> None:
    root = {**part, "$defs": {"some": some}}
    if violates(value, part, root):
        assert some == {"$ref": "#/$defs/some"} or not jsonschema_rs.is_valid(root, value)
