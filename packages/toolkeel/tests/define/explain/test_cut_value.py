"""What is explained of a long value: its first items, and keys that a schema names."""

from __future__ import annotations

from toolkeel.define.explain.cut_value import cut_value


def test_long_lists_and_objects_are_cut_where_it_is_said() -> None:
    value = {"a": [[1] * 300, "x"], "b": {f"k{n}": n for n in range(300)}}
    shorter, cuts = cut_value(value, {"k299"})
    assert cuts == {("a", 0), ("b",)}
    assert isinstance(shorter, dict)
    assert (len(shorter["a"][0]), shorter["a"][1]) == (200, "x")
    assert len(shorter["b"]) == 201
    assert shorter["b"]["k299"] == 299
    assert len(value["b"]) == 300


def test_a_short_value_stays_as_it_is() -> None:
    value = {"a": [1, {"b": None}]}
    assert cut_value(value, set()) == (value, set())
