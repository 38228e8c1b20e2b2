"""A server that does everything wrong it can, for the client's tests: ``python hostile.py SEED``.

It speaks the revision of 2025-11-25, line by line, without any library. Around every proper answer
it sends what no server should: answers to nobody, answers twice, other people's ids, lines that are
no messages, frames without end, nesting without end, floods of notifications and of questions.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

dice = random.Random()
BIG = 34 * 1024 * 1024


def send(data: Any) -> None:
    sys.stdout.write(data if isinstance(data, str) else json.dumps(data))
    sys.stdout.write("\n")
    sys.stdout.flush()


def answer(id: object, result: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def said(text: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}]}


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def mischief(id: object) -> None:
    """One thing no server should send."""
    note = {"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "noise"}}  # fmt: skip
    tricks: list[Any] = [
        lambda: send("Listening on port 3000 ..."),
        lambda: send("{"),
        lambda: send("\x00\xff\ud7ff ]]"),
        lambda: send(answer(99_999, said("to nobody"))),
        lambda: send(answer("no-such-id", said("to nobody"))),
        lambda: send(answer(None, said("to nobody"))),
        lambda: send({"jsonrpc": "2.0", "id": [id], "result": {}}),
        lambda: send({"jsonrpc": "1.0", "id": 99_997, "result": {}}),
        lambda: send('{"jsonrpc":"2.0","id":99998,"result":{"x":' + deep(100_000) + "}}"),
        lambda: send('{"jsonrpc":"2.0","id":' + "9" * 5000 + ',"result":{}}'),
        lambda: send({"jsonrpc": "2.0", "id": 5, "method": "roots/list"}),
        lambda: send({"jsonrpc": "2.0", "id": 6, "method": "no/such/method", "params": {}}),
        lambda: send({"jsonrpc": "2.0", "id": 6, "method": "ping"}),
        lambda: send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                      "params": {"requestId": id}}),
        lambda: send({"jsonrpc": "2.0", "method": "notifications/progress",
                      "params": {"progressToken": id, "progress": float("1e308")}}),
        lambda: [send(note) for _ in range(200)],
    ]  # fmt: skip
    dice.choice(tricks)()


def call(id: object, text: str) -> None:
    """Answer a call, once properly and perhaps otherwise."""
    match text:
        case "giant":
            send(answer(id, said("x" * BIG)))
        case "deep":
            send(f'{{"jsonrpc":"2.0","id":{json.dumps(id)},"result":{{"content":{deep(5000)}}}}}')
        case "no result":
            send({"jsonrpc": "2.0", "id": id, "result": "done"})
        case "no content":
            send(answer(id, {"content": "text"}))
        case "flood":
            note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            for _ in range(5_000):
                send(note)
            send(answer(id, said(text)))
        case _:
            send(answer(id, said(text)))
            for other in ("again", "and again"):
                send(answer(id, said(other)))


def main() -> None:
    dice.seed(int(sys.argv[1]))
    for line in sys.stdin:
        message = json.loads(line)
        id, method = message.get("id"), message.get("method")
        for _ in range(dice.randrange(4)):
            if id is not None and method == "tools/call":
                mischief(id)
        if id is None or method is None:
            continue
        match method:
            case "initialize":
                tools: dict[str, object] = {"tools": {"listChanged": True}}
                info = {"name": "hostile", "version": "0"}
                send(answer(id, {"protocolVersion": "2025-11-25", "capabilities": tools,
                                 "serverInfo": info}))  # fmt: skip
            case "tools/list":
                schema = {"type": "object", "properties": {"text": {"type": "string"}}}
                send(answer(id, {"tools": [{"name": "say", "inputSchema": schema}]}))
            case "tools/call":
                call(id, message["params"]["arguments"]["text"])
            case _:
                error = {"code": -32601, "message": "Method not found"}
                send({"jsonrpc": "2.0", "id": id, "error": error})


if __name__ == "__main__":
    main()
