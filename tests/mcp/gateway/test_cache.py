"""What is kept is what came, for as long as it is good, and nothing that may be stale."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON
from toolkeel.mcp.gateway import cache
from toolkeel.mcp.gateway.cache import Cache, key_of

OK: dict[str, Any] = {"content": [{"type": "text", "text": "北京"}]}


def test_a_result_comes_back_as_it_came_and_nobody_elses_hand_is_in_it() -> None:
    kept = Cache()
    kept.put("s", "k", OK, 60)
    first = kept.get("s", "k")
    assert first == OK
    assert first is not None
    first["content"].clear()
    assert kept.get("s", "k") == OK and kept.get("t", "k") is None and kept.get("s", "l") is None


def test_a_result_ends_with_its_time() -> None:
    kept = Cache()
    kept.put("s", "k", OK, 0.0)
    assert kept.get("s", "k") is None and not kept._kept


@pytest.mark.parametrize(
    "result",
    [{**OK, "isError": True}, {"inputRequests": {}}, {"requestState": "x"},
     {"content": ["x" * cache.LARGEST]}],
)  # fmt: skip
def test_failures_questions_and_what_is_huge_are_not_kept(result: dict[str, Any]) -> None:
    kept = Cache()
    kept.put("s", "k", result, 60)
    assert kept.get("s", "k") is None


def test_a_write_makes_all_of_its_server_stale_also_what_is_on_its_way() -> None:
    kept = Cache()
    kept.put("s", "k", OK, 60)
    kept.put("t", "k", OK, 60)
    before = kept.state("s"), kept.state("t")
    kept.forget("s")
    assert kept.get("s", "k") is None and kept.get("t", "k") == OK
    assert (kept.state("s"), kept.state("t")) == (before[0] + 1, before[1])


def test_those_used_longest_ago_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "ENTRIES", 2)
    kept = Cache()
    for key in "ab":
        kept.put("s", key, OK, 60)
    kept.get("s", "a")
    kept.put("s", "c", OK, 60)
    assert [key for key in "abc" if kept.get("s", key)] == ["a", "c"]


@given(st.tuples(JSON, JSON), st.tuples(st.sampled_from(["", "ada"]), st.sampled_from(["", "bo"])))
def test_calls_share_a_result_only_if_nothing_tells_them_apart(args: Any, whose: Any) -> None:
    made = [key_of(who, "d", {"name": "x", "arguments": {"a": a}}) for who in whose for a in args]
    told = [(who, json.dumps(a, sort_keys=True)) for who in whose for a in args]
    assert len(set(made)) == len(set(told))
    assert key_of("", "d", {"name": "x"}) != key_of("", "e", {"name": "x"})
    assert key_of("", "d", {"_meta": {"traceparent": "1"}}) == key_of("", "d", {"_meta": {}})
    assert key_of("", "d", {"_meta": {"tenant": "1"}}) != key_of("", "d", {"_meta": {}})


def test_results_are_bounded_together_those_used_longest_ago_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = len(json.dumps(OK, ensure_ascii=False))
    monkeypatch.setattr(cache, "TOGETHER", 3 * size)
    kept = Cache()
    for key in "abcd":
        kept.put("s", key, OK, 60)
    assert [kept.get("s", key) for key in "abcd"] == [None, OK, OK, OK]
