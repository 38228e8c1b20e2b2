"""What the servers of all wires say in a turn of W11, and what the least client does with it."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, ClassVar
from zlib import crc32

Json = dict[str, Any]
TURNS = 20
WORDS = ["done", " after", " twenty", " turns"]
KEY = "bench"


def arguments(turn: int) -> str:
    return json.dumps({"a": turn, "b": 1})


def pieces(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ABOUT = {"name": "add", "description": "Add two numbers."}


class Wire:
    """What a server says in a turn, and what the least client does with it.

    Attributes:
        mark: What stands in a request once for each result.
        head: The request in front of its messages; they end with `tail`.
        path: Where requests go, by whether the answer is streamed.
    """

    mark: bytes
    head: ClassVar[Json]
    key = "messages"
    path = ("", "")
    first: ClassVar[Json] = {"role": "user", "content": "go"}
    headers: ClassVar[Json] = {"authorization": f"Bearer {KEY}"}
    streams = True
    """Whether a request says that its answer shall be streamed."""

    def whole(self, turn: int) -> Json:
        raise NotImplementedError

    def parts(self, turn: int) -> list[Json]:
        raise NotImplementedError

    def read(self, data: Json, said: Json) -> None:
        """Take a whole answer: ``text``, or ``id`` and ``args``."""
        raise NotImplementedError

    def take(self, data: Json, said: Json) -> None:
        """Take an event."""
        raise NotImplementedError

    def back(self, said: Json, value: int) -> list[Json]:
        """The messages of a call and its result."""
        raise NotImplementedError

    def framed(self, events: list[Json]) -> bytes:
        return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events)


class Chat(Wire):
    mark = b'"tool_call_id"'
    head: ClassVar[Json] = {
        "model": "m",
        "tools": [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}],
    }
    path = ("/v1/chat/completions", "/v1/chat/completions")

    def whole(self, turn: int) -> Json:
        function = {"name": "add", "arguments": arguments(turn)}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
        if turn == TURNS:
            message = {"role": "assistant", "content": "".join(WORDS)}
        reason = "stop" if turn == TURNS else "tool_calls"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {
            "id": "c",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }

    def parts(self, turn: int) -> list[Json]:
        def chunk(delta: Json, reason: str | None = None) -> Json:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}

        if turn == TURNS:
            return [*(chunk({"content": word}) for word in WORDS), chunk({}, "stop")]
        function = {"name": "add", "arguments": ""}
        call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": function}
        more = [{"index": 0, "function": {"arguments": one}} for one in pieces(arguments(turn))]
        return [*(chunk({"tool_calls": [one]}) for one in [call, *more]), chunk({}, "tool_calls")]

    def read(self, data: Json, said: Json) -> None:
        message = data["choices"][0]["message"]
        said["text"] = message["content"]
        for call in message.get("tool_calls") or ():
            said |= {"id": call["id"], "args": call["function"]["arguments"]}

    def take(self, data: Json, said: Json) -> None:
        delta = data["choices"][0]["delta"]
        said["text"] += delta.get("content") or ""
        for call in delta.get("tool_calls") or ():
            said["id"] = call.get("id") or said["id"]
            said["args"] += call["function"]["arguments"]

    def back(self, said: Json, value: int) -> list[Json]:
        function = {"name": "add", "arguments": said["args"]}
        call = {"id": said["id"], "type": "function", "function": function}
        result = {"role": "tool", "tool_call_id": said["id"], "content": str(value)}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


class Responses(Wire):
    mark = b'"function_call_output"'
    head: ClassVar[Json] = {
        "model": "m",
        "store": False,
        "tools": [{"type": "function", **ABOUT, "parameters": SCHEMA}],
    }
    key = "input"
    path = ("/v1/responses", "/v1/responses")

    def item(self, turn: int, args: str | None = None) -> Json:
        if turn == TURNS:
            text = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
            return {"type": "message", "id": "msg", "role": "assistant", "content": [text]}
        call = {
            "type": "function_call",
            "id": f"fc_{turn}",
            "call_id": f"call_{turn}",
            "name": "add",
        }
        return {**call, "arguments": arguments(turn) if args is None else args}

    def whole(self, turn: int) -> Json:
        usage = {"input_tokens": 10, "output_tokens": 5}
        done = {"object": "response", "status": "completed", "model": "m", "usage": usage}
        return {**done, "output": [self.item(turn)]}

    def parts(self, turn: int) -> list[Json]:
        last = {"type": "response.completed", "response": self.whole(turn)}
        at = {"output_index": 0, "item_id": f"fc_{turn}"}
        kind = "response.function_call_arguments.delta"
        said = [{"type": kind, **at, "delta": one} for one in pieces(arguments(turn))]
        if turn == TURNS:
            said = [{"type": "response.output_text.delta", **at, "delta": one} for one in WORDS]
        begin = {"type": "response.output_item.added", **at, "item": self.item(turn, "")}
        end = {"type": "response.output_item.done", **at, "item": self.item(turn)}
        return [{"type": "response.created", "response": {}}, begin, *said, end, last]

    def read(self, data: Json, said: Json) -> None:
        for item in data["output"]:
            if item["type"] == "message":
                said["text"] = item["content"][0]["text"]
            else:
                said |= {"id": item["call_id"], "args": item["arguments"]}

    def take(self, data: Json, said: Json) -> None:
        match data["type"]:
            case "response.output_text.delta":
                said["text"] += data["delta"]
            case "response.function_call_arguments.delta":
                said["args"] += data["delta"]
            case "response.output_item.added" if "call_id" in data["item"]:
                said["id"] = data["item"]["call_id"]

    def back(self, said: Json, value: int) -> list[Json]:
        call = {
            "type": "function_call",
            "call_id": said["id"],
            "name": "add",
            "arguments": said["args"],
        }
        output = {"type": "function_call_output", "call_id": said["id"], "output": str(value)}
        return [call, output]


class Anthropic(Wire):
    mark = b'"tool_result"'
    head: ClassVar[Json] = {
        "model": "m",
        "max_tokens": 100,
        "tools": [{**ABOUT, "input_schema": SCHEMA}],
    }
    path = ("/v1/messages", "/v1/messages")
    headers: ClassVar[Json] = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}

    def block(self, turn: int) -> Json:
        if turn == TURNS:
            return {"type": "text", "text": "".join(WORDS)}
        return {
            "type": "tool_use",
            "id": f"toolu_{turn}",
            "name": "add",
            "input": {"a": turn, "b": 1},
        }

    def whole(self, turn: int) -> Json:
        reason = "end_turn" if turn == TURNS else "tool_use"
        usage = {"input_tokens": 10, "output_tokens": 5}
        begin = {"id": "msg", "type": "message", "role": "assistant", "model": "m"}
        return {**begin, "content": [self.block(turn)], "stop_reason": reason, "usage": usage}

    def parts(self, turn: int) -> list[Json]:
        whole = self.whole(turn)
        start = {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
        block = self.block(turn) | ({"text": ""} if turn == TURNS else {"input": {}})
        said = [
            {"type": "input_json_delta", "partial_json": one} for one in pieces(arguments(turn))
        ]
        if turn == TURNS:
            said = [{"type": "text_delta", "text": one} for one in WORDS]
        return [
            start,
            {"type": "content_block_start", "index": 0, "content_block": block},
            *({"type": "content_block_delta", "index": 0, "delta": one} for one in said),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": whole["stop_reason"]},
                "usage": whole["usage"],
            },
            {"type": "message_stop"},
        ]

    def read(self, data: Json, said: Json) -> None:
        for block in data["content"]:
            if block["type"] == "text":
                said["text"] = block["text"]
            else:
                said |= {"id": block["id"], "args": json.dumps(block["input"])}

    def take(self, data: Json, said: Json) -> None:
        if data["type"] == "content_block_start":
            said["id"] = data["content_block"].get("id") or said["id"]
        elif data["type"] == "content_block_delta":
            said["text"] += data["delta"].get("text", "")
            said["args"] += data["delta"].get("partial_json", "")

    def back(self, said: Json, value: int) -> list[Json]:
        use = {
            "type": "tool_use",
            "id": said["id"],
            "name": "add",
            "input": json.loads(said["args"]),
        }
        result = {"type": "tool_result", "tool_use_id": said["id"], "content": str(value)}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


class Gemini(Wire):
    mark = b'"functionResponse"'
    head: ClassVar[Json] = {"tools": [{"functionDeclarations": [{**ABOUT, "parameters": SCHEMA}]}]}
    key = "contents"
    path = ("/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse")
    first: ClassVar[Json] = {"role": "user", "parts": [{"text": "go"}]}
    headers: ClassVar[Json] = {"x-goog-api-key": KEY}
    streams = False

    def answer(self, parts: list[Json], reason: str | None) -> Json:
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5}
        return {
            "candidates": [{**candidate, **({"finishReason": reason} if reason else {})}],
            "usageMetadata": usage,
            "modelVersion": "m",
        }

    def whole(self, turn: int) -> Json:
        call = {"functionCall": {"name": "add", "args": {"a": turn, "b": 1}}}
        return self.answer([{"text": "".join(WORDS)} if turn == TURNS else call], "STOP")

    def parts(self, turn: int) -> list[Json]:
        if turn < TURNS:
            return [self.whole(turn), self.answer([{"text": ""}], "STOP")]
        return [self.answer([{"text": one}], "STOP" if one is WORDS[-1] else None) for one in WORDS]

    def read(self, data: Json, said: Json) -> None:
        self.take(data, said)

    def take(self, data: Json, said: Json) -> None:
        for part in data["candidates"][0]["content"]["parts"]:
            said["text"] += part.get("text", "")
            if call := part.get("functionCall"):
                said |= {"id": "x", "args": json.dumps(call["args"])}

    def back(self, said: Json, value: int) -> list[Json]:
        call = {"functionCall": {"name": "add", "args": json.loads(said["args"])}}
        result = {"functionResponse": {"name": "add", "response": {"result": str(value)}}}
        return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]


class Bedrock(Wire):
    mark = b'"toolResult"'
    head: ClassVar[Json] = {
        "toolConfig": {"tools": [{"toolSpec": {**ABOUT, "inputSchema": {"json": SCHEMA}}}]}
    }
    path = ("/model/m/converse", "/model/m/converse-stream")
    first: ClassVar[Json] = {"role": "user", "content": [{"text": "go"}]}
    streams = False

    def whole(self, turn: int) -> Json:
        use = {"toolUseId": f"tooluse_{turn}", "name": "add", "input": {"a": turn, "b": 1}}
        block = {"text": "".join(WORDS)} if turn == TURNS else {"toolUse": use}
        return {
            "output": {"message": {"role": "assistant", "content": [block]}},
            "stopReason": "end_turn" if turn == TURNS else "tool_use",
            "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
        }

    def parts(self, turn: int) -> list[Json]:
        whole, at = self.whole(turn), {"contentBlockIndex": 0}
        start = {"toolUse": {"toolUseId": f"tooluse_{turn}", "name": "add"}}
        said: list[Json] = [{"toolUse": {"input": one}} for one in pieces(arguments(turn))]
        if turn == TURNS:
            said = [{"text": one} for one in WORDS]
        return [
            {"messageStart": {"role": "assistant"}},
            *([] if turn == TURNS else [{"contentBlockStart": {**at, "start": start}}]),
            *({"contentBlockDelta": {**at, "delta": one}} for one in said),
            {"contentBlockStop": at},
            {"messageStop": {"stopReason": whole["stopReason"]}},
            {"metadata": {"usage": whole["usage"], "metrics": {"latencyMs": 1}}},
        ]

    def framed(self, events: list[Json]) -> bytes:
        return b"".join(_frame(*next(iter(one.items()))) for one in events)

    def read(self, data: Json, said: Json) -> None:
        for block in data["output"]["message"]["content"]:
            said["text"] = block.get("text", "")
            if use := block.get("toolUse"):
                said |= {"id": use["toolUseId"], "args": json.dumps(use["input"])}

    def take(self, data: Json, said: Json) -> None:
        if use := data.get("start", {}).get("toolUse"):
            said["id"] = use["toolUseId"]
        delta = data.get("delta", {})
        said["text"] += delta.get("text", "")
        said["args"] += delta.get("toolUse", {}).get("input", "")

    def back(self, said: Json, value: int) -> list[Json]:
        use = {"toolUseId": said["id"], "name": "add", "input": json.loads(said["args"])}
        result = {"toolUseId": said["id"], "content": [{"text": str(value)}]}
        return [
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]


def _frame(kind: str, payload: Json) -> bytes:
    """An event in AWS's framing."""
    told = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    head: ClassVar[Json] = b""
    for name, value in told.items():
        head += struct.pack(">B", len(name)) + name.encode()
        head += struct.pack(">BH", 7, len(value)) + value.encode()
    body = json.dumps(payload).encode()
    start = struct.pack(">II", 16 + len(head) + len(body), len(head))
    frame = start + struct.pack(">I", crc32(start)) + head + body
    return frame + struct.pack(">I", crc32(frame))


