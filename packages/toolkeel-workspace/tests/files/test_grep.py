"""Searching files."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shared import cannot_run
from toolkeel._records.result_store import RESULTS
from toolkeel.context import CancelToken
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files import grep as module
from toolkeel_workspace.files import ripgrep
from toolkeel_workspace.files.grep import MAX_LINE_CHARS, GrepQuery, GrepSearch
from toolkeel_workspace.files.open_beneath import Root


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("def one():\n    pass\n\ndef two():\n    pass\n")
    (tmp_path / "b.txt").write_text("猫\r\n狗 dog\r\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.py").write_text("DEF = 1\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "d.py").write_text("def hidden(): ...\n")
    (tmp_path / "binary").write_bytes(b"def \0\1\2")
    return tmp_path


@pytest.fixture(autouse=True, params=["ripgrep", "alone"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each test runs with ripgrep choosing the files and without it."""
    if request.param == "alone":
        monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: None)
    elif ripgrep.find_ripgrep() is None:
        cannot_run("there is no ripgrep: scripts/system_packages.py installs it")
    return str(request.param)


def search(root: Path, pattern: str, path: str = ".", **options: object) -> ToolOutput:
    return GrepSearch(Root(root), GrepQuery(pattern, **options)).run(path)  # type: ignore[arg-type]


def rows(output: ToolOutput) -> list[str]:
    assert isinstance(output.content, str)
    return output.content.split("\n\n[")[0].splitlines() if "\n\n[" in output.content else []


def test_each_match_comes_with_file_and_line_number(place: Path) -> None:
    assert rows(search(place, r"^def \w+")) == ["a.py:1: def one():", "a.py:4: def two():"]


def test_case_can_be_ignored_and_files_chosen_by_name(place: Path) -> None:
    assert len(rows(search(place, "def", ignore_case=True))) == 3
    assert rows(search(place, "def", ignore_case=True, glob="c.*")) == ["sub/c.py:1: DEF = 1"]
    assert rows(search(place, "def", glob="**/*.txt")) == []


def test_chinese_is_found_and_carriage_returns_are_not_shown(place: Path) -> None:
    assert rows(search(place, "猫$")) == ["b.txt:1: 猫"]


def test_literal_text_is_no_pattern(place: Path) -> None:
    assert rows(search(place, "one(", literal=True)) == ["a.py:1: def one():"]
    assert rows(search(place, "ONE(", literal=True, ignore_case=True)) == ["a.py:1: def one():"]


def test_context_lines_are_marked_and_shown_once(place: Path) -> None:
    assert rows(search(place, "two", context=1)) == [
        "a.py-3- ",
        "a.py:4: def two():",
        "a.py-5-     pass",
    ]
    assert len(rows(search(place, "def|pass", path="a.py", context=2))) == 5


def test_the_limit_stops_the_search_and_says_so(place: Path) -> None:
    output = search(place, "def", limit=1, context=1)
    assert output.details["stopped_by"] == "limit"
    assert "First 1 match in 1 file; there may be more" in str(output.content)
    assert len([row for row in rows(output) if ":1:" in row]) == 1


def test_no_matches_are_told_with_what_was_not_looked_into(place: Path) -> None:
    said = "Not searched: binary (binary); .git/ (ignored).]"
    assert str(search(place, "nowhere").content) == f"[No matches. {said}"
    assert str(search(place, "pass").content).endswith(f"[2 matches in 1 file. {said}")
    assert str(search(place, "pass", glob="*.py").content).endswith("searched: .git/ (ignored).]")
    assert str(search(place, "DEF", path="sub").content).endswith("[1 match in 1 file.]")


def test_every_reason_for_not_searching_a_file_is_told_with_matches_too(place: Path) -> None:
    (place / "large.log").write_bytes(b"x" * (module.MAX_FILE_BYTES + 1))
    (place / "linked").symlink_to("a.py")
    (place / "report.pdf").write_bytes(b"%PDF-1.7 pass")
    (place / "mixed").write_bytes("größe\n".encode() * 3 + b"gr\xf6 \xff\n")
    (place / "odd").write_bytes(b"\x81\x8d\x8f\x90\x9d\xff\n")
    (place / ".gitignore").write_text("*.secret\n")
    (place / "a.secret").write_text("pass")
    said = str(search(place, "pass").content)
    for part in (
        "large.log (above 16 MB)",
        "linked (links)",
        "binary, report.pdf (binary)",
        "mixed, odd (only its bytes that are no UTF-8)",
        ".git/, a.secret (ignored)",
        "odd is in no encoding that was recognized.",
    ):
        assert part in said
    assert "Not searched" not in str(search(place, "pass", limit=1).content)


def test_a_binary_file_that_is_named_is_refused(place: Path) -> None:
    with pytest.raises(ToolError, match="'binary' is not searched"):
        search(place, "def", path="binary")


