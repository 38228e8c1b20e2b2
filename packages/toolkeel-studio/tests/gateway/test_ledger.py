"""Calls are counted and reading is remembered, of each client, here or together with other gateways."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.sessions import KeyValueStore
from toolkeel_studio.gateway import ledger
from toolkeel_studio.gateway.ledger import ClientLedger
from toolkeel_studio.gateway.policy import Limit

TWO = [Limit("search__*", 2, 60.0)]


def over(kept: ClientLedger, client: str, limits: list[Limit]) -> str:
    return asyncio.run(kept.count_call(client, limits))


@pytest.fixture(params=["alone", "shared"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ClientLedger, ClientLedger]:
    """Two gateways' views: of one memory, or of one file."""
    if request.param == "alone":
        alone = ClientLedger()
        return alone, alone
    return ClientLedger(KeyValueStore(tmp_path / "s.db")), ClientLedger(
        KeyValueStore(tmp_path / "s.db")
    )


def test_a_limit_counts_each_client_for_itself_wherever_it_calls(
    two: tuple[ClientLedger, ClientLedger],
) -> None:
    one, other = two
    assert [over(each, "bo", TWO) for each in two] == ["", ""]
    assert "2 calls of search__* in 60 seconds" in over(one, "bo", TWO)
    assert over(other, "bo", TWO) and not over(other, "ada", TWO)
    assert not over(one, "bo", [])


def test_what_is_refused_by_one_limit_counts_for_none(
    two: tuple[ClientLedger, ClientLedger],
) -> None:
    one, _ = two
    both = [Limit("a", 1, 60.0), Limit("*", 2, 60.0)]
    assert not over(one, "bo", both) and over(one, "bo", both)
    assert not over(one, "bo", both[1:]) and over(one, "bo", both[1:])


def test_a_limit_ends_with_its_time() -> None:
    kept = ClientLedger()
    assert not over(kept, "a", [Limit("*", 1, 0.0)]) and not over(kept, "a", [Limit("*", 1, 0.0)])


def test_a_call_that_cannot_be_counted_is_refused(tmp_path: Path) -> None:
    store = KeyValueStore(tmp_path / "s.db")
    store.close()
    assert "this one was not sent" in over(ClientLedger(store), "bo", TWO)


@given(st.lists(st.sampled_from("ab"), max_size=30), st.integers(1, 5))
def test_as_many_calls_pass_as_the_limit_says(clients: list[str], calls: int) -> None:
    kept = ClientLedger()
    passed = [name for name in clients if not over(kept, name, [Limit("*", calls, 60.0)])]
    assert all(passed.count(name) == min(clients.count(name), calls) for name in "ab")


def test_what_a_client_has_read_is_its_own_and_ends(
    two: tuple[ClientLedger, ClientLedger], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two

    async def use() -> None:
        await one.add_labels("ada", ["private"], "files__read")
        await one.add_labels("ada", ["stranger"], "web__get")
        await one.add_labels("ada", [], "git__log")
        assert await other.labels("ada") == {"private": "files__read", "stranger": "web__get"}
        assert await other.labels("bo") == {}
        monkeypatch.setattr(ledger, "LABEL_SECONDS", -1.0)
        assert await one.labels("ada") == {}

    asyncio.run(use())
