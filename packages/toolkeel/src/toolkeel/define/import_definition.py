"""Back again: a tool definition in anybody's form → name, description, JSON Schema.

`parse_definition` tells the forms apart by their keys alone. What it does not know it keeps in
`provider_options`; what is no definition of a function is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import Node, check_shape, json_copy, map_objects
from toolkeel.define.subschemas import OTHER_TYPES, TYPES, admit_null
from toolkeel.errors import DefinitionError


@record
class ForeignDefinition:
    """Definition of a tool that another program made.

    Args:
        name: As written there; not yet checked to be a name here.
        description: For the model; may be empty.
        schema: JSON Schema of the parameters as written, of an object without properties if there are
            none. Only OpenAPI's spelling is translated.
        strict: True if the provider was asked to enforce it; None if the definition does not say.
        source: Which form it was: a target of `toolkeel.define.dialect.definition`, or ``bare`` for
            name, description and parameters alone.
        provider_options: Every other key of the definition.
    """

    name: str
    description: str
    schema: dict[str, Any]
    strict: bool | None
    source: str
    provider_options: Mapping[str, Any]


_ANY = frozenset({"any", "type_unspecified"})


def parse_definition(body: Mapping[str, Any]) -> ForeignDefinition:
    """Read one tool definition in any known form.

    Args:
        body: One of: OpenAI chat ``{"type": "function", "function": ...}``, OpenAI Responses
            (flat), Anthropic (``input_schema``), Bedrock (``toolSpec``), Gemini
            (``parametersJsonSchema``, or ``parameters`` in its OpenAPI spelling, alone or as
            the only one of ``functionDeclarations``), MCP (``inputSchema``), a JSON Schema with
            a ``title``, or bare ``name``, ``description``, ``parameters``.

    Raises:
        DefinitionError: if it is none of them, or a tool the provider runs itself.

    >>> found = parse_definition({"name": "now", "description": "The time.", "inputSchema": {}})
    >>> found.name, found.source, found.schema
    ('now', 'mcp', {'type': 'object', 'properties': {}})
    """
    if not isinstance(body, Mapping):
        raise DefinitionError(f"a tool definition must be an object, not {type(body).__name__}")
    plain = json_copy(body)
    for fits, read in _READERS:
        if fits(plain):
            return read(plain)
    raise DefinitionError(_unknown(plain))


def _unknown(body: Node) -> str:
    """Return the error text for a definition of no known form."""
    kind = body.get("type")
    if isinstance(kind, str) and kind not in ("function", "object"):
        return (
            f"a tool of type {kind!r} is run by its provider and has no parameters to import; "
            "define it as a hosted tool"
        )
    return (
        f"no known form of tool definition: it has the keys {', '.join(body) or '(none)'}; "
        "expected a name with 'parameters', 'input_schema' or 'inputSchema', a 'toolSpec', "
        "a 'function', or a JSON Schema with a 'title'"
    )


def _make(source: str, body: Node, schema_key: str, *wrapping: str) -> ForeignDefinition:
    """Build a definition from the object that holds its name.

    Raises `DefinitionError` for a missing name, or a description or parameters of a wrong type.
    """
    name = body.get("name")
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"the {source} tool definition has no name")
    description = body.get("description") or ""
    if not isinstance(description, str):
        raise DefinitionError(f"tool {name!r}: its description must be text")
    strict = body.get("strict")
    used = {"name", "description", "strict", schema_key, *wrapping}
    return ForeignDefinition(
        name,
        description,
        _parameters(body.get(schema_key), name),
        strict if isinstance(strict, bool) else None,
        source,
        {key: value for key, value in body.items() if key not in used},
    )


def _parameters(schema: Any, name: str) -> Node:
    """Return a tool's parameters, or an object schema without properties if there are none or ``{}``.

    Raises `DefinitionError` if they are no valid schema.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise DefinitionError(f"tool {name!r}: its parameters must be a JSON Schema object")
    _check(schema, name)
    if not schema:
        return {"type": "object", "properties": {}}
    return schema


def _check(schema: Node, name: object) -> None:
    """Raise `DefinitionError`, naming the tool, if a schema is malformed."""
    try:
        check_shape(schema, types=None)
    except DefinitionError as error:
        raise DefinitionError(f"tool {name!r}: {error}") from None


