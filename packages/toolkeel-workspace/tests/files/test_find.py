"""Files by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.files.find import compile_glob, find_files
from toolkeel_workspace.files.open_beneath import Root


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py", ".py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/test_*", ["test_a", "x/test_a"], ["x/test_a/b"]),
        ("**", ["a", "x/y"], []),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.t", "a.{ts,tsx}"]),
        ("{a,b/{c,d}}", ["a", "b/c", "b/d"], ["b", "c"]),
        ("[ab]?.txt", ["ax.txt"], ["cx.txt", "a.txt"]),
        ("app/[id].tsx", ["app/[id].tsx", "app/i.tsx"], ["app/id.tsx"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("[.txt", ["[.txt"], ["a.txt"]),
        ("[z-a]", ["[z-a]"], ["m"]),
        ("文件*", ["文件一.md"], ["文"]),
        ("a+(b)|c$^.", ["a+(b)|c$^."], ["aab"]),
    ],
)
def test_globs_mean_what_people_expect(glob: str, yes: list[str], no: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [path for path in yes if not pattern(path)] == []
    assert [path for path in no if pattern(path)] == []


@given(st.text(max_size=20))
def test_whatever_is_given_is_a_pattern_or_told_to_be_none(glob: str) -> None:
    try:
        compile_glob(glob)("a/b/c.py")
    except ToolError as error:
        assert "pattern" in str(error)


@given(
    st.text(
        st.characters(exclude_characters="*?[]{}/,\0", exclude_categories=["Cs"]),
        min_size=1,
        max_size=10,
    )
)
def test_a_name_without_wildcards_finds_itself_at_any_depth(name: str) -> None:
    assert compile_glob(name)(name) and compile_glob(name)(f"x/y/{name}")


def test_half_a_surrogate_pair_is_no_pattern() -> None:
    with pytest.raises(ToolError, match="not a pattern"):
        compile_glob("\ud800")


def test_too_many_meanings_are_refused() -> None:
    with pytest.raises(ToolError, match="too many meanings"):
        compile_glob("{a,b}" * 20)


@pytest.mark.parametrize("glob", ["{" + "," * 100_000, "[" * 100_000])
def test_a_glob_longer_than_any_path_is_refused_at_once(glob: str) -> None:
    with pytest.raises(ToolError, match="longer than any path"):
        compile_glob(glob)


def test_found_files_are_sorted_counted_and_cut_at_the_limit(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "sub/c.py", ".git/d.py", "node_modules/e.py", "f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    root = Root(tmp_path)
    found = find_files(root, "*.py", ".", 100)
    assert found.content == (
        "a.py\nb.py\nsub/c.py\n\n[3 files found; looked at 4. Not looked into: .git/, node_modules/.]"
    )
    assert "First 2 of 3 files shown" in str(find_files(root, "*.py", ".", 2).content)
    assert str(find_files(root, "*.py", "sub", 9).content).startswith("sub/c.py")
    assert find_files(root, "*.md", ".", 9).content == (
        "[0 files found; looked at 4. Not looked into: .git/, node_modules/; such a folder is, when "
        "given as path or at the start of the pattern.]"
    )
    assert find_files(root, "*.md", "sub", 9).content == "[0 files found; looked at 1.]"


def test_a_link_to_the_outside_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.py").touch()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "out")
    assert "secret" not in str(find_files(Root(tmp_path / "root"), "**", ".", 9).content)


def test_what_gitignore_names_is_not_found_unless_its_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")
    for name in ("build/a.py", "src/b.py", "src/c.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert str(find_files(Root(tmp_path), "src/*", ".", 9).content).startswith("src/b.py\n\n")
    assert str(find_files(Root(tmp_path), "*.py", ".", 9).content).startswith("src/b.py\n\n")
    assert str(find_files(Root(tmp_path), "*.py", "build", 9).content).startswith("build/a.py")


def test_a_glob_that_hangs_other_engines_is_decided_at_once() -> None:
    assert not compile_glob("*a" * 60 + "b")("a" * 250)


def test_only_what_is_absent_is_called_absent(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n/dist\n")
    for name in ("node_modules/x/package.json", "src/a.py", "dist/b/c.js", "src/d.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def find(pattern: str, path: str = ".") -> str:
        return str(find_files(Root(tmp_path), pattern, path, 9).content)

    named = "node_modules/x/package.json"
    assert find(named) == f"{named}\n\n[1 file found; looked at 1.]"
    assert find("node_modules/**/*.json").startswith(named)
    assert find("dist/*/*.js").startswith("dist/b/c.js")
    assert find("x/*.json", "node_modules").startswith(named)
    assert "It matches 1 folder: node_modules/x/" in find("node_modules/x")
    assert "It matches 1 folder: src/" in find("src")
    assert "Left out of searches, and not counted: node_modules/" in find("node_modules")
    assert "not counted: src/d.log" in find("*.log")
    assert "Not looked into: dist/, node_modules/" in find("*.json")
    assert find("*.py").endswith("looked at 2. Not looked into: dist/, node_modules/.]")
    missing = find("nothing/*.py")
    assert missing.startswith("[0 files found") and missing.endswith("'nothing' does not exist.]")
    with pytest.raises(ToolError, match="leaves the root"):
        find("../x")


def test_why_nothing_matches_is_told(tmp_path: Path) -> None:
    for name in ("src/Main.py", "src/cafe\u0301.txt", "[a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "linked").symlink_to("src")

    def find(pattern: str) -> str:
        return str(find_files(Root(tmp_path), pattern, ".", 9).content)

    assert "In another spelling or case: src/Main.py.]" in find("SRC/main.py")
    assert "In another spelling or case: src/Main.py.]" in find("main.*")
    assert "In another spelling or case: src/.]" in find("Src")
    assert "spelling or case: src/cafe\u0301.txt.]" in find("caf\u00e9.txt")
    assert "In another spelling or case: src/Main.py." in find("src\\Main.py")
    assert "In another spelling or case: src/Main.py.]" in find(" Main.py ")
    assert "Nothing outside of the root is looked at" in find("/etc/passwd")
    assert find("/src/*.py").startswith("src/Main.py\n")
    assert "'scr' does not exist. Did you mean 'src'?" in find("scr/*.py")
    assert "'src/Main.py' is a file, not a folder" in find("src/Main.py/*")
    assert "Plain characters in this pattern: [.]" in find("[b.py") and "[a.py\n" in find("[a.py")
    assert "Plain characters in this pattern: {. Write" in find("*.{ts,tsx")
    assert "Plain characters in this pattern: \\ $.]" in find(r".*\.py$")
    assert "Write several patterns as {a,b}" in find("*.ts,*.js")
    assert "Write several patterns as {a,b}" in find("*.ts *.js")
    assert "Links that were not followed: linked/" in find("nothing")
    assert "Plain" not in find("*.{ts,js}") and "not followed" not in find("*.py")


def test_a_folder_that_cannot_be_listed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    root, list_entries = Root(tmp_path), Root.list_entries

    def refuse(root: Root, path: str) -> object:
        if path == "closed":
            raise ToolError("permission denied")
        return list_entries(root, path)

    monkeypatch.setattr(Root, "list_entries", refuse)
    assert "Could not be listed: closed/" in str(find_files(root, "*", ".", 9).content)


def test_a_name_that_is_only_a_part_leads_to_the_names_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "deep.py").touch()
    part = find_files(Root(tmp_path), "deep", ".", 9)
    assert "'*deep*' matches deep.py" in str(part.content)
    assert find_files(Root(tmp_path), "*deep*", ".", 9).details["files"] == 1
    assert "must match" not in str(find_files(Root(tmp_path), "absent", ".", 9).content)


@pytest.mark.parametrize(
    ("pattern", "shown", "hidden"),
    [
        ("a/b/", "It matches 1 folder: a/b/.", "spelling"),
        ("b//", "It matches 1 folder: a/b/.", "spelling"),
        ("A/B/", "In another spelling or case: a/b/.", "matches"),
        ("a\\b\\", "In another spelling or case: a/b/.", "matches"),
        ("a/b/c.txt/", "In another spelling or case: a/b/c.txt.", "matches"),
    ],
)
def test_a_folder_that_a_pattern_names_is_named_once(
    tmp_path: Path, pattern: str, shown: str, hidden: str
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").touch()
    text = str(find_files(Root(tmp_path), pattern, ".", 10).content)
    assert shown in text
    assert hidden not in text
