"""Reading callables of every kind: names, parameters, annotations written late, how bodies run."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import math
import operator
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Required, Unpack

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tests.define.calling import answered, called
from toolkeel import Injected, RunContext, Tool, ToolCall, ToolContext, Toolset, tool
from toolkeel.define.reading.signature import function_name, read_signature
from toolkeel.errors import DefinitionError, InvalidArguments

if TYPE_CHECKING:

    class Keys(TypedDict):
        """Only there for type checkers."""


def properties(made: Tool[..., Any]) -> dict[str, Any]:
    found = made.parameters["properties"]
    assert isinstance(found, dict)
    return found


# — callables —


class Counter:
    """Something with methods."""

    def __init__(self, start: int = 0) -> None:
        self.start = start

    @tool
    def add(self, n: int) -> int:
        """Add to the start."""
        return self.start + n

    @tool
    async def add_later(self, n: int) -> int:
        """Add to the start, later."""
        await asyncio.sleep(0)
        return self.start + n

    @staticmethod
    @tool
    def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    @tool
    @staticmethod
    def triple(n: int) -> int:
        """Triple a number."""
        return 3 * n

    @tool(name="named")
    @classmethod
    def named(cls, n: int) -> str:
        """Say the class and a number."""
        return f"{cls.__name__} {n}"

    @classmethod
    @tool
    def above(cls, n: int) -> str:
        """Say the class and a number."""
        return f"{cls.__name__} {n}"

    def plain(self, n: int) -> int:
        """Add to the start, as a plain method."""
        return self.start + n

    @classmethod
    def plain_named(cls, n: int) -> str:
        """Say the class and a number."""
        return f"{cls.__name__} {n}"


class Greeter:
    """Greet somebody."""

    def __call__(self, who: str, times: int = 1) -> str:
        return " ".join([f"hi {who}"] * times)


class LateGreeter:
    """Greet somebody, later."""

    async def __call__(self, who: str) -> str:
        await asyncio.sleep(0)
        return f"hi {who}"


class Sum:
    """Made of two numbers."""

    def __init__(self, a: int, b: int = 2) -> None:
        self.total = a + b

    def __str__(self) -> str:
        return str(self.total)


class Person(BaseModel):
    """Made by pydantic."""

    name: str
    age: int = 0


def power(base: float, exponent: float = 2.0, *, digits: int = 1) -> float:
    """Raise to a power."""
    return round(base**exponent, digits)


def test_a_method_is_bound_to_its_instance_and_hides_self() -> None:
    one, ten = Counter(1), Counter(10)
    assert list(properties(one.add)) == ["n"]
    assert (one.add.invoke({"n": 1}), ten.add.invoke({"n": 1})) == (2, 11)
    assert ten.add_later.invoke({"n": 1}) == 11
    assert one.add(5) == 6
    results = Toolset([ten.add, ten.add_later]).run_sync(
        [ToolCall("1", "add", {"n": 2}), ToolCall("2", "add_later", {"n": 3})]
    )
    assert [r.content for r in results] == ["12", "13"]


def test_static_and_class_methods_are_tools_of_the_class_and_of_its_instances() -> None:
    assert Counter.double.invoke({"n": 2}) == Counter().double.invoke({"n": 2}) == 4
    assert Counter.triple.invoke({"n": 2}) == Counter().triple.invoke({"n": 2}) == 6
    assert Counter.named.invoke({"n": 2}) == Counter().named.invoke({"n": 2}) == "Counter 2"
    assert list(properties(Counter.named)) == ["n"]
    assert Counter.named(3) == "Counter 3"
    [result] = Toolset([Counter.named]).run_sync([ToolCall("1", "named", {"n": 1})])
    assert result.content == "Counter 1"


def test_a_class_method_around_a_tool_works_where_python_binds_it_and_else_says_so() -> None:
    """Since Python 3.13 a class method no longer binds the descriptor inside it."""
    if sys.version_info < (3, 13):
        assert Counter.above.invoke({"n": 2}) == "Counter 2"
    else:
        with pytest.raises(DefinitionError, match="put @tool above @classmethod"):
            Counter.above.invoke({"n": 2})


def test_a_method_without_its_instance_is_refused_before_it_runs() -> None:
    for use in (lambda: Toolset([Counter.add]), lambda: Counter.add.invoke({"n": 1})):
        with pytest.raises(DefinitionError, match=r"add: it is a method without.*instance\.add"):
            use()


@pytest.mark.parametrize(
    ("function", "name", "arguments", "value"),
    [
        (Counter(3).plain, "plain", {"n": 4}, 7),
        (Counter.plain_named, "plain_named", {"n": 4}, "Counter 4"),
        (Greeter(), "greeter", {"who": "Ada", "times": 2}, "hi Ada hi Ada"),
        (LateGreeter(), "late_greeter", {"who": "Ada"}, "hi Ada"),
        (functools.partial(power, exponent=3.0), "power", {"base": 2.0}, 8.0),
        (functools.partial(power, 2.0), "power", {"exponent": 3.0}, 8.0),
        (functools.partial(functools.partial(power, 2.0), digits=0), "power", {}, 4.0),
        (functools.partial(Greeter(), times=2), "greeter", {"who": "a"}, "hi a hi a"),
        (math.hypot, "hypot", {"coordinates": [3, 4]}, 5.0),
        (operator.add, "add", {"a": 1, "b": 2}, 3),
        (Person, "Person", {"name": "Ada", "age": 36}, Person(name="Ada", age=36)),
    ],
)
def test_any_callable_becomes_a_tool(
    function: Callable[..., Any], name: str, arguments: dict[str, object], value: object
) -> None:
    try:
        made = tool(function)
    except DefinitionError as error:  # not every builtin tells its signature in every version
        assert "its signature cannot be read" in str(error)
        return
    assert made.name == name
    assert made.invoke(arguments) == value


def test_a_class_is_called_with_the_types_of_its_constructor() -> None:
    made = tool(Sum)
    assert made.invoke({"a": 1}).total == 3
    with pytest.raises(InvalidArguments):
        made.invoke({"a": "one"})


def test_a_lambda_needs_a_name_and_works_with_one() -> None:
    with pytest.raises(DefinitionError, match="a lambda has no name: give it one"):
        tool(lambda x: x)
    assert tool("echo")(lambda x: x).invoke({"x": [1]}) == [1]


def test_a_function_that_is_wrapped_shows_the_signature_of_the_inner_one() -> None:
    def shout(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return wrapper

    @tool
    @shout
    def greet(who: str) -> str:
        """Greet."""
        return f"hi {who}"

    assert list(properties(greet)) == ["who"]
    assert greet.invoke({"who": "Ada"}) == "HI ADA"


def test_a_sync_wrapper_of_an_async_function_is_awaited() -> None:
    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @wrapped
    async def later(n: int) -> int:
        """Wait."""
        await asyncio.sleep(0)
        return n

    assert later.invoke({"n": 3}) == 3


@pytest.mark.parametrize("thing", [5, "text", None, object()])
def test_what_is_no_callable_is_refused(thing: Any) -> None:
    with pytest.raises(DefinitionError):
        tool("name")(thing)


def test_a_name_in_snake_case_is_made_of_a_class_name() -> None:
    class HTTPFetcher2Go:
        def __call__(self) -> None: ...

    assert function_name(Greeter()) == "greeter"
    assert function_name(HTTPFetcher2Go()).islower()


# — what a partial fixed —


def test_what_a_partial_fixed_is_neither_shown_nor_taken_from_the_model() -> None:
    def fetch(url: str, token: str = "none", **options: Any) -> str:
        """Fetch."""
        return f"{url} {token} {sorted(options)}"

    made = tool(functools.partial(fetch, token="s3cret"))
    assert list(properties(made)) == ["url"]
    assert made.invoke({"url": "u", "token": "forged", "x": 1}) == "u s3cret ['x']"
    made = tool(functools.partial(fetch, "fixed"))
    assert made.invoke({"url": "forged"}) == "fixed none []"
    strict = tool(functools.partial(power, exponent=3.0))
    with pytest.raises(InvalidArguments, match="exponent"):
        strict.invoke({"base": 2, "exponent": 1})


# — how bodies run —


def _sync() -> None: ...
async def _async() -> None: ...
def _generator() -> Iterator[int]:
    yield 1


async def _async_generator() -> AsyncIterator[int]:
    yield 1


class _AsyncCallable:
    async def __call__(self) -> None: ...


class _GeneratorCallable:
    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    ("function", "body"),
    [
        (_sync, "sync"),
        (_async, "async"),
        (_generator, "generator"),
        (_async_generator, "async_generator"),
        (functools.partial(_async), "async"),
        (functools.partial(functools.partial(_async_generator)), "async_generator"),
        (_AsyncCallable(), "async"),
        (_GeneratorCallable(), "generator"),
        (functools.partial(_AsyncCallable()), "async"),
        (Counter().plain, "sync"),
        (len, "sync"),
    ],
)
def test_how_a_body_runs_is_seen_through_partials_methods_and_objects(
    function: Callable[..., Any], body: str
) -> None:
    assert read_signature(function, "name", None).body == body


# — annotations —


class Base(TypedDict):
    size: int


class Options(Base, total=False):
    must: Required[Annotated[int, Field(ge=1)]]
    unit: str
    token: Annotated[str, Injected]


def test_keys_that_are_unpacked_are_parameters_of_their_own() -> None:
    @tool
    def measure(n: int, **options: Unpack[Options]) -> dict[str, Any]:
        """Measure.

        Args:
            n: How often.
            unit: What in.
        """
        return {"n": n, **options}

    assert measure.parameters == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "How often."},
            "size": {"type": "integer"},
            "must": {"type": "integer", "minimum": 1},
            "unit": {"type": "string", "description": "What in."},
        },
        "required": ["n", "size", "must"],
        "additionalProperties": False,
    }
    run: RunContext[Any] = RunContext(inject={"token": "t"})
    sent = {"n": 1, "size": "2", "must": 3}
    assert json.loads(called(measure, sent, run)) == {"n": 1, "size": 2, "must": 3, "token": "t"}
    whole = {"n": 1, "size": 2, "must": 3, "unit": "m"}
    assert json.loads(called(measure, whole, run)) == {**whole, "token": "t"}
    refused = answered(measure, {"n": 1, "size": 2, "must": 0, "token": "forged"}, run)
    assert refused.kind == "invalid_arguments"
    assert "must" in refused.text and "token" in refused.text


def test_what_is_unpacked_and_no_dictionary_of_known_keys_is_refused_with_the_fix() -> None:
    with pytest.raises(DefinitionError, match=r"late: parameter 'options'.*keyword-only"):

        @tool
        def late(**options: Unpack[tuple[int]]) -> None:  # type: ignore[valid-type]
            """Unpack."""

    with pytest.raises(
        DefinitionError, match=r"late: parameter '\*numbers'.*numbers: tuple\[int, str\]"
    ):

        @tool("late")
        def late_too(*numbers: Unpack[tuple[int, str]]) -> None:  # noqa: UP044
            """Unpack."""


def test_values_unpacked_from_a_tuple_of_one_type_are_as_values_of_that_type() -> None:
    @tool
    def total(*numbers: Unpack[tuple[int, ...]]) -> int:  # noqa: UP044
        """Add up."""
        return sum(numbers)

    properties: Any = total.parameters["properties"]
    assert properties["numbers"]["items"] == {"type": "integer"}
    assert total.invoke({"numbers": [1, 2]}) == 3


def test_a_key_that_is_unpacked_over_a_parameter_is_refused_with_the_fix() -> None:
    with pytest.raises(DefinitionError, match=r"Base has a key 'size'.*rename"):

        @tool
        def twice(size: int, **options: Unpack[Base]) -> None:  # type: ignore[misc]
            """Take two."""


@dataclasses.dataclass
class Order:
    """Order something."""

    item: str
    notes: list[str] = dataclasses.field(default_factory=list)


def test_a_dataclass_makes_what_was_left_out() -> None:
    order = tool(Order)
    assert properties(order) == {
        "item": {"type": "string"},
        "notes": {"type": "array", "items": {"type": "string"}},
    }
    assert json.loads(called(order, {"item": "tea"})) == {"item": "tea", "notes": []}


def test_a_function_that_chooses_by_type_gets_its_first_parameter_by_place() -> None:
    @functools.singledispatch
    def show(value: int | str, end: str = "!") -> str:
        """Show it."""
        return f"something{end}"

    show.register(int, lambda value, end="!": f"the number {value}{end}")
    assert called(tool("show")(show), {"value": 5}) == "the number 5!"
    assert called(tool("show")(show), {"value": "x", "end": "?"}) == "something?"


# — the names of receivers —


class Receives:
    def method(self, n: int, **rest: Any) -> str:
        """Take anything."""
        return f"{n} {rest}"

    @classmethod
    def of_class(klass, n: int, **rest: Any) -> str:  # noqa: N804
        """Take anything."""
        return f"{n} {rest}"

    @staticmethod
    def of_nobody(self: str, **rest: Any) -> str:
        """Take anything."""
        return f"{self} {rest}"

    def __call__(this, n: int, **rest: Any) -> str:  # noqa: N805
        """Take anything."""
        return f"{n} {rest}"

    def apart(self, n: int, /, **rest: Any) -> str:
        """Take anything."""
        return f"{n} {rest}"

    @tool
    def decorated(self, n: int, **rest: Any) -> str:
        """Take anything."""
        return f"{n} {rest}"


def plain(n: int, **rest: Any) -> str:
    """Take anything."""
    return f"{n} {rest}"


@pytest.mark.parametrize(
    ("function", "sent", "result"),
    [
        (Receives().method, {"n": 1, "self": 2, "x": 3}, "1 {'x': 3}"),
        (Receives.of_class, {"n": 1, "klass": 2, "self": 3}, "1 {'self': 3}"),
        (Receives.of_nobody, {"self": "me", "cls": 3}, "me {'cls': 3}"),
        (Receives(), {"n": 1, "this": 2, "self": 3}, "1 {'self': 3}"),
        (Receives().apart, {"n": 1, "x": 2}, "1 {'x': 2}"),
        (Receives().decorated, {"n": 1, "self": 2, "x": 3}, "1 {'x': 3}"),
        (functools.partial(Receives().method, 5), {"self": 2, "n": 3, "x": 4}, "5 {'x': 4}"),
        (plain, {"n": 1, "self": 2}, "1 {'self': 2}"),
    ],
)
def test_nothing_that_is_sent_can_take_the_place_of_the_receiver(
    function: Any, sent: dict[str, object], result: str
) -> None:
    made = function if isinstance(function, Tool) else tool("taker")(function)
    assert called(made, sent) == result


def test_a_parameter_without_annotation_takes_anything() -> None:
    @tool
    def echo(x, y=1):  # type: ignore[no-untyped-def]
        """Echo."""
        return [x, y]

    assert echo.invoke({"x": {"a": None}}) == [{"a": None}, 1]
    assert properties(echo) == {"x": {}, "y": {"default": 1}}


# — injection at any position —


class User:
    """Whom the program knows."""

    def __init__(self, name: str) -> None:
        self.name = name


def _first(context: ToolContext[Any], n: int) -> str:
    return f"{context.call.id} {n}"


def _middle(n: int, context: ToolContext[Any], m: int = 1) -> str:
    return f"{context.call.id} {n}"


def _positional_only(context: ToolContext[Any], n: int, /) -> str:
    return f"{context.call.id} {n}"


def _keyword_only(*, n: int, context: ToolContext[Any]) -> str:
    return f"{context.call.id} {n}"


def _before_rest(n: int, context: ToolContext[Any], *more: int) -> str:
    return f"{context.call.id} {n}"


def _optional(n: int, context: ToolContext[Any] | None = None) -> str:
    assert context is not None
    return f"{context.call.id} {n}"


def _bare(n: int, context: ToolContext) -> str:  # type: ignore[type-arg]
    return f"{context.call.id} {n}"


@pytest.mark.parametrize(
    "function",
    [_first, _middle, _positional_only, _keyword_only, _before_rest, _optional, _bare],
)
def test_a_context_is_injected_at_any_position_and_never_advertised(
    function: Callable[..., str],
) -> None:
    made = tool("take", description="Take the context.")(function)
    assert "context" not in properties(made)
    [result] = Toolset([made]).run_sync([ToolCall("c1", "take", {"n": 5})])
    assert result.content == "c1 5"


def test_every_order_of_injected_and_given_parameters_works() -> None:
    def take(
        a: Annotated[User, Injected],
        b: int,
        c: Annotated[str, Injected()] = "absent",
        /,
        d: int = 4,
        *rest: int,
        e: Annotated[User, Injected],
        f: int = 6,
        **more: int,
    ) -> str:
        return f"{a.name} {b} {c} {d} {rest} {e.name} {f} {more}"

    made = tool(take)
    run = RunContext(inject={"a": User("Ada"), "e": User("Eve")})
    call = ToolCall("1", "take", {"b": 2, "d": 5, "rest": [7, 8], "x": 9})
    assert Toolset([made]).run_sync([call], run)[0].content == (
        "Ada 2 absent 5 (7, 8) Eve 6 {'x': 9}"
    )
