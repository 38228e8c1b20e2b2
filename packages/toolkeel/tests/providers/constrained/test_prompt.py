"""A model without a place for tools reads them, its calls and their results in the text."""

from __future__ import annotations

import json

import pytest

from toolkeel import tool
from toolkeel.content import Image, Text
from toolkeel.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.constrained.prompt import describe_tools, write_tools_as_text


@tool(name="clock.now")
def now(zone: str | None = None) -> str:
    """Tell the time.

    Args:
        zone: Time zone,
            such as Asia/Shanghai.
    """
    return "noon"


CALL = ToolCall("c1", "clock.now", '{"zone": "北京"}')


def test_a_freeform_call_is_an_example_of_a_function() -> None:
    call = ToolCall("c1", "clock.now", "北京", provider_options={"type": "custom"})
    request = ModelRequest([UserMessage("?"), AssistantMessage(tool_calls=(call,))], [now])
    *_, called = write_tools_as_text(request, "m")
    assert json.loads(called.text)["arguments"] == {"input": "北京"}


def test_a_transcript_becomes_an_example_of_the_form() -> None:
    messages = [
        SystemMessage("Be brief."),
        UserMessage("几点了?"),
        AssistantMessage(tool_calls=(CALL,)),
        ToolMessage("noon", "c1", "clock.now"),
        AssistantMessage('It is "noon".'),
        UserMessage("thanks"),
    ]
    sent = write_tools_as_text(ModelRequest(messages, [now]), "m")
    assert [type(one) for one in sent] == [
        SystemMessage, UserMessage, AssistantMessage, UserMessage, AssistantMessage, UserMessage,
    ]  # fmt: skip
    assert sent[0].text.startswith("Be brief.\n\nYou can call these functions:\n")
    called = json.loads(sent[2].text)
    assert called["arguments"] == {"zone": "北京"}
    assert called["name"].startswith("clock_now")
    assert sent[3].text == f"Result of {called['name']}:\nnoon"
    said = {"name": "answer", "arguments": {"text": 'It is "noon".'}}
    assert json.loads(sent[4].text) == said
    assert "\\u" not in "".join(one.text for one in sent)


def test_a_failed_result_and_a_picture_stay_what_they_are() -> None:
    picture = Image(b"1", "image/png")
    messages = [
        ToolMessage("no such zone", "c1", "clock.now", "error", "tool_error"),
        ToolMessage((Text("seen"), picture), "c2", "clock.now"),
    ]
    _system, failed, shown = write_tools_as_text(ModelRequest(messages, [now]), "m")
    assert "(it failed)" in failed.text
    assert isinstance(shown.content, tuple)
    assert picture in shown.content


def test_families_read_schemas_or_signatures() -> None:
    signature = describe_tools([now], "gemma-3").splitlines()[1]
    assert signature.startswith("- clock_now")
    assert "zone?: string | null (Time zone, such as Asia/Shanghai.)" in signature
    described = json.loads(describe_tools([now], "Qwen2.5-Coder-0.5B").splitlines()[1])
    assert described["parameters"]["properties"]["zone"]


@pytest.mark.parametrize("choice", ["required", "clock.now"])
def test_a_forced_call_leaves_no_room_for_an_answer(choice: str) -> None:
    request = ModelRequest([], [now], Settings(tool_choice=choice))
    [system] = write_tools_as_text(request, "m")
    assert "Reply with one call" in system.text
    assert "answer" not in system.text


def test_after_a_result_the_model_reads_what_to_do_next() -> None:
    picture = Image(b"1", "image/png")
    for content in ("noon", (Text("noon"), picture)):
        asked = [UserMessage("几点了?"), AssistantMessage(tool_calls=(CALL,))]
        request = ModelRequest([*asked, ToolMessage(content, "c1", "clock.now")], [now])
        text = write_tools_as_text(request, "m")[-1].text
        assert text.endswith(
            "\nCall answer with that now, unless another function is needed first."
        )


def test_the_form_of_an_answer_is_described() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    output = OutputFormat("count", schema)
    line = describe_tools([now], "qwen", output=output).splitlines()[2]
    assert json.loads(line)["parameters"]["properties"] == {"value": schema}
