"""What happened in a run, as items, under the names of the OpenAI Agents SDK.

Items wrap what the Responses wire would carry: dicts whose keys can be read as attributes, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.openai_responses import decode_messages, encode_messages
from toolkeel.providers.openai_responses.native_calls import NATIVE
from toolkeel_compat.content_blocks import to_content
from toolkeel_compat.openai_agents.context import (
    Raw,
    RunItem,
    TResponseInputItem,
    plain,
    raw_call,
    responses_part,
)
from toolkeel_compat.openai_agents.tool_outputs import parts_of

__all__ = [
    "HandoffCallItem", "HandoffOutputItem", "ItemHelpers", "MessageOutputItem", "ReasoningItem",
    "ToolCallItem", "ToolCallOutputItem",
]  # fmt: skip


@record
class MessageOutputItem(RunItem):
    """What the model said."""

    type: ClassVar[str] = "message_output_item"


@record
class ReasoningItem(RunItem):
    """What the model thought, as far as it is shown."""

    type: ClassVar[str] = "reasoning_item"


@record
class ToolCallItem(RunItem):
    """A call the model made."""

    type: ClassVar[str] = "tool_call_item"

    @property
    def tool_name(self) -> str:
        """Name of the tool."""
        return str(self.raw_item["name"])

    @property
    def call_id(self) -> str:
        """The model's id for the call."""
        return str(self.raw_item["call_id"])


@record
class ToolCallOutputItem(RunItem):
    """The result of one call.

    Args:
        agent: Whose run it was.
        raw_item: The result as the wire carries it.
        output: What the body returned; of a failed call what the model reads.
        success: Whether it went well.
        tool_name: Name of the tool.
    """

    type: ClassVar[str] = "tool_call_output_item"
    output: Any = None
    success: bool = True
    tool_name: str = ""

    @property
    def call_id(self) -> str:
        """Id of the call."""
        return str(self.raw_item["call_id"])


@record
class HandoffCallItem(RunItem):
    """The call by which an agent gives the run away."""

    type: ClassVar[str] = "handoff_call_item"


@record
class HandoffOutputItem(RunItem):
    """The run has gone from one agent to another."""

    type: ClassVar[str] = "handoff_output_item"
    source_agent: Any
    target_agent: Any


DECIDED = "tool_use_behavior"
"""The `model` of an answer that a function found in the results of tools: it is no item."""
Item: TypeAlias = (
    MessageOutputItem
    | ReasoningItem
    | ToolCallItem
    | ToolCallOutputItem
    | HandoffCallItem
    | HandoffOutputItem
)


def items_of(agent: Any, message: Message) -> list[Item]:
    """A message as items: what was thought and said, then the calls; or one result."""
    handoffs = {one.tool.name: one.agent for one in getattr(agent, "handoffs", ())}
    if isinstance(message, ToolMessage):
        target = None if message.failed else handoffs.get(message.name)
        if target is None:
            return [result_item(agent, message)]
        raw = result_item(agent, message).raw_item
        return [HandoffOutputItem(agent, raw, agent, target)]
    if not isinstance(message, AssistantMessage) or message.model == DECIDED:
        return []
    calls = iter([_call_item(agent, call, handoffs) for call in message.tool_calls])
    made: list[Item] = []
    for item in _output(message):
        kind = item["type"] if isinstance(item, Mapping) else "call"
        if kind == "call":
            made += itertools.islice(calls, 1)
        elif kind in _KINDS or kind.endswith("_call"):
            made.append(_KINDS.get(kind, ToolCallItem)(agent, _raw(item)))
    return [*made, *calls]


def run_items(agent: Any, messages: Iterable[Message]) -> list[Item]:
    """What a run has added, each item as one of the agent that had the run then.

    Args:
        agent: Who had it first.
        messages: What was added.
    """
    made: list[Item] = []
    for message in messages:
        made += items_of(agent, message)
        if made and isinstance(made[-1], HandoffOutputItem):
            agent = made[-1].target_agent
    return made


