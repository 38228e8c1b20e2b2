"""History policies: last turns, a budget of tokens, a summary by a model (trim, compact).

Each acts at a high mark and cuts to a low one in one step, since a provider's cache holds only as
long as the beginning of a request stays as it was. The transcript in the journal stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from string import ascii_letters

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.history import Count, Cut, HistoryView, is_omission_note, message_to_text
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.agent.transcript_media import media_size
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, UserMessage
from toolkeel.model_interface import Model, ModelRequest, Settings, resolve_model

IMAGE_TOKENS = 1500
"""About what a picture takes, whatever its bytes."""


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Estimate the tokens of messages.

    A quarter of their ASCII letters, half of their digits and signs, and all other characters; 4 for
    each message, and `IMAGE_TOKENS` for one with media.

    >>> estimated_tokens([UserMessage("What is the capital?")]), estimated_tokens([UserMessage("北京")])
    (8, 6)
    """
    return sum(map(_tokens, messages))


_LETTERS = f"{ascii_letters} ".encode()


def _tokens(message: Message) -> int:
    """Estimate the tokens of a message from its text, calls, reasoning and whether it has media."""
    text = message.text
    if isinstance(message, AssistantMessage):
        text += "".join(f"{call.name}{call.arguments}" for call in message.tool_calls)
        text += "".join(each.text for each in message.reasoning)
    narrow = text.encode("ascii", "ignore")
    signs = len(narrow.translate(None, _LETTERS))
    pictures = 0 if isinstance(message, AssistantMessage) else media_size(message) > 0
    size = (len(narrow) - signs) // 4 + signs // 2 + len(text) - len(narrow)
    return size + 4 + pictures * IMAGE_TOKENS


@checked
class KeepTurns:
    """A history policy that keeps the last turns: each a person's message and all up to the next.

    Args:
        keep: Number of turns that remain after a cut.
        at: Number of turns above which it cuts; twice `keep` by default.

    Raises:
        SetupError: unless 0 < keep <= at.
    """

    def __init__(self, keep: int, at: int | None = None) -> None:
        self.keep = keep
        self.at = 2 * keep if at is None else at
        if not 0 < keep <= self.at:
            raise SetupError("KeepTurns keeps one turn at least, and not more than it cuts at")

    async def cuts(self, view: HistoryView) -> Sequence[Cut]:
        """Return one cut that omits all but the last `keep` turns; none up to `at`.

        If requests did not fit, fewer stay.
        """
        turns, keep = view.find_turn_starts(), self.keep
        if view.overflow:
            keep = max(1, min(keep, int(len(turns) / view.overflow)))
        elif len(turns) <= self.at:
            return ()
        if len(turns) <= keep:
            return ()
        return (view.omit(0, turns[-keep], "keep_turns"),)


OVERFLOW_ROOM = 0.7
"""Part of the context that messages may take after a request did not fit."""
LONG = 500
"""Tokens from which on a result is shown by its beginning, where the model can read the rest."""
NOTE = 60
"""About what a note takes that stands for what was left out."""


@checked
class KeepTokens:
    """A history policy that keeps the last turns that fit into a budget of tokens.

    If the model can read them again by name, the oldest long results are first shortened. If that is
    not enough, the oldest turns are omitted. The last turn always stays; its oldest steps are omitted
    only if it alone is too long and the model can read them again.

    Args:
        high: Number of tokens above which it acts.
        low: Maximum number of tokens that remain; half of `high` by default.
        count: Function that counts tokens of messages; an estimate by default.

    Raises:
        SetupError: unless 0 < low <= high.
    """

    def __init__(self, high: int, low: int | None = None, count: Count = estimated_tokens) -> None:
        self.high = high
        self.low = high // 2 if low is None else low
        self._count = count
        if not 0 < self.low <= self.high:
            raise SetupError("KeepTokens needs 0 < low <= high")

    async def cuts(self, view: HistoryView) -> Sequence[Cut]:
        """Return the cuts that bring the messages down to `low` tokens; none while they have at most `high`."""
        short, parts = self.plan(view)
        return *short, *(view.omit(start, stop, "keep_tokens") for start, stop in parts)

    def plan(self, view: HistoryView) -> tuple[list[Cut], list[tuple[int, int]]]:
        """Return the cuts that shorten results, and the ranges of messages to omit besides."""
        sizes = list(view.count_sizes(self._count))
        if view.overflow:  # the estimate was wrong, so that of the server counts
            low = min(self.low, int(sum(sizes) / view.overflow * OVERFLOW_ROOM))
        elif sum(sizes) <= self.high:
            return [], []
        else:
            low = self.low
        short = self._references(view, sizes, low)
        parts = [part for find in (self._turns, self._steps) if (part := find(view, sizes, low))]
        gone = {view.positions[index] for part in parts for index in range(*part)}
        return [cut for cut in short if cut.start not in gone], parts

    def _references(self, view: HistoryView, sizes: list[int], low: int) -> list[Cut]:
        """Return cuts of results of more than `LONG` tokens, the oldest first, until `low` is reached. Update `sizes` in place.

        Nothing is shortened if no tool can read the results again.
        """
        found, left = list[Cut](), sum(sizes)
        for index, size in enumerate(sizes):
            if left <= low or not view.reader_tool:
                break
            cut = view.shorten_result(index) if size > LONG else None
            if cut is not None and (shorter := self._count(cut.messages)) < size:
                found.append(cut)
                left, sizes[index] = left + shorter - size, shorter
        return found

    def _turns(self, view: HistoryView, sizes: list[int], low: int) -> tuple[int, int] | None:
        """Return the range of the oldest turns to omit, never the last, or None. Update `sizes`."""
        messages, left = view.messages, sum(sizes)
        stays = (
            n
            for n, m in enumerate(messages)
            if not (isinstance(m, SystemMessage) or is_omission_note(m))
        )
        first = next(stays, 0)
        turns = [border for border in view.find_turn_starts() if border > first]
        if left <= low or not turns:
            return None
        before = list(accumulate(sizes, initial=-NOTE if view.reader_tool else 0))
        stop = next((turn for turn in turns if left - before[turn] <= low), turns[-1])
        sizes[:stop] = [0] * stop
        sizes[0] = NOTE if view.reader_tool else 0
        return 0, stop

    def _steps(self, view: HistoryView, sizes: list[int], low: int) -> tuple[int, int] | None:
        """Return the range of the last turn's oldest steps to omit, never the last step, or None."""
        messages, left, stop = view.messages, sum(sizes) + NOTE, 0
        start = next(reversed(view.find_turn_starts()), 0)
        while start < len(messages) and _is_input(messages[start]):
            start += 1
        if start == len(messages) or not view.can_split_at(start):  # prompts alone
            return None
        if left - NOTE <= low or not (view.reader_tool or view.overflow):
            return None
        passed = False
        for index in range(start, len(messages)):
            is_step = isinstance(messages[index], AssistantMessage)
            if is_step and passed and view.can_split_at(index):
                stop = index
                if left <= low:
                    break
            passed = passed or is_step
            left -= 0 if _is_input(messages[index]) else sizes[index]
        return (start, stop) if stop else None


