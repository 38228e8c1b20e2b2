"""Tools as functions of code."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import run as run_async
from toolwright import Run, tool
from toolwright.builtin.code_tools import CodeTools, awaited_calls, function_name


@tool
def add(a: int, b: int = 1) -> int:
    """Add.

    More is said here.
    """
    return a + b


def call(args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    return run_async(lambda: CodeTools([add]).call("add", (args, kwargs), "c", Run()))


def test_positional_arguments_take_the_names_of_the_parameters() -> None:
    assert call((1, 2), {}) == call((1,), {"b": 2}) == {"return_value": 3}


def test_mistakes_are_told_as_python_tells_them() -> None:
    assert call((1, 2, 3), {})["exc_type"] == "TypeError"
    assert "multiple values" in str(call((1,), {"a": 2})["message"])
    assert "unknown key" in str(call((1,), {"c": 2})["message"])
    assert call((object(),), {})["exc_type"] == "TypeError"


def test_a_function_is_described_by_its_head_and_its_first_line() -> None:
    assert CodeTools([add]).described() == "add(a: int, b: int = ...)  # Add."


def test_awaited_calls_are_found_by_their_place_in_bytes() -> None:
    code = "s = '天气'\nx = await f('a')\nys = await gather(*[g(i) for i in z])\nh(1)"
    places = awaited_calls(code)
    begins = {code.encode()[place:].decode().split("(")[0] for place in places}
    assert begins == {"f", "gather", "g"}


@given(st.text(max_size=30))
def test_any_name_becomes_one_that_python_takes(name: str) -> None:
    assert function_name(f"t{name}").isidentifier()


@given(st.text())
def test_any_code_is_read_or_given_up(code: str) -> None:
    assert isinstance(awaited_calls(code), frozenset)
