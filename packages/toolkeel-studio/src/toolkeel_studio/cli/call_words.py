"""What Tab completes after ``toolkeel call``: tools of the target, arguments, and their known values.

Loading a target runs its code, as the call itself would. Targets that start or reach a server are not
loaded. What a shell would not take literally is not offered, since bash inserts words as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolkeel.builtin.tools_by_place import is_mcp_target, load_target
from toolkeel.call.toolset import Toolset
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool
from toolkeel_studio.cli.arguments import known_values

_LITERAL: Final = re.compile(r"[\w=.,:/@%+-]+")
"""Words that every shell takes as they are written."""


def complete_call(words: Sequence[str]) -> list[str]:
    """Return what the last word may become, without the part that the shell has split off.

    Args:
        words: The target and what follows, up to the cursor; bash splits words at ``=`` and ``:``.
    """
    target, *rest = _join_split(
        [word for word in words[:-1] if not word.startswith("--")], words[-1]
    )
    if not rest or is_mcp_target(target):
        return []
    typed = rest[-1]
    last = "" if words[-1] in ("=", ":") else words[-1]
    whole = sorted(set(filter(_LITERAL.fullmatch, _candidates(load_target(target), rest))))
    return [each[len(typed) - len(last) :] for each in whole if each.startswith(typed)]


def _join_split(before: Sequence[str], last: str) -> list[str]:
    """Undo bash's splitting at ``=`` and ``:``."""
    joined: list[str] = []
    glue = False
    for word in [*before, last]:
        if joined and (glue or word in ("=", ":")):
            joined[-1] += word
        else:
            joined.append(word)
        glue = word in ("=", ":")
    return joined


def _candidates(tools: Toolset, rest: Sequence[str]) -> Iterator[str]:
    """Yield the complete words that may stand where the last one is."""
    if len(rest) == 1:
        yield from tools.names
    one = tools[tools.names[0]] if len(tools.names) == 1 else None
    tool = tools[rest[0]] if len(rest) > 1 and rest[0] in tools else one
    if tool is not None:
        yield from _arguments(tool, rest[-1])


def _arguments(tool: AnyTool, typed: str) -> Iterator[str]:
    key, equals, _ = typed.partition("=")
    for name, schema in properties_of(tool.parameters).items():
        if not equals:
            yield f"{name}="
        elif key == name:
            yield from (f"{name}={value}" for value in known_values(schema, tool.parameters))
