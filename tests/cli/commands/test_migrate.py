"""``toolkeel migrate``: a diff, or the files changed; what is left is told."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Here


def test_a_diff_is_shown_and_the_file_stays(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("from agents import Agent\nprint('好')\n", "utf-8")
    ended = here("migrate", str(file))
    assert (ended.code, ended.err) == (0, "")
    assert (
        "-from agents import Agent\n+from toolkeel.compat.openai_agents import Agent" in ended.out
    )
    assert file.read_text("utf-8").startswith("from agents")


def test_files_are_changed_and_what_is_left_is_told_by_line(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(b"from agents import Agent, tool_namespace\r\nx = 1\r\n")
    ended = here("migrate", str(file), "--write")
    assert ended.code == 1
    assert "program.py:1: agents.tool_namespace: toolset.with_prefix" in ended.err
    assert file.read_bytes() == (
        b"from toolkeel.compat.openai_agents import Agent\nfrom agents import tool_namespace\r\nx = 1\r\n"
    )


def test_a_file_that_is_none_or_no_python_is_named(here: Here, tmp_path: Path) -> None:
    assert "nothing.py cannot be read" in here("migrate", "nothing.py").err
    (tmp_path / "bad.py").write_text("def (", "utf-8")
    ended = here("migrate", str(tmp_path / "bad.py"))
    assert ended.code == 3 and "bad.py is no Python" in ended.err
