"""Constructors say at once what is wrong with an argument, whichever class it is."""

from __future__ import annotations

import asyncio
import inspect
import numbers
import pickle
import re
import ssl
import sys
from collections import UserList, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from enum import IntEnum, StrEnum
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol
from unittest.mock import Mock

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.shared import optional
from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.agent.handoff import Handoff
from toolkeel.errors import SetupError
from toolkeel.sessions import Sessions, Summarize

DOORS = (
    "toolkeel",
    "toolkeel.steps",
    "toolkeel.models",
    "toolkeel.tools",
    "toolkeel.sessions",
    "toolkeel.mcp.client",
    "toolkeel.mcp.server",
    "toolkeel_studio.durable",
    "toolkeel.executors",
)
WRONG = {"bool": "false", "int": "3", "float": "3", "str": 3, "Sequence[str]": "example.com"}
MADE_EACH_TURN = (
    "toolkeel.messages",
    "toolkeel.content",
    "toolkeel.model_interface",
    "toolkeel.context",
    "toolkeel.sessions.stores.store",
)
CHECKED_WHERE_USED = {"Agent", "Effects", "Settings", "RunLimits", "Source"}
GIVEN_TO_PROGRAMS = {"Prepared", "Tool", "Rule", "RunResult", "RunState", "SafetyCheck", "Cut"}
GIVEN_TO_PROGRAMS |= {"Elicitation", "Sampling", "Elicited", "Prompt", "Resource", "Client"}
GIVEN_TO_PROGRAMS |= {"Ended", "LocalModel", "View", "Server", "Session", "Item", "DurableResult"}
GIVEN_TO_PROGRAMS |= {"SearchMatch"}
GIVEN_TO_PROGRAMS |= {"DurableRun", "Schedule"}


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
    assert (
        told(names="a,b")
        == "Oven(names=...): expected a list of texts, got 'a,b'; write names=[...]"
    )
    assert told(mode="side") == "Oven(mode=...): expected 'top' or 'bottom', got 'side'"
    assert told(log=[]) == "Oven(log=...): expected a text or a Path or None, got list"


def test_a_record_is_checked_too_and_stays_a_record() -> None:
    with pytest.raises(SetupError, match=r"Pan\(wide=...\): expected a whole number, got True"):
        Pan(True)
    assert pickle.loads(pickle.dumps(Pan(3))) == Pan(3, lid=True)
    assert str(inspect.signature(Oven)).startswith(
        "(degrees: 'float' = 180, *, fan: 'bool' = False"
    )


def test_what_python_says_of_missing_arguments_stays() -> None:
    with pytest.raises(TypeError, match="wide"):
        Pan()  # type: ignore[call-arg]


def test_arguments_that_have_no_place_are_told_with_the_fix() -> None:
    with pytest.raises(SetupError, match="Oven: there is no option 'fans'; did you mean 'fan'"):
        Oven(fans=True)  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="Oven takes only degrees by position, not 2 arguments"):
        Oven(180, True)  # type: ignore[misc]


def public_options() -> list[Any]:
    """Each simple argument of each public class that programs make."""
    found = {}
    for door in filter(lambda door: find_spec(door.partition(".")[0]), DOORS):
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
    if own:  # ``*patterns`` has no name to be given by
        whole.pop(inspect.getfullargspec(inspect.unwrap(made.__init__)).varargs or "", None)
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
        with pytest.raises(
            SetupError, match=r"Session.(decide|say)\((decision|content)=...\): expec"
        ):
            method(wrong)
    with pytest.raises(SetupError, match=r"Session.compact\(history=...\): expected a HistoryPol"):
        asyncio.run(session.compact(wrong))


class Sorted(Protocol):
    """Looks like a list that keeps its order."""

    def insort(self, value: object) -> None: ...


class Keeps:
    def insort(self, value: object) -> None: ...


class Rings(Protocol):
    def __call__(self, times: int) -> None: ...


