"""Tools as one wire knows them: their JSON, their names there, and their properties' names."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

from toolkeel.call.enabled_tools import with_wire_names
from toolkeel.call.toolset import Toolset
from toolkeel.define.dialect import restore_keys
from toolkeel.define.dialect.definition import FORMS, Form, definition
from toolkeel.define.names import POLICIES, wire_name, wire_names
from toolkeel.errors import SetupError
from toolkeel.hosted import Native, native_of
from toolkeel.messages import ToolMessage
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.wire.plain_json import Json, dumps

_FORM_OF: Mapping[str, Form] = {form: form for form in FORMS}


class WireTools:
    """The tools of a request.

    Args:
        tools: As the program knows them.
        target: Which provider's form they take; that of MCP, which says name, description and
            schema as they are, if it is none of `FORMS`.
        strict: Whether the provider shall hold arguments to the schema; None: it decides.
        hosting: Whether the server has tools of its own; else those are functions, too.

    Attributes:
        bodies: The JSON of each function, in order. Not to be changed: copy it.
        natives: By the tool's name, those that are the provider's own on this wire.
        stand_ins: Those that the provider has, and that run here since the server may not.
        names: Alias on the wire by the tool's name.
        keys: Wire name by own name of renamed properties, by the tool's name.
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
        self.stand_ins = [] if hosting else _stand_ins(functions, target)
        self.names = wire_names([tool.name for tool in functions], self._policy)
        self.bodies: list[Json] = []
        self.keys: dict[str, Mapping[str, str]] = {}
        for tool in functions:
            options = dict(tool.provider_options)
            held = options.pop("strict", strict)
            made = definition(
                self.names[tool.name],
                tool.description,
                tool.parameters,
                form,
                strict=None if held is None else bool(held),
                provider_options=options,
            )
            self.bodies.append(made.body)
            if made.keys:
                self.keys[tool.name] = made.keys
        self._by_alias = {alias: name for name, alias in self.names.items()}
        for name, native in self.natives.items():
            for alias in _aliases(name, native):
                self._claim(alias, name)

    def _claim(self, alias: str, name: str) -> None:
        """Let calls of `alias` be calls of a provider's own tool.

        Raises:
            SetupError: if another tool is called that.
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
        """What the request must ask for so that the results of those come along."""
        return list(dict.fromkeys(one for own in self.natives.values() for one in own.include))

    @property
    def betas(self) -> list[str]:
        """The features in test that those need."""
        return list(dict.fromkeys(one for own in self.natives.values() for one in own.betas))

    @property
    def native_lists(self) -> dict[str, list[object]]:
        """Lists of the request's body that those need beside its tools."""
        found: dict[str, list[object]] = {}
        for native in self.natives.values():
            for key, items in native.beside.items():
                found.setdefault(key, []).extend(items)
        return found

    def native(self, kinds: Collection[str], label: str = "") -> str:
        """The name of the provider's own tool of one of these types; empty if there is none.

        Args:
            kinds: Types in the tools' JSON.
            label: Of an MCP server: which one.
        """
        for name, native in self.natives.items():
            if native.type in kinds and label in ("", native.body.get("server_label", "")):
                return name
        return ""

    def translated(self, name: str, arguments: Json, alias: str = "") -> Json:
        """A native call's arguments as the tool's own; those that cannot be read stay.

        Args:
            name: The tool's.
            arguments: As the provider sent them.
            alias: What the provider called; a member's name is told as ``member``.
        """
        native = self.natives.get(name)
        if native is None or native.inward is None:
            return arguments
        if alias in native.aliases:
            arguments = {**arguments, "member": alias}
        try:
            return dict(native.inward(arguments))
        except (ValueError, KeyError, TypeError):
            return arguments  # validation will tell the model what is wrong with them

    def alias(self, name: str) -> str:
        """What a tool is called on the wire; one that is not there any more gets a legal name."""
        alias = self.names.get(name)
        return wire_name(name, self._policy) if alias is None else alias

    def name_of(self, alias: str) -> str:
        """The tool's name, by what it is called on the wire."""
        return self._by_alias.get(alias, alias)

    def told(self, result: ToolMessage) -> ToolMessage:
        """A result that calls tools by their names on this wire; see `with_wire_names`."""
        return with_wire_names(result, self._aliased) if self._aliased else result

    @cached_property
    def _aliased(self) -> Mapping[str, str]:
        """The tools whose names on the wire are others."""
        return {name: alias for name, alias in self.names.items() if name != alias}

    def chosen(self, name: str) -> str:
        """The alias of the tool that must be called.

        Raises:
            SetupError: if it is none of these.
        """
        alias = self.names.get(name)
        if alias is None:
            known = ", ".join(self.names) or "none"
            raise SetupError(f"Settings(tool_choice={name!r}): no such tool; there are {known}")
        return alias

    def to_wire(self, name: str, arguments: Json) -> Json:
        """A past call's arguments under the properties' names on the wire."""
        keys = self.keys.get(name)
        if not keys:
            return arguments
        renamed: Json = restore_keys(arguments, {wire: own for own, wire in keys.items()})
        return renamed

    def from_wire(self, name: str, text: str) -> str:
        """A call's arguments under the tool's own property names; as they are if unreadable."""
        keys = self.keys.get(name)
        if not keys:
            return text
        try:
            return dumps(restore_keys(json.loads(text), keys))
        except (ValueError, RecursionError):
            return text


def _stand_ins(functions: Iterable[ToolDefinition], target: str) -> list[str]:
    """The functions that the provider has as tools of its own."""
    return [tool.name for tool in functions if native_of(tool, target) is not None]


def _aliases(name: str, native: Native) -> tuple[str, ...]:
    """What a provider calls its own tool by."""
    given = native.body.get("name")
    return (given if isinstance(given, str) and given else name, *native.aliases)


Tools: TypeAlias = Iterable[ToolDefinition] | WireTools
"""The tools of a request, such as a `Toolset`, which is prepared once."""

_TOOLSETS: WeakKeyDictionary[Toolset, dict[tuple[str, bool | None, bool], WireTools]]
_TOOLSETS = WeakKeyDictionary()


def wire_tools(
    tools: Tools, target: str, strict: bool | None = None, *, hosting: bool = True
) -> WireTools:
    """`WireTools`; those of a `Toolset`, which never changes, are made once.

    Raises:
        DefinitionError: if a tool cannot be put in the provider's form.
        SetupError: if a tool shall run at the provider, which does not have it.
    """
    if isinstance(tools, WireTools):
        return tools
    if not isinstance(tools, Toolset):
        return WireTools(tools, target, strict, hosting=hosting)
    kept = _TOOLSETS.setdefault(tools, {})
    made = kept.get((target, strict, hosting))
    if made is None:
        made = WireTools(tools, target, strict, hosting=hosting)
        kept[target, strict, hosting] = made
    return made
