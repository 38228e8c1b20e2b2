"""Values beside slots."""

from __future__ import annotations

import pytest

from tests.providers.toolkit import definition
from toolkeel.providers.offline.slot_fit import Pair, affinity, convert, neighbours, pair
from toolkeel.providers.offline.slots import Checker, Slot, slots_of
from toolkeel.providers.offline.values import Value, find_values


def slot_of(name: str, **schema: object) -> Slot:
    return slots_of(definition("t", "", **{name: schema}))[0]


def pair_in(text: str, name: str, value: object, **schema: object) -> Pair:
    tool = definition("t", "", **{name: schema})
    [found] = [v for v in find_values(text) if v.value == value]
    made = pair(slots_of(tool)[0], found, text, Checker(tool.parameters))
    assert made is not None
    return made


def test_a_place_suits_a_city_better_than_a_quoted_text_does() -> None:
    city = slot_of("city", type="string")
    assert affinity(city, Value("place", "Rome", 0, 4)) > affinity(city, Value("quoted", "x", 0, 1))


def test_a_number_never_suits_a_path() -> None:
    assert affinity(slot_of("path", type="string"), Value("number", 3, 0, 1)) == 0


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 3.0, 3),
        ({"type": "integer"}, 3.5, None),
        ({"type": "integer"}, "3", None),
        ({"type": "number"}, 3.5, 3.5),
        ({"type": "string"}, 3, "3"),
        ({"type": "string"}, 3.5, "3.5"),
    ],
)
def test_values_are_converted_only_without_loss(
    schema: dict[str, object], value: str | int | float, expected: object
) -> None:
    assert convert(slot_of("x", **schema), value) == expected


def test_the_parameters_name_before_a_value_counts_most() -> None:
    named = pair_in("limit 5", "limit", 5, type="integer")
    unnamed = pair_in("cats 5", "limit", 5, type="integer")
    assert named.score > unnamed.score


def test_the_noun_after_a_number_names_its_parameter() -> None:
    assert pair_in("for 2 people", "passengers", 2, type="integer").bonus > 1


def test_a_preposition_speaks_against_the_other_direction() -> None:
    toward = pair_in("fly to Rome", "destination", "Rome", type="string")
    away = pair_in("fly to Rome", "origin", "Rome", type="string")
    assert toward.bonus > 0 > away.bonus


def test_fillers_between_name_and_value_are_skipped() -> None:
    text = "the limit is the 5"
    assert neighbours(text, text.index("5"), len(text))[0] == ("limit",)


def test_a_comma_ends_the_neighbourhood_of_a_value() -> None:
    assert neighbours("limit, 5", 7, 8) == ((), ())
