"""Occurrences of a passage in a normalized text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.passages.normalized import (
    find_torn,
    iter_spans,
    normalize_leniently,
    to_plain,
    with_unix_line_ends,
)


@given(st.text(st.sampled_from("ab"), max_size=14), st.text(st.sampled_from("ab"), min_size=1))
def test_an_occurrence_is_torn_if_replacing_leaves_a_part_of_it(text: str, wanted: str) -> None:
    spans = list(iter_spans(with_unix_line_ends(text), wanted))
    covered = {place for start, end in spans for place in range(start, end)}
    size = len(wanted)
    places = [at for at in range(len(text)) if text.startswith(wanted, at)]
    torn = [at for at in places if not covered.issuperset(range(at, at + size))]
    assert (find_torn(text, wanted) is None) == (not torn)


@given(st.text(st.sampled_from("a“ \t\r\nﬁ½é"), max_size=20))
def test_every_normalized_character_has_its_place_in_the_text(text: str) -> None:
    for form in (with_unix_line_ends(text), normalize_leniently(text)):
        assert len(form.offsets) == len(form.text) + 1
        assert list(form.offsets) == sorted(form.offsets) and form.offsets[-1] == len(text)
    assert "".join(to_plain("ﬁ “½”").characters) == 'fi "1⁄2"'
