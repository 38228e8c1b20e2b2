"""What a tool wants to be told: its JSON Schema, flattened into slots with a role each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

import jsonschema_rs

from toolkeel._records.record import record
from toolkeel.define.subschemas import properties_of, required_of, target_of
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.words import idea, ideas

Schema: TypeAlias = Mapping[str, object]
Path: TypeAlias = tuple[str, ...]

_DEPTH = 4
MOST = 2000
"""Slots that are looked at: a schema of references can have any number."""
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[\u4e00-\u9fff]+|\d+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”|`[^`]*`")
_ROLE_WORDS = {
    word: role for role, words in reversed(concepts.ROLES.items()) for word in words.split()
}


@record
class Slot:
    """One value a tool takes.

    Args:
        path: Keys from the arguments' root to it.
        schema: Its own JSON Schema, references resolved.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``array``, ``object`` or empty.
        required: Whether the tool cannot run without it.
        role: What it holds, a key of the table ``ROLES``; empty if unknown.
        labels: Words of its name, as people would write them before the value.
        ideas: Ideas in its name and description.
        choices: The values allowed, if they are listed.
        description: As the tool's author wrote it.
    """

    path: Path
    schema: Schema
    type: str
    required: bool
    role: str
    labels: tuple[str, ...]
    ideas: frozenset[str]
    choices: tuple[object, ...]
    description: str

    @property
    def name(self) -> str:
        return ".".join(self.path)


def slots_of(tool: ToolDefinition) -> list[Slot]:
    """The slots of a tool, required ones first, each group in the schema's order."""
    found = list(islice(_flatten(tool.parameters, tool.parameters, (), True), MOST))
    return sorted(found, key=lambda slot: not slot.required)


def _flatten(schema: Schema, root: Schema, path: Path, required: bool) -> Iterator[Slot]:
    for name, raw, demanded in _properties(schema):
        inner = resolve(raw, root)
        here = (*path, name)
        needed = required and demanded
        if isinstance(inner.get("properties"), Mapping) and len(here) < _DEPTH:
            yield from _flatten(inner, root, here, needed)
        else:
            yield _slot(here, inner, needed)


def _properties(schema: Schema) -> Iterator[tuple[str, object, bool]]:
    """Name, schema and whether it is required; also of those that are required but not described."""
    known = properties_of(schema)
    wanted = [name for name in required_of(schema) if isinstance(name, str)]
    yield from ((str(name), raw, name in wanted) for name, raw in known.items())
    yield from ((name, {}, True) for name in wanted if name not in known)


def required_objects(schema: Schema, root: Schema, path: Path = ()) -> Iterator[Path]:
    """Paths of the objects that must be there even if nothing in them is filled."""
    for name, raw, demanded in _properties(schema):
        inner = resolve(raw, root)
        here = (*path, name)
        if demanded and isinstance(inner.get("properties"), Mapping) and len(here) < _DEPTH:
            yield here
            yield from required_objects(inner, root, here)


def arguments_slot(tool: ToolDefinition) -> Slot:
    """The arguments as one slot, to ask for where the schema demands what no slot explains."""
    return _slot(("arguments",), tool.parameters, True)


def _slot(path: Path, schema: Schema, required: bool) -> Slot:
    labels = tuple(part.lower() for part in _PART.findall(path[-1]))
    description = schema.get("description")
    text = description if isinstance(description, str) else ""
    return Slot(
        path=path,
        schema=schema,
        type=_type_of(schema),
        required=required,
        role=_role(schema, labels, text),
        labels=labels,
        ideas=frozenset(filter(None, map(idea, labels)))
        | ideas(f"{path[-1]} {_QUOTED.sub('', text[:300])}"),
        choices=_choices(schema),
        description=text,
    )


def resolve(raw: object, root: Schema, depth: int = 0) -> Schema:
    """A schema without its outer ``$ref``, ``allOf`` of one, or "or null"."""
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
            some = next((option for option in inner if option.get("type") != "null"), {})
            rest = {name: value for name, value in raw.items() if name != key}
            return {**some, **rest}
    return raw


def _type_of(schema: Schema) -> str:
    declared = schema.get("type")
    if isinstance(declared, list | tuple):
        declared = next((name for name in declared if name != "null"), "")
    if isinstance(declared, str):
        return declared
    choices = _choices(schema)
    if choices and all(isinstance(choice, str) for choice in choices):
        return "string"
    return ""


def _choices(schema: Schema) -> tuple[object, ...]:
    if "const" in schema:
        return (schema["const"],)
    choices = schema.get("enum")
    return tuple(choices) if isinstance(choices, list | tuple) else ()


def _role(schema: Schema, labels: tuple[str, ...], description: str) -> str:
    """By format, else by the last word of the name that tells, else by the description."""
    known = schema.get("format")
    if isinstance(known, str) and known in concepts.FORMATS:
        return concepts.FORMATS[known]
    if _is_program(labels, description):
        return "code"
    if labels == ("pattern",) and _OF_NAMES.search(description):
        return "glob"
    joined = "".join(labels)
    for word in (joined, *reversed(labels)):
        role = _ROLE_WORDS.get(word) or _ROLE_WORDS.get(word.removesuffix("s"))
        if role:
            return role
    first = description.split(".")[0].lower()[:100]
    for role in ("expression", "path", "url", "email", "zone", "place"):
        if set(re.findall(r"[a-z]+|[\u4e00-\u9fff]{2}", first)) & {role, *concepts.STRONG[role]}:
            return role
    return ""


_LANGUAGES = frozenset(
    concepts.words_of("source python program js javascript typescript shell bash sql html 程序 源")
)
_OF_NAMES = re.compile(r"\b(?:names or paths|file ?names?|globs?)\b", re.IGNORECASE)
_SIGNS = re.compile(
    r"\b(?:stock|ticker|symbol|currency|country|language|airport|city|region|zip|postal|product"
    r"|order|item|discount|coupon|promo|voucher|student|employee|access|iso)\b"
    r"|股票|货币|国家|语言|机场|城市|邮政|产品|订单|优惠"
)


def _is_program(labels: tuple[str, ...], description: str) -> bool:
    """Whether a parameter called "code" takes a program, and not a sign for something."""
    if labels[-1:] not in (("code",), ("代码",)):
        return False
    return not _SIGNS.search(description.lower()) if len(labels) == 1 else labels[-2] in _LANGUAGES


class Checker:
    """Whether values satisfy a tool's schema; a schema that does not compile accepts all.

    Args:
        parameters: The tool's JSON Schema.
    """

    def __init__(self, parameters: Schema) -> None:
        self._root = parameters
        self._whole = _compile(parameters)

    def accepts(self, arguments: object) -> bool:
        """Whether the whole arguments are valid."""
        return self._whole is None or self._whole.is_valid(arguments)

    def wrong_paths(self, arguments: object) -> list[Path]:
        """Where the arguments are invalid."""
        if self._whole is None:
            return []
        errors = self._whole.iter_errors(arguments)
        return [tuple(str(part) for part in error.instance_path) for error in errors]

    def fits(self, slot: Slot, value: object) -> bool:
        """Whether a value is valid for one slot."""
        parts = {key: self._root[key] for key in ("$defs", "definitions") if key in self._root}
        validator = _compile({**slot.schema, **parts})
        return validator is None or validator.is_valid(value)


def _compile(schema: Schema) -> jsonschema_rs.Validator | None:
    try:
        return jsonschema_rs.validator_for(
            dict(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError):
        return None
