"""``toolkeel migrate``: a diff, or the files changed; what is left is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.conftest import Here


def test_a_diff_is_shown_and_the_file_stays(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("from agents import Agent\nprint('好')\n", "utf-8")
    ended = here("migrate", str(file))
    assert (ended.code, ended.err) == (0, "")
    assert (
        "-from agents import Agent\n+from toolkeel_compat.openai_agents import Agent" in ended.out
    )
    assert file.read_text("utf-8").startswith("from agents")


def test_files_are_changed_and_what_is_left_is_told_by_line(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(b"from agents import Agent\r\nimport pydantic_evals\r\nx = 1\r\n")
    ended = here("migrate", str(file), "--write")
    assert ended.code == 1
    assert "program.py:2: import pydantic_evals: stays" in ended.err
    assert file.read_bytes() == (
        b"from toolkeel_compat.openai_agents import Agent\r\nimport pydantic_evals\r\nx = 1\r\n"
    )


def test_a_file_with_a_name_that_cannot_move_is_not_changed(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(b"from agents import Agent, tool_namespace\r\n")
    ended = here("migrate", str(file), "--write")
    assert ended.code == 1 and file.read_bytes().startswith(b"from agents import Agent")
    assert "program.py:1: agents.tool_namespace: toolset.with_prefix" in ended.err
    assert "the file stays as it is" in ended.err


def test_a_file_keeps_its_encoding_and_a_notebook_its_form(here: Here, tmp_path: Path) -> None:
    marked, latin, book = (tmp_path / name for name in ("bom.py", "latin.py", "book.ipynb"))
    marked.write_bytes(b"\xef\xbb\xbffrom agents import Agent\n")
    latin.write_bytes(b"# coding: latin-1\nfrom agents import Agent  # \xe9\n")
    cell = {"cell_type": "code", "source": ["from agents import Agent\n"]}
    book.write_text(json.dumps({"cells": [cell]}), "utf-8")
    assert here("migrate", *map(str, (marked, latin, book)), "--write").code == 0
    assert marked.read_bytes().startswith(b"\xef\xbb\xbffrom toolkeel_compat")
    assert latin.read_bytes().endswith(b"import Agent  # \xe9\n")
    assert "toolkeel_compat" in json.loads(book.read_text("utf-8"))["cells"][0]["source"][0]
    book.write_text("[1, 2]", "utf-8")
    assert "book.ipynb is no" in here("migrate", str(book)).err


def test_a_file_that_is_none_or_no_python_is_named(here: Here, tmp_path: Path) -> None:
    assert "nothing.py cannot be read" in here("migrate", "nothing.py").err
    (tmp_path / "bad.py").write_text("def (", "utf-8")
    ended = here("migrate", str(tmp_path / "bad.py"))
    assert ended.code == 3 and "bad.py is no Python" in ended.err


def test_of_several_files_the_readable_ones_are_changed(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    for name in ("a.py", "b/c.py", ".venv/lib/d.py", "e.txt", "z.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("from agents import Agent\n", "utf-8")
    (folder / "b" / "bad.py").write_text("print 'two'\n", "utf-8")
    (folder / "link.py").symlink_to(folder / "z.py")
    ended = here("migrate", str(folder), "--write")
    assert ended.code == 3 and "bad.py is no Python" in ended.err
    for name, changed in {
        "a.py": 1,
        "b/c.py": 1,
        "z.py": 1,
        ".venv/lib/d.py": 0,
        "e.txt": 0,
    }.items():
        assert ("toolkeel" in (folder / name).read_text("utf-8")) is bool(changed), name
    assert (folder / "link.py").is_symlink()


def test_a_programs_own_package_of_that_name_stays(here: Here, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    file = tmp_path / "program.py"
    file.write_text("from agents import Agent\n", "utf-8")
    ended = here("migrate", str(file), "--write")
    assert ended.code == 1 and "program.py:1: agents stays" in ended.err
    assert file.read_text("utf-8") == "from agents import Agent\n"


def test_no_file_of_a_strange_folder_stops_the_others_or_leads_elsewhere(
    here: Here, tmp_path: Path
) -> None:
    folder, elsewhere = tmp_path / "cloned", tmp_path / "own.py"
    folder.mkdir()
    elsewhere.write_text("from agents import Agent\n", "utf-8")
    (folder / "a_link.py").symlink_to(elsewhere)
    os.mkfifo(folder / "b_pipe.py")
    (folder / "c.py").write_text("# coding: rot13\nfrom agents import Agent\n", "utf-8")
    (folder / "d.ipynb").write_text("[" * 100_000, "utf-8")
    (folder / "e.py").write_text("from agents import Agent\n", "utf-8")
    ended = here("migrate", str(folder), "--write")
    assert ended.code == 3 and "c.py cannot be read" in ended.err and "d.ipynb is no" in ended.err
    assert "toolkeel_compat" in (folder / "e.py").read_text("utf-8")
    named = here("migrate", str(folder / "a_link.py"), str(folder / "b_pipe.py"), "--write")
    assert "a_link.py is a link and is not changed" in named.err
    assert "b_pipe.py cannot be read: it is no regular file" in named.err
    assert elsewhere.read_text("utf-8") == "from agents import Agent\n"
