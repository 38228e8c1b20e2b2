"""What a call's item says beside the call, and what was spent."""

from __future__ import annotations

from toolkeel.messages import Usage
from toolkeel.providers.openai_responses.profile import call_extra, message_text, parse_usage


def test_a_calls_own_id_and_namespace_are_kept_and_null_is_not() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    more = {"status": "completed", "namespace": "crm", "caller": None, "created_by": "x"}
    assert call_extra({**item, **more}) == {"openai-responses": {"id": "fc_1", "namespace": "crm"}}
    assert call_extra({"type": "function_call", "call_id": "c"}) == {}


def test_a_free_text_call_says_so_for_both_of_openais_wires() -> None:
    extra = call_extra({"type": "custom_tool_call", "id": "ctc_1"})
    assert extra == {
        "openai-responses": {"id": "ctc_1", "type": "custom_tool_call"},
        "type": "custom",
    }


def test_the_text_of_a_message_is_all_its_parts() -> None:
    parts = [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}, None]
    assert message_text({"type": "message", "content": parts}) == "ab"
    assert message_text({"type": "message", "content": "plain"}) == "plain"
    assert message_text({"type": "web_search_call", "content": "x"}) == ""


def test_tokens_are_counted_and_nonsense_is_none() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    assert parse_usage(usage) == Usage(1, 10, 5, 4, 3)
    assert parse_usage({"input_tokens": None, "input_tokens_details": []}) == Usage(1)
