"""Expected values of arguments: literal, or with one of the matchers below.

A mapping with one key that names a matcher is a matcher; every other value is compared as it is::

    city: 東京                          equal
    city: {regex: "^(Tokyo|東京)"}      found in the text
    limit: {approx: 3.1, within: 0.05}  near the number
    tags: {contains: news}              in the text, the list or the keys of the object
    unit: {one_of: [C, celsius]}        any of these
    note: {any: true}                   any value, or none
    filter: {exact: {any: true}}        an object that resembles a matcher
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from toolkeel._common.nearest_names import nearest_names
from toolkeel._records.record import record
from toolkeel.observe.wording import compact

NAMES = ("exact", "any", "regex", "approx", "contains", "one_of")
Check: TypeAlias = Callable[[object], object]


@record
class Matcher:
    """An expected value that is more than a literal.

    Args:
        name: Which of `NAMES` but ``exact``, which is a literal; ``check`` for a function.
        value: What is expected, parsed.
        within: Largest difference for ``approx``; None for a millionth of the value.
    """

    name: str
    value: object
    within: float | None = None

    def accepts(self, value: object) -> bool:
        """Return True if the value of an argument matches."""
        if self.name == "approx":
            return self._is_near(value)
        if self.name == "regex":
            pattern = cast("re.Pattern[str]", self.value)
            return isinstance(value, str) and bool(pattern.search(_normal(value)))
        if self.name == "one_of":
            return any(matches(one, value) for one in cast("list[object]", self.value))
        if self.name == "contains":
            return _contains(value, self.value)
        if self.name == "check":
            return bool(cast("Check", self.value)(value))
        return self.name == "any"

    def _is_near(self, value: object) -> bool:
        if not _is_number(value):
            return False
        near, number = cast("float", self.value), cast("float", value)
        if self.within is None:
            return math.isclose(number, near, rel_tol=1e-6)
        return abs(number - near) <= self.within or math.isclose(abs(number - near), self.within)


def parse_expected(value: object) -> object:
    """Return an expected value with its matchers parsed, however deep they are.

    Raises:
        ValueError: a matcher is not written as it must be; the text says how.

    >>> matches(parse_expected({"regex": "^Par"}), "Paris")
    True
    """
    if isinstance(value, Mapping):
        return _parse_mapping(value)
    if isinstance(value, list | tuple):
        return [parse_expected(item) for item in value]
    if callable(value):
        return Matcher("check", value)
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(
            f"{value!r:.80} is a {type(value).__name__}, which JSON does not have; write it as a text"
        )
    return value


def matches(expected: object, value: object) -> bool:
    """Return True if the value of an argument is what a case expects.

    Texts are compared in Unicode's form NFC. Numbers and booleans differ; 3 and 3.0 do not.

    Args:
        expected: As `parse_expected` returns it.
        value: JSON data.
    """
    if isinstance(expected, Matcher):
        return expected.accepts(value)
    if isinstance(expected, Mapping):
        return isinstance(value, Mapping) and match_keys(expected, value)
    if isinstance(expected, list):
        same = isinstance(value, Sequence) and not isinstance(value, str)
        return same and _match_items(expected, cast("Sequence[object]", value))
    if isinstance(expected, str) and isinstance(value, str):
        return _normal(expected) == _normal(value)
    if isinstance(expected, bool) or isinstance(value, bool):
        return expected is value
    return expected == value


def match_keys(expected: Mapping[str, object], value: Mapping[str, object]) -> bool:
    """Return True if all keys match and there are no others; `any` accepts a missing key."""
    missing = [key for key in expected if key not in value]
    if any(not accepts_absence(expected[key]) for key in missing):
        return False
    return all(key in expected and matches(expected[key], value[key]) for key in value)


def accepts_absence(expected: object) -> bool:
    """Return True if the argument may be left out."""
    return isinstance(expected, Matcher) and expected.name == "any"


def describe(expected: object) -> str:
    """Write an expected value as a case file does.

    >>> describe(parse_expected({"city": {"one_of": ["Tokyo", "東京"]}}))
    '{"city": {"one_of": ["Tokyo", "東京"]}}'
    """
    return compact(to_plain(expected))


def to_plain(expected: object) -> object:
    """Return an expected value as JSON data in the form of a case file."""
    if isinstance(expected, Matcher):
        value = expected.value
        if isinstance(value, re.Pattern):
            value = value.pattern
        if expected.name == "check":
            value = getattr(value, "__name__", repr(value))
        found: dict[str, object] = {expected.name: to_plain(value)}
        return found if expected.within is None else {**found, "within": expected.within}
    if isinstance(expected, Mapping):
        return {key: to_plain(value) for key, value in expected.items()}
    return [to_plain(item) for item in expected] if isinstance(expected, list) else expected


def _parse_mapping(value: Mapping[object, object]) -> object:
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"the key {key!r} is not a text; write it in quotes")
    words = cast("Mapping[str, object]", value)
    names = [key for key in words if key != "within"]
    if len(names) != 1:
        return {key: parse_expected(item) for key, item in words.items()}
    [name] = names
    if name in NAMES:
        return _parse_matcher(name, words[name], words)
    near = nearest_names(name, NAMES, 1, 0.75)
    if near:
        raise ValueError(
            f"{name!r} is no matcher; did you mean {near[0]!r}? For an object with the key "
            f"{name!r} write {{exact: {{{name}: ...}}}}"
        )
    return {key: parse_expected(item) for key, item in words.items()}


def _parse_matcher(name: str, value: object, words: Mapping[str, object]) -> object:
    within = words.get("within")
    if "within" in words and (name != "approx" or not _is_number(within)):
        raise ValueError("within is a number beside approx: {approx: 3.1, within: 0.05}")
    if name == "exact":
        return _parse_literal(value)
    if name == "regex":
        return Matcher(name, _parse_regex(value))
    if name == "approx" and not _is_number(value):
        raise ValueError(f"approx needs a number, not {value!r:.80}")
    if name == "any" and value is not True:
        raise ValueError(f"any is written {{any: true}}, not {{any: {value!r:.80}}}")
    if name == "one_of" and not (isinstance(value, list | tuple) and value):
        raise ValueError(f"one_of needs a list of values, not {value!r:.80}")
    parsed = value if name in ("approx", "any") else parse_expected(value)
    return Matcher(name, parsed, cast("float | None", within))


def _parse_regex(value: object) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise ValueError(f"regex needs a text, not {value!r:.80}")
    try:
        return re.compile(_normal(value))
    except re.error as error:
        raise ValueError(f"regex {value!r:.80} is not a regular expression: {error}") from None


def _parse_literal(value: object) -> object:
    """Return a value in which no mapping is a matcher."""
    if isinstance(value, Mapping):
        return {key: _parse_literal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_parse_literal(item) for item in value]
    return parse_expected(value)


def _contains(value: object, expected: object) -> bool:
    if isinstance(value, str):
        return isinstance(expected, str) and _normal(expected) in _normal(value)
    if isinstance(value, Mapping):
        if not isinstance(expected, Mapping):
            return expected in value
        return all(key in value and matches(item, value[key]) for key, item in expected.items())
    return isinstance(value, Iterable) and any(matches(expected, item) for item in value)


def _match_items(expected: list[object], value: Sequence[object]) -> bool:
    return len(expected) == len(value) and all(map(matches, expected, value))


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
