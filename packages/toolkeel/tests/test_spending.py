"""What a tree of runs may spend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import LimitReached, SetupError
from toolkeel.messages import Usage
from toolkeel.spending import Price, RunLimits, Spending

LIMITS = st.builds(
    RunLimits,
    requests=st.none() | st.integers(0, 8),
    tokens=st.none() | st.integers(0, 300),
    cost=st.none() | st.floats(0, 3),
)
STEPS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 60)), max_size=40)


@given(LIMITS, LIMITS, STEPS)
def test_what_three_runs_of_one_tree_spend_keeps_every_bound_of_the_tree(
    outer: RunLimits, inner: RunLimits, steps: list[tuple[int, bool, int]]
) -> None:
    """Requests are sent and answered in any order, and never take more than was reserved."""
    root = Spending(outer, 100)
    pools = [root, Spending(inner, 100, root), Spending(inner, 100, root)]
    sent: list[tuple[Spending, Usage, float]] = []
    for which, answer, tokens in steps:
        if answer and sent:
            pool, expected, cost = sent.pop()
            pool.settle((expected, cost), (expected, cost))
        else:
            usage, cost = Usage(1, tokens, 0), tokens / 100
            if not pools[which].reserve(usage, cost):
                sent.append((pools[which], usage, cost))
        for pool, limits in zip(pools, (outer, inner, inner), strict=True):
            assert pool.requests <= (100 if limits.requests is None else limits.requests)
            assert limits.tokens is None or pool.tokens <= limits.tokens
            assert limits.cost is None or pool.cost <= limits.cost + 1e-9
    assert root.tokens == sum(pool.tokens for pool in pools[1:]) + (
        root.tokens - sum(pool.tokens for pool in pools[1:])
    )


def test_calls_and_failures_of_a_tool_are_counted_over_the_tree() -> None:
    root = Spending(RunLimits(calls={"pay": 2}, failures={"look": 1}), 10)
    inner = Spending(RunLimits(), 10, root)
    inner.count_call("pay")
    root.count_call("pay")
    with pytest.raises(LimitReached, match="called 2 times"):
        inner.count_call("pay")
    inner.uncount_call("pay")
    inner.count_failure("look")
    with pytest.raises(LimitReached, match="failed 1 times"):
        root.check_failures("look")


def test_a_call_that_one_pool_refuses_is_counted_in_none() -> None:
    root = Spending(RunLimits(calls={"pay": 1}), 10)
    strict, free = Spending(RunLimits(calls={"pay": 0}), 10, root), Spending(RunLimits(), 10, root)
    with pytest.raises(LimitReached, match="called 0 times"):
        strict.count_call("pay")
    free.count_call("pay")
    with pytest.raises(LimitReached, match="called 1 times"):
        free.count_call("pay")
    assert root.counts == free.counts == {"calls pay": 1}
    assert strict.counts == {}


def test_a_bound_that_is_no_number_is_refused_by_its_name() -> None:
    for limits in (
        RunLimits(tokens=-1),
        RunLimits(calls={"pay": -2}),
        RunLimits(cost=float("nan")),
    ):
        with pytest.raises(SetupError, match="0 or more"):
            Spending(limits, 10)


def test_a_price_nobody_knows_is_refused_where_cost_is_bounded() -> None:
    with pytest.raises(SetupError, match=r"prices=\{'house-model': Price"):
        Spending(RunLimits(cost=1.0), 10).find_price("house-model")
    assert Spending(RunLimits(), 10).find_price("house-model") is None
    priced = RunLimits(cost=1.0, prices={"house-model": Price(1.0, 2.0)})
    known = Spending(RunLimits(), 10, Spending(priced, 10)).find_price("house-model")
    assert known is not None and known(Usage(1, 1_000_000, 1_000_000)) == 3.0


def test_what_a_saved_run_had_counted_counts_when_it_goes_on() -> None:
    first = Spending(RunLimits(calls={"pay": 2}, tokens=100), 10)
    first.count_call("pay")
    first.count_failure("pay")
    first.add(Usage(1, 30, 20), 0.5)
    again = Spending(RunLimits(calls={"pay": 2}), 10)
    again.restore_counts(first.counts, first.cost)
    assert (again.counts, again.cost) == (first.counts, 0.5)
    again.count_call("pay")
    with pytest.raises(LimitReached, match="called 2 times"):
        again.count_call("pay")
