"""Wording: nothing a terminal obeys gets through, and widths are what a terminal shows."""

from __future__ import annotations

import json
from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from toolkeel.messages import ToolCall
from toolkeel.observe.wording import escaped
from toolkeel_studio.cli.terminal.text import cells, chopped, fit, padded, signature, wrapped

TEXT = st.text(max_size=60)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # lone surrogates too
WIDE = st.text(alphabet="ab ,.天气很好。，（）x\u0301-", max_size=80)


@given(WIDE)
def test_cells_are_counted_as_rich_counts_them(text: str) -> None:
    assert cells(text) == cell_len(text)


@given(WIDE, st.integers(0, 30))
def test_what_is_fitted_fits_and_begins_like_the_original(text: str, width: int) -> None:
    shown = fit(text, width)
    assert cells(shown) <= width
    assert shown == text or (width == 0 and not shown) or text.startswith(shown.removesuffix("…"))


@given(WIDE, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapping_does_not_part_words_or_begin_with_a_full_stop() -> None:
    assert wrapped("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped('{"city":"北京","t":22}', 12) == ['{"city":"北', '京","t":22}']
    assert wrapped("", 5) == [""]


def test_padding_brings_wide_text_to_the_same_column() -> None:
    assert [cells(padded(text, 8)) for text in ("猫", "cat", "")] == [8, 8, 8]


@given(ANY_TEXT, st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.none())))
def test_a_signature_is_one_short_line_whatever_the_model_wrote(
    raw: str, arguments: dict[str, object]
) -> None:
    for given_arguments in (raw, arguments, json.dumps(arguments)):
        line = signature(ToolCall("1", "tool", given_arguments), 40)
        assert "\n" not in line
        assert cells(line) <= 40
        assert escaped(line) == line


ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner)),
    max_leaves=8,
)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@given(WIDE, st.integers(2, 30))
def test_chopping_loses_nothing_and_keeps_to_the_width(text: str, width: int) -> None:
    pieces = chopped(text, width)
    assert "".join(pieces) == text
    assert max(map(cells, pieces)) <= width


def test_wrapping_a_word_without_end_takes_no_time() -> None:
    began = process_time()
    assert "".join(wrapped("é" * 100_000, 80)) == "é" * 100_000
    assert process_time() - began < 3
