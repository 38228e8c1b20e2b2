"""Tokens and requests, and their limits, under the names of Pydantic AI."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from toolkeel.messages import Message, ToolMessage, Usage
from toolkeel.spending import RunLimits
from toolkeel_compat.check_options import check_fields
from toolkeel_compat.missing import refuse_attributes
from toolkeel_compat.pydantic_ai.exceptions import UsageLimitExceeded
from toolkeel_compat.pydantic_ai.names import USAGE_HINTS

_SHOWN = (
    "input_tokens",
    "cache_write_tokens",
    "cache_read_tokens",
    "output_tokens",
    "requests",
    "tool_calls",
)
"""The order in which a usage is shown."""
OUTPUT_ACCEPTED = "Final result processed."
"""Text of an accepted answer's result: it is no result of a tool of the program."""
OUTPUT_NOT_USED = "Output tool not used - a final result was already processed."
"""Text of the result of a further answer in the same turn."""
OUTPUT_PUT_OFF = (
    "Output not used as the final result - addressing tool retries from this round first."
)
"""Text of the result of an answer beside a call that the model corrects first."""


@refuse_attributes(USAGE_HINTS)
@dataclasses.dataclass(repr=False)
class RunUsage:
    """Requests and tokens of one or several runs; a run adds to the one it is given.

    Args:
        requests: Number of model requests.
        tool_calls: Number of successful tool calls.
        input_tokens: All input tokens.
        output_tokens: All output tokens.
        cache_read_tokens: Input tokens from a cache.
        cache_write_tokens: Input tokens written to a cache.
    """

    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __repr__(self) -> str:
        """Show what is not zero, as Pydantic AI does."""
        shown = (f"{name}={value}" for name in _SHOWN if (value := getattr(self, name)))
        return f"RunUsage({', '.join(shown)})"

    @property
    def total_tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __call__(self) -> RunUsage:
        """Return the usage itself: earlier versions have a method in its place."""
        return self

    def __add__(self, other: RunUsage) -> RunUsage:
        mine, more = dataclasses.astuple(self), dataclasses.astuple(other)
        return RunUsage(*(a + b for a, b in zip(mine, more, strict=True)))

    def incr(self, other: RunUsage) -> None:
        """Add another usage to this one."""
        vars(self).update(vars(self + other))

    @classmethod
    def from_core(cls, usage: Usage, messages: Sequence[Message]) -> RunUsage:
        """Convert the core's usage, and count the successful calls of the messages."""
        results = [one for one in messages if isinstance(one, ToolMessage)]
        calls = sum(
            not (one.failed or one.text in (OUTPUT_ACCEPTED, OUTPUT_NOT_USED)) for one in results
        )
        tokens = (usage.input_tokens, usage.output_tokens)
        return cls(usage.requests, calls, *tokens, usage.cached_tokens, usage.cache_write_tokens)

    def to_core(self) -> Usage:
        """Return the core's usage."""
        return Usage(
            self.requests,
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )


RequestUsage = RunUsage
"""What one request has used."""


@dataclasses.dataclass
class UsageLimits:
    """Limits of a run.

    Args:
        request_limit: Most model requests; None for no limit.
        total_tokens_limit: Most tokens; None for no limit.
        input_tokens_limit: Most input tokens.
        output_tokens_limit: Most output tokens.
        tool_calls_limit: Most successful calls of tools; a reply whose calls could exceed it ends the run.

    Raises:
        SetupError: A value is of a wrong type.
        TypeError: A field is not supported.
    """

    request_limit: int | None = 50
    total_tokens_limit: int | None = None
    input_tokens_limit: int | None = None
    output_tokens_limit: int | None = None
    tool_calls_limit: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def describe_limit(self, reached: str) -> str:
        """Return the text of the exception for a limit that a run of the core has reached."""
        kind = reached.partition(":")[0]
        if kind == "requests":
            return f"The next request would exceed the request_limit of {self.request_limit}"
        if kind == "tokens":
            return f"Exceeded the total_tokens_limit of {self.total_tokens_limit} ({reached})"
        return f"the run reached a limit ({reached})"

    def check(self, used: RunUsage, calls: int) -> None:
        """Raise `UsageLimitExceeded` for a limit that the core does not have.

        Args:
            used: The usage with the last reply.
            calls: Number of calls in the reply.
        """
        for name in ("input_tokens", "output_tokens"):
            most, count = getattr(self, f"{name}_limit"), getattr(used, name)
            if most is not None and count > most:
                raise UsageLimitExceeded(f"Exceeded the {name}_limit of {most} ({name}={count})")
        count = used.tool_calls + calls
        if calls and self.tool_calls_limit is not None and count > self.tool_calls_limit:
            raise UsageLimitExceeded(
                "The next tool call(s) would exceed the tool_calls_limit of "
                f"{self.tool_calls_limit} (tool_calls={count})."
            )

    def to_core(self, used: RunUsage | None) -> RunLimits:
        """Return the core's limits for a run after others."""
        before = used or RunUsage()
        requests, tokens = self.request_limit, self.total_tokens_limit
        return RunLimits(
            requests=10**6 if requests is None else max(requests - before.requests, 0),
            tokens=None if tokens is None else max(tokens - before.total_tokens, 0),
        )
