"""Requests that exceed the model's context: how much must go, and the policy for agents without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from toolkeel.agent.history import Cut, HistoryPolicy, HistoryView, TranscriptWindow
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.context import RunContext
from toolkeel.errors import RequestTooLarge
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import Model, ModelRequest, make_history_policy

MAX_SHORTENINGS = 3
"""Times a request is shortened because it exceeds the context, before its error is raised."""
SMALL_CONTEXT = 32_768
"""Tokens of a context up to which an agent without a history policy gets one."""
ROOM = 0.6
"""Part of a small context that messages may take; tools, instructions and the reply need the rest."""
ANY_SIZE = 2**40
"""Tokens for a policy that shortens only what did not fit."""
_UNKNOWN_RATIO = 2.0
_LEAST_RATIO = 1.25


def small_context_policy(model: Model) -> HistoryPolicy | None:
    """Return a policy for a model that reports a context of at most `SMALL_CONTEXT` tokens, else None."""
    length = getattr(model, "context_length", None)
    if not isinstance(length, int) or not 0 < length <= SMALL_CONTEXT:
        return None
    policy: HistoryPolicy | None = make_history_policy(int(length * ROOM))
    return policy


def overflow_ratio(error: RequestTooLarge) -> float | None:
    """Return how many times too many tokens a request had: 0 if unknown; None for too many bytes."""
    if error.tokens and error.token_limit:
        return max(1.0, error.tokens / error.token_limit)
    return None if error.status == 413 and error.token_limit is None else 0.0


def shortening_ratio(ratio: float) -> float:
    """Return by how many times to shorten a request that was `ratio` times too large; a `ratio` of 0 is unknown."""
    return max(_LEAST_RATIO, ratio) if ratio else _UNKNOWN_RATIO


def can_fit(view: HistoryView, ratio: float) -> bool:
    """Return True if the request would fit after every possible cut. The last prompt cannot be cut."""
    start = next(reversed(view.find_turn_starts()), 0)
    prompt = [one for one in view.messages[start:] if isinstance(one, UserMessage)]
    total = sum(len(message.text) for message in view.messages)
    size = sum(len(message.text) for message in prompt)
    return size < total and size * (ratio or 1.0) <= total


def leave_out_turn(view: HistoryView) -> Cut | None:
    """Return the cut that replaces the last turn by a note with its size; None without a turn."""
    start = next(reversed(view.find_turn_starts()), None)
    if start is None:
        return None
    size = sum(len(message.text) for message in view.messages[start:])
    text = f"[Left out here: a message of {size:,} characters, which exceeds the model's context]"
    note = (UserMessage(text, "omission"),)
    return Cut(view.positions[start], view.total, note, "overflow")


class OverflowRecovery:
    """The recovery from requests that exceed the model's context: shorten the transcript and send again.

    If nothing is left to cut, the last turn stays in a session's journal, and is not sent again.

    Args:
        run: The run.
        window: The part of its transcript that is sent.
        shorten: Lets a policy cut the transcript; None means the agent's policy, if it has one.
    """

    def __init__(
        self,
        run: RunContext,
        window: TranscriptWindow,
        shorten: Callable[[HistoryPolicy | None], Awaitable[None]],
    ) -> None:
        self._run = run
        self._window = window
        self._shorten = shorten

    async def send(
        self,
        request: ModelRequest,
        send: SendRequest,
        next_request: Callable[[], Awaitable[ModelRequest]],
    ) -> tuple[ModelRequest, AssistantMessage]:
        """Send a request, shortened up to `MAX_SHORTENINGS` times if it is too large.

        Returns:
            The request that fit, and its reply.

        Raises:
            RequestTooLarge: the request cannot be shortened enough. Later requests of the session
                omit its last turn.
            ModelError: it failed otherwise.
        """
        shortenings = 0
        while True:
            try:
                return request, await send(request)
            except RequestTooLarge as error:
                ratio = overflow_ratio(error)
                if ratio is None:
                    raise
                if shortenings == MAX_SHORTENINGS or not await self._make_room(ratio):
                    self._leave_out_turn()
                    raise
            shortenings += 1
            request = await next_request()

    async def _make_room(self, ratio: float) -> bool:
        """Cut the transcript because a request was `ratio` times too large. Return False if nothing was cut."""
        view = self._window.view(self._run)
        if not can_fit(view, ratio):
            return False
        for policy in (None, make_history_policy(ANY_SIZE)):
            before, view.overflow = list(view.messages), shortening_ratio(ratio)
            try:
                await self._shorten(policy)
            finally:
                view.overflow = 0.0
            if view.messages != before:
                return True
        return False

    def _leave_out_turn(self) -> None:
        """Omit the oversized last turn from a session's later requests. Do nothing without a journal."""
        run, view = self._run, self._window.view(self._run)
        if run.recorder is not None and (cut := leave_out_turn(view)) is not None:
            self._window.add_cut(cut, run, view)
