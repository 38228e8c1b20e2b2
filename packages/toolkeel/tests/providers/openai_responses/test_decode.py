"""Stored conversations of this wire as messages; what holds for all wires stands in
`packages/toolkeel/tests/providers/wire/test_stored_conversations.py`."""

from __future__ import annotations

from toolkeel import Toolset, tool
from toolkeel.content import Data, File, Image
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.openai_responses import decode_messages, encode

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "1"}


def test_a_prompt_may_be_a_text_alone() -> None:
    read = decode_messages({"instructions": "Be brief.", "input": "几点?"})
    assert read == [SystemMessage("Be brief."), UserMessage("几点?")]


def test_items_of_one_reply_are_one_message_and_go_back_as_they_were() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    items = [{"role": "user", "content": "go"}, thought, search, CALL, OUTPUT]
    read = decode_messages({"model": "gpt-5", "input": items})
    assert [type(one) for one in read] == [UserMessage, AssistantMessage, ToolMessage]
    assert encode(ModelRequest(read), "gpt-5")["input"] == items


def test_pictures_and_files_are_blocks_of_ours() -> None:
    parts = [
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,JVBERi0=",
        },
        {"type": "input_file", "file_id": "file_1"},
    ]
    [message] = decode_messages([{"role": "user", "content": parts}])
    picture, file, _ = message.content
    assert picture == Image(url="https://example.org/a.png")
    assert file == File(b"%PDF-", "a.pdf", "application/pdf")
    sent = encode(ModelRequest([message]), "gpt-5")["input"]
    assert sent[0]["content"][2] == parts[2]  # type: ignore[index]


def test_a_native_call_is_a_call_if_its_tool_is_given_and_stays_an_item_if_not() -> None:
    shell = {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "c2",
        "status": "completed",
        "action": {"commands": ["ls"]},
    }
    output = {"type": "shell_call_output", "call_id": "c2", "output": [{"stdout": "a"}]}
    items = [shell, output]
    assert encode(ModelRequest(decode_messages(items)), "gpt-5")["input"] == items

    @tool(hosted=Hosted({"openai-responses": Native({"type": "shell"})}))
    def run(commands: list[str]) -> str:
        """Run commands."""
        return ""

    reply, result = decode_messages(items, tools=Toolset([run]))
    assert reply.tool_calls[0].name == "run"  # type: ignore[union-attr]
    assert result.content == (Data([{"stdout": "a"}], '[{"stdout":"a"}]'),)


def test_what_follows_an_answer_to_no_call_is_read() -> None:
    said = {"type": "message", "role": "assistant", "content": "one"}
    [answer, reply, asked] = decode_messages([OUTPUT, said, {"role": "user", "content": "two"}])
    assert isinstance(answer, ToolMessage) and isinstance(reply, AssistantMessage)
    assert (reply.text, asked) == ("one", UserMessage("two"))
