"""What stands where in a request to Bedrock."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.tools import TOOLS
from tests.providers.transcripts import PDF, PNG
from tests.providers.vendors import check_bedrock
from toolkeel.content import Audio, Content, Data, File, Image, Text
from toolkeel.errors import SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import bedrock
from toolkeel.providers.bedrock.encode import MAX_IMAGE

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
NOVA = "us.amazon.nova-pro-v1:0"
CALL = ToolCall("t", "add", {"a": 1})


def encode(*messages: Message, model: str = CLAUDE) -> list[Any]:
    return bedrock.encode_messages([UserMessage("go"), *messages], model=model)


def blocks_of(content: Content, model: str = CLAUDE) -> Any:
    return bedrock.encode_messages([UserMessage(content)], model=model)[0]["content"]


def result_of(content: Content, status: Any = "success") -> Any:
    calls = AssistantMessage(tool_calls=(CALL,))
    return encode(calls, ToolMessage(content, "t", status=status))[2]["content"]


def request(model: str = CLAUDE, *messages: Message, cache: bool = False, **settings: Any) -> Any:
    given = ModelRequest([UserMessage("go"), *messages], tuple(TOOLS), Settings(**settings))
    body = bedrock.encode(given, model, prompt_cache=cache)
    check_bedrock(body)
    return body


# — content —


def test_pictures_are_shown_as_bytes_in_the_format_that_they_have() -> None:
    png = {"image": {"format": "png", "source": {"bytes": PNG}}}
    assert blocks_of((Text("see"), Image(PNG, "image/jpeg"))) == [{"text": "see"}, png]
    [s3] = blocks_of((Image(url="s3://bucket/a.png"),))
    assert s3["image"]["source"] == {"s3Location": {"uri": "s3://bucket/a.png"}}


def test_documents_get_names_that_the_service_takes_each_once() -> None:
    papers = (
        File(PDF, "Q1_report (final).pdf", "application/pdf"),
        File(PDF, "Q1 REPORT (final).pdf", "application/pdf"),
        File(PDF, "报告.pdf", "application/pdf"),
    )
    made = blocks_of(papers)
    names = [block["document"]["name"] for block in made if "document" in block]
    assert names == ["Q1 report (final)", "Q1 REPORT (final) 2", "document"]
    assert made[4] == {"text": "Document 'document' is the file '报告.pdf':"}
    again = encode(UserMessage(papers), UserMessage(papers))
    check_bedrock({"modelId": CLAUDE, "messages": again})


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (File(b"a,b", "t.csv", "text/csv"), "t.csv:\na,b"),
        (Data({"a": 1}, '{"a":1}'), '{"a":1}'),
        (Image(b"1234", "image/tiff"), "[image/tiff, 4 bytes, cannot be shown]"),
        (Image(b""), "[image/png, 0 bytes, cannot be shown]"),
        (File(b"\xff", "x.bin"), "[application/octet-stream, 1 bytes, cannot be shown]"),
        (
            Image(url="https://e.org/a.png"),
            "[image/png, https://e.org/a.png, cannot be shown]",
        ),
        (Audio(b"1234"), "[audio/wav, 4 bytes, cannot be shown]"),
    ],
)
def test_what_cannot_be_shown_is_told(block: Any, said: str) -> None:
    assert blocks_of((block,)) == [{"text": said}]


def test_sounds_and_films_go_to_models_that_take_them() -> None:
    film, sound = blocks_of((File(b"v", "v.mp4", "video/mp4"), Audio(b"1234")), NOVA)
    assert film == {"video": {"format": "mp4", "source": {"bytes": b"v"}}}
    assert sound == {"audio": {"format": "wav", "source": {"bytes": b"1234"}}}


def test_a_picture_that_is_too_large_is_told() -> None:
    assert "image" in blocks_of((Image(PNG.ljust(MAX_IMAGE, b"0")),))[0]
    [told] = blocks_of((Image(PNG.ljust(MAX_IMAGE + 1, b"0")),))
    assert "too large to be shown" in told["text"]


def test_blank_text_is_left_out_and_an_empty_prompt_is_not() -> None:
    assert blocks_of((Text(" "), Text("a"))) == [{"text": "a"}]
    assert blocks_of(" ") == [{"text": "(no text)"}]


# — results —


def test_pictures_in_results_are_shown_there() -> None:
    [result] = result_of((Text("see"), Image(PNG)))
    assert [[*block] for block in result["toolResult"]["content"]] == [["text"], ["image"]]
    [alone] = result_of((Image(PNG),))
    assert alone["toolResult"]["content"][0] == {"text": "(the result follows)"}


def test_what_a_result_cannot_hold_stands_behind_it() -> None:
    result, picture = result_of((Text("no"), Image(PNG)), "error")
    assert result["toolResult"]["content"] == [{"text": "no"}]
    assert (result["toolResult"]["status"], [*picture]) == ("error", ["image"])
    messages = [
        UserMessage("go"),
        AssistantMessage(tool_calls=(CALL,)),
        ToolMessage((Audio(b"x"),)),
    ]
    last = bedrock.encode_messages(messages, model=NOVA)[-1]["content"]
    assert [[*block] for block in last] == [["toolResult"], ["audio"]]  # type: ignore[union-attr]


def test_an_empty_result_says_so() -> None:
    for nothing in ("", " ", (Text(""),)):
        [result] = result_of(nothing)
        assert result["toolResult"]["content"] == [{"text": "(no tool output)"}]


# — reasoning —


def thinking(model: str, signature: str = "c2ln") -> AssistantMessage:
    return AssistantMessage("42", reasoning=(Reasoning("hm", signature, model),), model=model)


def test_signed_reasoning_goes_back_to_its_own_claude() -> None:
    for model in (CLAUDE, "claude-sonnet-4-5", ""):
        [_, reply] = encode(thinking(model))
        told = {"text": "hm", "signature": "c2ln"}
        assert reply["content"][0] == {"reasoningContent": {"reasoningText": told}}


def test_other_reasoning_is_plain_text_for_claude_and_nothing_for_others() -> None:
    for message in (thinking("gpt-5"), thinking(CLAUDE, "")):
        assert encode(message)[1]["content"] == [{"text": "hm"}, {"text": "42"}]
    for message in (thinking("gpt-5"), thinking(NOVA), thinking("")):
        assert encode(message, model=NOVA)[1]["content"] == [{"text": "42"}]


def test_redacted_reasoning_goes_back_to_its_own_model_only() -> None:
    redacted = {"reasoningContent": {"redactedContent": {"$bytes": "b3BhcXVl"}}}
    extra = {"bedrock": {"content": [redacted, {"text": "42"}]}}
    for model, kept in ((CLAUDE, True), ("anthropic.claude-opus-4-5", False)):
        [_, reply] = encode(AssistantMessage("42", model=model, provider_options=extra))
        hidden = [{"reasoningContent": {"redactedContent": b"opaque"}}] * kept
        assert reply["content"] == [*hidden, {"text": "42"}]


def test_a_prefill_does_not_end_in_white_space() -> None:
    assert encode(AssistantMessage("So: \n"))[1]["content"] == [{"text": "So:"}]


# — settings —


def test_claude_may_write_as_much_as_it_can() -> None:
    assert request()["inferenceConfig"] == {"maxTokens": 64_000}
    assert request(max_tokens=5, temperature=0.5)["inferenceConfig"] == {
        "maxTokens": 5,
        "temperature": 0.5,
    }
    assert "inferenceConfig" not in request(NOVA)
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 63_000}}
    body = request(temperature=0.5, extra_body={"additionalModelRequestFields": thinking})
    assert body["inferenceConfig"] == {"maxTokens": 67_096}
    assert (
        "temperature" not in request("anthropic.claude-opus-5", temperature=0.5)["inferenceConfig"]
    )


def test_the_choice_of_tools_is_said_in_the_wires_words() -> None:
    def choice(**settings: Any) -> object:
        return request(**settings)["toolConfig"].get("toolChoice")

    assert choice() is choice(tool_choice="auto") is None
    assert choice(tool_choice="required") == {"any": {}}
    assert choice(tool_choice="clock.now") == {"tool": {"name": "clock_now"}}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    extra = {"additionalModelRequestFields": thinking}
    assert choice(tool_choice="required", extra_body=extra) is None
    with pytest.raises(SetupError, match="no such tool"):
        choice(tool_choice="nothing")


def test_no_tools_can_be_called_only_before_the_first_call() -> None:
    assert "toolConfig" not in request(tool_choice="none")
    turn = [AssistantMessage(tool_calls=(CALL,)), ToolMessage("1", "t")]
    assert len(request(CLAUDE, *turn, tool_choice="none")["toolConfig"]["tools"]) == 3
    gone: Any = bedrock.encode(ModelRequest([UserMessage("go"), *turn]), CLAUDE)
    check_bedrock(gone)
    assert [one["toolSpec"]["name"] for one in gone["toolConfig"]["tools"]] == ["add"]


def test_claude_can_be_told_to_call_one_at_a_time() -> None:
    body = request(parallel_tool_calls=False)
    serial = {"type": "auto", "disable_parallel_tool_use": True}
    assert body["additionalModelRequestFields"] == {"tool_choice": serial}
    for others in (
        request(NOVA, parallel_tool_calls=False),
        request(parallel_tool_calls=False, tool_choice="required"),
        request(parallel_tool_calls=True),
    ):
        assert "additionalModelRequestFields" not in others


def test_further_keys_stand_beside_ours() -> None:
    guard = {"guardrailIdentifier": "abc", "guardrailVersion": "1"}
    extra = {
        "guardrailConfig": guard,
        "inferenceConfig": {"topP": 0.5},
        "toolConfig": {"tools": [{"systemTool": {"name": "nova_code_interpreter"}}]},
        "additionalModelRequestFields": {"top_k": 5},
    }
    body = request(extra_body=extra, parallel_tool_calls=False)
    assert body["guardrailConfig"] == guard
    assert body["inferenceConfig"] == {"maxTokens": 64_000, "topP": 0.5}
    assert [*body["toolConfig"]["tools"][-1]] == ["systemTool"]
    assert len(body["toolConfig"]["tools"]) == 4
    assert body["additionalModelRequestFields"].keys() == {"top_k", "tool_choice"}


# — cache —

POINT = {"cachePoint": {"type": "default"}}


def test_cache_points_stand_behind_system_tools_and_last_words() -> None:
    body = request(CLAUDE, SystemMessage("s"), cache=True)
    for blocks in (
        body["system"],
        body["toolConfig"]["tools"],
        body["messages"][-1]["content"],
    ):
        assert blocks[-1] == POINT
    nova = request(NOVA, SystemMessage("s"), cache=True)
    assert nova["system"][-1] == POINT
    assert POINT not in nova["toolConfig"]["tools"]
    assert "cachePoint" not in str(request("mistral.mistral-large-2402-v1:0", cache=True))
    assert "cachePoint" not in str(request())


def test_no_cache_point_stands_behind_a_document() -> None:
    paper = UserMessage((File(PDF, "a.pdf", "application/pdf"),))
    last = request(CLAUDE, paper, cache=True)["messages"][-1]["content"]
    assert [[*block] for block in last] == [["text"], ["text"], ["cachePoint"], ["document"]]
