"""Chat models with bound tools, under LangChain's names: `init_chat_model`."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin

from pydantic import AfterValidator, WithJsonSchema

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import record
from toolkeel.agent.agent import Agent
from toolkeel.agent.bind_tools import Bound, bind_tools
from toolkeel.agent.reply_assembly import ReplyBuilder
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.body.sync_bridge import SyncIterator
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.output_type import OUTPUT_TOOL, OutputTool
from toolkeel.define.tool import ErrorHandler, Tool
from toolkeel.errors import InvalidArguments, OutputError, SetupError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolkeel.model_interface import Model, ModelRequest, Settings, TextDelta
from toolkeel.providers.model_by_name import connect
from toolkeel_compat.langchain.convert_tool import to_tool
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages
from toolkeel_compat.langchain.streaming.message_chunks import AIMessageChunk, end_reply
from toolkeel_compat.langchain.threads.message_ids import make_reply_id, set_id
from toolkeel_compat.langchain.tool_calls import make_single_answer_step
from toolkeel_compat.langchain.tool_node import Config, Invokable, check_config

T = TypeVar("T")


@record
class ToolStrategy(Generic[T]):
    """Structured output that the model returns by calling a tool.

    Args:
        schema: The output type.
        tool_message_content: What the model reads of an accepted answer; the answer by default.
        handle_errors: What the model reads of a wrong answer: True for what is wrong in it, a text, or a
            function that returns one of the `StructuredOutputValidationError`.
    """

    schema: type[T]
    tool_message_content: str | None = None
    handle_errors: Any = True


@record
class ProviderStrategy(Generic[T]):
    """Structured output that the provider enforces where it can; else by a tool."""

    schema: type[T]


class ToolOutputModel:
    """A model without native structured output, so its output comes by a tool call."""

    def __init__(self, model: Model) -> None:
        self.name, self.stream = model.name, model.stream
        self.flags_failures = getattr(model, "flags_failures", True)


def resolve_output_type(model: Model, form: Any) -> tuple[Model, Any]:
    """Return the model to use and the output type to request.

    Args:
        model: The model.
        form: A type, a JSON Schema of an object, or a strategy with one; None for text.

    Raises:
        DefinitionError: The JSON Schema is invalid, or not one of an object.
        SetupError: A strategy has an unsupported option.
    """
    schema = form.schema if isinstance(form, ToolStrategy | ProviderStrategy) else form
    if not isinstance(form, ToolStrategy):
        return model, _name_output_tool(schema, None, True, set()) or str
    on_invalid = _read_handle_errors(form.handle_errors)
    return ToolOutputModel(model), _name_output_tool(
        schema, form.tool_message_content, on_invalid, set()
    )


def _read_handle_errors(handler: Any) -> ErrorHandler:
    """Return the output tool's handler of wrong answers.

    Raises:
        SetupError: It is False, or exception classes.
    """
    if handler is True or isinstance(handler, str):
        return handler
    if not callable(handler) or isinstance(handler, type):
        raise SetupError(
            f"ToolStrategy(handle_errors={handler!r}): give True, a text for the model, or a function "
            "that returns one; a wrong answer that stays wrong raises StructuredOutputValidationError"
        )

    def describe(error: Exception) -> str:
        return str(handler(StructuredOutputValidationError(getattr(error, "text", str(error)))))

    return describe


def _name_output_tool(schema: Any, accepted: str | None, on_invalid: Any, names: set[str]) -> Any:
    """Return the output type with one tool for each member, named and described as in LangChain; add to `names`."""
    if get_origin(schema) in (Union, UnionType):
        members = get_args(schema)
        return reduce(or_, [_name_output_tool(m, accepted, on_invalid, names) for m in members])
    if isinstance(schema, Mapping):
        title, text = schema.get("title") or OUTPUT_TOOL, schema.get("description", "")
        schema = make_dict_type(schema)
    elif inspect.isclass(schema) and get_origin(schema) is None and schema is not str:
        title, text = schema.__name__, schema.__doc__ or ""
    else:
        return schema
    say = lambda answer: accepted or f"Returning structured response: {answer}"  # noqa: E731
    steps = (make_single_answer_step(names, on_invalid),)
    names.add(title := str(title))
    return Annotated[schema, OutputTool(title, str(text), say, on_invalid=on_invalid, steps=steps)]


def make_dict_type(schema: Mapping[str, Any]) -> Any:
    """Return a type for dicts that are valid by a JSON Schema.

    Raises:
        DefinitionError: The schema is invalid, or not one of an object.
    """
    name = re.sub(r"\W+", "_", str(schema.get("title") or "answer"))
    form = Tool.from_schema(name, "", schema, lambda context, arguments: arguments)

    def check(value: dict[str, Any]) -> dict[str, Any]:
        try:
            prepare(ToolCall("", name, value), form)
        except InvalidArguments as error:
            raise ValueError(error.text) from None
        return value

    return Annotated[dict[str, Any], AfterValidator(check), WithJsonSchema(dict(schema))]


class StructuredOutputValidationError(OutputError):
    """The model gave no answer of the `response_format`, also after it was told what was wrong."""


def convert_tool_choice(choice: Any) -> Any:
    """Convert LangChain's ``tool_choice`` to the core's.

    >>> convert_tool_choice("any"), convert_tool_choice({"type": "tool", "name": "add"}), convert_tool_choice(False)
    ('required', 'add', None)
    """
    if isinstance(choice, Mapping):
        choice = choice.get("name") or choice.get("function", {}).get("name") or choice["type"]
    return "required" if choice is True or choice == "any" else choice or None


def plain_failures(messages: Sequence[Message], model: Model | None) -> Sequence[Message]:
    """Return messages whose failed results are sent without ``Error:`` before them, as by LangChain.

    Args:
        messages: The messages of a request.
        model: Its model; where the wire flags failures, nothing changes.
    """
    if getattr(model, "flags_failures", True):
        return messages
    return [
        replace(one, status="success") if isinstance(one, ToolMessage) and one.failed else one
        for one in messages
    ]


async def send_plain_failures(
    request: ModelRequest, run: RunContext[Any], proceed: SendRequest
) -> AssistantMessage:
    """Send failed results as `plain_failures` says, as a model step."""
    messages = plain_failures(request.messages, request.model)
    return await proceed(replace(request, messages=messages))


class StructuredModel(Invokable):
    """A model that answers with instances of a type; created by `with_structured_output`."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._agent = agent

    async def ainvoke(self, messages: object, config: Config = None) -> Any:
        """Call the model; an answer that is not of the type goes back for correction.

        Args:
            messages: A string, or messages in any form `convert_to_messages` accepts.
            config: Tags and names are ignored; callbacks are refused.

        Raises:
            OutputError: The model returned no valid answer.
        """
        check_config(config)
        return (await self._agent.run(convert_to_messages(messages))).output


