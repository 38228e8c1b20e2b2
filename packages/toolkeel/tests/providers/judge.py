"""OpenAI's own types as judge of the requests we build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openai.types.chat import completion_create_params as params
from pydantic import TypeAdapter

_PLAIN = TypeAdapter[Any](params.CompletionCreateParamsNonStreaming)
_STREAMED = TypeAdapter[Any](params.CompletionCreateParamsStreaming)


def check_body(body: Mapping[str, Any]) -> None:
    """Raise pydantic's error if the SDK's types do not allow `body`."""
    judge = _STREAMED if body.get("stream") else _PLAIN
    exhaust(judge.validate_python(dict(body)))


def exhaust(value: object) -> None:
    """pydantic validates an ``Iterable`` only as it is read."""
    if isinstance(value, str | bytes | int | float | None):
        return
    if isinstance(value, Mapping):
        value = value.values()
    for item in value:  # type: ignore[attr-defined]
        exhaust(item)