_KINDS: Mapping[str, type[MessageOutputItem | ReasoningItem]] = {
    "message": MessageOutputItem,
    "reasoning": ReasoningItem,
}
_ORDER = (
    "annotations", "arguments", "call_id", "name", "id", "summary", "content", "role", "status",
    "text",
)  # fmt: skip
"""In which order the keys of an item stand first: those of OpenAI's types, as programs print them."""


def _output(message: AssistantMessage) -> list[Any]:
    """What a model gave: its items as Responses had them, or made of what was said and thought."""
    kept: list[Any] = list(responses_part(message).get("output") or ())
    if kept and _words(kept) == message.text:
        return kept
    made: list[Any] = []
    for thought in message.reasoning:
        summary = [{"type": "summary_text", "text": thought.text}] if thought.text else []
        made.append({"type": "reasoning", "id": "", "summary": summary})
    if message.text:
        part = {"type": "output_text", "text": message.text, "annotations": []}
        whole = {"role": "assistant", "status": "completed", "type": "message"}
        made.append({"id": "", "content": [part], **whole})
    return made


def _words(items: Iterable[Any]) -> str:
    said = [one for one in items if isinstance(one, Mapping) and one.get("type") == "message"]
    return "".join(part.get("text", "") for one in said for part in one.get("content") or ())


def _raw(value: Any) -> Any:
    """A value of an item, whose keys are attributes and stand in the order of OpenAI's types."""
    if isinstance(value, Mapping):
        keys = [*(key for key in _ORDER if key in value), *value]
        return Raw({key: _raw(value[key]) for key in keys})
    return [_raw(one) for one in value] if isinstance(value, list) else value


def _call_item(agent: Any, call: ToolCall, handoffs: Mapping[str, Any]) -> Item:
    kind = HandoffCallItem if call.name in handoffs else ToolCallItem
    return kind(agent, raw_call(call))


def result_item(agent: Any, message: ToolMessage) -> ToolCallOutputItem:
    """A result as an item."""
    id, text = message.tool_call_id, message.text
    shown: Any = text
    if not isinstance(message.content, str):
        call = AssistantMessage("", (ToolCall(id, message.name, "{}"),))
        shown = dict(encode_messages([call, message])[-1])["output"]
    raw = Raw(call_id=id, output=shown, type="function_call_output")
    output = text if message.artifact is None else message.artifact
    output = message.details.get("returned", output)
    return ToolCallOutputItem(agent, raw, output, not message.failed, message.name)


def parted(messages: Sequence[Message], agent: Any) -> tuple[str | None, list[TResponseInputItem]]:
    """The instructions of who asks, and what else a request says, as items."""
    told, said = None, list(messages)
    if said and isinstance(said[0], SystemMessage) and getattr(agent, "instructions", True):
        told = said.pop(0).text or None
    return told, input_list(said, instructed=True)


def input_list(
    messages: Iterable[Message], *, instructed: bool = False
) -> list[TResponseInputItem]:
    """A transcript as plain dicts, to go on from; instructions are the agent's, and stay with it.

    Args:
        messages: The transcript.
        instructed: Whether the instructions are apart: system messages are items, then.
    """
    said = [one for one in messages if _stays(one, instructed)]
    calls = itertools.chain(*(getattr(one, "tool_calls", ()) for one in said))
    if any(
        NATIVE in responses_part(call) for call in calls
    ):  # their results have forms of their own
        return [dict(item) for item in encode_messages(said)]
    return [item for one in said for item in _as_input(one)]


def _stays(message: Message, instructed: bool) -> bool:
    """Whether a message is part of what is gone on from."""
    told = isinstance(message, SystemMessage) and not instructed
    return not told and getattr(message, "model", "") != DECIDED


def _as_input(message: Message) -> list[TResponseInputItem]:
    if isinstance(message, UserMessage | SystemMessage):
        items = encode_messages([message])
        return [{"content": item["content"], "role": item["role"]} for item in items]
    return [_short(item.to_input_item()) for item in items_of(None, message)]


