"""Annotations that pydantic cannot take as they are, made so that it can."""

from __future__ import annotations

import typing
import warnings
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired, Required

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, with_config

from tests.define.calling import answered, called, taking
from toolkeel import tool
from toolkeel.define.reading.annotations import modernize
from toolkeel.errors import DefinitionError


class Base(typing.TypedDict):
    must: int


class Partly(Base, total=False):
    """Its keys may be absent, but for those of its base."""

    may: str
    needed: Required[bool]


class Node(typing.TypedDict):
    value: int
    next: NotRequired[Node]
    others: NotRequired[list[Node]]


class Later(typing.TypedDict):
    known: NotRequired[int]


T = typing.TypeVar("T")


class Page(typing.TypedDict, typing.Generic[T]):
    items: list[T]
    next: NotRequired[Page[T]]


class Numbers(Page[int]):
    total: NotRequired[T | None]  # type: ignore[valid-type]


class ModernPage(typing_extensions.TypedDict, typing.Generic[T]):
    items: list[T]


class Counts(typing_extensions.TypedDict, extra_items=int):
    name: typing_extensions.ReadOnly[str]


class MoreCounts(Counts):
    more: str


@with_config(ConfigDict(str_to_upper=True))
class Loud(typing.TypedDict):
    text: str


@pytest.mark.parametrize("kind", [Page[int], Numbers, ModernPage[int]])
def test_type_variables_of_a_typed_dict_are_its_types(kind: Any) -> None:
    taker, seen = taking(kind)
    called(taker, {"x": {"items": ["1"]}})
    assert seen == [{"items": [1]}]
    assert "x.items[0]" in answered(taker, {"x": {"items": ["a"]}}).text


def test_two_types_of_one_typed_dict_are_two_definitions() -> None:
    taker, seen = taking(dict[str, Page[int] | Page[Page[bool]]])
    good = {"a": {"items": [1], "next": {"items": [2]}}, "b": {"items": [{"items": [True]}]}}
    called(taker, {"x": good})
    assert seen == [good]
    definitions: Any = taker.parameters["$defs"]
    assert len(definitions) == 3


@pytest.mark.parametrize("kind", [Counts, MoreCounts])
def test_keys_that_a_typed_dict_does_not_name_have_the_type_it_says(kind: Any) -> None:
    def count(**counts: typing_extensions.Unpack[kind]) -> str:  # type: ignore[misc]
        """Count."""
        return repr(counts)

    given = {"name": "a", "more": "b", "n": 1}
    if kind is Counts:
        del given["more"]
    with warnings.catch_warnings(action="error"):
        taker, seen = taking(kind)
        unpacked = tool(count)
    called(taker, {"x": given})
    assert seen == [given] and unpacked.invoke(given) == repr(given)
    assert "x.n" in answered(taker, {"x": given | {"n": "one"}}).text
    assert answered(unpacked, given | {"n": "one"}).kind == "invalid_arguments"


def test_keywords_are_the_keys_of_a_typed_dict_with_type_variables() -> None:
    @tool
    def count(**page: typing_extensions.Unpack[Page[int]]) -> int:
        """Count."""
        return sum(page["items"])

    assert count.invoke({"items": ["1", 2]}) == 3
    assert answered(count, {"items": ["a"]}).kind == "invalid_arguments"


def test_what_pydantic_is_told_about_a_typed_dict_holds() -> None:
    taker, seen = taking(Loud)
    called(taker, {"x": {"text": "ü"}})
    assert seen == [{"text": "Ü"}]


def test_inherited_and_optional_keys_stay_what_they_were() -> None:
    taker, seen = taking(Partly)
    definitions: Any = taker.parameters["$defs"]
    assert definitions["Partly"]["required"] == ["must", "needed"]
    assert "but for those of its base" in definitions["Partly"]["description"]
    called(taker, {"x": {"must": 1, "needed": True}})
    assert seen == [{"must": 1, "needed": True}]
    for wrong in ({"needed": True}, {"must": 1}, {"must": 1, "needed": True, "more": 1}):
        assert answered(taker, {"x": wrong}).kind == "invalid_arguments"


def test_a_typed_dict_that_holds_itself_is_checked_at_every_depth() -> None:
    taker, seen = taking(list[Node])
    good = [{"value": 1, "next": {"value": 2}, "others": [{"value": 3}]}]
    called(taker, {"x": good})
    assert seen == [good]
    bad = answered(taker, {"x": [{"value": 1, "next": {"value": 2, "others": [{"value": "?"}]}}]})
    assert "x[0].next.others[0].value" in bad.text


def test_the_same_typed_dict_twice_is_one_definition() -> None:
    taker, _ = taking(dict[str, Later | list[Later]])
    assert list(typing.cast("dict[str, Any]", taker.parameters["$defs"])) == ["Later"]


class Point(BaseModel):
    x: int


parts = st.sampled_from([int, str, None, Any, Point, Literal["a", 1], list, dict, float])
untouched = st.recursive(
    parts,
    lambda inner: st.one_of(
        inner.map(lambda t: list[t]),  # type: ignore[valid-type]
        inner.map(lambda t: dict[str, t]),  # type: ignore[valid-type]
        inner.map(lambda t: tuple[t, ...]),  # type: ignore[valid-type]
        inner.map(lambda t: Annotated[t, "text"]),
        st.tuples(inner, inner).map(lambda pair: typing.Union[pair]),  # noqa: UP007
    ),
    max_leaves=5,
)


@given(untouched)
def test_whatever_pydantic_takes_as_it_is_stays_the_very_same(annotation: Any) -> None:
    assert modernize(annotation) is annotation


@given(untouched)
def test_iterables_become_lists_wherever_they_stand(annotation: Any) -> None:
    for wrap in (
        lambda inner: inner,
        lambda inner: dict[str, inner],
        lambda inner: Annotated[inner, "text"],
        lambda inner: list[inner] | None,
        lambda inner: list[inner],
    ):
        assert modernize(wrap(Iterable[annotation])) == wrap(list[annotation])
    assert modernize(typing.Iterable) == list[Any]


def test_a_tuple_within_a_tuple_is_refused_on_every_python() -> None:
    with pytest.raises(DefinitionError, match=r"tuple\[str, ...\]"):
        taking(tuple[int, *tuple[str, ...]])


class Opened(typing_extensions.TypedDict):
    a: int


Opened.__pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[attr-defined]


class Further(Opened):
    b: int


def test_a_typed_dict_has_the_configuration_of_its_base() -> None:
    take, seen = taking(Further)
    assert called(take, {"x": {"a": 1, "b": 2, "c": 3}}) and seen == [{"a": 1, "b": 2, "c": 3}]


class Holder(typing_extensions.TypedDict, typing.Generic[T]):
    x: T


def test_names_of_generic_typed_dicts_have_no_address() -> None:
    checked = Annotated[int, AfterValidator(lambda number: number)]
    assert " at 0x" not in str(taking(Holder[checked])[0].parameters)
    take, seen = taking(Holder[Annotated[int, {"a": 1}]])  # pyright: ignore
    assert called(take, {"x": {"x": 1}}) and seen == [{"x": 1}]
