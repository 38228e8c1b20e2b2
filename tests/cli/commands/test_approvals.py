"""``toolkeel approvals``: what waits, whole and visible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.asking import ids, make, saved, words
from tests.cli.commandline import toolkeel

pytestmark = pytest.mark.slow  # real terminals and processes: `make test-all`


@pytest.fixture
def asker(tmp_path: Path) -> Path:
    return make(tmp_path)


def test_what_waits_is_listed_whole_with_nothing_hidden(asker: Path) -> None:
    path = saved(asker, "hidden")
    ended = toolkeel("approvals", "state.json", cwd=asker)
    assert ended.code == 0
    assert ended.out.startswith(f"{ids(path)[0]}  write waits for approval (the tool always asks):")
    assert "\nwrites\n" in ended.out
    assert r'"text": "a\u202eb\u001b[2J\u200b\udb40\udc41\udb40\udc61 ok"' in ended.out
    assert "expires in " in ended.out


def test_decisions_are_listed_and_as_json_too(asker: Path) -> None:
    first, second = ids(saved(asker))
    edit = f'{second}={{"text": "third"}}'
    toolkeel(
        *("resume", "state.json", "--decide-only", "--deny", first, "--reason", "no"),
        *("--edit", edit),
        cwd=asker,
    )
    listed = toolkeel("approvals", "state.json", cwd=asker).out
    assert "decided: deny no\n" in listed
    assert 'decided: edit\n{\n  "text": "third"\n}' in listed
    data = json.loads(toolkeel("approvals", "state.json", "--json", cwd=asker).out)
    assert [(each["tool"], each["decided"]) for each in data] == [
        ("write", "deny"),
        ("write", "edit"),
    ]
    assert data[0]["effects"]["destructive"] is False


def test_without_a_file_the_runs_that_wait_are_listed(asker: Path) -> None:
    env = {"XDG_STATE_HOME": str(asker / "xdg")}
    none = toolkeel("approvals", cwd=asker, env=env)
    assert (none.code, none.out) == (0, "")
    assert "no saved run in" in none.err
    toolkeel(*words("two"), cwd=asker, env=env)
    listed = toolkeel("approvals", cwd=asker, env=env).out
    assert listed.endswith(".json  2 calls to decide: write, write\n")
    [path] = json.loads(toolkeel("approvals", "--json", cwd=asker, env=env).out)
    assert listed.startswith(path)
    Path(path).with_name("bad.json").write_text("3", "utf-8")
    both = toolkeel("approvals", cwd=asker, env=env)
    assert (both.code, both.out) == (0, listed)
    assert "this is not a saved run" in both.err


def test_a_file_that_is_not_there_is_told(asker: Path) -> None:
    ended = toolkeel("approvals", "no.json", cwd=asker)
    assert ended.code == 3
    assert "there is no saved run 'no.json'" in ended.err
