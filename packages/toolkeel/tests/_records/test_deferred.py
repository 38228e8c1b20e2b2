"""Records that are made at their first use."""

from __future__ import annotations

import copy

from toolkeel import Text
from toolkeel._records.deferred import deferred


def test_a_deferred_record_is_made_once_at_its_first_use_and_equals_what_was_made() -> None:
    made: list[Text] = []

    def make() -> Text:
        made.append(Text("now"))
        return made[-1]

    text = deferred(make)
    assert copy.copy(text) is not text and not made
    assert text.text == "now" and text.extra == {} and len(made) == 1
    assert text == Text("now") == text != Text("later")
    assert text == deferred(lambda: Text("now")) and hash(deferred(lambda: 5)) == hash(5)
