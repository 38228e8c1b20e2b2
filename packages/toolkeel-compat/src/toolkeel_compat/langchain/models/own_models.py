"""Chat models that a program makes itself: `BaseChatModel`, and `GenericFakeChatModel` for tests."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

from toolkeel._records.record import record
from toolkeel.agent.bind_tools import Bound
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest, Settings, TextDelta
from toolkeel_compat.check_options import call_in_thread
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages
from toolkeel_compat.langchain.models.chat_models import ChatModel, OwnModel
from toolkeel_compat.langchain.streaming.message_chunks import AIMessageChunk


@record
class ChatGeneration:
    """A reply, in a `ChatResult`."""

    message: Any
    generation_info: Mapping[str, Any] | None = None


ChatGenerationChunk = ChatGeneration


@record
class ChatResult:
    """What `BaseChatModel._generate` returns."""

    generations: Sequence[ChatGeneration]
    llm_output: Mapping[str, Any] | None = None


class BaseChatModel(BaseModel, OwnModel):
    """A chat model of your own: define ``_generate`` or ``_agenerate``, and ``bind_tools`` for tools."""

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    _options: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return type(self).__name__

    def _generate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Refuse: defined in a subclass, with or without options."""
        raise NotImplementedError(f"{type(self).__name__}: define _generate or _agenerate")

    async def _agenerate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        made: ChatResult = await call_in_thread(
            self._generate, messages, stop, run_manager, **kwargs
        )
        return made

    def _split(self, text: str) -> list[str]:
        """Return the pieces in which a reply's text is streamed."""
        return [text] if text else []

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Return this model with tools: itself, or ``self.bind(tools=...)``; yours to define."""
        raise NotImplementedError(f"{type(self).__name__}: define bind_tools to be given tools")

    def bind(self, **options: Any) -> Self:
        """Return this model with further keywords for ``_generate``."""
        made = self.model_copy()
        made._options = {**self._options, **options}
        return made

    def to_chat_model(self) -> ChatModel:
        """Return the chat model that calls this one."""
        return ChatModel(Bound(_Adapter(self), Toolset(), Settings()))

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model once. See `ChatModel.ainvoke`."""
        return self.to_chat_model().invoke(*args, **kwargs)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model once. See `ChatModel.ainvoke`."""
        return await self.to_chat_model().ainvoke(*args, **kwargs)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[AIMessageChunk]:
        """Stream a reply. See `ChatModel.astream`."""
        return self.to_chat_model().stream(*args, **kwargs)

    def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[AIMessageChunk]:
        """Stream a reply. See `ChatModel.astream`."""
        return self.to_chat_model().astream(*args, **kwargs)

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        """Return a model that answers with instances of a type. See `ChatModel`."""
        return self.to_chat_model().with_structured_output(schema, **options)


class _Adapter:
    """The core's model that calls a `BaseChatModel`."""

    def __init__(self, own: BaseChatModel) -> None:
        self.own, self.name = own, own._llm_type

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Call the model and yield its reply."""
        own: Any = self.own
        if request.tools:
            choice = request.settings.tool_choice
            own = own.bind_tools(list(request.tools), **({"tool_choice": choice} if choice else {}))
        if not isinstance(own, BaseChatModel):
            raise SetupError(
                f"{type(self.own).__name__}.bind_tools gave {own!r:.60}; return the model itself, or "
                "self.bind(tools=...)"
            )
        messages = convert_to_messages(request.messages)
        made = await own._agenerate(messages, **own._options)
        [reply] = convert_to_messages([made.generations[0].message])
        assert isinstance(reply, AIMessage)
        for piece in own._split(reply.text):
            yield TextDelta(piece)
        yield reply


class GenericFakeChatModel(BaseChatModel):
    """A fake model that replies with the messages of an iterator, which are texts or `AIMessage`."""

    messages: Any

    def _generate(
        self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Return the next message; the options are ignored."""
        message = next(self.messages)
        reply = AIMessage(message) if isinstance(message, str) else message
        return ChatResult([ChatGeneration(reply)])

    def _split(self, text: str) -> list[str]:
        """Return the words and the spaces between them, each by itself."""
        return [piece for piece in re.split(r"(\s)", text) if piece]
