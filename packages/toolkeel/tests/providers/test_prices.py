"""Prices by the names of models: those that genai-prices has, and nothing guessed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent, AssistantMessage, SetupError
from toolkeel.messages import Usage
from toolkeel.providers.prices import price_of
from toolkeel.runs import Price, RunLimits
from toolkeel.testing import Scripted

COUNTS = st.integers(0, 1_000_000)
KNOWN = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def named(*replies: AssistantMessage) -> Agent:
    """One whose scripted model has another one's name."""
    model = Scripted(replies)
    model.name = "gpt-5"
    return Agent(model)


@pytest.mark.parametrize("model", KNOWN)
def test_what_is_read_from_a_cache_costs_less_and_what_is_written_more_or_equal(model: str) -> None:
    price = price_of(model)
    assert price is not None
    plain = price(Usage(1, 1000))
    assert 0 < price(Usage(1, 1000, cached_tokens=1000)) < plain
    assert price(Usage(1, 1000, cache_write_tokens=1000)) >= plain
    assert price(Usage(1, 1000, 100)) > plain


@given(st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS))
def test_any_usage_has_a_price_that_is_not_negative(usage: Usage) -> None:
    price = price_of("claude-sonnet-4-5")
    assert price is not None and price(usage) >= 0


@pytest.mark.parametrize("model", ["house-model", "scripted", "", "\0", "../gpt"])
def test_of_a_model_that_nobody_knows_nothing_is_guessed(model: str) -> None:
    assert price_of(model) is None
    agent = Agent(Scripted(["done"]))
    with pytest.raises(SetupError, match="is unknown"):
        agent.run_sync("go", limits=RunLimits(cost=1.0))


def test_without_the_extra_it_is_told_what_brings_the_prices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.delitem(sys.modules, "toolkeel.providers.prices")
    with pytest.raises(SetupError, match=r"toolkeel\[cost\]"):
        named().run_sync("go", limits=RunLimits(cost=1.0))


def test_a_run_ends_at_its_dollars_without_a_price_given_by_hand() -> None:
    reply = AssistantMessage("a", usage=Usage(1, 100_000, 10_000))
    agent = named(*[reply] * 9)
    limits = RunLimits(cost=1.0)
    first = agent.run_sync("go", limits=limits)
    price = price_of("gpt-5")
    assert price is not None and first.state.cost == pytest.approx(price(reply.usage))
    again = agent.run_sync("x" * 9_000_000, limits=limits)
    assert (again.reason, (again.limit or "")[:5]) == ("limit", "cost:")


def test_a_price_given_by_hand_counts_before_one_that_is_known() -> None:
    reply = AssistantMessage("a", usage=Usage(1, 1_000_000))
    limits = RunLimits(cost=9.0, prices={"gpt-5": Price(3.0, 1.0)})
    assert named(reply).run_sync("go", limits=limits).state.cost == 3.0


OFFLINE = """
import socket
def refused(*given, **named):
    raise AssertionError("somebody asks the network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
from toolkeel.messages import Usage
from toolkeel.providers.prices import price_of
assert price_of("gpt-5")(Usage(1, 1000)) > 0
"""


def test_known_prices_are_those_of_the_release_and_nothing_is_fetched() -> None:
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
