"""Limits of a run (budget): requests, tokens, cost, time and calls, of it and of all runs within it.

One pool (`Spending`) is shared by a whole tree of runs, so that what agents call each other for is
never multiplied. What a request may cost is reserved before it is sent: two agents that ask at once
do not both get the last of the money.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.other_libraries_words import naming
from toolkeel._records.record import NOTHING, record
from toolkeel.errors import LimitReached, MissingExtraError, SetupError
from toolkeel.messages import Usage
from toolkeel.model_interface import known_price

PriceOf: TypeAlias = Callable[[Usage], float]
"""What some usage costs, in US dollars."""


@checked
@record
class Price:
    """What a model costs, in US dollars for a million tokens.

    Args:
        input: Tokens it reads.
        output: Tokens it writes, its reasoning among them.
        cached: Tokens read from its cache; as `input` if None.
        written: Tokens put into its cache, which some vendors charge more for; as `input` if None.

    >>> Price(2.0, 8.0, 0.5).of(Usage(1, 1_000_000, 100_000, cached_tokens=400_000))
    2.2
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def of(self, usage: Usage) -> float:
        """What some usage costs."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.written is None else self.written
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        spent = plain * self.input + usage.output_tokens * self.output
        spent += usage.cached_tokens * cached + usage.cache_write_tokens * written
        return spent / 1_000_000


@record
class RunLimits:
    """What a run may spend, all runs within it included.

    At a limit of requests, tokens, cost or time the run ends with ``limit``, whole and saved; calls
    beyond their number are refused, and the model is told so.

    Args:
        requests: How often models may be asked; ten times the agent's `max_turns` if None.
        tokens: How many tokens may be read and written.
        cost: How many US dollars may be spent.
        seconds: How long it may take.
        calls: How often a tool may be called, by its name.
        failures: How often calls of a tool may fail, by its name.
        prices: Of models whose price is not known otherwise, by their name.
    """

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    calls: Mapping[str, int] = NOTHING  # type: ignore[assignment]
    failures: Mapping[str, int] = NOTHING  # type: ignore[assignment]
    prices: Mapping[str, Price] = NOTHING  # type: ignore[assignment]


if not TYPE_CHECKING:  # there, an unknown limit is an error already
    RunLimits.__new__ = naming(RunLimits.__new__)


class Spending:
    """What a tree of runs has spent, and what it may spend yet.

    Args:
        limits: Its bounds.
        requests: How often models may be asked, if `limits` does not say.
        parent: The pool around it, whose bounds hold as well.

    Attributes:
        most: How often models may be asked.
        over: The bound at which it ended; empty if it has not.
        watches: Whether calls are counted, here or further out.
        weighs: Whether tokens or money are bounded, here or further out.

    Raises:
        SetupError: for a bound below zero.
    """

    def __init__(self, limits: RunLimits, requests: int, parent: Spending | None = None) -> None:
        _check(limits)
        self.limits = limits
        self.parent = parent
        self.requests = self.tokens = 0
        self.cost = 0.0
        self.over = ""
        self.calls: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self.most = requests if limits.requests is None else limits.requests
        self._reserved = [0, 0.0]
        self._lock = threading.Lock()
        self.watches: bool = bool(limits.calls or limits.failures or (parent and parent.watches))
        bounded = limits.tokens is not None or limits.cost is not None
        self.weighs: bool = bounded or (parent is not None and parent.weighs)

    def price(self, model: str) -> PriceOf | None:
        """What a model costs.

        Raises:
            SetupError: cost is bounded, and nobody knows.
        """
        found = self.limits.prices.get(model)
        if found is not None:
            return found.of
        known = self.parent.price(model) if self.parent else None
        if known is None and self.limits.cost is not None:
            hint = ""
            try:
                known = known_price(model)
            except MissingExtraError as error:
                hint = f". {error}"
            if known is None:
                raise SetupError(
                    f"what {model!r} costs is not known, so RunLimits(cost=...) would not hold; "
                    f"give its price: RunLimits(cost=..., prices={{{model!r}: Price(input, output)"
                    f"}}), or bound tokens instead{hint}"
                )
        return known

    def reserve(self, expected: Usage, cost: float) -> str:
        """Take a request, and what it may need, before it is sent.

        Args:
            expected: Tokens it may take.
            cost: What they may cost.

        Returns:
            The bound that it would break, as a phrase; empty if it may be sent.
        """
        if self.over:
            return self.over
        with self._lock:
            broken = self._broken(expected.total_tokens, cost)
            if not broken:
                self.requests += 1
                self._reserved[0] += expected.total_tokens
                self._reserved[1] += cost
        if not broken and self.parent is not None:
            broken = self.parent.reserve(expected, cost)
            if broken:
                self._return(expected.total_tokens, cost, 1)
        self.over = broken
        return broken

    def _broken(self, tokens: int, cost: float) -> str:
        limits = self.limits
        if self.requests >= self.most:
            return f"requests: {self.requests} of {self.most}"
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

    def _return(self, tokens: int, cost: float, requests: int = 0) -> None:
        with self._lock:
            self.requests -= requests
            self._reserved[0] -= tokens
            self._reserved[1] -= cost

    def settle(self, reserved: tuple[Usage, float], spent: tuple[Usage, float]) -> None:
        """Give back what was reserved for a request, and note what it has taken."""
        expected, cost = reserved
        for pool in self._pools():
            pool._return(expected.total_tokens, cost)
            pool.add(*spent)

    def _pools(self) -> Iterator[Spending]:
        """This one, and those around it."""
        yield self
        if self.parent is not None:
            yield from self.parent._pools()

    def add(self, usage: Usage, cost: float) -> None:
        """Note what was spent."""
        with self._lock:
            self.tokens += usage.total_tokens
            self.cost += cost

    @property
    def counts(self) -> dict[str, int]:
        """What was counted: requests and tokens, and calls and failures of each tool."""
        with self._lock:
            counts = {"requests": self.requests, "tokens": self.tokens}
            counts |= {f"calls {tool}": made for tool, made in self.calls.items()}
            counts |= {f"failures {tool}": failed for tool, failed in self._failures.items()}
        return {name: count for name, count in counts.items() if count}

    def take_back(self, counts: Mapping[str, int], cost: float) -> None:
        """Go on counting from what a run had spent when it was saved."""
        self.cost += cost
        for name, count in counts.items():
            what, _, tool = name.partition(" ")
            if what in ("requests", "tokens"):
                setattr(self, what, getattr(self, what) + count)
            else:
                counted = self.calls if what == "calls" else self._failures
                counted[tool] = counted.get(tool, 0) + count

    def take_call(self, tool: str) -> None:
        """Count a call that is about to run.

        Raises:
            LimitReached: telling the model that this tool is used up.
        """
        if self.parent is not None:
            self.parent.take_call(tool)
        most, failures = self.limits.calls.get(tool), self.limits.failures.get(tool)
        with self._lock:
            made, failed = self.calls.get(tool, 0), self._failures.get(tool, 0)
            if most is not None and made >= most:
                raise LimitReached(
                    f"{tool!r} did not run: it may be called {most} times in this run, and was. "
                    "Answer with what you have."
                )
            if failures is not None and failed >= failures:
                raise LimitReached(
                    f"{tool!r} did not run: its calls have failed {failed} times in this run. "
                    "Take another way, or say that it did not work."
                )
            self.calls[tool] = made + 1

    def return_call(self, tool: str) -> None:
        """Take back a call that did not run: it waits for a person."""
        for pool in self._pools():
            with pool._lock:
                pool.calls[tool] = max(pool.calls.get(tool, 0) - 1, 0)

    def note_failure(self, tool: str) -> None:
        """Count a call that failed."""
        for pool in self._pools():
            with pool._lock:
                pool._failures[tool] = pool._failures.get(tool, 0) + 1


def _check(limits: RunLimits) -> None:
    bounds = {
        **{name: getattr(limits, name) for name in ("requests", "tokens", "cost", "seconds")},
        **{f"calls[{name!r}]": most for name, most in limits.calls.items()},
        **{f"failures[{name!r}]": most for name, most in limits.failures.items()},
    }
    for name, most in bounds.items():
        if most is not None and not (isinstance(most, int | float) and most >= 0):
            raise SetupError(f"RunLimits({name}={most!r}): give a number, 0 or more, or None")
