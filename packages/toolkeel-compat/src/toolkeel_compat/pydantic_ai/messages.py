"""Messages with parts, under the names of Pydantic AI, made of the core's messages and back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import uuid4

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter
from pydantic_core import to_json

from toolkeel._records.record import NOTHING
from toolkeel.content import Text
from toolkeel.context import RunContext as CoreRun
from toolkeel.errors import SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel_compat.pydantic_ai.media import read_part, write_part
from toolkeel_compat.pydantic_ai.usage import RunUsage

_VALUES_KEY: Final = "pydantic_ai_values"
"""Key of a run's step state: what the tools returned, by call id."""
_CORE: Final = "_core"
"""Attribute of a message: the core's message that it was made of, or those of its parts."""


def _now() -> datetime:
    return datetime.now(UTC)


def _make_id() -> str:
    return f"pyd_ai_{uuid4().hex}"


def _read_content(content: Any) -> Any:
    """Return the content of a prompt with blocks for the media that JSON has."""
    return [read_part(one) for one in content] if isinstance(content, list | tuple) else content


def _write_content(content: Any) -> Any:
    """Return the content of a prompt as JSON has it."""
    return [write_part(one) for one in content] if isinstance(content, list | tuple) else content


@dataclasses.dataclass
class SystemPromptPart:
    """A system prompt in a message history.

    Args:
        content: Its text.
    """

    content: str
    part_kind: Literal["system-prompt"] = "system-prompt"


@dataclasses.dataclass
class UserPromptPart:
    """What the user says.

    Args:
        content: A text, or texts and media.
        timestamp: When this part was made: a transcript has no times.
    """

    content: Annotated[
        Any, BeforeValidator(_read_content), PlainSerializer(_write_content, when_used="json")
    ]
    timestamp: datetime = dataclasses.field(default_factory=_now, compare=False)
    part_kind: Literal["user-prompt"] = "user-prompt"


@dataclasses.dataclass
class ToolReturnPart:
    """The result of a call.

    Args:
        tool_name: Name of the tool.
        content: What the tool returned; the text for the model if that is not known.
        tool_call_id: Id of the call.
        metadata: For the program.
        timestamp: When this part was made: a transcript has no times.
        outcome: ``retried`` and ``failed`` for what the model shall correct.
    """

    tool_name: str
    content: Any
    tool_call_id: str = dataclasses.field(default_factory=_make_id)
    metadata: Any = None
    timestamp: datetime = dataclasses.field(default_factory=_now, compare=False)
    outcome: Literal["success", "failed", "denied", "interrupted", "retried"] = "success"
    part_kind: Literal["tool-return"] = "tool-return"

    def model_response_str(self) -> str:
        """Return the text for the model."""
        return self.content if isinstance(self.content, str) else to_json(self.content).decode()


@dataclasses.dataclass
class TextPart:
    """A text of the model.

    Args:
        content: The text.
    """

    content: str
    part_kind: Literal["text"] = "text"


@dataclasses.dataclass
class ThinkingPart:
    """The model's reasoning.

    Args:
        content: Its text.
        signature: The provider's proof of it.
    """

    content: str
    signature: str | None = None
    part_kind: Literal["thinking"] = "thinking"


@dataclasses.dataclass
class ToolCallPart:
    """A call of a tool.

    Args:
        tool_name: Name of the tool.
        args: The arguments, as JSON text or as a dict.
        tool_call_id: Id of the call.
    """

    tool_name: str
    args: str | dict[str, Any] | None = None
    tool_call_id: str = dataclasses.field(default_factory=_make_id)
    part_kind: Literal["tool-call"] = "tool-call"

    def args_as_dict(self) -> dict[str, Any]:
        """Return the arguments as a dict."""
        read = json.loads(self.args or "{}") if isinstance(self.args, str) else self.args or {}
        return dict(read)

    def args_as_json_str(self) -> str:
        """Return the arguments as JSON text."""
        return self.args if isinstance(self.args, str) else to_json(self.args or {}).decode()


ModelRequestPart: TypeAlias = Annotated[
    SystemPromptPart | UserPromptPart | ToolReturnPart, Field(discriminator="part_kind")
]
"""Any part of a request."""
ModelResponsePart: TypeAlias = Annotated[
    TextPart | ThinkingPart | ToolCallPart, Field(discriminator="part_kind")
]
"""Any part of a response."""


@dataclasses.dataclass
class ModelRequest:
    """What is sent to a model: prompts and results of one turn.

    Args:
        parts: Its parts.
        kind: Tells it from a response.
    """

    parts: Sequence[ModelRequestPart]
    kind: Literal["request"] = "request"

    @classmethod
    def user_text_prompt(cls, user_prompt: str) -> ModelRequest:
        """Create a request of a user's text."""
        return cls([UserPromptPart(user_prompt)])


@dataclasses.dataclass
class ModelResponse:
    """A reply of a model.

    Args:
        parts: Its parts.
        usage: Tokens of its request.
        model_name: Name of the model.
        timestamp: When this message was made: a transcript has no times.
        kind: Tells it from a request.
    """

    parts: Sequence[ModelResponsePart]
    usage: RunUsage = dataclasses.field(default_factory=RunUsage, compare=False)
    model_name: str | None = None
    timestamp: datetime = dataclasses.field(default_factory=_now, compare=False)
    kind: Literal["response"] = "response"

    @property
    def text(self) -> str | None:
        """Its texts; None if there are none."""
        return "\n\n".join(one.content for one in self.parts if isinstance(one, TextPart)) or None

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        """Its calls."""
        return [one for one in self.parts if isinstance(one, ToolCallPart)]


