"""Arguments of a call as people type them: ``key=value`` words, converted by the tool's schema.

Text stays text where the schema accepts text; any other value is read as JSON. Validation reports
what the schema refuses, and names the field.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import expand_home
from toolkeel.builtin.tools_in_module import suggest_or_list
from toolkeel.define.subschemas import (
    applicable_schemas,
    json_equal,
    json_type,
    list_of,
    properties_of,
)
from toolkeel.define.tool import AnyTool
from toolkeel_studio.cli.exit_codes import UsageProblem

Schema = Mapping[str, Any]
_NOTHING: Any = object()


def read_arguments(words: Sequence[str], tool: AnyTool) -> str | dict[str, object]:
    """Read the arguments of a call from ``key=value`` words.

    Args:
        words: Each ``key=value``: text or JSON, depending on the schema; ``key=@file`` and ``key=-``
            take the value from a file or stdin, ``key:=json`` is always JSON; a repeated key makes a
            list. Or one word: a JSON object, ``@file`` or ``-``.
        tool: The tool to call.

    Raises:
        UsageProblem: for a word without ``=``, an unknown key, or a file that cannot be read.
    """
    if len(words) == 1 and _is_complete(words[0]):
        return words[0] if words[0].lstrip().startswith("{") else _read_source(words[0])
    given: dict[str, list[tuple[str, bool]]] = {}
    for word in words:
        key, text, is_json = _split_word(word, tool)
        given.setdefault(key, []).append((text, is_json))
    return {key: _value(key, values, tool) for key, values in given.items()}


def _is_complete(word: str) -> bool:
    return word.lstrip().startswith("{") or word == "-" or (word[:1] == "@" and "=" not in word)


def _split_word(word: str, tool: AnyTool) -> tuple[str, str, bool]:
    """Split a word into its key, its text, and True if the text must be JSON."""
    key, equals, text = word.partition("=")
    known = list(properties_of(tool.parameters))
    if not equals:
        example = f"{known[0]}=..." if known else "no arguments"
        raise UsageProblem(
            f"{word!r} is not an argument: {tool.name} takes key=value words, such as {example}, "
            "or one JSON object"
        )
    is_json = key.endswith(":") and key not in known
    key = key.removesuffix(":") if is_json else key
    if key not in known and not _takes_any(tool):
        raise UsageProblem(f"{tool.name} has no argument {key!r}; {suggest_or_list(key, known)}")
    if text == "-" or (text[:1] == "@" and text[:2] != "@@"):
        return key, _read_source(text), is_json
    return key, text.removeprefix("@") if text[:2] == "@@" else text, is_json


def _takes_any(tool: AnyTool) -> bool:
    open_ended = ("additionalProperties", "patternProperties")
    return tool.unknown_keys == "allow" or any(tool.parameters.get(key) for key in open_ended)


def _read_source(word: str) -> str:
    """Return the content that ``@file`` or ``-`` refers to, without its final newline."""
    if word == "-":
        return sys.stdin.read().removesuffix("\n")
    path = expand_home(word[1:])
    try:
        return path.read_text("utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        siblings = _siblings(path)
        hint = f"; {suggest_or_list(path.name, siblings)}" if siblings else ""
        raise UsageProblem(
            f"cannot read {str(path)!r}: {why}{hint} (for text that begins with @, write @@)"
        ) from None


def _siblings(path: Path) -> list[str]:
    """Names near a file that is not there."""
    if path.exists() or not path.parent.is_dir():
        return []
    return sorted(other.name for other in path.parent.iterdir())[:200]


def _value(key: str, given: list[tuple[str, bool]], tool: AnyTool) -> object:
    schema = _schema_of(key, tool.parameters)
    if len(given) == 1:
        [(text, is_json)] = given
        return _json_or_refuse(key, text) if is_json else convert(text, schema, tool.parameters)
    if "array" not in kinds(schema, tool.parameters) and schema:
        raise UsageProblem(f"{key!r} is given {len(given)} times, but {tool.name} takes it once")
    items = _items(schema, tool.parameters)
    return [
        _json_or_refuse(key, text) if is_json else convert(text, items, tool.parameters)
        for text, is_json in given
    ]


def _json_or_refuse(key: str, text: str) -> object:
    value = _parsed(text)
    if value is _NOTHING:
        raise UsageProblem(f"{key}:= takes JSON, and {text!r} is none; for text, write {key}=...")
    return value


def convert(text: str, schema: Schema, root: Schema, lists: int = 8) -> object:
    """Convert text to a value of the type that a schema expects.

    Args:
        text: As typed.
        schema: Schema of this value.
        root: The schema that references point into.
        lists: How many nested lists may be made around the value.

    >>> convert("3", {"type": "integer"}, {}), convert("3", {"type": "string"}, {})
    (3, '3')
    >>> convert("猫", {"type": "array", "items": {"type": "string"}}, {})
    ['猫']
    """
    members = [m for part in _parts(schema, root) for m in _members(part)]
    if text in members:
        return text
    allowed = kinds(schema, root)
    value = _parsed(text)
    if value is not _NOTHING and any(json_equal(value, member) for member in members):
        return value
    if "string" in allowed:
        return text
    if "boolean" in allowed and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if (
        "array" in allowed
        and lists
        and not isinstance(value, list)
        and not ("object" in allowed or value is None)
    ):
        return [convert(text, _items(schema, root), root, lists - 1)]
    return text if value is _NOTHING else value


def known_values(schema: Schema, root: Schema) -> list[str]:
    """Return the values that a schema lists, as they are typed; booleans have two.

    >>> known_values({"enum": ["a", 1]}, {}), known_values({"type": "boolean"}, {})
    (['a', '1'], ['false', 'true'])
    """
    members = [m for part in _parts(schema, root) for m in _members(part) if m is not None]
    if "boolean" in kinds(schema, root) and not members:
        return ["false", "true"]
    return [m if isinstance(m, str) else json.dumps(m, ensure_ascii=False) for m in members]


def kinds(schema: Schema, root: Schema) -> frozenset[str]:
    """JSON types a schema lets through; empty if it does not say.

    >>> sorted(kinds({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {}))
    ['integer', 'null']
    """
    found: set[str] = set()
    for part in _parts(schema, root):
        named = part.get("type", ())
        found.update([named] if isinstance(named, str) else named)
        found.update(json_type(member) for member in _members(part))
    return frozenset(found)


def _parts(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield a schema, the schemas it refers to, and its alternatives."""
    return (part for part in applicable_schemas([schema], root) if isinstance(part, Mapping))


def _members(part: Schema) -> list[object]:
    return [*list_of(part, "enum"), *([part["const"]] if "const" in part else [])]


def _items(schema: Schema, root: Schema) -> Schema:
    for part in _parts(schema, root):
        items = part.get("items")
        if isinstance(items, Mapping):
            return items
    return {}


def _schema_of(key: str, parameters: Schema) -> Schema:
    found = properties_of(parameters).get(key)
    if found is None:
        found = parameters.get("additionalProperties")
    return found if isinstance(found, Mapping) else {}


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _parsed(text: str, load: Callable[..., Any] = json.loads) -> Any:
    """`text` as strict JSON; `_NOTHING` if it is none."""
    try:
        return load(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING
