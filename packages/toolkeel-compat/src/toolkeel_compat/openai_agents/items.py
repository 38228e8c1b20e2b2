"""The messages and calls of a run as items, under the names of the OpenAI Agents SDK.

Items wrap what the Responses API would send: dicts whose keys are also attributes.
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
from toolkeel.providers.openai_responses.native_calls import NATIVE_KEY
from toolkeel_compat.content_blocks import to_content
from toolkeel_compat.openai_agents.context import (
    RawItem,
    RunItem,
    TResponseInputItem,
    read_responses_fields,
    to_dict,
    to_raw_call,
)
from toolkeel_compat.openai_agents.tool_outputs import read_parts

__all__ = [
    "HandoffCallItem", "HandoffOutputItem", "ItemHelpers", "MessageOutputItem", "ReasoningItem",
    "ToolCallItem", "ToolCallOutputItem",
]  # fmt: skip


@record
class MessageOutputItem(RunItem):
    """A message of the model."""

    type: ClassVar[str] = "message_output_item"


@record
class ReasoningItem(RunItem):
    """The model's visible reasoning."""

    type: ClassVar[str] = "reasoning_item"


@record
class ToolCallItem(RunItem):
    """A tool call of the model."""

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
        agent: The agent whose run it was.
        raw_item: The result as an item of the Responses API.
        output: The body's return value; for a failed call the text for the model.
        success: True unless the call failed.
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
    """The call that transfers the run to another agent."""

    type: ClassVar[str] = "handoff_call_item"


@record
class HandoffOutputItem(RunItem):
    """A completed handoff from one agent to another."""

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


def to_items(agent: Any, message: Message) -> list[Item]:
    """Convert a message to items: reasoning and text, then the calls; or one result."""
    handoffs = {one.tool.name: one.agent for one in getattr(agent, "handoffs", ())}
    if isinstance(message, ToolMessage):
        target = None if message.failed else handoffs.get(message.name)
        if target is None:
            return [to_result_item(agent, message)]
        raw = to_result_item(agent, message).raw_item
        return [HandoffOutputItem(agent, raw, agent, target)]
    if not isinstance(message, AssistantMessage) or message.model == DECIDED:
        return []
    calls = iter([_to_call_item(agent, call, handoffs) for call in message.tool_calls])
    made: list[Item] = []
    for item in _build_output_items(message):
        kind = item["type"] if isinstance(item, Mapping) else "call"
        if kind == "call":
            made += itertools.islice(calls, 1)
        elif kind in _ITEM_CLASSES or kind.endswith("_call"):
            made.append(_ITEM_CLASSES.get(kind, ToolCallItem)(agent, _to_raw(item)))
    return [*made, *calls]


def to_run_items(agent: Any, messages: Iterable[Message]) -> list[Item]:
    """Convert the messages that a run added, each with the agent that owned the run then.

    Args:
        agent: The first agent.
        messages: The added messages.
    """
    made: list[Item] = []
    for message in messages:
        made += to_items(agent, message)
        if made and isinstance(made[-1], HandoffOutputItem):
            agent = made[-1].target_agent
    return made


_ITEM_CLASSES: Mapping[str, type[MessageOutputItem | ReasoningItem]] = {
    "message": MessageOutputItem,
    "reasoning": ReasoningItem,
}
_KEY_ORDER = (
    "annotations", "arguments", "call_id", "name", "id", "summary", "content", "role", "status",
    "text",
)  # fmt: skip
"""In which order the keys of an item stand first: those of OpenAI's types, as programs print them."""


def _build_output_items(message: AssistantMessage) -> list[Any]:
    """Return a reply's items as the Responses API sent them, or built from its text and reasoning."""
    original: list[Any] = list(read_responses_fields(message).get("output") or ())
    if original and _join_texts(original) == message.text:
        return original
    made: list[Any] = []
    for thought in message.reasoning:
        summary = [{"type": "summary_text", "text": thought.text}] if thought.text else []
        made.append({"type": "reasoning", "id": "", "summary": summary})
    if message.text:
        part = {"type": "output_text", "text": message.text, "annotations": []}
        fields = {"role": "assistant", "status": "completed", "type": "message"}
        made.append({"id": "", "content": [part], **fields})
    return made


def _join_texts(items: Iterable[Any]) -> str:
    messages = [one for one in items if isinstance(one, Mapping) and one.get("type") == "message"]
    return "".join(part.get("text", "") for one in messages for part in one.get("content") or ())


def _to_raw(value: Any) -> Any:
    """Convert nested mappings to `RawItem`, with keys in the order of OpenAI's types."""
    if isinstance(value, Mapping):
        keys = [*(key for key in _KEY_ORDER if key in value), *value]
        return RawItem({key: _to_raw(value[key]) for key in keys})
    return [_to_raw(one) for one in value] if isinstance(value, list) else value


def _to_call_item(agent: Any, call: ToolCall, handoffs: Mapping[str, Any]) -> Item:
    kind = HandoffCallItem if call.name in handoffs else ToolCallItem
    return kind(agent, to_raw_call(call))


def to_result_item(agent: Any, message: ToolMessage) -> ToolCallOutputItem:
    """Convert a tool's result to an item."""
    id, text = message.tool_call_id, message.text
    shown: Any = text
    if not isinstance(message.content, str):
        call = AssistantMessage("", (ToolCall(id, message.name, "{}"),))
        shown = dict(encode_messages([call, message])[-1])["output"]
    raw = RawItem(call_id=id, output=shown, type="function_call_output")
    output = text if message.artifact is None else message.artifact
    output = message.details.get("returned", output)
    return ToolCallOutputItem(agent, raw, output, not message.failed, message.name)


