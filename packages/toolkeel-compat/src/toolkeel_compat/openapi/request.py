"""Build a request from a call's arguments: each value where the OpenAPI document says. Pure.

Source: https://spec.openapis.org/oas/v3.1.1.html#style-values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from toolkeel._records.record import record
from toolkeel.errors import ToolError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openapi.document import Operation, Parameter


@record
class RequestParts:
    """A request without its server.

    Args:
        path: Percent-encoded.
        query: Pairs, in order.
        headers: With the content type.
        body: Further keyword arguments of httpx2's request.
    """

    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: dict[str, Any]


def build_request_parts(
    operation: Operation,
    arguments: Mapping[str, Any],
    hidden: Collection[str] = (),
    reserved: Collection[str] = (),
) -> RequestParts:
    """Build the parts of a call's request.

    Args:
        operation: The operation.
        arguments: Arguments that match its schema.
        hidden: Arguments that the program supplies, which are left out here.
        reserved: Names of query parameters that the program supplies: no argument may use them.

    Raises:
        ToolError: A value is not possible in its place.
    """
    path, query, cookies = operation.path, [], []
    body, headers = _build_body(operation, arguments)
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None or parameter.argument in hidden:
            continue
        if parameter.where == "path":
            path = path.replace(f"{{{parameter.name}}}", _encode_path_segment(parameter, value))
        elif parameter.where == "query":
            query += _encode_query(
                parameter, value, {p.name for p in operation.parameters} | {*reserved}
            )
        elif parameter.where == "header":
            headers[parameter.name] = _encode_header(parameter, _join_values(value, ","))
        else:
            cookies.append(f"{parameter.name}={quote(_join_values(value, ','), safe='')}")
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    return RequestParts(path, query, headers, body)


def _encode_path_segment(parameter: Parameter, value: object) -> str:
    """Encode a path parameter as exactly one segment."""
    text = _join_values(value, ",")
    # Servers that decode "%2F" first resolve dots between slashes, too.
    if not {".", ".."}.isdisjoint(re.split(r"[/\\]", text)) or not text:
        raise ToolError(f"{parameter.argument}: {text!r} cannot stand in a path.")
    return quote(text, safe="")


def _encode_header(parameter: Parameter, text: str) -> str:
    if not text.isprintable():
        raise ToolError(f"{parameter.argument}: a header must be one line of printable text.")
    return quote(text, safe=" !\"#$%&'()*+,/:;<=>?@[\\]^`{|}~")


def _encode_query(parameter: Parameter, value: object, known: set[str]) -> list[tuple[str, str]]:
    """Encode a query parameter in its style; exploded keys must not name another parameter."""
    name = parameter.name
    if isinstance(value, Mapping):
        if parameter.style == "deepObject":
            return [(f"{name}[{key}]", _to_text(item)) for key, item in value.items()]
        if parameter.explode:
            if taken := value.keys() & known:
                raise ToolError(f"{parameter.argument}: {min(taken)!r} is another parameter.")
            return [(str(key), _to_text(item)) for key, item in value.items()]
    elif isinstance(value, list) and parameter.explode:
        return [(name, _to_text(item)) for item in value]
    separator = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, ",")
    return [(name, _join_values(value, separator))]


def _join_values(value: object, separator: str) -> str:
    if isinstance(value, Mapping):
        return separator.join(f"{key}{separator}{_to_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return separator.join(map(_to_text, value))
    return _to_text(value)


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _build_body(
    operation: Operation, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return httpx2's keyword arguments for the body, and its headers."""
    if operation.body not in arguments:
        return {}, {}
    body, media_type = arguments[operation.body], operation.media_type
    fields = {key: _to_text(item) for key, item in body.items()} if isinstance(body, dict) else {}
    if media_type == "application/x-www-form-urlencoded":
        return {"data": fields}, {}
    if media_type.startswith("multipart/"):
        return {"files": {key: (None, item) for key, item in fields.items()}}, {}
    text = body if isinstance(body, str) and "json" not in media_type else dumps(body)
    return {"content": text.encode()}, {"Content-Type": media_type}
