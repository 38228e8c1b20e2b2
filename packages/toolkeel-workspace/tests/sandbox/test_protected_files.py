"""Paths whose change widens what an agent may do."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._common.path_patterns import matching_pattern, may_begin, secret_pattern
from toolkeel_workspace.sandbox import protected_files
from toolkeel_workspace.sandbox.mounts import collect_paths, find_shared_environments
from toolkeel_workspace.sandbox.protected_files import (
    BUILD_FILES,
    PROTECTED,
    find_build_pattern,
    find_protected,
    find_protected_pattern,
    find_protected_place,
    redirects_git,
    set_aside,
    take_snapshot,
)


def test_each_pattern_counts_at_any_depth_and_with_what_is_below() -> None:
    for pattern in PROTECTED:
        name = pattern.replace(".md", ".MD")
        for path in (name, f"./{name}", f"a/b/{name}", f"{name}/x", pattern.upper()):
            assert pattern.startswith(find_protected_pattern(path) or "nothing"), path


@pytest.mark.parametrize(
    "path",
    ["src/hooks/a", ".git/HEAD", ".gitignore", "env", ".env.example", "x.env", "a.github"]
    + [
        "README.md",
        "docs/secrets.md",
        "src/main.py",
        "git/config",
        "docs/agents.txt",
        ".git/objects/ab/cd",
    ],
)
def test_what_only_looks_alike_does_not_count(path: str) -> None:
    assert find_protected_pattern(path) == ""


def test_variants_of_env_files_count() -> None:
    assert find_protected_pattern("a/.env.local") == ".env.*"


@pytest.mark.parametrize(
    "path",
    [".github. ", ".GitHub ", ".github::$DATA", "a/.GITHUB/x", ".git\\hooks\\pre-commit", "x/.git"]
    + ["mirror.git/config", "cafe\u0301/../AGENTS.md", ".husky", "Agents.MD", "a/b/.pdbrc"]
    + ["git~1/hooks/pre-commit", "AGENTS\u200d.md"],
)
def test_other_ways_to_write_a_protected_name_count(path: str) -> None:
    assert find_protected_pattern(path)


@given(st.text("agents.mdAGENTS~1git:. \u200dcredentialsé-_*", max_size=12))
@pytest.mark.parametrize("patterns", [PROTECTED, BUILD_FILES])
def test_the_quick_test_of_a_name_misses_no_pattern(patterns: tuple[str, ...], name: str) -> None:
    for each in (name, *(f"{name}{pattern.replace('*', name)}" for pattern in patterns[:9])):
        part = each.partition("/")[0]
        assert may_begin(part, patterns) or not matching_pattern(part, patterns)


def test_the_quick_test_of_a_name_knows_each_pattern() -> None:
    for pattern in (*PROTECTED, *BUILD_FILES):
        first = pattern.partition("/")[0].replace("*", "x")
        for name in (first, first.upper(), f"{first}. "):
            assert may_begin(name, (pattern,)), (name, pattern)


def test_what_builds_run_and_what_holds_secrets_is_told_apart() -> None:
    assert (
        find_build_pattern("sub/Makefile") == "makefile"
        and find_protected_pattern("sub/Makefile") == ""
    )
    assert secret_pattern("k/server.pem") == "*.pem" == find_protected_pattern("k/server.pem")
    assert secret_pattern(".github/a") == "" and find_build_pattern("src/main.py") == ""


@pytest.mark.parametrize(
    "path", [".git", "./.git", "sub/.git", "a/.GIT ", "a\\.git", "GIT~1", ".g\u200cit"]
)
def test_a_file_in_the_place_of_git_s_folder_counts(path: str) -> None:
    assert find_protected_pattern(path) == ".git"


@given(st.lists(st.sampled_from(["a", "src", ".git", "..", "x.y", "é"]), max_size=4))
def test_whatever_stands_before_a_protected_name_it_is_found(before: list[str]) -> None:
    assert find_protected_pattern("/".join([*before, ".github", "workflows", "ci.yml"]))


def test_nested_repositories_and_bare_ones_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep" / ".git" / "hooks").mkdir(parents=True)
    bare = tmp_path / "fixtures" / "repo"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").touch()
    linked = tmp_path / "linked"
    linked.mkdir()
    for name in ("HEAD", "commondir"):
        (linked / name).touch()
    found = {str(path.relative_to(tmp_path)) for path in find_protected(tmp_path)}
    assert found == {"sub/deep/.git/hooks", "fixtures/repo", "linked"}
    assert find_protected_place(tmp_path, "linked/config") == "a bare git repository"


@pytest.mark.parametrize("others", [("objects", "refs"), ("commondir",)])
def test_of_a_root_that_is_a_bare_repository_itself_git_s_settings_are_protected(
    tmp_path: Path, others: tuple[str, ...]
) -> None:
    for name in ("config", "a.py"):
        (tmp_path / name).touch()
    for name in (*others, "hooks", "src"):
        (tmp_path / name).mkdir()
    before = take_snapshot(tmp_path)
    assert not before.protected
    (tmp_path / "HEAD").touch()
    found = {Path(path).name for path in take_snapshot(tmp_path).protected}
    assert found == {"config", "hooks", *({"commondir"} & {*others})}
    assert find_protected_place(tmp_path, "HEAD") == "a bare git repository"


def test_what_is_planted_for_git_to_obey_is_taken_from_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    planted, other = tmp_path / ".git" / "commondir", tmp_path / ".envrc"
    planted.write_text("/elsewhere")
    other.touch()
    assert redirects_git(str(planted)) and not redirects_git(str(other))
    assert set_aside([str(planted)]) == [f"{planted}.set-aside"]
    assert not planted.exists() and other.exists()


@pytest.mark.parametrize("name", ["conftest.py", f"{'é' * 115}.code-workspace"])
def test_neither_a_taken_name_nor_a_long_one_nor_a_closed_folder_keeps_a_file_in_force(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    planted = folder / name
    planted.touch()
    with suppress(OSError):
        (folder / f"{name}.set-aside" / "x").mkdir(parents=True)
    folder.chmod(0o500)
    [moved] = set_aside([str(planted)])
    assert not planted.exists() and Path(moved).is_file() and moved.endswith(".set-aside")
    (folder / "other").touch()
    assert set_aside([str(folder / "gone")]) == []


def test_environments_that_share_files_with_others_are_found(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.write_text("x")
    for name in (".venv", "node_modules"):
        (tmp_path / "root" / name / "lib").mkdir(parents=True)
    (tmp_path / "root" / ".venv" / "lib" / "x.py").hardlink_to(cache)
    (tmp_path / "root" / "node_modules" / "lib" / "y.js").touch()
    assert list(find_shared_environments(tmp_path / "root")) == [tmp_path / "root" / ".venv"]


def test_a_protected_file_is_found_at_any_depth_and_among_any_number_of_others(
    tmp_path: Path,
) -> None:
    deep = tmp_path.joinpath(*"abcdefghijklmnop")
    (deep / ".git" / "hooks").mkdir(parents=True)
    for number in range(5_100):
        (tmp_path / f"{number:04}.py").touch()
    for path in (deep / "AGENTS.md", deep / "AGENTS\u200d.md", tmp_path / "zz.pem", deep / ".ENV"):
        path.touch()
    found = {str(path.relative_to(tmp_path)) for path in find_protected(tmp_path)}
    below = "/".join("abcdefghijklmnop")
    names = ".git/hooks", "AGENTS.md", "AGENTS\u200d.md", ".ENV"
    assert found == {"zz.pem", *(f"{below}/{name}" for name in names)}


def test_what_is_there_of_them_is_found(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    for name in (".env", ".env.local", ".env.example", "a.py"):
        (tmp_path / name).touch()
    names = {str(path.relative_to(tmp_path)) for path in find_protected(tmp_path)}
    assert names == {".git/hooks", ".env", ".env.local"}


def test_whatever_is_done_to_a_protected_file_shows_in_its_state(tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    hook = hooks / "pre-commit"
    hook.write_text("old")
    (tmp_path / ".env").write_text("A=1")

    def changed(what: Callable[[], object]) -> set[str]:
        before = take_snapshot(tmp_path).protected
        what()
        after = take_snapshot(tmp_path).protected
        return {str(Path(p).relative_to(tmp_path)) for p in before if after.get(p) != before[p]}

    was = hook.stat()

    def cover_up() -> None:
        hook.write_text("new")
        os.utime(hook, ns=(was.st_atime_ns, was.st_mtime_ns))

    assert changed(hook.read_text) == set()
    assert changed((tmp_path / "plain").touch) == set()
    assert changed(cover_up) == {".git/hooks"}
    assert changed(lambda: hook.chmod(0o755)) == {".git/hooks"}
    assert changed((hooks / "post-merge").touch) == {".git/hooks"}
    assert changed(lambda: hooks.rename(tmp_path / ".git" / "h")) == {".git/hooks"}
    assert changed((tmp_path / ".env").unlink) == {".env"}


def test_however_many_files_are_made_beside_what_was_found_stays_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks, nested = tmp_path / ".git" / "hooks", tmp_path / "z" / ".git" / "config"
    hooks.mkdir(parents=True)
    nested.parent.mkdir(parents=True)
    nested.touch()
    assert {hooks, nested} <= set(find_protected(tmp_path))
    monkeypatch.setattr(protected_files, "MAX_FILES_CHECKED", 2)
    for number in range(200):
        (tmp_path / f".{number}").touch()
    assert {hooks, nested} <= set(find_protected(tmp_path))
    nested.unlink()
    assert nested not in find_protected(tmp_path)


def test_a_link_with_a_protected_name_shows_in_the_state_and_is_not_followed(
    tmp_path: Path,
) -> None:
    (tmp_path / "shared").mkdir()
    before = take_snapshot(tmp_path).protected
    (tmp_path / ".vscode").symlink_to("shared")
    made = take_snapshot(tmp_path).protected
    assert set(made) - set(before) == {str(tmp_path / ".vscode")}
    (tmp_path / "shared" / "tasks.json").touch()
    assert take_snapshot(tmp_path).protected == made
    assert collect_paths([tmp_path], [], is_writable=True, network=False).protected == ()


def test_a_build_file_shows_in_the_snapshot_and_so_does_any_change_of_it(tmp_path: Path) -> None:
    made = tmp_path / "package.json"
    made.write_text("{}")
    (tmp_path / "build").mkdir()
    before = take_snapshot(tmp_path)
    assert set(before.builds) == {str(made)} and take_snapshot(tmp_path) == before
    was = made.stat()
    made.write_text("[]")
    os.utime(made, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert take_snapshot(tmp_path).builds[str(made)] != before.builds[str(made)]


def test_a_file_was_missing_only_if_its_folder_was_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for number in range(3):
        (tmp_path / "deep" / str(number)).touch()
    monkeypatch.setattr(protected_files, "MAX_FILES_CHECKED", 2)
    before = take_snapshot(tmp_path)
    assert before.was_missing(str(tmp_path / "Makefile"))
    assert before.was_missing(str(tmp_path / "new" / "Makefile"))
    assert not before.was_missing(str(tmp_path / "deep" / "Makefile"))
    monkeypatch.setattr(protected_files, "SCAN_SECONDS", -1.0)
    assert not take_snapshot(tmp_path).was_missing(str(tmp_path / "deep" / "Makefile"))
