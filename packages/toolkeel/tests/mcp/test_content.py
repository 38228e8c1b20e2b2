"""Content, results and definitions cross the protocol whole, in both directions."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from toolkeel import Effects, Tool, ToolMessage, tool
from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.errors import InvalidOutput
from toolkeel.mcp.content import (
    from_annotations,
    from_block,
    from_blocks,
    from_definition,
    from_result,
    link_text,
    output_from_schema,
    to_annotations,
    to_block,
    to_blocks,
    to_definition,
    to_result,
)

WIRE: TypeAdapter[Any] = TypeAdapter(types.ContentBlock)

texts = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
annotations = st.builds(
    types.Annotations,
    audience=st.none() | st.lists(st.sampled_from(["user", "assistant"]), max_size=2),
    priority=st.none() | st.floats(0, 1),
    last_modified=st.none() | st.just("2026-07-28T00:00:00Z"),
)
sides = {
    "annotations": st.none() | annotations.filter(lambda a: a.model_dump(exclude_none=True)),
    "meta": st.none() | st.dictionaries(names, texts, min_size=1, max_size=2),
}
uris = names.map(lambda name: f"app://files/{name}")
base64s = st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode())
media = st.sampled_from(["image/png", "audio/wav", "application/pdf"])
resources = st.builds(
    types.TextResourceContents,
    uri=uris,
    mime_type=st.sampled_from(["text/plain", "application/json"]),
    text=texts,
    meta=sides["meta"],
) | st.builds(types.BlobResourceContents, uri=uris, mime_type=media, blob=base64s)
blocks = st.one_of(
    st.builds(types.TextContent, text=texts, **sides),
    st.builds(types.ImageContent, data=base64s, mime_type=media, **sides),
    st.builds(types.AudioContent, data=base64s, mime_type=media, **sides),
    st.builds(
        types.ResourceLink,
        name=names,
        uri=uris,
        title=st.none() | names,
        description=st.none() | texts,
        mime_type=st.none() | media,
        size=st.none() | st.integers(0, 9),
        **sides,
    ),
    st.builds(types.EmbeddedResource, resource=resources, **sides),
)


def wire(block: types.ContentBlock) -> Any:
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


@given(blocks)
def test_a_block_of_a_peer_can_be_sent_on_as_it_came(block: types.ContentBlock) -> None:
    assert wire(to_block(from_block(block))) == wire(block)


@given(
    st.lists(
        st.one_of(
            st.builds(Text, texts),
            st.builds(Audio, st.binary(max_size=4)),
            st.builds(Image, st.binary(max_size=4), st.just("image/webp")),
        ),
        min_size=2,
    )
)
def test_our_own_blocks_come_back_from_the_wire_as_they_were(content: list[Any]) -> None:
    sent = [WIRE.validate_python(wire(block)) for block in to_blocks(tuple(content))]
    assert from_blocks(sent) == tuple(content)


def test_a_file_of_text_goes_as_text_and_any_other_as_bytes() -> None:
    said = to_block(File("甲".encode(), "表.csv", "text/csv"))
    assert isinstance(said, types.EmbeddedResource)
    assert isinstance(said.resource, types.TextResourceContents)
    assert said.resource.text == "甲" and said.resource.uri == "file:///%E8%A1%A8.csv"
    blob = to_block(File(b"\xff\xfe", "a.txt", "text/plain"))
    assert isinstance(blob, types.EmbeddedResource)
    assert isinstance(blob.resource, types.BlobResourceContents)
    back = from_block(said)
    assert isinstance(back, File) and (back.name, back.data) == ("表.csv", "甲".encode())


def test_an_address_goes_as_a_link_and_a_data_url_as_the_bytes_it_holds() -> None:
    link = to_block(File(url="https://example.org/a.pdf", name="a.pdf", extra={"size": 7}))
    assert isinstance(link, types.ResourceLink)
    assert (link.name, link.uri, link.size) == ("a.pdf", "https://example.org/a.pdf", 7)
    picture = to_block(Image(url="data:image/gif;base64,R0lGODlh"))
    assert isinstance(picture, types.ImageContent)
    assert (picture.mime_type, picture.data) == ("image/gif", "R0lGODlh")


def test_a_link_whose_text_was_changed_is_that_text_and_no_link_any_more() -> None:
    link = types.ResourceLink(name="log", uri="app://secret")
    known = from_block(link)
    assert isinstance(known, Text) and known.text == link_text(link)
    changed = to_block(Text("[withheld]", known.extra))
    assert wire(changed) == {"type": "text", "text": "[withheld]"}


@pytest.mark.parametrize(
    "block",
    [
        types.ImageContent(data="***", mime_type="image/png"),
        types.AudioContent(data="a", mime_type="audio/wav"),
        types.EmbeddedResource(resource=types.BlobResourceContents(uri="a:b", blob="é")),
    ],
)
def test_bytes_that_are_no_base64_are_the_fault_of_the_server(block: types.ContentBlock) -> None:
    with pytest.raises(InvalidOutput, match="fault of the server"):
        from_block(block)


@pytest.mark.parametrize("text", ["+/8=", "-_8", "+/8", "+/\r\n8=", "data:image/png;base64,+/8="])
def test_bytes_are_read_in_each_form_of_base64(text: str) -> None:
    block = from_block(types.ImageContent(data=text, mime_type="image/png"))
    assert isinstance(block, Image) and block.data == b"\xfb\xff"


def test_a_result_keeps_its_error_its_structure_and_its_meta() -> None:
    sent = types.CallToolResult(
        content=[types.TextContent(text="no")],
        structured_content={"a": [1]},
        is_error=True,
        _meta={"org.example/cost": 3},
    )
    message = from_result(sent)
    assert (message.content, message.status, message.kind) == ("no", "error", "tool_error")
    assert message.artifact == {"a": [1]} and message.details["_meta"] == {"org.example/cost": 3}
    assert wire(to_result(message, message.artifact)) == wire(sent)  # type: ignore[arg-type]


def test_a_result_without_content_is_told_by_its_structure() -> None:
    message = from_result(types.CallToolResult(content=[], structured_content={"名": "猫"}))
    assert message.content == (Data({"名": "猫"}, '{"名":"猫"}'),)
    assert from_result(types.CallToolResult(content=[])).content == ""


def test_an_empty_result_has_no_blocks_and_no_structure_unless_it_was_given() -> None:
    assert to_result(ToolMessage("")).content == []
    assert "structured_content" not in to_result(ToolMessage("")).model_fields_set
    assert "structured_content" in to_result(ToolMessage("null"), None).model_fields_set


def test_a_definition_says_all_we_know_of_a_tool() -> None:
    @tool(
        effects=Effects(read_only=True, open_world=False),
        provider_options={"title": "Adder", "x": 1},
    )
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    sent = wire(to_definition(add, "add"))  # type: ignore[arg-type]
    assert sent == {
        "name": "add",
        "title": "Adder",
        "description": "Add.",
        "inputSchema": dict(add.parameters),
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def test_a_definition_of_a_peer_becomes_ours_and_goes_on_as_it_came() -> None:
    theirs = types.Tool(
        name="find",
        title="Find",
        description="Finds.",
        input_schema={
            "type": "object",
            "properties": {"q": {"$ref": "#/$defs/q"}},
            "$defs": {"q": {}},
        },
        output_schema={"type": "object", "required": ["hits"]},
        annotations=types.ToolAnnotations(title="Finder", read_only_hint=True),
        icons=[types.Icon(src="data:,")],
        _meta={"org.example/rank": 1},
    )
    ours = Tool.from_schema(
        theirs.name,
        theirs.description or "",
        theirs.input_schema,
        lambda _, arguments: None,
        **from_definition(theirs.model_dump(mode="json", by_alias=True, exclude_none=True)),
    )
    assert ours.effects.read_only and ours.unknown_keys == "allow"
    again = wire(to_definition(ours, ours.name))  # type: ignore[arg-type]
    before = wire(theirs)  # type: ignore[arg-type]
    assert again["annotations"].items() >= before.pop("annotations").items()
    before.pop("outputSchema")
    assert again.items() >= before.items()


def test_a_promised_result_is_checked() -> None:
    promise = output_from_schema({"type": "object", "required": ["a"]})
    assert promise.check({"a": 1}) == {"a": 1}
    with pytest.raises(ValueError, match="a"):
        promise.check({})


@given(st.builds(Effects, st.booleans(), st.booleans(), st.booleans(), st.booleans()))
def test_effects_survive_as_far_as_they_mean_something(effects: Effects) -> None:
    back = from_annotations(to_annotations(effects))
    assert (back.writes, back.repeatable, back.open_world) == (
        effects.writes,
        effects.repeatable,
        effects.open_world,
    )
    assert not back.writes or back.destructive == effects.destructive


def test_a_peer_that_says_nothing_gets_the_cautious_defaults() -> None:
    assert from_annotations(None) == from_annotations({}) == Effects(stranger=True)
