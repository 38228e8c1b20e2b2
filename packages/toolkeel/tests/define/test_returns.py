"""A structured return annotation is a promise; anything looser is none."""

from __future__ import annotations

import dataclasses
import io
import socket
import threading
import types
import typing
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Generic, Protocol

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from toolkeel import Image, ToolMessage, ToolOutput, tool
from toolkeel.define import returns
from toolkeel.define.options import external
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.returns import output_schema_of
from toolkeel.errors import DefinitionError


class Weather(BaseModel):
    city: str
    degrees: float


class Typed(TypedDict):
    city: str


@dataclasses.dataclass
class Plain:
    city: str


@pytest.mark.parametrize("annotation", [Weather, Typed, Plain])
def test_models_dataclasses_and_typed_dicts_are_promises(annotation: Any) -> None:
    output = output_schema_of(annotation)
    assert output is not None
    assert output.schema["type"] == "object"
    assert "city" in output.schema["properties"]  # type: ignore[operator]


@pytest.mark.parametrize(
    "annotation",
    [str, int, dict, dict[str, int], list[Weather], Any, None, ToolMessage, ToolOutput],
)
def test_anything_looser_is_no_promise(annotation: Any) -> None:
    assert output_schema_of(annotation) is None


def test_a_value_that_breaks_the_promise_is_refused() -> None:
    output = output_schema_of(Weather)
    assert output is not None
    assert output.check(Weather(city="北京", degrees=1.5))
    with pytest.raises(ValueError, match="degrees"):
        output.check({"city": "北京"})


def test_a_class_of_which_no_schema_can_be_made_promises_nothing() -> None:
    class Custom:
        pass

    @dataclasses.dataclass
    class Odd:
        thing: Custom

    assert output_schema_of(Odd) is None


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_promised_number_that_json_does_not_have_breaks_the_promise(number: float) -> None:
    output = output_schema_of(Weather)
    assert output is not None
    with pytest.raises(ValueError, match="is not a number that JSON has"):
        output.check(Weather(city="NaN", degrees=number))
    assert output.check(Weather(city="NaN Infinity", degrees=1.0))


class Opaque:
    """A class without a JSON form."""


class Frame(Opaque):
    """A class with the methods of a data frame."""

    def to_dict(self, orient: str) -> list[dict[str, object]]:
        """Return its rows."""
        return []


class Figure:
    """A class with the method by which a plot is drawn into a file."""

    def savefig(self, file: object) -> None:
        """Draw it."""


class Shape:
    """A base class of a class that has a JSON form."""


@dataclasses.dataclass
class Circle(Shape):
    radius: int


class HasArea(Protocol):
    """A protocol, which a model may fulfil."""

    area: int


def returning(annotation: Any) -> Any:
    def look() -> Any:
        """Look at it."""

    look.__annotations__["return"] = annotation
    if annotation is MISSING:
        del look.__annotations__["return"]
    return look


@pytest.mark.parametrize(
    ("annotation", "write"),
    [
        (Opaque, "make Opaque a dataclass or a pydantic model, or write -> str"),
        (Opaque | None, "make Opaque a dataclass"),
        (Opaque | Frame, "make Opaque a dataclass"),
        (list[Opaque], "make Opaque a dataclass"),
        (dict[str, Opaque], "make Opaque a dataclass"),
        (tuple[str, Opaque], "make Opaque a dataclass"),
        (Iterator[Opaque], "make Opaque a dataclass"),
        (Annotated[Opaque, "a note"], "make Opaque a dataclass"),
        (Frame, 'write -> list[dict] and return value.to_dict("records")'),
        (Figure, "return Image(buffer.getvalue()) after figure.savefig(buffer)"),
    ],
)
def test_a_tool_whose_result_can_never_be_sent_is_refused_with_the_words_to_write(
    annotation: Any, write: str
) -> None:
    with pytest.raises(DefinitionError, match=r"look: it returns .* has no JSON form") as refused:
        tool(returning(annotation))
    assert write in str(refused.value)


