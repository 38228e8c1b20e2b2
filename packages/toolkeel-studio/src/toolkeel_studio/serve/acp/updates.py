"""Items of a channel as session updates of ACP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final, Literal

from acp import helpers
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallUpdate,
)

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import Ticket
from toolkeel.content import Audio, Content, Image, Source
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.observe.wording import visible_json, visible_line, visible_text
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.contents import base64_of, is_on_web, media_of, plain_text
from toolkeel_studio.serve.items import Item, is_said
from toolkeel_studio.serve.pieces import Pieces

MAX_TEXT: Final = 50_000
"""Characters of a result that an editor is sent."""
CUT: Final = "\n[... {count} more characters]"
FILE: Final = re.compile(r"file:\{(\w+)\}")
CHANGE: Final = {"old_text", "new_text"}
"""Arguments of a change of a file, which a diff shows."""
ALLOW, REJECT = "allow.", "reject."


class UpdateEncoder:
    """The updates of a session, from items in their order.

    Args:
        with_prompts: Send messages of people, too, as a client needs that loads a session.
    """

    def __init__(self, *, with_prompts: bool = False) -> None:
        self._with_prompts = with_prompts
        self._pieces = Pieces()

    def encode(self, item: Item) -> Iterator[Any]:
        """Yield the updates of the next item."""
        if item.within:
            return
        for piece in self._pieces.take(item):
            if piece.kind == "text":
                yield helpers.update_agent_message_text(piece.text)
            elif piece.kind == "reasoning":
                yield helpers.update_agent_thought_text(piece.text)
        match item.body:
            case entries.PersonSaid(message=message) | entries.Steered(message=message):
                if self._with_prompts and is_said(item):
                    yield helpers.update_user_message_text(plain_text(message.content))
            case entries.ModelReplied(message=message):
                yield from map(_link, filter(is_on_web, message.sources))
                yield from map(_start_call, message.tool_calls)
            case events.Progress(message=text) if text:
                content = [helpers.tool_content(helpers.text_block(text))]
                yield helpers.update_tool_call(item.call_id, status="in_progress", content=content)
            case entries.CallEnded(message=message):
                yield result_update(item.call_id, message)
            case _:
                pass


def _link(source: Source) -> Any:
    link = helpers.resource_link_block(source.title or source.url, source.url)
    return helpers.update_agent_message(link)


def _start_call(call: ToolCall) -> Any:
    arguments: Any = call_arguments(call)
    with suppress(ValueError):
        arguments = json.loads(arguments or "{}")
    name, shown = visible_line(call.name), _visible(arguments)
    return helpers.start_tool_call(call.id, name, kind="other", status="pending", raw_input=shown)


def _visible(value: Any) -> Any:
    """Return JSON data with the invisible characters of its texts as escapes."""
    if isinstance(value, str):
        return visible_text(value)
    if isinstance(value, Mapping):
        return {visible_text(str(key)): _visible(each) for key, each in value.items()}
    return [_visible(each) for each in value] if isinstance(value, list | tuple) else value


def result_update(call_id: str, message: ToolMessage) -> ToolCallProgress:
    """Return the end of a call: its text and pictures as the model got them, cut to a limit."""
    text = plain_text(message.content)
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + CUT.format(count=len(text) - MAX_TEXT)
    blocks = [helpers.tool_content(helpers.text_block(text)), *_media(message.content)]
    status: Literal["failed", "completed"] = "failed" if message.failed else "completed"
    return helpers.update_tool_call(call_id, status=status, content=blocks)


def permission_options(approval_id: str) -> list[PermissionOption]:
    """Return what a person can answer; the ids have the approval id in them."""
    return [
        PermissionOption(option_id=ALLOW + approval_id, name="Allow", kind="allow_once"),
        PermissionOption(option_id=REJECT + approval_id, name="Reject", kind="reject_once"),
    ]


def permission_call(ticket: Ticket, call_id: str, folder: str) -> ToolCallUpdate:
    """Return the call that a permission is asked for: its changes as diffs, its other arguments as JSON.

    Invisible characters are shown as escapes. Editors need not show a raw input, so the content has all.

    Args:
        ticket: Of the call.
        call_id: The call's id.
        folder: That the editor has open, which paths are relative to.
    """
    named = [str(ticket.arguments[name]) for name in _path_arguments(ticket)]
    paths = [str(PurePath(folder, path)) for path in named]
    changes = list(_changes(ticket.arguments)) if len(paths) == 1 else []
    is_edit = bool(paths) and not ticket.effects.get("read_only")
    reason = visible_text(ticket.reason)
    shown: list[Any] = [helpers.tool_content(helpers.text_block(reason))]
    rest = dict(ticket.arguments)
    if is_edit and changes:
        shown += [helpers.tool_diff_content(paths[0], new, old) for old, new in changes]
        rest = _without_changes(ticket)
    if rest:
        text = f"```json\n{visible_json(rest)}\n```"
        shown.append(helpers.tool_content(helpers.text_block(text)))
    first = reason.partition("\n")[0]
    return ToolCallUpdate(
        tool_call_id=call_id,
        title=f"{ticket.tool}: {first}" if first else ticket.tool,
        kind="edit" if is_edit else "other",
        status="pending",
        raw_input=_visible(to_json_data(ticket.arguments, other=describe_value)),
        content=shown if ticket.reason else shown[1:],
        locations=[ToolCallLocation(path=path) for path in paths],
    )


def _path_arguments(ticket: Ticket) -> Iterator[str]:
    """Yield the names of the arguments that are files, as its tool declares them (``file:{path}``)."""
    declared = ticket.effects.get("resources")
    for key in declared if isinstance(declared, Sequence) else ():
        found = FILE.fullmatch(str(key))
        if found and isinstance(ticket.arguments.get(found[1]), str):
            yield found[1]


def _without_changes(ticket: Ticket) -> dict[str, object]:
    """Return the arguments that a diff shows nothing of, or not all."""
    given = ticket.arguments
    shown = {*_path_arguments(ticket)}
    if isinstance(given.get("content"), str):
        shown.add("content")
    if _is_change(given):
        shown |= CHANGE
    edits = given.get("edits")
    if isinstance(edits, Sequence) and all(
        _is_change(each) and each.keys() == CHANGE for each in edits
    ):
        shown.add("edits")
    return {name: value for name, value in given.items() if name not in shown}


def _changes(arguments: Mapping[str, object]) -> Iterator[tuple[str | None, str]]:
    """Yield the old and new texts of a change as a person sees them; None for an entire file."""
    if isinstance(content := arguments.get("content"), str):
        yield None, visible_text(content)
    edits = arguments.get("edits")
    for each in (arguments, *(edits if isinstance(edits, Sequence) else ())):
        if _is_change(each):
            yield visible_text(str(each["old_text"])), visible_text(str(each["new_text"]))


def _is_change(value: Any) -> bool:
    """Return True for an object with the old and the new text of a change."""
    return isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in CHANGE)


def is_allowed(answer: RequestPermissionResponse, approval_id: str) -> bool:
    """Return True if a person has allowed exactly what was asked."""
    outcome = answer.outcome
    return isinstance(outcome, AllowedOutcome) and outcome.option_id == ALLOW + approval_id


def _media(content: Content) -> Iterator[Any]:
    for block in media_of(content):
        if isinstance(block, Image | Audio) and block.data:
            make = helpers.image_block if isinstance(block, Image) else helpers.audio_block
            yield helpers.tool_content(make(base64_of(block), block.media_type))
