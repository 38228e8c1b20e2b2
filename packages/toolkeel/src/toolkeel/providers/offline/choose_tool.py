"""Decide which tools a prompt asks for, and with which arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from toolkeel._records.record import record
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.fill import Filled, fill
from toolkeel.providers.offline.slot_fit import affinity
from toolkeel.providers.offline.slots import Slot, slots_of
from toolkeel.providers.offline.values import Value, find_values
from toolkeel.providers.offline.words import Word, ideas, words

THRESHOLD = 0.6
"""Least score at which a tool is thought to be meant."""
STRONG = 2.0
"""Score from which on a part names its tool, and not just something in its description."""
LONGEST = 20_000
"""How much of a prompt is read, in characters."""

_MOST_PARTS = 32
_BORDER = re.compile(
    r"[.!?](?=\s|$)|[。！？；;\n]|[,，、]|\b(?:and|then|also|as well as|plus|or)\b|(?<![共总温柔缓饱平])和(?![平谐服尚气])"
    r"|以及|还有|并且|然后|同时|顺便",
    re.IGNORECASE,
)
_PLACELESS = 2.0
"""What a tool loses that finds names, if a text that stands in quotes is looked for."""
_LISTING = re.compile(r"\b(?:what|which) (?:files?|folders?)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"[?？]\s*$|^\s*(?:what|how|where|when|who|whom|whose|why|which|can|may|must|does|do|is|are)\b"
    r"|什么|怎么|怎样|如何|哪|谁|为何|多少|吗\s*$",
    re.IGNORECASE,
)
_LOOKS_UP = re.compile(
    r"\b(?:search|look)\b.{0,80}\banswers? (?:a|the|your|any) question", re.I | re.S
)
_WEAK = {"today": 0.3, "time": 0.8, "count": 0.5, "search": 0.8, "name": 0.5, "turn": 0.5}
_GENERIC = frozenset(("start", "end", "tool", "function", "string", "value", "information"))
_MUTE = frozenset(("quoted", "url", "email", "path", "uuid"))
_VALUE_BONUS = {
    "expression": 3.0, "path": 1.6, "glob": 1.0, "url": 2.0, "email": 1.5, "zone": 1.5,
    "place": 0.6, "language": 0.8, "symbol": 0.8, "date": 0.5,
}  # fmt: skip


@record
class Wish:
    """A tool the prompt asks for.

    Args:
        tool: The tool.
        arguments: What it shall be called with; not whole while something is missing.
        missing: Required slots the prompt says nothing about.
        text: The part of the prompt it came from.
    """

    tool: ToolDefinition
    arguments: dict[str, object]
    missing: tuple[Slot, ...]
    text: str


@record
class _Part:
    """A stretch of the prompt and the tool it speaks of, if it speaks of one."""

    start: int
    end: int
    tool: ToolDefinition | None
    score: float = 0.0


def plan(prompt: str, tools: Sequence[ToolDefinition], least: float = THRESHOLD) -> list[Wish]:
    """The calls a prompt asks for, in its order; empty if no tool fits.

    Args:
        prompt: What the person said.
        tools: What can be called.
        least: Score from which on a tool counts.
    """
    text = prompt[:LONGEST]
    scorer = Scorer(tools)
    parts = _parts(text, scorer, least)
    if not any(part.tool for part in parts):
        parts = [_Part(0, len(text), *scorer.best(text, 0, len(text), least))]
        if parts[0].tool is None:
            return _asked_of(text, tools)
    wishes: list[Wish] = []
    for part in _grouped(text, parts):
        if part.tool:
            wishes += wishes_of(part.tool, text[part.start : part.end])
    return _distinct(wishes)


def _asked_of(text: str, tools: Sequence[ToolDefinition]) -> list[Wish]:
    """A question about no tool, asked as it is of a tool that looks up whatever is asked."""
    if not _QUESTION.search(text):
        return []
    for tool in tools:
        slots = [slot for slot in slots_of(tool) if slot.required]
        if _LOOKS_UP.search(tool.description or "") and [slot.role for slot in slots] == ["text"]:
            whole = not fill(tool, text).missing  # else it says nothing but "how are you"
            return [Wish(tool, {slots[0].path[-1]: text.strip()}, (), text)] if whole else []
    return []


def wishes_of(tool: ToolDefinition, text: str) -> list[Wish]:
    """The calls of one tool that a text asks for."""
    filled: Filled = fill(tool, text)
    first = Wish(tool, filled.arguments, filled.missing, text)
    return [first, *(Wish(tool, arguments, (), text) for arguments in filled.more)]


def _distinct(wishes: list[Wish]) -> list[Wish]:
    found: list[Wish] = []
    for wish in wishes:
        if not any(w.tool is wish.tool and w.arguments == wish.arguments for w in found):
            found.append(wish)
    return found


def _parts(text: str, scorer: Scorer, least: float) -> list[_Part]:
    """The prompt cut at commas and conjunctions, never inside a value."""
    kept = [value for value in find_values(text) if value.kind not in ("number", "name", "place")]
    parts, start = [], 0
    for border in [*islice(_BORDER.finditer(text), _MOST_PARTS), None]:
        here, after = (border.start(), border.end()) if border else (len(text), len(text))
        if border and any(v.start < after and here < v.end for v in kept):
            continue
        if text[start:here].strip():
            parts.append(_Part(start, here, *scorer.best(text, start, here, least)))
        start = after
    return parts


def _grouped(text: str, parts: list[_Part]) -> list[_Part]:
    """Join what belongs to one wish.

    A part that speaks of no tool goes on with the one before it ("weather in Paris and Tokyo"),
    or leads to the one after it ("北京和上海的天气"). Two parts that speak of the same tool stay
    apart if the first says all that the tool needs, and the second names the tool again.
    """
    groups: list[_Part] = []
    for part in parts:
        before = groups[-1] if groups else None
        if before is None or not _continues(text, before, part):
            groups.append(part)
            continue
        told = before if before.tool else part
        groups[-1] = _Part(before.start, part.end, told.tool, told.score)
    return groups


def _continues(text: str, before: _Part, part: _Part) -> bool:
    if before.tool is None or part.tool is None:
        return True
    unfinished = bool(fill(before.tool, text[before.start : before.end]).missing)
    if before.tool is not part.tool:
        return unfinished and part.score < STRONG / 2
    if unfinished:
        return True
    whole = not fill(part.tool, text[part.start : part.end]).missing
    return not whole and part.score < STRONG


class Scorer:
    """Compares texts with tools by the ideas they share.

    Args:
        tools: The tools, all at once, since a word that many of them use tells little.
    """

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self.tools = list(tools)
        self.slots = {id(tool): slots_of(tool)[:64] for tool in self.tools}
        self._weights = {id(tool): self._weigh(tool) for tool in self.tools}
        self._spread: dict[str, int] = {}
        for weights in self._weights.values():
            for idea in weights:
                self._spread[idea] = self._spread.get(idea, 0) + 1

    def _weigh(self, tool: ToolDefinition) -> dict[str, float]:
        """How strongly each idea points to the tool."""
        weights: dict[str, float] = {}
        slots = self.slots[id(tool)]
        sources = [
            (3.0, tool.name),
            (1.2, (tool.description or "")[:600]),
            *((0.7, slot.path[-1]) for slot in slots),
            *((0.4, slot.description[:200]) for slot in slots),
            *((0.8, str(choice)[:40]) for slot in slots for choice in slot.choices[:50]),
        ]
        for weight, source in sources:
            for idea in ideas(source) - _GENERIC:
                weights[idea] = max(weights.get(idea, 0.0), weight)
        return weights

    def best(
        self, text: str, start: int, end: int, least: float
    ) -> tuple[ToolDefinition | None, float]:
        """The tool a stretch of a text speaks of, if any reaches the least score, and its score."""
        values = [v for v in find_values(text) if start <= v.start and v.end <= end]
        mute = [v for v in values if v.kind in _MUTE]
        here = [word for word in words(text) if start <= word.start and word.end <= end]
        said = [w for w in here if not any(v.start <= w.start < v.end for v in mute)]
        scored = [(self.score(tool, said, values, text[start:end]), tool) for tool in self.tools]
        score, tool = max(scored, key=lambda pair: pair[0], default=(0.0, None))
        return (tool, score) if score >= least else (None, score)

    def score(
        self, tool: ToolDefinition, said: Sequence[Word], values: Sequence[Value], text: str
    ) -> float:
        """How plainly words and values point to a tool."""
        weights = self._weights[id(tool)]
        total = 0.0
        listing = ("list",) if _LISTING.search(text) else ()
        for idea in {*(word.idea for word in said), *listing}:
            spread = max(self._spread.get(idea, 1), 1)
            total += weights.get(idea, 0.0) * _WEAK.get(idea, 1.0) / spread**0.5
        total += self._by_values(tool, values)
        if len(tool.name) > 2 and re.search(rf"(?<!\w){re.escape(tool.name)}\(?(?!\w)", text):
            total += 1.5 if tool.name.islower() and tool.name.isalpha() else 8.0
        return total

    def _by_values(self, tool: ToolDefinition, values: Sequence[Value]) -> float:
        """What values of telling kinds add, less what required slots go empty."""
        total = 0.0
        unfilled = 0
        for slot in self.slots[id(tool)]:
            suiting = [value for value in values if affinity(slot, value) >= 2.0]
            if suiting:
                total += max(_VALUE_BONUS.get(value.kind, 0.2) for value in suiting)
            elif slot.required and slot.role not in ("text", "code", "") and not slot.choices:
                unfilled += 1
        roles = {slot.role for slot in self.slots[id(tool)] if slot.required}
        placeless = roles == {"glob"} and any(value.kind == "quoted" for value in values)
        return total - min(0.8 * unfilled, 1.6) - (_PLACELESS if placeless else 0.0)
