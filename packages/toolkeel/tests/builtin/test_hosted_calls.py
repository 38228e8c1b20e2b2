"""What hosted tools did is told in one form, whoever ran them."""

from __future__ import annotations

from typing import Any

from toolkeel.builtin.hosted_calls import collect_hosted_items
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.providers import anthropic, gemini, openai_responses

Json = dict[str, Any]


def anthropic_reply(*blocks: Json) -> AssistantMessage:
    return anthropic.decode(
        {"type": "message", "model": "claude", "content": list(blocks), "stop_reason": "end_turn"}
    )


def gemini_reply(*parts: Json, **beside: Any) -> AssistantMessage:
    candidate = {"content": {"parts": list(parts)}, "finishReason": "STOP", **beside}
    return gemini.decode({"candidates": [candidate]})


def test_openais_items_are_told_as_they_came() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": "x"}}
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "a"}],
    }
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    response = {"object": "response", "status": "completed", "output": [search, said, call]}
    assert collect_hosted_items([UserMessage("q"), openai_responses.decode(response)]) == [search]


def test_anthropics_pairs_of_blocks_are_one_item() -> None:
    reply = anthropic_reply(
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "挪威"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "url": "https://yr.no", "title": "Yr"}],
        },
        {
            "type": "server_tool_use",
            "id": "s2",
            "name": "web_fetch",
            "input": {"url": "https://a.b"},
        },
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": "s2",
            "content": {"type": "web_fetch_tool_result_error", "error_code": "url_not_allowed"},
        },
        {
            "type": "server_tool_use",
            "id": "s3",
            "name": "bash_code_execution",
            "input": {"command": "ls"},
        },
        {
            "type": "bash_code_execution_tool_result",
            "tool_use_id": "s3",
            "content": {"type": "bash_code_execution_result", "stdout": "a.txt\n", "stderr": ""},
        },
        {"type": "text", "text": "done"},
    )
    assert collect_hosted_items([reply]) == [
        {
            "type": "web_search_call",
            "id": "s1",
            "status": "completed",
            "action": {
                "type": "search",
                "query": "挪威",
                "queries": ["挪威"],
                "sources": [{"type": "url", "url": "https://yr.no", "title": "Yr"}],
            },
        },
        {
            "type": "web_search_call",
            "id": "s2",
            "status": "failed",
            "action": {"type": "open_page", "url": "https://a.b"},
        },
        {
            "type": "code_interpreter_call",
            "id": "s3",
            "status": "completed",
            "code": "ls",
            "outputs": [{"type": "logs", "logs": "a.txt\n"}],
        },
    ]


def test_geminis_grounds_pages_and_code_are_items() -> None:
    reply = gemini_reply(
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
        {"text": "one"},
        groundingMetadata={
            "webSearchQueries": ["weather oslo"],
            "groundingChunks": [{"web": {"uri": "https://yr.no", "title": "Yr"}}],
        },
        urlContextMetadata={
            "urlMetadata": [
                {
                    "retrievedUrl": "https://a.b",
                    "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
                }
            ]
        },
    )
    search, page, code = collect_hosted_items([reply])
    assert search["action"]["query"] == "weather oslo"
    assert search["action"]["sources"][0]["url"] == "https://yr.no"
    assert (page["action"], page["status"]) == (
        {"type": "open_page", "url": "https://a.b"},
        "completed",
    )
    assert (code["code"], code["outputs"]) == ("print(1)", [{"type": "logs", "logs": "1\n"}])


def test_a_tool_that_ran_here_tells_of_itself_by_its_artifact() -> None:
    item = {"type": "file_search_call", "id": "c", "status": "completed", "queries": ["q"]}
    messages: list[Message] = [
        ToolMessage("found", "c", "file_search", artifact=item),
        ToolMessage("5", "d", "add", artifact={"type": "sum"}),
        ToolMessage("5", "e", "add"),
    ]
    assert collect_hosted_items(messages) == [item]
