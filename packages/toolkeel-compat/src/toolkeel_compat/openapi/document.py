"""Read an OpenAPI document: each operation with its parameters and schema. Pure; no network.

OpenAPI 3.0 and 3.1. Schemas become plain JSON Schema: references into ``components`` become
``$defs`` of the tool, 3.0's ``nullable`` and boolean limits become types and numbers, and
``readOnly`` properties are left out.

Source: https://spec.openapis.org/oas/v3.1.1.html and https://spec.openapis.org/oas/v3.0.4.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import map_children
from toolkeel.define.subschemas import admit_null, all_subschemas, target_of
from toolkeel.errors import SetupError

Json = dict[str, Any]
MAX_SCHEMAS = 200_000
"""Schemas within schemas of one document."""
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
"""Headers that the specification says are no parameters."""
_FORBIDDEN_HEADERS = re.compile(
    r"host|cookie2?|connection|content-(?:length|encoding|transfer-encoding)|transfer-encoding|te"
    r"|trailer|upgrade|keep-alive|expect|via|origin|referer|http2-settings|proxy-.*|sec-.*|forwarded"
    r"|x-forwarded.*|x-original-.*|x-rewrite-.*|x-override-.*|(?:x-)?http-method.*|x-method.*|x-host"
    r"|x-http-host-override|x-(?:real|client|remote|cluster-client|originating|envoy-external)-?\w*"
    r"|(?:true|cf)-(?:client|connecting)-ip|fastly-client-ip|x-(?:remote|authenticated)-?user.*"
)
"""Headers that say whom a request is for, who sends it or where it ends: no argument of a model."""
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}
_DROPPED_KEYWORDS = (
    "discriminator",
    "xml",
    "externalDocs",
    "example",
    "readOnly",
    "writeOnly",
    "nullable",
)


@record
class Parameter:
    """The place of one argument in a request.

    Args:
        argument: Its name among the tool's arguments.
        name: Its name in the request.
        where: ``path``, ``query``, ``header`` or ``cookie``.
        style: Serialization of lists and objects.
        explode: Serialize each of their items separately.
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
        tags: Its tags.
        parameters: The places of the arguments.
        body: Name of the argument for the body; empty without one.
        media_type: Media type of the body.
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


def read_operations(document: Mapping[str, Any]) -> list[Operation]:
    """Return every operation of a document, in its order.

    Args:
        document: The parsed document.

    Raises:
        SetupError: It is not OpenAPI 3, or has an external or broken reference.
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


def read_server_url(document: Mapping[str, Any]) -> str:
    """Return the first server's URL with its variables at their defaults; empty without one."""
    servers = document.get("servers") or [{}]
    url = str(servers[0].get("url", ""))
    for name, variable in (servers[0].get("variables") or {}).items():
        url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
    return url if "://" in url else ""


def normal_header(name: str) -> str:
    """Return a header's name as gateways to programs (CGI, WSGI) compare it: they take ``_`` for ``-``."""
    return name.strip().lower().replace("_", "-")


