"""What a replacement repeats of a passage that was quoted approximately stays as it is in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.passages.merged import list_differences, merge_replacement
from toolkeel_workspace.files.passages.normalized import to_plain


def plain(text: str) -> str:
    return "".join(to_plain(text).characters)


def merged(was: str, new: str, ending: str = "\n") -> str | None:
    old = "\n".join(plain(line.rstrip()) for line in was.split("\n"))
    return merge_replacement(was, old, new, ending)


@pytest.mark.parametrize(
    ("was", "new", "expected"),
    [
        ("“yes” and it’s — so", '"yes" and it\'s - not so', "“yes” and it’s — not so"),
        ("x = “hi”", 'x = "bye"', "x = “bye”"),
        ("f(‘a’, ‘b’)", "f('x', 'y')", "f(‘x’, ‘y’)"),
        ("w “a” “b” “c”", 'w "a" "c"', "w “a” “c”"),
        ("it’s a test", "isn't a test", "isn’t a test"),
        ("a – b", "a -- b", "a -- b"),
        ("10–20 c", "-10 c", "-10 c"),
        ("x – y", "foo(-1)", "foo(-1)"),
        ("Run — it works", "Run --flag - it works", "Run --flag — it works"),
        ("“x”\n“z”", '"x"\nprint("y")\n"z"', '“x”\nprint("y")\n“z”'),
        ("a\n“b”\nc", '"b"\na\nc', "“b”\na\nc"),
        ("one  \ntwo\t\nthree", "one\ntwo\n3", "one  \ntwo\t\n3"),
        ("one  \ntwo \n\t\nx", "1\ntwo\n\ny", "1\ntwo \n\t\ny"),
        ("a\u00a0b c", "a b d", "a\u00a0b d"),
        ("ﬁne … ½ ＡＢＣ x", "fine ... 1⁄2 ABC y", "ﬁne … ½ ＡＢＣ y"),
        ("… ½", "... 1⁄3", "… 1⁄3"),
        ("全角ＡＢＣです。", "全角ABCだ。", "全角ＡＢＣだ。"),
        ("", "a", "a"),
    ],
)
def test_only_what_was_meant_to_change_changes(was: str, new: str, expected: str) -> None:
    assert merged(was, new) == expected


@pytest.mark.parametrize(
    ("was", "new"),
    [
        ("“a” b", '"a b"'),
        ("say “yes”", 'say "yes" and "no"'),
        ("it’s a test", "x = 'a'"),
        ("“”", '"a"'),
        ("w “a” c", 'w """a""" c'),
    ],
)
def test_where_quotes_would_be_mixed_nothing_is_decided(was: str, new: str) -> None:
    assert merged(was, new) is None


def test_each_line_keeps_its_line_end_and_added_ones_get_that_of_their_place() -> None:
    assert merge_replacement("b\r\nc\nd", "b\nc\nd", "b\nq\nc\nd", "\r\n") == "b\r\nq\r\nc\nd"
    assert merge_replacement("b\r\nc\nd", "b\nc\nd", "B\nC\nD", "\r\n") == "B\r\nC\nD"


LINE = st.lists(
    st.sampled_from(
        ["“a”", "it’s", "–", "x\u00a0y", "ﬁn", "½", "plain", '"b"', "…", "＝", "\udcff"]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
PASSAGE = st.lists(st.tuples(LINE, st.sampled_from(["", " ", "\t", "\r"])), min_size=1, max_size=6)


@given(PASSAGE, st.data())
def test_a_word_changed_in_a_plain_copy_is_all_that_changes_in_the_file(
    rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    lines = [line + end for line, end in rows[:-1]] + [rows[-1][0]]
    old = "\n".join(plain(line.rstrip()) for line in lines)
    assert merge_replacement("\n".join(lines), old, old, "\n") == "\n".join(lines)
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = f"word {lines[at]}"
    old = old.split("\n")
    was, sought = "\n".join(lines), "\n".join([*old[:at], f"word {old[at]}", *old[at + 1 :]])
    new = sought.replace("word", "other")
    assert merge_replacement(was, sought, new, "\n") == was.replace("word", "other")


def test_the_characters_that_a_file_has_for_others_are_listed_once() -> None:
    assert list_differences("“a” – “b”  \nc", '"a" - "b"\nc') == ["“", "”", "–"]
    assert list_differences("a  \nb", "a\nb") == []
