"""Any value a body may return, as the model reads it; and what cannot be read."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import types
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.contract import check_result
from toolkeel import Audio, File, Image, Text, ToolCall, ToolMessage, ToolOutput, Toolset, tool
from toolkeel.call.result_message import clean_text, render
from toolkeel.content import Data
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import InvalidOutput

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def made(**options: Any) -> AnyTool:
    return tool("work", description="Work.", **options)(lambda: None)


def rendered(value: object, changes: tuple[str, ...] = (), **options: Any) -> ToolMessage:
    prepared = Prepared(ToolCall("c1", "work"), made(**options), {}, changes)
    message = render(prepared, value, 0.5)
    assert (message.tool_call_id, message.name, message.duration) == ("c1", "work", 0.5)
    check_result(message)
    return message


class Colour(enum.Enum):
    RED = "红"


class Word(str, enum.Enum):  # noqa: UP042 - written before Python 3.11
    RED = "red"


class Model(BaseModel):
    name: str
    when: dt.date


@dataclasses.dataclass
class Line:
    a: int
    b: Colour


def numbers() -> Iterator[int]:
    yield from (1, 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("北京", "北京"),
        ("", ""),
        (None, ""),
        (5, "5"),
        (True, "true"),
        (1.5, "1.5"),
        (float("inf"), '"Infinity"'),
        (10**30, str(10**30)),
        ({"城市": ["北京", 1, None]}, '{"城市":["北京",1,null]}'),
        ([], "[]"),
        ((), "[]"),
        ([1, "a"], '[1,"a"]'),
        ({1}, "[1]"),
        (frozenset("a"), '["a"]'),
        (numbers(), "[1,2]"),
        (range(3), "[0,1,2]"),
        (Colour.RED, '"红"'),
        (Word.RED, "red"),
        (Model(name="猫", when=dt.date(2026, 1, 2)), '{"name":"猫","when":"2026-01-02"}'),
        (Line(1, Colour.RED), '{"a":1,"b":"红"}'),
        ({"a": Line(1, Colour.RED)}, '{"a":{"a":1,"b":"红"}}'),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC), '"2026-01-02T03:04:00Z"'),
        (dt.timedelta(hours=1), '"PT1H"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (pathlib.PurePosixPath("/a/b"), '"/a/b"'),
        (types.MappingProxyType({"a": types.MappingProxyType({"b": 1})}), '{"a":{"b":1}}'),
        (collections.OrderedDict(a=1), '{"a":1}'),
        (collections.deque([1]), "[1]"),
        ({"x": b"bytes"}, '{"x":"bytes"}'),
    ],
)
def test_text_stays_text_and_everything_else_becomes_json_unescaped(
    value: object, text: str
) -> None:
    message = rendered(value)
    assert message.content == text
    assert type(message.content) is str
    assert message.artifact is None


@pytest.mark.parametrize(
    ("value", "blocks"),
    [
        (PNG, (Image(PNG, "image/png"),)),
        (bytearray(PNG), (Image(PNG, "image/png"),)),
        (memoryview(b"%PDF-"), (File(b"%PDF-", "file", "application/pdf"),)),
        (Image(PNG), (Image(PNG),)),
        ([Text("a"), Image(url="u")], (Text("a"), Image(url="u"))),
        (["see", Image(PNG)], (Text("see"), Image(PNG))),
        ((PNG, {"n": 1}), (Image(PNG), Data({"n": 1}, '{"n":1}'))),
        ([{"type": "text", "text": "猫"}], (Text("猫"),)),
        ([Audio(b"OggS", "audio/ogg"), "x"], (Audio(b"OggS", "audio/ogg"), Text("x"))),
    ],
)
def test_blocks_stay_blocks_and_what_stands_among_them_becomes_one(
    value: object, blocks: tuple[object, ...]
) -> None:
    assert rendered(value).content == blocks


@pytest.mark.parametrize(
    "value",
    [
        object(),
        len,
        {"x": b"\xff"},
        {"a": object()},
        Text(5),  # type: ignore[arg-type]
        [Text("a"), Image(data="text")],  # type: ignore[arg-type]
        Data(1, 2),  # type: ignore[arg-type]
        [Image(PNG), object()],
    ],
)
def test_what_has_no_form_a_model_can_read_is_the_tools_fault(value: object) -> None:
    with pytest.raises(InvalidOutput, match=r"'work' returned a .*fault of the tool"):
        rendered(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(InvalidOutput):
        rendered(circle)


def test_what_a_block_says_besides_its_content_stays_with_it() -> None:
    said = {"annotations": {"priority": 1}}
    blocks = (Text("a", said), Data(1, "1", said), Image(PNG, extra=said))
    assert rendered(blocks).content == blocks
    assert rendered((Text("a" * 99, said),), max_output=9).content[0].extra == said  # type: ignore[union-attr]


@given(st.text(st.characters(exclude_categories=())))
def test_half_a_surrogate_pair_never_reaches_a_message(text: str) -> None:
    for value in (text, [text], {"k": {text: [text]}}, Text(text), ["a", Text(text)], (text, b"x")):
        rendered(value).text.encode()
    assert clean_text(text) == text or "?" in clean_text(text)


# — content, artifact and details apart —


def test_content_artifact_and_details_can_be_said_apart() -> None:
    thing = object()
    message = rendered(ToolOutput({"a": 1}, thing, {"took": 2}), changes=("n: 5",))
    assert (message.content, message.artifact) == ('{"a":1}', thing)
    assert message.details == {"took": 2, "coerced": ("n: 5",)}


def test_a_pair_is_content_and_artifact_where_the_tool_says_so() -> None:
    thing = object()
    pair = ("text", thing)
    message = rendered(pair, returns="content_and_artifact")
    assert (message.content, message.artifact) == ("text", thing)
    output = rendered(ToolOutput("t", 5), returns="content_and_artifact")
    assert (output.content, output.artifact) == ("t", 5)
    for wrong in ("text", ("a", "b", "c"), ["a", "b"], None):
        with pytest.raises(InvalidOutput, match=r"must return a pair \(content, artifact\)"):
            rendered(wrong, returns="content_and_artifact")


def test_a_message_of_the_bodys_own_must_answer_its_call() -> None:
    message = rendered(ToolMessage("mine", "c1", artifact=5, details={"a": 1}), changes=("n: 5",))
    assert (message.content, message.artifact) == ("mine", 5)
    assert message.details == {"a": 1, "coerced": ("n: 5",)}
    assert rendered(ToolMessage("mine", name="other")).name == "work"
    with pytest.raises(InvalidOutput, match="answered another call"):
        rendered(ToolMessage("mine", "c2"))


def test_a_message_of_the_bodys_own_may_be_a_failure_with_a_kind() -> None:
    assert rendered(ToolMessage("no", status="error")).kind == "tool_error"
    assert rendered(ToolMessage("no", status="error", kind="denied")).kind == "denied"
    assert rendered(ToolMessage("yes", kind="denied")).kind is None


def test_what_was_coerced_is_in_the_details() -> None:
    assert rendered("x").details == {}
    assert rendered("x", changes=("a", "b")).details == {"coerced": ("a", "b")}


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(json_like.filter(lambda value: not isinstance(value, str) and value is not None))
def test_json_values_read_back_as_they_were(value: object) -> None:
    content = rendered(value).content
    if isinstance(content, tuple):  # it looks like blocks
        assert isinstance(value, list) and any(isinstance(item, Mapping) for item in value)
        return
    assert json.loads(content) == value


class Scalar:
    """As numpy's are."""

    def tolist(self) -> object:
        return 3


