"""Wishes that need more than the prompt: earlier questions, and results of other calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.choose_tool import Wish, plan, wishes_of
from toolkeel.providers.offline.fill import Filled, fill
from toolkeel.providers.offline.read_transcript import Turn, same
from toolkeel.providers.offline.slots import Slot, slots_of
from toolkeel.providers.offline.values import find_values
from toolkeel.providers.offline.words import ideas

_AND_WHAT = re.compile(
    r"\s*(?:and|also|what about|how about|or|then|now|那么?|还有|再|换成)(?![A-Za-z])",
    re.IGNORECASE,
)
_NOTICE = re.compile(r"\n*\[[^\[\]\n]*\]\s*$")
_READS = frozenset(("read", "fetch", "download", "list"))
_CHANGES = frozenset(("write", "delete", "update", "create", "send", "upload", "run", "buy", "pay"))


def follow_up(turn: Turn, tools: Sequence[ToolDefinition]) -> list[Wish]:
    """Read a prompt as the answer to our question, or as "and the same for ..."."""
    for depth, earlier in enumerate(turn.asked):
        asked = [wish for wish in plan(earlier, tools) if wish.missing]
        if asked:
            return _answered(asked[0], [*reversed(turn.asked[:depth]), turn.prompt])
    tool = next((tool for tool in tools if tool.name == turn.last_tool), None)
    if tool is None or not _elliptic(turn.prompt):
        return []
    found = wishes_of(tool, turn.prompt)
    return [wish for wish in found if wish.arguments and not wish.missing]


def _answered(wish: Wish, answers: Sequence[str]) -> list[Wish]:
    """The earlier wish with what was said since."""
    known = dict(wish.arguments)
    more: tuple[dict[str, object], ...] = ()
    for answer in answers:
        filled: Filled = fill(wish.tool, answer)
        known.update(filled.arguments)
        more = filled.more
    missing = tuple(
        slot for slot in slots_of(wish.tool) if slot.required and not _has(known, slot.path)
    )
    if known == wish.arguments:
        return []
    first = Wish(wish.tool, known, missing, answers[-1])
    return [first, *(Wish(wish.tool, {**known, **extra}, (), answers[-1]) for extra in more)]


def _has(arguments: dict[str, object], path: tuple[str, ...]) -> bool:
    here: object = arguments
    for key in path:
        if not isinstance(here, dict) or key not in here:
            return False
        here = here[key]
    return True


def _elliptic(prompt: str) -> bool:
    """Whether a prompt only makes sense after another: "and Tokyo?", "那上海呢"."""
    if _AND_WHAT.match(prompt):
        return True
    values = find_values(prompt)
    said = ideas(prompt) - {idea for value in values for idea in ideas(str(value.value))}
    return bool(values) and len(prompt) < 60 and len(said) <= 1


def with_results(wishes: Sequence[Wish], turn: Turn, tools: Sequence[ToolDefinition]) -> list[Wish]:
    """Put the call first whose result is what a wish still lacks, or fill that result in.

    "Translate README.md into French" first needs a tool that reads README.md.
    """
    found: list[Wish] = []
    for wish in wishes:
        slot = _empty_text(wish)
        source = _source(wish, tools) if slot else None
        if slot is None or source is None:
            found.append(wish)
            continue
        found.append(source)
        done = next((d for d in turn.done if same(source.tool.name, source.arguments, d)), None)
        if done is not None and not done.failed:
            text = done.text[:-400] + _NOTICE.sub("", done.text[-400:])
            found.append(Wish(wish.tool, {**wish.arguments, slot.path[0]: text}, (), wish.text))
    return found


def _empty_text(wish: Wish) -> Slot | None:
    """The one required text a wish lacks, or has only the address of."""
    texts = [s for s in slots_of(wish.tool) if s.required and s.role == "text" and len(s.path) == 1]
    others = [slot for slot in wish.missing if slot not in texts]
    if others or len(texts) != 1:
        return None
    said = wish.arguments.get(texts[0].path[0])
    return texts[0] if said is None or said in _addresses(wish) else None


def _addresses(wish: Wish) -> list[object]:
    return [v.value for v in find_values(wish.text) if v.kind in ("path", "url")]


def _source(wish: Wish, tools: Sequence[ToolDefinition]) -> Wish | None:
    """The call that brings the text of the file or page the wish names."""
    for value in find_values(wish.text):
        if value.kind not in ("path", "url"):
            continue
        for tool in tools:
            about = ideas(f"{tool.name} {(tool.description or '')[:200]}")
            if tool is wish.tool or not about & _READS or about & _CHANGES:
                continue
            filled = fill(tool, wish.text[value.start : value.end])
            if value.value in filled.arguments.values() and not filled.missing:
                return Wish(tool, filled.arguments, (), wish.text)
    return None
