"""Deltas become one reply."""

from __future__ import annotations

import sys
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent
from toolkeel.agent.reply_assembly import ReplyBuilder, assemble, make_unique_ids, normalize_reply
from toolkeel.messages import AssistantMessage, FinishReason, Reasoning, ToolCall, Usage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, RetryDelta, TextDelta
from toolkeel.testing.scripted import Scripted

texts = st.text(max_size=30)
calls = st.lists(
    st.builds(ToolCall, st.sampled_from(["", "a", "b", "a_2"]), texts, texts), max_size=5
)


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(edges)]


def test_text_in_pieces_becomes_the_text() -> None:
    reply = assemble([TextDelta("北京"), TextDelta("今天"), TextDelta("晴"), Finish("stop")])
    assert reply == AssistantMessage("北京今天晴")


def test_nothing_at_all_is_an_empty_reply_that_was_cut_off() -> None:
    assert assemble([]) == AssistantMessage(finish_reason="incomplete")


def test_usage_model_and_leftovers_come_from_the_end() -> None:
    reply = assemble([Finish("stop", Usage(1, 2, 3), "m-1", {"k": 1})])
    assert (reply.usage, reply.model, reply.provider_options) == (Usage(1, 2, 3), "m-1", {"k": 1})


def test_interleaved_pieces_go_to_their_calls() -> None:
    reply = assemble(
        [
            CallDelta(1, "b", "g", '{"y"'),
            CallDelta(0, "a", "f", '{"x"'),
            TextDelta("hm"),
            CallDelta(1, arguments=": 2}"),
            CallDelta(0, arguments=": 1}"),
            Finish("tool_calls"),
        ]
    )
    assert reply.tool_calls == (ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", '{"y": 2}'))
    assert reply.content == "hm"


def test_late_names_and_leftovers_are_kept() -> None:
    reply = assemble(
        [
            CallDelta(0, arguments="{}", provider_options={"a": 1}),
            CallDelta(0, "id", "f", provider_options={"b": 2}),
            Finish("stop"),
        ]
    )
    assert reply.tool_calls == (ToolCall("id", "f", "{}", provider_options={"a": 1, "b": 2}),)


def test_a_signature_ends_a_block_of_reasoning() -> None:
    reply = assemble(
        [
            ReasoningDelta("one "),
            ReasoningDelta("two", "sig1"),
            ReasoningDelta(signature="sig2"),
            ReasoningDelta("three"),
            Finish("stop", model="m"),
        ]
    )
    assert reply.reasoning == (
        Reasoning("one two", "sig1", "m"),
        Reasoning("", "sig2", "m"),
        Reasoning("three", "", "m"),
    )


def test_calls_of_a_reply_without_an_end_are_incomplete() -> None:
    reply = assemble([CallDelta(0, "a", "f", "{}")])
    assert reply.finish_reason == "incomplete"
    assert [call.complete for call in reply.tool_calls] == [False]


def test_only_a_good_end_leaves_calls_complete() -> None:
    ends: dict[FinishReason, bool] = {
        "stop": True,
        "tool_calls": True,
        "length": False,
        "refusal": False,
        "error": False,
        "incomplete": False,
    }
    for reason, complete in ends.items():
        reply = assemble([CallDelta(0, "a", "f", "{}"), Finish(reason)])
        assert [call.complete for call in reply.tool_calls] == [complete], reason


def test_a_whole_message_is_taken_with_its_ids_mended() -> None:
    whole = AssistantMessage("hi", (ToolCall("", "f"), ToolCall("x", "g"), ToolCall("x", "h")))
    reply = assemble([whole])
    first, second, third = reply.tool_calls
    assert first.id.startswith("call_")
    assert (second.id, third.id) == ("x", "x_2")
    assert reply.content == "hi"


def test_a_missing_id_stays_the_same_while_the_reply_arrives() -> None:
    assembly = ReplyBuilder()
    assembly.add(CallDelta(0, name="f"))
    early = assembly.build().tool_calls[0].id
    assembly.add(CallDelta(0, arguments="{}"))
    assembly.add(Finish("stop"))
    assert assembly.build().tool_calls[0].id == early


def test_an_empty_name_is_kept_for_the_runtime_to_refuse() -> None:
    assert assemble([CallDelta(0, "a"), Finish("stop")]).tool_calls[0].name == ""


def test_a_reply_in_order_is_returned_as_it_is() -> None:
    reply = AssistantMessage("", (ToolCall("a", "f"), ToolCall("b", "f")))
    assert normalize_reply(reply) is reply


@given(calls, st.lists(st.integers(0, 50), max_size=8))
def test_any_cut_of_any_calls_gives_the_same_calls(given_calls: list[ToolCall], cuts: list[int]):
    deltas: list[Delta] = []
    for index, call in enumerate(given_calls):
        deltas.append(CallDelta(index, call.id, call.name))
        deltas += [CallDelta(index, arguments=p) for p in pieces_of(str(call.arguments), cuts)]
    reply = assemble([*deltas, Finish("tool_calls")])
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [
        (c.name, c.arguments) for c in given_calls
    ]
    ids = [call.id for call in reply.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b", "a_2_2"])))
def test_unique_ids_are_unique_and_the_first_of_each_stays(ids: list[str]):
    unique = make_unique_ids(ids)
    assert len(set(unique)) == len(unique) == len(ids)
    for id in set(ids):
        assert unique[ids.index(id)] == id
    assert all(new.startswith(old) for old, new in zip(ids, unique, strict=True))


def functions_entered(pieces: int) -> int:
    deltas = [CallDelta(0, "a", "f"), *[CallDelta(0, arguments="x" * 20)] * pieces, Finish("stop")]
    entered = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        reply = assemble(deltas)
    finally:
        sys.setprofile(None)
    assert len(str(reply.tool_calls[0].arguments)) == 20 * pieces
    return entered


def test_ten_times_the_pieces_cost_about_ten_times_the_work() -> None:
    assert functions_entered(50_000) < 11 * functions_entered(5_000)


def test_the_text_so_far_is_not_copied_with_every_piece() -> None:
    """Nor does each piece cost what came before it, which no count of functions would show."""
    deltas = [CallDelta(0, "a", "f"), *[CallDelta(0, arguments="x" * 20)] * 50_000, Finish("stop")]
    tracemalloc.start()
    try:
        assemble(deltas)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 50_000 * 20


def test_a_call_without_an_id_gets_one_and_the_others_keep_theirs() -> None:
    lone = normalize_reply(AssistantMessage(tool_calls=(ToolCall("", "f"),)))
    assert lone.tool_calls[0].id
    both = normalize_reply(AssistantMessage(tool_calls=(ToolCall("a", "f"), ToolCall("", "f"))))
    assert both.tool_calls[0].id == "a" and both.tool_calls[1].id not in ("", "a")


@pytest.mark.parametrize(
    ("raw", "ours"),
    [("content_filter", "filtered"), ("SAFETY", "filtered"), ("max_tokens", "length")],
)
def test_a_finish_reason_that_a_model_passes_on_under_its_providers_name_is_read(
    raw: Any, ours: str
) -> None:
    assert assemble([TextDelta("a"), Finish(raw)]).finish_reason == ours
    assert normalize_reply(AssistantMessage("a", finish_reason=raw)).finish_reason == ours
    assert Agent(Scripted([AssistantMessage("a", finish_reason=raw)])).run_sync("go").reason in (
        "refused",
        "cut_off",
    )


@given(st.lists(st.lists(st.tuples(st.text("ab", max_size=3), st.sampled_from(["", "s"])))))
def test_reasoning_before_a_repetition_is_withdrawn(attempts: list[list[tuple[str, str]]]) -> None:
    thoughts = [[ReasoningDelta(*one) for one in attempt] for attempt in attempts]
    sent: list[Delta] = []
    for number, attempt in enumerate(thoughts):
        sent += [RetryDelta(number, 0.0, "refused"), *attempt]
    sent += [TextDelta("ok"), Finish("stop")]
    last: list[Delta] = [*(thoughts[-1] if thoughts else ()), TextDelta("ok"), Finish("stop")]
    assert assemble(sent) == assemble(last)
