"""Tools on one wire: their JSON, their aliases, and the names of their properties."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

from toolkeel._records.record import NOTHING
from toolkeel.call.arguments.validate import FREEFORM
from toolkeel.call.enabled_tools import with_wire_names
from toolkeel.call.toolset import Toolset
from toolkeel.define.dialect import restore_keys
from toolkeel.define.dialect.definition import FORMS, Form, definition
from toolkeel.define.names import POLICIES, wire_name, wire_names
from toolkeel.define.subschemas import text_parameter_of
from toolkeel.errors import SetupError
from toolkeel.hosted import Native, native_of
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.wire.plain_json import (
    MALFORMED,
    Json,
    arguments_object,
    dumps,
)

_FREEFORM_PARAMETER = "input"
"""Parameter of a freeform text whose tool is unknown or has no single text parameter."""
_FORM_OF: Mapping[str, Form] = {form: form for form in FORMS}


class WireTools:
    """The tools of a request in the form of one wire.

    Args:
        tools: The program's tools.
        target: Dialect of the provider; for a name outside `FORMS`, MCP's, which has name, description
            and schema unchanged.
        strict: True if the provider must hold arguments to the schema; None: its default.
        hosting: True if the server has tools of its own; else those are functions, too.

    Attributes:
        bodies: The JSON of each function, in order. Copy before you change it.
        natives: The provider's own tools on this wire, by the tool's name.
        stand_ins: Tools that the provider has, and that run locally since the server may not have them.
        names: Alias on the wire by the tool's name.
        keys: Renamed properties (wire name by own name) by the tool's name.
    """

    def __init__(
        self,
        tools: Iterable[ToolDefinition] = (),
        target: str = "plain",
        strict: bool | None = None,
        *,
        hosting: bool = True,
    ) -> None:
        tools = list(tools)
        self._target = target
        form = _FORM_OF.get(target, "mcp")
        self._policy = POLICIES[form]
        self.natives: dict[str, Native] = {}
        for tool in tools:
            native = native_of(tool, target, hosting=hosting)
            if native is not None:
                self.natives[tool.name] = native
        functions = [tool for tool in tools if tool.name not in self.natives]
        self._functions = functions
        self.stand_ins = [] if hosting else _find_stand_ins(functions, target)
        self.names = wire_names([tool.name for tool in functions], self._policy)
        self.bodies: list[Json] = []
        self.keys: dict[str, Mapping[str, str]] = {}
        for tool in functions:
            options = dict(tool.provider_options)
            tool_strict = options.pop("strict", strict)
            made = definition(
                self.names[tool.name],
                tool.description,
                tool.parameters,
                form,
                strict="verbatim" if tool_strict == "verbatim" else _as_flag(tool_strict),
                provider_options=options,
            )
            self.bodies.append(made.body)
            if made.keys:
                self.keys[tool.name] = made.keys
        self._by_alias = {alias: name for name, alias in self.names.items()}
        for name, native in self.natives.items():
            for alias in _list_aliases(name, native):
                self._claim(alias, name)

    def _claim(self, alias: str, name: str) -> None:
        """Reserve `alias` for calls of one of the provider's own tools.

        Raises:
            SetupError: if another tool has that name.
        """
        if self._by_alias.setdefault(alias, name) != name:
            raise SetupError(
                f"{self._target} calls its own tool {name!r} {alias!r}, which is the name of "
                f"{self._by_alias[alias]!r}: rename that one, or give {name!r} where='local'"
            )
        self.names.setdefault(name, alias)

    @property
    def native_bodies(self) -> list[Json]:
        """The JSON of the provider's own tools, in order."""
        return [dict(native.body) for native in self.natives.values()]

    @property
    def native_includes(self) -> list[str]:
        """Values of ``include`` that the results of the provider's own tools require."""
        return list(dict.fromkeys(one for own in self.natives.values() for one in own.include))

    @property
    def betas(self) -> list[str]:
        """Beta features that the provider's own tools require."""
        return list(dict.fromkeys(one for own in self.natives.values() for one in own.betas))

    @property
    def native_lists(self) -> dict[str, list[object]]:
        """Lists of the request's body that the provider's own tools require."""
        found: dict[str, list[object]] = {}
        for native in self.natives.values():
            for key, items in native.body_lists.items():
                found.setdefault(key, []).extend(items)
        return found

    def native(self, kinds: Collection[str], label: str = "") -> str:
        """Return the name of the provider's own tool of one of these types; empty if there is none.

        Args:
            kinds: Types in the tools' JSON.
            label: Label of an MCP server.
        """
        for name, native in self.natives.items():
            if native.type in kinds and label in ("", native.body.get("server_label", "")):
                return name
        return ""

    def translate_native(self, name: str, arguments: Json, alias: str = "") -> Json:
        """Translate a native call's arguments to the tool's own; invalid ones stay unchanged.

        Args:
            name: Name of the tool.
            arguments: As the provider sent them.
            alias: Name that the provider called; a member's name is passed as ``member``.
        """
        native = self.natives.get(name)
        if native is None or native.to_tool_arguments is None:
            return arguments
        if alias in native.aliases:
            arguments = {**arguments, "member": alias}
        try:
            return dict(native.to_tool_arguments(arguments))
        except (ValueError, KeyError, TypeError):
            return arguments  # validation will tell the model what is wrong with them

    def alias(self, name: str) -> str:
        """Return a tool's name on the wire; a tool that is not in the request gets a legal name."""
        alias = self.names.get(name)
        return wire_name(name, self._policy) if alias is None else alias

    def name_of(self, alias: str) -> str:
        """Return the tool's name for an alias on the wire, also with a model's marks around it; else the alias."""
        if alias in self._by_alias:
            return self._by_alias[alias]
        return self._by_alias.get(_bare_name(alias), alias)

    def with_wire_names(self, result: ToolMessage) -> ToolMessage:
        """Return a result with tool names in it replaced by those on the wire."""
        return with_wire_names(result, self._renamed) if self._renamed else result

    @cached_property
    def _parameters(self) -> Mapping[str, Mapping[str, object]]:
        """Parameter schema of each function by its name."""
        return {tool.name: tool.parameters for tool in self._functions}

    @cached_property
    def _renamed(self) -> Mapping[str, str]:
        """Wire names of the tools whose wire names differ, by their own names."""
        return {name: alias for name, alias in self.names.items() if name != alias}

    def alias_to_call(self, name: str) -> str:
        """Return the alias of the tool that `tool_choice` names.

        Raises:
            SetupError: if there is no such tool.
        """
        alias = self.names.get(name)
        if alias is None:
            known = ", ".join(self.names) or "none"
            raise SetupError(f"Settings(tool_choice={name!r}): no such tool; there are {known}")
        return alias

    def encode_arguments(self, call: ToolCall) -> Json:
        """Return a past call's arguments as an object with their names on the wire; text is parsed."""
        return self.to_wire(call.name, arguments_object(self.arguments_of(call)))

    def arguments_of(self, call: ToolCall) -> str | Mapping[str, object]:
        """Return a past call's arguments as those of a function. See `function_arguments`."""
        return function_arguments(call, self._parameters.get(call.name, NOTHING))

    def to_wire(self, name: str, arguments: Json) -> Json:
        """Return a past call's arguments with its properties under their names on the wire."""
        keys = self.keys.get(name)
        if not keys:
            return arguments
        renamed: Json = restore_keys(arguments, {wire: own for own, wire in keys.items()})
        return renamed

    def from_wire(self, name: str, text: str) -> str:
        """Return a call's arguments with the tool's own names of properties; unchanged if invalid."""
        keys = self.keys.get(name)
        if not keys:
            return text
        try:
            return dumps(restore_keys(json.loads(text), keys))
        except (ValueError, RecursionError):
            return text


