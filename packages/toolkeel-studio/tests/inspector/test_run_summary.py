"""The header of a run has its models, end reason, duration, tokens, cost, errors and agents."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.inspector.serving import served
from toolkeel import Agent, AssistantMessage, Usage, tool
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.run_summary import summarize_run
from toolkeel_studio.inspector.session_view import ReplyItem, Story, fold_story


@tool
def look_up(key: str) -> str:
    """Look a key up."""
    return {"a": "b"}[key]


def test_a_run_is_summarized_from_its_journal(tmp_path: Path) -> None:
    usage = Usage(input_tokens=30, output_tokens=4, requests=1)
    lines = [call("look_up", {"key": "猫"}), AssistantMessage("Not found.", usage=usage)]
    with closing(Sessions(tmp_path / "talk.db")) as sessions:
        Agent(Scripted(lines, name="play"), [look_up]).run_sync("?", session=sessions["ada"])
        run = summarize_run(fold_story(sessions["ada"].entries()))
    assert run is not None
    assert (run.models, run.reason, run.failed_calls, run.failed_requests) == (
        ("play",),
        "answered",
        1,
        0,
    )
    assert (run.usage.input_tokens, run.usage.output_tokens) == (30, 4)
    assert run.seconds >= 0 and run.cost is None and run.agents == ()
    assert summarize_run(Story()) is None


def test_a_request_has_what_it_sent_and_what_changed(tmp_path: Path) -> None:
    with closing(Sessions(tmp_path / "talk.db")) as sessions:
        agent = Agent(
            Scripted([call("look_up", {"key": "a"}), "Found."]), [look_up], instructions="Be brief."
        )
        agent.run_sync("?", session=sessions["ada"])
        story = fold_story(sessions["ada"].entries())
    first, second = (item.prompt for item in story.items if isinstance(item, ReplyItem))
    assert first is not None and second is not None
    assert first.instructions == "Be brief." and first.tools == ("look_up",)
    assert first.changes == ("instructions", "tools") and second.changes == ()
    assert second.tools == ("look_up",)


def test_the_page_opens_with_the_header_and_a_message_is_edited_and_run_again(
    tmp_path: Path,
) -> None:
    with served(tmp_path, ["One.", "Two.", "Otherwise."], [look_up]) as page:
        page.post("/sessions", text="First?", name="ada")
        page.until("/sessions/ada", "One\\.")
        page.post("/sessions/ada", _do="say", text="Second?")
        text = page.until("/sessions/ada", "Two\\.")
        for word in ("Model", "End", "Duration", "Tokens", "Cost", "Errors"):
            assert f"<dt>{word}</dt>" in text
        assert 'id="rewrite-1"' in text and 'id="rewrite-2"' in text
        made = page.post("/sessions/ada", _do="rewrite", turn="2", text="Another?")
        place = made.headers["location"].removeprefix(page.place).partition("#")[0]
        again = page.until(place, "Otherwise\\.")
        assert "First?" in again and "Another?" in again and "Second?" not in again
        refused = page.post("/sessions/ada", _do="rewrite", turn="2", text=" ")
        assert refused.status_code == 409 and "message is empty" in refused.text
