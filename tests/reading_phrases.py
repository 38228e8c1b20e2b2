"""What a phrase after "expected" says, read back as a JSON Schema, and a value that does as it says."""

from __future__ import annotations

import json
import re
from typing import Any

from toolkeel.define.text_patterns import DECIMALS, WORDS

Json = Any
_NUMBER = r"-?[0-9.]+(?:e[+-]?\d+)?"
_FORMATS = {
    "a date (YYYY-MM-DD)": ("date", "2026-01-02"),
    "a date and time (ISO 8601)": ("date-time", "2026-01-02T03:04:05Z"),
    "a time (HH:MM:SS)": ("time", "03:04:05"),
    "a duration (ISO 8601)": ("duration", "PT5S"),
    "a UUID": ("uuid", "12345678-1234-5678-1234-567812345678"),
}
_NOUNS = {
    "strings": "a string", "integers": "an integer", "numbers": "a number", "booleans": "true or false",
    "lists": "a list", "objects": "an object", "UUIDs": "a UUID",
}  # fmt: skip


def read_phrase(phrase: str) -> Json:
    """The schema that a phrase describes; None if this reader does not know its words."""
    phrase = re.sub(r" \((required|did you mean)[^)]*\)$", "", phrase)
    phrase = re.sub(r" \(required.*\)$", "", phrase)
    if (found := _single(phrase)) is not None:
        return found
    for separator, word in ((", and ", "allOf"), (", or ", "anyOf"), (" or ", "anyOf")):
        if len(split := _split(phrase, separator)) > 1:
            parts = [read_phrase(each) for each in split]
            return None if None in parts else {word: parts}
    return None


def _split(phrase: str, separator: str) -> list[str]:
    """The parts of a phrase between separators that are outside of parentheses and quotation marks."""
    parts, depth, quoted = [""], 0, False
    for at, letter in enumerate(phrase):
        quoted ^= letter == '"' and phrase[at - 1 : at] != "\\"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        parts[-1] += letter
        if depth == 0 and not quoted and parts[-1].endswith(separator):
            parts[-1] = parts[-1].removesuffix(separator)
            parts.append("")
    return parts


def _single(phrase: str) -> Json:
    if phrase in _FORMATS:
        return {"type": "string", "format": _FORMATS[phrase][0]}
    plain = {
        "true or false": {"type": "boolean"}, "null": {"const": None}, "an object": {"type": "object"},
        "a list": {"type": "array"}, "any value": {},
        **{WORDS[each]: {"type": "string", "pattern": each} for each in DECIMALS},
    }  # fmt: skip
    if phrase in plain:
        return plain[phrase]
    for read in (_options, _number, _string, _list, _object):
        if (found := read(phrase)) is not None:
            return found
    return None


def _options(phrase: str) -> Json:
    try:
        return {"enum": json.loads(f"[{phrase.removeprefix('one of ')}]")}
    except ValueError:
        return None


def _bounds(text: str, low: str, high: str) -> Json:
    """``of at least 3``, ``from 1 to 9``, ``exactly 4``."""
    if match := re.fullmatch(rf"exactly ({_NUMBER})", text):
        return {low: float(match[1]), high: float(match[1])}
    if match := re.fullmatch(rf"at least ({_NUMBER})", text):
        return {low: float(match[1])}
    if match := re.fullmatch(rf"at most ({_NUMBER})", text):
        return {high: float(match[1])}
    if match := re.fullmatch(rf"({_NUMBER}) to ({_NUMBER})", text):
        return {low: float(match[1]), high: float(match[2])}
    return None


def _number(phrase: str) -> Json:
    match = re.fullmatch(
        rf"(an integer|a number)(?: greater than ({_NUMBER}))?"
        rf"(?: (?:of|from|and) ((?:exactly|at least|at most)? ?{_NUMBER}(?: to {_NUMBER})?))?"
        rf"(?:(?: and)? less than ({_NUMBER}))?(?:, a multiple of ({_NUMBER}))?",
        phrase,
    )
    if match is None:
        return None
    made: Json = {"type": "integer" if match[1] == "an integer" else "number"}
    made |= _bounds(match[3], "minimum", "maximum") or {} if match[3] else {}
    words = {2: "exclusiveMinimum", 4: "exclusiveMaximum", 5: "multipleOf"}
    return made | {word: float(match[at]) for at, word in words.items() if match[at]}


def _string(phrase: str) -> Json:
    match = re.fullmatch(r"a string(?: of ([a-z0-9 ]+) characters?)?(?: matching (\S+))?", phrase)
    if match is None:
        return None
    made: Json = {"type": "string"}
    if match[1]:
        made |= {word: int(n) for word, n in _bounds(match[1], "minLength", "maxLength").items()}
    return made | ({"pattern": match[2]} if match[2] else {})


