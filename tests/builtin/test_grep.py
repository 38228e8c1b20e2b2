"""Searching files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.builtin import grep as module
from toolwright.builtin.beneath import Root
from toolwright.builtin.grep import MAX_LINE, Query, Search
from toolwright.errors import ToolError
from toolwright.messages import ToolOutput


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


def search(root: Path, pattern: str, path: str = ".", **options: object) -> ToolOutput:
    return Search(Root(root), Query(pattern, **options)).run(path)  # type: ignore[arg-type]


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


def test_no_matches_are_told_with_what_was_searched(place: Path) -> None:
    output = search(place, "nowhere")
    assert output.content == (
        "[No matches; searched 3 files, skipped 1 that are binary, too large or not readable.]"
    )


def test_a_folder_that_is_usually_skipped_is_searched_when_named(place: Path) -> None:
    assert rows(search(place, "hidden", path=".git")) == [".git/d.py:1: def hidden(): ..."]


def test_long_lines_are_shortened_and_counted(place: Path) -> None:
    (place / "long.txt").write_text("needle" + "x" * 2000)
    output = search(place, "needle")
    assert output.details["lines_shortened"] == 1
    assert len(rows(output)[0]) < MAX_LINE + 30


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
        Search(Root(place), Query(**options))  # type: ignore[arg-type]


def test_a_pattern_that_hangs_other_engines_is_decided_at_once(place: Path) -> None:
    (place / "evil.txt").write_text("a" * 50_000 + "!")
    start = time.perf_counter()
    search(place, "^(a+)+$")
    assert time.perf_counter() - start < 1


def test_names_and_patterns_are_never_commands_or_options(place: Path) -> None:
    (place / "-rf").write_text("$(touch pwned) ;id\n")
    assert rows(search(place, "$(touch pwned)", literal=True)) == ["-rf:1: $(touch pwned) ;id"]
    assert rows(search(place, ";id", path="-rf")) == ["-rf:1: $(touch pwned) ;id"]
    assert not (place / "pwned").exists()


def test_a_search_ends_when_its_time_is_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", -1.0)
    output = search(place, "def")
    assert output.details["stopped_by"] == "time"
    assert "stopped after" in str(output.content)


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
