"""The value of a preview: shown as an object or a list, and of no use as one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.partial_value import PartialValue


def fed(text: str) -> PartialArguments:
    partial = PartialArguments()
    partial.feed(text)
    return partial


def test_a_preview_can_be_looked_at_like_an_object_or_a_list() -> None:
    value = fed('{"rows": [{"id": 1}, {"id": 2}], "name": "An').value()
    rows = value["rows"]
    assert isinstance(rows, PartialValue)
    assert (len(value), list(value), "name" in value, "x" in value) == (
        2,
        ["rows", "name"],
        True,
        False,
    )
    assert (value.get("name"), value.get("x", 5), rows.is_list, len(rows)) == ("An", 5, True, 2)
    assert [row["id"] for row in rows if isinstance(row, PartialValue)] == [1, 2]
    assert repr(value) == "{'rows': [{'id': 1}, {'id': 2}], 'name': 'An'}"
    with pytest.raises(KeyError):
        value["x"]
    with pytest.raises(IndexError):
        rows[2]


def test_a_preview_shows_what_comes_later_too() -> None:
    partial = fed('{"a": "x')
    value = partial.value()
    partial.feed('y", "b": [1, ')
    assert partial.value() == {"a": "xy", "b": [1]}
    assert value == {"a": "xy", "b": [1]}


def test_previews_of_other_types_and_values_differ() -> None:
    assert fed('{"a": 1,').value() != {"a": True}
    assert fed('{"a": 1,').value() != {"a": 1.0}
    assert fed('{"a": [').value() != {"a": {}}
    assert fed('{"a": 1,').value() != {"a": 1, "b": 2}
    assert fed("{").value() != "{}"
    assert fed('{"a": [1, "x').value() == fed('{"a": [1, "x"').value()


@pytest.mark.parametrize("whole", [True, False])
def test_a_preview_cannot_be_unpacked_sent_or_changed(whole: bool) -> None:
    value: Any = fed('{"a": 1}' if whole else '{"a": 1,').value()
    for use in (
        lambda: (lambda **more: more)(**value),
        lambda: dict(value),
        lambda: json.dumps(value),
        lambda: value.__setitem__("a", 2),
        lambda: hash(value),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            use()