@checked
class Shelf:
    def __init__(
        self,
        *,
        books: Sequence[str] = (),
        arriving: Iterable[str] = (),
        places: Mapping[str, int] | None = None,
        size: tuple[int, str] = (1, "m"),
        kept: Sorted | None = None,
        bell: Rings | None = None,
        several: Sequence[Sorted] = (),
        client: ssl.SSLContext | Literal["none"] | None = None,
        folder: Path | str = ".",
        count: int = 1,
        weight: float = 1.0,
        side: Literal["left", "right"] = "left",
    ) -> None: ...


class Title(str):
    __slots__ = ()


@numbers.Integral.register
class Small:
    """A whole number of another library's, as numpy has them."""


class Side(StrEnum):
    LEFT = "left"


class Number(IntEnum):
    TWO = 2


@pytest.mark.parametrize(
    "given",
    [
        {"books": deque(["a"])},
        {"books": {"a": 1}.keys()},
        {"books": UserList(["a"])},
        {"books": (Title("a"),)},
        {"arriving": (text for text in "ab")},
        {"places": MappingProxyType({"a": Small()})},
        {"size": [1, "m"]},
        {"kept": Keeps()},
        {"kept": Mock(Keeps)},
        {"bell": print},
        {"several": [Keeps()]},
        {"folder": Title(".")},
        {"count": Number.TWO},
        {"count": Small()},
        {"weight": Fraction(1, 2)},
        {"weight": Small()},
        {"side": Side.LEFT},
    ],
)
def test_what_is_as_good_as_what_an_annotation_says_is_taken(given: dict[str, Any]) -> None:
    Shelf(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"books": ["a", 1, None]}, "a list of texts, got list of NoneType and int and str"),
        ({"books": (text for text in "ab")}, "a list of texts, got generator"),
        ({"books": deque([1])}, "a list of texts, got collections.deque of int"),
        ({"arriving": {"a": 1}}, "a list of texts, got dict of int"),
        ({"places": {"a": "1"}}, "a dict of whole numbers or None, got dict of str"),
        ({"places": [("a", 1)]}, "a dict of whole numbers or None, got list of tuple"),
        ({"kept": 3}, "tests.Sorted or None, got 3"),
        ({"kept": "sorted"}, "tests.Sorted or None, got 'sorted'"),
        ({"bell": "ding"}, "a function or None, got 'ding'"),
        ({"client": "sk-secret"}, "ssl.SSLContext or 'none' or None, got str"),
        ({"client": ssl.SSLContext}, "... or None, got the class ssl.SSLContext itself"),
        ({"folder": b"."}, "a Path or a text, got bytes"),
        ({"count": Fraction(2, 1)}, "a whole number, got fractions.Fraction"),
        ({"weight": timedelta(1)}, "a number, got datetime.timedelta"),
    ],
)
def test_what_is_wrong_is_told_by_what_it_is_made_of_and_no_secret_is_quoted(
    given: dict[str, Any], told: str
) -> None:
    wanted, _, got = told.partition(", got ")
    with pytest.raises(
        SetupError, match=re.escape(f"{wanted.removeprefix('...')}, got {got}") + "$"
    ):
        Shelf(**given)


def test_a_warning_of_a_constructor_names_the_line_that_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = optional("toolkeel_workspace")
    (tmp_path / "mine.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("mine")
    try:
        with pytest.warns(UserWarning, match="imports its code from") as warned:
            workspace.Workspace(tmp_path, sandbox=None)
    finally:
        del sys.modules["mine"]
    assert [each.filename for each in warned] == [__file__]


def test_what_cannot_be_an_agent_or_a_model_is_told_where_it_is_given() -> None:
    wrong: Any = "writer"
    with pytest.raises(SetupError, match=r"Handoff\(agent=...\): expected an AgentLike, got 'writ"):
        Handoff(wrong)
    wrong = 3
    with pytest.raises(
        SetupError, match=r"Summarize\(model=...\): expected a text or a Model, got"
    ):
        Summarize(wrong, 100)


def test_a_property_is_not_asked_to_see_whether_an_object_looks_like_a_protocol() -> None:
    class Asked:
        @property
        def insort(self) -> object:
            raise RuntimeError("asked")

    class Proxy:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("asked")

    for kept in (Asked(), Proxy()):
        Shelf(kept=kept)  # type: ignore[arg-type]
