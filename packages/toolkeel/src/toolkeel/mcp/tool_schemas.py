"""Schemas of another program's tool, mended and compiled when they are first used.

A server may list a thousand tools of which a run calls three.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from toolkeel.define.returns import OutputSchema
from toolkeel.define.schema.argument_schema import ArgumentSchema
from toolkeel.define.schema.foreign import compile_foreign
from toolkeel.define.schema.from_json_schema import arguments_from_validator
from toolkeel.errors import DefinitionError
from toolkeel.mcp.content import output_from_validator

MAX_DESCRIPTION = 50_000
"""Characters of one tool's description that a model is shown."""


class ToolSchemas:
    """The description and the schemas of a server's tool; each schema is compiled at its first use.

    Args:
        name: The tool's name here.
        definition: Its definition.
    """

    def __init__(self, name: str, definition: Mapping[str, Any]) -> None:
        self._name = name
        self._definition = definition

    @property
    def description(self) -> str:
        """What a model is shown: its description, else its title, its schema's description, or name; cut to `MAX_DESCRIPTION`."""
        text = self._stated_description
        if len(text) > MAX_DESCRIPTION:
            return f"{text[:MAX_DESCRIPTION]} [cut here]"
        return text or self._name.replace("_", " ")

    @property
    def _stated_description(self) -> str:
        """The tool's description, title, or its schema's description; "" without any."""
        stated = self._definition.get("description") or self._definition.get("title")
        stated = stated or self._definition["inputSchema"].get("description")
        return stated if isinstance(stated, str) else ""

    @functools.cached_property
    def _arguments(self) -> tuple[ArgumentSchema, tuple[str, ...]]:
        """The schema of the arguments, and what of it cannot be compiled."""
        compiled, problems = compile_foreign(self._definition["inputSchema"], root="object")
        arguments = arguments_from_validator(self._name, compiled)
        # Servers tell what is absent from what is said: a default they state is theirs to fill in.
        return dataclasses.replace(arguments, fill_defaults=None), problems

    @functools.cached_property
    def _output(self) -> tuple[OutputSchema, tuple[str, ...]]:
        """The schema of the results, and what of it cannot be compiled: an empty one if nothing can."""
        try:
            compiled, problems = compile_foreign(self._definition["outputSchema"])
        except DefinitionError as error:
            return OutputSchema({}, lambda value: value), (f"its results are not checked: {error}",)
        problems = tuple(f"outputSchema {problem}" for problem in problems)
        return output_from_validator(compiled), problems

    def argument_schema(self) -> ArgumentSchema:
        """Return the schema of the arguments without keywords that cannot be compiled; the server fills in defaults."""
        return self._arguments[0]

    def output_schema(self) -> OutputSchema:
        """Return the schema of the results, of a tool that has one; an empty one if it cannot be compiled."""
        return self._output[0]

    def problems(self) -> tuple[str, ...]:
        """Return what of the definition is not used or not checked; compile the schemas."""
        found = self._arguments[1]
        if self._definition.get("outputSchema") is not None:
            found += self._output[1]
        if (size := len(self._stated_description)) > MAX_DESCRIPTION:
            found += (f"its description has {size:,} characters; {MAX_DESCRIPTION:,} are shown",)
        return found
