"""How tools are defined. Annotations are real objects here, and deferred ones where Python defers them."""

import asyncio
import enum
import functools
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NotRequired, Optional, TypedDict, Unpack

from pydantic import BaseModel, Field, SecretStr

from toolkeel import (
    BaseTool,
    RunContext,
    Secret,
    SetupError,
    Tool,
    ToolCall,
    ToolMessage,
    Toolset,
    tool,
)


def call(used: Tool, arguments: object) -> ToolMessage:
    [result] = Toolset([used]).run_sync([ToolCall("c", used.name, arguments)])  # type: ignore[arg-type]
    return result


def refusal(function: object) -> str:
    try:
        tool(function)  # type: ignore[call-overload]
    except SetupError as error:
        return str(error)
    return ""


def a_function_is_a_tool_and_stays_a_function() -> None:
    @tool
    def add(a: int, b: int = 2) -> int:
        """Add.

        Args:
            a: The first.
            b: The second.
        """
        return a + b

    assert add(1) == 3 and add.invoke({"a": 1}) == 3
    assert add.parameters["properties"]["a"] == {"type": "integer", "description": "The first."}
    assert add.parameters["required"] == ["a"]


def a_coroutine_function_is_a_tool() -> None:
    @tool
    async def later(text: str) -> str:
        """Repeat a text later."""
        await asyncio.sleep(0)
        return text

    assert call(later, {"text": "ü"}).content == "ü"
    assert asyncio.run(later("ü")) == "ü"


def the_items_of_a_generator_are_collected() -> None:
    @tool
    def count(n: int) -> Iterator[int]:
        """Count."""
        yield from range(n)

    assert call(count, {"n": 3}).content == "[0,1,2]"


def a_method_of_an_object_is_a_tool() -> None:
    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @tool
        def greet(self, who: str) -> str:
            """Greet."""
            return f"{self.name}: {who}"

    assert call(Shop("Ada").greet, {"who": "you"}).content == "Ada: you"
    assert Shop("Bob").greet("me") == "Bob: me"


def a_partial_has_fewer_parameters() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    made = tool(functools.partial(add, b=5), name="add_five")
    assert call(made, {"a": 1}).content == "6"


def a_class_with_settings_is_a_tool() -> None:
    class Greet(BaseTool):
        name = "greet"
        description = "Greet."
        greeting: str = "Hello"

        def _run(self, who: str) -> str:
            return f"{self.greeting}, {who}"

    assert Greet(greeting="你好").invoke("Ada") == "你好, Ada"


def a_schema_with_a_function_is_a_tool() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    double = Tool.from_schema("double", "Double.", schema, lambda _, given: given["n"] * 2)
    assert double.invoke({"n": "21"}) == 42


def unions_take_each_of_their_types() -> None:
    @tool
    def show(value: int | str | None, other: Optional[float] = None) -> str:  # noqa: UP045
        """Show."""
        return repr((value, other))

    assert call(show, {"value": 1}).content == "(1, None)"
    assert call(show, {"value": "a", "other": 1.5}).content == "('a', 1.5)"
    assert call(show, {"value": None}).content == "(None, None)"


