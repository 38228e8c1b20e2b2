"""What an author writes in pydantic's words in a tool's class holds."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from toolkeel_compat.langchain import BaseTool, Tool


class Search(BaseTool):
    name: str = "search"
    description: str = "Search."
    limit: int = Field(default=10, ge=1)
    key: str
    tags: list[str] = Field(default_factory=list)
    _client: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("key")
    @classmethod
    def stripped(cls, value: str) -> str:
        return value.strip()

    @model_validator(mode="after")
    def fits(self) -> Search:
        if self.limit > self.most():
            raise ValueError("too many")
        return self

    def most(self) -> int:
        return 100

    def model_post_init(self, context: Any, /) -> None:
        self._client["key"] = self.key

    def _run(self, q: str) -> str:
        return f"{q} {self.limit} {self._client['key']}"


def test_fields_are_converted_and_validators_and_private_attributes_hold() -> None:
    first, second = Search(key=" a ", limit="5"), Search(key="b")
    assert first.invoke({"q": "x"}) == "x 5 a" and second.invoke({"q": "x"}) == "x 10 b"
    first.tags.append("mine")
    assert second.tags == []


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": "many"}, {"limit": 101}, {"key": 3}])
def test_a_field_of_the_wrong_kind_is_refused_when_the_tool_is_made(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        Search(**{"key": "a", **wrong})


def test_a_class_below_has_the_fields_of_those_above() -> None:
    class Deep(Search):
        name: str = "deep"
        depth: int = Field(default=1, le=3)

    assert Deep(key="a", depth=2).depth == 2
    with pytest.raises(ValidationError):
        Deep(key="a", limit=0)


async def _later(text: str) -> str:
    return text[::-1]


def test_a_tool_of_one_text_takes_it_as_it_is() -> None:
    upper = Tool("upper", str.upper, "Upper case.")
    assert (upper.name, upper.invoke("abc"), upper.run("x")) == ("upper", "ABC", "X")
    assert Tool.from_function(str.upper, "up", "Upper.", return_direct=True).invoke("a") == "A"
    made = Tool.from_function(func=str.lower, name="low", description="Lower.")
    assert (type(made).__name__, made.name, made.run("ABC")) == ("StructuredTool", "low", "abc")
    assert Tool("back", None, "Backwards.", coroutine=_later).invoke("abc") == "cba"
