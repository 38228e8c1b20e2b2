"""Files below a folder, without those that .gitignore names."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkeel_workspace.files import file_tools, open_beneath, ripgrep, walk
from toolkeel_workspace.files.find import find_files
from toolkeel_workspace.files.grep import GrepQuery, GrepSearch
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.walk import FileWalk, sort_key
from toolkeel_workspace.shell.git_identity import read_global_setting

NAMES = ["a.txt", "b.log", "src/a.txt", "src/b.log", "src/x/c.py", "x/src/c.py", "[a]", "#b", "a b"]
RULES = [
    *("*.log", "!b.log", "/a.txt", "src/", "!src/", "src/*.txt", "**/x", "x/**", "src/**/c.py"),
    *("[a-b].txt", "[!a].log", r"\#b", r"\[a]", "# note", "a\\ b", "a b  ", "*", "!*.py", "?.txt"),
]


def tree(folder: str, names: list[str], rules: dict[str, list[str]]) -> Path:
    for name in [*names, *(f"{place}/.gitignore" for place in rules)]:
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for place, lines in rules.items():
        (Path(folder) / place / ".gitignore").write_text("\n".join(lines))
    return Path(folder)


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.lists(st.sampled_from(RULES), max_size=5),
    st.lists(st.sampled_from(RULES), max_size=3),
)
def test_what_is_left_is_what_git_would_add(top: list[str], below: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = tree(folder, NAMES, {".": top, "src": below})
        git = ["git", "-c", "core.excludesFile=", "-c", "core.quotePath=false", "-C", folder]
        subprocess.run([*git, "init", "-q"], check=True)
        listed = subprocess.run(
            [*git, "ls-files", "-z", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        )
        expected = listed.stdout.decode().split("\0")[:-1]
        walk = FileWalk(Root(place), ".")
        assert list(walk) == sorted(expected, key=sort_key)
        every = [*NAMES, ".gitignore", "src/.gitignore"]
        assert sorted(filter(walk.is_included, every)) == sorted(expected)


def test_rules_above_the_start_count_unless_they_name_it(tmp_path: Path) -> None:
    place = tree(
        str(tmp_path), ["src/a.log", "src/b", "out/c", "out/d.log"], {".": ["*.log", "out"]}
    )
    assert list(FileWalk(Root(place), "src")) == ["src/b"]
    assert list(FileWalk(Root(place), "out")) == ["out/c", "out/d.log"]
    assert list(FileWalk(Root(place), ".")) == [".gitignore", "src/b"]


def test_links_are_told_when_asked_for_and_never_followed(tmp_path: Path) -> None:
    place = tree(str(tmp_path), ["d/a"], {})
    (place / "link").symlink_to("d")
    assert list(FileWalk(Root(place), ".")) == ["d/a"]
    assert list(FileWalk(Root(place), ".", include_links=True)) == ["link", "d/a"]


def test_a_gitignore_that_is_a_link_to_the_outside_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.txt")
    place = tree(str(tmp_path / "root"), ["a.txt"], {})
    (place / ".gitignore").symlink_to(tmp_path / "rules")
    assert list(FileWalk(Root(place), ".")) == ["a.txt"]


@pytest.mark.parametrize("rule", ["*a" * 60 + "b", "**/" * 60 + "b", "[", "[z-a]", "!", "\\", "{a"])
def test_a_hostile_line_costs_no_time(tmp_path: Path, rule: str) -> None:
    name = "a" * 200
    place = tree(str(tmp_path), [f"d/{name}"], {".": [rule]})
    start = time.perf_counter()
    assert f"d/{name}" in list(FileWalk(Root(place), "."))
    assert time.perf_counter() - start < 10


def test_a_folder_with_more_names_than_are_looked_at_is_told_by_every_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (open_beneath, walk, file_tools):
        monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: None)
    for number in range(9):
        (tmp_path / f"{number}").write_text("x")
    root = Root(tmp_path)
    assert "Not all of . was looked at" in str(find_files(root, "*", ".", 100).content)
    assert "Not all names in . were looked at" in str(
        GrepSearch(root, GrepQuery("y")).run(".").content
    )
    assert "more than 5 entries" in str(file_tools.Files(tmp_path).ls().content)


@pytest.mark.parametrize("rule", [f"a{' ' * 80_000}b", "[" * 80_000])
def test_a_line_longer_than_any_path_costs_no_time(tmp_path: Path, rule: str) -> None:
    place = tree(str(tmp_path), ["d/a", "d/b"], {".": [rule, "b  "]})
    began = time.process_time()
    assert list(FileWalk(Root(place), ".")) == [".gitignore", "d/a"]
    assert time.process_time() - began < 3


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.lists(st.sampled_from(RULES), max_size=3),
    st.lists(st.sampled_from(RULES), max_size=3),
    st.lists(st.sampled_from(RULES), max_size=3),
    st.booleans(),
)
def test_the_repositorys_and_the_persons_own_rules_count_as_in_git(
    top: list[str], own: list[str], person: list[str], in_repository: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        place = tree(f"{folder}/root", NAMES, {".": top})
        Path(folder, "ignored").write_text("\n".join(person))
        patch.setenv("GIT_CONFIG_GLOBAL", f"{folder}/settings")
        read_global_setting.cache_clear()
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        where = place / ".git" / "config" if in_repository else Path(folder, "settings")
        with where.open("a") as file:
            file.write(f"[core]\n\texcludesFile = {folder}/ignored\n")
        (place / ".git" / "info").mkdir(exist_ok=True)
        (place / ".git" / "info" / "exclude").write_text("\n".join(own))
        words = ["git", "-c", "core.quotePath=false", "-C", str(place), "ls-files", "-z"]
        listed = subprocess.run(
            [*words, "--others", "--exclude-standard"], capture_output=True, check=True
        )
        expected = listed.stdout.decode().split("\0")[:-1]
        assert list(FileWalk(Root(place), ".")) == sorted(expected, key=sort_key)
        read_global_setting.cache_clear()