def split_instructions(
    messages: Sequence[Message], agent: Any
) -> tuple[str | None, list[TResponseInputItem]]:
    """Split a request's messages into the agent's instructions and the other items."""
    instructions, others = None, list(messages)
    if others and isinstance(others[0], SystemMessage) and getattr(agent, "instructions", True):
        instructions = others.pop(0).text or None
    return instructions, to_input_list(others, instructed=True)


def to_input_list(
    messages: Iterable[Message], *, instructed: bool = False
) -> list[TResponseInputItem]:
    """Convert a transcript to plain dicts for another run; instructions stay with the agent.

    Args:
        messages: The transcript.
        instructed: The instructions were removed already, so system messages are items.
    """
    included = [one for one in messages if _is_input(one, instructed)]
    calls = itertools.chain(*(getattr(one, "tool_calls", ()) for one in included))
    if any(
        NATIVE_KEY in read_responses_fields(call) for call in calls
    ):  # their results have forms of their own
        return [dict(item) for item in encode_messages(included)]
    return [item for one in included for item in _to_input_items(one)]


def _is_input(message: Message, instructed: bool) -> bool:
    """Return True if a message belongs to the input of a following run."""
    is_instruction = isinstance(message, SystemMessage) and not instructed
    return not is_instruction and getattr(message, "model", "") != DECIDED


def _to_input_items(message: Message) -> list[TResponseInputItem]:
    if isinstance(message, UserMessage | SystemMessage):
        items = encode_messages([message])
        return [{"content": item["content"], "role": item["role"]} for item in items]
    return [_shorten(item.to_input_item()) for item in to_items(None, message)]


def _shorten(item: TResponseInputItem) -> TResponseInputItem:
    """Return a message with a single text part in its short form, with a string as content."""
    parts: list[Any] = item.get("content") or []
    if item.get("type") != "message" or {"id", "status"} & item.keys() or len(parts) != 1:
        return item
    [part] = parts
    plainly = part.keys() <= {"type", "text", "annotations"} and not part.get("annotations")
    return {"content": part["text"], "role": "assistant"} if plainly else item


def to_input(messages: Iterable[Message], *, instructed: bool = False) -> Any:
    """Return a single text as a string, anything else as items. See `to_input_list`."""
    items = to_input_list(messages, instructed=instructed)
    alone = items[0].get("content") if len(items) == 1 else None
    return alone if isinstance(alone, str) else items


def to_messages(items: object) -> list[Message]:
    """Convert a run's input, a string or items of the Responses API, to messages.

    Raises:
        SetupError: An item or a part of a message is not supported.
    """
    if isinstance(items, str):
        return [UserMessage(items)]
    if not isinstance(items, Sequence):
        raise SetupError(f"{items!r:.80} is no input: give a text or a list of items")
    made: list[Message] = []
    of_model: list[dict[str, Any]] = []
    for item in items:
        message = _to_message(item)
        if message is None:
            of_model.append(dict(item))
        else:
            made += [*decode_messages(of_model), message]
            of_model = []
    return [*made, *decode_messages(of_model)]


def _to_message(item: object) -> Message | None:
    """Convert an item of the user or the program to a message; None for the model's and its tools'."""
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
    """Functions that extract text from items."""

    @staticmethod
    def _parts(message: Any, kind: str) -> list[str | None]:
        """Return the texts of a message's parts, or None for each part of another type."""
        item = to_dict(message)
        parts = item.get("content") or () if item.get("type") == "message" else ()
        key = "text" if kind == "output_text" else kind
        return [part.get(key) or "" if part["type"] == kind else None for part in parts]

    @classmethod
    def extract_text(cls, message: Any) -> str | None:
        """Return all text of a raw message item, or None."""
        return "".join(text or "" for text in cls._parts(message, "output_text")) or None

    @classmethod
    def extract_refusal(cls, message: Any) -> str | None:
        """Return the text of a refusal, or None."""
        return "".join(text or "" for text in cls._parts(message, "refusal")) or None

    @classmethod
    def extract_last_text(cls, message: Any) -> str | None:
        """Return the text of a message's last part, or None."""
        return (cls._parts(message, "output_text") or [None])[-1]

    @classmethod
    def extract_last_content(cls, message: Any) -> str:
        """Return the text or the refusal of a message's last part; empty without parts."""
        refused = (cls._parts(message, "refusal") or [None])[-1]
        return cls.extract_last_text(message) or refused or ""

    @staticmethod
    def tool_call_output_item(tool_call: Any, output: Any) -> TResponseInputItem:
        """Build the result item of a call from the body's return value."""
        blocks, id = read_parts(output), str(to_dict(tool_call)["call_id"])
        return to_result_item(None, ToolMessage(blocks or str(output), id)).to_input_item()

    @staticmethod
    def input_to_new_input_list(input: Any) -> list[TResponseInputItem]:
        """Convert a run's input to items."""
        if isinstance(input, str):
            return [{"content": input, "role": "user"}]
        items: list[TResponseInputItem] = []
        for item in input:
            items += [dict(item)] if isinstance(item, Mapping) else to_input_list([item])
        return items

    @classmethod
    def text_message_output(cls, message: MessageOutputItem) -> str:
        """Return the text of one message."""
        return cls.extract_text(message.raw_item) or ""

    @classmethod
    def text_message_outputs(cls, items: Iterable[Any]) -> str:
        """Return the text of all messages among the items."""
        return "".join(
            cls.text_message_output(item) for item in items if isinstance(item, MessageOutputItem)
        )
