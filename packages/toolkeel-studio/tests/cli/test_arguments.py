"""``key=value`` words become what the schema means."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolkeel import Tool, ToolCall, Toolset, tool
from toolkeel_studio.cli.arguments import convert, kinds, read_arguments
from toolkeel_studio.cli.exit_codes import UsageProblem


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Point(BaseModel):
    x: int
    label: str = ""


@tool
def everything(
    text: str = "",
    whole: int = 0,
    number: float = 0.0,
    flag: bool = False,
    maybe: int | None = None,
    texts: list[str] | None = None,
    wholes: list[int] | None = None,
    point: Point | None = None,
    size: Size = Size.SMALL,
    level: Literal[1, 2, "high"] = 1,
    either: int | str = 0,
    anything: Any = None,
    table: dict[str, int] | None = None,
) -> str:
    """Take everything."""
    return ""


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=5", "5"),
        ("text=true", "true"),
        ("text=null", "null"),
        ('text={"a": 1}', '{"a": 1}'),
        ("text=", ""),
        ("text=a=b", "a=b"),
        ("text=猫 和 狗", "猫 和 狗"),
        ("whole=5", 5),
        ("whole=-5", -5),
        ("whole=五", "五"),  # validation says what is wrong
        ("number=1.5", 1.5),
        ("number=1e3", 1000.0),
        ("number=NaN", "NaN"),
        ("flag=true", True),
        ("flag=False", False),
        ("maybe=3", 3),
        ("maybe=null", None),
        ('texts=["a", "b"]', ["a", "b"]),
        ("texts=5", ["5"]),
        ("texts=[1, 2", ["[1, 2"]),
        ("wholes=[1, 2]", [1, 2]),
        ("wholes=5", [5]),
        ('point={"x": 1}', {"x": 1}),
        ("point=null", None),
        ("size=large", "large"),
        ("level=2", 2),
        ("level=high", "high"),
        ("either=5", "5"),
        ("either:=5", 5),
        ("anything=5", 5),
        ("anything=猫", "猫"),
        ("text:=null", None),
        ('table={"a": 1}', {"a": 1}),
    ],
)
def test_a_value_is_what_the_schema_means(word: str, value: object) -> None:
    key = word.partition("=")[0].rstrip(":")
    read = read_arguments([word], everything)
    assert isinstance(read, dict)
    assert (read[key], type(read[key])) == (value, type(value))


def test_a_repeated_key_makes_a_list_of_items() -> None:
    words = ["texts=1", "texts=猫", "wholes=1", "wholes=2", "whole=3"]
    assert read_arguments(words, everything) == {
        "texts": ["1", "猫"],
        "wholes": [1, 2],
        "whole": 3,
    }


def test_no_words_are_no_arguments() -> None:
    assert read_arguments([], everything) == {}


def test_one_json_object_is_passed_on_as_it_was_typed() -> None:
    assert read_arguments(['{"whole": 5}'], everything) == '{"whole": 5}'
    assert read_arguments([' {"whole": '], everything) == ' {"whole": '


def test_values_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("猫.txt").write_text("一\n二\n", "utf-8")
    Path("all.json").write_text('{"whole": 7}\n', "utf-8")
    assert read_arguments(["text=@猫.txt"], everything) == {"text": "一\n二"}
    assert read_arguments(["@all.json"], everything) == '{"whole": 7}'
    assert read_arguments(["text=@@home"], everything) == {"text": "@home"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["txt=1"], "everything has no argument 'txt'; did you mean 'text' or 'texts'?"),
        (["zzz=1"], "everything has no argument 'zzz'; there is text, whole"),
        (["猫"], "'猫' is not an argument: everything takes key=value words, such as text=..."),
        (["whole=1", "whole=2"], "'whole' is given 2 times, but everything takes it once"),
        (["text=@no.txt"], "cannot read 'no.txt': No such file or directory"),
        (["whole:=five"], "whole:= takes JSON, and 'five' is none"),
    ],
)
def test_words_that_cannot_be_read_are_told(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        read_arguments(words, everything)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_has_its_neighbours_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("x")
    with pytest.raises(UsageProblem, match=r"did you mean 'notes\.txt'"):
        read_arguments(["text=@note.txt"], everything)


def test_a_tool_that_takes_any_key_is_given_any_key() -> None:
    @tool(unknown_keys="allow")
    def open_ended(first: str, **others: object) -> str:
        """Take more."""
        return f"{first} {others}"

    assert read_arguments(["first=1", "more=2"], open_ended) == {"first": "1", "more": 2}


def test_a_key_that_ends_with_a_colon_can_be_named() -> None:
    schema = {"type": "object", "properties": {"a:": {"type": "string"}}}
    odd = Tool.from_function(lambda **given: str(given), name="odd", parameters=schema)
    assert read_arguments(["a:=5"], odd) == {"a:": "5"}


@given(st.text())
def test_any_text_reaches_a_tool_that_takes_text_unchanged(text: str) -> None:
    assert convert(text, {"type": "string"}, {}) == text


@given(st.text(max_size=20), st.sampled_from(sorted(everything.parameters["properties"])))  # type: ignore[arg-type]
def test_whatever_is_typed_is_json_ready(text: str, key: str) -> None:
    properties: Any = everything.parameters["properties"]
    json.dumps(convert(text, properties[key], everything.parameters))


@given(st.integers(), st.booleans(), st.lists(st.integers()))
def test_json_values_of_their_own_type_arrive_as_they_are(
    whole: int, flag: bool, wholes: list[int]
) -> None:
    words = [f"whole={whole}", f"flag={str(flag).lower()}", f"wholes={json.dumps(wholes)}"]
    assert read_arguments(words, everything) == {"whole": whole, "flag": flag, "wholes": wholes}


def test_a_schema_that_refers_to_itself_is_no_trap() -> None:
    root: dict[str, Any] = {"$defs": {"T": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "integer"}]}}}
    assert kinds({"$ref": "#/$defs/T"}, root) == {"integer"}
    assert convert("5", {"$ref": "#/$defs/T"}, root) == 5
    root = {"$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
    assert str(convert("5", {"$ref": "#/$defs/T"}, root)).strip("[]") == "5"


def test_alternatives_that_all_lead_to_each_other_are_each_looked_at_once() -> None:
    names = [f"#/$defs/{n}" for n in range(64)]
    each = {"anyOf": [*({"$ref": name} for name in names), {"type": "integer"}]}
    root = {"$defs": {str(n): dict(each) for n in range(64)}}
    assert convert("5", {"$ref": "#/$defs/0"}, root) == 5


def test_what_was_read_runs_the_tool() -> None:
    @tool
    def repeat(word: str, times: int) -> str:
        """Repeat."""
        return word * times

    read = read_arguments(["word=1", "times=3"], repeat)
    [message] = Toolset([repeat]).run_sync([ToolCall("1", "repeat", read)])
    assert message.content == "111"
