"""A document whose bytes are at hand reaches the model over any wire, from any stored conversation."""

from __future__ import annotations

import base64
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel.content import File, Text
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.chat_servers import PRESETS


class Wire(NamedTuple):
    module: Any
    model: str
    options: dict[str, Any] = {}

    def encode(self, messages: list[Message]) -> Any:
        return self.module.encode_messages(messages, model=self.model, **self.options)

    def decode(self, sent: Any) -> list[Message]:
        return list(self.module.decode_messages(sent))


WIRES = {
    "anthropic": Wire(anthropic, "claude-sonnet-4-5"),
    "claude on bedrock": Wire(bedrock, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "nova": Wire(bedrock, "us.amazon.nova-pro-v1:0"),
    "gemini": Wire(gemini, "gemini-3-pro"),
    "chat": Wire(openai_chat, "gpt-5"),
    "mistral": Wire(openai_chat, "mistral-large", {"profile": PRESETS["mistral"].profile}),
    "responses": Wire(openai_responses, "gpt-5"),
}
NAMELESS = {"gemini"}
"""Wires whose parts have no place for the name of a file."""
papers = st.binary(min_size=1, max_size=20).map(lambda rest: b"%PDF-1.7\n" + rest)
titles = st.text("ab 报告-1", min_size=1, max_size=9).map(lambda name: f"a{name.strip()}.pdf")


def holds(value: Any, paper: bytes) -> bool:
    """Return True if a request has the bytes of a document."""
    if isinstance(value, dict):
        return any(holds(one, paper) for one in value.values())
    if isinstance(value, list):
        return any(holds(one, paper) for one in value)
    if isinstance(value, bytes):
        return value == paper
    return isinstance(value, str) and value.endswith(base64.b64encode(paper).decode())


def conversation(file: File, in_result: bool) -> list[Message]:
    if not in_result:
        return [UserMessage((Text("Read."), file))]
    call = ToolCall("toolu_1", "read", {})
    result = ToolMessage((Text("Here."), file), "toolu_1", "read")
    return [UserMessage("Go."), AssistantMessage(tool_calls=(call,)), result]


@pytest.mark.parametrize(("source", "target"), list(product(WIRES, WIRES)))
@settings(max_examples=5)
@given(paper=papers, title=titles, in_result=st.booleans())
def test_a_document_crosses_every_pair_of_wires_with_its_bytes_and_its_name(
    source: str, target: str, paper: bytes, title: str, in_result: bool
) -> None:
    messages = conversation(File(paper, title, "application/pdf"), in_result)
    sent = WIRES[source].encode(messages)
    read = WIRES[source].decode(sent)
    blocks = [block for one in read if not isinstance(one.content, str) for block in one.content]
    [file] = [block for block in blocks if isinstance(block, File)]
    assert (file.data, file.media_type) == (paper, "application/pdf")
    assert file.name == ("file" if source in NAMELESS else title)
    again = WIRES[target].encode(read)
    assert holds(again, paper)
    if source == target:
        assert again == sent


def base64_of(paper: bytes) -> str:
    return base64.b64encode(paper).decode()


def data_url(paper: bytes) -> str:
    return f"data:application/pdf;base64,{base64_of(paper)}"


STORED: dict[str, Any] = {
    "file_data without a prefix": lambda p: {
        "type": "input_file", "filename": "a.pdf", "file_data": base64_of(p),
    },
    "the same of Chat Completions": lambda p: {
        "type": "file", "file": {"filename": "a.pdf", "file_data": base64_of(p)},
    },
    "document_url as an object": lambda p: {
        "type": "document_url", "document_url": {"url": data_url(p)},
    },
    "document_url of text": lambda p: {"type": "document_url", "document_url": data_url(p)},
    "names of Python": lambda p: {
        "inline_data": {"mime_type": "application/pdf", "data": base64_of(p)},
    },
    "bytes": lambda p: {"inlineData": {"mimeType": "application/pdf", "data": p}},
    "bytes as JSON": lambda p: {
        "document": {"format": "pdf", "name": "a", "source": {"bytes": base64_of(p)}},
    },
    "an address with the bytes": lambda p: {
        "type": "document", "source": {"type": "url", "url": data_url(p)},
    },
}  # fmt: skip
MODULES = [
    openai_responses,
    openai_chat,
    openai_chat,
    openai_chat,
    gemini,
    gemini,
    bedrock,
    anthropic,
]


@pytest.mark.parametrize(("form", "module"), list(zip(STORED, MODULES, strict=True)))
@settings(max_examples=10)
@given(paper=papers, target=st.sampled_from(sorted(WIRES)))
def test_a_document_in_any_form_that_people_store_reaches_any_wire(
    form: str, module: Any, paper: bytes, target: str
) -> None:
    key = "parts" if module is gemini else "content"
    read = module.decode_messages([{"role": "user", key: [STORED[form](paper)]}])
    assert holds(WIRES[target].encode(read), paper)


def test_a_document_of_parts_is_text_on_other_wires_and_its_parts_on_its_own() -> None:
    parts = [{"type": "text", "text": "第一"}, {"type": "text", "text": "second"}]
    more = {"title": "a", "citations": {"enabled": True}}
    block = {"type": "document", "source": {"type": "content", "content": parts}, **more}
    stored = [{"role": "user", "content": [block]}]
    read = WIRES["anthropic"].decode(stored)
    assert WIRES["anthropic"].encode(read) == stored
    for name in WIRES.keys() - {"anthropic"}:
        assert "第一" in str(WIRES[name].encode(read)), name


def test_a_document_of_mistrals_that_is_elsewhere_goes_back_and_is_not_sent_to_others_as_it_was() -> (
    None
):
    block = {
        "type": "document_url",
        "document_url": "https://a.example/b.pdf",
        "document_name": "b",
    }
    stored = [{"role": "user", "content": [block]}]
    read = WIRES["mistral"].decode(stored)
    assert WIRES["mistral"].encode(read) == stored
    assert "document_url" not in str(WIRES["chat"].encode(read))
    assert "https://a.example/b.pdf" in str(WIRES["responses"].encode(read))


WITH_TEXT: dict[str, tuple[str, Any]] = {
    "a search result": ("anthropic", lambda title, text: {
        "type": "search_result", "source": "https://kb.example/1", "title": title,
        "content": [{"type": "text", "text": text}], "citations": {"enabled": True},
    }),
    "a document with a picture": ("anthropic", lambda title, text: {
        "type": "document", "title": title,
        "source": {"type": "content", "content": [
            {"type": "text", "text": text},
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}]},
    }),
    "a document of text": ("nova", lambda title, text: {
        "document": {"format": "txt", "name": title, "source": {"text": text}},
    }),
    "a document of parts": ("nova", lambda title, text: {
        "document": {"format": "pdf", "name": title, "source": {"content": [{"text": text}, {"text": "b"}]},
                     "citations": {"enabled": True}},
    }),
    "Bedrock's search result": ("nova", lambda title, text: {
        "searchResult": {"source": "https://kb.example/1", "title": title, "content": [{"text": text}]},
    }),
    "guarded text": ("nova", lambda title, text: {
        "guardContent": {"text": {"text": f"{title} {text}", "qualifiers": ["query"]}},
    }),
}  # fmt: skip
words = st.text("ab 报告'\"", min_size=1, max_size=9).map(lambda text: f"x{text}x")


