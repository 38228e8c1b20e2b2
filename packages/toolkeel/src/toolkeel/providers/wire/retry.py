"""Retries: the only place where a failed request is sent again; the SDKs' own retries are off.

The kind of an error, derived from status and headers (`toolkeel.errors`), decides whether a retry
makes sense. A reply is never requested again after its first delta was passed on: readers would get
two beginnings. Reasoning alone is no beginning if the model made a mistake: the `RetryDelta` withdraws
it. Waits grow exponentially, with jitter so that clients that failed together do not
return together (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter),
and are never shorter than the server requires.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import monotonic
from typing import TypeAlias

from toolkeel.errors import ModelError, ModelUnavailable, RateLimited, SetupError
from toolkeel.messages import AssistantMessage, Usage
from toolkeel.model_interface import Delta, Finish, ReasoningDelta, RetryDelta

MAX_RETRIES = 2
MAX_MISTAKES = 1
"""Times per reply that a mistake of the model, as its provider reports it, goes back to the model."""
FIRST_BACKOFF = 0.5
"""Seconds before the first retry; each further one waits twice as long."""
MAX_BACKOFF = 8.0
"""Longest wait in seconds, unless the server requires more."""
LOADING_WAIT = 1.0
"""Seconds between requests to a server that is loading its model."""
MAX_LOADING = 300.0
"""Seconds to wait for a server that is loading its model."""
MAX_RETRY_AFTER = 60.0
"""Seconds; a longer Retry-After is not honored: the error is raised."""

Deltas: TypeAlias = Sequence[Delta | AssistantMessage]
"""Deltas of a reply that arrived together, in order."""


class Retries:
    """Sends failed requests of one model again.

    After a rate limit, all further requests through the same model wait as long as the server required,
    not only the one that was refused.

    Args:
        model: Name of the model.
        limit: Times a request is sent again; None: twice.

    Raises:
        SetupError: if `limit` is negative.
    """

    def __init__(self, model: str, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise SetupError(f"max_retries={limit}: expected 0 or more")
        self._model = model
        self._limit = MAX_RETRIES if limit is None else limit
        self._not_before = 0.0

    async def run(self, attempt: Callable[[], AsyncGenerator[Deltas]]) -> AsyncGenerator[Deltas]:
        """Yield the deltas of the first attempt that gets a reply, and a `RetryDelta` before each further one.

        Args:
            attempt: Sends the request and yields the reply in parts as they arrive.

        Raises:
            ModelError: of the last attempt.
        """
        failed, mistakes, spent = 0, 0, Usage()
        began = monotonic()
        while True:
            if (early := self._not_before - monotonic()) > 0:
                await asyncio.sleep(early)
            has_output = has_reply = False
            try:
                async with aclosing(attempt()) as parts:
                    async for deltas in parts:
                        has_output = has_output or bool(deltas)
                        has_reply = has_reply or is_beyond_reasoning(deltas)
                        yield (
                            [_add_usage(one, spent) for one in deltas] if spent.requests else deltas
                        )
                if has_output:
                    return
                raise ModelUnavailable(f"{self._model}: the answer ended before its first delta")
            except ModelError as error:
                waited = monotonic() - began
                is_loading = error.is_loading and self._limit > 0 and waited < MAX_LOADING
                failed += not is_loading
                mistakes += bool(error.mistake) and not error.retryable
                has_begun = has_reply if error.mistake else has_output
                is_final = has_begun or mistakes > MAX_MISTAKES
                wait = None if is_final else self._delay(error, failed)
                if is_loading:
                    wait = max(LOADING_WAIT, error.retry_after or 0.0)
                error.usage = spent = spent + error.usage
                if wait is None:
                    raise
                text = f"{self._model}: the server is loading its model, {waited:.0f} s"
                text = text if is_loading else str(error)
                retry = RetryDelta(max(failed, 1), wait, text, error.status)
            yield [retry]
            await asyncio.sleep(wait)

    def _delay(self, error: ModelError, failed: int) -> float | None:
        """Return seconds until the request is sent again, or None if it is not.

        After a rate limit, all requests of this model wait as long.

        Args:
            error: The failure.
            failed: Number of failures so far.
        """
        asked = error.retry_after
        if isinstance(error, RateLimited) and asked is not None and asked <= MAX_RETRY_AFTER:
            self._not_before = max(self._not_before, monotonic() + asked)
        if (
            error.mistake and not error.retryable
        ):  # the next request is another: it says what was wrong
            return 0.0 if failed <= self._limit else None
        if not error.retryable or failed > self._limit or (asked or 0.0) > MAX_RETRY_AFTER:
            return None
        backoff: float = min(FIRST_BACKOFF * 2.0 ** min(failed - 1, 10), MAX_BACKOFF)
        if asked is None:
            return backoff * random.uniform(0.5, 1.0)
        return asked + min(asked, backoff) * random.uniform(0.0, 0.25)


def is_beyond_reasoning(deltas: Deltas) -> bool:
    """Return True if any of these deltas is no reasoning, which a retry could not withdraw."""
    return not all(isinstance(one, ReasoningDelta) for one in deltas)


def _add_usage(delta: Delta | AssistantMessage, spent: Usage) -> Delta | AssistantMessage:
    """Return a delta; the end of a reply with the usage of failed attempts added."""
    if isinstance(delta, Finish | AssistantMessage):
        return replace(delta, usage=spent + delta.usage)
    return delta
