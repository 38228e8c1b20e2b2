"""Text files that are not UTF-8."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.files.encoding_corpus import Sample, make_corpus
from toolkeel import Toolset
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel_workspace.files import ripgrep
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.encodings import (
    decode_text,
    replace_invalid,
    restore_invalid,
)
from toolkeel_workspace.files.workspace import Workspace

CORPUS = [each for each in make_corpus() if each.codec != "utf-32"]


@given(st.one_of(st.binary(max_size=60), st.text(max_size=30).map(lambda t: t.encode("gb18030"))))
def test_a_decoded_file_encodes_to_the_same_bytes(data: bytes) -> None:
    decoded = decode_text(data)
    assert decoded.encode(decoded.text) == data


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_utf_8_is_always_taken_for_utf_8(text: str) -> None:
    decoded = decode_text(text.encode())
    assert decoded.has_cr_lines == ("\r" in text and "\n" not in text)
    shown = text.replace("\r", "\n") if decoded.has_cr_lines else text
    assert (decoded.codec, decoded.mark + decoded.text) == ("utf-8", shown)


@pytest.mark.parametrize(
    ("codec", "text", "found"),
    [
        ("gbk", "# 这是一个配置文件，用于测试。\nname = 'x'\n", "gbk"),
        ("utf-16", "hello\nworld\n", "utf-16-le"),
        ("utf-16-be", "\ufeffhello\n", "utf-16-be"),
        ("latin-1", "Größe = 'groß'  # déjà vu\n", "cp1252"),
        ("utf-8-sig", "hello\n", "utf-8"),
    ],
)
def test_common_encodings_are_found_out(codec: str, text: str, found: str) -> None:
    decoded = decode_text(text.encode(codec))
    assert (decoded.codec, decoded.text) == (found, text.removeprefix("\ufeff"))


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_can_be_sent(text: str) -> None:
    replace_invalid(text).encode()
    assert replace_invalid("a\udcffb") == "a\ufffdb"


def test_a_guess_of_which_we_are_sure_is_right() -> None:
    wrong = list[str]()
    for each in CORPUS:
        decoded = decode_text(each.data)
        right = decoded.text.startswith(each.text.removeprefix("\ufeff").removesuffix("\n"))
        if not right and decoded.is_sure:
            wrong.append(f"{each.codec} {each.kind}: {decoded.description}")
        if not right and each.kind == "mixed":
            wrong.append(f"{each.codec} {each.kind}: {decoded.description}")
    assert wrong == []


class Folder:
    """A workspace with one file, called as models call."""

    def __init__(self, place: Path, data: bytes) -> None:
        self.file = place / "f.txt"
        self.file.write_bytes(data)
        workspace = Workspace(place, None)
        self.tools = Toolset([*workspace.tools, apply_patch(workspace)])

    def call(self, name: str, **arguments: object) -> ToolMessage:
        return self.tools.run_sync([ToolCall("c", name, {"path": "f.txt", **arguments})])[0]


@pytest.mark.parametrize("sample", CORPUS, ids=lambda each: f"{each.codec}-{each.kind}")
def test_read_grep_edit_and_apply_patch_agree_about_a_file(sample: Sample, tmp_path: Path) -> None:
    folder = Folder(tmp_path, sample.data)
    shown = str(folder.call("read").content).rsplit("\n[f.txt:", 1)[0]
    lines = [line for line in shown.split("\n") if not line.isascii()]
    line = lines[-1] if lines else shown.split("\n")[0]
    for path in ("f.txt", "."):
        found = str(folder.call("grep", path=path, pattern=line, literal=True).content)
        assert f": {line}\n" in found
    edited = folder.call("edit", old_text=line, new_text=f"X{line}")
    assert edited.status == "success", edited.content
    after = folder.file.read_bytes()
    x = "X".encode("utf-16-le" if sample.codec.startswith("utf-16") else "ascii")
    x = x[::-1] if sample.codec == "utf-16-be" else x
    places = [at for at in range(len(after)) if after[:at] + after[at + len(x) :] == sample.data]
    assert any(after[at : at + len(x)] == x for at in places)
    patched = folder.call("apply_patch", type="update_file", diff=f"@@\n-X{line}\n+{line}")
    assert patched.status == "success", patched.content
    assert folder.file.read_bytes() == sample.data


@pytest.mark.parametrize("sample", CORPUS, ids=lambda each: f"{each.codec}-{each.kind}")
def test_a_new_character_is_written_right_or_not_at_all(sample: Sample, tmp_path: Path) -> None:
    folder = Folder(tmp_path, sample.data)
    guess = decode_text(sample.data)
    first = replace_invalid(guess.text).split("\n")[0]
    for char in ("é", "ж", "文", "한"):
        folder.file.write_bytes(sample.data)
        folder.call("read")
        made = folder.call("edit", old_text=first, new_text=char + first)
        if made.status == "success" and char not in guess.text:
            real = folder.file.read_bytes().decode(sample.codec, "replace")
            assert char in real, f"written as {guess.description}: {real[:20]!r}"
            assert guess.confidence is None or "guess" in str(made.content)
        elif made.status == "error":
            assert folder.file.read_bytes() == sample.data
            assert "Nothing was changed." in str(made.content)


def test_utf_8_cut_or_with_a_stray_byte_stays_utf_8(tmp_path: Path) -> None:
    for data in ("a größe\nb größe".encode()[:-3], "größe\n".encode() + b"a \xff b\n"):
        folder = Folder(tmp_path, data)
        assert "größe" in str(folder.call("read").content)
        assert "1 match" in str(folder.call("grep", pattern="größe").content)
        assert folder.call("edit", old_text="größe", new_text="größé").status == "success"
        assert folder.file.read_bytes() == data.replace("größe".encode(), "größé".encode(), 1)


def test_odd_bytes_stay_where_an_edit_repeats_them(tmp_path: Path) -> None:
    folder = Folder(tmp_path, b"one \xff two \xfe\nthree\n")
    assert "2 odd bytes shown as \ufffd" in str(folder.call("read").content)
    done = folder.call("edit", old_text="one \ufffd two \ufffd", new_text="1 \ufffd 2 \ufffd")
    assert done.status == "success" and folder.file.read_bytes() == b"1 \xff 2 \xfe\nthree\n"
    done = folder.call("apply_patch", type="update_file", diff="@@\n 1 \ufffd 2 \ufffd\n-three\n+3")
    assert done.status == "success" and folder.file.read_bytes() == b"1 \xff 2 \xfe\n3\n"
    done = folder.call("edit", old_text="1 \ufffd 2 \ufffd", new_text="\ufffd \ufffd \ufffd")
    assert "or none" in str(done.content) and done.status == "error"
    done = folder.call("edit", old_text="1 \ufffd 2 \ufffd", new_text="1 \ufffd")
    assert folder.file.read_bytes() == b"1 \xff\n3\n"


def test_lines_that_end_with_carriage_returns_are_lines_for_every_tool(tmp_path: Path) -> None:
    for codec in ("utf-8", "utf-16", "cp1252"):
        folder = Folder(tmp_path, "café olé\rtwo\rthree\r".encode(codec))
        shown = str(folder.call("read", offset=2).content)
        assert shown.startswith("two\nthree\n\n[") and "3 lines" in shown
        for path in ("f.txt", "."):
            found = str(folder.call("grep", path=path, pattern="^t.*$").content)
            assert found.startswith("f.txt:2: two\nf.txt:3: three\n")
        assert (
            folder.call("edit", old_text="café olé\ntwo", new_text="café olé\n2").status
            == "success"
        )
        assert folder.call("edit", old_text="2\rthree", new_text="2\r3").status == "success"
        diff = "@@\n café olé\n-2\n+4\n+5\n 3"
        assert folder.call("apply_patch", type="update_file", diff=diff).status == "success"
        assert folder.file.read_bytes() == "café olé\r4\r5\r3\r".encode(codec)
    folder = Folder(tmp_path, b"10%\r50%\r100%\ndone\n")
    assert "2 lines" in str(folder.call("read").content)


def test_utf_16_cut_within_a_code_unit_is_reported_and_stays(tmp_path: Path) -> None:
    data = "エラー\n二行目".encode("utf-16") + b"x"
    folder = Folder(tmp_path, data)
    assert "二行目\ufffd\n\n[" in str(folder.call("read").content)
    assert "f.txt:2: 二行目\ufffd" in str(folder.call("grep", pattern="二行目").content)
    assert folder.call("edit", old_text="エラー", new_text="é").status == "success"
    assert folder.file.read_bytes() == "é\n二行目".encode("utf-16") + b"x"
    refused = folder.call("edit", old_text="二行目\ufffd", new_text="二行目\ufffd\nx")
    assert "nothing can be written after it. Nothing was changed." in str(refused.content)
    assert folder.file.read_bytes() == "é\n二行目".encode("utf-16") + b"x"
    assert folder.call("edit", old_text="二行目\ufffd", new_text="ok").status == "success"
    assert folder.file.read_bytes() == "é\nok".encode("utf-16")


MISSING_FIRST = [
    ("euc_kr", "설정 파일을 읽지 못했습니다\n오류가 발생했습니다.\n"),
    ("cp949", "안녕하세요 똠방각하 펲시콜라\n두 번째 줄입니다.\n"),
    ("gbk", "错误：文件未找到\n第二行发生错误。\n"),
    ("gb18030", "这是一个测试文件。\n第二行发生错误。㐀㐁\n"),
    ("euc_jp", "これは日本語のテストです。\nエラーが発生しました。\n"),
]


@pytest.mark.parametrize(("codec", "text"), MISSING_FIRST)
def test_a_file_whose_first_byte_is_missing_is_read_after_it(
    codec: str, text: str, tmp_path: Path
) -> None:
    data = text.encode(codec)[1:]
    folder = Folder(tmp_path, data)
    shown = str(folder.call("read").content)
    assert text[1:].strip() in shown and "(a guess, confidence" in shown and "1 odd byte" in shown
    found = folder.call("grep", pattern=text[1:6], literal=True, path=".")
    assert "1 match" in str(found.content) and "(a guess" in str(found.content)
    old = text.split("\n")[0][1:]
    put = f"{old}!"
    for made in (
        folder.call("edit", old_text=old, new_text=put),
        folder.call("apply_patch", type="update_file", diff=f"@@\n-\ufffd{put}\n+\ufffd{old}"),
    ):
        assert made.status == "success" and "(a guess" in str(made.content)
    refused = folder.call("edit", old_text=f"\ufffd{old}", new_text=f"\ufffdX{old}")
    assert "would be read as one with it. Nothing was changed." in str(refused.content)
    assert folder.file.read_bytes() == data


ODD = st.text(st.sampled_from("ab\ufffd"), max_size=8)


@given(ODD, ODD)
def test_a_restored_passage_reads_as_it_was_written(old: str, new: str) -> None:
    count = iter(range(0xDC80, 0xDCFF))
    was = "".join(chr(next(count)) if char == "\ufffd" else char for char in old)
    restored = restore_invalid(was, old, new)
    if restored is not None:
        assert replace_invalid(restored) == new
        odd = [char for char in restored if char >= "\udc80" and char != "\ufffd"]
        assert odd == sorted(set(odd))
    assert restore_invalid(was, old, old) == was


@pytest.mark.parametrize("data", ["hello".encode("utf-32"), b"a\0b", b"%PDF-1.7 text"])
def test_what_is_no_text_is_refused_by_all(data: bytes, tmp_path: Path) -> None:
    folder = Folder(tmp_path, data)
    for made in (
        folder.call("read"),
        folder.call("grep", pattern="a"),
        folder.call("edit", old_text="a", new_text="b"),
        folder.call("apply_patch", type="update_file", diff="@@\n-a\n+b"),
    ):
        assert made.status == "error"
        assert re.search("is (binary|UTF-32)", str(made.content))
    assert folder.file.read_bytes() == data


@pytest.mark.parametrize("pattern", [r"caf\w", "^.{4}$", r"\w+é?$"])
def test_ripgrep_changes_nothing_for_files_that_are_not_utf_8(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path, "café\n".encode("cp1252"))
    with_it = folder.call("grep", pattern=pattern, path=".").content
    monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: None)
    assert folder.call("grep", pattern=pattern, path=".").content == with_it
    assert "1 match" in str(with_it) and "f.txt is perhaps Windows-1252 (a guess" in str(with_it)
