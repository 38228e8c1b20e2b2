"""Retries of tools that are declared safe to repeat."""

from __future__ import annotations

import asyncio
import random

from toolkeel._common.checked_arguments import checked
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, StepPlace
from toolkeel.errors import Crashed, SetupError, TimedOut


@checked
class Retry:
    """A `Step` that runs a body again after a crash or a timeout.

    Only tools whose effects say `idempotent` or `read_only` are tried again. Waits double, each
    shortened at random by up to half so that many calls do not repeat at once. Nothing is repeated once
    the run is cancelled.

    Args:
        attempts: Maximum number of tries.
        wait: Seconds before the second try.
        max_wait: Maximum seconds between two tries.

    Raises:
        SetupError: for less than one attempt.
    """

    place: StepPlace = "retry"
    step_timeout = None  # its waits have bounds of their own

    def __init__(self, attempts: int = 3, wait: float = 0.1, max_wait: float = 5.0) -> None:
        if attempts < 1:
            raise SetupError(f"Retry: {attempts} attempts is no attempt; give 1 or more")
        self.attempts = attempts
        self.wait = wait
        self.max_wait = max_wait

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        tries = self.attempts if prepared.tool.effects.repeatable else 1
        wait = self.wait
        for _ in range(tries - 1):
            try:
                return await proceed(prepared)
            except (Crashed, TimedOut):
                if context.cancel.cancelled:
                    raise
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, self.max_wait)
        return await proceed(prepared)