class _Reader:
    def __init__(self, document: Mapping[str, Any], old: bool) -> None:
        self._document = document
        self._old = old
        self._left = MAX_SCHEMAS
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
            properties[argument] = self._describe_parameter(each)
            if each.get("required") or each["in"] == "path":
                required.append(argument)
            style = each.get("style") or _STYLES[each["in"]]
            explode = each.get("explode", style == "form")
            parameters.append(Parameter(argument, each["name"], each["in"], style, explode))
        body, media_type = self._body(node, properties, required)
        schema: Json = {"type": "object", "properties": properties, "required": required}
        schema["additionalProperties"] = False
        defs = self._collect_components(schema)
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
        """Return the parameters of the path and the operation; the operation's take precedence."""
        merged: dict[tuple[str, str], Json] = {}
        for each in [*(item.get("parameters") or ()), *(node.get("parameters") or ())]:
            found = self._resolve(each)
            if found["in"] not in _STYLES:
                problem = f"a parameter is in {found['in']!r:.40}: {', '.join(_STYLES)}"
                raise SetupError(f"the OpenAPI document cannot be read: {problem}")
            name = normal_header(str(found["name"]))
            if found["in"] == "header" and (
                name in _IGNORED_HEADERS or _FORBIDDEN_HEADERS.fullmatch(name)
            ):
                continue
            merged[found["in"], found["name"]] = found
        return list(merged.values())

    def _describe_parameter(self, parameter: Json) -> Json:
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
        media_type = min(content, key=_rank_media_type, default="")
        if not media_type:
            return "", ""
        name = "body" if "body" not in properties else "request_body"
        schema = self._schema(content[media_type].get("schema") or {})
        if _rank_media_type(media_type) == len(
            _PREFERRED_MEDIA_TYPES
        ):  # written by the model as text
            schema = {"type": "string"}
        if body.get("description") and "$ref" not in schema:
            schema.setdefault("description", body["description"])
        properties[name] = schema
        if body.get("required"):
            required.append(name)
        return name, media_type

    def _resolve(self, node: Json, visited: tuple[str, ...] = ()) -> Json:
        """Return the target of a node's reference, or the node."""
        if "$ref" not in node:
            return node
        target = node["$ref"]
        if target in visited:
            raise SetupError(f"the OpenAPI document refers in a circle: {target}")
        return self._resolve(self._look_up(target), (*visited, target))

    def _look_up(self, target: str) -> Any:
        if not target.startswith("#/"):
            raise SetupError(
                f"the OpenAPI document refers to {target!r}, outside itself; bundle it"
            )
        if (found := target_of(unquote(target), self._document)) is None:
            raise SetupError(f"the OpenAPI document has no {target!r}")
        return found

    # — schemas —

    def _schema(self, node: Any) -> Any:
        """Convert a schema to plain JSON Schema with references into ``$defs``."""
        self._left -= 1
        if self._left < 0:  # what refers twice to what refers twice to ...
            raise SetupError(f"the OpenAPI document has schemas of more than {MAX_SCHEMAS:,} parts")
        if not isinstance(node, Mapping):
            return node
        if "$ref" in node:
            _, _, name = str(node["$ref"]).rpartition("/")
            if node["$ref"] != f"#/components/schemas/{name}":
                return self._schema(self._resolve(dict(node)))
            return {"$ref": f"#/$defs/{name}"}
        fields = {key: value for key, value in node.items() if key not in _DROPPED_KEYWORDS}
        made = map_children(fields, lambda child, _: self._schema(child))
        if isinstance(made.get("properties"), dict):
            self._remove_read_only(node, made)
        return _convert_from_3_0(node, made) if self._old else made

    def _remove_read_only(self, node: Mapping[str, Any], made: Json) -> None:
        sent = {
            name: schema
            for name, schema in made["properties"].items()
            if not isinstance(schema, Mapping)
            or not self._resolve(dict(node["properties"][name])).get("readOnly")
        }
        made["properties"] = sent
        if "required" in made:
            made["required"] = [name for name in made["required"] if name in sent]

    def _collect_components(self, schema: Json) -> Json:
        """Return the components that a schema refers to, directly or indirectly."""
        defs: Json = {}
        waiting = _find_component_names(schema)
        while waiting:
            name = waiting.pop()
            if name not in defs:
                defs[name], more = self._component(name)
                waiting += more
        return defs

    def _component(self, name: str) -> tuple[Any, list[str]]:
        """Return a component, and the names of those it refers to."""
        if name not in self._known:
            made = self._schema(self._look_up(f"#/components/schemas/{name}"))
            self._known[name] = made, _find_component_names(made)
        return self._known[name]


def _find_component_names(schema: Any) -> list[str]:
    """Return the names of the components in a schema, each once."""
    parts = all_subschemas(schema) if isinstance(schema, Mapping) else ()
    found = [str(part["$ref"]).removeprefix("#/$defs/") for part in parts if "$ref" in part]
    return list(dict.fromkeys(found))


_PREFERRED_MEDIA_TYPES = (
    r"application/json\b.*", r".*\+json\b.*", r"application/x-www-form-urlencoded", r"multipart/.*",
)  # fmt: skip


def _rank_media_type(media_type: str) -> int:
    """Rank a media type, most preferred first. The last rank is sent as plain text."""
    ranks = (
        i for i, pattern in enumerate(_PREFERRED_MEDIA_TYPES) if re.fullmatch(pattern, media_type)
    )
    return next(ranks, len(_PREFERRED_MEDIA_TYPES))


def _convert_from_3_0(node: Mapping[str, Any], made: Json) -> Json:
    """Return a schema with OpenAPI 3.0's own keywords as JSON Schema's.

    Args:
        node: The schema as written.
        made: The schema converted so far; changed in place.
    """
    for limit in ("Minimum", "Maximum"):
        if isinstance(made.get(f"exclusive{limit}"), bool):
            exclusive = made.pop(f"exclusive{limit}")
            if exclusive and limit.lower() in made:
                made[f"exclusive{limit}"] = made.pop(limit.lower())
    return admit_null(made) if node.get("nullable") else made
