"""Tools that validate calls as the real ones do, accept them, and run nothing.

The model is offered the same names, descriptions and schemas, and reads the same errors for invalid
arguments. Bodies, guards, steps, rules, approvals and tools on a provider's servers are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolkeel._records.record import NOTHING
from toolkeel.call.toolset import Toolset
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed
from toolkeel.effects import PURE
from toolkeel_studio.evals.cases import ExpectedCall

ACCEPTED = "accepted"
"""Result of a call for which the case has none."""


class CannedResults:
    """A `Step` that returns the results that a case has for its calls, by tool and in order."""

    def __init__(self, expected: Sequence[ExpectedCall]) -> None:
        self._left = [each for each in expected if each.result]

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Return the next result of the tool; run nothing."""
        for each in self._left:
            if each.tool == prepared.tool.name:
                self._left.remove(each)
                return each.result
        return ACCEPTED


def make_stubs(tools: Toolset, expected: Sequence[ExpectedCall]) -> Toolset:
    """Return tools that accept valid calls and run nothing.

    Args:
        tools: The real ones.
        expected: The calls of a case, whose results are returned.
    """
    results = CannedResults(expected)
    return Toolset([_make_stub(tool, results) for tool in tools])


async def _never_run(**arguments: Any) -> object:
    raise AssertionError("a stub has no body")


def _make_stub(tool: AnyTool, results: CannedResults) -> AnyTool:
    return replace(
        tool,
        function=_never_run,
        body="async",
        inline=True,
        injected=(),
        positional=(),
        output=None,
        result_type=None,
        returns="content",
        effects=PURE,
        executor=None,
        ends_run=True,
        approval=False,
        steps=(results,),
        metadata=NOTHING,
        hosted=None,
    )
