"""Mutable defaults: no call sees what another has done to them."""

import dataclasses
import threading
from collections import deque
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import Injected, Tool, Toolset, tool
from toolkeel.define.mutable_defaults import copy_factory, dataclass_field_factory
from toolkeel.messages import ToolCall

DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(DATA)
def test_a_copy_is_made_of_all_that_has_no_hash_and_of_nothing_else(value: Any) -> None:
    make = copy_factory(value)
    try:
        hash(value)
    except TypeError:
        assert make is not None
        assert make() == value
        assert make() is not value
    else:
        assert make is None


def test_what_cannot_be_copied_stays_the_functions_own() -> None:
    assert copy_factory([threading.Lock()]) is None


def test_a_field_of_a_dataclass_tells_its_factory() -> None:
    @dataclasses.dataclass
    class Job:
        name: str
        tags: list[str] = dataclasses.field(default_factory=lambda: ["new"])

    made = dataclass_field_factory(Job, "tags")
    assert made is not None and made.make() == ["new"]
    assert dataclass_field_factory(Job, "name") is dataclass_field_factory(len, "name") is None


class Options(BaseModel):
    """Options."""

    names: list[str] = []


class Given(BaseModel):
    """What is given."""

    name: str


NAME = {"name": {"type": "string"}}
DESCRIBED = {"type": "object", "properties": NAME, "required": ["name"]}
SCHEMA = {**DESCRIBED, "properties": {**NAME, "seen": {"type": "array"}}}


def _list(name: str, seen: list[str] = []) -> list[str]:  # noqa: B006
    """Collect."""
    seen.append(name)
    return list(seen)


def _field(name: str, seen: Annotated[list[str], Field(default=[])]) -> list[str]:
    """Collect."""
    seen.append(name)
    return list(seen)


def _nested(name: str, seen: dict[str, list[str]] = {"all": []}) -> list[str]:  # noqa: B006
    """Collect."""
    seen["all"].append(name)
    return list(seen["all"])


def _tuple(name: str, seen: tuple[list[str], ...] = ([],)) -> list[str]:
    """Collect."""
    seen[0].append(name)
    return list(seen[0])


def _model(name: str, seen: Options = Options()) -> list[str]:  # noqa: B008
    """Collect."""
    seen.names.append(name)
    return list(seen.names)


def _positional(name: str, seen: list[str] = [], /) -> list[str]:  # noqa: B006
    """Collect."""
    seen.append(name)
    return list(seen)


def _injected(name: str, seen: Annotated[Any, Injected] = deque()) -> list[str]:  # noqa: B006
    """Collect."""
    seen.append(name)
    return list(seen)


async def _waiting(name: str, *, seen: list[str] = []) -> list[str]:  # noqa: B006
    """Collect."""
    seen.append(name)
    return list(seen)


@dataclasses.dataclass
class Made:
    """A dataclass as a tool."""

    name: str
    seen: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen.append(self.name)


TOOLS: list[tuple[Callable[..., Any], Any]] = [
    *((each, None) for each in (_list, _field, _nested, _tuple, _model, _positional)),
    *((each, None) for each in (_injected, _waiting, Made)),
    (_list, SCHEMA),
    (_list, DESCRIBED),
    (_list, Given),
]


@pytest.mark.parametrize(("function", "schema"), TOOLS)
def test_each_call_has_a_mutable_default_of_its_own(
    function: Callable[..., Any], schema: Any
) -> None:
    made = Tool.from_function(function, name="collect", parameters=schema)
    tools = Toolset([made])
    calls = [ToolCall(str(n), "collect", {"name": "a"}) for n in range(3)]
    results = tools.run_sync(calls)
    assert all(result.status == "success" for result in results), results[0].content
    assert len({result.content for result in results}) == 1
    assert '["a"]' in str(results[0].content)


def test_the_plain_function_is_as_python_has_it() -> None:
    @tool
    def collect(name: str, seen: list[str] = []) -> list[str]:  # noqa: B006
        """Collect."""
        seen.append(name)
        return seen

    collect("a")
    assert collect("b") == ["a", "b"]
    assert collect.invoke({"name": "c"}) == ["a", "b", "c"]  # what it had when it was called
