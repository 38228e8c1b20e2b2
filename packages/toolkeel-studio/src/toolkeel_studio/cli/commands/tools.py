"""``toolkeel tools``: list the tools of a target."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from toolkeel.builtin.tools_by_place import ALL_TARGET, load_target
from toolkeel.define.tool import AnyTool
from toolkeel.observe.wording import compact, one_line, pretty
from toolkeel_studio.cli.terminal.streams import (
    BOLD,
    CYAN,
    DIM,
    echo,
    layout,
    stdout_kept_clean,
    styled,
    width_of,
)
from toolkeel_studio.cli.terminal.text import cells, padded, wrapped

_ENUM = 40


def command(
    target: Annotated[
        str, typer.Argument(metavar="[TARGET]", help="Where the tools are.")
    ] = ALL_TARGET,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tools that a target brings.

    Without a TARGET: the builtins. Arguments in brackets may be left out.
    """
    with stdout_kept_clean():
        tools = list(load_target(target))
    if as_json:
        echo(pretty([tool_json(item) for item in tools]))
    else:
        layout(table(tools, width_of(sys.stdout)))


def tool_json(tool: AnyTool) -> dict[str, object]:
    """Convert a tool to JSON data."""
    effects = tool.effects
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "output": tool.output_schema,
        "effects": {
            "read_only": effects.read_only,
            "destructive": effects.destructive,
            "idempotent": effects.idempotent,
            "open_world": effects.open_world,
            "resources": list(effects.resources),
        },
        "timeout": tool.timeout,
        "tags": list(tool.tags),
    }


def table(tools: Sequence[AnyTool], width: int | None) -> list[str]:
    """Format the tools as a table for people, line by line.

    Args:
        tools: One row each.
        width: Cells of a line; None for no limit.
    """
    names = [one_line(tool.name) for tool in tools]
    arguments = [usage(tool.parameters) for tool in tools]
    first = max([cells(name) for name in names] + [4]) + 2
    second = max([cells(text) for text in arguments] + [9]) + 2
    if width is not None:
        second = min(second, max(width * 2 // 5, 24))
    rest = None if width is None else width - first - second
    head = padded("TOOL", first) + padded("ARGUMENTS", second) + "DESCRIPTION"
    lines = [styled(head, DIM, sys.stdout)]
    for tool, name, text in zip(tools, names, arguments, strict=True):
        about = one_line(tool.description.partition("\n\n")[0])
        columns = (
            [name],
            [text] if width is None else wrapped(text, second - 2),
            [about] if rest is None else wrapped(about, max(rest, 16)),
        )
        lines += _row(columns, (first, second))
    return lines


def _row(columns: tuple[list[str], list[str], list[str]], widths: tuple[int, int]) -> list[str]:
    """Format one tool. Each column continues below itself."""
    lines = []
    for index in range(max(map(len, columns))):
        name, arguments, about = (
            column[index] if index < len(column) else "" for column in columns
        )
        left = styled(name, BOLD, sys.stdout) + " " * (widths[0] - cells(name))
        middle = styled(arguments, CYAN, sys.stdout) + " " * (widths[1] - cells(arguments))
        lines.append((left + middle + about).rstrip())
    return lines


def usage(parameters: Mapping[str, Any]) -> str:
    """Arguments as a usage line shows them: what may be left out in brackets.

    >>> usage({"properties": {"city": {"type": "string"}, "days": {"default": 3}},
    ...        "required": ["city"]})
    'city [days=3]'
    """
    properties = parameters.get("properties")
    required = parameters.get("required") or ()
    if not isinstance(properties, Mapping):
        return ""
    words = []
    for name, schema in properties.items():
        word = one_line(str(name)) + _choices(schema)
        words.append(word if name in required else f"[{word}]")
    return " ".join(words)


def _choices(schema: object) -> str:
    """Return ``=a|b`` for a choice, ``=3`` for a default."""
    if not isinstance(schema, Mapping):
        return ""
    members = "|".join(str(member) for member in schema.get("enum", ()))
    if members and cells(members) <= _ENUM:
        return f"={one_line(members)}"
    default = schema.get("default")
    if default is None or isinstance(default, list | dict) or len(str(default)) > _ENUM:
        return ""
    return f"={one_line(compact(default))}"
