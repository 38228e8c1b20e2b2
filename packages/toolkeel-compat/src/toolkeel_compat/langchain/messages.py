"""LangChain's messages: the core's own records, or thin ones over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, cast

from toolkeel._common.other_libraries_words import attribute_hints, explain_foreign
from toolkeel._records.record import NOTHING
from toolkeel.content import Content, Data, Text
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, Reasoning, Usage, UserMessage
from toolkeel.messages import SystemMessage as CoreSystemMessage
from toolkeel.messages import ToolCall as CoreToolCall
from toolkeel.messages import ToolMessage as CoreToolMessage
from toolkeel_compat.content_blocks import read_fields, to_content, to_langchain_content
from toolkeel_compat.langchain.tool_calls import ToolCall, ToolCalls, has_object_args, to_tool_call

_UNSUPPORTED_FIELDS: Mapping[str, str] = {
    "additional_kwargs": "keep it in the state, under a key of your own",
    "response_metadata": "keep it in the state, under a key of your own",
    "invalid_tool_calls": "they are found among the calls",
}
"""By field that a message does not have: what to do instead."""


_METADATA = ("id", "name")
"""Fields of a message that it keeps for the program."""


class MessageMixin:
    """LangChain's extras on a core message: ``type``, ``text``, ``content_blocks``, ``pretty_print()``."""

    __slots__ = ()
    type: ClassVar[str] = ""
    __getattr__ = attribute_hints("langchain.Message.")

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(
            f"messages do not change: message = dataclasses.replace(message, {name}=...)"
        )

    def __new__(cls, content: Any = "", *rest: Any, **kwargs: Any) -> Self:
        """Create a message; content may be a list of any library's parts (see `content_blocks`)."""
        for name, instead in _UNSUPPORTED_FIELDS.items():
            if name not in cls.__match_args__ and kwargs.pop(name, None):  # type: ignore[attr-defined]
                raise SetupError(
                    f"{cls.__name__}({name}=...): messages here have no {name}: leave it out; {instead}"
                )
        place = "details" if cls.type == "tool" else "metadata"
        known = {key: kwargs.pop(key, None) for key in _METADATA if key not in cls.__match_args__}  # type: ignore[attr-defined]
        if own := {key: value for key, value in known.items() if value is not None}:
            kwargs[place] = {**kwargs.get(place, NOTHING), **own}
        content = kwargs.pop("content_blocks", None) or content
        if isinstance(content, list):
            content = to_content(content, joins=cls.type != "human")
        return super().__new__(cls, content, *rest, **kwargs)  # type: ignore[call-arg]

    @property
    def core_content(self) -> Content:
        """The content as the core stores it."""
        return cast("Content", cast("Any", self).content)

    @property
    def id(self) -> str | None:
        """The id that the program has given the message; None if it has none."""
        message: Any = self
        given = message.details if self.type == "tool" else message.metadata
        return cast("str | None", given.get("id"))

    @property
    def additional_kwargs(self) -> dict[str, Any]:
        """Always empty: a message stores only its own fields."""
        return {}

    @property
    def text(self) -> str:
        """The text of the content, without placeholders for images and files."""
        content = self.core_content
        blocks = [Text(content)] if isinstance(content, str) else content
        return "".join(block.text for block in blocks if isinstance(block, Text | Data))

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The content as LangChain's blocks."""
        made = to_langchain_content(self.core_content)
        return made if isinstance(made, list) else [{"type": "text", "text": made}] if made else []

    def pretty_repr(self) -> str:
        """Return a title line, the text, and the tool calls."""
        message: Any = self
        lines = [f" {self.type.title()} Message ".center(80, "=")]
        if name := getattr(message, "name", ""):
            lines.append(f"Name: {name}")
        lines += ["", message.text] if message.text or not hasattr(message, "tool_calls") else []
        lines += ["Tool Calls:"] if (calls := getattr(message, "tool_calls", ())) else []
        for call in calls:
            lines += [f"  {call.name} ({call.id})", f" Call ID: {call.id}", "  Args:"]
            lines += [f"    {name}: {value}" for name, value in call.args.items()]
        return "\n".join(lines)

    def pretty_print(self) -> None:
        """Print `pretty_repr()`."""
        print(self.pretty_repr())


