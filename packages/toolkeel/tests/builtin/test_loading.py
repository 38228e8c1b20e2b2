"""A user's file is imported as if it were run, and its mistakes are told by its own lines."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from toolkeel.builtin.loading import list_python_files, load_file, load_module, shorten_path
from toolkeel.errors import DefinitionError, SetupError


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_a_file_is_imported_once_under_a_name_of_its_own(tmp_path: Path) -> None:
    first = load_file(_write(tmp_path, "json.py", "made = object()\n"))
    assert load_file(tmp_path / "json.py") is first
    assert sys.modules["json"] is not first
    assert sys.modules[first.__name__] is first


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    one = load_file(_write(tmp_path, "a/same.py", "which = 1\n"))
    two = load_file(_write(tmp_path, "b/same.py", "which = 2\n"))
    assert (one.which, two.which) == (1, 2)


def test_the_block_for_running_a_file_does_not_run(tmp_path: Path) -> None:
    text = "ran = []\nif __name__ == '__main__':\n    ran.append(1)\n"
    assert load_file(_write(tmp_path, "script.py", text)).ran == []


def test_a_file_imports_its_neighbours_and_leaves_no_compiled_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        _write(tmp_path, "neighbour_of_import.py", "value = 3\n")
        path = _write(tmp_path, "importing.py", "from neighbour_of_import import value\n")
        assert load_file(path).value == 3
    finally:
        sys.dont_write_bytecode = before
    compiled = [p.name for p in tmp_path.rglob("*.pyc")]
    assert [name for name in compiled if name.startswith("importing")] == []


def test_an_error_while_importing_names_the_line_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _write(tmp_path, "broken.py", "x = 1\nimport json\njson.loads('{')\n")
    with pytest.raises(SetupError) as caught:
        load_file(path)
    assert str(caught.value).splitlines() == [
        "broken.py cannot be imported: line 3",
        "    json.loads('{')",
        "  JSONDecodeError: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    ]
    assert not [name for name in sys.modules if "target_broken" in name]


def test_a_missing_import_says_which_and_where(tmp_path: Path) -> None:
    path = _write(tmp_path, "needy.py", "\nimport no_such_package_at_all\n")
    with pytest.raises(SetupError, match=r"line 2\n    import no_such.*\n  ModuleNotFoundError"):
        load_file(path)


def test_a_syntax_error_points_at_its_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _write(tmp_path, "wrong.py", "def f():\n    return (1 +\n")
    with pytest.raises(SetupError) as caught:
        load_file(path)
    head, code, mark = str(caught.value).splitlines()
    assert head == "wrong.py, line 2 is not valid Python: '(' was never closed"
    assert code[mark.index("^")] == "("


def test_a_file_that_exits_while_imported_is_an_error_and_not_an_exit(tmp_path: Path) -> None:
    path = _write(tmp_path, "quitter.py", "import sys\nsys.exit(3)\n")
    with pytest.raises(SetupError, match="ends the program"):
        load_file(path)


def test_a_tool_that_cannot_be_defined_is_told_with_its_line(tmp_path: Path) -> None:
    text = "from toolkeel import tool\n@tool('two words')\ndef f() -> int:\n    return 1\n"
    with pytest.raises(
        SetupError, match=r"line [23]\n.*\n  DefinitionError: .*two words"
    ) as caught:
        load_file(_write(tmp_path, "misnamed.py", text))
    assert isinstance(caught.value.__cause__, DefinitionError)


def test_a_module_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, "package_of_test/inner.py", "value = 4\n")
    found = load_module("package_of_test.inner")
    assert found is not None
    assert found.value == 4


def test_a_module_that_is_not_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_module("no_such_module_at_all") is None
    assert load_module("json.no_such_part") is None


def test_a_module_that_lacks_its_own_import_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, "lacking_module.py", "import no_such_package_at_all\n")
    with pytest.raises(SetupError, match=r"lacking_module cannot be imported: .*line 1"):
        load_module("lacking_module")


def test_private_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_private.py", ".hidden.py", "notes.txt"):
        _write(tmp_path, name, "")
    assert [path.name for path in list_python_files(tmp_path)] == ["a.py", "b.py"]


def test_a_path_is_shown_relative_to_the_current_folder_if_it_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shorten_path(tmp_path / "sub" / "x.py") == os.path.join("sub", "x.py")
    assert shorten_path(Path("/elsewhere/x.py")) == str(Path("/elsewhere/x.py"))


def test_the_line_of_a_tool_that_cannot_be_defined_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "from toolkeel import tool\n\n@tool\ndef f(a: 'Nowhere') -> int:\n    return 1\n"
    (tmp_path / "odd_module_of_test.py").write_text(text)
    with pytest.raises(SetupError, match=r"odd_module_of_test\.py, line 3\n    @tool"):
        load_module("odd_module_of_test")
