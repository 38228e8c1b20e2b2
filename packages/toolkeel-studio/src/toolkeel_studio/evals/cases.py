"""A case of an evaluation: a question and the calls that are expected.

Errors of a file name the file, the case, the key and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from toolkeel._common.nearest_names import did_you_mean
from toolkeel._records.record import NOTHING, record
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.toolset import Toolset
from toolkeel.define.tool import AnyTool
from toolkeel.errors import CallError, SetupError
from toolkeel.messages import ToolCall
from toolkeel.observe.wording import compact
from toolkeel_studio.evals.matchers import Matcher, describe, parse_expected, to_plain

NONE = "none"
CASE_KEYS = ("name", "question", "calls")
CALL_KEYS = ("tool", "arguments", "others", "result")


@record
class ExpectedCall:
    """A call that a case expects.

    Args:
        tool: Name of the tool.
        arguments: Expected value by argument, as `parse_expected` returns it.
        others: True if other arguments may have any value; else they must have their default.
        result: What the model is sent for it, if a case expects further calls.
    """

    tool: str
    arguments: Mapping[str, object] = NOTHING
    others: bool = False
    result: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON data in the form of a case file."""
        found: dict[str, object] = {"tool": self.tool, "arguments": to_plain(self.arguments)}
        found |= {"others": "any"} if self.others else {}
        return found | ({"result": self.result} if self.result else {})

    def __str__(self) -> str:
        words = [f"{key}={describe(value)}" for key, value in self.arguments.items()]
        return f"{self.tool}({', '.join([*words, *(['...'] if self.others else [])])})"


@record
class Case:
    """A question and the calls that are expected.

    Args:
        name: Unique in its file.
        question: What the model is asked.
        calls: In any order; empty if the model must call nothing.
    """

    name: str
    question: str
    calls: tuple[ExpectedCall, ...] = ()


class CaseError(SetupError):
    """A case cannot be used.

    Args:
        file: Where it is.
        case: Its name or number; empty if it is the file as one.
        key: The key, such as ``calls[0].arguments.city``.
        problem: What is wrong and what to write instead.
    """

    def __init__(self, file: str, case: str, key: str, problem: str) -> None:
        where = [file, f"case {case}" if case else "", key]
        super().__init__(": ".join([*filter(None, where), problem]))


def parse_cases(data: object, file: str) -> list[Case]:
    """Return the cases of a file's data.

    Args:
        data: A list of mappings with the keys `CASE_KEYS`.
        file: Name of the file, for errors.

    Raises:
        CaseError: the data are not a list of cases.
    """
    if not isinstance(data, list | tuple) or not data:
        raise CaseError(file, "", "", "a file of cases is a list: - question: ..., calls: ...")
    cases: list[Case] = []
    numbers: dict[str, int] = {}
    for number, item in enumerate(data, 1):
        case = item if isinstance(item, Case) else _parse_case(item, file, number)
        first = numbers.setdefault(case.name, number)
        if first != number:
            problem = f"{case.name!r} is the name of case {first}, too; give one of them a name"
            raise CaseError(file, str(number), "name", problem)
        cases.append(case)
    return cases


def resolve_cases(cases: Iterable[Case], tools: Toolset, file: str) -> list[Case]:
    """Return the cases with literal arguments as the tools read them, such as 3 for "3".

    Raises:
        CaseError: a tool or an argument is unknown, is missing, or has a value that is refused.
    """
    return [
        replace(case, calls=tuple(_resolve_calls(case, tools, (file, repr(case.name)))))
        for case in cases
    ]


def _parse_case(item: object, file: str, number: int) -> Case:
    name = str(number)
    if isinstance(item, Mapping) and item.get("name", item.get("question")):
        name = repr(str(item.get("name", item.get("question"))))
    fields = _check_keys(item, CASE_KEYS, (file, name, ""))
    question = _text(fields, "question", (file, name, ""))
    title = _text(fields, "name", (file, name, "")) if "name" in fields else question
    calls = fields.get("calls")
    if calls == NONE:
        return Case(title, question)
    if not isinstance(calls, list | tuple) or not calls:
        problem = f"{calls!r:.80} is neither a list of calls nor none; write calls: none, or calls: [{{tool: NAME}}]"
        raise CaseError(file, name, "calls", problem)
    parsed = [
        call if isinstance(call, ExpectedCall) else _parse_call(call, (file, name, f"calls[{n}]"))
        for n, call in enumerate(calls)
    ]
    return Case(title, question, tuple(parsed))


