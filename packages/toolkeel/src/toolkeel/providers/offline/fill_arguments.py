"""Fill a tool's arguments from a prompt: typed values first, then the words that remain.

Nothing is invented: a required parameter without a value in the prompt is reported as missing.
"""

from __future__ import annotations

import math
import re

from toolkeel._records.record import record
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline import lexicon
from toolkeel.providers.offline.free_text import after_label, after_saying, is_name, longest_rest
from toolkeel.providers.offline.lexicon import HAN, idea_of, ideas_of, is_chinese, words_of
from toolkeel.providers.offline.parameters import (
    ArgumentChecker,
    Parameter,
    ideas_of_parameter,
    parameter_of,
    parameters_of,
    resolve,
)
from toolkeel.providers.offline.values import Value, find_values, overlaps

MOST_CALLS = 16
"""Calls of one tool for one sentence."""

_NOT_FROM_WORDS = frozenset(("path", "url", "email", "date", "time", "expression", "glob", "code"))
"""Roles that no plain words of a prompt can fill."""
_ROLELESS = {"quoted": 2.0, "name": 1.0, "code": 1.0, "symbol": 0.9, "place": 0.8, "path": 0.8, "url": 0.8, "email": 0.8, "language": 0.6, "date": 0.6, "number": 0.3}  # fmt: skip
_NEIGHBOR = re.compile(rf"[A-Za-zÀ-ÿ]+|[{HAN}]+|[=:：,，;；.。]")
_BREAKS = frozenset(",，;；.。")
_LIST_JOINT = re.compile(
    r"[,，、;；&/]|\b(?:and|or|plus|then|also|versus|vs)\b|和|与|跟|及|或", re.I
)
_NEGATED = re.compile(
    r"\b(?:no|not|without|don't|do not|disable|exclude|off|false)\b|不要|不|没有", re.I
)
_SWITCHED = re.compile(r"\b(?:turn|switch)(?:ed|ing)?\b[^.;]{0,40}?\b(?:(?P<on>on)|off)\b|(?P<kai>打开|开启)|关闭|关掉", re.I)  # fmt: skip
_QUOTED = r"(?P<mark>[\"'`])(?P<quoted>.+?)(?P=mark)|“(?P<cited>[^”]+)”|(?P<word>[^\"'”`\s,，;；]+)(?=[\s,，;；]|$)"


@record
class Filled:
    """The arguments that a prompt gives for a tool.

    Args:
        arguments: The values found, in the schema's order.
        missing: Required parameters without a value.
        more: Further sets of arguments, where the prompt lists several things of one kind.
    """

    arguments: dict[str, object]
    missing: tuple[Parameter, ...] = ()
    more: tuple[dict[str, object], ...] = ()


def fill_arguments(tool: ToolDefinition, text: str) -> Filled:
    """Read a tool's arguments from a prompt, or from the part of it about this tool."""
    return _Filling(tool, text).fill()


def affinity(parameter: Parameter, kind: str, listed: bool = False) -> float:
    """Return how well a kind of value suits a parameter, from 0 (not at all) to 3.

    Args:
        parameter: The parameter.
        kind: The value's kind.
        listed: True for an item of a list, which also takes the terms of a sum.
    """
    if parameter.type in ("integer", "number"):
        return {"number": 2.0, "term": float(listed)}.get(kind, 0.0)
    if parameter.type not in ("string", ""):
        return 0.0
    if not parameter.role:
        return _ROLELESS.get(kind, 0.0)
    kinds = lexicon.KINDS[parameter.role]
    return 3.0 - 0.5 * kinds.index(kind) if kind in kinds else 0.0