def is_freeform(call: ToolCall) -> bool:
    """Return True if a call's arguments are a text of any form, as those of custom tools."""
    return call.provider_options.get("type") == FREEFORM and isinstance(call.arguments, str)


def function_arguments(
    call: ToolCall, parameters: Mapping[str, object]
) -> str | Mapping[str, object]:
    """Return a past call's arguments for a function; a freeform text is the value of its one text parameter.

    Without such a parameter, the text of a JSON object is that object; any other is the value of ``input``.

    Args:
        call: The call.
        parameters: JSON Schema of its tool's parameters; empty for an unknown tool.
    """
    text = call.arguments
    if not is_freeform(call) or not isinstance(text, str):
        return text
    name = text_parameter_of(parameters)
    if not name and (parsed := arguments_object(text)) and MALFORMED not in parsed:
        return parsed
    return {name or _FREEFORM_PARAMETER: text}


def _as_flag(strict: object) -> bool | None:
    """Return what a tool says of strictness as a flag; None stays."""
    return None if strict is None else bool(strict)


def _find_stand_ins(functions: Iterable[ToolDefinition], target: str) -> list[str]:
    """Return the names of functions that the provider also has as tools of its own."""
    return [tool.name for tool in functions if native_of(tool, target) is not None]


def _list_aliases(name: str, native: Native) -> tuple[str, ...]:
    """Return the names under which a provider calls its own tool."""
    own_name = native.body.get("name")
    return (own_name if isinstance(own_name, str) and own_name else name, *native.aliases)


Tools: TypeAlias = Iterable[ToolDefinition] | WireTools
"""The tools of a request, such as a `Toolset`, which is prepared once."""

_TOOLSETS: WeakKeyDictionary[Toolset, dict[tuple[str, bool | None, bool], WireTools]]
_TOOLSETS = WeakKeyDictionary()


def _bare_name(alias: str) -> str:
    """Return a tool's name without what servers leave of a model's own format.

    >>> _bare_name("functions.f:0"), _bare_name(" f<|channel|>")
    ('f', 'f')
    """
    name = alias.partition("<|")[0].strip()
    name = name.removeprefix("functions.") or name
    stem, _, number = name.rpartition(":")
    return stem if stem and number.isdecimal() else name


def wire_tools(
    tools: Tools, target: str, strict: bool | None = None, *, hosting: bool = True
) -> WireTools:
    """Convert tools to one wire's form, and cache those of a `Toolset`; `WireTools` are returned unchanged.

    Args:
        tools: The tools.
        target: The wire.
        strict: True if the provider must hold arguments to the schemas; None: the wire's default.
        hosting: False if the provider's own tools cannot be used.

    Raises:
        DefinitionError: if a tool cannot be expressed in the provider's dialect.
        SetupError: if a tool must run at the provider, which does not have it.
    """
    if isinstance(tools, WireTools):
        return tools
    if not isinstance(tools, Toolset):
        return WireTools(tools, target, strict, hosting=hosting)
    cached = _TOOLSETS.setdefault(tools, {})
    made = cached.get((target, strict, hosting))
    if made is None:
        made = WireTools(tools, target, strict, hosting=hosting)
        cached[target, strict, hosting] = made
    return made