@dataclass(slots=True, frozen=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


def a_dataclass_is_a_parameter_and_a_result() -> None:
    @tool
    def move(point: Point, by: int) -> Point:
        """Move a point."""
        return Point(point.x + by, point.y)

    result = call(move, {"point": {"x": 1, "y": 2}, "by": 3})
    assert result.content == '{"x":4,"y":2,"tags":[]}'
    assert move.output_schema is not None and "x" in move.output_schema["properties"]


class Options(TypedDict):
    width: int
    title: NotRequired[str]


def a_typed_dict_is_a_parameter() -> None:
    @tool
    def draw(options: Options) -> str:
        """Draw."""
        return f"{options['width']} {options.get('title', '-')}"

    assert call(draw, {"options": {"width": 3}}).content == "3 -"
    assert "width" in call(draw, {"options": {"title": "x"}}).text


def keywords_of_a_typed_dict_are_parameters() -> None:
    @tool
    def draw(**options: Unpack[Options]) -> int:
        """Draw."""
        return options["width"]

    assert set(draw.parameters["properties"]) == {"width", "title"}
    assert call(draw, {"width": 3}).content == "3"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


def enums_and_literals_are_choices() -> None:
    @tool
    def paint(color: Color, level: Level, kind: Literal["wall", "door"] = "wall") -> str:
        """Paint."""
        return f"{color.name} {level.name} {kind}"

    assert call(paint, {"color": "red", "level": 2}).content == "RED HIGH wall"
    assert "blue" in call(paint, {"color": "green", "level": 1}).text


class Guest(BaseModel):
    name: str
    age: int = Field(ge=0)


def a_pydantic_model_is_a_parameter() -> None:
    @tool
    def book(guests: list[Guest]) -> str:
        """Book."""
        return ",".join(guest.name for guest in guests)

    assert call(book, {"guests": [{"name": "Ada", "age": 36}]}).content == "Ada"
    assert "guests[0].age" in call(book, {"guests": [{"name": "Ada", "age": -1}]}).text


def bounds_of_annotated_types_are_checked() -> None:
    @tool
    def sleep(
        nights: Annotated[int, Field(ge=1, le=30)], note: Annotated[str, "A note."] = ""
    ) -> int:
        """Sleep."""
        return nights

    assert sleep.parameters["properties"]["nights"]["maximum"] == 30
    assert sleep.parameters["properties"]["note"]["description"] == "A note."
    assert call(sleep, {"nights": 31}).kind == "invalid_arguments"


def values_of_the_standard_library_are_read() -> None:
    @tool
    def read(day: date, key: uuid.UUID, cost: Decimal, path: Path, wait: timedelta) -> str:
        """Read."""
        return f"{day.year} {key.int} {cost + 1} {path.name} {wait.seconds}"

    given = {
        "day": "2026-12-24",
        "key": str(uuid.UUID(int=7)),
        "cost": "1.5",
        "path": "a/b",
        "wait": "PT9S",
    }
    assert call(read, given).content == "2026 7 2.5 b 9"


class Pair(NamedTuple):
    first: int
    second: str


def collections_keep_their_types() -> None:
    @tool
    def show(pair: Pair, unique: set[int], both: tuple[int, str], names: dict[str, float]) -> str:
        """Show."""
        return f"{pair.second} {sorted(unique)} {both} {names}"

    given = {
        "pair": {"first": 1, "second": "b"},
        "unique": [2, 1],
        "both": [1, "x"],
        "names": {"ü": 1},
    }
    assert call(show, given).content == "b [1, 2] (1, 'x') {'ü': 1.0}"


def annotations_as_text_are_resolved() -> None:
    @tool
    def paint(color: "Color", points: "list[Point]") -> str:
        """Paint."""
        return f"{color.name} {points[0].x}"

    assert call(paint, {"color": "blue", "points": [{"x": 1}]}).content == "BLUE 1"


def local_classes_are_parameters() -> None:
    @dataclass
    class Box:
        size: int

    @tool
    def pack(box: Box) -> int:
        """Pack."""
        return box.size

    assert call(pack, {"box": {"size": 4}}).content == "4"


def mutable_defaults_are_not_shared() -> None:
    @tool
    def gather(item: str, items: list[str] = []) -> list[str]:  # noqa: B006
        """Gather."""
        items.append(item)
        return items

    assert [call(gather, {"item": each}).content for each in "ab"] == ['["a"]', '["b"]']


def a_parameter_without_a_type_takes_any_json() -> None:
    def show(value):  # type: ignore[no-untyped-def]
        """Show."""
        return repr(value)

    made = tool(show)
    assert [call(made, {"value": each}).content for each in (1, [None])] == ["1", "[None]"]


def a_tool_without_a_description_is_warned_about() -> None:
    def bare(value: int) -> int:
        return value

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tool(bare)
    assert "description" in str(caught[0].message) and caught[0].filename == __file__


def a_result_without_a_json_form_is_refused_with_the_fix() -> None:
    class Frame:
        """No data."""

    def load() -> Frame:
        """Load."""
        return Frame()

    assert "load" in (text := refusal(load)) and "Frame" in text


def a_secret_is_in_no_event() -> None:
    @tool
    def login(password: Annotated[str, Secret()], key: SecretStr) -> str:
        """Log in."""
        return f"{len(password)} {len(key.get_secret_value())}"

    events: list[object] = []
    run = RunContext(listeners=(events.append,))
    given = {"password": "hunter2", "key": "swordfish"}
    [result] = Toolset([login]).run_sync([ToolCall("c", "login", given)], run)  # type: ignore[arg-type]
    assert result.content == "7 9"
    assert not any(secret in repr(events) for secret in given.values())
