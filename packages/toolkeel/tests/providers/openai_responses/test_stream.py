"""Streams of the Responses wire as servers send them, complete or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.tools import TOOLS
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import CallDelta, TextDelta
from toolkeel.providers.openai_responses.stream import StreamDecoder
from toolkeel.providers.wire.tools import wire_tools

Json = dict[str, Any]
WIRE = "openai-responses"


def event(kind: str, index: int | None = None, **keys: Any) -> Json:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **keys}


def call(arguments: str = "", number: int = 1, **keys: Any) -> Json:
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "add",
        "arguments": arguments,
        **keys,
    }


def said(text: str, **keys: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [part], **keys}


def added(index: int, item: Json) -> Json:
    return event("output_item.added", index, item=item)


def done(index: int, item: Json) -> Json:
    return event("output_item.done", index, item=item)


def argued(index: int, delta: str) -> Json:
    return event("function_call_arguments.delta", index, delta=delta, item_id="x")


def ended(*output: Json, status: str = "completed", **keys: Any) -> Json:
    return event(status, response={"status": status, "model": "gpt-5", "output": [*output], **keys})


def reply_of(*events: Json) -> AssistantMessage:
    decoder = StreamDecoder()
    deltas = [delta for one in events for delta in decoder.feed(one)]
    return assemble([*deltas, *decoder.finish()])


# — where arguments may stand —

ARGUMENTS = '{"a": 1, "b": 2}'


@pytest.mark.parametrize(
    "events",
    [
        [added(0, call()), argued(0, '{"a": 1,'), argued(0, ' "b": 2}')],
        [added(0, call()), event("function_call_arguments.done", 0, arguments=ARGUMENTS)],
        [added(0, call()), done(0, call(ARGUMENTS))],
        [added(0, call()), argued(0, '{"a"'), done(0, call(ARGUMENTS))],
        [added(0, call()), argued(0, '{"a"'), argued(0, ": 2}"), done(0, call(ARGUMENTS))],
        [added(0, call(ARGUMENTS))],
        [done(0, call(ARGUMENTS))],
        [],
    ],
)
def test_arguments_are_found_wherever_they_stand(events: list[Json]) -> None:
    reply = reply_of(*events, ended(call(ARGUMENTS)))
    assert reply.tool_calls == (
        ToolCall("call_1", "add", ARGUMENTS, provider_options={WIRE: {"id": "fc_1"}}),
    )
    assert reply.finish_reason == "tool_calls"


def test_deltas_are_said_as_they_come_and_only_once() -> None:
    decoder = StreamDecoder()
    decoder.feed(added(0, call()))
    assert decoder.feed(argued(0, '{"a": 1,')) == [CallDelta(0, arguments='{"a": 1,')]
    assert decoder.feed(event("function_call_arguments.done", 0, arguments=ARGUMENTS)) == [
        CallDelta(0, arguments=' "b": 2}')
    ]
    assert decoder.feed(done(0, call(ARGUMENTS))) == []
    assert decoder.feed(ended(call(ARGUMENTS))) == []


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert reply_of(added(0, call()), ended(call())).tool_calls[0].arguments == "{}"


def test_the_id_may_come_late() -> None:
    reply = reply_of(
        added(0, call(call_id="", name="")), argued(0, "{}"), done(0, call("{}")), ended()
    )
    assert [(one.id, one.name) for one in reply.tool_calls] == [("call_1", "add")]


def test_a_server_without_places_is_followed_by_item_id() -> None:
    first, second = call(number=1), call(number=2)
    reply = reply_of(
        added(0, first),
        added(1, second),
        event("function_call_arguments.delta", item_id="fc_2", delta='{"b": 2}'),
        event("function_call_arguments.delta", item_id="fc_1", delta='{"a": 1}'),
        ended(),
    )
    assert [one.arguments for one in reply.tool_calls] == ['{"a": 1}', '{"b": 2}']


@given(st.permutations(range(3)), st.data())
def test_items_may_be_interleaved_and_end_in_any_order(
    order: list[int], data: st.DataObject
) -> None:
    texts = ['{"n": 0}', '{"n": 11}', '{"n": 222}']
    pieces = [(index, letter) for index, text in enumerate(texts) for letter in text]
    shuffled = data.draw(st.permutations([index for index, _ in pieces]))
    left = {index: iter(text) for index, text in enumerate(texts)}
    events = [added(index, call(number=index)) for index in order]
    events += [argued(index, next(left[index])) for index in shuffled]
    events += [done(index, call(texts[index], index)) for index in reversed(order)]
    reply = reply_of(*events, ended())
    assert [one.arguments for one in reply.tool_calls] == texts
    assert [one.id for one in reply.tool_calls] == ["call_0", "call_1", "call_2"]


@given(st.text(max_size=20), st.text(max_size=20), st.integers(1, 5))
def test_pieces_of_any_size_make_the_whole(text: str, value: str, size: int) -> None:
    arguments = json.dumps({"v": value})
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    halves = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    item, asked = said(text), call(arguments)
    cut = reply_of(
        added(0, said("")),
        *[event("output_text.delta", 0, delta=one) for one in pieces],
        done(0, item),
        added(1, call()),
        *[argued(1, one) for one in halves],
        done(1, asked),
        ended(item, asked),
    )
    assert cut == reply_of(ended(item, asked))


# — text and reasoning —


def test_text_that_comes_only_at_the_end_is_said() -> None:
    assert reply_of(added(0, said("")), done(0, said("Hello")), ended()).text == "Hello"
    assert reply_of(ended(said("Hello"))).text == "Hello"


def test_text_without_its_item_is_kept_to_go_back() -> None:
    reply = reply_of(event("output_text.delta", 0, delta="Hi", item_id="msg_1"), ended())
    [item] = reply.provider_options[WIRE]["output"]  # type: ignore[index]
    assert (reply.text, item["id"], item["content"][0]["text"]) == ("Hi", "msg_1", "Hi")


def test_a_refusal_is_a_reason() -> None:
    item = {**said(""), "content": [{"type": "refusal", "refusal": "No."}]}
    for events in ([ended(item)], [event("refusal.delta", 0, delta="No."), ended()]):
        reply = reply_of(*events)
        assert (reply.text, reply.finish_reason) == ("No.", "refusal")


def test_reasoning_comes_in_parts_and_ends_with_its_secret() -> None:
    parts = [{"type": "summary_text", "text": one} for one in ("First", "Second")]
    item = {"type": "reasoning", "id": "rs_1", "summary": parts, "encrypted_content": "gAAA"}
    cut = reply_of(
        added(0, {**item, "summary": [], "encrypted_content": ""}),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="Fir"),
        event("reasoning_summary_text.delta", 0, summary_index=0, delta="st"),
        event("reasoning_summary_text.delta", 0, summary_index=1, delta="Second"),
        done(0, item),
        ended(item, said("ok")),
    )
    assert cut == reply_of(ended(item, said("ok")))
    [thought] = cut.reasoning
    assert (thought.text, thought.signature, thought.model) == ("First\n\nSecond", "gAAA", "gpt-5")


def test_hosted_items_are_kept_in_their_places() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": 1}}
    reply = reply_of(done(0, search), done(1, call("{}")), done(2, said("found")), ended())
    assert reply.provider_options[WIRE]["output"] == [search, "call", said("found")]  # type: ignore[index]


def test_a_free_text_call_keeps_its_text() -> None:
    item = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "c",
        "name": "sql",
        "input": "SELECT 1",
    }
    cut = reply_of(
        added(0, {**item, "input": ""}),
        event("custom_tool_call_input.delta", 0, delta="SELECT"),
        event("custom_tool_call_input.done", 0, input="SELECT 1"),
        ended(item),
    )
    assert cut == reply_of(ended(item))
    assert cut.tool_calls[0].arguments == "SELECT 1"


# — ends —


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", "length"),
        (None, "length"),
        ("content_filter", "filtered"),
        ("steered", "incomplete"),
        ("something new", "length"),
    ],
)
def test_an_incomplete_response_says_why_and_its_calls_do_not_run(
    reason: str | None, finish: str
) -> None:
    details = {"reason": reason} if reason else None
    end = ended(call('{"a"'), status="incomplete", incomplete_details=details)
    reply = reply_of(added(0, call()), argued(0, '{"a"'), end)
    assert (reply.finish_reason, reply.tool_calls[0].complete) == (finish, False)


def test_a_stream_without_a_last_event_was_cut_off() -> None:
    for events in ([done(0, call("{}"))], [event("created", response={"status": "in_progress"})]):
        assert reply_of(*events).finish_reason == "incomplete"
    assert not reply_of(done(0, call("{}"))).tool_calls[0].complete


def test_a_snapshot_of_a_response_is_no_end() -> None:
    for status in ("queued", "in_progress"):
        snapshot = {"object": "response", "status": status, "output": [call("{}")]}
        assert reply_of(snapshot).finish_reason == "incomplete"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": "rate_limit_exceeded", "message": "slow down"}, 429),
        ({"code": "server_error", "message": "slow down"}, 500),
        ({"code": "invalid_prompt", "message": "slow down"}, 400),
        ({"code": "503", "message": "slow down"}, 503),
        ({"code": None, "message": "slow down"}, None),
    ],
)
def test_a_failure_is_an_error_with_its_status(error: Json, status: int | None) -> None:
    failed = ended(status="failed", error=error)
    for one in (failed, {"type": "error", **error}, {"type": "error", "error": error}):
        with pytest.raises(ModelError, match="slow down") as raised:
            reply_of(added(0, call()), one)
        assert raised.value.status == status


def test_a_cancelled_response_is_an_error_that_runs_nothing() -> None:
    reply = reply_of(ended(call("{}"), status="cancelled"))
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("error", False)


def test_unknown_events_and_marks_hold_nothing() -> None:
    decoder = StreamDecoder()
    for one in ("", "[DONE]", event("web_search_call.searching", 0), {"type": "keepalive"}, {}):
        assert decoder.feed(one) == []
    assert decoder.feed(json.dumps(event("output_text.delta", 0, delta="Hi"))) == [TextDelta("Hi")]


# — what counts when forms differ —


def test_the_last_form_of_a_call_counts() -> None:
    reply = reply_of(
        added(0, call()),
        argued(0, '{"a": 1, "b": '),
        done(0, call('{"a": 9}')),
        ended(call('{"a": 9}')),
    )
    assert [one.arguments for one in reply.tool_calls] == ['{"a": 9}']
    assert reply.finish_reason == "tool_calls"


def test_calls_stand_in_the_order_of_their_places_however_they_begin() -> None:
    reply = reply_of(done(1, call('{"n": 1}', 1)), done(0, call('{"n": 0}', 0)), ended())
    assert [one.id for one in reply.tool_calls] == ["call_0", "call_1"]


def test_half_characters_are_put_together() -> None:
    reply = reply_of(
        event("output_text.delta", 0, delta="cat \ud83d"),
        event("output_text.delta", 0, delta="\udc31"),
        done(0, said("cat 🐱")),
        ended(),
    )
    assert reply.text == "cat 🐱"


def test_a_call_has_its_tools_own_name() -> None:
    decoder = StreamDecoder(wire_tools(TOOLS, WIRE))
    item = call("{}", name="clock_now")
    assert (
        assemble([*decoder.feed(ended(item)), *decoder.finish()]).tool_calls[0].name == "clock.now"
    )
