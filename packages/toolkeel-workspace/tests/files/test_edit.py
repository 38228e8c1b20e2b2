"""Edits change the passages they quote, and no byte beside them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.files.edit import Change, apply_changes, make_diff


def edited(data: bytes, *pairs: tuple[str, str]) -> bytes:
    return apply_changes(data, [Change(*pair) for pair in pairs], "f").data


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
    done = apply_changes(data.encode(), [Change(old, "new")], "f")
    assert done.lenient_count == 1 and done.data == b"new\n"


def test_what_is_approximate_is_told_and_stays_as_it_is_in_the_file() -> None:
    text = "# “Title” – one  \r\nit’s two\r\n"
    old, new = '# "Title" - one\nit\'s two', '# "Title" - one\nit\'s 2'
    done = apply_changes(text.encode(), [Change(old, new)], "f")
    assert done.data.decode() == text.replace("two", "2")
    assert "matched approximately at line 1: the file has “ ” – ’ there" in done.remarks
    done = apply_changes(b"a  \nb\n", [Change("a\nb", "a\nc")], "f")
    assert done.data == b"a  \nc\n" and "the file has other spaces there" in done.remarks
    done = apply_changes(
        b"  print(one)  \n\n  two\t\n", [Change("print(one)\n\ntwo", "print(one)\n\n2")], "f"
    )
    assert done.data == b"  print(one)  \n\n  2\t\n"
    assert "at another indentation at line 1, and so is new_text now" in done.remarks
    assert apply_changes(b"a b", [Change("a", "c")], "f").remarks == "; no line end at its end"


def test_an_approximate_edit_that_would_mix_quotes_is_refused() -> None:
    with pytest.raises(ToolError, match="line 2 of 'f' only approximately: the file has “ ” there"):
        edited("x\n“a” b\n".encode(), ('"a" b', '"a b"'))
    with pytest.raises(ToolError, match="would not change: it has what new_text has already"):
        edited("“a”\n".encode(), ('"a"', "“a”"))


@pytest.mark.parametrize(
    ("text", "old"), [("aaaaa", "aaa"), ("x\ny\nx\ny\nx\n", "x\ny\nx"), ("“‘“‘“", '"\'"')]
)
def test_occurrences_that_overlap_are_not_half_replaced(text: str, old: str) -> None:
    with pytest.raises(ToolError, match=r"'f' several times that overlap, first in line [13]"):
        apply_changes(text.encode(), [Change(old, "b", replace_all=True)], "f")
    done = apply_changes(b"    x\n", [Change("  ", "\t", replace_all=True)], "f")
    assert done.data == b"\t\tx\n"


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
    with pytest.raises(
        ToolError,
        match=r"most similar passage is line 2:\ndef total\(items\):\nThe first difference is in line 2",
    ):
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
    assume(new or before.rpartition("\n")[2].strip(" \t") == before.rpartition("\n")[2])
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
    text = make_diff("\n".join(old), "\n".join(new), "f")
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
        input=make_diff(old, new, "f") + "\n",
        text=True,
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "f").read_text() == new


def test_a_passage_can_be_replaced_wherever_it_stands() -> None:
    done = apply_changes(b"a b a b\na", [Change("a", "c", replace_all=True)], "f")
    assert (done.data, done.replaced_count) == (b"c b c b\nc", 3)
    with pytest.raises(ToolError, match=r"more than once.*or pass replace_all"):
        apply_changes(b"a b a b\na", [Change("a", "c")], "f")


@pytest.mark.parametrize("codec", ["gbk", "utf-16", "cp1252"])
def test_a_file_stays_in_its_encoding_and_that_is_told(codec: str) -> None:
    text = "中文的注释\n第二行的文字\n" if codec != "cp1252" else "café olé\nsecond line here\n"
    old, new = (text.split("\n")[1], "文" if codec != "cp1252" else "é")
    done = apply_changes(text.encode(codec), [Change(old, new)], "f")
    assert done.data.decode(codec) == text.replace(old, new)
    assert "stays so" in done.remarks
    if codec == "cp1252":
        with pytest.raises(
            ToolError,
            match=r"is perhaps Windows-1252 .* how to write '文' .* Nothing was changed\.",
        ):
            apply_changes(text.encode(codec), [Change("second", "文")], "f")


def test_lines_indented_otherwise_are_found_and_what_is_put_in_moves_along() -> None:
    text = b"class A:\n    def one(self):\n        return 1\n"
    done = apply_changes(
        text, [Change("def one(self):\n    return 1", "def one(self):\n    return 2\n\n")], "f"
    )
    assert done.data == b"class A:\n    def one(self):\n        return 2\n"
    assert done.lenient_count == 1
    deeper = "        def one(self):\n            return 1"
    done = apply_changes(text, [Change(deeper, deeper.replace("1", "3"))], "f")
    assert done.data == b"class A:\n    def one(self):\n        return 3\n"
    with pytest.raises(ToolError, match="not found"):
        apply_changes(text, [Change("def one(self):\nreturn 1", "x")], "f")
    with pytest.raises(ToolError, match="not found"):
        apply_changes(text + text, [Change("def one(self):\n    return 1", "x")], "f")


def test_an_edit_that_was_made_before_is_told() -> None:
    with pytest.raises(ToolError, match="new_text is already in line 2"):
        edited(b"a = 1\nvalue = 2\n", ("value = 1\n", "value = 2\n"))


@pytest.mark.parametrize("new", ["e", "value", "value = 2 #", "}", "\n", "value = 2\nb = 3"])
def test_only_what_is_there_as_lines_is_called_already_there(new: str) -> None:
    with pytest.raises(ToolError, match="was not found") as error:
        edited(b"value = 2\n}\nb = 31\n", ("value = 1\n", new))
    assert "already" not in error.value.text


@given(st.text("ab\n", min_size=1, max_size=6), st.text("ab\n", max_size=12))
def test_of_several_matches_even_overlapping_ones_none_is_changed(old: str, text: str) -> None:
    count = sum(text.startswith(old, at) for at in range(len(text)))
    assume(count)
    try:
        done = edited(text.encode(), (old, "X"))
    except ToolError as error:
        assert count > 1 and "occurs more than once" in error.text
    else:
        assert count == 1 and done == text.replace(old, "X").encode()


def test_overlapping_matches_are_told_by_their_lines() -> None:
    with pytest.raises(ToolError, match=r"more than once in 'f' \(lines 1, 2\)"):
        edited(b"end()\nend()\nend()\n", ("end()\nend()", "end()"))


def test_lines_deleted_at_another_indentation_take_their_line_end_along() -> None:
    text = b"if x:\n    total = one + two\n    print(total)\n"
    for old in ("total = one + two", "total = one + two\n"):
        for blanks in ("     ", "        "):
            assert edited(text, (blanks + old, "")) == b"if x:\n    print(total)\n"
    crlf = text.replace(b"\n", b"\r\n")
    assert edited(crlf, ("      total = one + two", "")) == b"if x:\r\n    print(total)\r\n"
    assert edited(text[:-1], ("      print(total)", "")) == b"if x:\n    total = one + two\n"
    assert edited(text, ("    total = one + two", "")) == b"if x:\n\n    print(total)\n"


def test_lines_that_are_twice_at_another_indentation_are_told_with_their_places() -> None:
    text = b"def a():\n  return total\n\ndef b():\n  return total\n"
    with pytest.raises(ToolError, match=r"At another indentation .* \(lines 2, 5\)"):
        edited(text, ("    return total", "    return 0"))
    with pytest.raises(ToolError) as error:
        edited(text, ("    return totals", "    return 0"))
    assert "another indentation" not in error.value.text


LINES = st.lists(st.sampled_from(["a", " b", "\tc", "é", "", "x y"]), min_size=1, max_size=8)


@given(LINES, st.integers(0, 7), st.integers(1, 3), st.text("ab\n", max_size=6), st.booleans())
def test_an_edit_gives_what_replacing_the_text_gives_or_changes_nothing(
    lines: list[str], start: int, length: int, new: str, crlf: bool
) -> None:
    text = "\n".join(lines)
    old = "\n".join(lines[start % len(lines) :][:length])
    assume(old and text.replace(old, new, 1) != text)
    end = "\r\n" if crlf else "\n"
    data = text.replace("\n", end).encode()
    try:
        done = apply_changes(data, [Change(old, new)], "f")
    except ToolError as error:
        assert ("more than once" in error.text and text.count(old) != 1) or text.find(
            old
        ) != text.rfind(old)
        return
    assert done.data.decode().replace("\r\n", "\n") == text.replace(old, new, 1)
