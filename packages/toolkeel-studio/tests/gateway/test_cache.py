"""What is kept is what came, for as long as it is good, and nothing that may be stale."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON
from toolkeel.errors import SetupError
from toolkeel.sessions import KeyValueStore
from toolkeel_studio.gateway import cache
from toolkeel_studio.gateway.cache import ResultCache, cache_key

OK: dict[str, Any] = {"content": [{"type": "text", "text": "北京"}]}


@pytest.fixture(params=["alone", "shared"])
def two(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ResultCache, ResultCache]]:
    """Two gateways' views: of one memory, or of one file."""
    if request.param == "alone":
        alone = ResultCache()
        yield alone, alone
        return
    stores = [KeyValueStore(tmp_path / "s.db") for _ in range(2)]
    yield ResultCache(stores[0]), ResultCache(stores[1])
    for store in stores:
        store.close()


def put(
    kept: ResultCache, server: str, key: str, result: dict[str, Any], seconds: float = 60
) -> None:
    async def use() -> None:
        await kept.put(server, key, result, seconds, await kept.server_version(server))

    asyncio.run(use())


def get(kept: ResultCache, server: str, key: str) -> dict[str, Any] | None:
    return asyncio.run(kept.get(server, key))


def test_a_result_comes_back_as_it_came_and_nobody_elses_hand_is_in_it(
    two: tuple[ResultCache, ResultCache],
) -> None:
    one, other = two
    put(one, "s", "k", OK)
    first = get(other, "s", "k")
    assert first == OK
    assert first is not None
    first["content"].clear()
    assert get(one, "s", "k") == OK and get(other, "t", "k") is None and get(one, "s", "l") is None


def test_a_result_ends_with_its_time(two: tuple[ResultCache, ResultCache]) -> None:
    one, other = two
    put(one, "s", "k", OK, 0.0)
    assert get(other, "s", "k") is None and not other._results


@pytest.mark.parametrize(
    "result",
    [{**OK, "isError": True}, {"inputRequests": {}}, {"requestState": "x"},
     {"content": ["x" * cache.MAX_RESULT_CHARACTERS]}],
)  # fmt: skip
def test_failures_questions_and_what_is_huge_are_not_kept(result: dict[str, Any]) -> None:
    kept = ResultCache()
    put(kept, "s", "k", result)
    assert get(kept, "s", "k") is None


def test_a_write_makes_all_of_its_server_stale_also_what_is_on_its_way(
    two: tuple[ResultCache, ResultCache],
) -> None:
    one, other = two

    async def use() -> None:
        before = await one.server_version("s")
        for server in "st":
            await one.put(server, "k", OK, 60, await one.server_version(server))
        await other.invalidate("s")
        await one.put("s", "on its way", OK, 60, before)
        found = [await each.get("s", key) for each in two for key in ("k", "on its way")]
        assert found == [None] * 4 and await other.get("t", "k") == OK

    asyncio.run(use())


def test_a_store_that_is_away_costs_no_call(tmp_path: Path, caplog: Any) -> None:
    store = KeyValueStore(tmp_path / "s.db")
    kept = ResultCache(store)
    put(kept, "s", "k", OK)
    store.close()
    put(kept, "s", "l", OK)
    assert get(kept, "s", "k") is None
    asyncio.run(kept.invalidate("s"))
    assert "results are not kept now" in caplog.text


def test_a_write_that_the_store_was_not_told_of_makes_stale_what_it_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = KeyValueStore(tmp_path / "s.db")
    kept = ResultCache(store)
    put(kept, "s", "k", OK)

    def away(*_: object, **more: object) -> None:
        raise SetupError("it is locked")

    with monkeypatch.context() as patched:
        patched.setattr(store, "change", away)
        asyncio.run(kept.invalidate("s"))
        assert get(kept, "s", "k") is None
    assert get(kept, "s", "k") is None
    put(kept, "s", "k", OK)
    assert get(kept, "s", "k") == OK
    store.close()


def test_those_used_longest_ago_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_ENTRIES", 2)
    kept = ResultCache()
    for key in "ab":
        put(kept, "s", key, OK)
    get(kept, "s", "a")
    put(kept, "s", "c", OK)
    assert [key for key in "abc" if get(kept, "s", key)] == ["a", "c"]


@given(st.tuples(JSON, JSON), st.tuples(st.sampled_from(["", "ada"]), st.sampled_from(["", "bo"])))
def test_calls_share_a_result_only_if_nothing_tells_them_apart(args: Any, whose: Any) -> None:
    made = [
        cache_key(who, "d", {"name": "x", "arguments": {"a": a}}) for who in whose for a in args
    ]
    told = [(who, json.dumps(a, sort_keys=True)) for who in whose for a in args]
    assert len(set(made)) == len(set(told))
    assert cache_key("", "d", {"name": "x"}) != cache_key("", "e", {"name": "x"})
    assert cache_key("", "d", {"_meta": {"traceparent": "1"}}) == cache_key("", "d", {"_meta": {}})
    assert cache_key("", "d", {"_meta": {"tenant": "1"}}) != cache_key("", "d", {"_meta": {}})


def test_results_are_bounded_together_those_used_longest_ago_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = len(json.dumps(OK, ensure_ascii=False))
    monkeypatch.setattr(cache, "MAX_TOTAL_CHARACTERS", 3 * size)
    kept = ResultCache()
    for key in "abcd":
        put(kept, "s", key, OK)
    assert [get(kept, "s", key) for key in "abcd"] == [None, OK, OK, OK]
