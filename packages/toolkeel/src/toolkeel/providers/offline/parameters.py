"""A tool's parameters, as the offline model fills them: types, roles, and the check of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import jsonschema_rs

from toolkeel._records.record import record
from toolkeel.define.subschemas import properties_of, required_of, target_of
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline import lexicon
from toolkeel.providers.offline.lexicon import ideas_of

Schema: TypeAlias = Mapping[str, object]

MOST = 64
"""Optional parameters of a tool that are considered."""
_DESCRIBED = {
    "path": "path", "file": "path", "folder": "path", "url": "url", "link": "url", "email": "email",
    "timezone": "zone", "city": "place", "place": "place", "location": "place",
    "expression": "expression", "equation": "expression", "formula": "expression",
}  # fmt: skip
"""Roles by a word of the description's first sentence."""
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[\u4e00-\u9fff]+|\d+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”|`[^`]*`")
_FILE_NAMES = re.compile(r"\b(?:names or paths|file ?names?|globs?)\b", re.IGNORECASE)
_PROGRAM = re.compile(r"\b(?:program|script|source|python|javascript|shell|sql)\b|程序", re.I)


@record
class Parameter:
    """A parameter of a tool.

    Args:
        name: Its name.
        schema: Its JSON Schema, references resolved.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object`` or empty.
        required: True if the tool cannot run without it.
        role: What its text holds, a key of the table ``kinds``; empty if unknown.
        labels: Words of its name, in lower case.
        choices: The allowed values, if they are listed.
        description: Its author's description.
    """

    name: str
    schema: Schema
    type: str
    required: bool
    role: str
    labels: tuple[str, ...]
    choices: tuple[object, ...]
    description: str


def parameters_of(tool: ToolDefinition) -> list[Parameter]:
    """Return a tool's parameters in the schema's order, but required ones first, and at most 64 optional ones."""
    root = tool.parameters
    required = [name for name in required_of(root) if isinstance(name, str)]
    known = properties_of(root)
    optional = [name for name in known if name not in required][:MOST]
    names = [name for name in known if name in required or name in optional]
    schemas = {name: known.get(name, {}) for name in dict.fromkeys([*names, *required])}
    found = [
        parameter_of(str(name), resolve(raw, root), name in required)
        for name, raw in schemas.items()
    ]
    return sorted(found, key=lambda parameter: not parameter.required)


def parameter_of(name: str, schema: Schema, required: bool) -> Parameter:
    """Read a parameter from its resolved schema."""
    labels = tuple(part.lower() for part in _PART.findall(name))
    text = schema.get("description")
    description = text if isinstance(text, str) else ""
    choices = (schema["const"],) if "const" in schema else schema.get("enum")
    listed = tuple(choices) if isinstance(choices, list | tuple) else ()
    declared = schema.get("type")
    if isinstance(declared, list | tuple):
        declared = next((each for each in declared if each != "null"), "")
    kind = declared if isinstance(declared, str) else ""
    kind = kind or ("string" if listed and all(isinstance(c, str) for c in listed) else "")
    role = _role_of(schema, labels, description)
    return Parameter(name, schema, kind, required, role, labels, listed, description)


def resolve(raw: object, root: Schema, depth: int = 0) -> Schema:
    """Return a schema with its outer ``$ref`` followed, and the first branch of a union or ``allOf`` but null merged.

    Empty for what is no object, and for more than eight levels.
    """
    if not isinstance(raw, Mapping) or depth > 8:
        return {}
    reference = raw.get("$ref")
    if isinstance(reference, str):
        rest = {key: value for key, value in raw.items() if key != "$ref"}
        return {**resolve(target_of(reference, root), root, depth + 1), **rest}
    for key in ("anyOf", "oneOf", "allOf"):
        options = raw.get(key)
        if isinstance(options, Sequence) and not isinstance(options, str):
            inner = [resolve(option, root, depth + 1) for option in options]
            first = next((option for option in inner if option.get("type") != "null"), {})
            return {**first, **{name: value for name, value in raw.items() if name != key}}
    return raw


def _role_of(schema: Schema, labels: tuple[str, ...], description: str) -> str:
    """Read the role from the format, else from the name, last word first, else the description."""
    known = schema.get("format")
    if isinstance(known, str) and known in lexicon.FORMATS:
        return lexicon.FORMATS[known]
    if labels == ("pattern",) and _FILE_NAMES.search(description):
        return "glob"
    if labels[-1:] == ("code",) and (
        _PROGRAM.search(description) or labels[:-1] or not description
    ):
        return "code"
    for word in ("".join(labels), *reversed(labels)):
        if role := lexicon.ROLES.get(word) or lexicon.ROLES.get(word.removesuffix("s")):
            return role
    first = re.findall(r"[a-z]+", description.split(".")[0].lower()[:100])
    return next((_DESCRIBED[word] for word in first if word in _DESCRIBED), "")


def ideas_of_parameter(parameter: Parameter) -> frozenset[str]:
    """Return the ideas in a parameter's name and description, without quoted examples."""
    about = _QUOTED.sub("", parameter.description[:300])
    return ideas_of(f"{parameter.name} {about}")


class ArgumentChecker:
    """Checks arguments against a tool's schema; a schema that does not compile accepts everything.

    Args:
        schema: The tool's JSON Schema.
    """

    def __init__(self, schema: Schema) -> None:
        self._root = schema
        self._validator = _compile(schema)

    def accepts(self, arguments: object) -> bool:
        """Return True if the arguments are valid."""
        return self._validator is None or self._validator.is_valid(arguments)

    def fits(self, schema: Schema, value: object) -> bool:
        """Return True if a value is valid by a part of the tool's schema, or that does not compile."""
        definitions = {
            key: self._root[key] for key in ("$defs", "definitions") if key in self._root
        }
        validator = _compile({**schema, **definitions})
        return validator is None or validator.is_valid(value)


def _compile(schema: Schema) -> jsonschema_rs.Validator | None:
    """Return a validator for a schema, or None if the schema is invalid."""
    try:
        return jsonschema_rs.validator_for(
            dict(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError):
        return None
