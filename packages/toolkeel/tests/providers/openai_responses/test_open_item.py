"""An item that is still arriving has its own form, its pieces, or both."""

from __future__ import annotations

from toolkeel.providers.openai_responses.open_item import OpenItem


def test_arguments_that_came_as_an_object_are_text() -> None:
    assert (
        OpenItem({"type": "function_call", "arguments": {"a": "北"}}, 0).full_text() == '{"a":"北"}'
    )


def test_parts_of_reasoning_stand_apart() -> None:
    item = OpenItem({"type": "reasoning"}, 0)
    first, second = (item.part({"summary_index": number}) for number in (0, 1))
    assert item.separator(first) == ""
    item.pieces.append("x")
    assert (item.separator(first), item.separator(second)) == ("", "\n\n")


def test_pieces_become_the_items_own_form_only_if_it_has_none() -> None:
    item = OpenItem({"type": "function_call", "arguments": ""}, 0)
    item.pieces.append("{}")
    item.complete_wire()
    assert item.wire["arguments"] == "{}"
    item.pieces.append("more")
    item.complete_wire()
    assert item.wire["arguments"] == "{}"