def _parse_call(item: object, where: tuple[str, str, str]) -> ExpectedCall:
    file, case, key = where
    fields = _check_keys(item, CALL_KEYS, where)
    arguments = fields.get("arguments", {})
    if not isinstance(arguments, Mapping):
        problem = f"{arguments!r:.80} is no mapping; write arguments: {{NAME: VALUE}}"
        raise CaseError(file, case, f"{key}.arguments", problem)
    others = fields.get("others", "default")
    if others not in ("any", "default"):
        raise CaseError(file, case, f"{key}.others", f"{others!r:.80} is neither any nor default")
    parsed: dict[str, object] = {}
    for name, value in arguments.items():
        try:
            parsed[str(name)] = parse_expected(value)
        except ValueError as error:
            raise CaseError(file, case, f"{key}.arguments.{name}", str(error)) from None
    result = _text(fields, "result", where) if "result" in fields else ""
    return ExpectedCall(_text(fields, "tool", where), parsed, others == "any", result)


def _check_keys(
    item: object, known: Sequence[str], where: tuple[str, str, str]
) -> Mapping[str, Any]:
    file, case, key = where
    if not isinstance(item, Mapping):
        problem = f"{item!r:.80} is no mapping; its keys are {', '.join(known)}"
        raise CaseError(file, case, key, problem)
    for name in item:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"; there are {', '.join(known)}"
            raise CaseError(file, case, f"{key}.{name}".lstrip("."), f"no such key{hint}")
    return cast("Mapping[str, Any]", item)


def _text(fields: Mapping[str, Any], key: str, where: tuple[str, str, str]) -> str:
    file, case, outer = where
    value = fields.get(key)
    if isinstance(value, str) and value.strip():
        return value
    wrong = f"{value!r:.80} is no text; write" if key in fields else "it is missing; add"
    raise CaseError(file, case, f"{outer}.{key}".lstrip("."), f'{wrong} {key}: "..."')


def _resolve_calls(case: Case, tools: Toolset, where: tuple[str, str]) -> Iterator[ExpectedCall]:
    for number, expected in enumerate(case.calls):
        key = f"calls[{number}]"
        if expected.tool not in tools:
            hint = did_you_mean(expected.tool, tools.names)
            problem = f"no tool {expected.tool!r}{hint or '; there are ' + ', '.join(tools.names)}"
            raise CaseError(*where, f"{key}.tool", problem)
        tool = tools[expected.tool]
        _check_names(expected, tool, (*where, f"{key}.arguments"))
        if expected.others or _has_matcher(expected.arguments):
            yield replace(expected, tool=tool.name)
            continue
        call = ToolCall("case", tool.name, compact(expected.arguments))
        try:
            values = as_json(prepare(call, tool))
        except CallError as error:
            raise CaseError(*where, f"{key}.arguments", error.text) from None
        arguments = {name: values[name] for name in expected.arguments if name in values}
        yield replace(expected, tool=tool.name, arguments=arguments)


def _check_names(expected: ExpectedCall, tool: AnyTool, where: tuple[str, str, str]) -> None:
    file, case, key = where
    properties = tool.parameters.get("properties")
    known = list(properties) if isinstance(properties, Mapping) else []
    is_open = tool.unknown_keys == "allow" or tool.parameters.get("additionalProperties", False)
    for name in expected.arguments:
        if name not in known and not is_open:
            hint = did_you_mean(name, known) or f"; there are {', '.join(known) or 'none'}"
            raise CaseError(file, case, f"{key}.{name}", f"{tool.name} has no such argument{hint}")
    required = tool.parameters.get("required")
    for name in required if isinstance(required, list | tuple) else ():
        if name not in expected.arguments and not expected.others:
            problem = f"{tool.name} requires it; add {name}: VALUE, or {name}: {{any: true}}"
            raise CaseError(file, case, f"{key}.{name}", problem)


def _has_matcher(expected: object) -> bool:
    if isinstance(expected, Mapping):
        return any(map(_has_matcher, expected.values()))
    if isinstance(expected, list):
        return any(map(_has_matcher, expected))
    return isinstance(expected, Matcher)