class _Filling:
    """One attempt to fill the parameters of a tool."""

    def __init__(self, tool: ToolDefinition, text: str) -> None:
        self.tool = tool
        self.text = text
        self.checker = ArgumentChecker(tool.parameters)
        self.parameters = parameters_of(tool)
        self.values = find_values(text)
        self.filled: dict[str, object] = {}
        self.pairs: list[tuple[Parameter, Value]] = []
        self.spans: list[tuple[int, int]] = []
        names = " ".join(label for parameter in self.parameters for label in parameter.labels)
        self.named = ideas_of(f"{tool.name} {names}")

    def fill(self) -> Filled:
        """Fill the parameters, most certain values first, and return the arguments."""
        for step in (self._fill_assigned, self._fill_choices, self._fill_flags, self._fill_pairs):
            step()
        self._fill_lists()
        self._fill_labelled()
        self._fill_remainder()
        arguments, missing = self._collect_arguments(self.filled)
        return Filled(arguments, missing, () if missing else tuple(self._find_further()))

    def _set(self, parameter: Parameter, argument: object, start: int = 0, end: int = 0) -> bool:
        """Store an argument and its place, and return True, if the schema accepts it."""
        if argument is None or not self.checker.fits(parameter.schema, argument):
            return False
        self.filled[parameter.name] = argument
        if end > start:
            self.spans.append((start, end))
        return True

    def _list_open(self) -> list[Parameter]:
        """Return the parameters without an argument so far."""
        return [one for one in self.parameters if one.name not in self.filled]

    def _list_free(self) -> list[Value]:
        """Return the values of the prompt that no argument uses so far."""
        return [v for v in self.values if not overlaps(v.start, v.end, self.spans)]

    def _fill_assigned(self) -> None:
        """Store arguments written as ``limit=5`` or ``limit: 5``."""
        for parameter in self._list_open():
            name = r"[_\s-]?".join(map(re.escape, parameter.labels)) or re.escape(parameter.name)
            pattern = rf"(?<!\w){name}\s*[=＝:：]\s*(?:{_QUOTED})"
            match = re.search(pattern, self.text[:4000], re.IGNORECASE)
            if match and not (parameter.role == "code" and match["word"]):  # a program has quotes
                written = (match["word"] or match["quoted"] or match["cited"]).strip()
                self._set(parameter, _parse(parameter, written), match.start(), match.end())

    def _fill_choices(self) -> None:
        """Store the allowed value that the prompt names, or the only one there is."""
        ideas = ideas_of(self.text)
        for parameter in self._list_open():
            if len(parameter.choices) == 1 and parameter.required:
                self._set(parameter, parameter.choices[0])
            named = [c for c in parameter.choices if _is_named(c, self.text, ideas)]
            if named and len(parameter.choices) > 1:
                start = self.text.lower().find(str(named[0]).lower())
                self._set(
                    parameter, named[0], start, start + len(str(named[0])) if start >= 0 else 0
                )

    def _fill_flags(self) -> None:
        """Store True or False for each flag that the prompt mentions."""
        for parameter in self._list_open():
            if parameter.type == "boolean":
                self._set(parameter, _read_flag(parameter, self.text))

    def _fill_pairs(self) -> None:
        """Store for each parameter the value that suits it best; labels beat order."""
        found = []
        for index, parameter in enumerate(p for p in self._list_open() if not p.choices):
            for value in self._list_free():
                base = affinity(parameter, value.kind)
                bonus = _score_neighbors(parameter, value, self.text) if base else 0.0
                if base and self._is_acceptable(parameter, value, base, bonus):
                    found.append(
                        (
                            -base - bonus,
                            not parameter.required,
                            index,
                            value.start,
                            parameter,
                            value,
                        )
                    )
        for *_, parameter, value in sorted(found, key=lambda pair: pair[:4]):
            if parameter.name in self.filled or overlaps(value.start, value.end, self.spans):
                continue
            if self._set(parameter, _convert(parameter, value.value), value.start, value.end):
                self.pairs.append((parameter, value))

    def _is_acceptable(self, parameter: Parameter, value: Value, base: float, bonus: float) -> bool:
        """Return True if a value is plainly meant for a parameter; for optional ones, more plainly."""
        if parameter.required:
            return base + bonus >= 0.3
        if bonus >= 0.8:
            return True
        if value.kind == "number":
            numeric = [p for p in self.parameters if p.type in ("integer", "number")]
            numbers = [v for v in self.values if v.kind == "number"]
            return numeric[:1] == [parameter] and len(numbers) <= len(numeric)
        rivals = [p for p in self.parameters if p is not parameter and p.role == parameter.role]
        return base >= 2.5 and bonus >= 0 and not rivals

    def _fill_lists(self) -> None:
        """Store for each array all values that suit its items."""
        ideas = ideas_of(self.text)
        for parameter in (one for one in self._list_open() if one.type == "array"):
            schema = resolve(parameter.schema.get("items"), self.tool.parameters)
            item = parameter_of(parameter.name, schema, parameter.required)
            if item.choices:
                named = [c for c in item.choices if _is_named(c, self.text, ideas)]
                self._set(parameter, named or None)
                continue
            chosen = self._choose_items(item)
            if chosen and self._set(parameter, [_convert(item, v.value) for v in chosen]):
                self.spans += [(value.start, value.end) for value in chosen]

    def _choose_items(self, item: Parameter) -> list[Value]:
        """Return the values that suit an item best; of an optional list, only if it is named."""
        bases = {value: affinity(item, value.kind, listed=True) for value in self._list_free()}
        if not item.required and not any(_score_neighbors(item, v, self.text) > 0 for v in bases):
            return []
        best = max(bases.values(), default=0.0)
        return [value for value, base in bases.items() if base and base >= best - 0.6]

    def _fill_labelled(self) -> None:
        """Store the words after a parameter's name ("subject hello"), up to the next name."""
        texts = [p for p in self._list_open() if p.type in ("string", "") and not p.choices]
        for parameter in texts:
            if parameter.role in _NOT_FROM_WORDS:
                continue
            if not parameter.required and parameter.role not in ("text", "name"):
                continue
            others = {label for p in self.parameters if p is not parameter for label in p.labels}
            if found := after_label(self.text, parameter.labels, others - {*parameter.labels}):
                start = self.text.find(found)
                self._set(parameter, found, start, start + len(found))

    def _fill_remainder(self) -> None:
        """Store for required texts the longest stretch of the prompt that nothing else explains."""
        for parameter in self._list_open():
            wanted = (
                parameter.required and parameter.type in ("string", "") and not parameter.choices
            )
            if not wanted or parameter.role in _NOT_FROM_WORDS:
                continue
            is_text = parameter.role in ("text", "")
            found = after_saying(self.text, self.spans) if is_text else ""
            found = found or longest_rest(self.text, self.spans, self.named)
            if found and (is_text or is_name(found)):
                start = max(self.text.find(found), 0)
                self._set(parameter, found, start, start + len(found))

    def _find_further(self) -> list[dict[str, object]]:
        """Return arguments for the other things of the same kind that the prompt lists."""
        candidates = [
            (parameter, value)
            for parameter, value in self.pairs
            if parameter.type in ("string", "")
            and (parameter.required or affinity(parameter, value.kind) >= 2.0)
        ]
        kinds = [_make_key(parameter, value) for parameter, value in candidates]
        found: list[dict[str, object]] = []
        for (parameter, value), kind in zip(candidates, kinds, strict=True):
            if kinds.count(kind) > 1:  # a list of pairs, such as two flights, is too much for rules
                continue
            least, last = max(affinity(parameter, value.kind) - 0.6, 0.5), value
            for other in self.values:
                if other.start < last.end or affinity(parameter, other.kind) < least:
                    continue
                if not self._is_list(last.end, other.start) or len(found) == MOST_CALLS - 1:
                    break
                last = other
                changed = {**self.filled, parameter.name: _convert(parameter, other.value)}
                arguments, missing = self._collect_arguments(changed)
                found += [] if missing else [arguments]
        return found

    def _is_list(self, start: int, end: int) -> bool:
        """Return True if only separators and repeated command words are between two values."""
        between = self.text[start:end]
        if len(between) > 200:
            return False
        if not between.strip():
            return bool(between)
        joined = _LIST_JOINT.search(between)
        return bool(joined) and not ideas_of(_LIST_JOINT.sub(" ", between)) - self.named

    def _collect_arguments(
        self, filled: dict[str, object]
    ) -> tuple[dict[str, object], tuple[Parameter, ...]]:
        """Return the arguments, only the required ones if not all are valid, and what is missing."""
        arguments = {p.name: filled[p.name] for p in self.parameters if p.name in filled}
        missing = tuple(p for p in self.parameters if p.required and p.name not in arguments)
        if not missing and not self.checker.accepts(arguments):
            required = {p.name: filled[p.name] for p in self.parameters if p.required}
            if self.checker.accepts(required):
                return required, ()
            missing = tuple(self._list_open()) or (
                parameter_of("arguments", self.tool.parameters, True),
            )
        return arguments, missing


