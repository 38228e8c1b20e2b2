"""Reading and listing files below a root."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Picture

from tests.pictures.test_damage import real_png
from tests.pictures.test_too_large import png
from toolkeel import Toolset
from toolkeel._records.result_store import RESULTS
from toolkeel.builtin.catalog import load_builtin
from toolkeel.content import Image, Text
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall
from toolkeel_workspace.files import line_window
from toolkeel_workspace.files.file_tools import (
    MAX_PICTURE_BYTES,
    MAX_RECODED_BYTES,
    Files,
    tools,
)
from toolkeel_workspace.pictures import shrink
from toolkeel_workspace.pictures.too_large import measure_picture

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("one\ntwo\nthree\n")
    (tmp_path / "big.txt").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    (tmp_path / "sub").mkdir()
    return tmp_path


def shown(files: Files, path: str, **options: int) -> str:
    content = files.read(path, **options).content
    assert isinstance(content, str)
    return content


def test_a_small_file_is_shown_whole_with_its_totals(place: Path) -> None:
    output = Files(place).read("README.md")
    assert output.content == "one\ntwo\nthree\n\n[README.md: 3 lines, 14 B]"
    assert output.details == {
        "path": "README.md",
        "total_lines": 3,
        "total_bytes": 14,
        "first_line": 1,
        "shown_lines": 3,
        "truncated_by": None,
    }


def test_a_long_file_is_cut_with_the_next_call_to_make(place: Path) -> None:
    files = Files(place)
    first = shown(files, "big.txt")
    assert first.endswith(
        "\n2000\n\n[big.txt: 5000 lines, 23.3 KB. Lines 1 to 2000 are shown. "
        'Read on with path="big.txt", offset=2001.]'
    )
    last = shown(files, "big.txt", offset=4001)
    assert last.startswith("4001\n")
    assert last.endswith("Lines 4001 to 5000 are shown.]")


def test_offset_and_limit_choose_lines(place: Path) -> None:
    assert shown(Files(place), "big.txt", offset=10, limit=2).startswith("10\n11\n\n[big.txt")


@pytest.mark.parametrize(("offset", "limit"), [(0, 1), (1, 0), (-5, 5)])
def test_offset_and_limit_count_from_one(place: Path, offset: int, limit: int) -> None:
    with pytest.raises(ToolError, match="count from 1"):
        Files(place).read("README.md", offset, limit)


def test_an_offset_past_the_end_is_told_with_the_length(place: Path) -> None:
    with pytest.raises(ToolError, match="has 3 lines; line 9 is past its end"):
        Files(place).read("README.md", offset=9)


def test_an_empty_file_is_read_without_complaint(place: Path) -> None:
    (place / "empty").touch()
    assert Files(place).read("empty").content == "[empty: 0 lines, 0 B]"


def test_a_line_that_is_too_long_is_shown_in_parts_by_its_columns(place: Path) -> None:
    (place / "long").write_text("x" * 60_000 + "\nend\n")
    text = shown(Files(place), "long")
    assert "[long: 2 lines, 58.6 KB. Line 1 is shown from column 1 to column 51200. " in text
    assert 'Read on with path="long", offset=1, column=51201.]' in text
    rest = shown(Files(place), "long", column=51_201)
    assert rest.startswith("x" * 8_800 + "\nend\n")
    assert "Line 1 is shown from column 51201 to line 2.]" in rest
    with pytest.raises(ToolError, match="Line 2 has 3 characters; column 9 is past its end"):
        Files(place).read("long", 2, 1, 9)


@pytest.mark.parametrize(
    ("data", "odd"),
    [
        ("中文的注释\n".encode("gbk"), "probably GBK (a guess, confidence 0."),
        ("\ufeffhi\n".encode("utf-16-le"), "UTF-16"),
        ("café olé\n".encode("latin-1"), "perhaps Windows-1252 (a guess, confidence 0.0"),
        (b"a\r\nb\r\n", "lines end with CRLF"),
        (b"a", "no line end at its end"),
    ],
)
def test_what_is_odd_about_a_file_is_told(place: Path, data: bytes, odd: str) -> None:
    (place / "odd").write_bytes(data)
    text = shown(Files(place), "odd")
    assert f", {odd}" in text and "\ufffd" not in text


def test_a_kept_result_is_read_by_its_name_and_an_unknown_one_is_told(place: Path) -> None:
    name = RESULTS.save(b"one\ntwo\n")
    assert shown(Files(place), name).startswith("one\ntwo\n\n[output:")
    for unknown in ("output:0123456789ab", "output:../../etc/passwd"):
        with pytest.raises(ToolError, match="No result is kept as"):
            Files(place).read(unknown)


def test_line_ends_and_invisible_characters_stay_as_they_are(place: Path) -> None:
    data = "a\r\nb\u202e\U000e0061\r\n"
    (place / "odd").write_bytes(data.encode())
    assert shown(Files(place), "odd").startswith(data)


def test_a_byte_order_mark_is_not_shown(place: Path) -> None:
    (place / "bom").write_bytes(b"\xef\xbb\xbfhello\n")
    assert shown(Files(place), "bom").startswith("hello\n")


def test_broken_characters_are_counted_and_a_real_replacement_is_not(place: Path) -> None:
    (place / "broken").write_bytes(b"\xff\xfe ok \xef\xbf\xbd\n")
    assert "2 odd bytes shown as" in shown(Files(place), "broken")


@pytest.mark.parametrize(
    ("data", "told"),
    [(b"a\0b", "is binary,"), (b"%PDF-1.7", "application/pdf"), (b"ID3x", "audio/")],
)
def test_binary_files_are_refused_by_their_first_bytes(place: Path, data: bytes, told: str) -> None:
    (place / "file.txt").write_bytes(data)
    with pytest.raises(ToolError, match=told):
        Files(place).read("file.txt")


def test_a_picture_is_told_by_its_bytes_and_comes_as_a_block(place: Path) -> None:
    (place / "photo.txt").write_bytes(real_png(3, 4))
    output = Files(place).read("photo.txt")
    assert isinstance(output.content, tuple)
    assert output.content[1] == Image(real_png(3, 4), "image/png")


@pytest.mark.parametrize("data", [PNG, png(3, 4), real_png(3, 4)[:-13], b"GIF89a", b"\xff\xd8\xff"])
def test_a_damaged_picture_is_told_and_not_shown(place: Path, data: bytes) -> None:
    (place / "photo.png").write_bytes(data)
    with pytest.raises(
        ToolError, match=r"'photo.png' \(image/.*\) is damaged: it.* cannot be shown"
    ):
        Files(place).read("photo.png")


def test_a_large_picture_is_shown_smaller_and_says_how_much(place: Path) -> None:
    Picture.new("RGB", (4000, 3000), "teal").save(place / "photo.png")
    output = Files(place).read("photo.png")
    assert isinstance(output.content, tuple)
    note, picture = output.content
    assert isinstance(note, Text)
    assert isinstance(picture, Image)
    assert "4000 x 3000 pixels. Shown smaller, as image/png," in note.text
    assert "2000 x 1500 pixels: multiply its coordinates by 2.00" in note.text
    assert measure_picture(picture.data) == (2000, 1500)
    assert output.details["shown_pixels"] == (2000, 1500)
    assert output.details["scale"] == 2


def test_a_picture_that_fits_is_shown_byte_for_byte(place: Path) -> None:
    Picture.new("RGB", (2000, 10), "teal").save(place / "photo.png")
    output = Files(place).read("photo.png")
    assert isinstance(output.content, tuple)
    assert output.content[1] == Image((place / "photo.png").read_bytes(), "image/png")
    assert "smaller" not in str(output.content[0])


def test_a_large_picture_without_pillow_is_shown_if_providers_take_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shrink, "_PILLOW", ())
    (place / "large.png").write_bytes(real_png(4000, 30))
    output = Files(place).read("large.png")
    assert isinstance(output.content, tuple)
    assert output.content[1] == Image(real_png(4000, 30), "image/png")
    (place / "huge.png").write_bytes(real_png(9000, 30))
    with pytest.raises(ToolError, match=r"at most 8000 .*pip install 'toolkeel\[pictures\]'"):
        Files(place).read("huge.png")


def test_a_picture_of_too_many_bytes_is_refused(place: Path) -> None:
    (place / "huge.png").write_bytes(PNG + bytes(MAX_PICTURE_BYTES))
    with pytest.raises(ToolError, match=r"at most 32\.0 MB are read"):
        Files(place).read("huge.png")
    (place / "bomb.png").write_bytes(real_png(50_000, 1300))
    with pytest.raises(ToolError, match="50000 x 1300 pixels"):  # T19
        Files(place).read("bomb.png")


def test_a_huge_sparse_file_costs_neither_time_nor_memory(place: Path) -> None:
    with (place / "sparse").open("wb") as file:
        file.write(b"text\n" * 2000)
        os.truncate(file.fileno(), 1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = shown(Files(place), "sparse", limit=1)
    assert "more than " in text and "1048576.0 MB" in text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KB


def test_a_folder_is_listed_without_regard_to_case(place: Path) -> None:
    (place / "Zed").touch()
    (place / ".hidden").touch()
    (place / "link").symlink_to("README.md")
    assert Files(place).ls().content == (
        ".hidden\nbig.txt\nlink@\nREADME.md\nsub/\nZed\n\n[.: 6 entries]"
    )


def test_a_long_listing_is_cut_with_its_total(place: Path) -> None:
    for number in range(30):
        (place / "sub" / f"{number:03}").touch()
    output = Files(place).ls("sub", limit=2)
    assert str(output.content).startswith("000\n001\n\n[sub: first 2 of 30 entries shown.")
    assert output.details == {"path": "sub", "entries": 30, "shown": 2}


def test_an_empty_folder_and_a_limit_of_zero_are_told(place: Path) -> None:
    assert Files(place).ls("sub").content == "[sub: 0 entries]"
    with pytest.raises(ToolError, match="limit counts from 1"):
        Files(place).ls(limit=0)


def test_a_search_is_one_of_the_tools(place: Path) -> None:
    calls = [ToolCall("1", "grep", '{"pattern": "^t", "glob": "*.md"}')]
    [result] = Toolset(tools(place)).run_sync(calls)
    assert result.text.startswith("README.md:2: two\nREADME.md:3: three\n")
    assert result.details["matches"] == 2


def test_a_long_result_is_not_shortened_a_second_time(place: Path) -> None:
    (place / "wide").write_text("猫" * 79 + "\n")
    (place / "full").write_text(("x" * 99 + "\n") * 512)
    [result] = Toolset(tools(place)).run_sync([ToolCall("1", "read", '{"path": "full"}')])
    assert result.details["shown_lines"] == 512
    assert "left out" not in result.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.characters(exclude_characters="\0\ufeff\ufffd", exclude_categories=["Cs"]), max_size=60
    )
)
def test_any_text_is_shown_as_it_was_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "t").write_bytes(text.encode())
    content = shown(Files(tmp_path), "t")
    assert content.startswith(text if "\n" in text else text.replace("\r", "\n"))
    assert content.endswith("]")


def test_options_go_to_the_builtin_that_is_loaded_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    read, *_ = load_builtin("files", root=tmp_path)
    assert "hello" in str(read.invoke({"path": "a.txt"}).content)


def test_what_is_too_large_to_be_decoded_says_what_to_do(place: Path) -> None:
    with (place / "wide").open("wb") as file:
        file.write("a\n".encode("utf-16"))
        os.truncate(file.fileno(), MAX_RECODED_BYTES)
    files = Files(place)
    assert "UTF-16" in shown(files, "wide", limit=1)
    os.truncate(place / "wide", MAX_RECODED_BYTES + 2)
    with pytest.raises(ToolError) as wide:
        files.read("wide")
    assert "is UTF-16 and larger than 16.0 MB" in wide.value.text
    assert wide.value.text.endswith("too large to be decoded. Convert it to UTF-8.")


def test_a_line_behind_what_is_skipped_is_too_far_in(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_window, "MAX_SKIP_BYTES", 1 << 20)
    with (place / "far").open("wb") as file:
        file.write(b"a\n" * 5000)
        os.truncate(file.fileno(), 2 * line_window.MAX_SCAN_BYTES)
    with pytest.raises(ToolError, match="line 5002 is too far in to be read"):
        Files(place).read("far", offset=5002)
    os.truncate(place / "far", 10_000)
    with pytest.raises(ToolError, match="has 5000 lines; line 5002 is past its end"):
        Files(place).read("far", offset=5002)
