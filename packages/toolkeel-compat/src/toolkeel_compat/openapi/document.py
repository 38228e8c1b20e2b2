"""Reading an OpenAPI document: each operation as the data a tool is made of. Pure; no network.

OpenAPI 3.0 and 3.1. Schemas become plain JSON Schema: references into ``components`` become
``$defs`` that the tool carries along, 3.0's ``nullable`` and boolean limits become types and
numbers, and what a client may not send (``readOnly``) is left out.

Source: https://spec.openapis.org/oas/v3.1.1.html and https://spec.openapis.org/oas/v3.0.4.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import map_children
from toolkeel.define.schema.foreign import or_null
from toolkeel.define.subschemas import all_subschemas, target_of
from toolkeel.errors import SetupError

Json = dict[str, Any]
LARGEST = 200_000
"""Schemas within schemas of one document."""
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_NOT_PARAMETERS = ("accept", "content-type", "authorization")
"""Headers that the specification says are no parameters."""
_NOT_THE_MODELS = re.compile(
    r"host|cookie2?|connection|content-(?:length|encoding|transfer-encoding)|transfer-encoding|te"
    r"|trailer|upgrade|keep-alive|expect|via|origin|referer|http2-settings|proxy-.*|sec-.*|forwarded"
    r"|x-forwarded.*|x-original-.*|x-rewrite-.*|x-override-.*|(?:x-)?http-method.*|x-method.*|x-host"
    r"|x-http-host-override|x-(?:real|client|remote|cluster-client|originating|envoy-external)-?\w*"
    r"|(?:true|cf)-(?:client|connecting)-ip|fastly-client-ip|x-(?:remote|authenticated)-?user.*"
)
"""Headers that say whom a request is for, who sends it or where it ends: no argument of a model."""
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_DROPPED = ("discriminator", "xml", "externalDocs", "example", "readOnly", "writeOnly", "nullable")


@record
class Parameter:
    """Where one argument goes.

    Args:
        argument: Its name among the tool's arguments.
        name: Its name on the wire.
        where: ``path``, ``query``, ``header`` or ``cookie``.
        style: How lists and objects are written.
        explode: Whether each of their items stands alone.
    """

    argument: str
    name: str
    where: str
    style: str
    explode: bool


@record
class Operation:
    """One operation.

    Args:
        name: Its `operationId`, or method and path.
        method: In capitals.
        path: With placeholders in braces.
        description: Summary and description.
        tags: As the document sorts it.
        parameters: Where the arguments go.
        body: Name of the argument that is the body; empty if there is none.
        media_type: Of the body.
        schema: JSON Schema of all arguments.
    """

    name: str
    method: str
    path: str
    description: str
    tags: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    body: str
    media_type: str
    schema: Json


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """Every operation of a document, in its order.

    Args:
        document: The parsed document.

    Raises:
        SetupError: if it is no OpenAPI 3, or refers to something outside itself or missing.
    """
    version = str(document.get("openapi", ""))
    if not version.startswith("3."):
        found = version or document.get("swagger") or "none"
        raise SetupError(f"an OpenAPI 3 document is needed; this one says {found!r}")
    try:
        return list(_Reader(document, old=version.startswith("3.0")).operations())
    except (AttributeError, LookupError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise SetupError(f"the OpenAPI document cannot be read ({why:.200})") from error


def server_url(document: Mapping[str, Any]) -> str:
    """The first server's address, its variables at their defaults; empty if it has none."""
    servers = document.get("servers") or [{}]
    url = str(servers[0].get("url", ""))
    for name, variable in (servers[0].get("variables") or {}).items():
        url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    return url if "://" in url else ""


