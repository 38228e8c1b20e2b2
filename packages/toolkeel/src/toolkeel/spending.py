"""Limits of a run (budget): requests, tokens, cost, time and calls, of it and of all inner runs.

One pool (`Spending`) is shared by a whole tree of runs, so that calling another agent never
multiplies a limit. The possible cost of a request is reserved before it is sent: of two agents that
call their models at once, only one gets the last of the money.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import NOTHING, record
from toolkeel.errors import LimitReached, MissingExtraError, SetupError
from toolkeel.messages import Usage
from toolkeel.model_interface import find_price

PriceOf: TypeAlias = Callable[[Usage], float]
"""Returns the cost of some usage, in US dollars."""


@checked
@record
class Price:
    """Price of a model, in US dollars per million tokens.

    Args:
        input: Tokens it reads.
        output: Tokens it writes, its reasoning among them.
        cached: Tokens read from its cache; as `input` if None.
        written: Tokens put into its cache, which some vendors charge more for; as `input` if None.

    >>> Price(2.0, 8.0, 0.5).cost_of(Usage(1, 1_000_000, 100_000, cached_tokens=400_000))
    2.2
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def cost_of(self, usage: Usage) -> float:
        """Return the cost of some usage, in US dollars."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        spent = plain * self.input + usage.output_tokens * self.output
        spent += usage.cached_tokens * cached + usage.cache_write_tokens * written
        return spent / 1_000_000


@checked
@record
class RunLimits:
    """Limits of a run and all runs inside it.

    At a limit of requests, tokens, cost or time the run ends with ``limit``, complete and saved; calls
    beyond their number are refused, and the model gets the reason.

    Args:
        requests: Most model requests; ten times the agent's `max_turns` if None.
        tokens: Most tokens read and written.
        cost: Most US dollars.
        seconds: Longest duration.
        calls: Most calls of a tool, by its name.
        failures: Most failed calls of a tool, by its name.
        prices: Prices of models that have no known price, by their name.
    """

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    calls: Mapping[str, int] = NOTHING  # type: ignore[assignment]
    failures: Mapping[str, int] = NOTHING  # type: ignore[assignment]
    prices: Mapping[str, Price] = NOTHING  # type: ignore[assignment]


class Spending:
    """Pool that counts the spending of a tree of runs against its limits.

    Args:
        limits: Its limits.
        requests: Most model requests, if `limits` does not say.
        parent: The pool around it, whose limits apply as well.

    Attributes:
        max_requests: Most model requests.
        reached_limit: The limit at which it ended; empty if none was reached.
        counts_calls: Calls are limited, here or further out.
        counts_tokens: Tokens or money are limited, here or further out.

    Raises:
        SetupError: for a limit below zero.
    """

    def __init__(self, limits: RunLimits, requests: int, parent: Spending | None = None) -> None:
        _check_limits(limits)
        self.limits = limits
        self.parent = parent
        self.requests = self.tokens = 0
        self.cost = 0.0
        self.reached_limit = ""
        self.calls: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self.max_requests = requests if limits.requests is None else limits.requests
        self._reserved = [0, 0.0]
        self._lock = threading.Lock()
        self.counts_calls: bool = bool(
            limits.calls or limits.failures or (parent and parent.counts_calls)
        )
        bounded = limits.tokens is not None or limits.cost is not None
        self.counts_tokens: bool = bounded or (parent is not None and parent.counts_tokens)

    def find_price(self, model: str) -> PriceOf | None:
        """Return the price function of a model; None if cost is not limited and no `prices` have it.

        It is looked for in `prices` of this limit, in those of the runs around, and, if cost is limited, in the
        table of known prices.

        Raises:
            SetupError: cost is limited, here or by a run around, and the price is unknown.
        """
        found = self.limits.prices.get(model)
        if found is not None:
            return found.cost_of
        known = self.parent.find_price(model) if self.parent else None
        if known is None and self.limits.cost is not None:
            hint = ""
            try:
                known = find_price(model)
            except MissingExtraError as error:
                hint = f". {error}"
            if known is None:
                raise SetupError(
                    f"the price of {model!r} is unknown, so RunLimits(cost=...) cannot be enforced; "
                    f"give its price: RunLimits(cost=..., prices={{{model!r}: Price(input, output)"
                    f"}}), or limit tokens instead{hint}"
                )
        return known

    def reserve(self, expected: Usage, cost: float) -> str:
        """Count a request and reserve its expected cost, here and in the pools around, unless it exceeds a limit.

        A limit that it would exceed is stored as `reached_limit`, and refuses all later requests.

        Args:
            expected: Tokens it may take.
            cost: US dollars they may cost.

        Returns:
            The limit that it would exceed, as a phrase; empty if it may be sent.
        """
        if self.reached_limit:
            return self.reached_limit
        with self._lock:
            broken = self._find_exceeded(expected.total_tokens, cost)
            if not broken:
                self.requests += 1
                self._reserved[0] += expected.total_tokens
                self._reserved[1] += cost
        if not broken and self.parent is not None:
            broken = self.parent.reserve(expected, cost)
            if broken:
                self._release(expected.total_tokens, cost, 1)
        self.reached_limit = broken
        return broken

    def find_reached_limit(self) -> str:
        """Return the limit at which this pool or one around it ended; empty if none was reached."""
        return next((pool.reached_limit for pool in self._pools() if pool.reached_limit), "")

    def _find_exceeded(self, tokens: int, cost: float) -> str:
        """Return the limit that more tokens and cost would exceed, as a phrase; empty if none."""
        limits = self.limits
        if self.requests >= self.max_requests:
            return f"requests: {self.requests} of {self.max_requests}"
        if limits.tokens is not None and (
            self.tokens >= limits.tokens or self.tokens + self._reserved[0] + tokens > limits.tokens
        ):
            return (
                f"tokens: {self.tokens} of {limits.tokens} spent, the next request needs {tokens}"
            )
        if limits.cost is not None and (
            self.cost >= limits.cost or self.cost + self._reserved[1] + cost > limits.cost
        ):
            return f"cost: ${self.cost:.4f} of ${limits.cost:.4f} spent, the next request needs ${cost:.4f}"
        return ""

    def _release(self, tokens: int, cost: float, requests: int = 0) -> None:
        """Subtract a reservation from the counts of this pool alone."""
        with self._lock:
            self.requests -= requests
            self._reserved[0] -= tokens
            self._reserved[1] -= cost

    def settle(self, reserved: tuple[Usage, float], spent: tuple[Usage, float]) -> None:
        """Release the reservation of a request, and count its real cost, here and in the pools around."""
        expected, cost = reserved
        for pool in self._pools():
            pool._release(expected.total_tokens, cost)
            pool.add(*spent)

    def _pools(self) -> Iterator[Spending]:
        """Yield this pool, then those around it."""
        yield self
        if self.parent is not None:
            yield from self.parent._pools()

    def add(self, usage: Usage, cost: float) -> None:
        """Count usage and cost in this pool alone."""
        with self._lock:
            self.tokens += usage.total_tokens
            self.cost += cost

    @property
    def counts(self) -> dict[str, int]:
        """Requests and tokens so far, and calls and failures of each tool, without zeros."""
        with self._lock:
            counts = {"requests": self.requests, "tokens": self.tokens}
            counts |= {f"calls {tool}": made for tool, made in self.calls.items()}
            counts |= {f"failures {tool}": failed for tool, failed in self._failures.items()}
        return {name: count for name, count in counts.items() if count}

    def restore_counts(self, counts: Mapping[str, int], cost: float) -> None:
        """Add the counts and cost of a saved run to those of this pool alone."""
        self.cost += cost
        for name, count in counts.items():
            what, _, tool = name.partition(" ")
            if what in ("requests", "tokens"):
                setattr(self, what, getattr(self, what) + count)
            else:
                counted = self.calls if what == "calls" else self._failures
                counted[tool] = counted.get(tool, 0) + count

    def count_call(self, tool: str) -> None:
        """Count a call that is about to run, here and in the pools around; in none if one is at its limit.

        Raises:
            LimitReached: tells the model that this tool is used up.
        """
        most = self.limits.calls.get(tool)
        with self._lock:
            made = self.calls.get(tool, 0)
            if most is not None and made >= most:
                raise LimitReached(
                    f"{tool!r} did not run: it may be called {most} times in this run, and that is used up. "
                    "Answer with what you have."
                )
            self.calls[tool] = made + 1
        try:
            if self.parent is not None:
                self.parent.count_call(tool)
        except LimitReached:
            with self._lock:
                self.calls[tool] -= 1
            raise

    def check_failures(self, tool: str) -> None:
        """Raise if a tool's calls have failed as often as a limit here or around allows.

        Raises:
            LimitReached: tells the model that this tool is used up.
        """
        for pool in self._pools():
            failures = pool.limits.failures.get(tool)
            failed = pool._failures.get(tool, 0)
            if failures is not None and failed >= failures:
                raise LimitReached(
                    f"{tool!r} did not run: its calls have failed {failed} times in this run. "
                    "Try another way, or say that it did not work."
                )

    def uncount_call(self, tool: str) -> None:
        """Undo the count of a call that has not run because it waits for a person, here and in the pools around."""
        for pool in self._pools():
            with pool._lock:
                pool.calls[tool] = max(pool.calls.get(tool, 0) - 1, 0)

    def count_failure(self, tool: str) -> None:
        """Count a call that failed, here and in the pools around."""
        for pool in self._pools():
            with pool._lock:
                pool._failures[tool] = pool._failures.get(tool, 0) + 1


def _check_limits(limits: RunLimits) -> None:
    """Raise `SetupError` for a limit that is neither None nor a number from 0."""
    bounds = {
        **{name: getattr(limits, name) for name in ("requests", "tokens", "cost", "seconds")},
        **{f"calls[{name!r}]": most for name, most in limits.calls.items()},
        **{f"failures[{name!r}]": most for name, most in limits.failures.items()},
    }
    for name, most in bounds.items():
        if most is not None and not (isinstance(most, int | float) and most >= 0):
            raise SetupError(f"RunLimits({name}={most!r}): give a number, 0 or more, or None")