class _Spoken(MessageMixin):
    """A message that may name who speaks."""

    __slots__ = ()

    @property
    def name(self) -> str | None:
        """The name of who speaks; None if the program has given none."""
        return cast("str | None", cast("Any", self).metadata.get("name"))


class HumanMessage(_Spoken, UserMessage):
    """A user's message."""

    __slots__ = ()
    __match_args__ = UserMessage.__match_args__
    type: ClassVar[str] = "human"


class SystemMessage(_Spoken, CoreSystemMessage):
    """The system prompt."""

    __slots__ = ()
    __match_args__ = CoreSystemMessage.__match_args__
    type: ClassVar[str] = "system"


class ToolMessage(MessageMixin, CoreToolMessage):
    """The result of one tool call."""

    __slots__ = ()
    __match_args__ = CoreToolMessage.__match_args__
    type: ClassVar[str] = "tool"


class AIMessage(_Spoken, AssistantMessage):
    """A model's reply. Its calls may be passed as dicts and read as dicts."""

    __slots__ = ()
    __match_args__ = AssistantMessage.__match_args__
    type: ClassVar[str] = "ai"

    def __new__(
        cls,
        content: Content | None = "",
        tool_calls: Iterable[CoreToolCall | Mapping[str, Any]] | None = (),
        *rest: Any,
        **kwargs: Any,
    ) -> AIMessage:
        calls = ToolCalls(map(to_tool_call, tool_calls or ()))
        if spent := kwargs.pop("usage_metadata", None):
            read = spent.get("input_token_details", {}).get("cache_read", 0)
            thought = spent.get("output_token_details", {}).get("reasoning", 0)
            kwargs["usage"] = Usage(1, spent["input_tokens"], spent["output_tokens"], read, thought)
        shown: Any = content or ""
        if isinstance(content, list):
            shown, thoughts = _split_reasoning(content)
            kwargs = {"reasoning": thoughts, **kwargs} if thoughts else kwargs
        return super().__new__(cls, shown, calls, *rest, **kwargs)

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """Reasoning, content and calls as LangChain's blocks."""
        thoughts = [{"type": "reasoning", "reasoning": one.text} for one in self.reasoning]
        calls: list[dict[str, Any]] = [
            {"type": "tool_call", "name": one.name, "args": one.args, "id": one.id}
            for one in map(to_tool_call, self.tool_calls)
            if has_object_args(one)
        ]
        return [*thoughts, *super().content_blocks, *calls]

    @property
    def usage_metadata(self) -> dict[str, Any] | None:
        """Token counts; None if the provider reported none."""
        spent, names = self.usage, ("input_tokens", "output_tokens", "total_tokens")
        read, thought = spent.cached_tokens, spent.reasoning_tokens
        details = {"input_token_details": {"cache_read": read} if read else {}}
        details["output_token_details"] = {"reasoning": thought} if thought else {}
        made = {name: getattr(spent, name) for name in names} | details
        return made if spent.total_tokens else None

    @property
    def response_metadata(self) -> dict[str, Any]:
        """The model's name and the finish reason."""
        return {"model_name": self.model, "finish_reason": self.finish_reason}

    @property
    def invalid_tool_calls(self) -> list[ToolCall]:
        """The calls whose arguments are not a JSON object."""
        return [to_tool_call(one) for one in self.tool_calls if not has_object_args(one)]


