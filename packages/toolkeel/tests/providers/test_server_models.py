"""What is sent to model servers is what their own request models take, and what their own response
models write is read: at first hand, out of the servers' packages (see `server_models.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT
from toolkeel import tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.chat_servers import PRESETS
from toolkeel.providers.openai_chat import decode, decode_stream, encode

PACKAGES = {
    "sglang": ("sglang", "entrypoints/openai/protocol.py"),
    "vllm": ("vllm", "protocol.py"),
    "llamacpp": ("llama-cpp-python", "types.py"),
}
"""By preset: the package, and how the files of it end that are needed."""
IGNORED = {"llamacpp": {"stream_options", "parallel_tool_calls"}}
"""What a server does not know of and passes over."""
UNHELD = {"llamacpp"}
"""Whose package refuses a schema for a reply: llama.cpp's own server takes it, llama-cpp-python's not."""
PNG = b"\x89PNG\r\n\x1a\n1234"


@tool
def step(city: str, number: int = 1) -> str:
    """Take a step."""
    return f"{city} {number}"


def bodies(server: str) -> Iterator[Any]:
    """Requests of every kind."""
    call = ToolCall("call_1", "step", '{"city": "东京"}')
    transcript: list[Message] = [
        SystemMessage("简短。"),
        UserMessage((Text("看"), Image(PNG))),
        AssistantMessage(
            "",
            (call,),
            reasoning=(Reasoning("想"),),
            provider_options={"reasoning_key": "reasoning_content"},
        ),
        ToolMessage("东京 1", "call_1", "step"),
    ]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    every = Settings(temperature=0.0, max_tokens=9, parallel_tool_calls=False)
    held = Settings(output=OutputFormat("answer", schema))
    for settings in (
        every,
        Settings(tool_choice="required"),
        Settings(tool_choice="step", strict=True),
        *([] if server in UNHELD else [held]),
    ):
        tools = () if settings.output else (step,)
        for stream in (False, True):
            request = ModelRequest(transcript, tools, settings)
            yield encode(request, "m", stream=stream, profile=PRESETS[server].profile)


def protocol_of(package: str, ending: str, folder: Path) -> Path:
    """The files of a package that hold its models, beside nothing else of it."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder)]
    subprocess.run([*pip, package], check=True, capture_output=True, timeout=300)
    [archive] = folder.iterdir()
    found = folder / "found"
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(found, [one for one in wheel.namelist() if one.endswith(ending)])
        return found
    with tarfile.open(archive) as source:
        parts = [one for one in source.getmembers() if one.name.endswith(ending)]
        source.extractall(found, parts, filter="data")
    [top] = found.iterdir()
    return top


@pytest.mark.slow
@pytest.mark.parametrize("server", PACKAGES)
def test_a_servers_own_models_take_what_is_sent_and_write_what_is_read(
    server: str, tmp_path: Path
) -> None:
    package, ending = PACKAGES[server]
    protocol = protocol_of(package, ending, tmp_path)
    name = package.removesuffix("-python").replace("-", "_")
    told = subprocess.run(
        [sys.executable, "-m", "tests.providers.server_models", name, str(protocol)],
        input=json.dumps([*bodies(server)]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    answer = json.loads(told.stdout)
    assert {key for keys in answer["unknown"] for key in keys} <= IGNORED.get(server, set())
    whole, *chunks = answer["said"]
    for reply in (decode(whole, tools=[step]), assemble(decode_stream(chunks, tools=[step]))):
        [call] = reply.tool_calls
        assert (call.name, json.loads(call.arguments)) == ("step", {"city": "东京"})  # type: ignore[arg-type]
        assert reply.finish_reason == "tool_calls"
    assert decode(whole).usage.input_tokens == 7
