"""Records behave as frozen, slotted dataclasses do, whatever way they are made."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Generic, TypeVar, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.record import NOTHING, record

T = TypeVar("T")


@record
class Point:
    """A record of the usual kind."""

    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)


@record
class Box(Generic[T]):
    """A generic record."""

    held: T


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    """What `Point` would be without `record`."""

    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)


values = st.integers() | st.text() | st.none()


@given(values, values, st.lists(st.text()))
def test_a_record_holds_compares_and_prints_what_a_frozen_dataclass_would(
    x: Any, y: Any, tags: list[str]
) -> None:
    made, plain = Point(x, y, tags=tags), Plain(x, y, tags=tags)
    assert dataclasses.asdict(made) == dataclasses.asdict(plain)
    assert repr(made) == repr(plain).replace("Plain", "Point")
    assert made == Point(x, y, tags)
    assert made != plain
    assert Point.__match_args__ == Plain.__match_args__


@given(values, st.lists(st.text()))
def test_a_record_survives_copying_pickling_and_replacing(x: Any, tags: list[str]) -> None:
    made = Point(x, 2, tags)
    for twin in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert twin == made and type(twin) is Point
    changed = dataclasses.replace(made, y=3)
    assert (changed.x, changed.y, changed.tags) == (x, 3, tags)


def test_no_field_of_a_record_can_be_set_deleted_or_added() -> None:
    made = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.x
    with pytest.raises((AttributeError, TypeError)):
        made.z = 3  # type: ignore[attr-defined]
    assert made == Point(1)


def test_a_default_factory_makes_a_new_value_for_each_record() -> None:
    assert Point(1).tags is not Point(1).tags
    empty: list[str] = []
    assert Point(1, tags=empty).tags is empty


def test_equal_records_have_equal_hashes_and_serve_as_keys() -> None:
    assert {Box("a"): 1}[Box("a")] == 1
    assert hash(Box(1)) == hash(Box(1))


def test_a_generic_record_can_be_made_and_named_with_its_parameter() -> None:
    assert Box(3).held == 3
    assert get_origin(Box[int]) is Box


@pytest.mark.parametrize(
    ("args", "keywords"), [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})]
)
def test_wrong_arguments_are_refused_with_the_name_of_the_record(
    args: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*args, **keywords)


def test_a_record_inherits_from_nothing_but_generic_and_records() -> None:
    class Loose:
        pass

    for base in (Loose, dataclasses.dataclass(Loose), Exception):
        with pytest.raises(TypeError, match=f"Tight: a record cannot inherit from {base.__name__}"):
            record(type("Tight", (base,), {"__annotations__": {"z": int}}))


def test_a_record_of_a_record_has_the_fields_of_both_and_is_as_frozen() -> None:
    @record
    class At:
        x: int
        y: int

    @record
    class Placed(At):
        name: str
        tags: list[str] = dataclasses.field(default_factory=list)

    placed = Placed(1, 2, "home")
    assert placed == Placed(x=1, y=2, name="home", tags=[]) and isinstance(placed, At)
    assert placed != At(1, 2) and At(1, 2) != placed
    assert Placed.__match_args__ == ("x", "y", "name", "tags")
    assert repr(dataclasses.replace(placed, y=3)).endswith("Placed(x=1, y=3, name='home', tags=[])")
    assert copy.copy(placed) == placed and not hasattr(placed, "__dict__")
    for name in ("x", "name", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(placed, name, 0)


def test_what_would_need_more_than_filling_fields_is_refused() -> None:
    with pytest.raises(TypeError, match="Late: a record takes its fields as they are"):

        @record
        class Late:
            x: int

            def __post_init__(self) -> None: ...

    for field in (dataclasses.field(init=False, default=1), dataclasses.field(kw_only=True)):
        with pytest.raises(TypeError, match="Odd: a record takes"):
            record(type("Odd", (), {"__annotations__": {"x": int}, "x": field}))


def test_nothing_is_one_empty_mapping_that_cannot_change() -> None:
    assert dict(NOTHING) == {} and len(NOTHING) == 0 and NOTHING == {}
    assert "key" not in NOTHING
    assert copy.deepcopy(NOTHING) is NOTHING
    assert pickle.loads(pickle.dumps(NOTHING)) is NOTHING
    with pytest.raises(TypeError):
        NOTHING["key"] = 1
