"""Every type a parameter may have, from JSON text to the Python value."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import re
import threading
import typing
import uuid
from decimal import Decimal
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypeVar,
    Union,
)

import pytest
import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, field_validator
from typing_extensions import TypeAliasType

from tests.define.calling import answered, called, taking
from toolkeel import Injected, Prepared, RunContext, ToolCall, Toolset, tool
from toolkeel.errors import DefinitionError

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    CAT = "猫"


class Level(enum.IntEnum):
    LOW = 1


class Point(BaseModel):
    x: int
    y: int = 0


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Box(BaseModel, Generic[T]):
    held: T


class Line(NamedTuple):
    start: int
    end: int = 9


@dataclasses.dataclass
class Size:
    width: int
    marks: list[Point] = dataclasses.field(default_factory=list)


class Old(typing.TypedDict):
    a: int
    inner: NotRequired[list[Innermost]]


class Innermost(typing.TypedDict, total=False):
    b: str


class New(typing_extensions.TypedDict):
    a: int
    b: NotRequired[str]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


UserId = NewType("UserId", int)
Names: typing.TypeAlias = list[str]
Scores = TypeAliasType("Scores", dict[str, list[int]])
Nested = TypeAliasType("Nested", "list[Nested] | int")
SIX = "12345678-1234-5678-1234-567812345678"
UTC = dt.UTC
OPTIONAL, UNION = Optional[int], Union[Colour, int]  # noqa: UP007, UP045 - the old spellings

ARRIVES: list[tuple[Any, Any, Any]] = [
    (str, "猫 \U0001f431", "猫 \U0001f431"),
    (int, 2**70, 2**70),
    (float, 1.5, 1.5),
    (bool, True, True),
    (None, None, None),
    (Any, [1, {"a": None}], [1, {"a": None}]),
    (object, "x", "x"),
    (list, [1, "a"], [1, "a"]),
    (list[int], [1, 2], [1, 2]),
    (dict, {"a": 1}, {"a": 1}),
    (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[Colour, int], {"猫": 1}, {Colour.CAT: 1}),
    (dict[dt.date, int], {"2024-02-29": 1}, {dt.date(2024, 2, 29): 1}),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[int], [1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (collections.deque[int], [1, 2], collections.deque([1, 2])),
    (collections.abc.Sequence[int], [1], [1]),
    (collections.abc.Iterable[int], [1, 2], [1, 2]),
    (collections.abc.Iterable[int] | None, [1], [1]),
    (collections.abc.Mapping[str, int], {"a": 1}, {"a": 1}),
    (OPTIONAL, None, None),
    (OPTIONAL, 3, 3),
    (int | None, None, None),
    (str | int, "5", "5"),
    (str | int, 5, 5),
    (UNION, "red", Colour.RED),
    (Cat | Dog, {"kind": "dog", "tricks": []}, Dog(kind="dog", tricks=[])),
    (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "cat", "lives": 9},
        Cat(kind="cat", lives=9),
    ),
    (Literal["a", 1, None, True], 1, 1),
    (Literal["左", "右"], "左", "左"),
    (Colour, "猫", Colour.CAT),
    (Level, 1, Level.LOW),
    (Point, {"x": 1}, Point(x=1)),
    (list[Point], [{"x": 1, "y": 2}], [Point(x=1, y=2)]),
    (
        Tree,
        {"value": 1, "children": [{"value": 2}]},
        Tree(value=1, children=[Tree(value=2)]),
    ),
    (Box[int], {"held": 1}, Box[int](held=1)),
    (Box[list[Point]], {"held": [{"x": 1}]}, Box[list[Point]](held=[Point(x=1)])),
    (Size, {"width": 1, "marks": [{"x": 2}]}, Size(1, [Point(x=2)])),
    (Line, {"start": 1, "end": 2}, Line(1, 2)),
    (Line, {"start": 1}, Line(1, 9)),
    (New, {"a": 1, "b": "x"}, {"a": 1, "b": "x"}),
    (Old, {"a": 1, "inner": [{}, {"b": "x"}]}, {"a": 1, "inner": [{}, {"b": "x"}]}),
    (list[Old] | None, [{"a": 1}], [{"a": 1}]),
    (dt.date, "2024-02-29", dt.date(2024, 2, 29)),
    (dt.datetime, "2024-02-29T01:02:03Z", dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
    (dt.time, "01:02:03", dt.time(1, 2, 3)),
    (dt.timedelta, "P1DT2H", dt.timedelta(days=1, hours=2)),
    (uuid.UUID, SIX, uuid.UUID(SIX)),
    (Decimal, "1.50", Decimal("1.50")),
    (Decimal, 2, Decimal(2)),
    (Path, "文/件.txt", Path("文/件.txt")),
    (bytes, "猫", "猫".encode()),
    (re.Pattern[str], "a+", re.compile("a+")),
    (HttpUrl, "https://example.org/", HttpUrl("https://example.org/")),
    (SecretStr, "s", SecretStr("s")),
    (UserId, 3, 3),
    (Names, ["a"], ["a"]),
    (Scores, {"a": [1]}, {"a": [1]}),
    (Nested, [[1], 2], [[1], 2]),
    (Annotated[int, "how many"], 1, 1),
    (Annotated[str, Field(pattern="^a+$", max_length=3)], "aa", "aa"),
    (list[Annotated[int, Field(ge=1)]], [1], [1]),
]


@pytest.mark.parametrize(("annotation", "sent", "wanted"), ARRIVES, ids=lambda v: str(v)[:40])
def test_each_type_arrives_from_json_text_as_its_python_value(
    annotation: Any, sent: object, wanted: object
) -> None:
    taker, seen = taking(annotation)
    called(taker, {"x": sent})
    assert seen == [wanted]
    assert type(seen[0]) is type(wanted)


REFUSED: list[tuple[Any, Any]] = [
    (int, True),
    (int, 1.5),
    (str, 1),
    (bool, 1),
    (float, True),
    (list[int], [1, "x"]),
    (collections.abc.Iterable[int], ["x"]),
    (list[collections.abc.Iterable[int]], [["x"]]),
    (collections.abc.Iterable[int] | None, ["x"]),
    (tuple[int, str], [1]),
    (Literal["a", "b"], "c"),
    (Colour, "green"),
    (Point, {"x": 1, "z": 2}),
    (Size, {"width": 1, "height": 2}),
    (Old, {"a": 1, "c": 2}),
    (New, {}),
    (Tree, {"value": 1, "children": [{"value": "x"}]}),
    (dt.date, "2024-02-30"),
    (dt.timedelta, "soon"),
    (uuid.UUID, "1234"),
    (Decimal, "much"),
    (Annotated[str, Field(pattern="^a+$")], "b"),
    (Annotated[int, Field(ge=1, le=3)], 4),
    (Annotated[int, Field(gt=1)], 1),
    (Annotated[int, Field(multiple_of=5)], 7),
    (Annotated[str, Field(min_length=2)], "a"),
    (Annotated[list[int], Field(min_length=2, max_length=3)], [1]),
    (list[Annotated[int, Field(ge=1)]], [0]),
    (UserId, "many"),
    (Nested, [["x"]]),
]


@pytest.mark.parametrize(("annotation", "sent"), REFUSED, ids=lambda v: str(v)[:40])
def test_what_a_type_or_its_constraints_exclude_never_reaches_the_body(
    annotation: Any, sent: object
) -> None:
    taker, seen = taking(annotation)
    result = answered(taker, {"x": sent})
    assert result.kind == "invalid_arguments" and "- x" in result.text
    assert seen == []


@pytest.mark.parametrize(
    ("annotation", "keywords"),
    [
        (Annotated[int, Field(ge=1, le=3)], {"type": "integer", "minimum": 1, "maximum": 3}),
        (Annotated[str, Field(pattern="^a$")], {"type": "string", "pattern": "^a$"}),
        (Annotated[list[int], Field(min_length=2)], {"type": "array", "minItems": 2}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (dt.date, {"type": "string", "format": "date"}),
        (set[int], {"type": "array", "uniqueItems": True}),
    ],
)
def test_constraints_are_advertised_in_the_words_of_json_schema(
    annotation: Any, keywords: dict[str, object]
) -> None:
    taker, _ = taking(annotation)
    assert keywords.items() <= shown(taker)["x"].items()
    assert "title" not in shown(taker)["x"]


def shown(wanted: Any) -> dict[str, Any]:
    """The advertised properties."""
    properties: dict[str, Any] = wanted.parameters["properties"]
    return properties


@pytest.mark.parametrize(
    "annotation",
    [
        typing.Callable[[int], int],
        collections.abc.Iterator[int],
        typing.IO[str],
        memoryview,
        typing.ClassVar[int],
        type(threading.Lock()),
    ],
    ids=str,
)
def test_a_type_without_json_form_is_refused_with_its_parameter_and_a_fix(annotation: Any) -> None:
    with pytest.raises(DefinitionError, match=r"^take: parameter 'x' has no JSON form .*Injected"):
        taking(annotation)


def test_a_qualifier_that_is_no_type_is_refused_when_the_tool_is_defined() -> None:
    with pytest.raises(DefinitionError, match=r"take: .*Final"):
        taking(typing.Final[int])


# — unknown keys —


def test_models_inside_are_closed_and_say_so() -> None:
    @tool
    def place(point: Point, boxes: dict[str, Box[Point]]) -> str:
        """Place it."""
        return "placed"

    definitions: Any = place.parameters["$defs"]
    assert all(each["additionalProperties"] is False for each in definitions.values())
    result = answered(place, {"point": {"x": 1}, "boxes": {"a": {"held": {"x": 1, "q": 2}}}})
    assert result.kind == "invalid_arguments" and "boxes.a.held.q" in result.text


def test_a_model_that_allows_any_key_keeps_what_was_sent() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int

    taker, seen = taking(Open)
    called(taker, {"x": {"a": 1, "b": "猫"}})
    assert seen[0].model_extra == {"b": "猫"}


@pytest.mark.parametrize(
    ("extra", "kind", "says"),
    [("forbid", "invalid_arguments", "did you mean"), ("ignore", None, "1"), (None, "x", "")],
)
def test_unknown_keys_are_refused_by_default_and_dropped_with_a_note_if_asked(
    extra: Any, kind: str | None, says: str
) -> None:
    options: dict[str, Any] = {"unknown_keys": extra} if extra else {}

    @tool(**options)
    def count(number: int, step: int = 1) -> str:
        """Count."""
        return str(number)

    result = answered(count, {"number": 1, "numbr": 2})
    assert result.kind == (kind if extra else "invalid_arguments")
    assert says in result.text
    assert ("unknown_key_dropped" in str(result.details)) == (extra == "ignore")


def test_any_key_goes_to_the_rest_and_without_a_rest_cannot_be_allowed() -> None:
    @tool(unknown_keys="allow")
    def keep(**rest: int) -> str:
        """Keep."""
        return repr(rest)

    assert called(keep, {"a": 1, "参数": 2}) == "{'a': 1, '参数': 2}"
    assert answered(keep, {"a": "x"}).kind == "invalid_arguments"
    with pytest.raises(DefinitionError, match=r"nothing: unknown_keys='allow' needs a \*\*kwargs"):

        @tool(unknown_keys="allow")
        def nothing(a: int) -> None:
            """Keep nothing."""


# — models that describe the parameters —


class Search(BaseModel):
    """Search for something."""

    query: str = Field(alias="q", min_length=2)
    limit: int = Field(5, ge=1)
    tags: list[str] = Field(default_factory=list)

    @field_validator("query")
    @classmethod
    def no_shouting(cls, value: str) -> str:
        if value.isupper():
            raise ValueError("do not shout")
        return value.strip()


@tool(parameters=Search)
def search(query: str, limit: int, tags: list[str]) -> str:
    return repr((query, limit, tags))


def test_a_model_gives_schema_defaults_aliases_and_its_own_checks() -> None:
    assert list(shown(search)) == ["q", "limit", "tags"]
    assert search.parameters["required"] == ["q"]
    assert search.description == "Search for something."
    assert called(search, {"q": " cat "}) == "('cat', 5, [])"
    assert "do not shout" in answered(search, {"q": "CAT"}).text
    assert answered(search, {"query": "cat"}).kind == "invalid_arguments"


def test_an_aliased_field_survives_a_step_that_changes_another() -> None:
    async def fewer(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(limit=1))

    [result] = Toolset([search]).with_steps(fewer).run_sync([ToolCall("1", "search", {"q": "cat"})])
    assert result.text == "('cat', 1, [])"


def test_checks_of_a_model_stay_when_the_program_fills_some_of_its_fields() -> None:
    class Query(BaseModel):
        n: int
        user: Annotated[str, Injected]

        @field_validator("n", "user")
        @classmethod
        def even(cls, value: Any) -> Any:
            if isinstance(value, int) and value % 2:
                raise ValueError("must be even")
            return value

    @tool(parameters=Query)
    def ask(n: int, user: str) -> str:
        """Ask."""
        return f"{user}{n}"

    run = RunContext(inject={"user": "猫"})
    assert list(shown(ask)) == ["n"]
    assert called(ask, {"n": 2}, run) == "猫2"
    assert "must be even" in answered(ask, {"n": 1}, run).text
    assert answered(ask, {"n": 2, "user": "forged"}, run).kind == "invalid_arguments"


# — reserved names —
