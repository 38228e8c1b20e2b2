"""Edited calls: a change is reported to the model and recorded in the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from toolkeel.call.arguments.canonical_arguments import masked_json, revalidate
from toolkeel.content import Text
from toolkeel.context import Edit, ToolContext
from toolkeel.define.explain.value_phrases import cut, short_json
from toolkeel.define.tool import Prepared
from toolkeel.events import Coerced
from toolkeel.messages import ToolMessage

MAX_NOTE = 400  # characters of the note about one edit
STEP = "a step"


def validate_change(shown: Prepared, passed: Prepared, context: ToolContext) -> Prepared:
    """Validate the arguments that a step passes on, record the change, and return the valid call.

    A call passed on to another tool is validated but not recorded.

    Args:
        shown: The call as the step saw it.
        passed: The call as the step passes it on.
        context: The context of the call.

    Raises:
        InvalidArguments: the arguments no longer fit the tool's parameters.
    """
    after = revalidate(passed)
    if after.tool is shown.tool:
        record_edit(shown, after, context, STEP)
    return after


def record_edit(before: Prepared, after: Prepared, context: ToolContext, by: str) -> None:
    """Add an `Edit` to the call's context, and emit it as an event. Do nothing if nothing differs.

    Args:
        before: The call before the change; not read if the context has edits: the last one counts.
        after: The call with its new, valid arguments.
        context: The context of the call.
        by: Author of the change, such as ``a person`` or ``the guard small``.
    """
    now, edits = masked_json(after), context.edits
    # What a guard changed comes by here a second time, as what a step passes on.
    changes = tuple(_changes(edits[-1].arguments if edits else masked_json(before), now))
    if not changes:
        return
    context.edits = (*edits, Edit(by, now, changes, by != STEP))
    run = context.run
    if run.listeners:
        run.emit(
            Coerced(
                *run.next_event_fields(), after.call.id, tuple(f"{by} changed {c}" for c in changes)
            )
        )


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    """Yield a phrase for each argument that differs."""
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            yield f"{key}: {short_json(before[key])} was taken out"
        elif key not in before:
            yield f"{key}: {short_json(after[key])} was put in"
        elif (was := short_json(before[key])) != (now := short_json(after[key])):
            yield f"{key} from {was} to {now}"
        elif before[key] != after[key]:
            yield f"{key}, now {now}"


def append_note(message: ToolMessage, edits: tuple[Edit, ...]) -> ToolMessage:
    """Return a result with its edits in the details, and a note to the model of those it may know."""
    note = "\n".join(map(_note, [each for each in edits if each.told]))
    content = message.content
    if note and isinstance(content, str):
        content = f"{content}\n\n{note}".lstrip("\n")
    elif note:
        content = (*content, Text(note))
    done = tuple(
        {"by": each.by, "changes": each.changes, "arguments": each.arguments} for each in edits
    )
    return replace(message, content=content, details={**message.details, "edited": done})


def _note(edit: Edit) -> str:
    """Return a line for the model that says who changed a call and how, cut to `MAX_NOTE`."""
    by = edit.by[:1].upper() + edit.by[1:]
    return cut(f"[{by} changed this call: {'; '.join(edit.changes)}", MAX_NOTE) + "]"


def executed_arguments(prepared: Prepared, context: ToolContext) -> Mapping[str, object] | None:
    """Return the effective arguments, secrets masked, for the end event; None without a JSON form."""
    if context.edits:
        return context.edits[-1].arguments
    try:
        return masked_json(prepared)
    except Exception:  # a value that only its own type can write
        return None
