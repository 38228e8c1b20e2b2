"""The calls of one question against the expected ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from toolkeel._records.record import record
from toolkeel.call.correction_counts import CORRECTABLE
from toolkeel.call.toolset import Toolset
from toolkeel.observe.wording import compact
from toolkeel_studio.evals.cases import ExpectedCall
from toolkeel_studio.evals.matchers import describe, match_keys, matches

INVALID = (*CORRECTABLE, "unknown_tool")
"""Kinds of result of a call that no tool accepted."""


@record
class MadeCall:
    """A call that a model made.

    Args:
        tool: Name of the tool.
        arguments: As the tool read them: converted, with defaults; as written if it is invalid.
        kind: How it failed; empty if it did not.
        turn: The model's reply that it is in, from 1.
    """

    tool: str
    arguments: Mapping[str, object] | str
    kind: str = ""
    turn: int = 1

    @property
    def valid(self) -> bool:
        """True if the tool accepted the arguments, whatever its body did."""
        return self.kind not in INVALID

    def __str__(self) -> str:
        text = self.arguments if isinstance(self.arguments, str) else compact(self.arguments)
        return f"{self.tool}({text})"


@record
class Verdict:
    """How the calls of one question compare with the expected ones.

    Args:
        right_tool: The expected tools were called, each as often as expected, and no other.
        right_arguments: Their arguments match, too.
        corrected: After an invalid call, the right ones were made; None without an invalid call.
        why: What is wrong; empty if nothing is.
    """

    right_tool: bool
    right_arguments: bool
    corrected: bool | None = None
    why: str = ""


def judge(expected: Sequence[ExpectedCall], made: Sequence[MadeCall], tools: Toolset) -> Verdict:
    """Compare the calls of one question with the expected ones, in any order.

    An invalid call does not count once the model has made another in a later reply.
    """
    last = max((call.turn for call in made), default=0)
    final = [call for call in made if call.valid or call.turn == last]
    wanted, found = Counter(e.tool for e in expected), Counter(call.tool for call in final)
    right_tool = wanted == found
    why = (
        _explain_arguments(expected, final, tools) if right_tool else _explain_tools(wanted, found)
    )
    right = not why
    had_invalid = any(not call.valid for call in made)
    return Verdict(right_tool, right, right if had_invalid else None, why)


def is_match(expected: ExpectedCall, call: MadeCall, tools: Toolset) -> bool:
    """Return True if a call is an expected one."""
    if call.tool != expected.tool or isinstance(call.arguments, str):
        return False
    others = _others(expected, call.arguments)
    if not expected.others and any(not _is_default(call.tool, k, others[k], tools) for k in others):
        return False
    named = {key: value for key, value in call.arguments.items() if key not in others}
    return match_keys(expected.arguments, named)


def _others(expected: ExpectedCall, arguments: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in arguments.items() if key not in expected.arguments}


def _is_default(tool: str, argument: str, value: object, tools: Toolset) -> bool:
    """Return True if an argument has the value that leaving it out gives."""
    properties = tools[tool].parameters.get("properties")
    schema = properties.get(argument) if isinstance(properties, Mapping) else None
    return isinstance(schema, Mapping) and "default" in schema and schema["default"] == value


def _unmatched(
    expected: Sequence[ExpectedCall], made: Sequence[MadeCall], tools: Toolset
) -> list[ExpectedCall]:
    """Return the expected calls that are left when as many as possible have a call of their own."""
    taken: dict[int, int] = {}  # expected call by made call

    def find(wanted: int, tried: set[int]) -> bool:
        for place, call in enumerate(made):
            if place in tried or not is_match(expected[wanted], call, tools):
                continue
            tried.add(place)
            if place not in taken or find(taken[place], tried):
                taken[place] = wanted
                return True
        return False

    return [each for number, each in enumerate(expected) if not find(number, set())]


def _explain_tools(wanted: Counter[str], found: Counter[str]) -> str:
    if not found:
        return f"no call; expected {_listed(wanted)}"
    return f"called {_listed(found)}; expected {_listed(wanted) or 'no call'}"


def _listed(names: Counter[str]) -> str:
    return ", ".join(name if n == 1 else f"{name} {n} times" for name, n in names.items())


def _explain_arguments(
    expected: Sequence[ExpectedCall], made: Sequence[MadeCall], tools: Toolset
) -> str:
    """Describe what is wrong with calls of the right tools; empty if nothing is."""
    invalid = [call for call in made if not call.valid]
    if invalid:
        return "; ".join(f"{call}: {call.kind}" for call in invalid)
    unmatched = _unmatched(expected, made, tools)
    return "; ".join(_explain_difference(each, made, tools) for each in unmatched)


def _explain_difference(expected: ExpectedCall, made: Sequence[MadeCall], tools: Toolset) -> str:
    """Describe the differences to the calls of the tool, argument by argument if there is one call."""
    calls = [call for call in made if call.tool == expected.tool]
    if len(calls) != 1 or isinstance(calls[0].arguments, str):
        return f"expected {expected}, got {', '.join(map(str, calls))}"
    arguments, found = calls[0].arguments, []
    for key, value in expected.arguments.items():
        if key not in arguments:
            found.append(f"{key} is missing, expected {describe(value)}")
        elif not matches(value, arguments[key]):
            found.append(f"{key} is {compact(arguments[key])}, expected {describe(value)}")
    for key, extra in _others(expected, arguments).items():
        if not expected.others and not _is_default(expected.tool, key, extra, tools):
            found.append(f"{key} is {compact(extra)}, expected its default")
    return f"{expected.tool}: {', '.join(found)}"