def test_a_folder_that_is_usually_skipped_is_searched_when_named(place: Path) -> None:
    assert rows(search(place, "hidden", path=".git")) == [".git/d.py:1: def hidden(): ..."]


def test_lines_that_end_with_carriage_returns_are_searched_as_lines(place: Path) -> None:
    (place / "old.txt").write_bytes(b"one\rtwo x\rthree\r")
    assert rows(search(place, "^two")) == ["old.txt:2: two x"]
    assert rows(search(place, "x$")) == ["old.txt:2: two x"]


def test_byte_order_marks_are_no_part_of_a_line_and_a_cut_file_is_told(place: Path) -> None:
    (place / "mark.txt").write_bytes(b"\xef\xbb\xbfneedle\n")
    (place / "wide.txt").write_bytes("needle\n".encode("utf-16") + b"x")
    assert rows(search(place, "^needle$")) == ["mark.txt:1: needle", "wide.txt:1: needle"]
    assert "wide.txt (only its bytes that are no UTF-16)" in str(search(place, "other").content)


def test_long_lines_are_shortened_and_counted(place: Path) -> None:
    (place / "long.txt").write_text("needle" + "x" * 2000)
    output = search(place, "needle")
    assert output.details["lines_shortened"] == 1
    assert len(rows(output)[0]) < MAX_LINE_CHARS + 50


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.integers(0, 20_000), st.sampled_from(["猫ea", r"nee.?le", "needle$", "^needle"]))
def test_of_a_long_line_what_was_found_is_shown_with_its_columns(
    tmp_path: Path, before: int, pattern: str
) -> None:
    needle = "猫ea" if pattern == "猫ea" else "needle"
    line = "x" * (0 if pattern[0] == "^" else before) + needle
    line += "" if pattern[-1] == "$" else "y" * 3000
    (tmp_path / "one").write_text(line, encoding="utf-8")
    [row] = rows(search(tmp_path, pattern))
    found = re.fullmatch(r"one:1: \[columns (\d+) to (\d+) of (\d+)\] (.*)", row)
    if found is None:
        assert len(line) <= MAX_LINE_CHARS and row == f"one:1: {line}"
        return
    first, last, whole = map(int, found.groups()[:3])
    assert whole == len(line) and needle in found[4]
    assert found[4] == line[first - 1 : last]


@pytest.mark.parametrize("pattern", [r"a\nb", "a\nb", "x^", "$x", "(a|b)\n", r"(x\n)+", "[\n]"])
def test_a_pattern_that_can_never_match_is_refused(place: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="finds nothing"):
        search(place, pattern)


def test_a_kept_result_and_a_file_in_another_encoding_are_searched(place: Path) -> None:
    name = RESULTS.save(b"one\n" * 3 + b"needle\n")
    assert rows(search(place, "needle", path=name)) == [f"{name}:4: needle"]
    (place / "gbk").write_bytes("中文的注释\n".encode("gbk"))
    assert rows(search(place, "注释")) == ["gbk:1: 中文的注释"]


def test_a_large_file_that_is_named_is_searched_line_by_line(place: Path) -> None:
    with (place / "large").open("wb") as file:
        for _ in range(17):
            file.write((b"x" * 1023 + b"\n") * 1024)
        file.write(b"needle\n")
    assert rows(search(place, "needle", path="large")) == [f"large:{17 * 1024 + 1}: needle"]


def test_the_output_has_a_limit_in_bytes(place: Path) -> None:
    (place / "many.txt").write_text("猫needle\n" * 9000)
    output = search(place, "needle", limit=9000)
    assert output.details["stopped_by"] == "bytes"
    assert len(str(output.content).encode()) < 52_000


@pytest.mark.parametrize("pattern", ["(", "(?=a)b", r"(a)\1", "a{1000}{1000}{1000}", "[", "\ud800"])
def test_a_pattern_the_engine_does_not_know_is_refused_with_a_way_out(
    place: Path, pattern: str
) -> None:
    with pytest.raises(ToolError, match="literal=true"):
        search(place, pattern)


@pytest.mark.parametrize(
    "options", [{"pattern": ""}, {"pattern": "x", "limit": 0}, {"pattern": "x", "context": -1}]
)
def test_senseless_options_are_refused(place: Path, options: dict[str, object]) -> None:
    with pytest.raises(ToolError):
        GrepSearch(Root(place), GrepQuery(**options))  # type: ignore[arg-type]


def test_a_pattern_that_hangs_other_engines_is_decided_at_once(place: Path) -> None:
    (place / "evil.txt").write_text("a" * 50_000 + "!")
    start = time.perf_counter()
    search(place, "^(a+)+$")
    assert time.perf_counter() - start < 10


