"""Files that a message names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable
from tests.cli.terminal.test_pictures import png
from toolkeel.call.steps.rules import Rules
from toolkeel.content import Image, Text, content_text
from toolkeel_studio.cli.chat.attach import attached_paths, name_pasted_pictures, with_attachments
from toolkeel_studio.cli.exit_codes import UsageProblem

MODEL = """
from toolkeel.content import content_text
from toolkeel.testing import Scripted

def heard(request):
    return "heard " + content_text(request.messages[-1].content)

model = Scripted([heard, heard])
"""
SKILL = "---\nname: poem\ndescription: How poems are written.\n---\nWrite of the moon.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files and one outside of it."""
    made = tmp_path / "here"
    made.mkdir()
    (tmp_path / "secret.txt").write_text("hidden", "utf-8")
    (made / "诗.md").write_text("床前明月光\n", "utf-8")
    (made / "my notes.txt").write_text("two\n", "utf-8")
    (made / "a.png").write_bytes(png(2, 2))
    (made / "data.bin").write_bytes(b"\0\1\2")
    monkeypatch.chdir(made)
    return made


def test_only_files_that_exist_are_named_and_signs_after_them_are_not(folder: Path) -> None:
    text = 'Compare @诗.md, @"my notes.txt" (@a.png) with @ada and me@诗.md; again @诗.md。'
    assert attached_paths(text) == ["诗.md", "my notes.txt"]
    assert attached_paths("@a.png?") == ["a.png"]


def test_text_and_pictures_go_along_as_a_strangers_text(folder: Path) -> None:
    content = asyncio.run(with_attachments("see", ["诗.md", "a.png"], None))
    assert isinstance(content, tuple) and content[0] == Text("see")
    assert "床前明月光" in content_text(content)
    assert any(isinstance(block, Image) for block in content)
    assert all(block.extra["trusted"] is False for block in content[1:] if isinstance(block, Text))
    assert asyncio.run(with_attachments("see", [], None)) == "see"


@pytest.mark.parametrize("path", ["../secret.txt", "data.bin", "诗.md"])
def test_what_a_workspace_would_not_read_is_not_attached(path: str, folder: Path) -> None:
    rules = Rules(ask=["write", "ba*"], deny=["read(path=诗.md)"])
    assert asyncio.run(with_attachments("see", ["a.png"], rules)) != "see"
    with pytest.raises(UsageProblem, match="@"):
        asyncio.run(with_attachments("see", [path], rules))


def test_a_pasted_path_of_a_picture_attaches_it_from_anywhere(folder: Path) -> None:
    other = folder.parent / "屏幕 1.PNG"
    other.write_bytes(png(2, 2))
    for pasted in (f"'{other}'\n", str(other).replace(" ", "\\ "), other.as_uri()):
        text = name_pasted_pictures(pasted)
        assert attached_paths(text) == [str(other)]
    content = asyncio.run(with_attachments("see", [str(other)], None))
    assert any(isinstance(block, Image) for block in content)
    denied = Rules(deny=["read"])
    with pytest.raises(UsageProblem):
        asyncio.run(with_attachments("see", [str(other)], denied))
    for text in ("", "it's", f"see {other}", "a.png", str(folder / "诗.md"), f"{other} and more"):
        assert name_pasted_pictures(text) == text


def test_a_pasted_text_that_cannot_be_named_stays_as_it_is(folder: Path) -> None:
    quoted = folder / 'a"b.png'
    quoted.write_bytes(png(2, 2))
    short = f"'{folder / 'a.png'}'"
    for text in ("see file://[abc", f"'{quoted}'", f"{short} " * (10_000 // len(short))):
        assert name_pasted_pictures(text) == text


def test_a_picture_is_read_where_links_lead_and_a_rule_about_either_path_holds(
    folder: Path,
) -> None:
    real = folder / "secret" / "b.png"
    real.parent.mkdir()
    real.write_bytes(png(2, 2))
    (link := folder.parent / "link.png").symlink_to(real)
    detour = f"{folder}/secret/../a.png"
    for path in (str(link), detour):
        content = asyncio.run(with_attachments("see", [path], None))
        assert any(isinstance(block, Image) for block in content)
    for rule in ("secret/*", f"{real}", f"{link}"):
        with pytest.raises(UsageProblem, match="rule"):
            asyncio.run(with_attachments("see", [str(link)], Rules(deny=[f"read(path={rule})"])))
    (text := folder / "text.png").symlink_to(folder.parent / "secret.txt")
    with pytest.raises(UsageProblem):
        asyncio.run(with_attachments("see", [str(text)], None))


@pytest.mark.slow
def test_a_chat_sends_files_and_loads_skills_by_their_names(folder: Path) -> None:
    (folder / "m.py").write_text(MODEL, "utf-8")
    (folder / "skills" / "poem").mkdir(parents=True)
    (folder / "skills" / "poem" / "SKILL.md").write_text(SKILL, "utf-8")
    env = {"TOOLKEEL_DATA": str(folder / "data"), "PROMPT_TOOLKIT_NO_CPR": "1"}
    terminal = Terminal(["chat", "-m", "m.py:model", "--skills", "skills"], folder, env=env)
    terminal.until(lambda screen: "/help" in screen and "›" in screen)
    terminal.type("read @诗.md\r")
    assert "attached: 诗.md" in readable(terminal.until(lambda screen: "床前明月光" in screen))
    terminal.type("/poem now\r")
    terminal.until(lambda screen: "Write of the moon" in screen)
    terminal.type("/quit\r")
    assert terminal.end().code == 0
