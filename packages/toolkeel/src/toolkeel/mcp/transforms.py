"""Transforms of another author's tools: a tool's name, description and arguments as its user wants them.

A transform is the same JSON in a program and in a file of servers, by the server's own names::

    {"create_issue": {
        "name": "report_bug",
        "description": "Report a bug of the app.",
        "arguments": {
            "repo": {"value": "acme/app"},
            "assignee": {"hide": true},
            "body": {"name": "text", "description": "In Markdown.", "schema": {"maxLength": 500}}
        }
    }}

Pins stay on the server's own definition. A transform that does not fit its tool leaves the tool out:
an argument that was to be fixed must not become free because its name changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypedDict

from toolkeel._records.record import record
from toolkeel.define.explain.validation_errors import invalid_arguments, unknown_key
from toolkeel.define.names import check_name
from toolkeel.define.schema.foreign import make_compilable
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.define.subschemas import properties_of, required_of
from toolkeel.errors import DefinitionError, InvalidArguments, SetupError
from toolkeel.mcp.transformed_schemas import (
    are_disjoint,
    drop_properties,
    inline_root,
    named_properties,
    narrow,
    rename_properties,
)

Json: TypeAlias = dict[str, Any]


class ArgumentTransform(TypedDict, total=False):
    """Changes of one argument.

    Attributes:
        name: Its new name.
        description: Its new description.
        schema: More keywords that a value must satisfy; a ``default`` is sent if it is left out.
        value: Always sent; the argument is not shown.
        hide: True: the argument is not shown, and never sent.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    value: Any
    hide: bool


class ToolTransform(TypedDict, total=False):
    """Changes of one tool.

    Attributes:
        name: Its new name.
        description: Its new description.
        arguments: Changes of its arguments, by the server's own names.
    """

    name: str
    description: str
    arguments: Mapping[str, ArgumentTransform]


Transforms: TypeAlias = Mapping[str, ToolTransform]
_TOOL_KEYS: Mapping[str, type] = {"name": str, "description": str, "arguments": Mapping}
_ARGUMENT_KEYS: Mapping[str, type] = {
    "name": str, "description": str, "schema": Mapping, "value": object, "hide": bool,
}  # fmt: skip
_KINDS: Mapping[type, str] = {str: "a text", Mapping: "an object", bool: "true or false"}


def parse_transforms(
    where: str, written: object, expand: Callable[[str], str] = str
) -> dict[str, ToolTransform]:
    """Return a copy of transforms as plain JSON, or raise if their form is wrong; tools need not exist.

    Args:
        where: Place of the transforms, for errors.
        written: Transforms by the server's own names of its tools.
        expand: Expands variables in text values.

    Raises:
        SetupError: the transforms are not of the form above.
    """
    found: dict[str, ToolTransform] = {}
    for tool, change in _object(where, written).items():
        place = f"{where}[{tool!r}]"
        fields = _fields(place, change, _TOOL_KEYS)
        if "arguments" in fields:
            fields["arguments"] = {
                name: _argument(f"{place}: argument {name!r}", each, expand)
                for name, each in _object(place, fields["arguments"]).items()
            }
        found[tool] = fields  # type: ignore[assignment]
    return found


def _argument(where: str, written: object, expand: Callable[[str], str]) -> Json:
    """Return a JSON copy of an argument's transform: a text `value` expanded, ``hide: false`` left out.

    Raises:
        SetupError: a key, type or name is wrong, or `value` or `hide` is not the only key.
    """
    fields = _fields(where, written, _ARGUMENT_KEYS)
    if fields.get("hide") is False:
        del fields["hide"]
    unseen = [key for key in ("value", "hide") if key in fields]
    if unseen and len(fields) > 1:
        raise SetupError(f"{where}: {unseen[0]!r} hides it, so it has no other key; write one")
    if isinstance(value := fields.get("value"), str):
        fields["value"] = expand(value)
    return fields


