"""Variables of a host's file: put in once, and nothing within them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.mcp.config import read_config
from toolkeel.mcp.variables import expand_variables, read_env_file

UNSET: dict[str, str] = {}


def _written(folder: Path, place: str, text: str) -> Path:
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


@given(st.text(st.characters(exclude_characters="{")))
def test_text_without_variables_stays_as_it_is(text: str) -> None:
    assert expand_variables(text, UNSET.get) == text


def test_what_a_variable_holds_is_not_expanded_again() -> None:
    assert expand_variables("${A}", {"A": "${B}", "B": "x"}.get) == "${B}"
    assert expand_variables("${A:-d}", {"A": ""}.get) == "d"
    with pytest.raises(KeyError):
        expand_variables("${A}", UNSET.get)


def test_an_env_file_is_read_below_what_the_entry_says(tmp_path: Path) -> None:
    _written(
        tmp_path,
        ".vscode/my.env",
        "# c\nexport A=1\nB: 'two # 2' # c\nC=\"x\\ny\"\nD=${A} # d\n\nno\n",
    )
    text = '{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.vscode/my.env", "env": {"A": "0"}}}}'
    [config] = read_config(_written(tmp_path, ".vscode/mcp.json", text)).values()
    assert config.env == {"A": "0", "B": "two # 2", "C": "x\ny", "D": "${A}"}
    with pytest.raises(SetupError, match="envFile"):
        read_env_file(tmp_path / "none", "here")


def test_the_files_of_a_project_are_read_in_linear_time(tmp_path: Path) -> None:
    """What takes quadratic time would take minutes here."""
    gap = " " * 200_000
    file = _written(tmp_path, "my.env", f"A=x{gap}y\nB={gap}\nC=x{gap}# c\n")
    assert read_env_file(file, "here") == {"A": f"x{gap}y", "B": "", "C": "x"}
    assert expand_variables(f"${{file:{'a' * 200_000}", UNSET.get) == f"${{file:{'a' * 200_000}"
