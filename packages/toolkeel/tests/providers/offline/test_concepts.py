"""The tables say each thing once and in a form the rules understand."""

from __future__ import annotations

from toolkeel.providers.offline import concepts


def test_every_role_has_its_kinds_of_values() -> None:
    assert set(concepts.ROLES) == set(concepts.KINDS)


def test_every_format_leads_to_a_known_role() -> None:
    assert set(concepts.FORMATS.values()) <= set(concepts.ROLES)


def test_no_stop_word_is_the_name_of_an_idea() -> None:
    heads = {line.split()[0] for line in concepts.CONCEPTS.strip().splitlines()}
    assert heads & concepts.STOP <= {"from", "on", "off"}


def test_places_and_languages_are_listed_once() -> None:
    for words in (concepts.PLACES, concepts.LANGUAGES):
        assert len(words) == len(set(words))
