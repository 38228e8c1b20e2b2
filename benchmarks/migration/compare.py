"""What two programs sent and printed, without what no two runs share: ids, times, addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_CHANGING: Sequence[tuple[str, str]] = (
    (r"\x1b\[[0-9;?]*[a-zA-Z]", ""),
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID"),
    (r"\b(trace|span|group|resp|msg|fc|call)_[0-9a-zA-Z]{6,}\b", r"\1_ID"),
    (r"\b[0-9a-f]{12,}\b", "HEX"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+\d\d:\d\d)?", "TIME"),
    (r"\b\d+(\.\d+)? ?(ms|s|seconds|sec)\b", "SECONDS"),
    (r"/tmp/[\w./-]+", "PATH"),
    (r"127\.0\.0\.1:\d+(/\w+/v1)?", "SERVER"),
    (r"\b(agents|toolkeel(\.\w+)*)\.", "LIBRARY."),
)


def printed(text: str) -> str:
    """What was printed, comparably."""
    text = _rooted(text)
    for pattern, stand_in in _CHANGING:
        text = re.sub(pattern, stand_in, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


_UNIMPORTANT = {
    "id", "status", "include", "store", "stream", "stream_options", "user", "metadata", "logprobs",
    "annotations", "prompt_cache_key", "phase", "safety_identifier",
}  # fmt: skip
"""Keys that change nothing of what the model is asked."""


def asked(sent: Sequence[Mapping[str, Any]]) -> list[str]:
    """What all requests of a program ask, sorted: those made side by side arrive in any order."""
    return sorted(_rooted(json.dumps(request(body), sort_keys=True)) for body in sent)


def _rooted(text: str) -> str:
    """Without the folders that the two programs lie in."""
    return re.sub(r"/[^\s\"']*/(migrated|[a-z_]+-\d[\d.]*)/", "ROOT/", text)


def request(body: Mapping[str, Any]) -> Any:
    """What a request asks: model, settings, tools, what was said; instructions are a message."""
    made = {key: _plain(value) for key, value in body.items() if key not in _UNIMPORTANT}
    said = made.pop("input", None) if "input" in made else made.pop("messages", None)
    items = [{"role": "user", "content": said}] if isinstance(said, str) else list(said or ())
    if told := made.pop("instructions", None):
        items = [{"role": "system", "content": told}, *items]
    made["said"] = [_item(item) for item in items]
    made["tools"] = [_tool(tool) for tool in made.get("tools") or ()]
    form = (made.get("text") or {}).get("format")
    made["text"] = _form(form) if isinstance(form, dict) and form.get("type") != "text" else None
    if made.get("tool_choice") == "auto":
        made["tool_choice"] = None
    return _plain(made)


def _item(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type", "message") == "message":
        role = "system" if item.get("role") == "developer" else item.get("role")
        rest = {k: v for k, v in item.items() if k not in ("role", "content", "type", "name")}
        return {**rest, "role": role, "content": _content(item.get("content"))}
    if "output" in item:
        return {**item, "output": _content(item["output"])}
    if "arguments" in item:  # by value: each library writes JSON in its own way
        return {**item, "arguments": json.loads(item["arguments"] or "{}")}
    return item


def _content(content: Any) -> Any:
    """Parts as they are; a text alone as a text."""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") in ("input_text", "output_text", "text")
        for part in content
    ):
        return "".join(part["text"] for part in content)
    return printed(content) if isinstance(content, str) else content


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A definition by what it allows: titles, dialects and the schema's own description are for people."""
    made = {key: _schema(value) for key, value in tool.items() if key != "title" and value != ""}
    for key in ("parameters", "schema"):
        if isinstance(made.get(key), dict):
            whole = _inlined(made[key], made[key].get("$defs") or {})
            made[key] = {
                k: v for k, v in whole.items() if k not in ("$schema", "description", "$defs")
            }
    if isinstance(made.get("function"), dict):
        made["function"] = _tool(made["function"])
    return made


def _inlined(value: Any, shapes: dict[str, Any], depth: int = 0) -> Any:
    """A schema with what it refers to in its place."""
    if isinstance(value, dict):
        name = str(value.get("$ref", "")).rpartition("/")[2]
        if name in shapes and depth < 9:
            return _inlined(shapes[name], shapes, depth + 1)
        return {key: _inlined(one, shapes, depth + 1) for key, one in value.items()}
    return [_inlined(one, shapes, depth) for one in value] if isinstance(value, list) else value


def _form(form: dict[str, Any]) -> dict[str, Any]:
    """The form of an answer; its name, and the key of an answer that is no object, are each one's own."""
    shown = {key: value for key, value in form.items() if key not in ("name", "description")}
    schema = shown.get("schema") or {}
    if list(schema.get("properties", ())) in (["response"], ["result"]):
        [inner] = schema["properties"].values()
        shown["schema"] = {**{k: v for k, v in schema.items() if k == "$defs"}, **inner}
    return _tool(shown)


def _schema(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not (k == "title" and isinstance(v, str))}
        made = {key: _schema(one) for key, one in kept.items()}
        if isinstance(made.get("required"), list):
            made["required"] = sorted(made["required"])
        return made
    return [_schema(one) for one in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Without keys that hold nothing or change nothing."""
    if isinstance(value, dict):
        made = {key: _plain(one) for key, one in value.items() if key not in _UNIMPORTANT}
        return {key: one for key, one in made.items() if one not in (None, [], {})}
    return [_plain(one) for one in value] if isinstance(value, list) else value
