"""What a model is not shown."""

from __future__ import annotations

import pytest

from toolkeel import Agent, SetupError, tool
from toolkeel.agent.turn.redact_messages import Redact
from toolkeel.testing.scripted import Scripted, call


@tool
def act(secret: str = "") -> str:
    """Act."""
    return "acted on 12-34"


def test_what_matches_is_hidden_from_the_model_and_stays_in_the_transcript() -> None:
    model = Scripted([call("act", {}), "done"])
    agent = Agent(model, [act], instructions="Code 99-99.", model_steps=[Redact(r"\d\d-\d\d")])
    result = agent.run_sync(["my code is 55-55"])
    told = [message.text for message in model.requests[1].messages]
    assert told == ["Code [redacted].", "my code is [redacted]", "", "acted on [redacted]"]
    assert [m.text for m in result.messages] == ["my code is 55-55", "", "acted on 12-34", "done"]


@pytest.mark.parametrize(
    ("patterns", "words"), [((), "replaces nothing"), (("a", "(b"), r"'\(b' is no")]
)
def test_patterns_that_cannot_work_are_refused(patterns: tuple[str, ...], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        Redact(*patterns)
