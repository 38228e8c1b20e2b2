"""pydantic's core schema without the places where it takes more than is advertised.

In strict mode pydantic takes digits for a date and time (``"2026"`` is a second of 1970), other words for a duration (``"1 day"``), True for the
choice 1, ``"1_000"`` for a decimal, other spellings of a key, the same item of a set twice, and a field by
names that are not advertised (`AliasChoices`, ``populate_by_name``). What a
union does then is worse than accepting too much: it takes the branch that guesses, although another one
admits the value as it is. So the gap is closed in the leaf itself, wherever it lies.

A model brings a validator that was built without this. pydantic-core uses it instead of the schema unless
it is asked not to (`_use_prebuilt`, as pydantic itself asks when it rebuilds a model).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum, Flag
from typing import Any, LiteralString, TypeAlias, cast
from uuid import UUID

from pydantic_core import (
    CoreConfig,
    CoreSchema,
    PydanticCustomError,
    PydanticKnownError,
    SchemaValidator,
    core_schema,
)

from toolkeel.define.schema.json_schema import KEYS, flag_sums
from toolkeel.define.schema.text_forms import pattern_check, text_pattern
from toolkeel.define.text_patterns import decimal_pattern

Core: TypeAlias = dict[str, Any]
"""A schema of pydantic-core, never changed once it is made."""

_CONFIG: CoreConfig = {"strict": True, "allow_inf_nan": False}


def strict_validator(
    core: Mapping[str, Any], closes_objects: bool = False
) -> SchemaValidator | None:
    """Build a validator that is strict and without gaps; None if pydantic's own is without them.

    Args:
        core: pydantic's core schema of an annotation.
        closes_objects: True if objects refuse unknown keys, except those that allow them.
    """
    closing = _Closing(closes_objects)
    closed = closing.close(core)
    if not closing.count:
        return None
    return SchemaValidator(cast("CoreSchema", closed), _CONFIG, _use_prebuilt=False)


class _Closing:
    """Rewrite of a core schema that closes its gaps and counts them.

    Attributes:
        count: Gaps closed.
    """

    def __init__(self, closes_objects: bool) -> None:
        self.count = int(closes_objects)
        self._closes_objects = closes_objects
        self._strips = self._allows = False

    def close(self, core: Mapping[str, Any]) -> Core:
        """Return a copy of the schema with its gaps closed, and add their number to `count`."""
        outer, config = (self._strips, self._allows), core.get("config")
        if config is not None:
            self._strips = config.get("str_strip_whitespace", False)
        own = core.get("extra_behavior") or (config or {}).get("extra_fields_behavior")
        if own is not None or config is not None:
            self._allows = own == "allow"
        try:
            return self._close(core)
        finally:
            self._strips, self._allows = outer

    def _close(self, core: Mapping[str, Any]) -> Core:
        """Return a copy of a schema whose configuration is known, with its gaps closed and counted."""
        made = {key: self._part(key, stored) for key, stored in core.items() if key != "strict"}
        if "config" in core:
            made["config"] = self._config(core["config"])
        kind = core["type"]
        if self._closes_objects and kind in _OBJECTS and not self._allows:
            made["extra_behavior"] = "forbid"
        if kind in _AFTER_PYTHON:
            made["strict"] = False
        if kind in _TO_PYTHON:
            self.count += 1
        if kind in _DICTS and (form := _key_form(core.get("keys_schema", {}))) is not None:
            self.count += 1
            made["keys_schema"] = _checked(form, made["keys_schema"])
        if kind == "str" and core.get("strip_whitespace", self._strips):
            self.count += 1
            return _close_stripped(made)
        if kind != "uuid" and (pattern := text_pattern(made)) is not None:
            self.count += 1
            return _close_pattern(made, pattern)
        close = _CLOSERS.get(kind)
        closed = None if close is None else close(made)
        self.count += closed is not None
        return made if closed is None else closed

    def _config(self, config: Core) -> Core:
        """Return a configuration that is strict, and takes a field by its advertised name alone; count a change."""
        if config.get("validate_by_name") and config.get("validate_by_alias", True):
            self.count += 1
            config = {**config, "validate_by_name": False}
        return {**config, "strict": True}

    def _part(self, key: str, stored: Any) -> Any:
        """Return what is under one key, schemas within it closed."""
        if key in HOLDERS:
            return self._close_inside(stored)
        return stored

    def _close_inside(self, stored: Any) -> Any:
        """Return a value of a core schema with every schema inside it closed."""
        if isinstance(stored, dict):
            if isinstance(stored.get("type"), str):
                return self.close(stored)
            return {name: self._close_inside(each) for name, each in stored.items()}
        if isinstance(stored, list):
            return [self._close_inside(each) for each in stored]
        if isinstance(stored, tuple):  # a branch of a union with its label
            return (self._close_inside(stored[0]), *stored[1:])
        return stored


_DICTS = ("dict", "frozendict", "ordered-dict", "counter")
_OBJECTS = ("model-fields", "typed-dict", "dataclass-args")
_TO_PYTHON = ("function-before", "function-wrap")
"""Schemas that give what is inside them a value of Python, where strict mode refuses a list for a tuple."""
_AFTER_PYTHON = ("tuple", "bytes", "deque", "ordered-dict", "counter", "frozendict")
"""Schemas that take of JSON the same in either mode, and of Python's lists, texts and dicts in lax mode alone."""