ModelMessage: TypeAlias = Annotated[ModelRequest | ModelResponse, Field(discriminator="kind")]
"""Any message of a history."""
ModelMessagesTypeAdapter: TypeAdapter[list[ModelMessage]] = TypeAdapter(list[ModelMessage])
"""Reads and writes a history: ``validate_json``, ``dump_json``, ``validate_python``, ``dump_python``."""


def get_values(run: CoreRun[Any]) -> dict[str, Any]:
    """Return what the tools of a run and of its history returned, by call id, to read and change."""
    known: Any = run.scope.step_state.setdefault((_VALUES_KEY, run.id), {})
    values: dict[str, Any] = known
    return values


def read_values(history: Sequence[Any]) -> dict[str, Any]:
    """Return what the tools of a history returned, by call id."""
    parts = (part for one in history for part in getattr(one, "parts", ()))
    return {one.tool_call_id: one.content for one in parts if isinstance(one, ToolReturnPart)}


def find_latest_results(messages: Iterable[Any]) -> dict[str, ToolMessage]:
    """Return the last result of each call id: some models use an id again in another turn."""
    return {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}


def to_model_messages(messages: Sequence[Message], values: Mapping[str, Any]) -> list[Any]:
    """Convert the core's messages; prompts and results that follow each other are one request.

    Args:
        messages: The messages.
        values: What the tools returned, by call id.
    """
    made: list[Any] = []
    latest = find_latest_results(messages)
    for one in messages:
        if isinstance(one, AssistantMessage):
            usage = RunUsage.from_core(one.usage, ())
            reply = ModelResponse([*_make_response_parts(one)], usage, one.model or None)
            vars(reply)[_CORE] = one
            made.append(reply)
            continue
        if not made or isinstance(made[-1], ModelResponse):
            made.append(ModelRequest([]))
            vars(made[-1])[_CORE] = []
        is_older = isinstance(one, ToolMessage) and latest[one.tool_call_id] is not one
        part = _make_request_part(one, NOTHING if is_older else values)
        made[-1].parts = [*made[-1].parts, part]
        vars(made[-1])[_CORE].append((one, dataclasses.replace(part)))
    return made


def to_core_messages(history: Sequence[Any]) -> list[Message]:
    """Convert a history to the core's messages, the unchanged ones to those that they were made of.

    Args:
        history: Messages with parts, and messages of the core.

    Raises:
        SetupError: An item is neither.
    """
    made: list[Message] = []
    for one in history:
        core: Any = vars(one).get(_CORE) if isinstance(one, ModelRequest | ModelResponse) else None
        if isinstance(one, ModelRequest):
            for each in one.parts:
                same = (old for old, part in core or () if part == each)
                made.append(next(same, None) or _make_message(each))
        elif isinstance(one, ModelResponse):
            is_same = core is not None and [*_make_response_parts(core)] == [*one.parts]
            made.append(core if is_same and core is not None else make_reply(one))
        elif isinstance(one, Message):
            made.append(one)
        else:
            raise SetupError(
                f"message_history: {one!r:.60} is no message; give all_messages() of a result"
            )
    return made


def _make_response_parts(message: AssistantMessage) -> Iterator[Any]:
    for thought in message.reasoning:
        yield ThinkingPart(thought.text, thought.signature or None)
    if message.text:
        yield TextPart(message.text)
    for call in message.tool_calls:
        args = call.arguments if isinstance(call.arguments, str) else dict(call.arguments)
        yield ToolCallPart(call.name, args, call.id)


def _make_request_part(message: Message, values: Mapping[str, Any]) -> Any:
    if isinstance(message, ToolMessage):
        outcome: Any = (
            "denied" if message.kind == "denied" else "retried" if message.failed else "success"
        )
        content = values.get(message.tool_call_id, message.text)
        name, call = message.name, message.tool_call_id
        return ToolReturnPart(name, content, call, message.artifact, outcome=outcome)
    if isinstance(message, SystemMessage):
        return SystemPromptPart(message.text)
    content = message.content
    if isinstance(content, str):
        return UserPromptPart(content)
    return UserPromptPart([one.text if isinstance(one, Text) else one for one in content])


def _make_message(part: Any) -> Message:
    """Return the core's message of a part of a request."""
    match part:
        case SystemPromptPart():
            return SystemMessage(part.content)
        case ToolReturnPart():
            failed = part.outcome in ("failed", "retried")
            return ToolMessage(
                part.model_response_str(),
                part.tool_call_id,
                part.tool_name,
                "error" if failed else "success",
                artifact=part.metadata,
            )
    return make_user_message(part.content)


def make_user_message(content: Any) -> UserMessage:
    """Return the message of a text, or of a list of texts and media."""
    if isinstance(content, str):
        return UserMessage(content)
    return UserMessage(tuple(Text(one) if isinstance(one, str) else one for one in content))


def make_reply(response: ModelResponse) -> AssistantMessage:
    """Return the core's message of a response."""
    parts = response.parts
    return AssistantMessage(
        response.text or "",
        tuple(
            ToolCall(one.tool_call_id, one.tool_name, one.args or {}) for one in response.tool_calls
        ),
        finish_reason="tool_calls" if response.tool_calls else "stop",
        reasoning=tuple(
            Reasoning(one.content, one.signature or "")
            for one in parts
            if isinstance(one, ThinkingPart)
        ),
        model=response.model_name or "",
        usage=response.usage.to_core(),
    )
