"""From words on the command line to an agent, and to the command that goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel_studio.cli.commands.launch import Approve, Launch


def test_the_resume_command_keeps_the_terms_of_the_run() -> None:
    launch = Launch(
        ("tools.py", "files:root=my docs"),
        "openai:gpt-5",
        max_turns=3,
        rules=Path("rules.toml"),
        yes_to=("read_*",),
    )
    assert launch.resume_command(Path("s.json")) == [
        *("toolkeel", "resume", "s.json", "-t", "tools.py", "-t", "files:root=my docs"),
        *("-m", "openai:gpt-5", "--rules", "rules.toml", "--yes-to", "read_*", "--max-turns", "3"),
    ]


def test_what_a_file_denies_or_asks_about_no_option_lets_through(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[approval]\ndeny = ["clock"]\nask = ["read(path=/etc/*)"]\n', "utf-8")
    launch = Launch(("builtin",), "offline", rules=rules, yes_to=("*",))
    both = launch._rules()
    assert both is not None
    assert both.action("clock", {}) == "deny"
    assert both.action("read", {"path": "/etc/passwd"}) == "ask"
    assert both.action("read", {"path": "a"}) == "allow"
    assert Launch(("builtin",), "offline")._rules() is None


def test_a_rule_or_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is no rule"):
        Launch(("clock",), "offline", yes_to=("a b",)).agent()
    with pytest.raises(SetupError, match=r"no\.toml"):
        Launch(("clock",), "offline", rules=tmp_path / "no.toml").agent()


def test_asking_is_the_default() -> None:
    assert Launch((), "offline").approve is Approve.ASK