class ChatModel(Invokable):
    """A chat model with `invoke`, and tools bound by `bind_tools`."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    @property
    def model(self) -> Model:
        """The core's model."""
        return self._bound.model

    @property
    def tools(self) -> Toolset:
        """The bound tools."""
        return self._bound.tools

    @property
    def settings(self) -> Settings:
        """The sampling settings."""
        return self._bound.settings

    def bind_tools(
        self, tools: Iterable[Any], *, tool_choice: Any = None, **options: Any
    ) -> ChatModel:
        """Return the same model with tools.

        Args:
            tools: Also models, typed dicts and definitions in any provider's format, which only
                define a tool and cannot run.
            tool_choice: ``auto``, ``none``, ``any`` (or ``required``, True), or a tool's name; as a
                string or in a provider's format.
            options: ``strict``: ask the provider to enforce the schema; ``parallel_tool_calls``: allow
                several calls in one reply.

        Raises:
            SetupError: `tool_choice` is not the name of one of the tools.
        """
        choice = convert_tool_choice(tool_choice)
        bound = bind_tools(self.model, [*map(to_tool, tools)], tool_choice=choice, **options)
        names = ("tool_choice", "parallel_tool_calls", "strict")
        chosen: dict[str, Any] = {name: getattr(bound.settings, name) for name in names}
        return ChatModel(Bound(bound.model, bound.tools, replace(self.settings, **chosen)))

    __getattr__ = attribute_hints("langchain.ChatModel.")

    def with_structured_output(
        self, schema: Any, *, method: str = "json_schema", **options: Any
    ) -> StructuredModel:
        """Return the same model, answering with instances of a type.

        Args:
            schema: A pydantic model, a dataclass, a typed dict, any other type, or the JSON Schema of an
                object.
            method: ``function_calling`` for output by a tool; else the provider's own method.
            options: None is supported; each with a truthy value is refused.

        Raises:
            DefinitionError: The type has no JSON Schema.
            SetupError: An option is not supported.
        """
        if asked := [name for name, value in options.items() if value]:
            raise SetupError(
                f"with_structured_output({asked[0]}=...) is not here: "
                "create_agent(model, tools, response_format=...) gives the messages, too"
            )
        by_tool = method == "function_calling"
        model, form = resolve_output_type(self.model, ToolStrategy(schema) if by_tool else schema)
        return StructuredModel(Agent(model, output_type=form, settings=self.settings))

    async def astream(
        self, messages: object, config: Config = None
    ) -> AsyncGenerator[AIMessageChunk, None]:
        """Stream a reply as pieces that add up to it: its text, its calls, and then the rest."""
        check_config(config)
        reply, has_text, id = ReplyBuilder(), False, make_reply_id()
        asked = plain_failures(convert_to_messages(messages), self.model)
        async for one in self._bound.stream(asked):
            reply.add(one)
            if isinstance(one, TextDelta):
                has_text = True
                yield AIMessageChunk(one.text, metadata={"id": id})
        message = reply.build()
        whole = {} if has_text else {"content": message.content}
        for end in end_reply(message, {"id": id}, reasoning=message.reasoning, **whole):
            yield end

    def stream(self, messages: object, config: Config = None) -> Iterator[AIMessageChunk]:
        """Call `astream` from sync code."""
        return iter(SyncIterator(partial(self.astream, messages, config)))

    async def ainvoke(self, messages: object, config: Config = None) -> AIMessage:
        """Call the model once.

        Args:
            messages: A string, or messages in any form `convert_to_messages` accepts.
            config: Tags and names are ignored; callbacks are refused.
        """
        check_config(config)
        asked = plain_failures(convert_to_messages(messages), self.model)
        [reply] = convert_to_messages([await self._bound.ainvoke(asked)])
        assert isinstance(reply, AIMessage)
        return reply if reply.id else cast("AIMessage", set_id(reply, make_reply_id()))


