"""The one place where a failed request is sent again; the SDKs' own repetitions are switched off.

What is worth repeating follows from the error's kind, which follows from status and headers
(`toolkeel.errors`). A reply of which anything was given away is never asked for again: whoever
listens would hear two beginnings. Waits grow exponentially, with jitter so that many who failed at
once do not return at once (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter),
and are never shorter than what the server asked for.
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
from toolkeel.model_interface import Delta, Finish, RetryDelta

MAX_RETRIES = 2
FIRST_WAIT = 0.5
"""Seconds before the first repetition; each further one waits twice as long."""
LONGEST_WAIT = 8.0
"""Seconds that the doubling ends at."""
PATIENCE = 60.0
"""Most seconds a server may ask to wait; who asks for more gets the request back as an error."""

Deltas: TypeAlias = Sequence[Delta | AssistantMessage]
"""What of a reply came at once, in order."""


class Retries:
    """How often and when one model's failed requests are sent again.

    When the server says that it gets too many, every further request through the same model
    waits as long as the server asked, not only the one that was told.

    Args:
        model: Its name.
        limit: How often a request is sent again; None: twice.

    Raises:
        SetupError: if `limit` is no count.
    """

    def __init__(self, model: str, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise SetupError(f"max_retries={limit}: expected 0 or more")
        self._model = model
        self._limit = MAX_RETRIES if limit is None else limit
        self._not_before = 0.0

    async def of(self, attempt: Callable[[], AsyncGenerator[Deltas]]) -> AsyncGenerator[Deltas]:
        """The deltas of the first attempt that does not fail before it says something.

        Args:
            attempt: Sends the request and gives the reply, in parts as they come.

        Raises:
            ModelError: the last attempt's.
        """
        failed, spent = 0, Usage()
        while True:
            if (early := self._not_before - monotonic()) > 0:
                await asyncio.sleep(early)
            said = False
            try:
                async with aclosing(attempt()) as parts:
                    async for deltas in parts:
                        said = said or bool(deltas)
                        yield [_added(one, spent) for one in deltas] if spent.requests else deltas
                if said:
                    return
                raise ModelUnavailable(f"{self._model}: the answer ended before anything was said")
            except ModelError as error:
                failed += 1
                wait = None if said else self._wait(error, failed)
                error.usage = spent = spent + error.usage
                if wait is None:
                    raise
                retry = RetryDelta(failed, wait, str(error), error.status)
            yield [retry]
            await asyncio.sleep(wait)

    def _wait(self, error: ModelError, failed: int) -> float | None:
        """Seconds until the request is sent again; None if it is not.

        Args:
            error: Why it failed.
            failed: How often it has by now.
        """
        asked = error.retry_after
        if isinstance(error, RateLimited) and asked is not None and asked <= PATIENCE:
            self._not_before = max(self._not_before, monotonic() + asked)
        if not error.retryable or failed > self._limit or (asked or 0.0) > PATIENCE:
            return None
        backoff: float = min(FIRST_WAIT * 2.0 ** min(failed - 1, 10), LONGEST_WAIT)
        if asked is None:
            return backoff * random.uniform(0.5, 1.0)
        return asked + min(asked, backoff) * random.uniform(0.0, 0.25)


def _added(delta: Delta | AssistantMessage, spent: Usage) -> Delta | AssistantMessage:
    """`delta`, at the end of a reply with what the attempts before it have cost."""
    if isinstance(delta, Finish | AssistantMessage):
        return replace(delta, usage=spent + delta.usage)
    return delta