HOLDERS = frozenset({
    "schema", "items_schema", "keys_schema", "values_schema", "extras_schema", "json_schema",
    "python_schema", "lax_schema", "strict_schema", "arguments_schema", "var_args_schema",
    "var_kwargs_schema", "definitions", "choices", "steps", "fields",
})  # fmt: skip
"""Keys of a core schema that hold schemas: one, several, or several by name."""


def _checked(check: Callable[[Any], Any], core: Core) -> Core:
    """Return a schema that passes its input through `check` first."""
    inner: Any = {**core, "strict": False}
    return _named(core_schema.no_info_before_validator_function(check, inner), inner)


def _named(made: Any, inner: Core) -> Core:
    """Return `made` with the reference name of `inner`, which is removed from `inner`."""
    return {**made, "ref": inner.pop("ref")} if "ref" in inner else made


def _close_text(core: Core) -> Core:
    """Return a schema that takes text of the advertised form, or an object of the type itself.

    To a union its value is as good a reading of a text as the text itself, so that the first branch wins.
    """
    kind = core["type"]
    pattern, error, made = _TEXTS[kind]
    text = {"type": "str", "pattern": pattern, **_UNCHANGED}
    inner: Any = {key: stored for key, stored in core.items() if key != "ref"} | {"strict": False}
    ready = {"type": "is-instance", "cls": made}
    either = {"type": "union", "mode": "left_to_right", "choices": [text, ready]}
    form: Any = {"type": "custom-error", "schema": either, "custom_error_type": error}
    parse = SchemaValidator(inner, _CONFIG).validate_python
    return _named(core_schema.no_info_after_validator_function(parse, form), {**core})


def _close_pattern(core: Core, pattern: str) -> Core:
    """Return the schema of a type that is parsed from text, for texts of the advertised pattern alone."""
    before = core_schema.no_info_before_validator_function
    inner: Any
    check = pattern_check(pattern, _NO_FORM.get(core["type"], ()))
    if core["type"] == "fraction":
        check = _as_written(check)
    if core["type"] == "function-after":
        inner = {**core["schema"]}
        return {**core, "schema": before(check, inner)}
    if core["type"] in _NO_FORM:
        return _checked(check, core)
    inner = {**core}
    return _named(before(check, inner), inner)


