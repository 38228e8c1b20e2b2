"""Skills as a model uses them: offered, loaded, read and run, under the workspace's rules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.walls import need
from tests.skills.test_folder import add
from toolkeel import Agent, Effects, Rules, RunResult, Toolset, tool
from toolkeel.messages import ToolMessage
from toolkeel.sessions import KeepTokens, KeepTurns, Sessions
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.skills.skills import Skills


def run(source: Any, *turns: Any, **options: Any) -> tuple[list[ToolMessage], RunResult[Any]]:
    """Let a scripted model make calls, and return their results."""
    extra = options.pop("tools", [])
    result = Agent(Scripted([*turns, "Done."]), tools=[source, *extra]).run_sync("go", **options)
    return [m for m in result.messages if isinstance(m, ToolMessage)], result


def test_names_and_descriptions_are_offered_and_a_body_is_loaded_once(tmp_path: Path) -> None:
    place = add(tmp_path, "commit")
    (place / "notes.md").write_text("one\ntwo\n")
    source = Skills(tmp_path, trust=True)
    load, _ = source.get_tools()
    assert "- commit: Do commit." in load.description and "Steps" not in load.description
    assert load.parameters["properties"]["name"]["enum"] == ["commit"]  # type: ignore[index]
    first, second, again, file = run(
        source,
        call("load_skill", {"name": "commit"}),
        call("load_skill", {"name": "commit"}),
        call("load_skill", {"name": "commit", "again": True}),
        call("read_skill_file", {"name": "commit", "path": "notes.md", "offset": 2}),
    )[0]
    assert first.text == "Steps of commit.\n\n[Files of the skill: notes.md]" == again.text
    assert second.text.startswith("It is loaded already; its text is in an earlier result. If")
    assert "two" in file.text and "one" not in file.text


def test_a_skill_that_is_new_or_broken_meanwhile_counts_at_the_next_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = Skills(tmp_path)
    assert source.get_tools() == []
    add(tmp_path, "commit")
    add(tmp_path, "broken", "nothing")
    assert len(source.get_tools()) == len(source.get_tools()) == 2
    assert [str(note) for note in source.notes] == [
        f"{tmp_path / 'broken'}: not offered: it does not begin with front matter; write --- in "
        "the first line"
    ]
    assert len(caplog.records) == 1 and "a skill has a problem" in caplog.text


@pytest.mark.parametrize("path", ["../secret", "link", "/etc/passwd", "a/../../secret"])
def test_no_path_leads_out_of_a_skill(tmp_path: Path, path: str) -> None:
    place = add(tmp_path / "skills", "commit")
    (tmp_path / "skills" / "secret").write_text("secret")
    (place / "link").symlink_to(tmp_path / "skills" / "secret")
    [message] = run(
        Skills(tmp_path / "skills", trust=True),
        call("read_skill_file", {"name": "commit", "path": path}),
    )[0]
    assert message.failed and "secret" not in message.text.replace(path, "")


@pytest.mark.parametrize("trust", [True, False])
def test_an_untrusted_skill_is_a_strangers_text_already_when_it_is_offered(
    tmp_path: Path, trust: bool
) -> None:
    add(tmp_path, "commit")

    @tool(effects=Effects())
    def send(to: str) -> str:
        """Send."""
        return "sent"

    [loaded, sent] = run(
        Skills(tmp_path, trust=trust),
        call("load_skill", {"name": "commit"}),
        call("send", {"to": "a@example.org"}),
        tools=[send],
        approver=lambda ticket: False,
    )[0]
    assert (sent.kind == "denied") is not trust
    assert loaded.text.startswith("Steps" if trust else "[The skill 'commit'. Its text is from")


def with_script(folder: Path) -> Path:
    place = add(folder, "count")
    (place / "scripts").mkdir()
    script = place / "scripts" / "count.sh"
    script.write_text('echo "$# in $PWD: $*"; echo x > made; touch "$(dirname "$0")/bad"\n')
    return place


def test_a_script_runs_in_the_sandbox_of_the_workspace_and_cannot_change_its_skill(
    tmp_path: Path,
) -> None:
    need("bubblewrap")
    place, root = with_script(tmp_path / "skills"), tmp_path / "root"
    root.mkdir()
    source = Skills(tmp_path / "skills", trust=True, workspace=Workspace(root))
    arguments = {"name": "count", "path": "scripts/count.sh", "arguments": ["a b", "$(id)"]}
    [message] = run(source, call("run_skill_script", arguments))[0]
    assert f"2 in {root}: a b $(id)" in message.text
    assert message.failed and (root / "made").exists()
    assert not (place / "scripts" / "bad").exists()


def test_the_rules_for_commands_hold_for_scripts(tmp_path: Path) -> None:
    with_script(tmp_path / "skills")
    source = Skills(tmp_path / "skills", trust=True, workspace=Workspace(tmp_path, "off"))
    tools = Toolset(source.get_tools(), rules=Rules(deny=["bash"], allow=["run_skill_script"]))
    agent = Agent(
        Scripted(
            [call("run_skill_script", {"name": "count", "path": "scripts/count.sh"}), "Done."]
        ),
        tools=tools,
    )
    result = agent.run_sync("go", approver=lambda ticket: True)
    message = next(m for m in result.messages if isinstance(m, ToolMessage))
    assert message.failed and "rule" in message.text
    assert not (tmp_path / "made").exists()


def test_an_untrusted_script_needs_approval_and_a_bad_path_runs_nothing(tmp_path: Path) -> None:
    place = with_script(tmp_path / "skills")
    (place / "data.bin").write_text("x")
    source = Skills(tmp_path / "skills", workspace=Workspace(tmp_path, "off"))

    def script(path: str) -> Any:
        return call("run_skill_script", {"name": "count", "path": path})

    [denied] = run(source, script("scripts/count.sh"), approver=lambda ticket: False)[0]
    assert denied.kind == "denied" and not (tmp_path / "made").exists()
    for path, reason in [("../x.sh", ""), ("absent.sh", ""), ("data.bin", "no interpreter")]:
        [message] = run(source, script(path), approver=lambda ticket: True)[0]
        assert message.failed and reason in message.text
    os.chmod(place / "scripts" / "count.sh", 0o644)
    [done] = run(source, script("scripts/count.sh"), approver=lambda ticket: True)[0]
    assert not done.failed and (tmp_path / "made").exists()


def test_without_a_workspace_no_script_runs(tmp_path: Path) -> None:
    with_script(tmp_path / "skills")
    for workspace in (None, Workspace(tmp_path, None)):
        names = [t.name for t in Skills(tmp_path / "skills", workspace=workspace).get_tools()]
        assert names == ["load_skill", "read_skill_file"]


def padded(text: str) -> str:
    return text + " padding" * 2000


@pytest.mark.parametrize("history", [KeepTokens(3000, 1500), KeepTurns(1)])
def test_a_loaded_skill_stays_in_view_when_its_turn_is_left_out(
    tmp_path: Path, history: Any
) -> None:
    place = add(tmp_path, "commit", "---\nname: commit\ndescription: d\n---\nAlways sign off.\n")
    (place / "notes.md").write_text(padded("Notes."))
    load = call("load_skill", {"name": "commit"})
    read = call("read_skill_file", {"name": "commit", "path": "notes.md"})
    model = Scripted([load, load, read, "One.", load, read, "Two.", read, "Three.", "Four."])
    agent = Agent(model, tools=[Skills(tmp_path, trust=True)], history=history)
    session = Sessions(":memory:")["a"]
    for prompt in ("one", "two", "three", "four"):
        agent.run_sync(prompt, session=session)
    shown = [message.text for message in model.requests[-1].messages]
    assert sum("Always sign off." in text for text in shown) == 1
    repeated = model.requests[5].messages[-1]
    assert repeated.text.startswith("It is loaded already")
    assert not any(m.text.startswith("one") for m in model.requests[-1].messages)


def test_a_skill_that_is_too_long_is_left_out_and_can_be_loaded_again(tmp_path: Path) -> None:
    text = padded("Always sign off.") * 2
    add(tmp_path, "commit", f"---\nname: commit\ndescription: d\n---\n{text}\n")
    load = call("load_skill", {"name": "commit"})
    again = call("load_skill", {"name": "commit", "again": True})
    model = Scripted([load, "One.", "Two.", again, "Three."])
    agent = Agent(model, tools=[Skills(tmp_path, trust=True)], history=KeepTurns(1))
    session = Sessions(":memory:")["a"]
    for prompt in ("one", "two", "three"):
        agent.run_sync(prompt, session=session)
    assert "sign off" not in " ".join(m.text for m in model.requests[3].messages)
    assert "sign off" in model.requests[4].messages[-1].text


@pytest.mark.parametrize("trust", [True, False])
def test_a_person_names_a_skill_with_a_slash(tmp_path: Path, trust: bool) -> None:
    add(tmp_path, "commit")
    source = Skills(tmp_path, trust=trust)
    for plain in ("commit", "/absent now", "/commits", "see /commit", "/commit/x", ""):
        assert source.expand(plain) == plain

    @tool(effects=Effects())
    def send(to: str) -> str:
        """Send."""
        return "sent"

    model = Scripted([call("send", {"to": "a@example.org"}), "Done."])
    agent = Agent(model, tools=[send])
    result = agent.run_sync(source.expand("/commit this"), approver=lambda ticket: False)
    said = model.requests[0].messages[0].text
    assert said.startswith("/commit this") and "Steps of commit." in said
    [sent] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert (sent.kind == "denied") is not trust
