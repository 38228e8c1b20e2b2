"""Tools from an OpenAPI document: one for each operation, sending its requests with httpx2.

The model chooses the arguments and nothing else: not the server, not the credentials, not the end
of a path parameter. Redirects are not followed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from toolkeel._common.checked_arguments import checked
from toolkeel._common.nearest_names import did_you_mean
from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import NOTHING, record
from toolkeel.call.steps.label_sources import ORIGIN
from toolkeel.call.steps.taint import OWN_RESULTS
from toolkeel.content import Block, File, block_from_bytes
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.effects import Effects
from toolkeel.errors import SetupError, ToolError
from toolkeel.messages import ToolMessage, ToolOutput
from toolkeel_compat.openapi import document as openapi_document
from toolkeel_compat.openapi.document import Operation, Parameter, normal_header, read_server_url
from toolkeel_compat.openapi.request import RequestParts, build_request_parts
from toolkeel_workspace.web.bounded_decompression import Decompressor

with needs_extra("toolkeel_compat.openapi.tools", "openapi"):
    import httpx2

MAX_BYTES = 2_000_000
"""Most bytes of an answer that are read."""
READS = ("GET", "HEAD", "OPTIONS")
NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""By these no request has begun."""
EXCERPT = 500
"""Most characters of an error's body that the model is told."""


@checked
def from_openapi(
    document: Mapping[str, Any] | str | Path,
    *,
    base_url: str = "",
    operations: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    auth: httpx2.Auth | tuple[str, str] | None = None,
    headers: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
    params: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
    client: httpx2.AsyncClient | None = None,
    results: Literal["ours"] | None = None,
) -> list[AnyTool]:
    """Make tools from the operations of an OpenAPI 3 document.

    Args:
        document: Parsed, or the path of a JSON file.
        base_url: URL of the service; the document's first server by default.
        operations: Ids of the operations to use; all by default.
        tags: Use only operations with one of these tags.
        auth: Added to every request; the model does not get it.
        headers: Likewise; a header parameter of that name is not an argument then.
        params: Likewise, for query parameters.
        client: Sends the requests; by default a new one for each.
        results: ``"ours"`` if no stranger writes what the service answers; else its results count
            as private and as a stranger's text.

    Returns:
        One tool for each operation, in the document's order.

    Raises:
        SetupError: The document is unreadable, an id or tag is not in it, or it names no server.
    """
    read = _load_document(document)
    service = _Service(
        (base_url or read_server_url(read)).rstrip("/"),
        auth,
        dict(headers),
        dict(params),
        client,
        results == "ours",
    )
    if not service.base_url:
        raise SetupError("the OpenAPI document names no server; pass base_url='https://...'")
    return [
        _make_tool(operation, service) for operation in _select_operations(read, operations, tags)
    ]