WIRES: dict[str, Wire] = {
    "chat": Chat(),
    "responses": Responses(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "bedrock": Bedrock(),
}


async def serve() -> None:
    """Answer every request with its turn's reply, kept alive; says its port first."""
    said = {
        (name, turn, stream): (
            wire.framed(wire.parts(turn)) if stream else json.dumps(wire.whole(turn)).encode()
        )
        for name, wire in WIRES.items()
        for turn in range(TURNS + 1)
        for stream in (False, True)
    }

    ends = [
        (name, wire, tuple(path.rpartition("/")[2] for path in wire.path))
        for name, wire in WIRES.items()
    ]

    def answer(path: str, body: bytes) -> bytes:
        name, wire, places = next(one for one in ends if path.endswith(one[2]))
        stream = b'"stream":true' in body if wire.streams else path.endswith(places[1])
        data = said[name, body.count(wire.mark), stream]
        kind = "application/vnd.amazon.eventstream" if name == "bedrock" else "text/event-stream"
        kind = kind if stream else "application/json"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        return head.encode() + data

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = [line.lower() for line in head.split("\r\n")]
                size = next(
                    int(line.split(":")[1]) for line in lines if line.startswith("content-length")
                )
                writer.write(answer(head.split(" ", 2)[1], await reader.readexactly(size)))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 26)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()
