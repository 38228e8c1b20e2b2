"""Defaults, descriptions and aliases: what an annotation, its default and its ``Field`` say."""

from __future__ import annotations

# ruff: noqa: B008 - defaults that `Field` makes are the subject
import datetime as dt
import enum
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

from tests.define.calling import answered, called
from toolkeel import Prepared, ToolCall, Toolset, tool
from toolkeel.errors import DefinitionError


def shown(wanted: Any) -> dict[str, Any]:
    """The advertised properties."""
    properties: dict[str, Any] = wanted.parameters["properties"]
    return properties


class Unit(enum.Enum):
    METRE = "m"


class Place(BaseModel):
    city: str = "北京"


@tool
def every(
    plain: int = 1,
    unit: Unit = Unit.METRE,
    day: dt.date = dt.date(2024, 1, 2),
    place: Place = Place(),
    nothing: int = None,  # type: ignore[assignment]  # noqa: RUF013
    maybe: int | None = None,
    field: int = Field(5, ge=1),
    made: list[int] = Field(default_factory=lambda: [7]),
    noted: Annotated[str, Field(min_length=1)] = "猫",
    within: Annotated[int, Field(default=9)] = 8,
    seen: int = Field(default_factory=lambda values: values["plain"] + 1),
) -> str:
    """Show what arrives."""
    return repr((plain, unit, day, place.city, nothing, maybe, field, made, noted, within, seen))


def test_defaults_are_advertised_as_json_and_nothing_is_required() -> None:
    assert "required" not in every.parameters
    told = {name: each["default"] for name, each in shown(every).items() if "default" in each}
    assert told == {
        "plain": 1,
        "unit": "m",
        "day": "2024-01-02",
        "place": {"city": "北京"},
        "maybe": None,
        "field": 5,
        "noted": "猫",
        "within": 8,
    }


def test_what_the_model_leaves_out_is_the_default_and_a_fresh_one_each_time() -> None:
    date = repr(dt.date(2024, 1, 2))
    unit = repr(Unit.METRE)
    same = f"(1, {unit}, {date}, '北京', None, None, 5, [7], '猫', 8, 2)"
    assert called(every) == same
    made: list[list[int]] = []

    @tool
    def keep(items: list[int] = Field(default_factory=list), more: list[int] = Field([])) -> str:
        """Keep them."""
        items.append(1)
        more.append(1)
        made.extend((items, more))
        return "kept"

    for _ in range(2):
        called(keep)
    assert made == [[1]] * 4


def test_a_default_made_from_the_others_sees_what_the_model_sent() -> None:
    assert called(every, {"plain": 41}).endswith(", 42)")


@pytest.mark.parametrize("name", ["plain", "nothing", "field", "made", "noted"])
def test_null_for_a_parameter_that_is_not_nullable_means_its_default(name: str) -> None:
    assert called(every, {name: None}) == called(every)


def test_a_field_with_ellipsis_is_required_and_its_constraints_hold() -> None:
    @tool
    def count(n: int = Field(..., ge=1, description="How many.")) -> str:
        """Count."""
        return str(n)

    assert count.parameters["required"] == ["n"]
    assert shown(count)["n"] == {"type": "integer", "minimum": 1, "description": "How many."}
    assert answered(count).kind == answered(count, {"n": 0}).kind == "invalid_arguments"


def test_a_default_without_json_form_is_refused_with_its_parameter_and_a_fix() -> None:
    with pytest.raises(DefinitionError, match=r"hold: the default of parameter 'x' .*use None"):

        @tool
        def hold(x: Any = object()) -> None:
            """Hold."""


# — descriptions —


@tool
def described(
    field: Annotated[int, "by text", Field(description="by field")],
    text: Annotated[int, "by text"],
    doc: int,
    default: int = Field(1, description="by default"),
    bare: int = 0,
) -> None:
    """Show who describes.

    Args:
        field: by docstring
        text: by docstring
        doc: by docstring
        default: by docstring
    """


