"""The cost of a model request: reserved in the run's limits before it is sent, settled after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, Message, Usage
from toolkeel.model_interface import ModelRequest
from toolkeel.spending import PriceOf

SENDING: ContextVar[RunContext | None] = ContextVar("toolkeel_sending", default=None)
"""The run whose request is sent in this context: what its model asks of another is that request."""
REPORTS_USAGE: ContextVar[bool] = ContextVar("toolkeel_reports_usage", default=False)
"""True in a history policy, which says itself what the requests that it sends by `stream` cost."""
Send = Callable[[ModelRequest], Awaitable[AssistantMessage]]
_ONE = Usage(1)
_FREE = (_ONE, 0.0)


@contextmanager
def sending(run: RunContext) -> Iterator[None]:
    """Set `SENDING` to a run inside a block, so that its requests are not counted a second time."""
    before = SENDING.get()
    SENDING.set(run)
    try:
        yield
    finally:
        SENDING.set(before)


def mark_sending(run: RunContext, send: Send) -> Send:
    """Return a function that calls `send` with `SENDING` set to the run."""

    async def marked(request: ModelRequest) -> AssistantMessage:
        """Send a request with `SENDING` set."""
        with sending(run):
            return await send(request)

    return marked


class RequestBudget:
    """Reservations of one run's requests in its limits.

    Estimate: the last request's usage, plus new messages, plus the maximum reply
    (`Settings.max_tokens`, or the longest reply so far).

    Args:
        run: The run.
        models: Names of the models that may be used.

    Attributes:
        reached_limit: The limit that refused a request; empty if none did.

    Raises:
        SetupError: cost is limited, and a model's price is unknown.
    """

    __slots__ = (
        "_counted",
        "_longest_reply",
        "_messages",
        "_prices",
        "_reserved",
        "_run",
        "_size",
        "reached_limit",
    )

    def __init__(self, run: RunContext, *models: str) -> None:
        self._run = run
        self._prices: dict[str, PriceOf | None] = {}
        for model in models:
            self._price(model)
        self._messages: Sequence[Message] = ()
        self._counted = self._size = self._longest_reply = 0
        self._reserved = _FREE
        self.reached_limit = ""

    def _price(self, model: str) -> PriceOf | None:
        """Return the price function of a model, cached; None if tokens and cost are not limited.

        Raises:
            SetupError: cost is limited, and the price is unknown.
        """
        pool = self._run.scope.spending
        if model not in self._prices:
            weighs = pool is not None and pool.counts_tokens
            self._prices[model] = pool.find_price(model) if pool is not None and weighs else None
        return self._prices[model]

    def reserve(self, request: ModelRequest, model: str) -> bool:
        """Reserve the estimated cost of a request; return True if it may be sent, else set `reached_limit`.

        Raises as the class for a model of unknown price.
        """
        pool = self._run.scope.spending
        if pool is None:
            return True
        self._reserved = self._estimate(request, model) if pool.counts_tokens else _FREE
        self.reached_limit = pool.reserve(*self._reserved)
        return not self.reached_limit

    def settle(self, reply: AssistantMessage | None, model: str) -> None:
        """Replace a reservation by the reply's cost, none for None, and journal that, if tokens or cost are limited."""
        pool, price = self._run.scope.spending, self._price(model)
        if pool is not None and pool.counts_tokens:
            usage = reply.usage if reply is not None else Usage()
            pool.settle(self._reserved, (usage, self._record_cost(price, usage)))
            if reply is not None:
                self._size = usage.total_tokens or self._size
                self._longest_reply = max(self._longest_reply, usage.output_tokens)
                self._counted += 1  # the reply itself is in its usage

    def add(self, used: Usage, *models: str) -> None:
        """Count a further request, such as a policy's summary, at the price of the first model, and journal its cost.

        Do nothing in a run without limits.
        """
        pool = self._run.scope.spending
        if pool is not None:
            price = self._price(models[0]) if models else None
            pool.reserve(Usage(), 0.0)
            pool.settle((Usage(), 0.0), (used, self._record_cost(price, used)))

    def _record_cost(self, price: PriceOf | None, used: Usage) -> float:
        """Return the cost in US dollars, 0.0 without a price, and write it to the journal, so that it counts after a kill."""
        cost = price(used) if price else 0.0
        if cost and self._run.recorder is not None:
            self._run.recorder.record_cost(cost)
        return cost

    def _estimate(self, request: ModelRequest, model: str) -> tuple[Usage, float]:
        """Return a request's expected usage and cost (0.0 without a price). Caches the messages' size."""
        messages, price = request.messages, self._price(model)
        if messages is not self._messages:  # not the same ones, grown
            self._messages, self._counted, self._size = messages, 0, 0
        self._size += _estimate_tokens(
            messages[index] for index in range(self._counted, len(messages))
        )
        self._counted = len(messages)
        usage = Usage(1, self._size, request.settings.max_tokens or self._longest_reply)
        return usage, price(usage) if price else 0.0


def _estimate_tokens(messages: Iterable[Message]) -> int:
    """Estimate the tokens of messages, rather too many: one for every three bytes."""
    return sum(len(message.text.encode("utf-8", "replace")) // 3 + 4 for message in messages)
