"""Reads content that is a list of parts: thinking, text, and what the text cites with its places."""

from __future__ import annotations

from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_parts, as_text, dumps

_ENVELOPES = ("provider", "data", "result", "response")
"""Keys that hold a complete answer for some routers and gateways."""
_PART_KEYS = frozenset({"type", "text", "thinking", "refusal"})
_REFERENCES = frozenset({"reference", "tool_reference"})
"""Types of Mistral's parts that cite something for the text before them."""


class PartReader:
    """Reader of the parts of one answer, complete or streamed.

    Attributes:
        citations: What the parts cite, as annotations of the answer's complete text.
    """

    def __init__(self) -> None:
        self.citations: list[Json] = []
        self._cited = (0, 0)
        """Start and end of the text before the latest reference."""

    def read(self, content: object, position: int) -> tuple[str, str]:
        """Return the thinking and the text in content, both empty for None, and record what the text cites.

        A number, and an object that is no content part, become JSON text.

        Args:
            content: Content of a message or delta.
            position: Number of characters of text before it.
        """
        if isinstance(content, str):
            return "", content
        thought, spoken = "", ""
        if isinstance(content, dict) and _PART_KEYS.isdisjoint(content):
            content = dumps(content)  # the object of a reply that is held to a schema
        elif type(content) in (int, float):
            content = dumps(content)
        for one in content if isinstance(content, list) else [content]:
            part: Json = {"text": one} if isinstance(one, str) else as_dict(one)
            end = position + len(spoken)
            if "thinking" in part:
                thought += part_text(part["thinking"])
                continue
            written = part.get("text") or part.get("refusal")
            text = as_text(as_dict(written).get("value", written))
            spoken += text
            if part.get("type") in _REFERENCES:
                self._add_reference(part, end, len(text))
            else:
                for key in ("annotations", "citations"):
                    self._add_annotations(as_list(part.get(key)), end, len(text))
        return thought, spoken

    def _add_reference(self, part: Json, end: int, length: int) -> None:
        """Record a reference as a citation of its own text, or of the text since the last reference.

        Args:
            part: The reference.
            end: Length of the text before it.
            length: Length of its own text, or 0.
        """
        if length:
            self._cited = (end, end + length)
        elif end > self._cited[1]:
            self._cited = (self._cited[1], end)
        start, end = self._cited
        self.citations.append({**part, "start_index": start, "end_index": end})

    def _add_annotations(self, annotations: list[object], offset: int, length: int) -> None:
        """Record annotations, their places moved by `offset`.

        Without places they cite the complete text.
        """
        for one in map(as_dict, annotations):
            cited = as_dict(one.get(as_text(one.get("type")))) or one
            places = (cited.get("start_index", 0), cited.get("end_index", length))
            start, end = (offset + each if isinstance(each, int) else offset for each in places)
            self.citations.append({**cited, "start_index": start, "end_index": end})


def part_text(parts: object) -> str:
    """Return the joined text of parts, or a text unchanged."""
    if isinstance(parts, str):
        return parts
    return "".join(as_text(one.get("text") or one.get("content")) for one in as_parts(parts))


def merge_fields(before: Json, fields: Json) -> Json:
    """Return the fields of a server's own object in a delta, joined to those before: lists grow.

    LiteLLM sends each citation of a stream by itself.

    >>> merge_fields({"citations": [1]}, {"citation": 2, "end": True})
    {'citations': [1, 2], 'end': True}
    """
    fields = dict(fields)
    if "citation" in fields:
        fields["citations"] = [*as_list(fields.get("citations")), fields.pop("citation")]
    grown = {
        key: [*as_list(before.get(key)), *one]
        for key, one in fields.items()
        if isinstance(one, list)
    }
    return {**before, **fields, **grown}


def as_message(value: object) -> Json:
    """Return a message or delta, which may be its text alone, or the one message of a list; else empty."""
    listed = as_parts(value)
    one = listed[0] if len(listed) == 1 else {}
    return {"content": one["text"]} if one.keys() == {"text"} else one


def find_completion(data: Json) -> Json:
    """Return the completion in an answer, which may be its choice or message alone.

    OpenRouter at times puts it within the field ``provider``, gateways within ``data`` or ``result``.
    """
    if not data.get("choices"):
        for within in map(data.get, _ENVELOPES):
            if isinstance(within, dict) and within.get("choices"):
                return within
    if "choices" in data:
        return data
    if isinstance(data.get("message"), dict):
        return {"choices": [data]}
    if data.get("role") == "assistant":
        return {"choices": [{"message": data, "finish_reason": "stop"}]}
    return data
