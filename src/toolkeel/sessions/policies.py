"""History policies: last turns, a budget of tokens, a summary by a model (trim, compact).

Each acts at a high mark and cuts to a low one in one step, since a provider's cache holds only as
long as the beginning of a request stays as it was. The transcript in the journal stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolkeel.agent.history import Cut, View, as_line, borders
from toolkeel.agent.reply_assembly import Assembly
from toolkeel.agent.transcript_media import media_size
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, UserMessage
from toolkeel.model import Model, ModelRequest, Settings, connected

IMAGE_TOKENS = 1500
"""About what a picture takes, whatever its bytes."""


def estimated_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens messages take: a quarter of their ASCII letters, and all others.

    >>> estimated_tokens([UserMessage("What is the capital?")]), estimated_tokens([UserMessage("北京")])
    (9, 6)
    """
    return sum(map(_tokens, messages))


def _tokens(message: Message) -> int:
    text = message.text
    if isinstance(message, AssistantMessage):
        text += "".join(f"{call.name}{call.arguments}" for call in message.tool_calls)
        text += "".join(each.text for each in message.reasoning)
    wide = len(text) - sum(map(str.isascii, text)) if not text.isascii() else 0
    pictures = 0 if isinstance(message, AssistantMessage) else media_size(message) > 0
    return (len(text) - wide) // 4 + wide + 4 + pictures * IMAGE_TOKENS


class KeepTurns:
    """Show the model the last turns: what a person said, and all up to the next time.

    Args:
        keep: How many are left when it cuts.
        at: It cuts when there are more than so many; twice `keep` by default.
    """

    def __init__(self, keep: int, at: int | None = None) -> None:
        self.keep = keep
        self.at = 2 * keep if at is None else at
        if not 0 < keep <= self.at:
            raise SetupError("KeepTurns keeps one turn at least, and not more than it cuts at")

    async def cuts(self, view: View) -> Sequence[Cut]:
        """See `HistoryPolicy.cuts`."""
        places = borders(view.messages)
        if len(places) <= self.at:
            return ()
        return (Cut(0, view.places[places[-self.keep]], (), "keep_turns"),)


class KeepTokens:
    """Show the model what fits into a budget, the latest turns first; the last turn always stays.

    Args:
        high: It cuts when the messages take more than so many tokens.
        low: So many are left, at most; half of `high` by default.
        count: Counts tokens of messages; an estimate by default.
    """

    def __init__(
        self,
        high: int,
        low: int | None = None,
        count: Callable[[Sequence[Message]], int] = estimated_tokens,
    ) -> None:
        self.high = high
        self.low = high // 2 if low is None else low
        self._count = count
        if not 0 < self.low <= self.high:
            raise SetupError("KeepTokens needs 0 < low <= high")

    async def cuts(self, view: View) -> Sequence[Cut]:
        """See `HistoryPolicy.cuts`."""
        place = self.border(view)
        return () if place is None else (Cut(0, view.places[place], (), "keep_tokens"),)

    def border(self, view: View) -> int | None:
        """Where it would cut; None if it would not."""
        messages, places = view.messages, borders(view.messages)
        if self._count(messages) <= self.high or not places:
            return None
        fits = (place for place in places if self._count(messages[place:]) <= self.low)
        place = next(fits, places[-1])
        return place or None


INSTRUCTIONS = """Summarise the conversation so far for yourself, since you will not see it again.
Keep, under a heading each: what the person wants; constraints they named; what was done and found,
with names, numbers and paths; decisions and why; what is open, and the next step. Leave out what is
settled and no longer matters. Write only the summary."""


class Summarise:
    """Show the model a summary by a model in place of what does not fit into a budget.

    The summary is checked: an empty one, or one that is longer than what it stands for, is not used,
    and the history stays as it is; so it does if the model fails. A summary made before is part of
    what the next one is made of. What is summarised goes to this model: choose one that may see it.

    Args:
        model: Who writes it.
        high: It acts when the messages take more than so many tokens.
        low: About how many are left of the latest turns; half of `high` by default.
        instructions: What the model is told.
    """

    def __init__(
        self,
        model: str | Model,
        high: int,
        low: int | None = None,
        instructions: str = INSTRUCTIONS,
    ) -> None:
        self._model = connected(model) if isinstance(model, str) else model
        self._budget = KeepTokens(high, low)
        self._instructions = instructions

    async def cuts(self, view: View) -> Sequence[Cut]:
        """See `HistoryPolicy.cuts`."""
        place = self._budget.border(view)
        if place is None:
            return ()
        old = view.messages[:place]
        reply = await self._ask(old)
        text = reply.text.strip()
        said = UserMessage(f"Summary of the conversation so far:\n{text}")
        whole = reply.finish_reason == "stop" and not reply.tool_calls
        if not (text and whole) or estimated_tokens([said]) >= estimated_tokens(old):
            return ()
        return (Cut(0, view.places[place], (said,), "summarise", reply.usage),)

    async def _ask(self, old: Sequence[Message]) -> AssistantMessage:
        """What the model answers; nothing, if it fails."""
        told = (SystemMessage(self._instructions), UserMessage("\n\n".join(map(as_line, old))))
        assembly = Assembly()
        try:
            async for delta in self._model.stream(ModelRequest(told, (), Settings())):
                if isinstance(delta, AssistantMessage):
                    return delta
                assembly.add(delta)
        except Exception:
            return AssistantMessage(finish_reason="error")
        return assembly.reply()
