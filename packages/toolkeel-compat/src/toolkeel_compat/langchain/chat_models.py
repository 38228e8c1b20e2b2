"""Chat models with bound tools, under LangChain's names: `init_chat_model`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from toolkeel._common.other_libraries_words import telling
from toolkeel._records.record import record
from toolkeel.agent.agent import Agent
from toolkeel.agent.bind_tools import Bound, bind_tools
from toolkeel.agent.reply_assembly import Assembly
from toolkeel.call.body.sync_bridge import Pieces
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings, TextDelta
from toolkeel.providers.model_by_name import connect
from toolkeel_compat.langchain.convert_tool import defined
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages
from toolkeel_compat.langchain.tool_node import Config, Invoked, check_config

T = TypeVar("T")


@record
class ToolStrategy(Generic[T]):
    """An answer of a form that the model gives by calling a tool.

    Args:
        schema: The form.
        tool_message_content: Refused: the model reads that its answer was accepted.
        handle_errors: True, whatever else is refused: a wrong answer is explained to the model.
    """

    schema: type[T]
    tool_message_content: str | None = None
    handle_errors: Any = True


@record
class ProviderStrategy(Generic[T]):
    """An answer of a form that the provider holds, where it can; else by a tool."""

    schema: type[T]


class ByTool:
    """A model of which nobody knows whether it holds a form: it answers by a tool."""

    def __init__(self, model: Model) -> None:
        self.name, self.stream = model.name, model.stream


def with_output_type(model: Model, form: Any) -> tuple[Model, Any]:
    """The model, and the type of answers it is asked for.

    Args:
        model: Who answers.
        form: A type, which may be in a strategy; None for text.

    Raises:
        SetupError: for an option of a strategy that would not be honoured.
    """
    schema = form.schema if isinstance(form, ToolStrategy | ProviderStrategy) else form
    if isinstance(schema, Mapping):
        raise SetupError("a JSON Schema is no form of answers here: write a pydantic model of it")
    if not isinstance(form, ToolStrategy):
        return model, schema or str
    if form.tool_message_content or form.handle_errors is not True:
        raise SetupError(
            "ToolStrategy: leave tool_message_content and handle_errors out; a wrong answer is "
            "explained to the model, which may correct it"
        )
    return ByTool(model), form.schema


def choice_of(choice: Any) -> Any:
    """Which tool must be called, in the core's words.

    >>> choice_of("any"), choice_of({"type": "tool", "name": "add"}), choice_of(False)
    ('required', 'add', None)
    """
    if isinstance(choice, Mapping):
        choice = choice.get("name") or choice.get("function", {}).get("name") or choice["type"]
    return "required" if choice is True or choice == "any" else choice or None


class StructuredModel(Invoked):
    """A model that answers with an instance of a type; made by `with_structured_output`."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._agent = agent

    async def ainvoke(self, messages: object, config: Config = None) -> Any:
        """Ask the model, and have it correct an answer that is not of the type.

        Args:
            messages: A text, or messages in any form `convert_to_messages` reads.
            config: Its tags and names tell nobody; callbacks are refused.

        Raises:
            OutputError: it gave no such answer.
        """
        check_config(config)
        return (await self._agent.run(convert_to_messages(messages))).output


