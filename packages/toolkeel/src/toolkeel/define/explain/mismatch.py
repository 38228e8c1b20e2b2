"""Why a value does not match a JSON Schema, field by field.

jsonschema-rs reports each fault with its place in the schema, and for a union the faults of
every branch: for a recursive union that is a tree whose size doubles at each level of the
value. So the faults are collected with a second form of the schema, in which each union is
hidden behind a double negation: it then reports itself as one fault without its branches, and
the one branch that was evidently intended is asked for its own faults, from here, one level at a
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from toolkeel.define.explain.closest_branch import closest_branch, common_tag, fewest_faults
from toolkeel.define.explain.conditions import Conditions
from toolkeel.define.explain.conjunction import (
    is_described,
    own_parts,
    plain_alternatives,
    schemas_at,
)
from toolkeel.define.explain.cut_value import cut_value
from toolkeel.define.explain.flat_unions import UnionFreeSchema
from toolkeel.define.explain.keyword_faults import (
    Place,
    describe_condition,
    fault_errors,
    schema_of_kind,
    schema_place,
    sent_path,
)
from toolkeel.define.explain.phrases import describe_type, join_phrases
from toolkeel.define.explain.validation_errors import (
    suggest_option,
    value_at,
    wrong_tag,
)
from toolkeel.define.explain.value_phrases import cut, describe_value, quoted, short_json
from toolkeel.define.subschemas import (
    Location,
    Schema,
    all_subschemas,
    json_pointer,
    json_type,
    properties_of,
)
from toolkeel.define.text_patterns import describe_pattern
from toolkeel.errors import FieldError

if TYPE_CHECKING:
    import jsonschema_rs

Path = tuple[str | int, ...]

_MOST = 100  # faults collected
_OF_A_BRANCH = 50
_LEVELS = 24  # unions within each other that are looked into
_SMALL = 1000  # characters of a value whose faults are all listed
_MOST_TRIED = 2000  # branches compared with values before faults are no longer explained
_DOCUMENT = "urn:toolkeel:schema"


class Mismatches:
    """Checker that explains the faults of values against one schema.

    Args:
        schema: Plain data.
        validator: The schema, compiled.
        documents: Other schemas it may refer to, by URI.
        engine: Regular expression engine for its patterns.
    """

    __slots__ = (
        "_branches", "_conditions", "_documents", "_engine", "_form", "_names", "_phrases", "_registry", "_root",
        "_schema", "_unions", "validator",
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
        self._conditions = Conditions(self._root)
        self._phrases: dict[tuple[object, ...], tuple[list[Schema], str, object]] = {}
        self._unions: dict[tuple[object, ...], tuple[_Union, object]] = {}
        self._branches: dict[Location, jsonschema_rs.Validator | None] = {}
        self._registry: jsonschema_rs.Registry | None = None

    def errors(self, value: object) -> list[FieldError]:
        """Return one error for each failed field, of at most 100 faults; none for a valid value.

        Of long lists and objects only the first items are checked, unless all these are valid.
        """
        start, cuts = cut_value(value, self._names)
        if cuts and (found := [each for each in self._all(start) if each.path not in cuts]):
            return found
        return self._all(value)

    def _all(self, value: object) -> list[FieldError]:
        """Return one error for each of the first `_MOST` failed fields of a value without long lists.

        A value that is no JSON, or nested too deeply, gives one error at its root.
        """
        fields: _Fields = {}
        start, tried = Place((), (self._root,), value, 0), 0
        try:
            for fault in islice(self._faults(value), _MOST):
                self._add(fault, start, fields)
                tried += self._branch_count(fault)
                if len(fields) >= _MOST or tried >= _MOST_TRIED:
                    break
            if not fields and not self.validator.is_valid(value):
                for fault in self._unevaluated(value):
                    self._add(fault, start, fields)
                whole = FieldError((), describe_type(self._schema), describe_value(value))
                fields = fields or {(): whole}
        except ValueError:  # not JSON, or nested beyond reason
            _merge(fields, FieldError((), "JSON values, not nested too deeply"))
        return list(fields.values())

    def _unevaluated(self, value: object) -> list[jsonschema_rs.ValidationError]:
        """Return the faults of ``unevaluated…``, which the union-free form lacks, in a value without others; none of a long one."""
        if len(str(value)) > _SMALL:
            return []
        names = ("unevaluatedProperties", "unevaluatedItems")
        return [each for each in self.validator.iter_errors(value) if each.kind.name in names]

    def wrong_places(self, value: object) -> set[Path] | None:
        """Return the places that break the schema; None if they may be many, or are unknown.

        What is wrong within a union is at the union's own place.
        """
        try:
            if self.validator.is_valid(value):
                return set()
            start, cuts = cut_value(value, self._names)  # the validator lists all faults at once
            if cuts and len(list(self._faults(start))) > _MOST:
                return None
            return {sent_path(value, fault) for fault in self._faults(value)} or None
        except ValueError:  # not JSON, or nested beyond reason
            return None

    def _faults(self, value: object) -> Iterable[jsonschema_rs.ValidationError]:
        """Return the faults of the union-free form, which is made and stored at the first use; none if it cannot be."""
        if self._form is None:
            self._form = UnionFreeSchema(self._root, bool(self._documents))
        full = self._compiled(()) if self._form.unions else self.validator
        return full.iter_errors(value) if full and self._form.schema is not None else ()

    def _compiled(self, where: Location) -> jsonschema_rs.Validator | None:
        """Return the validator of a place in the union-free form; None if it needs other places.

        Results are stored by place.
        """
        if where in self._branches:
            return self._branches[where]
        import jsonschema_rs  # long imported, by whoever compiled the schema

        assert self._form is not None
        if self._registry is None:
            known: list[tuple[str, Any]] = [
                (_DOCUMENT, self._form.schema),
                *self._documents.items(),
            ]
            self._registry = jsonschema_rs.Registry(known)
        try:
            compiled = type(self.validator)(
                {"$ref": f"{_DOCUMENT}#{quote(json_pointer(where)[1:])}"},
                registry=self._registry,
                offline=True,
                validate_formats=False,
                pattern_options=self._engine,
            )
        except (ValueError, jsonschema_rs.ReferencingError):
            compiled = None
        self._branches[where] = compiled
        return compiled

    def _add(self, fault: jsonschema_rs.ValidationError, start: Place, fields: _Fields) -> None:
        """Add one fault in words; for a union, those of the intended branch."""
        assert self._form is not None
        where = schema_place(fault)
        union = self._form.unions.get(where) if fault.kind.name == "not" else None
        if union is not None:
            self._add_union(fault, union, start, fields)
            return
        inside = sent_path(start.value, fault)
        value, path = value_at(start.value, inside), (*start.path, *inside)
        if type(fault.kind).__name__ in _UNCHECKED:
            _merge(fields, FieldError(path, _SIMPLER, describe_value(value)))
            return
        schema = self._form.origin.get(where)
        schema = schema_of_kind(fault.kind) if schema is None else schema
        because = self._because(fault)
        if fault.kind.name in _OF_THE_VALUE:
            beside = schemas_at(start.schemas, inside, self._root)
            beside += self._conditions.at(start.schemas, start.value, inside)
            phrase = self._phrase(fault.kind.name, schema, beside, value)
            _merge(fields, FieldError(path, phrase + because, describe_value(value)))
            return
        errors = fault_errors(fault, start, schema, self._root, because, self._conditions)
        for error in islice(errors, _MOST):
            _merge(fields, error)

    def _branch_count(self, fault: jsonschema_rs.ValidationError) -> int:
        """Return the number of branches of the union that a fault stands for; 0 for any other fault."""
        assert self._form is not None
        where = schema_place(fault) if fault.kind.name == "not" else None
        return len(self._form.unions[where][1]) if where in self._form.unions else 0

    def _add_union(
        self,
        fault: jsonschema_rs.ValidationError,
        union: tuple[str, list[object]],
        start: Place,
        fields: _Fields,
    ) -> None:
        """Add the faults of a union's intended branch, or one fault for the union."""
        keyword, branches = union
        inside = sent_path(start.value, fault)
        value, path = value_at(start.value, inside), (*start.path, *inside)
        where: Location = (*fault.schema_path, "not", keyword)
        schemas = schemas_at(start.schemas, inside, self._root)
        beside, together, phrase = self._union(keyword, branches, where, schemas)
        described = is_described(value, together, self._root)
        tried: dict[int, _Faults] = {}
        if start.level < _LEVELS and (described or isinstance(value, (dict, list))):
            tried = self._tried(value, where, len(branches))
            tried = {
                index: faults
                for index, faults in tried.items()
                if self._can_fit(value, branches[index], beside)
            }
        wrong = [
            [(tuple(f.instance_path), f.kind.name in _FIXED) for f in each]
            for each in tried.values()
        ]
        chosen = closest_branch(wrong)
        tag = common_tag(wrong) if chosen is None else None
        if isinstance(tag, str) and isinstance(value, dict):
            _merge(fields, wrong_tag(path, tag, branches, self._root, value[tag]))
            return
        if chosen is None and described:
            chosen = fewest_faults(wrong)
        if chosen is not None and wrong[chosen]:
            index = list(tried)[chosen]
            inner = Place(path, (branches[index], *beside), value, start.level + 1)
            for each in tried[index]:
                self._add(each, inner, fields)
            return
        phrase = suggest_option(phrase, together, value)
        if keyword == "oneOf" and self._some_take(value, where, len(branches)):
            phrase = f"only one of: {phrase}"
        _merge(fields, FieldError(path, phrase, describe_value(value)))

    def _because(self, fault: jsonschema_rs.ValidationError) -> str:
        """Return the condition under which a fault exists, as the end of a phrase, or "" if it has none."""
        assert self._form is not None
        path = tuple(fault.schema_path)
        for index in range(len(path) - 1, -1, -1):
            word = path[index]
            if word not in ("then", "else", "dependentRequired", "dependentSchemas"):
                continue
            holder = self._form.origin.get(path[:index], {})
            if word in ("then", "else"):
                if "properties" not in path[index:] and not isinstance(fault.instance, dict):
                    return ""  # what a condition says of keys holds for a value without any
                message = describe_condition(holder.get("if"), self._root)
                return message and f"{' because' if word == 'then' else ' unless'} {message}"
            if word == "dependentSchemas":
                return f" because {quoted(str(path[index + 1]))} is given"
            needed: Any = holder.get(word, {})
            asking = (key for key, names in needed.items() if fault.kind.property in names)  # type: ignore[attr-defined]
            return "".join(f" because {quoted(key)} is given" for key in islice(asking, 1))
        return ""

    def _union(
        self, keyword: str, branches: list[object], where: Location, schemas: list[object]
    ) -> _Union:
        """Return the schemas beside a union, what all admit, and words for it; store all three."""
        key = (where, *map(id, schemas))
        if key not in self._unions:
            beside: list[Schema] = [
                {word: stored for word, stored in each.items() if stored != branches}
                for each in own_parts(schemas, self._root)
            ]
            together = plain_alternatives([*beside, {keyword: branches}], self._root)
            # The schemas are remembered too: what is gone could leave its id to another.
            phrase = join_phrases(together, self._root)
            self._unions[key] = ((beside, together, phrase), schemas)
        return self._unions[key][0]

    def _phrase(self, keyword: str, schema: Schema, beside: list[object], value: object) -> str:
        """Describe what a place expects, by all schemas that hold there, or else the keyword; store the words.

        Args:
            keyword: The keyword that failed.
            schema: The schema with that keyword.
            beside: Others that hold for the value.
            value: What was sent.
        """
        kind = "" if keyword in ("type", "enum", "const") else _kind_of(value)
        key = (kind, *map(id, (schema, *beside)))
        if key not in self._phrases:
            typed = {"type": kind} if kind else {}
            parts = own_parts([*beside, schema], self._root)
            both = plain_alternatives([typed, *parts], self._root)
            both = both or plain_alternatives(parts, self._root)
            # If nothing fits all of them, this one at least says what it refused.
            both = both or plain_alternatives([schema], self._root)
            self._phrases[key] = (both, join_phrases(both, self._root), (schema, *beside))
        both, phrase, _ = self._phrases[key]
        pattern = schema.get("pattern") if keyword == "pattern" else None
        words = describe_pattern(pattern) or cut(str(pattern), 60)
        missing = pattern is not None and words not in phrase
        if missing or (keyword not in _UNREAD and is_described(value, both, self._root)):
            return f"a value that passes {quoted(keyword)}: {short_json(schema.get(keyword))}"
        return suggest_option(phrase, both, value)

    def _some_take(self, value: object, where: Location, count: int) -> bool:
        """Return True if a value fits at least one of the `count` branches of the union at a place."""
        branches = (self._compiled((*where, index)) for index in range(count))
        return any(branch is not None and branch.is_valid(value) for branch in branches)

    def _tried(self, value: object, where: Location, count: int) -> dict[int, _Faults]:
        """Return the first faults of each branch that admits the value's type, by the branch's index.

        Args:
            value: The value.
            where: Place of the union in the schema.
            count: Number of its branches.
        """
        tried = {}
        for index in range(count):
            branch = self._compiled((*where, index))
            faults = list(islice(branch.iter_errors(value), _OF_A_BRANCH)) if branch else []
            for fault in faults:
                if fault.kind.name in _OTHER_KIND and not fault.instance_path:
                    break
            else:
                tried[index] = faults
        return tried

    def _can_fit(self, value: object, branch: object, beside: list[Schema]) -> bool:
        """Return False if what holds beside a branch leaves it no value of the value's type."""
        typed: Schema = {"type": _kind_of(value)}
        return not any(beside) or bool(plain_alternatives([typed, branch, *beside], self._root))


def _kind_of(value: object) -> str:
    """Return the JSON type that a value has, as failed keywords name it."""
    return "number" if isinstance(value, int | float) else json_type(value)


_UNREAD = ("pattern", "uniqueItems", "contains")
"""Keywords of a phrase that `is_described` does not check."""
_Union = tuple[list[Schema], list[Schema], str]


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
        "contains",
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
