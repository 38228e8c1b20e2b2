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

    Only tools whose effects say `idempotent` or `read_only` are tried again; what is not declared
    safe runs once. Waits double from try to try, each shortened by chance by up to a half so that
    many calls do not come back at once. A cancelled run tries nothing again.

    Args:
        attempts: Tries in all.
        wait: Seconds before the second try.
        max_wait: Seconds at most between two tries.

    Raises:
        SetupError: for less than one attempt.
    """

    place: StepPlace = "retry"

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
