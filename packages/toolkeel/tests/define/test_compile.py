"""One way from any callable to a tool's blueprint; what cannot become a tool is refused by name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from toolkeel import Injected, RunContext, Tool, ToolCall, ToolContext, Toolset, tool
from toolkeel.define.compile import CompiledFunction, DefinitionRequest, compile_function
from toolkeel.errors import DefinitionError, InvalidArguments


class City(BaseModel):
    """Look up a city."""

    name: str
    country: str = "CN"


class WithUser(BaseModel):
    name: str
    user: Annotated[str, Injected]


class Session:
    """Something JSON cannot carry."""


def blueprint(function: Callable[..., Any], **request: Any) -> CompiledFunction:
    return compile_function(function, DefinitionRequest(**request))


def properties(made: CompiledFunction) -> list[str]:
    return list(made.arguments.schema["properties"])  # type: ignore[call-overload]


def lookup(name: str, country: str = "CN") -> str:
    """Look it up.

    Args:
        name: Its name.
        country: Where it lies.
    """
    return f"{name}, {country}"


class Object:
    """An object that can be called."""

    def __call__(self, name: str) -> str:
        """Call it."""
        return name

    def method(self, name: str) -> str:
        """Call its method."""
        return name

    @classmethod
    def of_class(cls, name: str) -> str:
        """Call its class."""
        return name

    @staticmethod
    def static(name: str) -> str:
        """Call nobody."""
        return name


@pytest.mark.parametrize(
    ("function", "name", "description"),
    [
        (lookup, "lookup", "Look it up."),
        (Object(), "object", "Call it."),
        (Object().method, "method", "Call its method."),
        (Object.of_class, "of_class", "Call its class."),
        (Object.static, "static", "Call nobody."),
        (functools.partial(lookup, country="DE"), "lookup", "Look it up."),
        (functools.partial(Object().method), "method", "Call its method."),
    ],
    ids=[
        "function",
        "object",
        "method",
        "classmethod",
        "staticmethod",
        "partial",
        "partial of method",
    ],
)
def test_every_kind_of_callable_has_a_name_a_description_and_its_parameters(
    function: Callable[..., Any], name: str, description: str
) -> None:
    made = blueprint(function)
    assert (made.name, made.description.splitlines()[0]) == (name, description)
    assert properties(made) == ["name"] if name != "lookup" else properties(made)[0] == "name"
    assert not made.unbound
    [message] = Toolset([function]).run_sync([ToolCall("1", name, {"name": "北京"})])
    assert "北京" in message.text


def test_what_a_partial_has_filled_is_not_shown_to_the_model() -> None:
    assert properties(blueprint(functools.partial(lookup, country="DE"))) == ["name"]
    assert properties(blueprint(functools.partial(lookup, "Berlin"))) == ["country"]


def test_name_and_description_may_be_given_and_the_description_may_be_empty() -> None:
    made = blueprint(lookup, name="find", description="Find it.")
    assert (made.name, made.description) == ("find", "Find it.")
    assert blueprint(lookup, description="").description == "lookup"

    def read_all() -> None: ...

    assert blueprint(read_all).description == "read all"


def test_the_docstring_of_a_model_describes_a_tool_that_has_none() -> None:
    def silent(name: str, country: str) -> None: ...

    assert blueprint(silent, parameters=City).description == "Look up a city."
    schema = {"type": "object", "description": "From the schema.", "properties": {}}
    assert (
        blueprint(lambda: None, name="plain", parameters=schema).description == "From the schema."
    )


def test_a_model_shows_its_fields_and_hides_those_the_program_fills() -> None:
    def greet(name: str, user: str) -> str:
        """Greet."""
        return f"{name}, {user}"

    made = blueprint(greet, parameters=WithUser)
    assert properties(made) == ["name"]
    assert [p.name for p in made.injected] == ["user"]
    greeting = tool("greet", parameters=WithUser)(greet)
    assert greeting.invoke({"name": "你好"}, RunContext(inject={"user": "Ada"})) == "你好, Ada"
    with pytest.raises(InvalidArguments):
        greeting.invoke({"name": "你好", "user": "Eve"}, RunContext(inject={"user": "Ada"}))


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        (
            {"type": "object", "properties": {"city": {}}},
            "has 'city', which the function does not take",
        ),
        (
            {"type": "object", "properties": {"a": {}, "b": {}, "name": {}}},
            "has 'a', 'b'.*parameters",
        ),
        (
            {"type": "object", "properties": {"name": {"type": "string"}}},
            "needs 'name'.*not always",
        ),
        ({"type": "array"}, "lookup"),
        ("City", "parameters is 'City'"),
        (City(name="x"), "parameters is"),
        (int, "parameters is"),
    ],
)
def test_a_schema_that_does_not_fit_the_function_is_refused_with_the_reason(
    schema: Any, complaint: str
) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        blueprint(lookup, parameters=schema)


def test_a_field_with_a_default_is_always_there() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "default": "Rome"}}}
    made = tool("lookup", parameters=schema)(lookup)
    assert made.invoke({}) == "Rome, CN"


def test_a_function_that_takes_anything_fits_any_schema() -> None:
    def anything(**kwargs: Any) -> str:
        """Take anything."""
        return ",".join(sorted(kwargs))

    schema = {"type": "object", "properties": {"b": {}, "a": {}}, "required": ["a", "b"]}
    assert tool(parameters=schema)(anything).invoke({"a": 1, "b": 2}) == "a,b"


@pytest.mark.parametrize(
    ("thing", "complaint"),
    [
        (5, "5 is no function"),
        ("lookup", "is no function"),
    ],
)
def test_what_is_no_function_is_refused(thing: Any, complaint: str) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        blueprint(thing)


def test_a_method_without_its_instance_waits_for_it() -> None:
    assert blueprint(Object.method).unbound
    with pytest.raises(DefinitionError, match="method without its instance"):
        Toolset([tool(Object.method)])


def test_a_docstring_that_names_what_is_not_there_is_refused_if_that_is_wanted() -> None:
    def odd(name: str) -> None:
        """Do.

        Args:
            nmae: Its name.
        """

    assert blueprint(odd).arguments.schema
    with pytest.raises(DefinitionError, match="odd: its docstring: it describes 'nmae'"):
        blueprint(odd, docstring="strict")
    blueprint(lookup, docstring="strict")


def test_a_docstring_is_left_alone_if_that_is_wanted() -> None:
    made = blueprint(lookup, docstring="plain")
    assert "Args:" in made.description
    assert "description" not in made.arguments.schema["properties"]["name"]  # type: ignore[index]


def test_a_parameter_without_json_form_is_named_with_the_fix() -> None:
    def query(text: str, session: Session) -> None:
        """Query."""

    with pytest.raises(DefinitionError, match=r"query: parameter 'session'.*Injected"):
        blueprint(query)


def test_the_context_and_what_is_injected_are_no_arguments() -> None:
    def ask(
        context: ToolContext[Any],
        question: Annotated[str, Field(min_length=1)],
        user: Annotated[str, Injected],
    ) -> None:
        """Ask."""

    made = blueprint(ask)
    assert properties(made) == ["question"]
    assert sorted(p.name for p in made.injected) == ["context", "user"]


def test_a_tool_holds_every_field_of_its_blueprint() -> None:
    made, drawn = tool(lookup), blueprint(lookup)
    assert isinstance(made, Tool)
    for field in ("name", "description", "function", "body", "positional", "unbound"):
        assert getattr(made, field) == getattr(drawn, field)


@pytest.mark.parametrize(("level", "fix"), [(2, "PYTHONOPTIMIZE=2"), (0, "write one")])
def test_a_missing_docstring_is_explained_as_python_was_started(
    level: int, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = sys.flags

    class Flags:
        optimize = level

        def __getattr__(self, name: str) -> object:
            return getattr(flags, name)

    monkeypatch.setattr(sys, "flags", Flags())
    with pytest.warns(UserWarning, match=fix):

        @tool
        def bare(n: int) -> int:
            return n