def _make_key(parameter: Parameter, value: Value) -> str:
    """Return a key for the role of a parameter and the kind of a value."""
    kind = "name" if value.kind == "place" else value.kind
    return f"{parameter.role or parameter.type}:{kind}"


def _convert(parameter: Parameter, value: str | int | float) -> object:
    """Return a value in the parameter's type, or None if it has no such form."""
    if parameter.type == "integer":
        return int(value) if not isinstance(value, str) and value == int(value) else None
    if parameter.type == "number":
        return None if isinstance(value, str) else value
    if parameter.type == "string" and not isinstance(value, str):
        return f"{value:g}" if value % 1 else str(int(value))
    return value


def _parse(parameter: Parameter, text: str) -> object:
    """Read a written value in the parameter's type, or None if it has no such form."""
    lower = text.lower()
    if parameter.type == "boolean":
        return {
            "true": True,
            "yes": True,
            "on": True,
            "false": False,
            "no": False,
            "off": False,
        }.get(lower)
    if parameter.type in ("integer", "number"):
        try:
            number = float(text) if len(text) < 300 else math.nan
        except ValueError:
            return None
        return (
            _convert(parameter, int(text) if lower.isdecimal() else number)
            if math.isfinite(number)
            else None
        )
    if parameter.type in ("string", ""):
        same = [choice for choice in parameter.choices if str(choice).lower() == lower]
        return same[0] if same else text
    return None


