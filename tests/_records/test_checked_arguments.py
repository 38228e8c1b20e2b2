"""Constructors say at once what is wrong with an argument, whichever class it is."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import hypothesis
import pytest
from hypothesis import strategies as st

from toolkeel._records.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.sessions import Sessions

DOORS = (
    "toolkeel",
    "toolkeel.steps",
    "toolkeel.models",
    "toolkeel.tools",
    "toolkeel.sessions",
    "toolkeel.mcp.client",
    "toolkeel.mcp.server",
    "toolkeel.durable",
    "toolkeel.engines",
)
WRONG = {"bool": "false", "int": "3", "float": "3", "str": 3, "Sequence[str]": "example.com"}
MADE_EACH_TURN = ("toolkeel.messages", "toolkeel.content", "toolkeel.model", "toolkeel.context")
CHECKED_WHERE_USED = {"Agent", "Effects", "Settings", "RunLimits", "Source"}
GIVEN_TO_PROGRAMS = {"Prepared", "Tool", "Rule", "RunResult", "RunState", "SafetyCheck", "Cut"}
GIVEN_TO_PROGRAMS |= {"Elicitation", "Sampling", "Elicited", "Prompt", "Resource", "Client"}
GIVEN_TO_PROGRAMS |= {"Ended", "LocalModel", "View", "Server", "Session", "Item"}


@checked
class Oven:
    def __init__(
        self,
        degrees: float = 180,
        *,
        fan: bool = False,
        names: Sequence[str] = (),
        mode: Literal["top", "bottom"] = "top",
        log: str | Path | None = None,
        then: Callable[..., Any] | None = None,
        more: Mapping[str, object] | None = None,
        unknown: Unknown | None = None,  # type: ignore[name-defined]  # noqa: F821
    ) -> None:
        self.degrees = degrees


@checked
@record
class Pan:
    wide: int
    lid: bool = True


WHOLE = st.integers() | st.none() | st.floats(allow_nan=False) | st.text() | st.binary()
ANY = WHOLE | st.booleans() | st.lists(WHOLE) | st.dictionaries(st.text(), WHOLE)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


@hypothesis.given(ANY)
def test_a_value_is_taken_if_and_only_if_it_is_of_its_kind(value: Any) -> None:
    right = {
        "degrees": is_number(value),
        "fan": isinstance(value, bool),
        "names": is_texts(value),
        "log": value is None or isinstance(value, str),
        "more": value is None or isinstance(value, dict),
        "then": value is None,
        "unknown": True,
    }
    for option, fits in right.items():
        given: dict[str, Any] = {option: value}
        try:
            Oven(**given)
        except SetupError as error:
            assert f"Oven({option}=...): expected " in str(error)
            assert not fits
        else:
            assert fits


def test_what_was_expected_is_said_in_words() -> None:
    def told(**options: Any) -> str:
        with pytest.raises(SetupError) as caught:
            Oven(**options)
        return str(caught.value)

    assert told(degrees="hot") == "Oven(degrees=...): expected a number, got 'hot'"
    assert told(names="a,b") == "Oven(names=...): expected a list of texts, got 'a,b'"
    assert told(mode="side") == "Oven(mode=...): expected 'top' or 'bottom', got 'side'"
    assert told(log=[]) == "Oven(log=...): expected a text or a Path or None, got list"


def test_a_record_is_checked_too_and_stays_a_record() -> None:
    with pytest.raises(SetupError, match=r"Pan\(wide=...\): expected a whole number, got True"):
        Pan(True)
    assert pickle.loads(pickle.dumps(Pan(3))) == Pan(3, lid=True)
    assert str(inspect.signature(Oven)).startswith(
        "(degrees: 'float' = 180, *, fan: 'bool' = False"
    )


def test_what_python_says_of_missing_and_unknown_arguments_stays() -> None:
    with pytest.raises(TypeError, match="wide"):
        Pan()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="gas"):
        Oven(gas=1)  # type: ignore[call-arg]


def public_options() -> list[Any]:
    """Each simple argument of each public class that programs make."""
    found = {}
    for door in DOORS:
        module = import_module(door)
        for name in getattr(module, "__all__", dir(module)):
            made = getattr(module, name)
            if not inspect.isclass(made) or issubclass(made, BaseException):
                continue
            if made.__module__ in MADE_EACH_TURN or getattr(made, "_is_protocol", False):
                continue
            if name in CHECKED_WHERE_USED | GIVEN_TO_PROGRAMS or name[0].islower():
                continue
            for option in simple_options(made):
                found[f"{made.__name__}-{option[0]}"] = (made, *option)
    return [pytest.param(*values, id=name) for name, values in found.items()]


def simple_options(made: type[Any]) -> list[tuple[str, object]]:
    own = "__init__" in vars(made)
    told = made.__init__.__annotations__ if own else vars(made).get("__annotations__", {})
    whole = {name: str(text).removesuffix(" | None") for name, text in told.items()}
    return [(name, WRONG[text]) for name, text in whole.items() if text in WRONG]


@pytest.mark.parametrize(("made", "option", "value"), public_options())
def test_every_public_class_refuses_a_wrong_kind_by_name(
    made: Any, option: str, value: object
) -> None:
    with pytest.raises(SetupError, match=rf"{option}\b.*expected"):
        made(**{option: value})


def test_methods_are_checked_where_they_say_so() -> None:
    session = Sessions(":memory:")["a"]
    wrong: Any = 3
    for method in (session.decide, session.say):
        with pytest.raises(SetupError, match=r"Session.(decide|say)\((decision|text)=...\): expec"):
            method(wrong)
    with pytest.raises(SetupError, match=r"Session.compact\(history=...\): expected a HistoryPol"):
        asyncio.run(session.compact(wrong))
