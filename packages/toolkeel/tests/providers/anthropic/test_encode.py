"""What stands where in a request to Anthropic."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.tools import TOOLS
from tests.providers.transcripts import PDF, PNG
from tests.providers.vendors import check_anthropic
from toolkeel.content import Audio, Content, Data, File, Image, Text
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
from toolkeel.providers import anthropic
from toolkeel.providers.anthropic.encode import (
    MAX_IMAGE,
    AnthropicEncoder,
    encode_options,
)
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.wire.tools import WireTools

MODEL = "claude-sonnet-4-5"
CALL = ToolCall("t", "add", {"a": 1})


def encode(*messages: Message, **more: Any) -> list[Any]:
    return anthropic.encode_messages([UserMessage("go"), *messages], model=MODEL, **more)


def blocks_of(content: Content) -> Any:
    return anthropic.encode_messages([UserMessage(content)])[0]["content"]


def result_of(content: Content, status: Any = "success") -> Any:
    calls = AssistantMessage(tool_calls=(CALL,))
    return encode(calls, ToolMessage(content, "t", status=status))[2]["content"]


def options(model: str = MODEL, stream: bool = False, **settings: Any) -> Any:
    tools = WireTools(TOOLS, "anthropic")
    return encode_options(Settings(**settings), tools, AnthropicProfile(model, stream))


# — content —


def test_pictures_and_papers_are_shown() -> None:
    image = {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAA",
    }
    assert blocks_of((Text("see"), Image(PNG), Image(PNG, "image/jpeg"))) == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": image},
        {"type": "image", "source": image},
    ]
    [by_url] = blocks_of((Image(url="https://example.org/a.png"),))
    assert by_url == {
        "type": "image",
        "source": {"type": "url", "url": "https://example.org/a.png"},
    }
    [paper] = blocks_of((File(PDF, "报告.pdf", "application/pdf"),))
    assert (paper["type"], paper["title"]) == ("document", "报告.pdf")
    assert paper["source"]["media_type"] == "application/pdf"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (File(b"a,b", "t.csv", "text/csv"), "t.csv:\na,b"),
        (Data({"a": 1}, '{"a":1}'), '{"a":1}'),
        (Audio(b"1234"), "[audio/wav, 4 bytes, cannot be shown]"),
        (Image(b"1234", "image/tiff"), "[image/tiff, 4 bytes, cannot be shown]"),
        (Image(b""), "[image/png, 0 bytes, cannot be shown]"),
        (File(b"\xff", "x.bin"), "[application/octet-stream, 1 bytes, cannot be shown]"),
    ],
)
def test_what_cannot_be_shown_is_told(block: Any, said: str) -> None:
    assert blocks_of((block,)) == [{"type": "text", "text": said}]


def test_a_picture_that_is_too_large_is_told() -> None:
    most = MAX_IMAGE // 4 * 3
    [shown] = blocks_of((Image(PNG.ljust(most, b"0")),))
    assert shown["type"] == "image"
    assert len(shown["source"]["data"]) <= MAX_IMAGE
    [told] = blocks_of((Image(PNG.ljust(most + 1, b"0")),))
    assert told["text"] == f"[image/png, {most + 1} bytes, too large to be shown]"


def test_blank_text_is_left_out_and_an_empty_prompt_is_not() -> None:
    assert blocks_of((Text(" "), Text("a"), Text("\n"))) == [{"type": "text", "text": "a"}]
    for nothing in ("", " \n", (), (Text(""),)):
        assert blocks_of(nothing) == [{"type": "text", "text": "(no text)"}]


def test_surrogates_and_nul_do_not_come_through() -> None:
    call = ToolCall("t", "f", {"k\ud83d": "v\0"})
    wires = encode(AssistantMessage("a\ud83d", (call,)), ToolMessage("r\0\ud83d", "t"))
    assert wires[1]["content"][0]["text"] == "a"
    assert wires[1]["content"][1]["input"] == {"k": "v"}
    assert wires[2]["content"][0]["content"] == "r"


# — results —


def test_pictures_in_results_are_shown_there() -> None:
    [result] = result_of((Text("see"), Image(PNG)))
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    [alone] = result_of((Image(PNG),))
    assert [block["type"] for block in alone["content"]] == ["text", "image"]
    assert alone["content"][0]["text"] == "(the result follows)"


def test_a_failed_result_is_text_and_its_pictures_stand_behind() -> None:
    result, picture = result_of((Text("no"), Image(PNG)), "error")
    assert (result["content"], result["is_error"]) == ("no", True)
    assert picture["type"] == "image"
    result, picture = result_of((Image(PNG),), "error")
    assert (result["content"], picture["type"]) == ("(the result follows)", "image")


def test_an_empty_result_says_so() -> None:
    for nothing in ("", " ", (Text(""),)):
        assert result_of(nothing)[0]["content"] == "(no tool output)"


def test_what_the_person_says_next_stands_behind_the_results() -> None:
    reply = AssistantMessage(tool_calls=(CALL,))
    *_, last = encode(reply, ToolMessage("3", "t"), UserMessage("and?"))
    assert [block["type"] for block in last["content"]] == ["tool_result", "text"]


# — reasoning —


def thinking(model: str, signature: str = "c2ln", text: str = "hm") -> AssistantMessage:
    return AssistantMessage("42", reasoning=(Reasoning(text, signature, model),), model=model)


def test_signed_thinking_goes_back_to_its_own_model() -> None:
    for model in (MODEL, "claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-v1:0", ""):
        [_, reply] = encode(thinking(model))
        assert reply["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    [_, hidden] = encode(thinking(MODEL, text=""))
    assert hidden["content"][0] == {"type": "thinking", "thinking": "", "signature": "c2ln"}


def test_other_thinking_is_plain_text() -> None:
    for message in (thinking("gpt-5"), thinking("claude-opus-4-5"), thinking(MODEL, "")):
        [_, reply] = encode(message)
        texts = [block["text"] for block in reply["content"]]
        assert texts == ["hm", "42"]
    [_, silent] = encode(thinking("gpt-5", text=""))
    assert silent["content"] == [{"type": "text", "text": "42"}]


def test_a_server_that_never_signs_gets_its_thinking_back() -> None:
    blocks = AnthropicEncoder(WireTools(), AnthropicProfile("m", unsigned_thinking=True))
    [thought, _] = blocks.encode_reply(thinking("m", ""), [])
    assert thought == {"type": "thinking", "thinking": "hm", "signature": ""}


def unsigned_reply() -> AssistantMessage:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "tool_use", "id": "t", "name": "add", "input": {}},
    ]
    return anthropic.decode({"model": "m", "content": blocks, "stop_reason": "tool_use"})


def thought_sent_to(endpoint: str, reply: AssistantMessage) -> Any:
    encoder = AnthropicEncoder(WireTools(), AnthropicProfile("m", endpoint=endpoint))
    return encoder.encode_reply(reply, ["t"])[0]


def test_a_server_whose_reply_is_not_signed_gets_its_thinking_back() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert thought_sent_to("api.minimax.io", unsigned_reply()) == thought
    assert thought_sent_to("", unsigned_reply()) == thought


@pytest.mark.parametrize("host", ["api.anthropic.com", "bedrock-runtime.eu-west-1.amazonaws.com"])
def test_a_server_that_signs_gets_unsigned_thinking_as_text(host: str) -> None:
    assert thought_sent_to(host, unsigned_reply()) == {"type": "text", "text": "hm"}


REDACTED = {"type": "redacted_thinking", "data": "eA"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


def laid_out(model: str, text: str = "ab") -> AssistantMessage:
    layout = ["reasoning", {"type": "text", "text": "a"}, SEARCH, REDACTED]
    layout += ["call", {"type": "text", "text": "b"}]
    thought = Reasoning("hm", "c2ln", model)
    extra = {"anthropic": {"content": layout}}
    return AssistantMessage(
        text, (CALL,), reasoning=(thought,), model=model, provider_options=extra
    )


def test_redacted_thinking_goes_back_to_its_own_model_only() -> None:
    def kinds(message: AssistantMessage) -> list[str]:
        return [block["type"] for block in encode(message)[1]["content"]]

    own = ["thinking", "text", "server_tool_use", "redacted_thinking", "tool_use", "text"]
    assert kinds(laid_out(MODEL)) == own
    assert kinds(laid_out("claude-opus-4-5")) == [
        "text",
        "text",
        "server_tool_use",
        "tool_use",
        "text",
    ]


def test_a_reply_whose_text_was_changed_says_the_new_text() -> None:
    [_, reply, _] = encode(laid_out(MODEL, "[removed]"))
    assert [block["type"] for block in reply["content"]] == [
        "thinking",
        "server_tool_use",
        "redacted_thinking",
        "text",
        "tool_use",
    ]
    assert reply["content"][3]["text"] == "[removed]"


def test_a_reply_of_hidden_thoughts_alone_is_left_out() -> None:
    silent = AssistantMessage(
        reasoning=(Reasoning("hm", "c2ln", MODEL),), provider_options={"x": 1}
    )
    assert [wire["role"] for wire in encode(silent, UserMessage("?"))] == ["user"]


# — the end —


def test_a_prefill_does_not_end_in_white_space() -> None:
    assert encode(AssistantMessage("So: \n"))[1]["content"] == [{"type": "text", "text": "So:"}]
    middle = encode(AssistantMessage("So: \n"), UserMessage("?"))
    assert middle[1]["content"] == [{"type": "text", "text": "So: \n"}]


def in_container(id: str = "", **caller: Any) -> AssistantMessage:
    call = ToolCall(
        "t", "add", {}, provider_options={"anthropic": {"caller": caller}} if caller else {}
    )
    extra = {"content": [SEARCH, "call"], **({"container": id} if id else {})}
    return AssistantMessage(tool_calls=(call,), provider_options={"anthropic": extra})


@pytest.mark.parametrize("caller", [{}, {"type": "code_execution_20250825", "tool_id": "s_1"}])
def test_a_container_is_named_until_the_turn_ends(caller: dict[str, str]) -> None:
    messages: list[Message] = [UserMessage("go"), in_container("c_1", **caller)]
    messages.append(ToolMessage("1", "t"))
    assert anthropic.encode(ModelRequest(messages), MODEL)["container"] == "c_1"
    messages += [in_container(), ToolMessage("1", "t")]  # later replies need not repeat it
    assert anthropic.encode(ModelRequest(messages), MODEL)["container"] == "c_1"
    messages.append(UserMessage("next"))
    assert "container" not in anthropic.encode(ModelRequest(messages), MODEL)


def test_a_container_is_kept_for_the_next_question_if_that_is_wanted() -> None:
    messages = [UserMessage("go"), in_container("c_1"), ToolMessage("1", "t"), UserMessage("next")]
    profile = AnthropicProfile(MODEL, keep_container=True)
    assert AnthropicEncoder.encode(ModelRequest(messages), profile)["container"] == "c_1"


# — cache —


def test_breakpoints_stand_on_system_last_tool_and_last_words() -> None:
    messages = [SystemMessage("a"), SystemMessage("b"), UserMessage((Text("c"), Image(PNG)))]
    request = ModelRequest(messages, tuple(TOOLS))
    body: Any = anthropic.encode(request, MODEL, prompt_cache=True)
    check_anthropic(body)
    marked = {"type": "ephemeral"}
    assert [one.get("cache_control") for one in body["system"]] == [None, marked]
    assert [one.get("cache_control") for one in body["tools"]] == [None, None, marked]
    last = [one.get("cache_control") for one in body["messages"][-1]["content"]]
    assert last == [None, marked]
    assert "cache_control" not in str(anthropic.encode(request, MODEL))


def test_breakpoints_of_the_program_stay_and_deferred_tools_get_none() -> None:
    body = {"name": "f", "input_schema": {"type": "object"}}
    tools = WireTools(target="anthropic")
    cached = AnthropicProfile(MODEL, prompt_cache=True)

    def marks(*bodies: Any) -> list[bool]:
        tools.bodies = list(bodies)
        sent: Any = encode_options(Settings(), tools, cached)["tools"]
        return ["cache_control" in one for one in sent]

    assert marks({**body, "cache_control": {"type": "ephemeral", "ttl": "1h"}}, body) == [
        True,
        False,
    ]
    assert marks(body, {**body, "defer_loading": True}) == [True, False]
    assert marks({**body, "defer_loading": True}) == [False]


def test_the_results_at_the_end_are_marked_and_never_before() -> None:
    turn = [AssistantMessage(tool_calls=(CALL,)), ToolMessage("3", "t")]
    wires = encode(*turn, prompt_cache=True)
    assert "cache_control" in wires[-1]["content"][-1]
    again = encode(*turn, AssistantMessage("3."), UserMessage("?"), prompt_cache=True)
    assert str(again).count("cache_control") == 1


# — settings —


def test_a_reply_may_be_as_long_as_its_model_can_write() -> None:
    assert options()["max_tokens"] == 16_384
    assert options(stream=True)["max_tokens"] == 64_000
    assert options("claude-3-haiku-20240307", stream=True)["max_tokens"] == 4096
    assert options(max_tokens=5)["max_tokens"] == 5
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 60_000}}
    assert options(extra_body=thinking)["max_tokens"] > 60_000


def test_a_thinking_model_is_not_told_a_temperature_nor_made_to_call() -> None:
    enabled = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    body = options(temperature=0.5, tool_choice="required", extra_body=enabled)
    assert "temperature" not in body
    assert body["tool_choice"] == {"type": "auto"}
    assert options(tool_choice="add", extra_body=enabled)["tool_choice"] == {"type": "auto"}
    adaptive = {"thinking": {"type": "adaptive"}}
    body = options(temperature=0.5, tool_choice="required", extra_body=adaptive)
    assert "temperature" not in body
    assert body["tool_choice"] == {"type": "any"}
    assert options(temperature=0.5)["temperature"] == 0.5
    assert "temperature" not in options("claude-opus-5", temperature=0.5)
    assert options("MiniMax-M2", temperature=0.5)["temperature"] == 0.5


def test_further_keys_are_sent_and_the_servers_tools_stand_behind_ours() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    body = options(extra_body={"tools": [search], "metadata": {"user_id": "u"}}, tool_choice="auto")
    assert [one["name"] for one in body["tools"]] == [
        "get_weather",
        "add",
        "clock_now",
        "web_search",
    ]
    assert body["metadata"] == {"user_id": "u"}
    alone: Any = encode_options(
        Settings(extra_body={"tools": [search]}), WireTools(), AnthropicProfile()
    )
    assert alone["tools"] == [search]