def _is_input(message: Message) -> bool:
    """Return True for a user's or system message; a note on omitted parts is none."""
    return isinstance(message, SystemMessage | UserMessage) and not is_omission_note(message)


INSTRUCTIONS = """Summarize the conversation so far for yourself, since you will not see it again.
Keep, under a heading each: what the person wants; constraints they named; what was done and found,
with names, numbers and paths; decisions and why; what is open, and the next step. Leave out what is
settled and no longer matters. Write only the summary."""


@checked
class Summarize:
    """A history policy that replaces turns beyond a budget of tokens by a model's summary.

    It acts as `KeepTokens` does, with a summary in place of the omitted part. If the model fails, or
    the summary is empty or longer than that part, there is no summary: the part is omitted if the model
    can read it again, else the history stays as it is. The next summary includes the last one. The part
    is sent to this model: choose one that may see it.

    Args:
        model: The model that writes the summary.
        high: Number of tokens above which it acts.
        low: Approximate number of tokens of the turns that remain; half of `high` by default.
        instructions: Instructions of that model.

    Attributes:
        models: The model, as a tuple, for the budget of the run.

    Raises:
        SetupError: the model's name is unknown, or unless 0 < low <= high.
    """

    def __init__(
        self,
        model: str | Model,
        high: int,
        low: int | None = None,
        instructions: str = INSTRUCTIONS,
    ) -> None:
        self.models = (resolve_model(model) if isinstance(model, str) else model,)
        self._budget = KeepTokens(high, low)
        self._instructions = instructions

    async def cuts(self, view: HistoryView) -> Sequence[Cut]:
        """Ask the model for summaries, and return the cuts with them; none while there are at most `high` tokens."""
        short, parts = self._budget.plan(view)
        made = [await self._summary(view, *part) for part in parts]
        return *short, *(cut for cut in made if cut is not None)

    async def _summary(self, view: HistoryView, start: int, stop: int) -> Cut | None:
        """Return the cut of a range: with the model's summary if it is whole and shorter, else without; None if the range stays.

        It stays if there is no summary and no tool to read omitted parts.
        """
        old = view.messages[start:stop]
        short = map(view.shorten_result, range(start, stop) if view.reader_tool else ())
        told = [cut.messages[0] if cut else old[n] for n, cut in enumerate(short)] or old
        reply = await self._ask(told)
        text = reply.text.strip()
        cut = view.omit(start, stop, "summarise", text)
        whole = text and reply.finish_reason == "stop" and not reply.tool_calls
        if not whole or estimated_tokens(cut.messages) >= estimated_tokens(old):
            if not view.reader_tool:
                return None
            cut = view.omit(start, stop, "summarise")
        return replace(cut, usage=reply.usage)

    async def _ask(self, old: Sequence[Message]) -> AssistantMessage:
        """Return the model's answer, or an empty message if the model fails."""
        told = (
            SystemMessage(self._instructions),
            UserMessage("\n\n".join(map(message_to_text, old))),
        )
        assembly = ReplyBuilder()
        try:
            async for delta in self.models[0].stream(ModelRequest(told, (), Settings())):
                if isinstance(delta, AssistantMessage):
                    return delta
                assembly.add(delta)
        except Exception:
            return AssistantMessage(finish_reason="error")
        return assembly.build()