def _fields(where: str, written: object, kinds: Mapping[str, type]) -> Json:
    """Return an object as plain JSON, or raise SetupError if a key, a type or a name is wrong."""
    fields = _object(where, written)
    for key, value in fields.items():
        if key not in kinds:
            raise SetupError(f"{where}: there is no key {key!r}; there is {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise SetupError(f"{where}: {key!r} is {_KINDS[kinds[key]]}, not {value!r:.60}")
    try:
        if "name" in fields:
            check_name(fields["name"])
        copy: Json = json.loads(json.dumps(fields, allow_nan=False))
    except (DefinitionError, TypeError, ValueError, RecursionError) as error:
        raise SetupError(f"{where}: {error}") from None
    return copy


def _object(where: str, written: object) -> Mapping[str, Any]:
    """Return a value if it is an object with text keys, else raise `SetupError`."""
    if not isinstance(written, Mapping) or not all(isinstance(key, str) for key in written):
        raise SetupError(f"{where} is an object with names, not {written!r:.60}")
    return written


@record
class TransformedTool:
    """A server's tool as it is shown, with the way back to the original.

    Args:
        definition: The shown definition.
        original_names: The server's names of renamed arguments, by the shown ones.
        fixed: Values that are always sent, by the server's names.
        defaults: Values that are sent for what is left out, likewise.
        unseen: The server's names that no caller may use.
    """

    definition: Mapping[str, Any]
    original_names: Mapping[str, str]
    fixed: Mapping[str, object]
    defaults: Mapping[str, object]
    unseen: frozenset[str]

    def to_original(self, arguments: Mapping[str, Any]) -> Json:
        """Return arguments in the form of the server's own definition, with the transform's defaults and fixed values.

        Raises:
            InvalidArguments: one is under the original name of a renamed argument, or that of a hidden one.
        """
        if wrong := [name for name in arguments if name in self.unseen]:
            shown = list(properties_of(self.definition["inputSchema"]))
            raise invalid_arguments(
                self.definition["name"], [unknown_key((name,), shown) for name in wrong]
            )
        sent = {self.original_names.get(name, name): each for name, each in arguments.items()}
        return {**self.defaults, **sent, **self.fixed}

    def translation(self, text: str) -> str:
        """Return a sentence about renamed and fixed arguments in a server's error.

        Empty if it mentions none.
        """
        shown = {original: name for name, original in self.original_names.items()}
        names = [f"{own!r} is {name!r}" for own, name in shown.items() if _has_word(text, own)]
        names += [f"{own!r} is set for you" for own in self.fixed if _has_word(text, own)]
        return f"(In these words of the server, {', '.join(names)}.)" if names else ""


def _has_word(text: str, word: str) -> bool:
    """Return True if a text contains a word, not only as a part of another one."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


class ArgumentCheck:
    """Check of arguments against a shown definition, where no tool of ours does it.

    Args:
        tool: The tool.
        name: Its name for callers.

    Raises:
        DefinitionError: nothing can be made of its schema.
    """

    def __init__(self, tool: TransformedTool, name: str) -> None:
        schema, _ = make_compilable(tool.definition["inputSchema"], root="object")
        self._validator = compile_json_schema(schema)
        self._tool, self._name = tool, name

    def find_error(self, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with arguments, for the model, or empty if nothing is. Never raises for them."""
        values = dict(arguments)
        try:
            if not self._validator.is_valid(values):
                raise invalid_arguments(self._name, self._validator.errors(values))
            self._tool.to_original(values)
        except InvalidArguments as error:
            return error.text
        return ""


def transform_tool(definition: Mapping[str, Any], change: ToolTransform) -> TransformedTool:
    """Return a tool with the user's changes applied.

    Args:
        definition: The server's definition, in JSON.
        change: The changes.

    Raises:
        DefinitionError: the change does not fit the tool.
    """
    arguments = change.get("arguments", {})
    schema = inline_root(definition["inputSchema"])
    fixed = {name: each["value"] for name, each in arguments.items() if "value" in each}
    hidden = {name for name, each in arguments.items() if each.get("hide")}
    names = {name: each["name"] for name, each in arguments.items() if "name" in each}
    defaults = _defaults(arguments)
    _check_names(definition["name"], schema, arguments, names)
    _check_removed(definition["name"], schema, hidden)
    _check_values(definition["name"], schema, {**defaults, **fixed})
    properties = _narrowed(definition["name"], properties_of(schema), arguments)
    shown = drop_properties({**schema, "properties": properties}, {*fixed, *hidden}, {*defaults})
    unseen = properties.keys() - {names.get(name, name) for name in shown["properties"]}
    if unseen and named_properties(shown) <= shown["properties"].keys():
        shown.setdefault("additionalProperties", False)
    labels = {key: each for key, each in change.items() if key != "arguments"}
    return TransformedTool(
        {**definition, **labels, "inputSchema": rename_properties(shown, names)},
        {new: own for own, new in names.items()},
        fixed,
        defaults,
        frozenset(unseen),
    )


def _defaults(arguments: Mapping[str, ArgumentTransform]) -> Json:
    """Return the default values that the transforms set, by argument."""
    schemas = {name: each.get("schema", {}) for name, each in arguments.items()}
    return {name: each["default"] for name, each in schemas.items() if "default" in each}


def _narrowed(
    tool: str, properties: Mapping[str, Any], arguments: Mapping[str, ArgumentTransform]
) -> dict[str, Any]:
    """Return properties with the schemas and descriptions that the arguments get.

    Raises:
        DefinitionError: an argument's types have no value in common.
    """
    found = dict(properties)
    for name, each in arguments.items():
        about = {"description": each["description"]} if "description" in each else {}
        if given := {**each.get("schema", {}), **about}:
            if are_disjoint(found[name], given):
                raise DefinitionError(
                    f"the transform of {tool!r} gives {name!r} the type {given['type']!r}, and the "
                    f"tool takes {found[name]['type']!r}: no value is of both"
                )
            found[name] = narrow(found[name], given)
    return found


def _check_names(
    tool: str,
    schema: Mapping[str, Any],
    arguments: Mapping[str, ArgumentTransform],
    names: Mapping[str, str],
) -> None:
    """Raise DefinitionError if an argument is not there, or two would have one name."""
    properties = properties_of(schema)
    if unknown := [name for name in arguments if name not in properties]:
        raise DefinitionError(
            f"the transform of {tool!r} names its argument {unknown[0]!r}, and there is "
            f"{', '.join(properties) or 'none'}"
        )
    unseen = {name for name, each in arguments.items() if "value" in each or each.get("hide")}
    shown = [names.get(name, name) for name in properties if name not in unseen]
    if twice := [name for name in shown if shown.count(name) > 1]:
        raise DefinitionError(
            f"the transform of {tool!r} gives two arguments the name {twice[0]!r}"
        )


def _check_removed(tool: str, schema: Mapping[str, Any], hidden: set[str]) -> None:
    """Raise DefinitionError if the tool requires a hidden argument."""
    if needed := sorted(hidden.intersection(required_of(schema))):
        raise DefinitionError(
            f"the transform of {tool!r} hides {needed[0]!r}, which the tool requires; give it a value"
        )


def _check_values(tool: str, schema: Mapping[str, Any], values: Json) -> None:
    """Raise DefinitionError if a value that is sent does not fit its argument."""
    if not values:
        return
    alone = {key: each for key, each in schema.items() if key != "required"}
    checked, _ = make_compilable(alone, root="object")
    wrong = compile_json_schema(checked).errors(dict(values))
    if unfit := [each for each in wrong if each.path and each.path[0] in values]:
        raise DefinitionError(
            f"the transform of {tool!r} sets a value that does not fit: {unfit[0]}"
        )
