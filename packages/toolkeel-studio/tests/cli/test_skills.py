"""``toolkeel skills``: what is offered, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commandline import toolkeel
from tests.skills.test_folder import add

pytestmark = pytest.mark.slow  # real processes: `make test-all`


def test_skills_are_listed_and_checked(tmp_path: Path) -> None:
    add(tmp_path, "commit")
    assert toolkeel("skills", "list", ".", cwd=tmp_path).out == "commit: Do commit.\n"
    [row] = json.loads(toolkeel("skills", "list", ".", "--json", cwd=tmp_path).out)
    assert (row["name"], row["description"]) == ("commit", "Do commit.")
    checked = toolkeel("skills", "check", ".", cwd=tmp_path)
    assert (checked.code, checked.out) == (0, "1 can be used, 0 cannot\n")
    add(tmp_path, "broken", "---\nname: broken\n---\n")
    checked = toolkeel("skills", "check", ".", cwd=tmp_path)
    assert checked.code == 1
    assert checked.out == "broken: not offered: it has no description\n1 can be used, 1 cannot\n"


def test_a_folder_that_is_missing_is_a_mistake_of_setup(tmp_path: Path) -> None:
    ended = toolkeel("skills", "list", "absent", cwd=tmp_path)
    assert ended.code not in (0, 1) and "'absent' is not a folder" in ended.err
