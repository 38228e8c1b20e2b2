"""The request and response models of real model servers, out of their packages, without the servers.

    python -m tests.providers.server_models SERVER FOLDER < asked.json

A package of a server brings what it parses requests with and writes answers with, as pydantic models;
what these import beside pydantic and OpenAI's types (torch, kernels) is stood in for, and checks
nothing. Requests are read from the input; what the server makes of each, and what it would say, is
printed.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import core_schema

Json = dict[str, Any]
SERVERS = {
    "sglang": ("sglang.srt.entrypoints.openai.protocol", "ChatCompletionRequest"),
    "vllm": ("vllm.entrypoints.openai.chat_completion.protocol", "ChatCompletionRequest"),
    "llama_cpp": ("llama_cpp.server.types", "CreateChatCompletionRequest"),
}
"""Where each server's request stands in its package."""
CALL = {
    "id": "call_1",
    "index": 0,
    "type": "function",
    "function": {"name": "step", "arguments": '{"city": "东京"}'},
}
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class Anything(type):
    """A class that has every attribute."""

    def __getattr__(cls, name: str) -> Any:
        return stand_in(name)

    def __index__(cls) -> int:
        return sys.maxsize

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


def stand_in(name: str) -> Any:
    """A class that stands for anything a package does not bring."""
    if name.startswith("__"):
        raise AttributeError(name)

    def schema(cls: Any, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.any_schema()

    body = {
        "__get_pydantic_core_schema__": classmethod(schema),
        "__init__": lambda self, *_, **__: None,
        "__getattr__": lambda self, name: stand_in(name),
        "__init_subclass__": classmethod(lambda cls, **_: None),
        "__class_getitem__": classmethod(lambda cls, _: cls),
        "__call__": lambda self, *arguments, **_: arguments[0] if arguments else None,
    }
    kind: Any = Exception if name.endswith(("Error", "Exception")) else object
    return Anything(name, (kind,), body)


class StandIns(MetaPathFinder, Loader):
    """Modules that are not there, of a server's package and of what it needs."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.names:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__getattr__ = stand_in  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: ModuleType) -> None:
        return None


def said(protocol: ModuleType, server: str) -> list[Json]:
    """A whole answer with a call, and a streamed one in pieces."""
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}
    head = {"id": "x", "created": 1, "model": "m"}
    whole = {**head, "object": "chat.completion", "choices": [choice], "usage": USAGE}
    pieces = [
        {"role": "assistant", "content": ""},
        {"tool_calls": [{**CALL, "function": {"name": "step", "arguments": ""}}]},
        *(
            {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
            for part in ('{"city": ', '"东京"}')
        ),
        {},
    ]
    ends = [None] * (len(pieces) - 1) + ["tool_calls"]
    chunks = [
        {
            **head,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end, "logprobs": None}],
        }
        for delta, end in zip(pieces, ends, strict=True)
    ]
    if server == "llama_cpp":
        types = importlib.import_module("llama_cpp.llama_types")
        whole_of = TypeAdapter(types.CreateChatCompletionResponse)
        part_of = TypeAdapter(types.CreateChatCompletionStreamResponse)
        whole_of.validate_python(whole)  # dicts that it types, and sends as they are
        for one in chunks:
            part_of.validate_python(one)
        return [whole, *chunks]
    first: BaseModel = protocol.ChatCompletionResponse.model_validate(whole)
    rest = [protocol.ChatCompletionStreamResponse.model_validate(one) for one in chunks]
    return [
        json.loads(first.model_dump_json()),
        *(json.loads(one.model_dump_json(exclude_unset=True)) for one in rest),
    ]


def main(server: str, folder: str) -> None:
    sys.path.insert(0, folder)
    for package in {*Path(folder).iterdir()}:
        for part in [package, *package.rglob("*")]:
            if part.is_dir():
                types = "from .llama_types import *" if part.name == "llama_cpp" else ""
                (part / "__init__.py").write_text(types)  # not what it would start
    known = {
        server,
        "torch",
        "msgspec",
        "xgrammar",
        "transformers",
        "regex",
        "numpy",
        "PIL",
        "cbor2",
        "zmq",
    }
    sys.meta_path.append(StandIns(known))
    name, request = SERVERS[server]
    protocol = importlib.import_module(name)
    model = getattr(protocol, request)
    unknown = []
    for body in json.load(sys.stdin):
        read = model.model_validate(body)
        unknown.append(sorted(read.model_extra or {*body} - {*model.model_fields}))
    print(json.dumps({"unknown": unknown, "said": said(protocol, server)}, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
