"""Why a value does not match a JSON Schema, field by field.

jsonschema-rs reports each fault with its place in the schema, and for a union the faults of
every branch: for a recursive union that is a tree whose size doubles at each level of the
value. So the faults are collected with a second form of the schema, in which each union is
hidden behind a double negation: it then reports itself as one fault without its branches, and
the one branch that was evidently intended is asked for its own faults, from here, one level at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from toolkeel.define.explain.closest_branch import closest_branch, common_tag
from toolkeel.define.explain.flat_unions import UnionFreeSchema
from toolkeel.define.explain.phrases import (
    count_noun,
    describe_condition,
    describe_type,
    describe_value,
    quoted,
    short_json,
)
from toolkeel.define.explain.validation_errors import (
    describe_expected,
    known_keys,
    missing_field,
    unknown_key,
    wrong_tag,
)
from toolkeel.define.subschemas import Location, Schema, all_subschemas, json_pointer, properties_of
from toolkeel.errors import FieldError

if TYPE_CHECKING:
    import jsonschema_rs

Path = tuple[str | int, ...]

_MOST = 100  # faults collected
_OF_A_BRANCH = 50
_ITEMS = 200  # items of a list or an object that are looked at first
_DEPTH = 100
_LEVELS = 24  # unions within each other that are looked into
_DOCUMENT = "urn:toolkeel:schema"


class Mismatches:
    """The faults of values against one schema.

    Args:
        schema: Plain data.
        validator: The schema, compiled.
        documents: Other schemas it may refer to, by URI.
        engine: What runs its patterns.
    """

    __slots__ = (
        "_branches", "_documents", "_engine", "_form", "_names", "_phrases", "_root", "_schema",
        "validator",
    )  # fmt: skip

    def __init__(
        self,
        schema: Schema | bool,
        validator: jsonschema_rs.Validator,
        documents: Mapping[str, Schema | bool],
        engine: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions,
    ) -> None:
        self._schema = schema
        self._root: Schema = schema if isinstance(schema, Mapping) else {}
        self.validator = validator
        self._engine = engine
        self._documents = documents
        self._form: UnionFreeSchema | None = None
        self._names = {name for each in all_subschemas(self._root) for name in properties_of(each)}
        self._phrases: dict[Location, str] = {}
        self._branches: dict[Location, jsonschema_rs.Validator | None] = {}

    def errors(self, value: object) -> list[FieldError]:
        """Return one error for each failed field, with only the first items of long lists."""
        cuts: set[Path] = set()
        start = _cut(value, (), cuts, self._names)
        if cuts and (found := [each for each in self._all(start) if each.path not in cuts]):
            return found
        return self._all(value)

    def _all(self, value: object) -> list[FieldError]:
        if self._form is None:
            self._form = UnionFreeSchema(self._root, bool(self._documents))
        form = self._form
        fields: _Fields = {}
        try:
            full = self._compiled(()) if form.unions else self.validator
            faults = full.iter_errors(value) if full and form.schema is not None else ()
            for fault in islice(faults, _MOST):
                self._add(fault, (), fields, 0)
            if not fields and not self.validator.is_valid(value):
                _merge(fields, FieldError((), describe_type(self._schema), describe_value(value)))
        except ValueError:  # not JSON, or nested beyond reason
            _merge(fields, FieldError((), "JSON values, not nested too deeply"))
        return list(fields.values())

    def _compiled(self, where: Location) -> jsonschema_rs.Validator | None:
        """Compile a place in the union-free form, or return None if it depends on other places."""
        if where in self._branches:
            return self._branches[where]
        import jsonschema_rs  # long imported, by whoever compiled the schema

        assert self._form is not None
        known: list[tuple[str, Any]] = [(_DOCUMENT, self._form.schema), *self._documents.items()]
        try:
            compiled = type(self.validator)(
                {"$ref": f"{_DOCUMENT}#{quote(json_pointer(where)[1:])}"},
                registry=jsonschema_rs.Registry(known),
                offline=True,
                validate_formats=False,
                pattern_options=self._engine,
            )
        except (ValueError, jsonschema_rs.ReferencingError):
            compiled = None
        self._branches[where] = compiled
        return compiled

    def _add(
        self, fault: jsonschema_rs.ValidationError, prefix: Path, fields: _Fields, level: int
    ) -> None:
        """Describe one fault in words. For a union, describe the faults of the intended branch."""
        assert self._form is not None
        where = _place(fault)
        path = (*prefix, *fault.instance_path)
        union = self._form.unions.get(where) if fault.kind.name == "not" else None
        if union is None:
            schema = self._form.origin.get(where)
            if type(fault.kind).__name__ in _UNCHECKED:
                _merge(fields, FieldError(path, _SIMPLER, describe_value(fault.instance)))
                return
            if schema is not None and fault.kind.name in _OF_THE_VALUE:
                value = fault.instance
                phrase = self._phrase(where, schema, value) + self._because(fault)
                _merge(fields, FieldError(path, phrase, describe_value(value)))
                return
            because = self._because(fault)
            for error in islice(_errors(fault, path, schema, self._root, because), _MOST):
                _merge(fields, error)
            return
        self._add_union(fault, union, path, fields, level)

    def _add_union(
        self,
        fault: jsonschema_rs.ValidationError,
        union: tuple[str, list[object]],
        path: Path,
        fields: _Fields,
        level: int,
    ) -> None:
        keyword, branches = union
        value = fault.instance
        where: Location = (*fault.schema_path, "not", keyword)
        tried: list[_Faults] = []
        if level < _LEVELS and isinstance(value, (dict, list)):
            tried = self._tried(value, where, len(branches))
        wrong = [[(tuple(f.instance_path), f.kind.name in _FIXED) for f in each] for each in tried]
        intended = closest_branch(wrong)
        if intended is not None and tried[intended]:
            for inner in tried[intended]:
                self._add(inner, path, fields, level + 1)
            return
        tag = common_tag(wrong)
        if isinstance(tag, str) and isinstance(value, dict):
            _merge(fields, wrong_tag(path, tag, branches, self._root, value[tag]))
            return
        phrase = describe_expected([{keyword: branches}], self._root, value)
        if keyword == "oneOf" and self._some_take(value, where, len(branches)):
            phrase = f"only one of: {phrase}"
        _merge(fields, FieldError(path, phrase, describe_value(value)))

    def _because(self, fault: jsonschema_rs.ValidationError) -> str:
        """Return the condition under which a fault exists, or "" if it is unconditional."""
        assert self._form is not None
        path = tuple(fault.schema_path)
        for index in range(len(path) - 1, -1, -1):
            word = path[index]
            if word not in ("then", "else", "dependentRequired", "dependentSchemas"):
                continue
            holder = self._form.origin.get(path[:index], {})
            if word in ("then", "else"):
                message = describe_condition(holder.get("if"), self._root)
                return message and f"{' because' if word == 'then' else ' unless'} {message}"
            if word == "dependentSchemas":
                return f" because {quoted(str(path[index + 1]))} is given"
            needed: Any = holder.get(word, {})
            asking = (key for key, names in needed.items() if fault.kind.property in names)  # type: ignore[attr-defined]
            return "".join(f" because {quoted(key)} is given" for key in islice(asking, 1))
        return ""

    def _phrase(self, where: Location, schema: Schema, value: object) -> str:
        """Describe the expected value. The text is cached unless it depends on the value."""
        phrase = self._phrases.get(where)
        if phrase is None:
            phrase = self._phrases[where] = describe_expected([schema], self._root)
        if '"' in phrase and isinstance(value, str):
            return describe_expected([schema], self._root, value)
        return phrase

    def _some_take(self, value: object, where: Location, count: int) -> bool:
        branches = (self._compiled((*where, index)) for index in range(count))
        return any(branch is not None and branch.is_valid(value) for branch in branches)

    def _tried(self, value: object, where: Location, count: int) -> list[_Faults]:
        """Return the faults of each branch that admits the value's type."""
        tried = []
        for index in range(count):
            branch = self._compiled((*where, index))
            faults = list(islice(branch.iter_errors(value), _OF_A_BRANCH)) if branch else []
            if not any(f.kind.name in _OTHER_KIND and not f.instance_path for f in faults):
                tried.append(faults)
        return tried


