"""Choose the tools that a prompt asks for, one call per sentence or clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from toolkeel._records.record import record
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.fill_arguments import affinity, fill_arguments
from toolkeel.providers.offline.lexicon import ideas_of
from toolkeel.providers.offline.parameters import Parameter, parameters_of
from toolkeel.providers.offline.values import Value, find_values, overlaps

THRESHOLD = 0.6
"""Lowest score of a tool that is called."""
CLEAR = 2.0
"""Lowest score of a clause that names its tool, beyond a word of its description."""
LONGEST = 20_000
"""Characters of a prompt that are read."""

_MOST_CLAUSES = 32
_BORDER = re.compile(
    r"[.!?](?=\s|$)|[。！？；;\n]|[,，、]|\b(?:and|then|also|as well as|plus|or)\b"
    r"|和|以及|还有|并且|然后|同时",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|^\s*(?:what|how|where|when|who|why|which|can|may|must|does|do|is|are)\b"
    r"|什么|怎么|如何|哪|谁|为何|多少|吗\s*$",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"\b(?:search|look)\b.{0,80}\banswers? (?:a|the|your|any) question", re.I | re.S
)
_LISTING = re.compile(r"\b(?:what|which) (?:files?|folders?)\b", re.IGNORECASE)
_WEAK = {"today": 0.3, "time": 0.8, "count": 0.5, "search": 0.8, "name": 0.5, "turn": 0.5}
_GENERIC = frozenset(("start", "end", "tool", "function", "string", "value", "information"))
_OPAQUE = frozenset(("quoted", "url", "email", "path"))
"""Kinds of values whose words do not speak of a tool."""
_VALUE_BONUS = {
    "expression": 3.0, "path": 1.6, "glob": 1.0, "url": 2.0, "email": 1.5, "zone": 1.5,
    "place": 0.6, "language": 0.8, "symbol": 0.8, "date": 0.5,
}  # fmt: skip


@record
class PlannedCall:
    """A call that a prompt asks for.

    Args:
        tool: The tool.
        arguments: Its arguments; incomplete while something is missing.
        missing: Required parameters without a value in the prompt.
    """

    tool: ToolDefinition
    arguments: dict[str, object]
    missing: tuple[Parameter, ...] = ()


def plan_calls(
    prompt: str, tools: Sequence[ToolDefinition], threshold: float = THRESHOLD
) -> list[PlannedCall]:
    """Return the calls that a prompt asks for, in its order.

    If no tool fits a question, that is a call of a tool that searches, if there is one; else none.

    Args:
        prompt: The person's message.
        tools: The tools that can be called.
        threshold: Lowest score of a tool that is called.
    """
    text = prompt[:LONGEST]
    scorer = ToolScorer(tools)
    groups: list[tuple[int, int, ToolDefinition]] = []
    since = 0
    for start, end in _split_clauses(text):
        tool, score = scorer.best(text, start, end, threshold)
        if tool is None:  # goes on with the clause before it, or leads to the one after it
            if groups:
                groups[-1] = (groups[-1][0], end, groups[-1][2])
                since = end
        elif groups and _continues(text, groups[-1], (start, end, tool), score):
            groups[-1] = (groups[-1][0], end, groups[-1][2])
            since = end
        else:
            groups.append((since if not groups else start, end, tool))
            since = end
    if not groups:
        tool, _ = scorer.best(text, 0, len(text), threshold)
        if tool is None:
            return _plan_search(text, tools)
        groups = [(0, len(text), tool)]
    found: list[PlannedCall] = []
    for start, end, tool in groups:
        filled = fill_arguments(tool, text[start:end])
        calls = [PlannedCall(tool, filled.arguments, filled.missing)]
        calls += [PlannedCall(tool, arguments) for arguments in filled.more]
        found += [call for call in calls if call not in found]
    return found


def _split_clauses(text: str) -> list[tuple[int, int]]:
    """Return start and end of each clause of a prompt, cut at commas and conjunctions."""
    spans = [
        (v.start, v.end) for v in find_values(text) if v.kind not in ("number", "name", "place")
    ]
    found, start = [], 0
    for border in islice(_BORDER.finditer(text), _MOST_CLAUSES):
        if not overlaps(border.start(), border.end(), spans):
            found.append((start, border.start()))
            start = border.end()
    found.append((start, len(text)))
    return [(start, end) for start, end in found if text[start:end].strip()]


def _continues(
    text: str,
    before: tuple[int, int, ToolDefinition],
    clause: tuple[int, int, ToolDefinition],
    score: float,
) -> bool:
    """Return True if a clause that mentions a tool still belongs to the call before it."""
    start, end, tool = before
    incomplete = bool(fill_arguments(tool, text[start:end]).missing)
    if clause[2] is not tool:
        return incomplete and score < CLEAR / 2
    complete = not fill_arguments(tool, text[clause[0] : clause[1]]).missing
    return incomplete or (not complete and score < CLEAR)


def _plan_search(text: str, tools: Sequence[ToolDefinition]) -> list[PlannedCall]:
    """Plan a call of a tool that searches, if the text is a question and there is one; else none."""
    if not _QUESTION.search(text):
        return []
    for tool in tools:
        required = [parameter for parameter in parameters_of(tool) if parameter.required]
        if _ANSWERS.search(tool.description or "") and [p.role for p in required] == ["text"]:
            if fill_arguments(tool, text).missing:  # nothing but "how are you"
                return []
            return [PlannedCall(tool, {required[0].name: text.strip()})]
    return []


class ToolScorer:
    """Compares texts with tools by the ideas they share.

    Args:
        tools: All tools at once, since a word that many of them use counts less.
    """

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self.tools = list(tools)
        self._parameters = {id(tool): parameters_of(tool) for tool in self.tools}
        self._weights = {id(tool): self._weigh(tool) for tool in self.tools}
        self._users: dict[str, int] = {}
        for weights in self._weights.values():
            for idea in weights:
                self._users[idea] = self._users.get(idea, 0) + 1

    def _weigh(self, tool: ToolDefinition) -> dict[str, float]:
        """Return how strongly each idea points to the tool."""
        weights: dict[str, float] = {}
        parameters = self._parameters[id(tool)]
        sources = [
            (3.0, tool.name),
            (1.2, (tool.description or "")[:600]),
            *((0.7, parameter.name) for parameter in parameters),
            *((0.4, parameter.description[:200]) for parameter in parameters),
            *((0.8, str(choice)[:40]) for p in parameters for choice in p.choices[:50]),
        ]
        for weight, source in sources:
            for idea in ideas_of(source) - _GENERIC:
                weights[idea] = max(weights.get(idea, 0.0), weight)
        return weights

    def best(
        self, text: str, start: int, end: int, threshold: float
    ) -> tuple[ToolDefinition | None, float]:
        """Return the best tool for ``text[start:end]``, or None below the threshold, and the best score.

        Words inside quotes, addresses and paths do not count. Without tools the score is 0.
        """
        values = [v for v in find_values(text) if start <= v.start and v.end <= end]
        spoken = list(text[start:end])
        for value in values:
            if value.kind in _OPAQUE:
                spoken[value.start - start : value.end - start] = " " * (value.end - value.start)
        part = "".join(spoken)
        ideas = ideas_of(part) | ({"list"} if _LISTING.search(part) else set())
        scored = [(self._score(tool, ideas, values, text[start:end]), tool) for tool in self.tools]
        score, tool = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        return (tool, score) if score >= threshold else (None, score)

    def _score(
        self, tool: ToolDefinition, ideas: frozenset[str], values: Sequence[Value], text: str
    ) -> float:
        """Return how well a stretch of text fits a tool, by ideas, name and values."""
        weights = self._weights[id(tool)]
        total: float = sum(
            weights[idea] * _WEAK.get(idea, 1.0) / self._users[idea] ** 0.5
            for idea in ideas
            if idea in weights
        )
        if len(tool.name) > 2 and re.search(rf"(?<!\w){re.escape(tool.name)}\(?(?!\w)", text):
            total += 1.5 if tool.name.islower() and tool.name.isalpha() else 8.0
        return total + self._score_values(tool, values)

    def _score_values(self, tool: ToolDefinition, values: Sequence[Value]) -> float:
        """Return points for values that suit parameters, less for required ones without a value."""
        total, unfilled = 0.0, 0
        for parameter in self._parameters[id(tool)]:
            suiting = [value for value in values if affinity(parameter, value.kind) >= 2.0]
            if suiting:
                total += max(_VALUE_BONUS.get(value.kind, 0.2) for value in suiting)
            elif (
                parameter.required
                and parameter.role not in ("text", "code", "")
                and not parameter.choices
            ):
                unfilled += 1
        roles = {p.role for p in self._parameters[id(tool)] if p.required}
        if roles == {"glob"} and any(value.kind == "quoted" for value in values):
            total -= 2.0  # a text in quotes is looked for in files, not among their names
        return total - min(0.8 * unfilled, 1.6)
