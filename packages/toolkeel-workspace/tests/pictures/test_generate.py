"""Pictures from a server that speaks the images API."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import ToolParam
from pydantic import TypeAdapter

from tests.builtin.webserver import Answer, Asked, WebServer, Write, always, response, serving
from tests.pictures.test_too_large import png
from toolkeel import SetupError, ToolCall, Toolset
from toolkeel.agent.run_state import RunState
from toolkeel.builtin.hosted_calls import collect_hosted_items
from toolkeel.content import Image
from toolkeel.messages import ToolMessage
from toolkeel.providers import gemini, openai_responses
from toolkeel_workspace.pictures.generate import ImageGenerationTool

PICTURE = png(64, 32)
ENCODED = base64.b64encode(PICTURE).decode()


def toolset(*given: Any, **options: Any) -> Toolset:
    tool: Any = ImageGenerationTool(*given, **options)
    return Toolset([tool])


def made(answer: Answer, prompt: str = "一只猫", **options: Any) -> tuple[ToolMessage, WebServer]:
    async def go() -> tuple[ToolMessage, WebServer]:
        async with serving(answer) as server:
            tools = toolset(base_url=f"{server.url}/v1", **options)
            call = ToolCall("call_1", "image_generation", {"prompt": prompt})
            [message] = await tools.run([call])
            return message, server

    return asyncio.run(go())


def sends(**row: Any) -> Answer:
    return always(response(json.dumps({"data": [row]}), "application/json"))


def test_the_model_sees_the_picture_and_the_program_has_it(tmp_path: Path) -> None:
    message, server = made(
        sends(b64_json=ENCODED, revised_prompt="a cat"),
        tool_config={"size": "64x32", "quality": "low", "partial_images": 2, "model": "sd"},
        folder=tmp_path / "pictures",
        api_key="key",
    )
    assert message.content[1] == Image(PICTURE, "image/png")
    assert "64 x 32 pixels" in message.text
    [item] = collect_hosted_items([message])
    assert item["type"] == "image_generation_call"
    assert (item["result"], item["revised_prompt"]) == (ENCODED, "a cat")
    [saved] = (tmp_path / "pictures").iterdir()
    assert (saved.read_bytes(), str(saved)) == (PICTURE, message.details["path"])
    [asked] = server.asked
    assert json.loads(asked.body) == {
        "model": "sd",
        "prompt": "一只猫",
        "n": 1,
        "quality": "low",
        "size": "64x32",
    }
    assert (asked.path, asked.headers["authorization"]) == ("/v1/images/generations", "Bearer key")
    assert RunState.from_json(RunState((message,), ()).to_json()).messages[0] == message


def test_a_picture_by_address_is_taken_from_the_same_server_alone() -> None:
    async def answer(asked: Asked, write: Write) -> None:
        listed = json.dumps({"data": [{"url": "/files/1.png"}]})
        picture = asked.path == "/files/1.png"
        await write(response(PICTURE) if picture else response(listed, "application/json"))

    assert made(answer)[0].content[1] == Image(PICTURE, "image/png")
    elsewhere, _ = made(sends(url="http://169.254.169.254/latest"))
    assert (elsewhere.kind, "only an address elsewhere" in elsewhere.text) == ("tool_error", True)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            always(response('{"error": {"message": "not allowed: 暴力"}}', status="400 Bad")),
            "not allowed: 暴力",
        ),
        (always(response("oops", status="500 Error")), r"refused (500): no reason given"),
        (always(response("<html>")), "did not send JSON"),
        (always(response('{"data": []}')), "sent no picture"),
        (sends(), "sent no picture"),
        (sends(b64_json="%%%"), "picture that is broken"),
        (sends(b64_json=base64.b64encode(b"text").decode()), "no picture"),
        (sends(b64_json=base64.b64encode(png(9000, 9000)).decode()), "at most 8000"),
        (always(response("x", Content_Encoding="br")), "not asked for"),
        (always(b"nonsense\r\n\r\n"), "cannot be reached"),
    ],
)
def test_what_goes_wrong_is_told(answer: Answer, told: str) -> None:
    message, _ = made(answer)
    assert (message.kind, told in message.text) == ("tool_error", True), message.text


def test_an_empty_prompt_is_refused() -> None:
    assert made(sends(b64_json=ENCODED), " ")[0].kind == "tool_error"


def test_openai_is_sent_its_own_tool() -> None:
    config = {"type": "image_generation", "size": "1024x1024", "partial_images": 2}
    [sent] = openai_responses.encode_tools(toolset(config))
    assert sent == config
    TypeAdapter(ToolParam).validate_python(sent)
    assert "functionDeclarations" in gemini.encode_tools(toolset())[0]


def test_a_key_that_no_such_tool_has_is_refused() -> None:
    with pytest.raises(SetupError, match="no key 'sizes'"):
        ImageGenerationTool({"sizes": "1024"})


def test_openais_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SetupError, match="set OPENAI_API_KEY"):
        toolset().run_sync([ToolCall("1", "image_generation", {"prompt": "x"})])
