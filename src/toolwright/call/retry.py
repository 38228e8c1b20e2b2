"""Trying again what may be tried again."""

from __future__ import annotations

from typing import Any

from toolwright.context import ToolContext
from toolwright.define.tool import Place, Prepared, Proceed
from toolwright.errors import Crashed, MissingExtraError, SetupError, TimedOut

try:
    import stamina
except ImportError:
    raise MissingExtraError("Retry", "retry") from None


class Retry:
    """A `Step`: runs a body again that crashed or ran out of time.

    Only tools whose effects say `idempotent` or `read_only` are tried again; what is not declared
    safe runs once. Waits grow from try to try, with jitter, and end with the run.

    Args:
        attempts: Tries in all.
        wait: Seconds before the second try; doubled before each further one.
        longest_wait: Seconds at most between two tries.

    Raises:
        MissingExtraError: when imported without the extra ``retry``.
    """

    place: Place = "retry"

    def __init__(self, attempts: int = 3, wait: float = 0.1, longest_wait: float = 5.0) -> None:
        if attempts < 1:
            raise SetupError(f"Retry: {attempts} attempts is no attempt; give 1 or more")
        self._caller = stamina.AsyncRetryingCaller(
            attempts=attempts,
            timeout=None,
            wait_initial=wait,
            wait_max=longest_wait,
            wait_jitter=wait,
        )

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        if not prepared.tool.effects.repeatable:
            return await proceed(prepared)

        def again(error: Exception) -> bool:
            return isinstance(error, Crashed | TimedOut) and not context.cancel.cancelled

        return await self._caller(again, proceed, prepared)