def _cut(value: object, path: Path, cuts: set[Path], names: set[str]) -> object:
    """Copy the value with only the first items of long lists and objects. Add each place to `cuts`.

    The validator makes an object of every fault, a million if there are so many. What lies deeper
    than any list worth cutting is left as it is, and so are keys that the schema names.
    """
    if len(path) >= _DEPTH:
        return value
    if isinstance(value, dict):
        if len(value) > _ITEMS:
            cuts.add(path)
            first = set(islice(value, _ITEMS))
            value = {key: item for key, item in value.items() if key in first or key in names}
        return {key: _cut(item, (*path, key), cuts, names) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > _ITEMS:
        cuts.add(path)
    return [_cut(item, (*path, index), cuts, names) for index, item in enumerate(value[:_ITEMS])]


_Fields = dict[Path, FieldError]
_Faults = list["jsonschema_rs.ValidationError"]
_FIXED = ("const", "enum")
_OTHER_KIND = ("type", "falseSchema", *_FIXED)  # of a value itself, not of what is in it

# A pattern that searches around gave up within its bound: that is no mismatch, and no match either.
_UNCHECKED = ("BacktrackLimitExceeded", "RegexEngineFailure")
_SIMPLER = "a shorter or simpler text: its pattern cannot be checked against this one"

# Keywords about the value alone, all of which the schema's phrase tells.
_OF_THE_VALUE = frozenset(
    {
        "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
    }
)  # fmt: skip


def _merge(fields: _Fields, error: FieldError) -> None:
    """Add an error to its field. Later errors of a field extend what was expected there."""
    known = fields.get(error.path)
    if known is None:
        fields[error.path] = error
    elif error.expected not in known.expected and len(known.expected) < 300:
        both = f"{known.expected}, and {error.expected}"
        fields[error.path] = FieldError(error.path, both, known.got)


# — one fault —


def _place(fault: jsonschema_rs.ValidationError) -> Location:
    """Return the place of the schema that a fault is about."""
    where = fault.schema_path
    if fault.kind.name == "propertyNames":  # it ends at the rule that the name breaks
        return tuple(where[: len(where) - where[::-1].index("propertyNames")])
    return tuple(where[:-1])


def _errors(
    fault: jsonschema_rs.ValidationError,
    path: Path,
    schema: Schema | None,
    root: Schema,
    because: str,
) -> Iterator[FieldError]:
    """Yield the errors of a fault that is not a union's, for the model.

    Args:
        schema: The schema that the fault is of; None if it lies in another document.
        because: The condition under which it is one.
    """
    kind = fault.kind
    if schema is None:
        schema = _from_kind(kind)
    match kind.name:
        case "required":
            child = properties_of(schema).get(kind.property)  # type: ignore[attr-defined]
            yield missing_field((*path, kind.property), (child,) if child else (), root, because)  # type: ignore[attr-defined]
        case "additionalProperties" | "unevaluatedProperties":
            known = known_keys([schema], root)
            patterns: Any = schema.get("patternProperties", ())
            for name in kind.unexpected:  # type: ignore[attr-defined]
                yield unknown_key((*path, name), known, patterns)
        case "propertyNames":
            name = str(kind.error.instance)  # type: ignore[attr-defined]
            phrase = describe_type(schema, root)
            yield FieldError((*path, name), f"a key that is {phrase}")
        case other:
            yield FieldError(
                path, _phrase(other, schema, root, fault) + because, describe_value(fault.instance)
            )


def _phrase(
    keyword: str, schema: Schema, root: Schema, fault: jsonschema_rs.ValidationError
) -> str:
    match keyword:
        case "falseSchema":
            return "nothing here"
        case "not":
            refused = describe_type(schema.get("not"), root)
            return "nothing here" if refused == "any value" else f"anything but {refused}"
        case "contains":
            item, bound = describe_type(schema.get("contains"), root), fault.schema_path[-1]
            if bound == "contains":
                return f"a list that holds {item}"
            least = "at least" if bound == "minContains" else "at most"
            return f"a list with {least} {count_noun(schema.get(str(bound)), 'item')} that each are {item}"
        case "minProperties":
            return f"an object with at least {count_noun(schema.get('minProperties'), 'key')}"
        case "maxProperties":
            return f"an object with at most {count_noun(schema.get('maxProperties'), 'key')}"
        case "additionalItems" if isinstance(schema.get("items"), list):
            return f"a list of at most {count_noun(len(schema['items']), 'item')}"  # type: ignore[arg-type]
        case "additionalItems" | "unevaluatedItems":
            return "a list without the last items"
    phrase = describe_expected([schema], root, fault.instance)
    return phrase if phrase != "any value" else f"a value that passes {short_json(keyword)}"


def _from_kind(kind: jsonschema_rs.ValidationErrorKind) -> Schema:
    """Return as much of the schema as the fault itself contains."""
    for attribute, keyword in _KEYWORDS.items():
        if hasattr(kind, attribute):
            return {keyword or kind.name: getattr(kind, attribute)}
    return {}


_KEYWORDS = {
    "types": "type", "options": "enum", "expected_value": "const", "limit": "",
    "multiple_of": "multipleOf", "pattern": "pattern",
}  # fmt: skip
