"""The header of a run: models, end reason, duration, tokens, cost, errors and agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkeel._records.record import record
from toolkeel.messages import Usage
from toolkeel.observe.stats import price_of_usage
from toolkeel_studio.inspector.session_view import ReplyItem, Story


@record
class RunSummary:
    """The main facts of a run.

    Args:
        models: Names of the models that replied, each once.
        reason: End reason; empty if the run has not ended.
        seconds: Duration until the end, or until the last entry of a run that has not ended.
        usage: Token usage, nested runs included.
        cost: Cost in US dollars; None if the price of a model is unknown.
        failed_calls: Number of failed calls, nested runs included.
        failed_requests: Number of failed requests to models.
        agents: Agents that owned the run, in order; one agent alone is not listed.
    """

    models: tuple[str, ...]
    reason: str
    seconds: float
    usage: Usage
    cost: float | None
    failed_calls: int
    failed_requests: int
    agents: tuple[str, ...]


def summarize_run(story: Story) -> RunSummary | None:
    """Summarize the last run of a story; return None if it made no request."""
    replies = list(_replies(story, story.turns[-1] if story.turns else 0))
    if not replies:
        return None
    usage = Usage()
    for reply in replies:
        if reply.message is not None:
            usage = usage + reply.message.usage
    calls = [call for reply in replies for call in reply.calls]
    agents = tuple(story.agents)
    return RunSummary(
        tuple(dict.fromkeys(reply.model for reply in replies if reply.model)),
        story.reason,
        max(0.0, story.latest - story.began),
        usage,
        _cost(replies),
        sum(call.status == "failed" for call in calls),
        sum(len(reply.failures) for reply in replies),
        agents if len(agents) > 1 else (),
    )


def story_cost(story: Story) -> float | None:
    """Return the cost of all replies of a story, nested runs included, in US dollars.

    Returns:
        None if there is no reply, or a model has no known price.
    """
    return _cost(_replies(story, 0))


def _cost(replies: Iterable[ReplyItem]) -> float | None:
    costs = [
        price_of_usage(reply.model, reply.message.usage)
        for reply in replies
        if reply.message is not None
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _replies(story: Story, since: int) -> Iterator[ReplyItem]:
    """Yield the requests from an entry on, nested runs included."""
    for item in story.items:
        if isinstance(item, ReplyItem) and item.seq >= since:
            yield item
            for call in item.calls:
                if call.inside is not None:
                    yield from _replies(call.inside, 0)
