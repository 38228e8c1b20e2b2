"""Schemas in short phrases, of bounded length: "an integer from 1 to 10"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from toolkeel.define.explain.conjunction import MAX_ALTERNATIVES, plain_alternatives
from toolkeel.define.explain.value_phrases import MAX_KEYS, count_noun, cut, cut_json, quoted
from toolkeel.define.subschemas import (
    COMPOSED,
    Schema,
    applicable_schemas,
    list_of,
    properties_of,
    required_of,
)
from toolkeel.define.text_patterns import describe_pattern

_DEEPEST = 5  # types within each other that a phrase still spells out
_OPTIONS = 20  # values of an enum that a phrase still lists
_MOST = 1000  # schemas of one place that are read, as many as a schema may have branches


def describe_type(schema: object, root: Schema | None = None) -> str:
    """Describe the values of a schema, as a phrase that follows "expected".

    Args:
        schema: A JSON Schema, or True or False.
        root: The document that its local references point into; None: `schema` itself.

    >>> describe_type({"type": "array", "items": {"type": "string"}})
    'a list of strings'
    >>> describe_type({"enum": ["celsius", "fahrenheit"]})
    'one of "celsius", "fahrenheit"'
    >>> describe_type({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'an integer of at least 1, or null'
    """
    if root is None:
        root = schema if isinstance(schema, (dict, Mapping)) else {}
    return _phrase(schema, root, 0)


def _phrase(schema: object, root: Schema, depth: int) -> str:
    """Describe a schema's values in words: "no value at all" for False, "any value" below `_DEEPEST` levels."""
    if not isinstance(schema, (dict, Mapping)):  # `dict` first: an abstract class is slow
        return "no value at all" if schema is False else "any value"
    if depth > _DEEPEST:
        return "any value"
    if not _IN_PARTS.isdisjoint(schema):
        return join_phrases(plain_alternatives([schema], root), root, depth + 1)
    return _plain_phrase(schema, root, depth)


_IN_PARTS = COMPOSED | {"enum", "const", "not"}


def join_phrases(alternatives: Sequence[Schema], root: Schema, depth: int = 1) -> str:
    """Describe values that fit one of several plain schemas; "no value at all" without any.

    Args:
        alternatives: As `plain_alternatives` returns them.
        root: The document that local references point into.
        depth: Schemas around them.
    """
    if not alternatives:
        return "no value at all"
    short = _by_tag(alternatives) if len(alternatives) > MAX_KEYS else None
    return short or join_alternatives(_plain_phrase(each, root, depth) for each in alternatives)


def _by_tag(alternatives: Sequence[Schema]) -> str | None:
    """Describe objects by the first key that has a constant in each of their schemas; None if there is none."""
    for name in required_of(alternatives[0]):
        parts = [
            properties_of(each).get(name) for each in alternatives if name in required_of(each)
        ]
        values = [each["const"] for each in parts if isinstance(each, Mapping) and "const" in each]
        if len(values) == len(alternatives):
            more = ", …" * (len(values) >= MAX_ALTERNATIVES)
            return f"an object with {quoted(str(name))}: {_one_of(values)}{more}"
    return None


def _plain_phrase(schema: Schema, root: Schema, depth: int) -> str:
    """Describe the values of a schema without unions and references."""
    if "const" in schema:
        return cut_json(schema["const"])
    if "enum" in schema:
        return _one_of(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, str):
        return _typed(kind, schema, root, depth)
    if isinstance(kind, list):
        return join_alternatives(_typed(str(each), schema, root, depth) for each in kind)
    for keyword, kind in _KIND_BY_KEYWORD:
        if keyword in schema:
            return _typed(kind, schema, root, depth)
    if "not" in schema:
        refused = _phrase(schema["not"], root, depth + 1)
        if refused not in ("any value", "no value at all"):
            return f"anything but {refused}"
    return "any value"


# What a schema without a type is about.
_KIND_BY_KEYWORD = (
    ("properties", "object"), ("required", "object"), ("items", "array"), ("prefixItems", "array"), ("minItems", "array"),
    ("maxItems", "array"), ("pattern", "string"), ("minLength", "string"), ("maxLength", "string"),
    ("minimum", "number"), ("maximum", "number"), ("exclusiveMinimum", "number"),
    ("exclusiveMaximum", "number"), ("multipleOf", "number"), ("uniqueItems", "array"), ("contains", "array"),
)  # fmt: skip


def _typed(kind: str, schema: Schema, root: Schema, depth: int) -> str:
    """Describe the values of one JSON type that a schema admits."""
    if kind == "string":
        if schema.get("contentMediaType") != "application/json":
            return _string(schema)
        phrase = _phrase(schema.get("contentSchema", True), root, depth + 1)
        held = "JSON text" if phrase == "any value" else f"the JSON text of {phrase}"
        return f"{_string(schema)} with {held}"
    if kind in ("integer", "number"):
        return f"{'an integer' if kind == 'integer' else 'a number'}{_number_bounds(schema)}"
    if kind == "array":
        return _list(schema, root, depth)
    if kind == "object":
        return _object(schema, root, depth)
    words = {"boolean": "true or false", "null": "null"}
    return words.get(kind, f"a value of type {cut(kind, 30)}")


FORMATS = {
    "date": "a date (YYYY-MM-DD)",
    "date-time": "a date and time (ISO 8601)",
    "time": "a time (HH:MM:SS)",
    "duration": "a duration (ISO 8601)",
    "uuid": "a UUID",
    "email": "an e-mail address",
    "uri": "a URL",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "multi-host-uri": "a URL",
    "hostname": "a host name",
    "ipvanyaddress": "an IP address",
    "ipv4network": "an IPv4 network (10.0.0.0/8)",
    "ipv6network": "an IPv6 network (2001:db8::/32)",
    "ipvanynetwork": "an IP network (10.0.0.0/8)",
    "ipv4interface": "an IPv4 address, with a network or without (10.0.0.1/8)",
    "ipv6interface": "an IPv6 address, with a network or without (2001:db8::1/32)",
    "ipvanyinterface": "an IP address, with a network or without (10.0.0.1/8)",
    "regex": "a regular expression",
    "base64": "a string of base64 data",
    "base64url": "a string of base64url data",
    "path": "a path",
    "file-path": "a path of a file",
    "directory-path": "a path of a directory",
}
"""Formats of a string that have words of their own."""


def _string(schema: Schema) -> str:
    """Describe a string by its format, length in characters and pattern."""
    if _STRING_KEYWORDS.isdisjoint(schema):
        return "a string"
    known, format = describe_pattern(schema.get("pattern")), str(schema.get("format"))
    text = known or FORMATS.get(format, "a string")
    low, high = schema.get("minLength"), schema.get("maxLength")
    if low == 1 and text != "a string":
        low = None  # no such text is empty
    if low is not None or high is not None:
        text += f" of {_count(low, high, 'character')}"
    if "pattern" in schema and known is None:
        text += f" matching {cut(str(schema['pattern']), 60)}"
    return text


_STRING_KEYWORDS = frozenset({"format", "minLength", "maxLength", "pattern"})


def _number_bounds(schema: Schema) -> str:
    """Return the bounds and step of a number as the end of a phrase (" from 1 to 5"); empty without any."""
    if _NUMBER_KEYWORDS.isdisjoint(schema):
        return ""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if above is True or below is True:  # draft 4: they say how the others are intended
        above, low = (low, None) if above is True else (None, low)
        below, high = (high, None) if below is True else (None, high)
    parts = [f"greater than {above}"] if above is not None and above is not False else []
    if low is not None or high is not None:
        is_range = low is not None and high is not None and low != high
        joint = "" if parts else "from " if is_range else "of "
        parts.append(joint + _span(low, high))
    if below is not None and below is not False:
        parts.append(f"less than {below}")
    text = f" {' and '.join(parts)}" if parts else ""
    return text + (f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else "")


_NUMBER_KEYWORDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)

_BEYOND_TYPE = frozenset({"const", "enum", "contentSchema"}) | _STRING_KEYWORDS | _NUMBER_KEYWORDS
PLAIN: Mapping[object, str] = {
    "string": "a string", "integer": "an integer", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
"""The phrases for schemas that say no more than a type, as most do."""


def plain_type(schema: object) -> object:
    """Return the type of a schema whose only constraint is one type, or None."""
    if type(schema) is not dict or not _BEYOND_TYPE.isdisjoint(schema):
        return None
    kind = schema.get("type")
    return kind if type(kind) is str else None


def _span(low: object, high: object) -> str:
    """Describe a range: "at least 1", "1 to 10", "exactly 3"."""
    if high is None:
        return f"at least {low}"
    if low is None:
        return f"at most {high}"
    return f"exactly {low}" if low == high else f"{low} to {high}"


def _count(low: object, high: object, noun: str) -> str:
    """Describe a range of a noun, in the plural where needed: "at least 1 item", "2 to 3 items"."""
    return f"{_span(low, high)} {noun}{'s' * ((low if high is None else high) != 1)}"


def _list(schema: Schema, root: Schema, depth: int) -> str:
    """Describe a list by its items, their number, and what it must contain."""
    low, high = schema.get("minItems"), schema.get("maxItems")
    if first := list_of(schema, "prefixItems"):
        text = _tuple(first, low, high, root, depth)
    else:
        item = _inner_phrase(schema.get("items", True), root, depth)
        text = "a list" if item == "any value" else f"a list of {_plural(item)}"
        if low is not None or high is not None:
            text += f", {_span(low, high)} of them"
    text += ", none twice" if schema.get("uniqueItems") is True else ""
    if "contains" not in schema or (schema.get("minContains") == 0 and "maxContains" not in schema):
        return text
    return f"{text}{',' * (',' in text)} that holds {_held(schema, root, depth)}"


def _inner_phrase(schema: object, root: Schema, depth: int) -> str:
    """Describe the items of a list or an object; "any value" for a union far inside."""
    phrase = _phrase(schema, root, depth + 1)
    return "any value" if depth > 2 and " or " in phrase else phrase


def _held(schema: Schema, root: Schema, depth: int) -> str:
    """Describe what a list must contain."""
    item = _phrase(schema["contains"], root, depth + 1)
    low, high = schema.get("minContains"), schema.get("maxContains")
    if low is None and high is None:
        return item
    return f"{_count(low, high, 'item')} that each are {item}"


def _tuple(first: list[Any], low: object, high: object, root: Schema, depth: int) -> str:
    """Describe a list whose first items have schemas of their own."""
    parts = ", ".join(_phrase(each, root, depth + 1) for each in first[:MAX_KEYS])
    parts += ", …" if len(first) > MAX_KEYS else ""
    if (low is None and high is None) or low == high == len(first):
        return f"a list of {count_noun(len(first), 'item')} ({parts})"
    return f"a list of {_count(low, high, 'item')} ({parts})"


def _plural(phrase: str) -> str:
    """Return a phrase in the plural: "strings", or "items (each a string or null)" where that would be ambiguous."""
    if phrase == "true or false":
        return "booleans"
    is_list = phrase.startswith("a list")
    if " or " in phrase or (is_list and (", " in phrase or " that holds " in phrase)):
        # "lists of integers or null" could be null, and "lists, none twice" have no list twice.
        return f"items (each {phrase})"
    noun, space, rest = phrase.partition(" ")[2].partition(" ")
    if noun.rstrip(",") in _NOUNS and phrase[0] == "a":
        comma = "," if noun.endswith(",") else ""
        return f"{noun.rstrip(',')}s{comma}{space}{rest}"
    return f"items (each {phrase})"


_NOUNS = frozenset({"string", "integer", "number", "list", "object", "UUID", "URL", "path"})


def _object(schema: Schema, root: Schema, depth: int) -> str:
    """Describe an object by its required keys, its values or their number."""
    known = properties_of(schema)
    if names := required_of(schema) or list(known):
        return f"an object with {_keys(names, known)}"
    values = schema.get("additionalProperties")
    if (
        isinstance(values, (dict, Mapping))
        and (phrase := _inner_phrase(values, root, depth)) != "any value"
    ):
        return f"an object whose values are {_plural(phrase)}{_count_of_keys(schema, ', with')}"
    return f"an object{_count_of_keys(schema, ' with')}"


def _count_of_keys(schema: Schema, joint: str) -> str:
    """Return how many keys an object has as the end of a phrase; empty for any number."""
    low, high = schema.get("minProperties"), schema.get("maxProperties")
    if low is None and high is None:
        return ""
    return f"{joint} {_count(low, high, 'key')}"


def _keys(names: Sequence[Any], properties: Mapping[str, Any]) -> str:
    """Describe keys, with their value where it is fixed, which tells a union's branches apart."""
    shown = []
    for name in names[:MAX_KEYS]:
        value = properties.get(name)
        shown.append(quoted(str(name)))
        if isinstance(value, (dict, Mapping)) and "const" in value:
            shown[-1] += f": {cut_json(value['const'])}"
    return ", ".join(shown) + (f", … ({len(names)} in all)" if len(names) > MAX_KEYS else "")


def _one_of(options: object) -> str:
    """List the first options of an enum, and their number if there are more; "any value" if it is no list."""
    if not isinstance(options, Sequence) or isinstance(options, str):
        return "any value"
    shown = ", ".join(cut_json(option) for option in options[:_OPTIONS])
    if len(options) > _OPTIONS:
        shown += f", … ({len(options)} in all)"
    return shown if len(options) == 1 else f"one of {shown}"


def join_alternatives(phrases: Iterable[str]) -> str:
    """Join distinct phrases, at most `MAX_KEYS`, with "or"; "any value" if one of them is that, "" for none."""
    distinct = list(dict.fromkeys(phrases))
    if len(distinct) > MAX_KEYS:
        distinct = [*distinct[:MAX_KEYS], "…"]
    if "any value" in distinct:
        return "any value"
    separator = ", or " if any("," in each or " of " in each for each in distinct) else " or "
    return separator.join(distinct)


def alternatives(schemas: Sequence[object], root: Schema) -> list[Schema]:
    """Return schemas and those that they lead to by references, unions and `allOf`, as written, without booleans."""
    only = schemas[0] if len(schemas) == 1 else None
    if isinstance(only, (dict, Mapping)) and COMPOSED.isdisjoint(only):  # most
        return [only]
    found = islice(applicable_schemas(schemas, root), _MOST)
    return [schema for schema in found if isinstance(schema, (dict, Mapping))]


# — values —
