"""Items of a page say to its templates what they are."""

from __future__ import annotations

from toolkeel_studio.inspector.page_items import MessageItem, Note


def test_a_message_and_a_note_are_told_apart_by_their_kind() -> None:
    items = MessageItem(1, 0.0, "Hi."), Note(2, 0.0, "forked")
    assert [item.kind for item in items] == ["said", "note"]
