"""What Tab completes in a chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from toolkeel_studio.cli.chat.complete import ChatCompleter

COMMANDS = [("/resume", "go on"), ("/release", "a skill")]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/re", ["/re|sume", "/re|lease"]),
        ("/resume ", ["/resume |ada", "/resume |ben"]),
        ("/compare b", ["/compare b|en"]),
        ("read @no", ["read @no|tes.md"]),
        ("re", []),
        ("a /re", []),
    ],
)
def test_commands_sessions_and_files_are_completed(
    typed: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("猫", "utf-8")
    monkeypatch.chdir(tmp_path)
    completer = ChatCompleter(lambda: COMMANDS, lambda: ["ada", "ben"])
    found = completer.get_completions(Document(typed), CompleteEvent())
    lines = [typed[: len(typed) + each.start_position] + each.text for each in found]
    assert [line.replace(typed, f"{typed}|", 1) for line in lines] == offered
