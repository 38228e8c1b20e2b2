"""Edits change the passages they quote, and no byte beside them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwright.builtin.edit import Change, apply, diff
from toolwright.errors import ToolError


def edited(data: bytes, *pairs: tuple[str, str]) -> bytes:
    return apply(data, [Change(*pair) for pair in pairs], "f").data


def test_several_edits_are_all_looked_for_in_the_original() -> None:
    assert edited(b"a b c", ("a", "b"), ("b", "c"), ("c", "a")) == b"b c a"


def test_a_byte_order_mark_and_windows_line_ends_stay() -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n"
    assert edited(data, ("two\nthree", "2\n3\n4")) == b"\xef\xbb\xbfone\r\n2\r\n3\r\n4\r\n"


def test_in_a_file_of_mixed_line_ends_each_place_keeps_its_own() -> None:
    data = b"a\r\nb\nc\r\nd\n"
    assert edited(data, ("b", "B1\nB2")) == b"a\r\nB1\nB2\nc\r\nd\n"
    assert edited(data, ("c", "C1\nC2")) == b"a\r\nb\nC1\r\nC2\r\nd\n"


def test_bytes_that_are_no_utf_8_pass_through() -> None:
    assert edited(b"\xff\xfe a \x80", ("a", "b")) == b"\xff\xfe b \x80"


@pytest.mark.parametrize(
    ("data", "old"),
    [
        ("x = “hi”\n", 'x = "hi"'),
        ("it’s – so\n", "it's - so"),
        ("a\u00a0b\n", "a b"),
        ("one  \ntwo\n", "one\ntwo"),
        ("ﬁne café\n", "fine cafe\u0301"),
        ("全角ＡＢＣ\n", "全角ABC"),
    ],
)
def test_what_models_misquote_is_found_leniently(data: str, old: str) -> None:
    done = apply(data.encode(), [Change(old, "new")], "f")
    assert done.lenient == 1 and done.data == b"new\n"


def test_a_lenient_match_never_ends_inside_a_character() -> None:
    with pytest.raises(ToolError, match="not found"):
        edited("ﬁne\n".encode(), ("f", "x"))


def test_an_exact_match_goes_before_lenient_ones() -> None:
    assert edited('“a” "a"'.encode(), ('"a"', "x")) == "“a” x".encode()


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("a", "x")], r"more than once in 'f' \(lines 1, 2\)"),
        ([("nothing like it", "x")], "was not found in 'f'"),
        ([("", "x")], "old_text is empty"),
        ([("beta", "beta")], "the same"),
        ([("beta g", "x"), ("gamma", "y")], "overlap"),
        ([("beta", "x"), ("missing", "y")], "old_text of edit 2 was not found"),
    ],
)
def test_what_is_wrong_with_an_edit_is_told(pairs: list[tuple[str, str]], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        edited(b"a\nbeta gamma\n", *pairs)


def test_a_line_that_is_alike_is_shown() -> None:
    with pytest.raises(ToolError, match=r"Line 2 is alike: 'def total\(items\):'"):
        edited(b"x\ndef total(items):\n", ("def totals(item):", "y"))


@given(
    st.lists(
        st.sampled_from(["a", "b\r\n", "c\n", "é", "“", " ", "ﬁ", "\ufeff", "𝒳"]), max_size=20
    ),
    st.text("xyz\n", min_size=1, max_size=8),
    st.lists(st.sampled_from(["a", "b\r\n", "c\n", "é", "“", " ", "ﬁ", "𝒳"]), max_size=20),
    st.text("XYZ\n", max_size=8),
)
def test_every_byte_beside_the_passage_stays(
    head: list[str], old: str, tail: list[str], new: str
) -> None:
    before, after = "".join(head), "".join(tail)
    assume(old.strip("\n"))  # else line ends alone, which stand elsewhere, too
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    done = edited((before + old + after).encode(), (old, new)) if old != new else b""
    if old != new:
        assert done.startswith(before.encode()) and done.endswith(after.encode())
        middle = done[len(before.encode()) : len(done) - len(after.encode())].decode()
        assert middle.replace("\r\n", "\n") == new
        assert mark == "" or done.startswith(b"\xef\xbb\xbf")


@given(
    st.lists(st.text("ab", max_size=3), max_size=30),
    st.lists(st.text("ab", max_size=3), max_size=30),
)
def test_a_diff_leads_from_the_old_text_to_the_new(old: list[str], new: list[str]) -> None:
    text = diff("\n".join(old), "\n".join(new), "f")
    assert _patched("\n".join(old).splitlines(), text) == "\n".join(new).splitlines()


def _patched(lines: list[str], text: str) -> list[str]:
    out, at = [], 0
    for row in text.splitlines()[2:]:
        if row.startswith("@@"):
            start, _, length = row.split()[1][1:].partition(",")
            first = int(start) - (length != "0")
            out += lines[at:first]
            at = first
        elif row[0] == "+":
            out.append(row[1:])
        else:
            assert lines[at] == row[1:]
            at += 1
            out += [row[1:]] if row[0] == " " else []
    return out + lines[at:]


def test_a_diff_is_what_the_program_patch_takes(tmp_path: Path) -> None:
    old = "".join(f"line {n}\n" for n in range(50))
    new = old.replace("line 7\n", "seven\n").replace("line 40\n", "")
    (tmp_path / "f").write_text(old)
    done = subprocess.run(
        ["git", "apply", "-"],
        input=diff(old, new, "f") + "\n",
        text=True,
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f").read_text() == new