@pytest.mark.parametrize("form", WITH_TEXT)
@settings(max_examples=10)
@given(title=words, text=words, in_result=st.booleans())
def test_a_block_that_one_wire_knows_is_text_with_its_title_and_source_on_others(
    form: str, title: str, text: str, in_result: bool
) -> None:
    source, make = WITH_TEXT[form]
    block = make(title, text)
    content: list[Any] = [block]
    if in_result and source == "anthropic":
        content = [{"type": "tool_result", "tool_use_id": "c", "content": [block]}]
    elif in_result:
        content = [{"toolResult": {"toolUseId": "c", "content": [block]}}]
    call = {"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}
    if source == "anthropic":
        call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    start = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]
    stored = [*(start if in_result else ()), {"role": "user", "content": content}]
    read = WIRES[source].decode(stored)
    assert block in everything_in(WIRES[source].encode(read))
    for name, wire in WIRES.items():
        if wire.module is not WIRES[source].module:
            shown = [one for one in everything_in(wire.encode(read)) if isinstance(one, str)]
            [body] = [one for one in shown if text in one]
            assert title in body
            assert ("https://kb.example/1" in body) == ("https://kb.example/1" in str(block)), name


def everything_in(value: Any) -> list[Any]:
    """Return a value and all that is in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for one in inner for each in everything_in(one))]


def test_what_bedrock_is_to_do_with_a_document_goes_back() -> None:
    more = {"context": "a report", "citations": {"enabled": True}}
    document = {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF-1.7"}, **more}
    stored = [{"role": "user", "content": [{"document": document}, {"text": "Read."}]}]
    assert WIRES["nova"].encode(WIRES["nova"].decode(stored)) == stored
