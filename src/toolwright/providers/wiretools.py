"""Tools as one wire knows them: their JSON, their names there, and their properties' names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

from toolwright.call.toolset import Toolset
from toolwright.define.definition import Form, definition
from toolwright.define.dialect import restore_keys
from toolwright.define.names import POLICIES, wire_name, wire_names
from toolwright.errors import SetupError
from toolwright.model import ToolDefinition
from toolwright.providers.wire import Json, dumps


class WireTools:
    """The tools of a request.

    Args:
        tools: As the program knows them.
        target: Which provider's form they take.
        strict: Whether the provider shall hold arguments to the schema; None: it decides.

    Attributes:
        bodies: The JSON of each tool, in order. Not to be changed: copy it.
        names: Alias on the wire by the tool's name.
        keys: Wire name by own name of renamed properties, by the tool's name.
    """

    __slots__ = ("_own", "_target", "bodies", "keys", "names")

    def __init__(
        self,
        tools: Iterable[ToolDefinition] = (),
        target: Form = "plain",
        strict: bool | None = None,
    ) -> None:
        tools = list(tools)
        self._target: Form = target
        self.names = wire_names([tool.name for tool in tools], POLICIES[target])
        self.bodies: list[Json] = []
        self.keys: dict[str, Mapping[str, str]] = {}
        for tool in tools:
            made = definition(
                self.names[tool.name],
                tool.description,
                tool.parameters,
                target,
                strict=strict,
                extras=tool.extras,
            )
            self.bodies.append(made.body)
            if made.keys:
                self.keys[tool.name] = made.keys
        self._own = {alias: name for name, alias in self.names.items()}

    def alias(self, name: str) -> str:
        """What a tool is called on the wire; one that is not there any more gets a legal name."""
        alias = self.names.get(name)
        return wire_name(name, POLICIES[self._target]) if alias is None else alias

    def own(self, alias: str) -> str:
        """The tool's name, by what it is called on the wire."""
        return self._own.get(alias, alias)

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

    def outward(self, name: str, arguments: Json) -> Json:
        """A past call's arguments under the properties' names on the wire."""
        keys = self.keys.get(name)
        if not keys:
            return arguments
        renamed: Json = restore_keys(arguments, {wire: own for own, wire in keys.items()})
        return renamed

    def inward(self, name: str, text: str) -> str:
        """A call's arguments under the tool's own property names; as they are if unreadable."""
        keys = self.keys.get(name)
        if not keys:
            return text
        try:
            return dumps(restore_keys(json.loads(text), keys))
        except (ValueError, RecursionError):
            return text


_TOOLSETS: WeakKeyDictionary[Toolset, dict[tuple[Form, bool | None], WireTools]]
_TOOLSETS = WeakKeyDictionary()


def wire_tools(
    tools: Iterable[ToolDefinition], target: Form, strict: bool | None = None
) -> WireTools:
    """`WireTools`; those of a `Toolset`, which never changes, are made once.

    Raises:
        DefinitionError: if a tool cannot be put in the provider's form.
    """
    if isinstance(tools, WireTools):
        return tools
    if not isinstance(tools, Toolset):
        return WireTools(tools, target, strict)
    kept = _TOOLSETS.setdefault(tools, {})
    made = kept.get((target, strict))
    if made is None:
        made = kept[target, strict] = WireTools(tools, target, strict)
    return made