def _load_document(document: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    if isinstance(document, Mapping):
        return document
    try:
        found = json.loads(Path(document).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(f"cannot read the OpenAPI document {document}: {error}") from error
    if not isinstance(found, dict):
        raise SetupError(f"{document} is no OpenAPI document")
    return found


def _select_operations(
    document: Mapping[str, Any], names: Collection[str] | None, tags: Collection[str] | None
) -> list[Operation]:
    found = openapi_document.read_operations(document)
    _check_names("operation", names, [operation.name for operation in found])
    _check_names("tag", tags, [tag for operation in found for tag in operation.tags])
    return [
        operation
        for operation in found
        if (names is None or operation.name in names)
        and (tags is None or set(operation.tags) & set(tags))
    ]


def _check_names(what: str, wanted: Collection[str] | None, known: list[str]) -> None:
    for name in wanted or ():
        if name not in known:
            hint = did_you_mean(name, known)
            raise SetupError(f"the OpenAPI document has no {what} {name!r}{hint}")


@record
class _Service:
    base_url: str
    auth: httpx2.Auth | tuple[str, str] | None
    headers: dict[str, str]
    params: dict[str, str]
    client: httpx2.AsyncClient | None
    is_ours: bool

    def fills_parameter(self, parameter: Parameter) -> bool:
        """Return True if the program supplies this parameter instead of the model."""
        if parameter.where == "header":
            return normal_header(parameter.name) in map(normal_header, self.headers)
        return parameter.where == "query" and parameter.name in self.params


def _make_tool(operation: Operation, service: _Service) -> AnyTool:
    hidden = {p.argument for p in operation.parameters if service.fills_parameter(p)}
    schema = dict(operation.schema)
    schema["properties"] = {k: v for k, v in schema["properties"].items() if k not in hidden}
    schema["required"] = [name for name in schema["required"] if name not in hidden]

    async def invoke(
        context: ToolContext[Any], arguments: dict[str, Any]
    ) -> ToolOutput | ToolMessage:
        parts = build_request_parts(operation, arguments, hidden, service.params)
        if service.client is not None:
            return await _send_request(service.client, operation, parts, service, context)
        async with httpx2.AsyncClient(timeout=None) as client:  # the tool's own deadline holds
            return await _send_request(client, operation, parts, service, context)

    method = operation.method
    reads = method in READS
    effects = Effects(
        read_only=reads,
        destructive=not reads,
        idempotent=reads or method in ("PUT", "DELETE"),
        open_world=True,
        private=True,
        stranger=not service.is_ours,
    )
    name = "".join("_" if char.isspace() else char for char in operation.name)
    described = operation.description or f"{method} {operation.path}"
    origin = hashlib.sha256(service.base_url.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Tool.from_schema(
        name,
        described,
        schema,
        invoke,
        effects=effects,
        tags=operation.tags,
        metadata={ORIGIN: f"openapi:{origin}", OWN_RESULTS: "reads"},
    )


async def _send_request(
    client: httpx2.AsyncClient,
    operation: Operation,
    parts: RequestParts,
    service: _Service,
    context: ToolContext[Any],
) -> ToolOutput | ToolMessage:
    """Send the request and read the response.

    Raises:
        ToolError: The server is unreachable, or did not answer with success.
    """
    what = f"{operation.method} {operation.path}"
    request = client.build_request(
        operation.method,
        service.base_url + parts.path,
        params=[*service.params.items(), *parts.query],
        headers={"Accept-Encoding": "gzip", **parts.headers, **service.headers},
        **parts.body,
    )
    auth = service.auth or httpx2.USE_CLIENT_DEFAULT
    reads = operation.method in READS
    try:
        with nullcontext() if reads else context.working_remotely():
            response = await client.send(request, stream=True, auth=auth, follow_redirects=False)
            try:
                data, is_complete = await _read_body(response)
            finally:
                await response.aclose()
    except httpx2.RequestError as error:
        slow = isinstance(error, httpx2.TimeoutException)
        why = f"no answer from the server ({type(error).__name__})"
        why = "the server took too long" if slow else why
        if reads or isinstance(error, NOT_SENT_ERRORS):
            raise ToolError(f"{what}: {why}.") from None
        text = f"{what}: {why}. Whether it took effect is not known: look before you call it again."
        return ToolMessage(text, status="error", kind="unknown_outcome")
    details = {"status": response.status_code, "operation": operation.name, "bytes": len(data)}
    if not response.is_success:
        raise ToolError(_format_failure(what, response, data), details)
    return ToolOutput(_convert_body(response, data, is_complete), details=details)


async def _read_body(response: httpx2.Response) -> tuple[bytes, bool]:
    """Return the body's bytes, at most `MAX_BYTES`, and True if that is all of it.

    Raises:
        ToolError: The compression was not requested, or is broken.
    """
    body = Decompressor(response.headers.get("content-encoding", ""), limit=sys.maxsize)
    data = bytearray()
    async for chunk in response.aiter_raw():
        for piece in body.feed(chunk):
            data += piece
            if len(data) > MAX_BYTES:
                return bytes(data[:MAX_BYTES]), False
    return bytes(data), True


def _format_failure(what: str, response: httpx2.Response, data: bytes) -> str:
    text_start = f"{what} answered HTTP {response.status_code} {response.reason_phrase}".rstrip()
    if response.is_redirect:
        return f"{text_start}: a redirect, which is not followed."
    text = _decode_text(response, data[: 4 * EXCERPT]).strip()
    return f"{text_start}: {text[:EXCERPT]}" if text else f"{text_start}."


def _decode_text(response: httpx2.Response, data: bytes) -> str:
    try:
        return data.decode(response.encoding or "utf-8", "replace")
    except (LookupError, ValueError):  # a codec of Python's that is no charset
        return data.decode("utf-8", "replace")


def _convert_body(response: httpx2.Response, data: bytes, is_complete: bool) -> object:
    """Return what the model reads: JSON as its value, text as text, anything else as a file."""
    kind = response.headers.get("content-type", "").lower()
    if not data:
        return f"HTTP {response.status_code}, no content"
    if "json" in kind and is_complete:
        with suppress(ValueError, RecursionError):
            return json.loads(data)
    if "json" in kind or kind.startswith("text/") or "xml" in kind or not kind:
        text = _decode_text(response, data)
        return text if is_complete else f"{text}\n[cut off after {MAX_BYTES:,} bytes]"
    if not is_complete:
        return f"[{kind}, more than {MAX_BYTES:,} bytes, which are not shown]"
    return _to_file_block(data, kind.partition(";")[0].strip())


def _to_file_block(data: bytes, media_type: str) -> Block:
    """Return the block that fits the bytes, with the declared type where the bytes do not show one."""
    block = block_from_bytes(data)
    if isinstance(block, File) and block.media_type != "application/pdf":
        return replace(block, media_type=media_type)
    return block