def test_names_and_patterns_are_never_commands_or_options(place: Path) -> None:
    (place / "-rf").write_text("$(touch pwned) ;id\n")
    assert rows(search(place, "$(touch pwned)", literal=True)) == ["-rf:1: $(touch pwned) ;id"]
    assert rows(search(place, ";id", path="-rf")) == ["-rf:1: $(touch pwned) ;id"]
    for pattern in ("-rf", "--files", "--pre=touch pwned", "-e", "--"):
        (place / "odd.txt").write_text(f"a {pattern} b\n")
        assert f"odd.txt:1: a {pattern} b" in rows(search(place, pattern, literal=True)), pattern
    assert not (place / "pwned").exists()


def test_a_search_ends_when_its_time_is_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    output = search(place, "def")
    assert output.details["stopped_by"] == "time"
    assert "Stopped before its end" in str(output.content)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8), max_size=8
    ),
    st.sampled_from("abc猫"),
)
def test_it_finds_the_lines_that_hold_the_text_and_no_others(
    tmp_path: Path, lines: list[str], needle: str
) -> None:
    (tmp_path / "t.txt").write_text("\n".join(lines), encoding="utf-8")
    expected = [f"t.txt:{n}: {line}" for n, line in enumerate(lines, 1) if needle in line]
    assert rows(search(tmp_path, needle)) == expected


def test_what_gitignore_names_is_not_looked_into_unless_it_is_named(place: Path) -> None:
    (place / ".gitignore").write_text("*.log\n!keep.log\n/build/\n# note\n")
    (place / "sub" / ".gitignore").write_text("secret.py\n!mine.log\n")
    for name in ("a.log", "keep.log", "sub/mine.log", "sub/b.log", "sub/secret.py", "sub/build/x"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("needle\n")
    (place / "build").mkdir()
    (place / "build" / "y").write_text("needle\n")
    found = ["keep.log:1: needle", "sub/mine.log:1: needle", "sub/build/x:1: needle"]
    assert rows(search(place, "needle")) == found
    assert rows(search(place, "needle", path="sub")) == found[1:]
    assert rows(search(place, "needle", glob="*.log")) == found[:2]
    assert rows(search(place, "needle", path="build")) == ["build/y:1: needle"]
    assert rows(search(place, "needle", path="a.log")) == ["a.log:1: needle"]


def test_a_link_that_leads_out_is_not_followed(place: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("needle\n")
    (place / "link").symlink_to(outside)
    (place / "file.txt").symlink_to(outside / "secret.txt")
    assert rows(search(place, "needle")) == []
    for path in ("link", "file.txt", "link/secret.txt"):
        with pytest.raises(ToolError, match="leaves the root"):
            search(place, "needle", path=path)


def test_a_folder_swapped_for_a_link_while_it_is_searched_never_leads_out(
    place: Path, tmp_path_factory: Any
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.txt").write_text("needle outside\n")
    inside, parked, stop = place / "swap", place / "parked", threading.Event()
    inside.mkdir()
    (inside / "x.txt").write_text("needle inside\n")

    def swap() -> None:
        while not stop.is_set():
            inside.rename(parked)
            inside.symlink_to(outside)
            inside.unlink()
            parked.rename(inside)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = [row for _ in range(40) for row in rows(search(place, "needle"))]
    finally:
        stop.set()
        thread.join()
    assert not [row for row in seen if "outside" in row]


def test_a_cancelled_search_ends(place: Path) -> None:
    token = CancelToken()
    token.cancel()
    output = GrepSearch(Root(place), GrepQuery("def"), token).run(".")
    assert output.details["stopped_by"] == "time"


WORDS = ["猫", "cat", "Cat ", "٣1", "\u3000", "x.y", "ß", "\r", "-", "_"]
PATTERNS = [
    r"\w+$",
    r"^\W",
    r"\d",
    r"\bcat\b",
    r"[\w.]+y",
    "猫.?$",
    r"^\s*$",
    r"x\.y",
    "c|猫",
    r"\Acat",
]


@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["a.txt", "z.py", "目录/文件.md", "sub/a b.txt", "sub/deep/c.py", ".env"]),
        st.lists(st.sampled_from(["\n", *WORDS]), max_size=8).map("".join),
    ),
    st.lists(
        st.sampled_from(["*.py", "sub/", "!c.py", "/a.txt", "目录/*.md", "**/deep"]), max_size=3
    ),
    st.sampled_from(PATTERNS),
    st.booleans(),
    st.sampled_from(["", "*.py", "**/*.md", "*.{txt,py}"]),
)
def test_the_output_is_the_same_with_ripgrep_and_without(
    files: dict[str, str], ignored: list[str], pattern: str, ignore_case: bool, glob: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for name, text in files.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(text.encode())
        (Path(folder) / ".gitignore").write_text("\n".join(ignored))
        options: dict[str, object] = {"ignore_case": ignore_case, "glob": glob, "context": 1}
        here = search(Path(folder), pattern, **options)
        patch.setattr(ripgrep, "find_ripgrep", lambda: None)
        assert search(Path(folder), pattern, **options) == here