def _chat(body: Node) -> ForeignDefinition:
    """Read a definition of OpenAI's Chat Completions, or raise `DefinitionError`."""
    outer = {key: value for key, value in body.items() if key not in ("type", "function")}
    return _make("openai-chat", {**outer, **body["function"]}, "parameters")


def _bedrock(body: Node) -> ForeignDefinition:
    """Read a Bedrock definition, or raise `DefinitionError` if its schema is not an object."""
    spec = body["toolSpec"]
    schema = spec.get("inputSchema") or {}
    if not isinstance(schema, dict):
        raise DefinitionError("the bedrock tool definition's inputSchema must be an object")
    return _make("bedrock", {**spec, "inputSchema": schema.get("json")}, "inputSchema")


def _flat(body: Node) -> ForeignDefinition:
    """Read a definition with its schema under one known key, or raise `DefinitionError`."""
    source, *keys = next(each for each in _FLAT if each[1] in body)
    return _make(source, body, *keys)


def _gemini_list(body: Node) -> ForeignDefinition:
    """Read the only function of a Gemini tool; raise `DefinitionError` if there is not exactly one."""
    found = body.get("functionDeclarations") or body.get("function_declarations") or []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise DefinitionError("functionDeclarations must be a list of objects")
    if len(found) != 1:
        raise DefinitionError(
            f"functionDeclarations holds {len(found)} tools; import them one by one"
        )
    return parse_definition(found[0])


def _bare(body: Node) -> ForeignDefinition:
    """Read name, description and parameters, in JSON Schema's or OpenAPI's spelling, or raise `DefinitionError`."""
    schema = body.get("parameters")
    legacy = False
    if isinstance(schema, dict):
        _check(schema, body.get("name"))
        legacy = _is_openapi(schema)
        body = {**body, "parameters": _json_schema(schema)}
    return _make("gemini-legacy" if legacy else "bare", body, "parameters")


def _titled(body: Node) -> ForeignDefinition:
    """Read a JSON Schema with a title, which is the tool's name, or raise `DefinitionError`."""
    schema = {key: value for key, value in body.items() if key not in ("title", "description")}
    head = {"name": body["title"], "description": body.get("description")}
    return _make("plain", {**head, "schema": schema}, "schema")


_FLAT = (
    ("gemini", "parametersJsonSchema"),
    ("gemini", "parameters_json_schema"),
    ("mcp", "inputSchema"),
    ("anthropic", "input_schema", "type"),
)
"""Forms that are known by the name of the schema beside the tool's: that name first."""
_SCHEMA_KEYS = frozenset({"properties", "$ref", "anyOf", "oneOf", "allOf", "$schema", "$defs"})


def _is_titled(body: Node) -> bool:
    """Return True if a definition is a JSON Schema with a title."""
    is_object = body.get("type") == "object" or bool(_SCHEMA_KEYS & body.keys())
    return isinstance(body.get("title"), str) and is_object


_READERS: tuple[tuple[Callable[[Node], bool], Callable[[Node], ForeignDefinition]], ...] = (
    (lambda body: isinstance(body.get("function"), dict), _chat),
    (lambda body: isinstance(body.get("toolSpec"), dict), _bedrock),
    (lambda body: "functionDeclarations" in body or "function_declarations" in body, _gemini_list),
    (lambda body: "name" in body and any(key in body for _, key, *_ in _FLAT), _flat),
    (
        lambda body: body.get("type") == "function" and "name" in body,
        lambda body: _make("openai-responses", body, "parameters", "type"),
    ),
    (lambda body: "name" in body and "type" not in body, _bare),
    (_is_titled, _titled),
)
"""Which form a definition is in, the most telling signs first."""


def _is_openapi(schema: Node) -> bool:
    """Return True for Gemini's OpenAPI spelling of a schema: uppercase types, or ``nullable``."""
    kind = schema.get("type")
    if (isinstance(kind, str) and kind.isupper()) or "nullable" in schema:
        return True
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return any(isinstance(child, dict) and _is_openapi(child) for child in inner)


def _json_schema(schema: Node) -> Node:
    """Return a schema with OpenAPI's and other spellings of types in JSON Schema's, at every level."""
    node = map_objects(schema, _json_schema)
    kind = node.get("type")
    if isinstance(kind, str) and kind not in TYPES:
        lowered = kind.lower()
        if lowered in _ANY:
            del node["type"]
        else:
            node["type"] = OTHER_TYPES.get(lowered, lowered)
    if isinstance(node.get("nullable"), bool):
        node = admit_null(node) if node.pop("nullable") else node
    return node
