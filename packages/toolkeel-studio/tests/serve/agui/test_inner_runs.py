"""Inner agents on the wire of AG-UI."""

from __future__ import annotations

from typing import Any

from toolkeel._records import entries
from toolkeel.messages import AssistantMessage
from toolkeel_studio.serve.agui.inner_runs import InnerRuns
from toolkeel_studio.serve.items import Item


def feed(agents: InnerRuns, body: Any) -> list[str]:
    return [each.type.value for each in agents.encode(Item("1.0", "", body, within="c1"))]


def test_a_subagent_that_waits_is_suspended_and_starts_again_in_the_next_stream() -> None:
    agents = InnerRuns(str)
    assert feed(agents, entries.RunBegan("i", "helper", parent="r")) == ["SUBAGENT_STARTED"]
    assert feed(agents, entries.RunEnded("i", "waiting")) == []
    [suspended] = agents.close_all(["a.b"])
    assert suspended.outcome.interrupt_ids == ["a.b"]
    resumed = InnerRuns(str)
    said = feed(resumed, entries.ModelReplied("i", 2, AssistantMessage("Done.")))
    assert said[0] == "SUBAGENT_STARTED"
    assert [each.type.value for each in resumed.close("c1")] == ["SUBAGENT_FINISHED"]
    assert feed(resumed, entries.ModelReplied("i", 3, AssistantMessage("Late."))) == []


def test_an_inner_error_is_masked() -> None:
    agents = InnerRuns(lambda error: "masked")
    feed(agents, entries.RunBegan("i", "helper", parent="r"))
    ended = entries.RunEnded("i", "failed", "CANARY")
    [error] = agents.encode(Item("1.0", "", ended, within="c1"))
    assert error.message == "masked"
