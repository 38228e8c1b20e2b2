"""What a run has touched, as data."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.taint_sources import (
    CALLER,
    Source,
    Taint,
    dump_sources,
    load_sources,
    parse_source,
)

sources = st.builds(
    Source,
    st.sampled_from(["private", "stranger", "secret"]),
    st.text(),
    st.text(),
    st.sampled_from(["", CALLER, "mcp:0123456789abcdef"]),
)


@given(st.lists(sources))
def test_sources_come_back_from_the_details_of_a_message(found: list[Source]) -> None:
    assert load_sources({"taint": dump_sources(found)}) == found


@given(sources, st.from_regex(r"\S{1,20}", fullmatch=True))
def test_a_source_comes_back_from_its_text_and_no_name_of_a_tool_makes_an_origin(
    found: Source, tool: str
) -> None:
    named = Source(found.label, tool, found.what.rstrip(), found.origin)
    assert parse_source(named.label, named.to_text()) == named


@given(st.lists(sources), st.integers(0, 20))
def test_labels_only_grow_and_each_source_counts_once(found: list[Source], seen: int) -> None:
    taint = Taint(None)
    for source in found:
        taint.add(source)
    assert taint.sources == list(dict.fromkeys(found))
    some = {s for sources in taint.sources_before(seen).values() for s in sources}
    assert some == set(taint.sources[:seen])
    taint.trusted.update(range(len(found)))
    assert taint.sources_before(len(found)) == {}


def test_details_of_another_form_hold_no_sources() -> None:
    for details in ({}, {"taint": "x"}, {"taint": [1, {}, {"label": ""}]}):
        assert load_sources(details) == []


@given(sources)
def test_what_is_read_again_after_it_was_trusted_counts_anew(source: Source) -> None:
    taint = Taint(None)
    assert taint.add(source, is_read=True) and not taint.add(source, is_read=True)
    taint.trusted.update(range(len(taint.sources)))
    assert not taint.add(source) and taint.sources_before(9) == {}
    assert taint.add(source, is_read=True) and not taint.add(source, is_read=True)
    assert taint.sources_before(9) == {source.label: [source]}
