"""A run recorded from the command line, and played as a test."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tests.cli.commandline import MODELS, TOOLS
from tests.cli.conftest import Here


def _recorded(here: Here, file: Path) -> list[str]:
    """The words that play a run, as recording it printed them."""
    fresh = file.with_name("recorded.py")  # of its own: a script is played once
    fresh.write_text(MODELS, "utf-8")
    words = ("record", str(file), "find a cat", "-t", "tools.py", "-m", f"{fresh}:answer")
    ended = here(*words)
    assert (ended.code, ended.out) == (0, "找到了两只猫。\n")
    return shlex.split(ended.err.splitlines()[-1])[1:]


def test_a_recorded_run_is_played_by_the_line_it_prints_and_no_tool_runs(
    here: Here, tmp_path: Path
) -> None:
    words = _recorded(here, tmp_path / "cat.json")
    ended = here(*words)
    assert (ended.code, ended.out) == (0, "找到了两只猫。\n")
    assert "the same: 2 requests" in ended.err
    assert "looking for" not in ended.err  # what the tool prints when it runs
    assert "looking for" in here(*words, "--live").err


def test_a_changed_tool_ends_with_the_difference(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "cat.json"
    _recorded(here, file)
    changed = tmp_path / "tools.py"
    changed.write_text(TOOLS.replace("le=10", "le=5"), "utf-8")
    ended = here("replay", str(file), "-t", str(changed))
    assert (ended.code, ended.out) == (1, "")
    assert "differs in its tools" in ended.err and '+     "maximum": 5,' in ended.err


def test_a_changed_body_is_seen_when_tools_run(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "cat.json"
    _recorded(here, file)
    changed = tmp_path / "tools.py"
    changed.write_text(TOOLS.replace('f"{query} {n}"', 'f"{query}-{n}"'), "utf-8")
    assert here("replay", str(file), "-t", str(changed)).code == 0
    ended = here("replay", str(file), "-t", str(changed), "--live")
    assert "go on from here" not in ended.err  # nothing that was played is to be resumed
    assert ended.code == 1
    assert "猫-1" in ended.err


def test_a_recording_that_is_not_played_whole_fails(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "cat.json"
    words = _recorded(here, file)
    data = json.loads(file.read_text("utf-8"))
    data["exchanges"].append(data["exchanges"][0])
    file.write_text(json.dumps(data), "utf-8")
    ended = here(*words)
    assert ended.code == 1 and "1 of 3 recorded requests were not made" in ended.err


def test_a_file_is_never_recorded_over(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "cat.json"
    _recorded(here, file)
    before = file.read_bytes()
    assert here("record", str(file), "hi", "-m", "models.py:hostile").code == 2
    assert file.read_bytes() == before


def test_what_needed_approval_is_played_without_asking(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "gone.json"
    fresh = tmp_path / "asked.py"
    fresh.write_text(MODELS, "utf-8")
    words = ("-t", "tools.py", "-m", f"{fresh}:asking", "--yes-to", "remove")
    assert here("record", str(file), "hi", *words).code == 0
    assert here("replay", str(file), "-t", "tools.py").code == 0


def test_a_cassette_that_is_none_is_told_in_one_line(here: Here, tmp_path: Path) -> None:
    ended = here("replay", str(tmp_path / "nothing.json"))
    assert ended.code == 3 and "there is no cassette" in ended.err
