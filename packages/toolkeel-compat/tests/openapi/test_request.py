"""Each value of a call stands in the request where the document says, and nowhere else."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import ToolError
from toolkeel_compat.openapi.document import Operation, Parameter
from toolkeel_compat.openapi.request import build_request_parts

TEXT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1)


def operation(where: str, style: str = "form", explode: bool = True, media: str = "") -> Operation:
    parameters = (Parameter("arg", "name", where, style, explode),) if where else ()
    path = "/a/{name}/b" if where == "path" else "/a"
    body = "body" if media else ""
    return Operation("op", "POST", path, "", (), parameters, body, media, {})


@pytest.mark.parametrize("key", ["tenant", "name"])
def test_an_object_whose_keys_stand_alone_names_no_other_parameter(key: str) -> None:
    made = operation("query")
    with pytest.raises(ToolError, match="another parameter"):
        build_request_parts(made, {"arg": {key: "evil"}}, reserved={"tenant"})
    assert build_request_parts(made, {"arg": {"x": "1"}}, reserved={"tenant"}).query == [("x", "1")]


@given(TEXT)
def test_a_path_parameter_is_one_segment_whatever_stands_in_it(text: str) -> None:
    if {".", ".."} & set(re.split(r"[/\\]", text)):
        return
    path = build_request_parts(operation("path", "simple", False), {"arg": text}).path
    head, a, segment, b = path.split("/")
    assert (head, a, b) == ("", "a", "b")
    assert unquote(segment) == text
    assert not set(segment) & set("?#")


@pytest.mark.parametrize("text", ["", ".", "..", "../x", "a/../../b", "a\\..\\b"])
def test_a_path_parameter_cannot_climb(text: str) -> None:
    with pytest.raises(ToolError, match="cannot stand in a path"):
        build_request_parts(operation("path", "simple", False), {"arg": text})


@pytest.mark.parametrize(
    ("style", "explode", "value", "pairs"),
    [
        ("form", True, "a", [("name", "a")]),
        ("form", True, True, [("name", "true")]),
        ("form", True, 1.5, [("name", "1.5")]),
        ("form", True, ["a", 1], [("name", "a"), ("name", "1")]),
        ("form", False, ["a", "b"], [("name", "a,b")]),
        ("spaceDelimited", False, ["a", "b"], [("name", "a b")]),
        ("pipeDelimited", False, ["a", "b"], [("name", "a|b")]),
        ("form", True, {"x": 1, "y": "z"}, [("x", "1"), ("y", "z")]),
        ("form", False, {"x": 1, "y": "z"}, [("name", "x,1,y,z")]),
        ("deepObject", True, {"x": 1, "y": [2]}, [("name[x]", "1"), ("name[y]", "[2]")]),
        ("form", True, None, []),
        ("form", True, [], []),
    ],
)
def test_a_query_parameter_is_written_in_its_style(
    style: str, explode: bool, value: Any, pairs: list[tuple[str, str]]
) -> None:
    assert build_request_parts(operation("query", style, explode), {"arg": value}).query == pairs


def test_headers_and_cookies_hold_one_line_each() -> None:
    header = build_request_parts(operation("header", "simple", False), {"arg": ["a", "b"]})
    assert header.headers == {"name": "a,b"}
    chinese = build_request_parts(operation("header", "simple", False), {"arg": "北京"})
    assert chinese.headers["name"].isascii()
    cookie = build_request_parts(operation("cookie"), {"arg": "a; b=c"})
    assert cookie.headers == {"Cookie": "name=a%3B%20b%3Dc"}
    with pytest.raises(ToolError, match="one line"):
        build_request_parts(operation("header", "simple", False), {"arg": "a\r\nHost: evil"})


@pytest.mark.parametrize(
    ("media", "body", "sent"),
    [
        ("application/json", {"名": ["a"]}, ({"content": '{"名":["a"]}'.encode()}, True)),
        ("application/json", "text", ({"content": b'"text"'}, True)),
        ("application/vnd.a+json", {}, ({"content": b"{}"}, True)),
        ("text/markdown", "# 你好", ({"content": "# 你好".encode()}, True)),
        ("application/x-www-form-urlencoded", {"a": 1}, ({"data": {"a": "1"}}, False)),
        ("multipart/form-data", {"a": "x"}, ({"files": {"a": (None, "x")}}, False)),
    ],
)
def test_a_body_is_written_as_its_media_type_wants(media: str, body: Any, sent: Any) -> None:
    parts = build_request_parts(operation("", media=media), {"body": body})
    expected, typed = sent
    assert parts.body == expected
    assert parts.headers == ({"Content-Type": media} if typed else {})


def test_a_call_without_a_body_sends_none_and_a_hidden_argument_is_left_out() -> None:
    parts = build_request_parts(operation("query", media="application/json"), {"arg": "x"}, ["arg"])
    assert (parts.query, parts.body, parts.headers) == ([], {}, {})
