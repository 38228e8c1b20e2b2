"""Fill a tool's arguments from a prompt, honouring its schema and inventing nothing."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from itertools import islice

from toolkeel._records.record import record
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.flags_and_options import flag, mention, read
from toolkeel.providers.offline.slot_fit import Pair, affinity, pair
from toolkeel.providers.offline.slots import (
    Checker,
    Schema,
    Slot,
    arguments_slot,
    required_objects,
    resolve,
    slots_of,
)
from toolkeel.providers.offline.text import after_saying, labelled, plain_words, rest
from toolkeel.providers.offline.text_to_replace import swapped
from toolkeel.providers.offline.values import Value, find_values
from toolkeel.providers.offline.words import ideas

_NEVER_GUESSED = frozenset(("path", "url", "email", "date", "time", "expression", "glob", "code"))
_SAID = (
    r"(?P<mark>[\"'`])(?P<quoted>.+?)(?P=mark)|“(?P<cited>[^”]+)”"
    r"|(?P<word>[^\"'”`\s,，;；]+)(?=[\s,，;；]|$)"
)
_LISTED = re.compile(r"\s*(?:[,，、;；]|\band\b|和)\s*")
_JOINT = re.compile(
    r"[,，、;；&/]|\b(?:and|or|plus|then|also|versus|vs)\b|和|与|跟|及|以及|还有|或者|或|对比", re.I
)


@record
class Filled:
    """What a prompt says about a tool's arguments.

    Args:
        arguments: What was found.
        missing: Required slots nothing was found for.
        more: Further sets of arguments, where the prompt names several things of one kind.
        used: Values that went into `arguments`.
    """

    arguments: dict[str, object]
    missing: tuple[Slot, ...] = ()
    more: tuple[dict[str, object], ...] = ()
    used: tuple[Value, ...] = ()


def fill(tool: ToolDefinition, text: str) -> Filled:
    """Read a tool's arguments out of a prompt.

    Args:
        tool: The tool.
        text: The prompt, or the part of it that is about this tool.
    """
    return _Filling(tool, text).result()


class _Filling:
    """One attempt: slots on one side, values on the other, matched best pair first."""

    def __init__(self, tool: ToolDefinition, text: str) -> None:
        self.tool = tool
        self.text = text
        self.checker = Checker(tool.parameters)
        self.slots = slots_of(tool)[:64]
        self.shells = list(islice(required_objects(tool.parameters, tool.parameters), 64))
        self.values = find_values(text)
        self.taken: dict[tuple[str, ...], object] = {}
        self.pairs: list[Pair] = []
        self.spans: list[tuple[int, int]] = []

    def result(self) -> Filled:
        self._assigned()
        self._swapped()
        self._choices()
        self._flags()
        self._best_pairs()
        self._lists()
        self._texts()
        more = self._further()
        arguments, missing = self._build(self.taken)
        used = tuple(found.value for found in self.pairs)
        if missing:
            return Filled(arguments, missing, (), used)
        return Filled(arguments, (), tuple(more), used)

    def _take(self, slot: Slot, argument: object, start: int = -1, end: int = -1) -> None:
        self.taken[slot.path] = argument
        if end > start >= 0:
            self.spans.append((start, end))

    def _open(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.path not in self.taken]

    def _assigned(self) -> None:
        """``limit=5`` and ``limit: 5``."""
        for slot in self._open():
            name = r"[_\s-]?".join(map(re.escape, slot.labels)) or re.escape(slot.path[-1])
            pattern = rf"(?<!\w){name}\s*[=＝:：]\s*(?:{_SAID})"
            match = re.search(pattern, self.text[:4000], re.IGNORECASE)
            if match is None or (slot.role == "code" and match["word"]):
                continue  # a program ends where its quotes do, not at the next space
            said = match["word"] or match["quoted"] or match["cited"]
            argument = read(slot, said.strip())
            if argument is not None and self.checker.fits(slot, argument):
                self._take(slot, argument, match.start(), match.end())

    def _swapped(self) -> None:
        """``replace "a" with "b"``, for a tool that edits."""
        for slot, said, start, end in swapped(self.text, self._open()):
            if self.checker.fits(slot, said):
                self._take(slot, said, start, end)

    def _choices(self) -> None:
        said = ideas(self.text)
        for slot in self._open():
            options = slot.choices
            if len(options) == 1 and (slot.required or "default" not in slot.schema):
                if slot.required:
                    self._take(slot, options[0])
                continue
            best = max(options, key=lambda option: mention(option, self.text, said), default=None)
            if best is not None and mention(best, self.text, said):
                start = self.text.lower().find(str(best).lower())
                self._take(slot, best, start, start + len(str(best)))

    def _flags(self) -> None:
        for slot in self._open():
            said = flag(slot, self.text) if slot.type == "boolean" else None
            if said is not None:
                self._take(slot, said)

    def _best_pairs(self) -> None:
        """Give each slot the value that suits it best; plain labels beat order of mention."""
        open_slots = [slot for slot in self._open() if not slot.choices]
        found = [
            candidate
            for slot in open_slots
            for value in self._free()
            if (candidate := pair(slot, value, self.text, self.checker))
        ]
        backwards = -1 if re.search(r"\bsubtract\b.*\bfrom\b", self.text[:400], re.I) else 1
        order = {slot.path: index for index, slot in enumerate(open_slots)}
        found.sort(
            key=lambda p: (
                -p.score,
                not p.slot.required,
                order[p.slot.path],
                p.value.start * (backwards if p.value.kind == "number" else 1),
            )
        )
        for candidate in found:
            if candidate.slot.path not in self.taken and self._acceptable(candidate):
                value = candidate.value
                self._take(candidate.slot, candidate.argument, value.start, value.end)
                self.pairs.append(candidate)

    def _is_free(self, value: Value) -> bool:
        return not any(value.start < end and start < value.end for start, end in self.spans)

    def _free(self) -> list[Value]:
        return [value for value in self.values if self._is_free(value)]

    def _acceptable(self, candidate: Pair) -> bool:
        value, slot = candidate.value, candidate.slot
        if not self._is_free(value):
            return False
        if slot.required:
            return candidate.score >= 0.3
        if candidate.bonus >= 0.8:
            return True
        if value.kind == "number":
            return self._only_number(slot)
        rivals = [s for s in self.slots if s is not slot and s.role == slot.role and s.role]
        return candidate.base >= 2.5 and candidate.bonus >= 0 and not rivals

    def _only_number(self, slot: Slot) -> bool:
        """Whether an optional number is the one thing an unnamed number in the prompt can be."""
        numeric = [s for s in self.slots if s.type in ("integer", "number")]
        numbers = [value for value in self.values if value.kind == "number"]
        sums = any(found.value.kind == "expression" for found in self.pairs)
        return numeric[:1] == [slot] and len(numbers) <= len(numeric) and not sums

    def _lists(self) -> None:
        for slot in self._open():
            items = self._items(slot) if slot.type == "array" else []
            if items and self.checker.fits(slot, items):
                self._take(slot, items)

    def _items(self, slot: Slot) -> list[object]:
        """All values of the prompt that suit the array's items."""
        item = _item_slot(slot, self.tool.parameters)
        if item.choices:
            return self._mentioned(item.choices)
        found = [p for v in self._free() if (p := pair(item, v, self.text, self.checker, True))]
        if not slot.required and not any(candidate.bonus > 0 for candidate in found):
            return []
        if not found and item.type in ("string", "") and item.role not in _NEVER_GUESSED:
            return self._listed_words()
        best = max((candidate.base for candidate in found), default=0.0)
        chosen = [candidate for candidate in found if candidate.base >= best - 0.6]
        self.spans.extend((p.value.start, p.value.end) for p in chosen)
        return [candidate.argument for candidate in chosen]

    def _mentioned(self, choices: tuple[object, ...]) -> list[object]:
        said = ideas(self.text)
        return [choice for choice in choices if mention(choice, self.text, said)]

    def _listed_words(self) -> list[object]:
        words = rest(self.text, self.spans, self._said())
        return [part for part in _LISTED.split(words) if part]

    def _texts(self) -> None:
        """Free text for what no value filled: first what is labelled, then what remains."""
        others = [label for slot in self.slots for label in slot.labels]
        for slot in self._open():
            if slot.type not in ("string", "") or slot.choices or slot.role in _NEVER_GUESSED:
                continue
            if not slot.required and slot.role not in ("text", "name"):
                continue
            found = labelled(self.text, slot.labels, [o for o in others if o not in slot.labels])
            if found and self.checker.fits(slot, found):
                start = self.text.find(found)
                self._take(slot, found, start, start + len(found))
        for slot in self._open():
            if slot.required and slot.type in ("string", "") and not slot.choices:
                self._remainder(slot)

    def _remainder(self, slot: Slot) -> None:
        if slot.role in _NEVER_GUESSED:
            return
        free = slot.role in ("text", "")
        found = after_saying(self.text, self.spans) if free else ""
        found = found or rest(self.text, self.spans, self._said())
        if found and self.checker.fits(slot, found) and (free or plain_words(found)):
            start = max(self.text.find(found), 0)
            self._take(slot, found, start, start + len(found))

    def _said(self) -> frozenset[str]:
        names = " ".join(label for slot in self.slots for label in slot.labels)
        return ideas(self.tool.name) | ideas(names)

    def _further(self) -> list[dict[str, object]]:
        """Arguments for the other things of the same kind that the prompt lists."""
        found: list[dict[str, object]] = []
        pairs = [p for p in self.pairs if p.slot.required or p.base >= 2.0]
        groups = {_family(p) for p in pairs if p.slot.type != "number" or p.slot.required}
        for family in sorted(groups):
            members = sorted((p for p in pairs if _family(p) == family), key=lambda p: p.slot.path)
            members.sort(key=lambda p: p.value.start)
            for chunk in self._chunks(members):
                taken = dict(self.taken)
                for member, value in zip(members, chunk, strict=True):
                    other = pair(member.slot, value, self.text, self.checker)
                    taken[member.slot.path] = other.argument if other else None
                arguments, missing = self._build(taken)
                if not missing and None not in taken.values() and len(found) < 15:
                    found.append(arguments)
        return found

    def _chunks(self, members: list[Pair]) -> list[list[Value]]:
        """Values that continue the list the members stand in, as many at a time."""
        slot, last = members[0].slot, members[-1].value
        chain: list[Value] = []
        least = max(members[0].base - 0.6, 0.5)
        for value in self.values:
            if value.start < last.end or affinity(slot, value) < least:
                continue
            if not self._joined(last.end, value.start):
                break
            chain.append(value)
            last = value
        size = len(members)
        return [chain[i : i + size] for i in range(0, len(chain) - size + 1, size)]

    def _joined(self, start: int, end: int) -> bool:
        """Whether nothing but a list's separators and repeated command words lies between."""
        between = self.text[start:end]
        if not between.strip() or len(between) > 200:
            return not between.strip() and bool(between)
        if not _JOINT.search(between):
            return False
        return not ideas(_JOINT.sub(" ", between)) - self._said()

    def _build(
        self, taken: dict[tuple[str, ...], object]
    ) -> tuple[dict[str, object], tuple[Slot, ...]]:
        """The arguments as one object, without optional parts the schema would refuse."""
        kept = {slot.path: taken[slot.path] for slot in self.slots if slot.path in taken}
        missing = self._missing(kept)
        while kept and not missing:
            wrong = self.checker.wrong_paths(_nested(kept, self.shells))
            if not wrong:
                break
            spoilt = [path for path in kept if any(path[: len(w)] == w for w in wrong)]
            for path in spoilt or list(kept)[-1:]:
                kept.pop(path)
            missing = self._missing(kept)
        arguments = _nested(kept, self.shells)
        if not missing and not self.checker.accepts(arguments):
            missing = self._open() or [arguments_slot(self.tool)]
        return arguments, tuple(missing)

    def _missing(self, kept: dict[tuple[str, ...], object]) -> list[Slot]:
        return [slot for slot in self.slots if slot.required and slot.path not in kept]


def _family(found: Pair) -> str:
    """Pairs of one family take turns: two cities of one flight go together."""
    kind = "name" if found.value.kind == "place" else found.value.kind
    return f"{found.slot.role or found.slot.type}:{kind}"


def _item_slot(slot: Slot, root: Schema) -> Slot:
    """The slot of one item of an array."""
    inner = resolve(slot.schema.get("items"), root)
    kind = inner.get("type")
    choices = inner.get("enum")
    return dataclasses.replace(
        slot,
        schema=inner,
        type=kind if isinstance(kind, str) else "",
        choices=tuple(choices) if isinstance(choices, list | tuple) else (),
    )


def _nested(
    taken: dict[tuple[str, ...], object], shells: Sequence[tuple[str, ...]]
) -> dict[str, object]:
    """Values by path as an object of objects; `shells` are there even if they stay empty."""
    arguments: dict[str, object] = {}
    for path in shells:
        _inside(arguments, path)
    for path, value in taken.items():
        _inside(arguments, path[:-1])[path[-1]] = value
    return arguments


def _inside(arguments: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """The object at a path, made if it is not there."""
    for key in path:
        inner = arguments.setdefault(key, {})
        assert isinstance(inner, dict)
        arguments = inner
    return arguments