def test_numbers_and_arrays_of_other_libraries_are_what_they_hold() -> None:
    @tool
    def measure() -> object:
        """Measure."""
        return {"sum": Scalar(), "all": [Scalar()]}

    [result] = Toolset([measure]).run_sync([ToolCall("1", "measure")])
    assert (result.kind, result.content) == (None, '{"sum":3,"all":[3]}')


def test_a_value_without_a_json_form_is_named_by_its_type() -> None:
    @tool
    def wrong() -> object:
        """Wrong."""
        return {"a": object()}

    [result] = Toolset([wrong]).run_sync([ToolCall("1", "wrong")])
    assert result.kind == "invalid_output"
    assert "value of type dict without a JSON form" in result.text
    assert "object has no JSON form" in str(result.details["error"])


def test_what_is_left_out_is_asked_for_by_other_arguments_only_where_there_are_some() -> None:
    def rows(first: int = 0) -> str:
        """Give rows."""
        return "row " * 99

    def all_rows() -> str:
        """Give all rows."""
        return "row " * 99

    def some_rows(**which: int) -> str:
        """Give those rows."""
        return "row " * 99

    tools = Toolset([tool(max_output=50)(each) for each in (rows, all_rows, some_rows)])
    calls = [ToolCall(name, name, "{}") for name in tools.names]
    narrow, alone, open_ended = (one.text for one in tools.run_sync(calls))
    assert "narrow the arguments" in narrow and "narrow the arguments" in open_ended
    assert "no call gives them: go on with what is here, and say that it is a part" in alone
    assert "narrow" not in alone
