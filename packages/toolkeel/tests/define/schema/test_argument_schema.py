"""Parameters of every type arrive as what their annotations say, and as nothing else."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import json
import math
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, Union

import pytest
import typing_extensions
from annotated_types import Ge, MultipleOf
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, StringConstraints

from toolkeel import Toolset, tool
from toolkeel.call.arguments.canonical_arguments import revalidate
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.output_type import compile_output_form
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, DefinitionError, InvalidArguments
from toolkeel.messages import ToolCall

# — types of every kind —


class Colour(enum.Enum):
    """Values of two types."""

    RED = "red"
    FOUR = 4


class Size(enum.IntEnum):
    """Numbers with names."""

    SMALL = 1
    LARGE = 2


class Point(BaseModel):
    """A model."""

    x: int
    y: float = 0.0


class Tree(BaseModel):
    """A model that holds itself."""

    name: str
    children: list[Tree] = []


class Renamed(BaseModel):
    """A model with another name on the wire."""

    inner: int = Field(alias="outer")


@dataclasses.dataclass
class Line:
    """A dataclass."""

    start: Point
    label: str = "line"


class Address(typing.TypedDict):
    """An old typed dict."""

    street: str
    zip: typing.NotRequired[int]


class Half(typing.TypedDict, total=False):
    """One whose keys may all be absent."""

    note: str


class Whole(Half):
    """One that adds a key which must not."""

    id: int


class Folder(typing.TypedDict):
    """An old typed dict that holds itself."""

    name: str
    inside: list[Folder]


class Modern(typing_extensions.TypedDict):
    """A typed dict pydantic knows."""

    home: dict[str, int]


class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: str = "r"


UserId = NewType("UserId", int)
JsonLike = Union[str, int, list["JsonLike"]]  # noqa: UP007 - a name that stands for itself

NOON = dt.datetime(2026, 11, 21, 12, 30, tzinfo=dt.UTC)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

ARRIVE: list[tuple[Any, str, object]] = [
    (str, '"猫"', "猫"),
    (int, "5", 5),
    (int, "123456789012345678901234567890", 123456789012345678901234567890),
    (float, "1.5", 1.5),
    (float, "3", 3.0),
    (bool, "true", True),
    (None, "null", None),
    (list, '[1, "a"]', [1, "a"]),
    (list[int], "[1, 2]", [1, 2]),
    (dict, '{"a": 1}', {"a": 1}),
    (dict[str, list[int]], '{"a": [1]}', {"a": [1]}),
    (dict[int, str], '{"1": "a"}', {1: "a"}),
    (tuple[int, str], '[1, "a"]', (1, "a")),
    (tuple[int, ...], "[1, 2, 3]", (1, 2, 3)),
    (set[int], "[1, 2]", {1, 2}),
    (frozenset[str], '["a"]', frozenset({"a"})),
    (collections.deque[int], "[1]", collections.deque([1])),
    (Sequence[int], "[1]", [1]),
    (Mapping[str, int], '{"a": 1}', {"a": 1}),
    (Optional[int], "null", None),  # noqa: UP045 - both spellings are in use
    (int | None, "5", 5),
    (Union[int, str], '"a"', "a"),  # noqa: UP007
    (int | str, "5", 5),
    (Literal["a", 1, True], "true", True),
    (Literal["a", 1, True], "1", 1),
    (Colour, '"red"', Colour.RED),
    (Colour, "4", Colour.FOUR),
    (Size, "2", Size.LARGE),
    (Point, '{"x": 1, "y": 2}', Point(x=1, y=2.0)),
    (list[Point], '[{"x": 1}]', [Point(x=1)]),
    (Tree, '{"name": "a", "children": [{"name": "b"}]}', Tree(name="a", children=[Tree(name="b")])),
    (Renamed, '{"outer": 1}', Renamed(outer=1)),
    (Line, '{"start": {"x": 1}}', Line(Point(x=1))),
    (Address, '{"street": "s"}', {"street": "s"}),
    (Whole, '{"id": 1}', {"id": 1}),
    (Folder, '{"name": "a", "inside": [{"name": "b", "inside": []}]}',
     {"name": "a", "inside": [{"name": "b", "inside": []}]}),
    (Modern, '{"home": {"zip": 1}}', {"home": {"zip": 1}}),
    (Address | None, "null", None),
    (Pair, '{"left": 1, "right": "b"}', Pair(1, "b")),
    (dt.date, '"2026-11-21"', dt.date(2026, 11, 21)),
    (dt.datetime, '"2026-11-21T12:30:00Z"', NOON),
    (dt.time, '"12:30:00"', dt.time(12, 30)),
    (dt.timedelta, '"PT1H"', dt.timedelta(hours=1)),
    (uuid.UUID, f'"{ID}"', ID),
    (decimal.Decimal, '"1.10"', decimal.Decimal("1.10")),
    (decimal.Decimal, "2", decimal.Decimal(2)),
    (pathlib.Path, '"a/b.txt"', pathlib.Path("a/b.txt")),
    (bytes, '"abc"', b"abc"),
    (re.Pattern[str], '"a+"', re.compile("a+")),
    (ipaddress.IPv4Address, '"127.0.0.1"', ipaddress.IPv4Address("127.0.0.1")),
    (UserId, "7", 7),
    (Any, '{"a": [1, null]}', {"a": [1, None]}),
    (object, "1", 1),
]  # fmt: skip


def takes(annotation: Any, default: Any = ...) -> tuple[AnyTool, list[Any]]:
    """A tool of one parameter, and what its body received."""
    got: list[Any] = []

    def body(x: Any) -> None:
        got.append(x)

    body.__annotations__["x"] = annotation
    if default is not ...:
        body.__defaults__ = (default,)
    return tool("takes", description="Take one value.")(body), got


@pytest.mark.parametrize(("annotation", "text", "value"), ARRIVE)
def test_a_value_arrives_as_the_type_that_its_annotation_says(
    annotation: Any, text: str, value: object
) -> None:
    made, got = takes(annotation)
    made.invoke(f'{{"x": {text}}}')
    assert got == [value]
    assert type(got[0]) is type(value)
    schema = json.dumps(made.parameters, allow_nan=False)
    assert json.loads(schema)["required"] == ["x"]


@pytest.mark.parametrize(("annotation", "text", "value"), ARRIVE)
def test_arguments_have_a_canonical_form_that_validates_to_the_same_values(
    annotation: Any, text: str, value: object
) -> None:
    """What a person approves is shown in this form, and made anew from it."""
    made, _ = takes(annotation)
    prepared = prepare(ToolCall("1", "takes", f'{{"x": {text}}}'), made)
    again = revalidate(prepared)
    assert again.arguments == prepared.arguments
    assert type(again.arguments["x"]) is type(prepared.arguments["x"])


REFUSED: list[tuple[Any, str]] = [
    (str, "5"),
    (int, "true"),
    (int, "5.5"),
    (int, '"5.5"'),
    (int, '""'),
    (float, "true"),
    (bool, "1"),
    (bool, '"yes"'),
    (list[int], '"x"'),
    (list[int], '[1, "a"]'),
    (tuple[int, str], "[1]"),
    (set[int], '["a"]'),
    (int | None, '"a"'),
    (Literal["a"], '"b"'),
    (Colour, '"blue"'),
    (Size, "3"),
    (Point, '{"y": 1}'),
    (Point, '{"x": 1, "z": 1}'),
    (Tree, '{"name": "a", "children": [{}]}'),
    (Renamed, '{"inner": 1}'),
    (Address, "{}"),
    (Whole, '{"note": "x"}'),
    (Folder, '{"name": "a", "inside": [{}]}'),
    (Modern, '{"home": {"zip": "x"}}'),
    (Pair, "[]"),
    (Pair, '[1, "b"]'),
    (dt.date, '"tomorrow"'),
    (uuid.UUID, '"x"'),
    (decimal.Decimal, '"x"'),
]


@pytest.mark.parametrize(("annotation", "text"), REFUSED)
def test_a_value_of_another_kind_is_refused_with_its_path(annotation: Any, text: str) -> None:
    made, got = takes(annotation)
    with pytest.raises(InvalidArguments) as raised:
        made.invoke(f'{{"x": {text}}}')
    assert got == []
    assert all(error.path[:1] == ("x",) for error in raised.value.errors)
    assert raised.value.errors


# — constraints —


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Annotated[int, Field(ge=1, le=3)], 3, 4),
        (Annotated[int, Field(gt=1, lt=3)], 2, 3),
        (Annotated[int, Ge(1), MultipleOf(2)], 2, 3),
        (Annotated[float, Field(multiple_of=0.5)], 1.5, 1.3),
        (Annotated[str, Field(min_length=1, max_length=2)], "ab", "abc"),
        (Annotated[str, StringConstraints(pattern="^a+$")], "aa", "b"),
        (Annotated[list[int], Field(min_length=1)], [1], []),
        (list[Annotated[int, Field(ge=0)]], [0], [-1]),
        (Annotated[str, AfterValidator(str.lower)], "a", 5),
    ],
)
def test_constraints_are_advertised_or_enforced(annotation: Any, good: object, bad: object) -> None:
    made, got = takes(annotation)
    made.invoke({"x": good})
    assert got == [good]
    with pytest.raises(InvalidArguments):
        made.invoke({"x": bad})
    assert len(got) == 1


def test_a_validators_own_error_of_another_kind_is_not_blamed_on_the_model() -> None:
    def broken(value: str) -> str:
        raise LookupError("the validator's own fault")

    made, _ = takes(Annotated[str, AfterValidator(broken)])
    [result] = Toolset([made]).run_sync([ToolCall("1", "takes", {"x": "a"})])
    assert result.kind == "crashed"


# — defaults —


def test_an_absent_value_leaves_the_functions_own_default() -> None:
    @tool
    def defaults(
        a: int = 1,
        b: list[int] = [1],  # noqa: B006 - what some people write
        c: int = Field(default=3, ge=1),
        d: Annotated[int, Field(default=4)] = ...,  # type: ignore[assignment]
        e: list[int] = Field(default_factory=lambda: [5]),  # noqa: B008 - how pydantic's users write
        f: Annotated[list[int], Field(default=[6])] = ...,  # type: ignore[assignment]
        g: Colour = Colour.RED,
        h: float = math.inf,
        i: str | None = None,
    ) -> Any:
        """Have defaults of every kind."""
        e.append(0)
        f.append(0)
        return a, b, c, d, e, f, g, h, i

    expected = (1, [1], 3, 4, [5, 0], [6, 0], Colour.RED, math.inf, None)
    for _ in range(3):  # made anew each time
        assert defaults.invoke({}) == expected
    assert "required" not in defaults.parameters
    shown = {n: p.get("default") for n, p in defaults.parameters["properties"].items()}  # type: ignore[attr-defined]
    assert shown == {"a": 1, "b": [1], "c": 3, "d": 4, "e": None, "f": [6], "g": "red", "h": None,
                     "i": None}  # fmt: skip
    assert "default" in defaults.parameters["properties"]["i"]  # type: ignore[index]
    json.dumps(defaults.parameters, allow_nan=False)


def test_a_default_without_json_form_is_refused_when_the_tool_is_defined() -> None:
    with pytest.raises(DefinitionError, match=r"takes: the default of parameter 'x' .* use None"):
        takes(int, object())


# — names —


def test_every_legal_parameter_name_works_even_those_that_pydantic_uses_itself() -> None:
    @tool
    def names(model_config: int, json: str, schema: str, _x: int, y_: int, 城市: str) -> Any:
        """Use unusual names."""
        return model_config, json, schema, _x, y_, 城市

    given = {"model_config": 1, "json": "j", "schema": "s", "_x": 2, "y_": 3, "城市": "北京"}
    assert names.invoke(given) == (1, "j", "s", 2, 3, "北京")


@pytest.mark.parametrize(
    "alias",
    [
        Field(alias="from"),
        Field(validation_alias="from"),
        Field(validation_alias=AliasChoices("from", "source")),
    ],
)
def test_an_alias_is_what_the_model_sees_and_sends(alias: Any) -> None:
    got: list[object] = []

    async def stay(prepared: Any, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(n=2))

    def body(from_: Any = "nobody", n: int = 1) -> None:
        got.append((from_, n))

    body.__annotations__["from_"] = Annotated[str, alias]
    made = tool("body", description="Take an alias.", steps=[stay])(body)
    assert list(made.parameters["properties"]) == ["from", "n"]  # type: ignore[call-overload]
    assert made.parameters["properties"]["from"]["default"] == "nobody"  # type: ignore[index]
    made.invoke({"from": "a"})
    made.invoke({})
    assert got == [("a", 2), ("nobody", 2)]
    with pytest.raises(InvalidArguments, match="from_"):
        made.invoke({"from_": "a"})


# — unknown keys —


class Open(BaseModel):
    """A model that takes any key, on purpose."""

    model_config = ConfigDict(extra="allow")
    a: int = 0


@tool
def mixed(
    closed: Point | None = None,
    open: Open | None = None,
    many: list[Point] = [],  # noqa: B006
    named: dict[str, Point] = {},  # noqa: B006
) -> Any:
    """Take what is open and what is closed."""
    return closed, open


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"closed": {"x": 1, "zz": 1}}, ("closed", "zz")),
        ({"many": [{"x": 1}, {"x": 1, "zz": 1}]}, ("many", 1, "zz")),
        ({"named": {"k": {"x": 1, "zz": 1}}}, ("named", "k", "zz")),
        ({"zz": 1}, ("zz",)),
    ],
)
def test_beside_an_open_object_the_closed_ones_stay_closed(
    arguments: dict[str, object], path: tuple[object, ...]
) -> None:
    with pytest.raises(InvalidArguments) as raised:
        mixed.invoke(arguments)
    assert [error.path for error in raised.value.errors] == [path]
    assert mixed.invoke({"open": {"zz": 1}})[1].zz == 1


@pytest.mark.parametrize("extra", ["forbid", "ignore", "allow"])
def test_an_unknown_key_is_refused_dropped_with_a_note_or_passed_on(extra: Any) -> None:
    def body(a: int) -> str:
        return str(a)

    def greedy(a: int, **rest: Any) -> str:
        return f"{a} {rest}"

    if extra == "allow":
        with pytest.raises(DefinitionError, match=r"unknown_keys='allow' needs a \*\*kwargs"):
            tool("body", unknown_keys=extra)(body)
    made = tool("body", unknown_keys=extra)(greedy if extra == "allow" else body)
    [result] = Toolset([made]).run_sync([ToolCall("1", "body", {"a": 1, "b": 2})])
    assert (result.kind, result.content) == {
        "forbid": ("invalid_arguments", result.content),
        "ignore": (None, "1"),
        "allow": (None, "1 {'b': 2}"),
    }[extra]
    assert ("coerced" in result.details) == (extra == "ignore")


def test_the_rest_of_the_arguments_is_validated_by_its_annotation() -> None:
    @tool
    def totals(*numbers: int, **named: float) -> Any:
        """Take numbers."""
        return numbers, named

    assert totals.invoke({"numbers": [1, 2], "a": 1.5}) == ((1, 2), {"a": 1.5})
    for bad in ({"numbers": ["x"]}, {"a": "x"}):
        with pytest.raises(InvalidArguments):
            totals.invoke(bad)


# — what cannot be told to a model —


class Odd:
    """A class without JSON form."""


@pytest.mark.parametrize(
    "annotation",
    [
        Odd, typing.Callable[[int], int], list[Odd], typing.Final[int], typing.IO[str],
        int | dict[tuple[int, int], int] | None,  # of which pydantic would take {} all the same
    ],
)  # fmt: skip
def test_a_type_without_json_form_is_refused_by_name_when_the_tool_is_defined(
    annotation: Any,
) -> None:
    with pytest.raises(DefinitionError, match=r"takes: parameter 'x' has no JSON form .*Injected"):
        takes(annotation)


@given(
    st.recursive(
        st.sampled_from([Odd, Odd(), int, 3, print, ..., object(), typing.IO[str]]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | inner.map(lambda a: {"a": a})
            | inner.map(lambda a: types.GenericAlias(list, (a,)))
            | inner.map(lambda a: types.GenericAlias(dict, (str, a)))
        ),
        max_leaves=4,
    )
)
def test_whatever_is_given_as_a_type_pydantics_advice_is_not_told(annotation: Any) -> None:
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__["x"] = annotation
    for made in (lambda: tool(take), lambda: compile_output_form(annotation)):
        try:
            made()
        except DefinitionError as error:
            assert not re.search("pydantic|model_config|arbitrary", str(error)), error


def test_an_old_typed_dict_where_it_cannot_be_replaced_is_refused_with_the_fix() -> None:
    @dataclasses.dataclass
    class Holds:
        address: Address

    if sys.version_info < (3, 12):
        with pytest.raises(DefinitionError, match=r"'x'.*typing_extensions"):
            takes(Holds)
    else:
        takes(Holds)[0].invoke({"x": {"address": {"street": "s"}}})


# — any signature —

JSON_OF: list[tuple[Any, Any]] = [
    (int, st.integers()),
    (str, st.text(st.characters(exclude_categories=["Cs"]))),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (list[int], st.lists(st.integers(), max_size=3)),
    (dict[str, int], st.dictionaries(st.text("abc"), st.integers(), max_size=3)),
    (int | None, st.none() | st.integers()),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (tuple[int, str], st.tuples(st.integers(), st.text("xyz")).map(list)),
    (Address, st.fixed_dictionaries({"street": st.text("st")}, optional={"zip": st.integers()})),
    (Any, st.none() | st.booleans() | st.integers() | st.text("猫")),
]
names = st.text("abcxyz_", min_size=1, max_size=4).filter(
    lambda text: text.isidentifier() and not text.startswith("__")
)


@st.composite
def functions(draw: st.DrawFn) -> tuple[Any, dict[str, Any], Any]:
    """A function of any shape, JSON arguments for it, and what it must return for them."""
    taken = draw(st.lists(names.filter(lambda n: n not in ("def", "as")), unique=True, max_size=6))
    assume(not any(name in ("if", "in", "is", "or") for name in taken))
    kinds = sorted(draw(st.lists(st.sampled_from([0, 1, 3]), min_size=len(taken),
                                 max_size=len(taken))))  # fmt: skip
    has_args, has_kwargs = draw(st.booleans()), draw(st.booleans())
    scope: dict[str, Any] = {}
    heads: list[str] = []
    given: dict[str, Any] = {}
    expected: list[object] = []
    optional = False
    for index, (name, kind) in enumerate(zip(taken, kinds, strict=True)):
        if kind and index and not kinds[index - 1]:
            heads.append("/")
        if kind == 3 and (not index or kinds[index - 1] != 3):
            heads.append("*rest_: int" if has_args else "*")
            optional = False
        annotation, values = draw(st.sampled_from(JSON_OF))
        scope[f"T{index}"], scope[f"D{index}"] = annotation, draw(st.none() | values)
        optional = draw(st.booleans()) if kind == 3 else optional or draw(st.booleans())
        heads.append(f"{name}: T{index}" + (f" = D{index}" if optional else ""))
        if not optional or draw(st.booleans()):
            given[name] = draw(values)
            expected.append(tuple(given[name]) if annotation == tuple[int, str] else given[name])
        else:
            expected.append(scope[f"D{index}"])
    if kinds and kinds[-1] == 0:
        heads.append("/")
    args_last = has_args and 3 not in kinds
    if args_last:
        heads.append("*rest_: int")
    if has_kwargs:
        heads.append("**more_: int")
    rest: tuple[int, ...] = ()
    if has_args and (args_last or 3 in kinds) and draw(st.booleans()):
        rest = tuple(draw(st.lists(st.integers(), min_size=1, max_size=3)))
        given["rest_"] = list(rest)
    more: dict[str, int] = {}
    if has_kwargs and draw(st.booleans()):
        more = {"extra_key": draw(st.integers())}
        given |= more
    values_of = ", ".join(
        [*taken, *(["rest_"] if has_args else []), *(["more_"] if has_kwargs else [])]
    )
    source = f"def made({', '.join(heads)}):\n    return ({values_of}{',' if values_of else ''})"
    exec(source, scope)
    expected += [rest] if has_args else []
    expected += [more] if has_kwargs else []
    return scope["made"], given, tuple(expected)


@given(functions(), st.booleans())
@settings(max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_function_of_any_shape_receives_exactly_what_was_sent(
    case: tuple[Any, dict[str, Any], Any], as_text: bool
) -> None:
    function, given, expected = case
    made = tool("made", description="Return the arguments.")(function)
    got = made.invoke(json.dumps(given) if as_text else given)
    assert got == expected
    assert [type(value) for value in got] == [type(value) for value in expected]


@given(functions(), st.data())
@settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much])
def test_a_function_of_any_shape_refuses_what_its_schema_refuses(
    case: tuple[Any, dict[str, Any], Any], data: st.DataObject
) -> None:
    function, given, _ = case
    made = tool("made", description="Return the arguments.")(function)
    required = made.parameters.get("required", [])
    assert isinstance(required, list)
    assume(required)
    left_out = data.draw(st.sampled_from(required))
    with pytest.raises(CallError) as raised:
        made.invoke({key: value for key, value in given.items() if key != left_out})
    assert raised.value.kind == "invalid_arguments"
    assert left_out in raised.value.text


def test_a_name_that_is_not_advertised_is_named_beside_the_other_faults() -> None:
    @tool
    def take(a: Annotated[int, Field(alias="A")], c: int = 0, **rest: int) -> str:
        """Take numbers."""
        return ""

    with pytest.raises(InvalidArguments) as error:
        take.arguments.validate_value({"a": 1, "A": 2, "c": "no"})
    assert [each.path for each in error.value.errors] == [("a",), ("c",)]