class BlockMessage(AIMessage):
    """A reply whose `content` is LangChain's blocks, as ``stream_events(version="v3")`` gives it."""

    __slots__ = ()
    __match_args__ = AIMessage.__match_args__

    @property
    def core_content(self) -> Content:
        """The content as the core stores it."""
        return cast("Content", vars(AssistantMessage)["content"].__get__(self))

    @property
    def content(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Reasoning, content and calls as blocks."""
        order = ("type", "id", "name", "args")
        return [
            {key: block[key] for key in order}
            if block["type"] == "tool_call"
            else {**block, "index": place}
            for place, block in enumerate(super().content_blocks)
        ]

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The same as `content`."""
        return cast("list[dict[str, Any]]", self.content)

    @property
    def usage_metadata(self) -> dict[str, Any] | None:
        """As of `AIMessage`, without details if the provider reported none."""
        made = super().usage_metadata
        return made and {key: value for key, value in made.items() if value != {}}


BlockMessage.__name__ = AIMessage.__name__  # what programs print


def to_block_message(reply: AIMessage) -> BlockMessage:
    """Return a reply with blocks as its content; `convert_to_messages` returns it as it was."""
    return BlockMessage(**_read_values(reply))  # pyright: ignore[reportReturnType]


BaseMessage = AnyMessage = HumanMessage | AIMessage | SystemMessage | ToolMessage


_REASONING_TYPES = ("thinking", "reasoning")
_NON_CONTENT_TYPES = (*_REASONING_TYPES, "tool_use", "tool_call", "function_call")
"""Parts of a reply that stand beside its content: its `reasoning` and its `tool_calls`."""


def _split_reasoning(parts: list[Any]) -> tuple[list[Any], tuple[Reasoning, ...]]:
    """Split a reply's parts into its content and its reasoning; drop tool-call parts."""
    fields = [read_fields(part) for part in parts]
    thoughts = tuple(_to_reasoning(one) for one in fields if one.get("type") in _REASONING_TYPES)
    beside = [one.get("type") in _NON_CONTENT_TYPES for one in fields]
    return [part for part, out in zip(parts, beside, strict=True) if not out], thoughts


def _to_reasoning(part: Mapping[str, Any]) -> Reasoning:
    text = part.get("thinking") or part.get("reasoning") or ""
    return Reasoning(str(text), str(part.get("signature") or ""))


_ROLES: Mapping[str, type[Any]] = {
    "user": HumanMessage,
    "human": HumanMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "assistant": AIMessage,
    "ai": AIMessage,
    "tool": ToolMessage,
}


def _read_values(reply: AIMessage) -> dict[str, Any]:
    """Return the fields of a reply, as the core stores them."""
    values: dict[str, Any] = {name: getattr(reply, name) for name in AIMessage.__match_args__}
    return {**values, "content": reply.core_content}


def convert_to_messages(messages: object) -> list[Message]:
    """Convert a string, records, ``(role, text)`` pairs or OpenAI's dicts to messages.

    A single item counts as a list of one.

    Raises:
        SetupError: An item is none of these.
    """
    if foreign := explain_foreign(messages):
        raise SetupError(f"no message: {foreign}")
    pair = isinstance(messages, tuple) and len(messages) == 2 and isinstance(messages[0], str)
    if (
        pair
        or isinstance(messages, str | Mapping | MessageMixin)
        or not isinstance(messages, Iterable)
    ):
        return [_to_message(messages)]
    return [_to_message(one) for one in messages]


def _to_message(item: object) -> Message:
    match item:
        case BlockMessage():
            return AIMessage(**_read_values(item))
        case MessageMixin():
            return cast("Message", item)
        case UserMessage() | CoreSystemMessage() | AssistantMessage() | CoreToolMessage():
            kind = _MESSAGE_CLASSES[type(item)]
            return cast("Message", kind(*(getattr(item, name) for name in kind.__match_args__)))
        case str():
            return HumanMessage(item)
        case (str(role), content) if role in _ROLES:
            return cast("Message", _ROLES[role](content))
        case {"role": str(role), **fields} | {"type": str(role), **fields} if role in _ROLES:
            return _read_dict(role, {str(key): value for key, value in fields.items()})
    raise SetupError(f"no message: {explain_foreign(item) or repr(item)}")


def _read_dict(role: str, fields: Mapping[str, Any]) -> Message:
    """Convert a message's dict; an empty field that no message has counts as absent.

    Raises:
        SetupError: A field has a value that the message would lose.
    """
    known = {key: value for key, value in fields.items() if key in _DICT_FIELDS[_ROLES[role]]}
    lost = [key for key, value in fields.items() if key not in (*known, "type", "role") and value]
    if lost:
        raise SetupError(
            f"a message of the role {role!r} has no {lost[0]!r}: leave it out of the dict"
        )
    return cast("Message", _ROLES[role](**known))


_MESSAGE_CLASSES: Mapping[type[Any], type[Any]] = {
    UserMessage: HumanMessage,
    CoreSystemMessage: SystemMessage,
    AssistantMessage: AIMessage,
    CoreToolMessage: ToolMessage,
}
_DICT_FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    HumanMessage: ("content", *_METADATA),
    SystemMessage: ("content", *_METADATA),
    AIMessage: ("content", "tool_calls", *_METADATA),
    ToolMessage: ("content", "tool_call_id", "name", "status", "artifact", "id"),
}
"""The fields of a message's dict that are read."""
