"""The arguments of a call as JSON text, as every front end sends them."""

from __future__ import annotations

import json

from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel.messages import ToolCall


def call_arguments(call: ToolCall) -> str:
    """Return the arguments of a call as JSON text, as the model wrote them if it wrote text.

    >>> call_arguments(ToolCall("c1", "look", {"what": "x"}))
    '{"what": "x"}'
    """
    if isinstance(call.arguments, str):
        return call.arguments
    return to_arguments(call.arguments)


def to_arguments(values: object) -> str:
    """Return values of arguments as JSON text."""
    return json.dumps(to_json_data(values, other=describe_value), ensure_ascii=False)
