"""When a failed request is sent again, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.compat.openai_agents.models.own import WrappedModel
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage
from toolkeel.model import Delta, Model, ModelRequest


@dataclasses.dataclass
class RetryDecision:
    """What a policy says: whether to send the request again, after how many seconds, and why."""

    retry: bool
    delay: float | None = None
    reason: str | None = None


@record
class RetryPolicyContext:
    """What a policy sees.

    Args:
        error: What failed.
        attempt: How often it was sent, from 1.
        max_retries: How often it may be sent again.
        stream: Whether the reply was streamed.
    """

    error: ModelError
    attempt: int
    max_retries: int
    stream: bool = True


Answer: TypeAlias = bool | RetryDecision
RetryPolicy: TypeAlias = Callable[[RetryPolicyContext], Answer | Awaitable[Answer]]


@dataclasses.dataclass
class ModelRetrySettings:
    """When a failed request is sent again, besides what the client does by itself.

    Args:
        max_retries: How often.
        backoff: ``initial_delay``, ``max_delay``, ``multiplier`` and ``jitter``; seconds.
        policy: Decides; nothing is sent again without one.
    """

    max_retries: int | None = None
    backoff: Mapping[str, Any] | None = None
    policy: RetryPolicy | None = None

    def delay(self, attempt: int) -> float:
        """Seconds to wait after the given attempt.

        >>> ModelRetrySettings(backoff={"initial_delay": 1, "multiplier": 3, "jitter": False}).delay(2)
        3.0
        """
        given = {"initial_delay": 0.25, "max_delay": 2.0, "multiplier": 2.0, "jitter": True}
        given |= {key: one for key, one in (self.backoff or {}).items() if one is not None}
        grown = given["initial_delay"] * given["multiplier"] ** (attempt - 1)
        spread = random.uniform(0.875, 1.125) if given["jitter"] else 1.0
        return float(min(grown, given["max_delay"]) * spread)


class RetryPolicies:
    """Policies to choose from; those of an error look at its status and at what the server said."""

    def never(self) -> RetryPolicy:
        """Send nothing again."""
        return lambda context: False

    def provider_suggested(self) -> RetryPolicy:
        """What may work later by its status."""
        return lambda context: RetryDecision(
            isinstance(context.error, ModelUnavailable), context.error.retry_after
        )

    def network_error(self) -> RetryPolicy:
        """Servers that could not be reached."""
        return lambda c: isinstance(c.error, ModelUnavailable) and c.error.status is None

    def retry_after(self) -> RetryPolicy:
        """Where the server said when."""
        return lambda context: RetryDecision(
            context.error.retry_after is not None, context.error.retry_after
        )

    def http_status(self, statuses: Iterable[int]) -> RetryPolicy:
        """Answers of these statuses."""
        known = frozenset(statuses)
        return lambda context: context.error.status in known

    def any(self, *policies: RetryPolicy) -> RetryPolicy:
        """What one of them lets through."""
        return self._joined(policies, stop=True)

    def all(self, *policies: RetryPolicy) -> RetryPolicy:
        """What all of them let through."""
        return self._joined(policies, stop=False)

    def _joined(self, policies: tuple[RetryPolicy, ...], *, stop: bool) -> RetryPolicy:
        async def policy(context: RetryPolicyContext) -> RetryDecision:
            said = RetryDecision(False)
            for one in policies:
                said = await decided(one, context)
                if said.retry is stop:
                    break
            return said

        return policy


retry_policies = RetryPolicies()


async def decided(policy: RetryPolicy, context: RetryPolicyContext) -> RetryDecision:
    """What a policy says, whichever way it says it."""
    said = policy(context)
    said = await said if inspect.isawaitable(said) else said
    return said if isinstance(said, RetryDecision) else RetryDecision(bool(said))


class RetriedModel(WrappedModel):
    """A model whose failed requests are sent again; one that has begun to answer never is.

    Args:
        model: Who answers.
        settings: How often, and when.
    """

    def __init__(self, model: Model, settings: ModelRetrySettings) -> None:
        super().__init__(model)
        self._settings = settings

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The model's own reply."""
        settings, attempt = self._settings, 0
        while True:
            attempt, begun = attempt + 1, False
            try:
                async for delta in self._model.stream(request):
                    begun = True
                    yield delta
                return
            except ModelError as error:
                limit = settings.max_retries or 0
                if begun or settings.policy is None or attempt > limit:
                    raise
                said = await decided(settings.policy, RetryPolicyContext(error, attempt, limit))
                if not said.retry:
                    raise
            await asyncio.sleep(settings.delay(attempt) if said.delay is None else said.delay)
