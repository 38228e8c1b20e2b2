"""Answers of servers that imitate a wire: what its form contains is read, however it is put."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

Json = dict[str, Any]
words = st.text("ab 猫\n<>{}\"'", min_size=1, max_size=12)
objects = st.dictionaries(st.sampled_from("abc"), st.integers() | words, min_size=1, max_size=3)


def read_chat(part: Json, streamed: bool, end: str = "stop", index: int = 0) -> AssistantMessage:
    key = "delta" if streamed else "message"
    choice = {"index": index, key: {"role": "assistant", **part}, "finish_reason": end}
    if streamed:
        return assemble(openai_chat.decode_stream([{"choices": [choice]}, "[DONE]"]))
    return openai_chat.decode({"choices": [choice]})


def called(reply: AssistantMessage) -> list[tuple[str, Any]]:
    return [(one.name, json.loads(str(one.arguments))) for one in reply.tool_calls]


# — Chat Completions —


@given(objects, st.sampled_from(["one", "both", "old", "list"]), st.booleans(), st.integers(0, 2))
def test_a_call_is_read_once_in_whichever_field_it_is(
    values: Json, form: str, streamed: bool, index: int
) -> None:
    function = {"name": "f", "arguments": json.dumps(values)}
    call = {"index": 0, "id": "c", "type": "function", "function": function}
    fields: Json = {} if form == "old" else {"tool_calls": call if form == "one" else [call]}
    fields |= {"function_call": function} if form in ("both", "old") else {}
    reply = read_chat(fields, streamed, "tool_calls", index)
    assert called(reply) == [("f", values)]
    assert reply.finish_reason == "tool_calls"


@given(
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from(["strings", "parts", "values", "object", "plain"]),
    st.booleans(),
    st.integers(0, 2),
)
def test_a_text_is_read_in_each_form_of_content_and_choice(
    texts: list[str], form: str, streamed: bool, index: int
) -> None:
    text = "".join(texts)
    content: Any = {
        "strings": texts,
        "parts": [{"type": "output_text", "text": one} for one in texts],
        "values": [{"type": "text", "text": {"value": one}} for one in texts],
        "object": {"type": "text", "text": text},
        "plain": text,
    }[form]
    assert read_chat({"content": content}, streamed, "stop", index).text == text


@given(words, st.booleans())
def test_a_choice_that_is_a_text_is_that_text(text: str, is_whole: bool) -> None:
    answer = {"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]}
    read = [openai_chat.decode(answer)] if is_whole else openai_chat.decode_stream([answer])
    assert assemble(read).text == text


@given(st.lists(words, min_size=1, max_size=3), words, st.booleans())
@example(["<", "<<"], "", False)  # a text that waited, to see whether the next one repeats it
def test_another_answer_counts_only_if_there_is_no_first_one(
    texts: list[str], other: str, is_first: bool
) -> None:
    chunks = [{"choices": [{"index": 1, "delta": {"content": one}}]} for one in texts]
    end = {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}
    first = {"choices": [{"index": 0, "delta": {"content": other}, "finish_reason": "stop"}]}
    reply = assemble(openai_chat.decode_stream([*chunks, end, *[first] * is_first]))
    assert reply.text == (other if is_first else "".join(texts))
    assert reply.finish_reason == ("stop" if is_first else "length")


@given(
    words,
    st.sampled_from(
        [
            ("thinking", None),
            ("reasoning_details", "text"),
            ("reasoning_details", "summary"),
            ("thinking_blocks", "thinking"),
        ]
    ),
    st.booleans(),
    st.booleans(),
)
def test_reasoning_that_is_only_in_blocks_is_read_and_never_twice(
    thought: str, place: tuple[str, str | None], streamed: bool, is_repeated: bool
) -> None:
    key, inner = place
    part: Json = {key: thought if inner is None else [{"type": "t", inner: thought}]}
    if is_repeated and inner is not None:
        part["reasoning_content"] = thought
    reply = read_chat({"content": "x", **part}, streamed)
    assert ("".join(one.text for one in reply.reasoning), reply.text) == (thought, "x")


# — how a reply ends —

ENDS = {"end_turn": "stop", "stop": "stop", "max_tokens": "length", "length": "length"}


@given(st.sampled_from(sorted(ENDS)), st.sampled_from([str.upper, str.lower, str.title]))
def test_a_finish_reason_is_known_in_any_case_and_where_proxies_pass_it_on(
    word: str, case: Any
) -> None:
    sent, expected = case(word), ENDS[word]
    if case is not str.title:
        assert read_chat({"content": "x"}, False, sent).finish_reason == expected
        block = {"type": "text", "text": "x"}
        answer = {"type": "message", "content": [block], "stop_reason": sent}
        assert anthropic.decode(answer).finish_reason == expected
        if word in ("end_turn", "max_tokens"):
            message = {"content": [{"text": "x"}]}
            converse = {"output": {"message": message}, "stopReason": sent}
            assert bedrock.decode(converse).finish_reason == expected
        if word in ("stop", "max_tokens"):
            candidate = {"content": {"parts": [{"text": "x"}]}, "finishReason": sent}
            assert gemini.decode({"candidates": [candidate]}).finish_reason == expected
    else:
        assert read_chat({"content": "x"}, False, f"odd {sent}").finish_reason == "error"


# — arguments that arrive as objects —


@given(objects)
def test_arguments_that_are_a_json_value_are_never_lost(values: Json) -> None:
    start: Json = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c", "name": "f"}}}
    piece = {"contentBlockIndex": 0, "delta": {"toolUse": {"input": values}}}
    end = {"messageStop": {"stopReason": "tool_use"}}
    events = [{"contentBlockStart": start}, {"contentBlockDelta": piece}, end]
    assert called(assemble(bedrock.decode_stream(events))) == [("f", values)]
    block = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": values}
    sent = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    assert called(assemble(anthropic.decode_stream(sent))) == [("f", values)]
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    sent = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {
            "type": "response.function_call_arguments.delta",
            "output_index": 0,
            "item_id": "i",
            "delta": values,
        },
        {"type": "response.completed", "response": {"status": "completed"}},
    ]
    assert called(assemble(openai_responses.decode_stream(sent))) == [("f", values)]


# — Responses —


def kind(event: str, **fields: Any) -> Json:
    return {"type": f"response.{event}", "output_index": 0, "item_id": "i", **fields}


@given(objects, st.booleans(), st.booleans())
def test_an_empty_object_before_the_arguments_is_a_placeholder(
    values: Json, is_added: bool, has_end: bool
) -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    text = json.dumps(values)
    pieces = [kind("function_call_arguments.delta", delta=one) for one in ("{}", *text)]
    sent = [kind("output_item.added", item=item)] * is_added + pieces
    if has_end or not is_added:
        names = {} if is_added else {"name": "f", "call_id": "c"}
        sent.append(kind("function_call_arguments.done", arguments=text, **names))
    sent.append(kind("completed", response={"status": "completed"}))
    assert called(assemble(openai_responses.decode_stream(sent))) == [("f", values)]


@pytest.mark.parametrize("status", ["completed", "requires_action"])
def test_a_status_that_waits_for_results_ends_a_reply_with_calls(status: str) -> None:
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": "{}"}
    reply = openai_responses.decode({"object": "response", "status": status, "output": [item]})
    assert (called(reply), reply.finish_reason) == ([("f", {})], "tool_calls")


# — Gemini —


@given(words, st.integers(1, 3), st.booleans())
def test_a_candidate_is_read_by_any_index_and_behind_code_assists_envelope(
    text: str, index: int, is_wrapped: bool
) -> None:
    candidate = {"index": index, "content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
    answer: Json = {"candidates": [candidate]}
    assert gemini.decode({"response": answer} if is_wrapped else answer).text == text
    first = {"candidates": [{**candidate, "index": 0}]}
    assert assemble(gemini.decode_stream([{"response": first}])).text == text


def test_why_a_prompt_was_blocked_is_said_in_geminis_words() -> None:
    feedback = {"blockReason": "OTHER", "blockReasonMessage": "说明"}
    reply: Any = gemini.decode({"promptFeedback": feedback})
    assert reply.provider_options["gemini"]["finish_message"] == "OTHER: 说明"


# — lists that are no lists, and numbers that are no numbers —


def chat_answer(content: Any, usage: Json, id: Any) -> Any:
    function = {"name": "f", "arguments": "{}"}
    message = {"content": content, "tool_calls": [{"id": id, "function": function}]}
    choice = {"message": message, "finish_reason": "stop"}
    return openai_chat, {"choices": choice, "usage": usage}


def anthropic_answer(content: Any, usage: Json, id: Any) -> Any:
    call = {"type": "tool_use", "id": id, "name": "f", "input": None}
    listed = [*(content if isinstance(content, list) else [content]), None, call]
    return anthropic, {"content": listed, "stop_reason": "tool-use", "usage": usage}


def bedrock_answer(content: Any, usage: Json, id: Any) -> Any:
    call = {"toolUse": {"toolUseId": id, "name": "f", "input": None}}
    parts = content if isinstance(content, list) else [content]
    listed = [{"text": one["text"]} if isinstance(one, dict) else one for one in parts]
    counted = {"inputTokens": usage["prompt_tokens"], "outputTokens": usage["completion_tokens"]}
    message = {"content": [*listed, None, call]}
    return bedrock, {"output": {"message": message}, "stopReason": "tool_use", "usage": counted}


def gemini_answer(content: Any, usage: Json, id: Any) -> Any:
    parts = [*(content if isinstance(content, list) else [content]), None]
    parts.append({"functionCall": {"id": id, "name": "f", "args": None}})
    counted = {"promptTokenCount": usage["prompt_tokens"]}
    counted["candidatesTokenCount"] = usage["completion_tokens"]
    candidate = {"content": parts, "finishReason": "stop"}
    return gemini, {"candidates": candidate, "usageMetadata": counted}


def responses_answer(content: Any, usage: Json, id: Any) -> Any:
    call = {"type": "function_call", "call_id": id, "name": "f", "arguments": None}
    output = [{"role": "assistant", "content": content}, None, call]
    return openai_responses, {"object": "response", "output": output, "usage": usage}


@given(
    words,
    st.sampled_from(["text", "part", "list", "texts"]),
    st.integers(1, 9),
    st.sampled_from([int, float, str]),
    st.sampled_from([7, "7"]),
    st.sampled_from(
        [chat_answer, anthropic_answer, bedrock_answer, gemini_answer, responses_answer]
    ),
)
def test_an_answer_is_read_with_texts_for_parts_lone_parts_for_lists_and_text_for_numbers(
    text: str, form: str, tokens: int, number: Any, id: Any, make: Any
) -> None:
    part = {"type": "text", "text": text}
    content: Any = {"text": text, "part": part, "list": [None, part], "texts": [*text]}[form]
    names = ("input_tokens", "output_tokens") if make is anthropic_answer else ()
    usage = dict.fromkeys(names or ("prompt_tokens", "completion_tokens"), number(tokens))
    wire, answer = make(content, usage, id)
    reply = wire.decode(answer)
    assert (reply.text, called(reply), reply.tool_calls[0].id) == (text, [("f", {})], "7")
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (tokens, tokens)
    assert reply.finish_reason == "tool_calls"
    wire.encode_messages([reply])


@given(
    st.sampled_from(["chunk", "choice", "delta", "groq", "behind"]),
    st.integers(1, 9),
    st.sampled_from([None, 0, {}, {"prompt_tokens": None, "completion_tokens": 0}]),
)
def test_usage_is_read_wherever_it_is_and_nothing_behind_it_erases_it(
    place: str, tokens: int, last: object
) -> None:
    usage = {"usage": {"prompt_tokens": tokens, "completion_tokens": tokens}}
    choice: Json = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    first: Json = {"choices": [choice]}
    places = {"chunk": first, "choice": choice, "delta": choice["delta"]}
    places.get(place, {}).update(usage)
    first |= {"x_groq": usage} if place == "groq" else {}
    behind = [{"choices": [], **usage}] if place == "behind" else []
    reply = assemble(openai_chat.decode_stream([first, *behind, {"choices": [], "usage": last}]))
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (tokens, tokens)
    assert "usage" not in reply.provider_options


@given(words, st.sampled_from(["data", "result", "provider", "text", "list", "choice", "texts"]))
def test_an_answer_within_another_object_or_less_than_one_is_read(text: str, form: str) -> None:
    message: Json = {"role": "assistant", "content": text}
    choices: Any = {
        "text": [{"message": text}],
        "list": [{"message": [message]}],
        "choice": {"message": message},
        "texts": [text],
    }.get(form, [{"message": message}])
    answer = {"choices": choices}
    wrapped = {"code": 0, form: answer} if form in ("data", "result", "provider") else answer
    assert openai_chat.decode(wrapped).text == text


@given(objects | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_content_that_is_a_json_value_is_its_text(value: Any) -> None:
    reply = openai_chat.decode(
        {"choices": [{"message": {"content": value}, "finish_reason": "stop"}]}
    )
    assert json.loads(reply.text) == value


@given(st.sampled_from(["content_filter", "tool_calls", "max_tokens"]), st.booleans())
def test_a_reason_to_end_is_known_with_dashes_and_within_the_delta(
    word: str, is_in_delta: bool
) -> None:
    spelled = word.replace("_", "-")
    delta: Json = {"content": "x", **({"finish_reason": spelled} if is_in_delta else {})}
    choice: Json = {"delta": delta, **({} if is_in_delta else {"finish_reason": spelled})}
    expected = {"content_filter": "filtered", "max_tokens": "length"}.get(word, word)
    assert assemble(openai_chat.decode_stream([{"choices": [choice]}])).finish_reason == expected


@given(st.lists(words, min_size=2, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_events_on_lines_of_one_text_are_all_read(texts: list[str], line_end: str) -> None:
    chunks: list[Json] = [{"choices": [{"delta": {"content": one}}]} for one in texts]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    data = line_end.join([*map(json.dumps, chunks), "[DONE]"])
    assert assemble(openai_chat.decode_stream([data])).text == "".join(texts)
