"""A reply that was given before is given again."""

from __future__ import annotations

from toolkeel import Agent, Usage, tool
from toolkeel.agent.turn.reply_cache import ReplyCache
from toolkeel.messages import AssistantMessage
from toolkeel.testing.scripted import Scripted, call


@tool
def act(secret: str = "") -> str:
    """Act."""
    return "acted on 12-34"


def test_a_reply_is_kept_for_the_same_request_and_costs_nothing_then() -> None:
    cache = ReplyCache(size=2)
    whole = AssistantMessage("four", usage=Usage(1, 10, 5))
    model = Scripted([call("act", {}), whole, "other", "five"])
    agent = Agent(model, [act], model_steps=[cache])
    assert agent.run_sync("2 + 2?").usage == Usage(1, 10, 5)
    again = agent.run_sync("2 + 2?")
    assert again.output == "four" and again.usage == Usage() and len(model.requests) == 2
    other = Scripted(["three"], name="another")
    assert agent.run_sync("2 + 2?", model=other).output == "three"
    assert agent.run_sync("6?").output == "other"
