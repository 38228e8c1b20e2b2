"""The canonical form of arguments is JSON that a model could have sent."""

from __future__ import annotations

import json
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from toolkeel import ToolCall, tool
from toolkeel.call.arguments.canonical_arguments import ArgumentsView, as_json, revalidate
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.tool import Prepared


@tool
def book(name: str, nights: int = 1, tags: list[str] | None = None) -> str:
    """Book."""
    return name


def prepared(arguments: str | dict[str, Any], complete: bool = True) -> Any:
    return prepare(ToolCall("1", "book", arguments, complete), book)


@given(st.text(), st.integers(-5, 5), st.lists(st.text(), max_size=3))
def test_the_canonical_form_makes_the_same_arguments_again(name, nights, tags) -> None:
    made = prepared(json.dumps({"name": name, "nights": nights, "tags": tags}))
    assert revalidate(made).arguments == made.arguments
    assert as_json(made) == {"name": name, "nights": nights, "tags": tags}


class Deaf:
    """A value that says nothing of itself."""

    @property
    def get_secret_value(self) -> object:
        raise AssertionError("nobody asked for this one")


def test_who_looks_at_one_argument_has_no_other_made_plain() -> None:
    @tool
    def put(path: Annotated[str, Field(alias="Path")], row: int = 1, rest: object = None) -> str:
        """Put."""
        return path

    given = Prepared(ToolCall("1", "put"), put, {"path": "a/b", "rest": Deaf()})
    shown = ArgumentsView(given)
    assert (shown["Path"], shown["path"], shown["row"]) == ("a/b", "a/b", 1)
    assert list(shown) == ["Path", "rest", "row"] and len(shown) == 3
    assert "Path" in shown and "path" not in shown and shown.get("nobody", 7) == 7
    plain = Prepared(ToolCall("1", "put"), put, {"path": "a", "rest": {"at": [1, "二"]}})
    assert dict(ArgumentsView(plain)) == as_json(plain)