def _short(item: TResponseInputItem) -> TResponseInputItem:
    """A message of the model's that a program has written, as a text, as it wrote it."""
    parts: list[Any] = item.get("content") or []
    if item.get("type") != "message" or {"id", "status"} & item.keys() or len(parts) != 1:
        return item
    [part] = parts
    plainly = part.keys() <= {"type", "text", "annotations"} and not part.get("annotations")
    return {"content": part["text"], "role": "assistant"} if plainly else item


def as_input(said: Iterable[Message], *, instructed: bool = False) -> Any:
    """What a person said: a text if it is one, else items; see `input_list`."""
    items = input_list(said, instructed=instructed)
    alone = items[0].get("content") if len(items) == 1 else None
    return alone if isinstance(alone, str) else items


def messages_of(items: object) -> list[Message]:
    """Messages of what a run is given: a text, or items of the Responses wire.

    Raises:
        SetupError: for what is no item, and for parts of a message that are not read, by their type.
    """
    if isinstance(items, str):
        return [UserMessage(items)]
    if not isinstance(items, Sequence):
        raise SetupError(f"{items!r:.80} is no input: give a text or a list of items")
    made: list[Message] = []
    of_model: list[dict[str, Any]] = []
    for item in items:
        said = _said(item)
        if said is None:
            of_model.append(dict(item))
        else:
            made += [*decode_messages(of_model), said]
            of_model = []
    return [*made, *decode_messages(of_model)]


def _said(item: object) -> Message | None:
    """What a person or the program says; None for what a model and its tools do."""
    if isinstance(item, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return item
    if not isinstance(item, Mapping):
        raise SetupError(f"{item!r:.80} is no item of a conversation")
    role = item.get("role")
    if item.get("type", "message") != "message" or role == "assistant":
        return None
    if role not in ("user", "system", "developer"):
        raise SetupError(f"there is no role {role!r:.60}")
    content = to_content(item.get("content") or "")
    return UserMessage(content) if role == "user" else SystemMessage(content)


class ItemHelpers:
    """Texts of items."""

    @staticmethod
    def _parts(message: Any, kind: str) -> list[str | None]:
        """What the parts of a message say; None for those of another kind."""
        item = plain(message)
        parts = item.get("content") or () if item.get("type") == "message" else ()
        key = "text" if kind == "output_text" else kind
        return [part.get(key) or "" if part["type"] == kind else None for part in parts]

    @classmethod
    def extract_text(cls, message: Any) -> str | None:
        """All text of a message item's raw form; None if there is none."""
        return "".join(text or "" for text in cls._parts(message, "output_text")) or None

    @classmethod
    def extract_refusal(cls, message: Any) -> str | None:
        """Why the model would not answer; None if it did not say so."""
        return "".join(text or "" for text in cls._parts(message, "refusal")) or None

    @classmethod
    def extract_last_text(cls, message: Any) -> str | None:
        """The last part of a message, if it is a text."""
        return (cls._parts(message, "output_text") or [None])[-1]

    @classmethod
    def extract_last_content(cls, message: Any) -> str:
        """The text of a message's last part, or why there is none; empty if there are no parts."""
        refused = (cls._parts(message, "refusal") or [None])[-1]
        return cls.extract_last_text(message) or refused or ""

    @staticmethod
    def tool_call_output_item(tool_call: Any, output: Any) -> TResponseInputItem:
        """The result of a call, of what its body returned."""
        blocks, id = parts_of(output), str(plain(tool_call)["call_id"])
        return result_item(None, ToolMessage(blocks or str(output), id)).to_input_item()

    @staticmethod
    def input_to_new_input_list(input: Any) -> list[TResponseInputItem]:
        """What a run is given, as items."""
        if isinstance(input, str):
            return [{"content": input, "role": "user"}]
        items: list[TResponseInputItem] = []
        for item in input:
            items += [dict(item)] if isinstance(item, Mapping) else input_list([item])
        return items

    @classmethod
    def text_message_output(cls, message: MessageOutputItem) -> str:
        """What one message said."""
        return cls.extract_text(message.raw_item) or ""

    @classmethod
    def text_message_outputs(cls, items: Iterable[Any]) -> str:
        """What all messages among these items said."""
        return "".join(
            cls.text_message_output(item) for item in items if isinstance(item, MessageOutputItem)
        )
