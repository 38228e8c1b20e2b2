"""Recorded traffic of providers, and how it arrives."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tests.shared import SHARED, shared_file

Row = dict[str, Any]


RECORDED = "data/exchanges-sample.jsonl"


class Absent(dict[str, Any]):
    """Stands for a recorded exchange where there are none: whatever looks into it does not run."""

    def __getitem__(self, key: str) -> Any:
        return "absent" if key == "id" else shared_file(RECORDED)


def rows(surface: str) -> list[Row]:
    """The recorded exchanges over one wire."""
    lines = shared_file(RECORDED).read_text("utf-8").splitlines()
    return [row for line in lines if (row := json.loads(line))["surface"] == surface]


def examples(surface: str, *, stream: bool | None = None) -> list[Row]:
    """The same while tests are collected, which goes on without them.

    Args:
        surface: The wire.
        stream: Only those that were streamed, or only those that were not.
    """
    if not (SHARED / RECORDED).exists():
        return [Absent()]
    return [row for row in rows(surface) if stream is None or row["stream"] is stream]


def body_of(row: Row) -> bytes:
    """The answer's bytes."""
    answer = row["response"]
    if isinstance(answer, str):
        return answer.encode()
    if answer.keys() == {"base64"}:
        return base64.b64decode(answer["base64"])
    return json.dumps(answer, ensure_ascii=False).encode()


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    """`body` as it arrives, `size` bytes at a time."""
    for start in range(0, len(body), size):
        yield body[start : start + size]


def damaged(value: Any, random: Random, rate: float = 0.02) -> Any:
    """`value` with some of what is in it left out or replaced by nonsense."""
    if random.random() < rate:
        return random.choice([None, "x", 5, [], {}])
    if isinstance(value, dict):
        kept = [item for item in value.items() if random.random() > rate / 2]
        return {key: damaged(one, random, rate) for key, one in kept}
    if isinstance(value, list):
        return [damaged(one, random, rate) for one in value]
    return value


def frames(*events: Mapping[str, Any]) -> bytes:
    """Events of one key each as an AWS event stream."""
    return b"".join(frame(name, body) for event in events for name, body in event.items())


def frame(name: str, body: object) -> bytes:
    """One message of an AWS event stream (`application/vnd.amazon.eventstream`)."""
    failed = name.endswith("Exception")
    headers = _header(":exception-type" if failed else ":event-type", name)
    headers += _header(":content-type", "application/json")
    headers += _header(":message-type", "exception" if failed else "event")
    try:
        payload = json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        payload = json.dumps(body).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(text)) + text