def init_chat_model(
    model: str | Model, *, model_provider: str | None = None, **options: Any
) -> ChatModel:
    """Create a chat model by name, such as ``openai:gpt-5`` or ``offline``, or from a core `Model`.

    Args:
        model: Name or model; for a name without a vendor, the vendor is derived from its prefix.
        model_provider: The vendor, if the name does not contain it.
        options: Settings of each request, `MODEL_SETTINGS`, and ``thinking``; others go to
            `toolkeel.providers.model_by_name.connect`, which refuses unknown ones.
    """
    given = {name: options.pop(name) for name in MODEL_SETTINGS if name in options}
    if "thinking" in options:
        given["extra_body"] = {**given.get("extra_body", {}), "thinking": options.pop("thinking")}
    settings = Settings(**given)
    named = _complete_name(model, model_provider) if isinstance(model, str) else model
    return ChatModel(Bound(connect(named, **options), Toolset(), settings))


def _complete_name(name: str, vendor: str | None = None) -> str:
    """Return ``vendor:model`` for a name as LangChain writes it.

    >>> _complete_name("claude-sonnet-5"), _complete_name("google_genai:gemini-3-pro")
    ('anthropic:claude-sonnet-5', 'google:gemini-3-pro')
    """
    first, separator, rest = name.partition(":")
    if vendor is None and separator and first in _VENDOR_ALIASES:
        vendor, name = first, rest
    elif vendor is None and not separator:
        known = (vendor for begin, vendor in _VENDOR_PATTERNS.items() if re.match(begin, name))
        vendor = next(known, None)
    return f"{_VENDOR_ALIASES.get(vendor, vendor)}:{name}" if vendor else name


class OwnModel:
    """Base of models that a program makes itself; see `own_models`."""

    def to_chat_model(self) -> ChatModel:
        """Return the chat model that calls this one."""
        raise NotImplementedError


def to_chat_model(model: Any) -> ChatModel:
    """Return the chat model for what programs give as a model: a name, a model of any kind."""
    if isinstance(model, OwnModel):
        return model.to_chat_model()
    return model if isinstance(model, ChatModel) else init_chat_model(model)


def use_model(model: Any, request: ModelRequest) -> ModelRequest:
    """Return the request for another model; a chat model also sets its own sampling."""
    if isinstance(model, OwnModel):
        model = model.to_chat_model()
    if not isinstance(model, ChatModel):
        return replace(request, model=to_chat_model(model).model)
    own = {name: getattr(model.settings, name) for name in MODEL_SETTINGS}
    settings = replace(request.settings, **own)
    return replace(request, model=model.model, settings=settings)


MODEL_SETTINGS = (
    "temperature",
    "max_tokens",
    "top_p",
    "top_k",
    "stop",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
    "extra_body",
)
"""Settings that belong to a chat model."""
_VENDOR_PATTERNS = {
    r"gpt-|o\d|chatgpt": "openai",
    "claude": "anthropic",
    "gemini": "google",
    r"(amazon|anthropic|meta)\.": "bedrock",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "grok": "xai",
    "accounts/fireworks": "fireworks",
}
_VENDOR_ALIASES: Mapping[str | None, str] = {
    "google_genai": "google",
    "mistralai": "mistral",
    "bedrock_converse": "bedrock",
}