class _Reader:
    def __init__(self, document: Mapping[str, Any], old: bool) -> None:
        self._document = document
        self._old = old
        self._left = LARGEST
        self._known: dict[str, tuple[Any, list[str]]] = {}

    def operations(self) -> Iterator[Operation]:
        for path, item in (self._document.get("paths") or {}).items():
            shared = self._resolve(item)
            for method in METHODS:
                if method in shared:
                    yield self._operation(path, method, shared)

    def _operation(self, path: str, method: str, item: Json) -> Operation:
        node = item[method]
        found = self._parameters(item, node)
        properties: Json = {}
        required = []
        parameters = []
        for each in found:
            argument = each["name"]
            if argument in properties:
                argument = f"{argument}_{each['in']}"
            properties[argument] = self._described(each)
            if each.get("required") or each["in"] == "path":
                required.append(argument)
            style = each.get("style") or _STYLES[each["in"]]
            explode = each.get("explode", style == "form")
            parameters.append(Parameter(argument, each["name"], each["in"], style, explode))
        body, media_type = self._body(node, properties, required)
        schema: Json = {"type": "object", "properties": properties, "required": required}
        schema["additionalProperties"] = False
        defs = self._used(schema)
        return Operation(
            node.get("operationId") or re.sub(r"[\W_]+", "_", f"{method}_{path}").strip("_"),
            method.upper(),
            f"/{path.removeprefix('/')}",  # else "@b.org" behind "https://a.org" is another server
            "\n\n".join(filter(None, (node.get("summary"), node.get("description")))),
            tuple(node.get("tags") or ()),
            tuple(parameters),
            body,
            media_type,
            {**schema, "$defs": defs} if defs else schema,
        )

    def _parameters(self, item: Json, node: Json) -> list[Json]:
        """Those of the path and of the operation; the operation's own win."""
        merged: dict[tuple[str, str], Json] = {}
        for each in [*(item.get("parameters") or ()), *(node.get("parameters") or ())]:
            found = self._resolve(each)
            if found["in"] not in _STYLES:
                told = f"a parameter is in {found['in']!r:.40}: {', '.join(_STYLES)}"
                raise SetupError(f"the OpenAPI document cannot be read: {told}")
            # Gateways to programs (CGI, WSGI) take "_" for "-".
            name = str(found["name"]).strip().lower().replace("_", "-")
            if found["in"] == "header" and (
                name in _NOT_PARAMETERS or _NOT_THE_MODELS.fullmatch(name)
            ):
                continue
            merged[found["in"], found["name"]] = found
        return list(merged.values())

    def _described(self, parameter: Json) -> Json:
        schema = parameter.get("schema")
        if schema is None:  # its value is written as one media type
            written: list[Json] = list((parameter.get("content") or {}).values())
            schema = written[0].get("schema", {}) if written else {}
        made: Json = self._schema(schema)
        if parameter.get("description") and "$ref" not in made:
            made.setdefault("description", parameter["description"])
        return made

    def _body(self, node: Json, properties: Json, required: list[str]) -> tuple[str, str]:
        if "requestBody" not in node:
            return "", ""
        body = self._resolve(node["requestBody"])
        content = body.get("content") or {}
        media_type = min(content, key=_rank, default="")
        if not media_type:
            return "", ""
        name = "body" if "body" not in properties else "request_body"
        schema = self._schema(content[media_type].get("schema") or {})
        if _rank(media_type) == len(_MEDIA):  # written by the model as text
            schema = {"type": "string"}
        if body.get("description") and "$ref" not in schema:
            schema.setdefault("description", body["description"])
        properties[name] = schema
        if body.get("required"):
            required.append(name)
        return name, media_type

    def _resolve(self, node: Json, seen: tuple[str, ...] = ()) -> Json:
        """What a node refers to, or the node."""
        if "$ref" not in node:
            return node
        target = node["$ref"]
        if target in seen:
            raise SetupError(f"the OpenAPI document refers in a circle: {target}")
        return self._resolve(self._at(target), (*seen, target))

    def _at(self, target: str) -> Any:
        if not target.startswith("#/"):
            raise SetupError(
                f"the OpenAPI document refers to {target!r}, outside itself; bundle it"
            )
        if (found := target_of(unquote(target), self._document)) is None:
            raise SetupError(f"the OpenAPI document has no {target!r}")
        return found

    # — schemas —

    def _schema(self, node: Any) -> Any:
        """A schema as plain JSON Schema, its references into ``$defs``."""
        self._left -= 1
        if self._left < 0:  # what refers twice to what refers twice to ...
            raise SetupError(f"the OpenAPI document has schemas of more than {LARGEST:,} parts")
        if not isinstance(node, Mapping):
            return node
        if "$ref" in node:
            _, _, name = str(node["$ref"]).rpartition("/")
            if node["$ref"] != f"#/components/schemas/{name}":
                return self._schema(self._resolve(dict(node)))
            return {"$ref": f"#/$defs/{name}"}
        kept = {key: value for key, value in node.items() if key not in _DROPPED}
        made = map_children(kept, lambda child, _: self._schema(child))
        if isinstance(made.get("properties"), dict):
            self._without_read_only(node, made)
        if self._old:
            _modernise(node, made)
        return made

    def _without_read_only(self, node: Mapping[str, Any], made: Json) -> None:
        sent = {
            name: schema
            for name, schema in made["properties"].items()
            if not isinstance(schema, Mapping)
            or not self._resolve(dict(node["properties"][name])).get("readOnly")
        }
        made["properties"] = sent
        if "required" in made:
            made["required"] = [name for name in made["required"] if name in sent]

    def _used(self, schema: Json) -> Json:
        """The components that a schema refers to, directly or not."""
        defs: Json = {}
        waiting = _names(schema)
        while waiting:
            name = waiting.pop()
            if name not in defs:
                defs[name], more = self._component(name)
                waiting += more
        return defs

    def _component(self, name: str) -> tuple[Any, list[str]]:
        """A component, and those that it refers to."""
        if name not in self._known:
            made = self._schema(self._at(f"#/components/schemas/{name}"))
            self._known[name] = made, _names(made)
        return self._known[name]


def _names(schema: Any) -> list[str]:
    """The components that a schema names, each once."""
    parts = all_subschemas(schema) if isinstance(schema, Mapping) else ()
    found = [str(part["$ref"]).removeprefix("#/$defs/") for part in parts if "$ref" in part]
    return list(dict.fromkeys(found))


_MEDIA = (
    r"application/json\b.*", r".*\+json\b.*", r"application/x-www-form-urlencoded", r"multipart/.*",
)  # fmt: skip


def _rank(media_type: str) -> int:
    """Which media types are taken first; the last are written as plain text."""
    ranks = (i for i, pattern in enumerate(_MEDIA) if re.fullmatch(pattern, media_type))
    return next(ranks, len(_MEDIA))


def _modernise(node: Mapping[str, Any], made: Json) -> None:
    """OpenAPI 3.0's own spellings as JSON Schema's."""
    for limit in ("Minimum", "Maximum"):
        if isinstance(made.get(f"exclusive{limit}"), bool):
            exclusive = made.pop(f"exclusive{limit}")
            if exclusive and limit.lower() in made:
                made[f"exclusive{limit}"] = made.pop(limit.lower())
    if node.get("nullable"):
        or_null(made)
