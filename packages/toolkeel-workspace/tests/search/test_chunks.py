"""Passages of a text."""

from __future__ import annotations

import itertools
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.search.chunks import CHUNK_CHARS, OVERLAP_CHARS, split_text

PARTS = st.lists(
    st.sampled_from(
        ["# One\n", "## Two\n", "Title\n=====\n", "Sub\n---\n", "word ", "长句子。", "\n", "\n\n"]
        + ["```\n# no heading\n```\n", "x" * 300 + " ", "中" * 200, "\f", "\r\n", "* * *\n"]
    ),
    max_size=60,
)


@given(PARTS, st.integers(50, 400), st.integers(0, 40))
def test_the_passages_hold_all_of_the_text_in_order(
    parts: list[str], size: int, overlap: int
) -> None:
    text = "".join(parts)
    chunks = split_text(text, size, overlap)
    covered = [False] * len(text)
    for chunk in chunks:
        assert text[chunk.start : chunk.start + len(chunk.text)] == chunk.text
        assert 0 < len(chunk.text) <= size
        for at in range(chunk.start, chunk.start + len(chunk.text)):
            covered[at] = True
    assert all(seen or char.isspace() for seen, char in zip(covered, text, strict=True))
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)


@given(st.text(max_size=3000))
def test_any_text_is_cut_and_the_work_ends(text: str) -> None:
    assert "".join(text.split()) == "" or split_text(text, 100, 20)


def test_headings_of_markdown_and_restructuredtext_are_remembered() -> None:
    markdown = "intro\n# A\none\n## B\ntwo\n## C\nthree\n# D\nfour\n"
    assert [(one.heading, one.text) for one in split_text(markdown)] == [
        ("", "intro"),
        ("A", "# A\none"),
        ("A > B", "## B\ntwo"),
        ("A > C", "## C\nthree"),
        ("D", "# D\nfour"),
    ]
    rest = "Top\n===\none\n\nBelow\n-----\ntwo\n\nNext\n====\nthree\n"
    assert [one.heading for one in split_text(rest)] == ["Top", "Top > Below", "Next"]


def test_what_looks_like_a_heading_within_code_is_none() -> None:
    [chunk] = split_text("# A\n```python\n# comment\nx = 1\n```\n")
    assert chunk.heading == "A"


def test_a_long_section_is_cut_between_paragraphs_and_overlaps() -> None:
    paragraph = "A sentence of some words that goes on for a while. " * 8
    text = "\n\n".join(f"{n} {paragraph}" for n in range(20))
    chunks = split_text(text)
    assert all(CHUNK_CHARS / 2 < len(chunk.text) <= CHUNK_CHARS for chunk in chunks[:-1])
    for one, other in itertools.pairwise(chunks):
        shared = one.start + len(one.text) - other.start
        assert shared <= OVERLAP_CHARS


def test_a_chinese_character_counts_twice() -> None:
    text = "这是一个很长的中文句子,没有空格。" * 200
    chunks = split_text(text)
    assert max(len(chunk.text) for chunk in chunks) <= CHUNK_CHARS * 0.6
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_a_heading_with_a_row_of_blanks_takes_no_time() -> None:
    began = process_time()
    [chunk] = split_text(f"# a{' ' * 2000}b ##\nsaid\n", 5000)
    assert process_time() - began < 2
    assert chunk.heading.strip() == "a"