def test_a_field_describes_before_a_text_and_a_text_before_the_docstring() -> None:
    assert {name: each.get("description") for name, each in shown(described).items()} == {
        "field": "by field",
        "text": "by text",
        "doc": "by docstring",
        "default": "by default",
        "bare": None,
    }
    assert described.description == "Show who describes."


GOOGLE = """Find it.

    Args:
        name (str): 名字.
        limit: How many,
            at most.
    """
NUMPY = """Find it.

    Parameters
    ----------
    name : str
        名字.
    limit : int
        How many,
        at most.
    """
SPHINX = """Find it.

    :param name: 名字.
    :param limit: How many,
        at most.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_docstrings_of_three_styles_describe_the_parameters(text: str) -> None:
    def find(name: str, limit: int = 1) -> None: ...

    find.__doc__ = text
    found = tool(find)
    assert found.description == "Find it."
    texts = {name: " ".join(each["description"].split()) for name, each in shown(found).items()}
    assert texts == {"name": "名字.", "limit": "How many, at most."}
    whole = tool(docstring="plain")(find)
    assert "名字" in whole.description and "description" not in shown(whole)["name"]


def test_a_docstring_that_names_no_parameter_is_refused_only_if_asked() -> None:
    def find(name: str) -> None:
        """Find it.

        Args:
            nmae: Misspelt.
        """

    assert "description" not in shown(tool(find))["name"]
    with pytest.raises(DefinitionError, match=r"find: its docstring: it describes 'nmae'"):
        tool(docstring="strict")(find)


# — aliases —


@tool
def aliased(
    city: str = Field("巴黎", alias="the city", description="Where."),
    day: Annotated[int, Field(validation_alias="on")] = 1,
    first: int = Field(0, validation_alias=AliasChoices("one", "uno")),
) -> str:
    """Show what arrives."""
    return repr((city, day, first))


def test_an_alias_is_what_is_advertised_with_its_default_and_what_is_taken() -> None:
    properties = shown(aliased)
    assert properties["the city"] == {
        "type": "string",
        "description": "Where.",
        "default": "巴黎",
    }
    assert properties["on"]["default"] == 1 and properties["one"]["default"] == 0
    assert "city" not in properties and "required" not in aliased.parameters
    assert called(aliased, {"the city": "x", "on": 2, "one": 3}) == "('x', 2, 3)"
    assert called(aliased) == "('巴黎', 1, 0)"
    assert answered(aliased, {"city": "x"}).kind == "invalid_arguments"


def test_an_aliased_value_may_be_changed_by_a_step_and_is_checked_again() -> None:
    async def move(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(day=5))

    async def spoil(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(day="never"))

    call = ToolCall("1", "aliased", {"the city": "x"})
    [moved] = Toolset([aliased]).with_steps(move).run_sync([call])
    assert moved.text == "('x', 5, 0)"
    [spoilt] = Toolset([aliased]).with_steps(spoil).run_sync([call])
    assert spoilt.kind == "invalid_arguments"


def test_a_default_that_its_own_type_excludes_survives_a_step() -> None:
    @tool
    def odd(n: int = Field(None), m: int = 0) -> str:
        """Show what arrives."""
        return repr((n, m))

    async def move(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(m=5))

    [moved] = Toolset([odd]).with_steps(move).run_sync([ToolCall("1", "odd", {})])
    assert moved.text == "(None, 5)"


def test_the_rest_takes_no_unchecked_value_for_a_parameter_under_another_name() -> None:
    @tool
    def book(city: int = Field(alias="the city"), **rest: Any) -> str:
        """Book."""
        return repr((city, rest))

    assert called(book, {"the city": 1, "x": 2}) == "(1, {'x': 2})"
    for forged in ({"the city": 1, "city": "evil"}, {"city": "evil"}):
        result = answered(book, forged)
        assert result.kind == "invalid_arguments" and "- city: " in result.text


def test_two_parameters_under_one_key_are_refused() -> None:
    with pytest.raises(DefinitionError, match=r"'a' and 'b' are both called 'x'"):

        @tool
        def both(a: int = Field(alias="x"), b: int = Field(alias="x")) -> None:
            """Both."""
