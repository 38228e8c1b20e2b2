"""From a call's arguments to a request: each value where the OpenAPI document says. Pure.

Source: https://spec.openapis.org/oas/v3.1.1.html#style-values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from toolkeel._records.record import record
from toolkeel.errors import ToolError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openapi.document import Operation, Parameter


@record
class Parts:
    """A request without its server.

    Args:
        path: Percent-encoded.
        query: Pairs, in order.
        headers: With the content's type.
        body: What else httpx2 is to send, by its own keywords.
    """

    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: dict[str, Any]


def request_parts(
    operation: Operation,
    arguments: Mapping[str, Any],
    hidden: Collection[str] = (),
    given: Collection[str] = (),
) -> Parts:
    """The parts of a call's request.

    Args:
        operation: What is called.
        arguments: Valid for its schema.
        hidden: Arguments that the program gives, which are left out here.
        given: Names of query parameters that the program gives: no argument may name them.

    Raises:
        ToolError: if a value cannot stand where it must.
    """
    path, query, cookies = operation.path, [], []
    body, headers = _body(operation, arguments)
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if value is None or parameter.argument in hidden:
            continue
        if parameter.where == "path":
            path = path.replace(f"{{{parameter.name}}}", _segment(parameter, value))
        elif parameter.where == "query":
            query += _pairs(parameter, value, {p.name for p in operation.parameters} | {*given})
        elif parameter.where == "header":
            headers[parameter.name] = _line(parameter, _joined(value, ","))
        else:
            cookies.append(f"{parameter.name}={quote(_joined(value, ','), safe='')}")
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    return Parts(path, query, headers, body)


def _segment(parameter: Parameter, value: object) -> str:
    """A path parameter: one segment, whatever stands in it."""
    text = _joined(value, ",")
    if text in ("", ".", ".."):
        raise ToolError(f"{parameter.argument}: {text!r} cannot stand in a path.")
    return quote(text, safe="")


def _line(parameter: Parameter, text: str) -> str:
    if not text.isprintable():
        raise ToolError(f"{parameter.argument}: a header must be one line of printable text.")
    return quote(text, safe=" !\"#$%&'()*+,/:;<=>?@[\\]^`{|}~")


def _pairs(parameter: Parameter, value: object, known: set[str]) -> list[tuple[str, str]]:
    """A query parameter in its style; where its keys stand alone they are no other parameter's."""
    name = parameter.name
    if isinstance(value, Mapping):
        if parameter.style == "deepObject":
            return [(f"{name}[{key}]", _text(item)) for key, item in value.items()]
        if parameter.explode:
            if taken := value.keys() & known:
                raise ToolError(f"{parameter.argument}: {min(taken)!r} is another parameter.")
            return [(str(key), _text(item)) for key, item in value.items()]
    elif isinstance(value, list) and parameter.explode:
        return [(name, _text(item)) for item in value]
    separator = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, ",")
    return [(name, _joined(value, separator))]


def _joined(value: object, separator: str) -> str:
    if isinstance(value, Mapping):
        return separator.join(f"{key}{separator}{_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return separator.join(map(_text, value))
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _body(
    operation: Operation, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The body as httpx2 takes it, and the headers that say what it is."""
    if operation.body not in arguments:
        return {}, {}
    body, media_type = arguments[operation.body], operation.media_type
    fields = {key: _text(item) for key, item in body.items()} if isinstance(body, dict) else {}
    if media_type == "application/x-www-form-urlencoded":
        return {"data": fields}, {}
    if media_type.startswith("multipart/"):
        return {"files": {key: (None, item) for key, item in fields.items()}}, {}
    text = body if isinstance(body, str) and "json" not in media_type else dumps(body)
    return {"content": text.encode()}, {"Content-Type": media_type}