class ChatModel(Invoked):
    """A model that is asked with `invoke` and told of its tools with `bind_tools`."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    @property
    def model(self) -> Model:
        """The core's model."""
        return self._bound.model

    @property
    def tools(self) -> Toolset:
        """What it may call."""
        return self._bound.tools

    @property
    def settings(self) -> Settings:
        """How it samples."""
        return self._bound.settings

    def bind_tools(
        self, tools: Iterable[Any], *, tool_choice: Any = None, **options: Any
    ) -> ChatModel:
        """The same model with tools.

        Args:
            tools: What it may call: also models, typed dicts and definitions in any provider's
                form, of which only the definition counts.
            tool_choice: ``auto``, ``none``, ``any`` (or ``required``, True), or a tool's name; as a
                text or as a provider writes it.
            options: ``strict``, whether the provider shall hold arguments to the schema, and
                ``parallel_tool_calls``, whether it may call several at once.

        Raises:
            SetupError: if `tool_choice` names no tool of these.
        """
        choice = choice_of(tool_choice)
        bound = bind_tools(self.model, [*map(defined, tools)], tool_choice=choice, **options)
        names = ("tool_choice", "parallel_tool_calls", "strict")
        chosen: dict[str, Any] = {name: getattr(bound.settings, name) for name in names}
        return ChatModel(Bound(bound.model, bound.tools, replace(self.settings, **chosen)))

    __getattr__ = telling("langchain.ChatModel.")

    def with_structured_output(
        self, schema: Any, *, method: str = "json_schema", **options: Any
    ) -> StructuredModel:
        """The same model, which answers with an instance of a type.

        Args:
            schema: A pydantic model, a dataclass, a typed dict, or any other type.
            method: ``function_calling`` for an answer by a tool; else it is had as the provider can.
            options: Of those that are there none is here; all are refused that ask for something.

        Raises:
            DefinitionError: it has no JSON form.
            SetupError: it is a JSON Schema, or an option would not be honoured.
        """
        if asked := [name for name, value in options.items() if value]:
            raise SetupError(
                f"with_structured_output({asked[0]}=...) is not here: "
                "create_agent(model, tools, response_format=...) gives the messages, too"
            )
        by_tool = method == "function_calling"
        model, form = with_output_type(self.model, ToolStrategy(schema) if by_tool else schema)
        return StructuredModel(Agent(model, output_type=form, settings=self.settings))

    async def astream(
        self, messages: object, config: Config = None
    ) -> AsyncGenerator[AIMessage, None]:
        """Ask, and give the reply as it comes: its text in pieces, then all else; add them up."""
        check_config(config)
        reply, told = Assembly(), False
        async for one in self._bound.stream(convert_to_messages(messages)):
            reply.add(one)
            if isinstance(one, TextDelta):
                told = True
                yield AIMessage(one.text)
        whole: Any = convert_to_messages([reply.reply()])[0]
        yield replace(whole, content="") if told else whole

    def stream(self, messages: object, config: Config = None) -> Iterator[AIMessage]:
        """The same, not awaited."""
        return iter(Pieces(partial(self.astream, messages, config)))

    async def ainvoke(self, messages: object, config: Config = None) -> AIMessage:
        """Ask the model once.

        Args:
            messages: A text, or messages in any form `convert_to_messages` reads.
            config: Its tags and names tell nobody; callbacks are refused.
        """
        check_config(config)
        [reply] = convert_to_messages([await self._bound.ainvoke(convert_to_messages(messages))])
        assert isinstance(reply, AIMessage)
        return reply


def init_chat_model(
    model: str | Model, *, model_provider: str | None = None, **options: Any
) -> ChatModel:
    """A chat model by name, such as ``openai:gpt-5`` or ``offline``, or of a core `Model`.

    Args:
        model: Name or model; of a bare name the vendor is known by how it begins.
        model_provider: The vendor, if the name does not say it.
        options: ``temperature``, ``max_tokens``, ``top_p`` and ``seed`` of each request; the rest is
            for `toolkeel.providers.model_by_name.connect`, which refuses what it does not know.
    """
    if isinstance(model, str) and ":" not in model:
        known = (vendor for begin, vendor in _VENDORS.items() if re.match(begin, model))
        vendor = model_provider or next(known, None)
        model = f"{_SAME.get(vendor, vendor)}:{model}" if vendor else model
    sampled: dict[str, Any] = {
        name: options.pop(name) for name in ("top_p", "seed") if name in options
    }
    settings = Settings(
        temperature=options.pop("temperature", None),
        max_tokens=options.pop("max_tokens", None),
        provider_options=sampled,
    )
    return ChatModel(Bound(connect(model, **options), Toolset(), settings))


_VENDORS = {r"gpt-|o\d": "openai", "claude": "anthropic", "gemini": "google"}
_SAME: Mapping[str | None, str] = {"google_genai": "google", "mistralai": "mistral"}
