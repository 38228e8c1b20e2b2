"""Results of servers as the model may see them."""

from __future__ import annotations

from toolkeel import Text, ToolMessage
from toolkeel.mcp.client.results import split_audience, translate_error
from toolkeel.mcp.transforms import transform_tool

RAW = {
    "name": "find",
    "inputSchema": {"properties": {"q": {"type": "string"}, "repo": {"type": "string"}}},
}


def test_an_error_names_renamed_and_fixed_arguments_as_callers_know_them() -> None:
    tool = transform_tool(RAW, {"arguments": {"q": {"name": "query"}, "repo": {"value": "a"}}})
    failed = ToolMessage("q is too long for repo a", status="error", kind="tool_error")
    note = Text("(In these words of the server, 'q' is 'query', 'repo' is set for you.)")
    assert translate_error(failed, tool).content == (Text(str(failed.content)), note)
    for same in (ToolMessage("q"), ToolMessage("quick", status="error", kind="tool_error")):
        assert translate_error(same, tool) is same


def test_what_is_for_the_person_alone_is_not_for_the_model() -> None:
    person = {"annotations": {"audience": ["user"]}}
    both = {"annotations": {"audience": ["user", "assistant"]}}
    content = (Text("a"), Text("b", person), Text("c", both))
    block = {"type": "text", "text": "b", **person}
    assert split_audience(content) == ((content[0], content[2]), (block,))
    told, apart = split_audience((Text("b", person),))
    assert "not for you" in str(told) and apart == (block,)
    assert split_audience("plain") == ("plain", ())