def _list(phrase: str) -> Json:
    made: Json = {"type": "array"}
    if match := re.fullmatch(r"(a list.*?),? that holds (.+)", phrase):
        phrase, held = match[1], match[2]
        if bounded := re.fullmatch(
            r"((?:exactly|at least|at most)? ?[0-9]+(?: to [0-9]+)?) items? that each are (.+)",
            held,
        ):
            made |= {
                word: int(n)
                for word, n in _bounds(bounded[1], "minContains", "maxContains").items()
            }
            held = bounded[2]
        if (item := read_phrase(held)) is None:
            return None
        made["contains"] = item
    if phrase.endswith(", none twice"):
        phrase, made["uniqueItems"] = phrase.removesuffix(", none twice"), True
    if match := re.fullmatch(
        r"(a list.*?), ((?:exactly|at least|at most)? ?[0-9]+(?: to [0-9]+)?) of them", phrase
    ):
        phrase = match[1]
        made |= {word: int(n) for word, n in _bounds(match[2], "minItems", "maxItems").items()}
    if phrase == "a list":
        return made
    if match := re.fullmatch(r"a list of ([0-9]+) items? \((.+)\)", phrase):
        first = _read_in_turn(_split(match[2], ", "), int(match[1]))
        sizes = {"minItems": int(match[1]), "maxItems": int(match[1])}
        return None if first is None else {**made, "prefixItems": first, **sizes}
    if match := re.fullmatch(
        r"a list of (at least |at most |exactly )?([0-9]+)(?: to ([0-9]+))? items?(?: \(.*\))?",
        phrase,
    ):
        least, most = int(match[2]), int(match[3] or match[2])
        if match[1] != "at most ":
            made["minItems"] = least
        if match[1] != "at least ":
            made["maxItems"] = most
        return made if "(" not in phrase else None
    if match := re.fullmatch(r"a list of (.+)", phrase):
        items = _read_plural(match[1])
        return None if items is None else {**made, "items": items}
    return None


def _read_in_turn(parts: list[str], count: int) -> list[Json] | None:
    """The schemas of `count` phrases, of which one may itself have been split at its commas."""
    if count == 1:
        last = read_phrase(", ".join(parts))
        return None if last is None else [last]
    for size in range(1, len(parts) - count + 2):
        first = read_phrase(", ".join(parts[:size]))
        rest = None if first is None else _read_in_turn(parts[size:], count - 1)
        if rest is not None:
            return [first, *rest]
    return None


def _read_plural(phrase: str) -> Json:
    """The schema of each of several values."""
    if match := re.fullmatch(r"items \(each (.+)\)", phrase):
        return read_phrase(match[1])
    return _single(_singular(phrase))


def _singular(phrase: str) -> str:
    noun, space, rest = phrase.partition(" ")
    return f"{_NOUNS[noun]}{space}{rest}" if noun in _NOUNS else phrase


def _object(phrase: str) -> Json:
    if match := re.fullmatch(r"an object with at (least|most) ([0-9]+) keys?", phrase):
        return {
            "type": "object",
            "minProperties" if match[1] == "least" else "maxProperties": int(match[2]),
        }
    if match := re.fullmatch(r"an object whose values are (.+?)(?:, with (.+) keys?)?", phrase):
        values = _read_plural(match[1])
        sizes = _bounds(match[2] or "", "minProperties", "maxProperties") or {}
        made = {"type": "object", "additionalProperties": values, **sizes}
        return None if values is None else made
    match = re.fullmatch(r'an object with ((?:"[^"]*"(?:: (?:"[^"]*"|[^,{ "]+))?(?:, )?)+)', phrase)
    if match is None:
        return None
    keys = dict(re.findall(r'"([^"]*)"(?:: ([^,]+))?', match[1]))
    fixed = {name: {"const": json.loads(value)} for name, value in keys.items() if value}
    return {"type": "object", "required": list(keys), "properties": fixed}


class Unmade(Exception):
    """No value is known that does as a phrase says."""


def instance_of(schema: Json) -> Json:
    """A value of a schema that `read_phrase` made."""
    if "anyOf" in schema:
        return instance_of(schema["anyOf"][0])
    if "allOf" in schema:
        first, *others = schema["allOf"]
        merged = dict(first)
        for other in others:
            if merged.get("type") not in (None, other.get("type")) or "enum" in {*merged, *other}:
                raise Unmade
            merged |= other
        return instance_of(merged)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    makers = {
        "integer": _some_number,
        "number": _some_number,
        "string": _some_string,
        "array": _some_list,
    }
    if (kind := schema.get("type")) in makers:
        return makers[kind](schema)
    if kind == "object":
        made = {
            name: schema.get("properties", {}).get(name, {}).get("const", 0)
            for name in schema.get("required", ())
        }
        more = schema.get("minProperties", 0) - len(made)
        return made | {f"k{number}": 0 for number in range(more)}
    return kind == "boolean"


def _some_number(schema: Json) -> Json:
    import jsonschema

    tries = [
        *range(-9, 60),
        0.5,
        1.5,
        1e6,
        *(schema[w] for w in ("minimum", "maximum") if w in schema),
    ]
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for each in tries:
        if valid(each):
            return int(each) if each == int(each) else each
    raise Unmade


def _some_string(schema: Json) -> Json:
    formats = dict(_FORMATS.values())
    if schema.get("format") in formats:
        return formats[schema["format"]]
    for each in ("", "a", "aa", "aaa", "1.5", "-1.5", "aaaaaaa"):
        fits = schema.get("minLength", 0) <= len(each) <= schema.get("maxLength", 99)
        if fits and re.search(schema.get("pattern", ""), each):
            return each
    raise Unmade


def _some_list(schema: Json) -> Json:
    if "prefixItems" in schema:
        return [instance_of(each) for each in schema["prefixItems"]]
    count = max(schema.get("minItems", 0), min(1, schema.get("maxItems", 1)))
    held = max(schema.get("minContains", 1), min(1, schema.get("maxContains", 1)))
    count = max(count, held) if "contains" in schema else count
    if schema.get("uniqueItems") and count > 1:
        raise Unmade
    items = schema.get("items", {"type": "integer"})
    if "contains" in schema:
        first = [
            instance_of(
                {"allOf": [schema["contains"], items]} if "items" in schema else schema["contains"]
            )
        ] * held
        return [*first, *(instance_of(items) for _ in range(count - held))]
    return [instance_of(items) for _ in range(count)]