@pytest.mark.parametrize(
    "annotation",
    [
        MISSING, Any, object, None, str, bytes, complex, Fraction, Decimal, date, Path, set[int], range, list,
        Shape, HasArea, Circle, Weather, str | Opaque,
        Generic, Counter, ToolOutput, list[Image],
    ],
)  # fmt: skip
def test_a_tool_whose_result_may_be_sent_is_defined(annotation: Any) -> None:
    assert tool(returning(annotation)).name == "look"


def test_what_a_step_or_an_artifact_makes_of_a_result_is_not_refused() -> None:
    async def as_text(prepared: Any, context: Any, proceed: Any) -> Any:
        return str(await proceed(prepared))

    assert tool(returning(Opaque), steps=[as_text]).steps
    pair = returning(tuple[str, Opaque])
    assert tool(pair, returns="content_and_artifact").returns == "content_and_artifact"
    assert tool(returning(Opaque), executor=external).result_type is Opaque


class Failure(BaseModel):
    why: str


@dataclasses.dataclass
class DescribedError(Exception):
    why: str


@pytest.mark.parametrize(
    ("annotation", "write"),
    [
        (Exception, "raise ToolError(text)"),
        (KeyError, "return str(error)"),
        (type, "cls.__name__"),
        (type[int], "cls.__name__"),
        (Callable, "annotate and return its result"),
        (Callable[[int], str], "annotate and return its result"),
        (typing.Callable[..., int], "annotate and return its result"),
        (len, "annotate and return its result"),
        (type(threading.Lock()), "leave it in the program"),
        (io.BytesIO, "buffer.getvalue()"),
        (io.TextIOWrapper, "file.read()"),
        (typing.IO[bytes], "file.read()"),
        (typing.TextIO, "file.read()"),
        (types.ModuleType, "module.__name__"),
        (socket.socket, "leave it in the program"),
        (Iterator[io.BytesIO], "buffer.getvalue()"),
        (AsyncIterator[Exception], "raise ToolError"),
        (Generator[io.StringIO, None, None], "buffer.getvalue()"),
        (Sequence[type], "cls.__name__"),
        (dict[str, io.StringIO], "buffer.getvalue()"),
        (threading.Event, "leave it in the program"),
    ],
)
def test_what_can_never_be_sent_is_refused_with_the_words_to_write(
    annotation: Any, write: str
) -> None:
    def search() -> str:
        """Search."""
        return ""

    search.__annotations__["return"] = annotation
    with pytest.raises(DefinitionError) as raised:
        tool(search)
    assert "search: it returns" in str(raised.value) and write in str(raised.value)


@pytest.mark.parametrize(
    "annotation",
    [
        DescribedError, Iterator[str], Generator[str, io.StringIO, None], Sequence[Failure], bytes,
        AsyncIterator[int], Iterable[Any], str | Exception, Mapping[str, int], range, typing.NoReturn,
    ],
)  # fmt: skip
def test_what_may_be_sent_is_accepted(annotation: Any) -> None:
    def search() -> str:
        """Search."""
        return ""

    search.__annotations__["return"] = annotation
    assert tool(search).name == "search"


def test_what_an_extra_would_show_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns, "find_renderer", lambda cls: None)  # as without the extra
    frame = type("DataFrame", (), {"__module__": "polars.frame", "to_dicts": None})
    shown: list[Any] = [frame, list[frame], tuple[str, frame]]  # type: ignore[valid-type]
    for annotation in (*shown, frame | None, Annotated[frame, 1]):
        with pytest.raises(
            DefinitionError, match=r"pip install 'toolkeel\[workspace\]', which shows"
        ):
            returns.require_json_form("t", annotation)
    for annotation in (dict[str, frame], frame | Opaque, tuple[frame, Opaque]):  # type: ignore[valid-type]
        with pytest.raises(
            DefinitionError, match="; return it alone or in a list, or write -> list"
        ):
            returns.require_json_form("t", annotation)
