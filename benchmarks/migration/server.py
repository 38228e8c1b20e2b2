"""A scripted model on loopback: what it says follows from the request alone, so two programs that
ask the same are told the same. It speaks OpenAI's Responses and Chat Completions, streamed or not,
and keeps every request body by the first part of the path: one run, one part.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from benchmarks.migration.kept import Conversations, decision

Json = dict[str, Any]


def example(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, depth: int = 0
) -> Any:
    """A value of a schema.

    >>> example({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x"]}}})
    {'a': 1, 'b': 'x'}
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return example(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth + 1)
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return example(schema[key][0], root, depth + 1)
    match schema.get("type"):
        case "object":
            shown = schema.get("properties", {}) if depth < 8 else {}
            return {name: example(part, root, depth + 1) for name, part in shown.items()}
        case "array":
            count = max(1, schema.get("minItems", 1)) if depth < 6 else 0
            return [example(schema.get("items", {}), root, depth + 1)] * count
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case "null":
            return None
    return "Oakland"


def reply(said: list[Json], tools: list[Json], choice: Any, form: Mapping[str, Any] | None) -> Json:
    """What the model says: a call while a question is unanswered, then an answer.

    Args:
        said: Items, as ``{"role", "text"}``, ``{"call"}`` or ``{"result"}``.
        tools: Functions, as ``{"name", "schema"}``.
        choice: ``auto``, ``none``, ``required`` or a function's name.
        form: Schema of the answer, if one is asked for.
    """
    last = said[-1] if said else {}
    asked = sum(1 for item in said if item.get("role") == "user")
    moved = str(last.get("result_of", "")).startswith("transfer_to_")
    made = sum(1 for item in said if "call" in item)
    open_question = last.get("role") == "user" or moved or choice not in ("auto", "none", None)
    if tools and choice != "none" and open_question and made < 12:
        named = [tool for tool in tools if tool["name"] == choice]
        tool = (named or tools)[(asked + made - 1) % len(named or tools)]
        return {"name": tool["name"], "arguments": _json(example(tool["schema"])), "n": made}
    if form is not None:
        return {"text": _json(example(form))}
    about = last.get("text") or last.get("result") or ""
    return {"text": f"Answer {asked}.{made}: I have read {len(about.split())} words."}


def _json(value: Any) -> str:
    """Compact JSON, as OpenAI's models write it."""
    return json.dumps(value, separators=(",", ":"))


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(
        str(part.get("text", "")) for part in content or () if isinstance(part, Mapping)
    )


def read_responses(body: Json) -> Json:
    """The reply to a request of the Responses wire."""
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    names: dict[str, str] = {}
    said: list[Json] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            said.append({"role": item.get("role"), "text": _texts(item.get("content"))})
        elif kind == "function_call":
            names[item["call_id"]] = item["name"]
            said.append({"call": item["name"]})
        elif kind == "function_call_output":
            made = {"result": _texts(item["output"]), "result_of": names.get(item["call_id"])}
            said.append(made)
    tools = [
        {"name": tool["name"], "schema": tool.get("parameters") or {}}
        for tool in body.get("tools") or ()
        if tool.get("type") == "function"
    ]
    choice = body.get("tool_choice") or "auto"
    choice = choice.get("name", "auto") if isinstance(choice, dict) else choice
    form = ((body.get("text") or {}).get("format") or {}).get("schema")
    return reply(said, tools, choice, form)


def read_chat(body: Json) -> Json:
    """The reply to a request of Chat Completions."""
    names: dict[str, str] = {}
    said: list[Json] = []
    for message in body.get("messages") or ():
        if message["role"] == "tool":
            called = names.get(message["tool_call_id"])
            said.append({"result": _texts(message["content"]), "result_of": called})
            continue
        said.append({"role": message["role"], "text": _texts(message.get("content"))})
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
            said.append({"call": call["function"]["name"]})
    tools = [
        {"name": t["function"]["name"], "schema": t["function"].get("parameters") or {}}
        for t in body.get("tools") or ()
        if t.get("type") == "function"
    ]
    choice = body.get("tool_choice") or "auto"
    choice = choice["function"]["name"] if isinstance(choice, dict) else choice
    form = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    return reply(said, tools, choice, form)


def output_item(said: Json, number: int) -> Json:
    """The reply as an item of the Responses wire."""
    if "name" in said:
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{said['n'] + 1}",
            "name": said["name"],
            "arguments": said["arguments"],
            "status": "completed",
        }
    part = {"type": "output_text", "text": said["text"], "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def response(body: Json, output: list[Json], number: int, status: str = "completed") -> Json:
    """A response of the Responses wire."""
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": body.get("model") or "gpt",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE if status == "completed" else None,
    }


def stream_responses(body: Json, item: Json, number: int) -> Iterator[Json]:
    """Its events."""
    at = {"output_index": 0, "item_id": item["id"]}
    yield {"type": "response.created", "response": response(body, [], number, "in_progress")}
    if item["type"] == "function_call":
        begun = {**item, "arguments": "", "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        text, kind, done = item["arguments"], "response.function_call_arguments", "arguments"
    else:
        begun = {**item, "content": [], "status": "in_progress"}
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": begun}
        at = {**at, "content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": part}
        text, kind, done = item["content"][0]["text"], "response.output_text", "text"
    for start in range(0, len(text), 9):
        piece = {"type": f"{kind}.delta", **at, "delta": text[start : start + 9]}
        yield piece if item["type"] == "function_call" else {**piece, "logprobs": []}
    more = {"name": item["name"]} if item["type"] == "function_call" else {"logprobs": []}
    yield {"type": f"{kind}.done", **at, done: text, **more}
    if item["type"] != "function_call":
        yield {"type": "response.content_part.done", **at, "part": item["content"][0]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": response(body, [item], number)}


def chat(body: Json, said: Json, number: int) -> Json:
    """A completion of the Chat wire."""
    message: Json = {"role": "assistant", "content": said.get("text")}
    if "name" in said:
        function = {"name": said["name"], "arguments": said["arguments"]}
        call = {"id": f"call_{said['n'] + 1}", "type": "function", "function": function}
        message["tool_calls"] = [call]
    reason = "tool_calls" if "name" in said else "stop"
    return {
        "id": f"chat_{number}",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model") or "gpt",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def stream_chat(whole: Json) -> Iterator[Json]:
    """Its chunks."""
    [choice] = whole["choices"]
    message = choice["message"]
    head = {**whole, "object": "chat.completion.chunk"}
    head.pop("usage")
    calls = [{"index": i, **call} for i, call in enumerate(message.get("tool_calls") or ())]
    delta = {**message, **({"tool_calls": calls} if calls else {})}
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**head, "choices": [end]}
    yield {**head, "choices": [], "usage": whole["usage"]}


class Handler(BaseHTTPRequestHandler):
    """One request: ``/RUN/v1/responses`` or ``/RUN/v1/chat/completions``."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """What is kept is read."""
        query = dict(parse_qsl(urlsplit(self.path).query))
        self._kept("GET", self._place()[1], query)

    def do_DELETE(self) -> None:
        """What is kept is forgotten."""
        self._kept("DELETE", self._place()[1], {})

    def _place(self) -> tuple[str, list[str]]:
        """Whose run it is, and what of the address follows the version."""
        _, run, _, *rest = [*self.path.split("?")[0].split("/"), "", "", ""]
        return run, [part for part in rest if part]

    def _kept(self, method: str, place: list[str], body: Json) -> None:
        made = None
        if place[:1] == ["conversations"]:
            made = self.server.conversations[self._place()[0]].answer(method, place[1:], body)
        if made is None:
            made = {"error": {"message": f"no {'/'.join(place)} here"}}
        self._json(404 if "error" in made else 200, made)

    def do_POST(self) -> None:
        """Answer a request."""
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(sent or b"{}")
        except ValueError:  # a file
            body = {"bytes": len(sent)}
        run, place = self._place()
        path = "/".join(place)
        number = self.server.keep(run, path, body)
        if path == "responses":
            item = output_item(read_responses(body), number)
            if body.get("stream"):
                self._stream(stream_responses(body, item, number), named=True)
            else:
                self._json(200, response(body, [item], number))
        elif path == "chat/completions":
            whole = chat(body, read_chat(body), number)
            if body.get("stream"):
                self._stream(stream_chat(whole), named=False)
            else:
                self._json(200, whole)
        elif path == "decisions":
            self._json(200, decision(body))
        else:
            self._kept("POST", place, body)

    def _json(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[Json], *, named: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, event in enumerate(events):
            if named:
                event = {**event, "sequence_number": number}
                self.wfile.write(f"event: {event['type']}\n".encode())
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        if not named:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


class Server(ThreadingHTTPServer):
    """The model, and what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.conversations: dict[str, Conversations] = defaultdict(Conversations)
        self._sent: dict[str, list[tuple[float, str, Json]]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def keep(self, run: str, path: str, body: Json) -> int:
        """Keep a request; gives its number in the run, from 1."""
        with self._lock:
            kept = self._sent.setdefault(run, [])
            kept.append((time.monotonic(), path, body))
            return len(kept)

    def sent(self, run: str) -> list[Json]:
        """What a run sent, in order."""
        with self._lock:
            return [{"path": path, **body} for _, path, body in self._sent.get(run, [])]

    def url(self, run: str) -> str:
        """Where a run finds it."""
        return f"http://127.0.0.1:{self.server_port}/{run}/v1"