def _as_written(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a check after which a fraction is read from a number's digits: 0.1 is a tenth."""

    def read(value: Any) -> Any:
        """Return a float as text and other values unchanged, or raise pydantic's error for one without the form."""
        checked = check(value)
        return repr(checked) if isinstance(checked, float) else checked

    return read


_NO_FORM: Mapping[str, tuple[type, ...]] = {"fraction": (bool,), "complex": (bool, int, float)}
"""What such a type would be made of, though it is not advertised."""


def _close_stripped(core: Core) -> Core:
    """Return a schema that applies a text's limits before it strips blanks, too, as is advertised."""
    sent = {key: stored for key, stored in core.items() if key != "ref"}
    sent |= {"strip_whitespace": False, "to_lower": False, "to_upper": False}
    chain: Core = {"type": "chain", "steps": [sent, {**core, "strip_whitespace": True}]}
    return _named(chain, chain["steps"][1])


_UNCHANGED: Core = {
    "min_length": 0, "max_length": 1000, "strip_whitespace": False, "to_lower": False,
    "to_upper": False,
}  # fmt: skip
"""A text as it was sent, whatever a model's configuration says of its texts."""

_TEXTS: Mapping[str, tuple[str, str, type]] = {
    "date": (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "date_type", dt.date),
    "datetime": (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt _]", "datetime_type", dt.datetime),
    "time": (r"^[0-9]{2}:", "time_type", dt.time),
    "timedelta": (r"^[+-]?P", "time_delta_type", dt.timedelta),
    "uuid": (r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", "uuid_type", UUID),
}
"""What a text of the advertised format begins with or is, the error, and the class."""


def _close_decimal(core: Core) -> Core:
    """Return a decimal's schema that accepts only numbers and plain decimal text of its sign."""
    form = re.compile(decimal_pattern(core), re.A)

    def check(value: Any) -> Any:
        """Return the value unchanged, or raise pydantic's error for it."""
        if isinstance(value, str):
            if form.fullmatch(value) is None:
                raise PydanticKnownError("decimal_parsing")
        elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise PydanticKnownError("decimal_type")
        return value

    return _checked(check, core)


def _close_literal(core: Core) -> Core | None:
    """Return a literal's schema that distinguishes 1 and True and reads members; None if it has only text and null."""
    options = core["expected"]
    if not _needs_types(options) and not any(isinstance(each, Enum) for each in options):
        return None
    return _checked(_one_of(options, "literal_error"), core)


def _close_enum(core: Core) -> Core | None:
    """Return an enum's schema that distinguishes 1 and True; None if it has no numbers."""
    kind = core["cls"]
    options = [member.value for member in core["members"]]
    if issubclass(kind, Flag):
        options = flag_sums(kind)
    return _checked(_one_of(options, "enum"), core) if _needs_types(options) else None


def _needs_types(options: list[Any]) -> bool:
    """Return True if a choice is of plain values, with numbers among them: these equal values of other types."""
    plain = all(not isinstance(each, Enum) and isinstance(each, _PLAIN) for each in options)
    return plain and any(isinstance(each, int | float) for each in options)


_PLAIN = (str, int, float, bool, type(None))


def _one_of(options: list[Any], error: Any) -> Callable[[Any], Any]:
    """Return a check that a JSON value is an option or a member's value, and returns that: 1.0 is 1, and True is not."""
    sent = [(each.value if isinstance(each, Enum) else each, each) for each in options]
    plain = [one for one in reversed(sent) if isinstance(one[0], _PLAIN)]  # no call sends others
    known = {(type(value) is bool, value): each for value, each in plain}
    listed = ", ".join(repr(value) for value, _ in sent)

    def check(value: Any) -> Any:
        """Return the option that the value equals, or raise pydantic's error for it."""
        if isinstance(value, list | dict):
            raise PydanticKnownError(error, {"expected": listed})
        if not isinstance(value, _PLAIN) or isinstance(value, Enum):
            return value
        try:
            return known[type(value) is bool, value]
        except KeyError:
            raise PydanticKnownError(error, {"expected": listed}) from None

    return check


def _close_set(core: Core) -> Core:
    """Return a list's schema that becomes a set and refuses repeated items."""
    kind = frozenset if core["type"] == "frozenset" else set
    sizes = {
        key: core[key] for key in ("items_schema", "min_length", "max_length", "ref") if key in core
    }

    def collect(items: list[Any]) -> Any:
        """Return the items as a set, or raise pydantic's error for a repeated one."""
        try:
            made = kind(items)
        except TypeError:
            raise PydanticKnownError("set_item_not_hashable") from None
        if len(made) < len(items) and _repeats(items):
            raise _repetition(items)
        return made

    inner: Any = {"type": "list", **sizes, "strict": False}
    return _named(core_schema.no_info_after_validator_function(collect, inner), inner)


def _repetition(items: list[Any]) -> PydanticCustomError:
    """Build the error that names the first item which is there twice."""
    places: dict[object, int] = {}
    for at, each in enumerate(items):
        first = places.setdefault((type(each) is bool, each), at)
        if first != at:
            message = "[{first}] and [{second}] are the same"
            return PydanticCustomError("unique_items", message, {"first": first, "second": at})
    raise AssertionError("no item is there twice")


def _repeats(items: list[Any]) -> bool:
    """Return True if an item occurs twice; in JSON, True does not equal 1."""
    return len({(type(each) is bool, each) for each in items}) < len(items)


def _close_named_tuple(core: Core) -> Core | None:
    """Return a named tuple that takes an object, as is advertised, and no list; None for another call."""
    made = core.get("cls") or core["function"]  # a call of the class, to earlier releases
    if not (isinstance(made, type) and issubclass(made, tuple)):
        return None

    def check(value: Any) -> Any:
        """Return a value unchanged, or raise `PydanticKnownError` for a list."""
        if isinstance(value, list):
            raise PydanticKnownError("dict_type")
        return value

    return _checked(check, core)


def _close_generator(core: Core) -> Core:
    """Return the schema of a list with a generator's items, which pydantic judges only when they are taken."""
    return {**core, "type": "list"}


def _close_names(core: Core) -> Core | None:
    """Return a field that is found by its advertised name alone; None if it has no other."""
    alias = core.get("validation_alias")
    if not isinstance(alias, list):
        return None
    paths = alias if isinstance(alias[0], list) else [alias]
    rest = {key: stored for key, stored in core.items() if key != "validation_alias"}
    names = (path[0] for path in paths if len(path) == 1)
    return {**rest, **({"validation_alias": name} if (name := next(names, None)) else {})}


_CLOSERS: Mapping[str, Callable[[Core], Core | None]] = {
    **dict.fromkeys(_TEXTS, _close_text),
    "decimal": _close_decimal, "literal": _close_literal, "enum": _close_enum,
    "set": _close_set, "frozenset": _close_set, "generator": _close_generator,
    "call": _close_named_tuple, "named-tuple": _close_named_tuple,
    **dict.fromkeys(("model-field", "typed-dict-field", "dataclass-field"), _close_names),
}  # fmt: skip


def _key_form(core: Core) -> Callable[[Any], Any] | None:
    """Return a check for keys that are parsed from text; None if any text is a key."""
    kind = _KEY_KINDS.get(str(core.get("type")))
    if kind is None:
        return None
    form = KEYS[kind]
    pattern = re.compile(str(form["pattern"]), re.A) if "pattern" in form else None
    phrase = f"{'an' if kind == 'integer' else 'a'} {kind}" if pattern else '"true" or "false"'

    def check(key: Any) -> Any:
        """Return the key unchanged, or raise pydantic's error for it."""
        fits = key in ("true", "false") if pattern is None else pattern.fullmatch(str(key))
        if isinstance(key, str) and not fits:
            raise PydanticCustomError("key_form", "Input should be " + phrase)
        return key

    return check


_KEY_KINDS: Mapping[str, LiteralString] = {
    "int": "integer", "float": "number", "bool": "boolean", "decimal": "decimal number",
}  # fmt: skip
