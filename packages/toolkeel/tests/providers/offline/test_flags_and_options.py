"""Options, flags and written values."""

from __future__ import annotations

import pytest

from tests.providers.toolkit import definition
from toolkeel.providers.offline.flags_and_options import flag, mention, read
from toolkeel.providers.offline.slots import Slot, slots_of
from toolkeel.providers.offline.words import ideas


def slot_of(schema: object, name: str = "value") -> Slot:
    return slots_of(definition("t", "", **{name: schema}))[0]


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "five", None),
        ({"type": "integer"}, "5.0", None),
        ({"type": "integer"}, "9" * 301, None),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "12", 12),
        ({"type": "number"}, "nan", None),
        ({"type": "number"}, "1e999", None),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "否", False),
        ({"type": "boolean"}, "maybe", None),
        ({"enum": ["Red"]}, "red", "Red"),
        ({"type": "string"}, "x", "x"),
        ({"type": "array"}, "x", None),
    ],
)
def test_text_is_read_in_the_type_of_its_slot(schema: object, text: str, expected: object) -> None:
    found = read(slot_of(schema), text)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("recursive", "list recursive", True),
        ("recursive", "do not list recursive", False),
        ("recursive", "list", None),
        ("ignore_case", "ignore the case", True),
        ("include_hidden", "without hidden files", False),
        ("on", "turn the light on", True),
        ("on", "switch it off", False),
        ("on", "打开客厅的灯", True),
        ("on", "关掉客厅的灯", False),
        ("on", "the light on Monday", None),
    ],
)
def test_a_flag_is_read_from_its_words_and_their_negation(
    name: str, text: str, expected: bool | None
) -> None:
    assert flag(slot_of({"type": "boolean"}, name), text) is expected


@pytest.mark.parametrize(
    ("option", "text", "mentioned"),
    [
        ("fahrenheit", "in Fahrenheit please", True),
        ("fahrenheit", "用华氏度", True),
        ("on", "on Monday", False),
        ("red", "a reduced price", False),
        ("蓝", "蓝色的", True),
        (3, "take 3", True),
        (3, "take 3.5", False),
        (True, "True", False),
        ("", "anything", False),
        (None, "None", False),
    ],
)
def test_an_option_is_mentioned_as_a_whole_word_or_by_its_idea(
    option: object, text: str, mentioned: bool
) -> None:
    assert bool(mention(option, text, ideas(text))) is mentioned


def test_the_longer_of_two_options_is_mentioned_more() -> None:
    text = "premium economy"
    said = ideas(text)
    assert mention("premium economy", text, said) > mention("economy", text, said)
