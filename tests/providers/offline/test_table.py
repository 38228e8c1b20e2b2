"""The tables say each thing once and in a form the rules understand."""

from __future__ import annotations

from toolkeel.providers.offline import table


def test_every_role_has_its_kinds_of_values() -> None:
    assert set(table.ROLES) == set(table.KINDS)


def test_every_format_leads_to_a_known_role() -> None:
    assert set(table.FORMATS.values()) <= set(table.ROLES)


def test_no_stop_word_is_the_name_of_an_idea() -> None:
    heads = {line.split()[0] for line in table.CONCEPTS.strip().splitlines()}
    assert heads & table.STOP <= {"from", "on", "off"}


def test_places_and_languages_are_listed_once() -> None:
    for words in (table.PLACES, table.LANGUAGES):
        assert len(words) == len(set(words))