def _is_named(choice: object, text: str, ideas: frozenset[str]) -> bool:
    """Return True if a text names an allowed value, by its word or by its idea."""
    if not isinstance(choice, str | int) or isinstance(choice, bool) or choice == "":
        return False
    word = str(choice)
    pattern = rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)" if word[0].isascii() else re.escape(word)
    if re.search(pattern, text, re.IGNORECASE) and word.lower() not in lexicon.STOP:
        return True
    meanings = ideas_of(word) if isinstance(choice, str) else frozenset()
    return bool(meanings) and meanings <= ideas


def _read_flag(parameter: Parameter, text: str) -> bool | None:
    """Return True or False if a text switches a flag on or off, or None if it does not mention it."""
    wanted = ideas_of(parameter.name)
    if wanted and wanted <= ideas_of(text):
        place = next(
            (text.lower().find(each) for each in parameter.labels if each in text.lower()),
            len(text),
        )
        return not _NEGATED.search(text[max(place - 20, 0) : place])
    switched = _SWITCHED.search(text)
    if switched and {*parameter.labels} & {"on", "off", "enabled", "state", "power", "active"}:
        return bool(switched["on"] or switched["kai"])
    return None


def _score_neighbors(parameter: Parameter, value: Value, text: str) -> float:
    """Return how plainly the words beside a value name a parameter; negative for another one."""
    before = _list_neighbors(text[max(0, value.start - 40) : value.start], -1)[:3]
    after = _list_neighbors(text[value.end : value.end + 30], 1)[:1]
    best = 0.0
    labels = set(parameter.labels)
    for distance, word in enumerate(before):
        sides = {"from": lexicon.FROM, "从": lexicon.FROM, "to": lexicon.TO, "到": lexicon.TO}
        if distance == 0 and (side := sides.get(word)):
            other = -1.0 if labels & (lexicon.FROM | lexicon.TO) else 0.0
            best = max(best, 1.5 if labels & side else other, key=abs)
        best = max(best, _score_word(parameter, word) * 0.8**distance)
    return max([best, *(0.9 * _score_word(parameter, word) for word in after)], key=abs)


def _score_word(parameter: Parameter, word: str) -> float:
    """Return from 0 to 2 how plainly a word names a parameter."""
    if word in parameter.labels or word.removesuffix("s") in parameter.labels:
        return 2.0
    meaning = words_of(word)[0].idea if is_chinese(word) else idea_of(word)
    if not meaning or meaning not in ideas_of_parameter(parameter):
        return 0.0
    if any(idea_of(label) == meaning for label in parameter.labels):
        return 1.8
    return 1.0 if parameter.type in ("integer", "number") else 0.3


def _list_neighbors(text: str, step: int) -> list[str]:
    """Return the words up to the next comma or period, without fillers; backwards if `step` is -1."""
    found: list[str] = []
    for word in _NEIGHBOR.findall(text)[::step]:
        if word in _BREAKS:
            break
        parts = [each.text for each in words_of(word)] if is_chinese(word) else [word.lower()]
        found += [part for part in parts[::step] if part not in lexicon.FILLERS]
    return found
