"""What runs, under LangChain's names: a chat model with bound tools, `ToolNode`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from toolkeel.agent.agent import Agent
from toolkeel.agent.bind_tools import Bound, bind_tools
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolish, Toolset, as_toolset
from toolkeel.compat.langchain.convert_tool import defined
from toolkeel.compat.langchain.errors import HandleErrors, handling
from toolkeel.compat.langchain.messages import AIMessage, ToolCall, as_call, convert_to_messages
from toolkeel.compat.langchain.wrapping import Wrapper, updating, wrapping
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage
from toolkeel.messages import ToolCall as CoreToolCall
from toolkeel.model import Model, Settings
from toolkeel.providers.model_by_name import connect

Config = Mapping[str, Any] | None


def run_of(config: Config = None, **given: Any) -> RunContext[Any]:
    """What the calls of one `invoke` share.

    Args:
        config: Handed to tools that ask for a `RunnableConfig`.
        given: ``state``, ``store``, ``context`` of a `RunContext`; any other name is the value of the
            `InjectedToolArg` parameter of that name.
    """
    names = {"state": "state", "store": "store", "context": "deps"}
    known = {names[key]: given.pop(key) for key in names if key in given}
    return RunContext(inject={"config": config or {}, **given}, **known)


class ToolNode:
    """Tools that answer the calls of the last reply.

    Args:
        tools: Tools of any kind this package knows.
        handle_tool_errors: What the model is told when a tool raises; see `HandleErrors`. By
            default a `ToolException`'s text, and a masked sentence for anything else.
        messages_key: Where the state keeps its messages.
        wrap_tool_call: ``(request, execute) -> ToolMessage`` around each call.
        awrap_tool_call: The same as a coroutine function, in its place.
    """

    def __init__(
        self,
        tools: Iterable[Toolish],
        *,
        handle_tool_errors: HandleErrors | None = None,
        messages_key: str = "messages",
        wrap_tool_call: Wrapper | None = None,
        awrap_tool_call: Wrapper | None = None,
    ) -> None:
        self.tools = as_toolset(tools).around(updating())
        if handle_tool_errors is not None:
            self.tools = self.tools.around(handling(handle_tool_errors))
        if (wrapper := awrap_tool_call or wrap_tool_call) is not None:
            self.tools = self.tools.around(wrapping(wrapper))
        self._key = messages_key

    @property
    def tools_by_name(self) -> dict[str, AnyTool]:
        """The tools by their names."""
        return {tool.name: tool for tool in self.tools}

    async def ainvoke(self, state: Any, /, config: Config = None, **given: Any) -> Any:
        """Run the calls; see `invoke`."""
        if not isinstance(state, Mapping | list) and hasattr(state, self._key):
            state = vars(state)  # a dataclass or a model
        held, in_state = state, False
        if isinstance(state, Mapping) and self._key in state:
            given.setdefault("state", state)
            held, in_state = state[self._key], True
        calls = isinstance(state, list) and bool(state) and _is_call(state[-1])
        asked = map(as_call, state) if calls else _asked(held)
        results = convert_to_messages(await self.tools.run([*asked], run_of(config, **given)))
        return {self._key: results} if in_state or calls else results

    def invoke(self, state: Any, /, config: Config = None, **given: Any) -> Any:
        """Run the calls of the last message, side by side.

        Args:
            state: A dict or object with the messages, the messages, or a list of calls.
            config: Handed to tools that ask for a `RunnableConfig`.
            given: See `run_of`.

        Returns:
            One `ToolMessage` per call, in order: a list for a list of messages, else in a dict.
        """
        return run_sync(lambda: self.ainvoke(state, config, **given))


def _is_call(given: Any) -> bool:
    return isinstance(given, Mapping | ToolCall) and given.get("type") == "tool_call"


def _asked(messages: Any) -> Sequence[CoreToolCall]:
    """The calls of the last reply.

    Raises:
        SetupError: there is none.
    """
    told = reversed(convert_to_messages(messages))
    reply = next((one for one in told if isinstance(one, AssistantMessage)), None)
    if reply is None:
        raise SetupError("there is no AIMessage: there are no calls to run")
    return reply.tool_calls


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Whether the last message calls tools, and they are next.

    Args:
        state: A dict with the messages, or the messages.
        messages_key: Where the state keeps them.
    """
    messages = state[messages_key] if isinstance(state, Mapping) else state
    last = convert_to_messages(messages)[-1]
    calls = isinstance(last, AssistantMessage) and last.tool_calls
    return "tools" if calls else "__end__"


class StructuredModel:
    """A model that answers with an instance of a type; made by `with_structured_output`."""

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._agent = agent

    async def ainvoke(self, messages: object, config: Config = None) -> Any:
        """Ask; see `invoke`."""
        return (await self._agent.run(convert_to_messages(messages))).output

    def invoke(self, messages: object, config: Config = None) -> Any:
        """Ask the model, and have it correct an answer that is not of the type.

        Args:
            messages: A text, or messages in any form `convert_to_messages` reads.
            config: Taken and not used.

        Raises:
            OutputError: it gave no such answer.
        """
        return run_sync(lambda: self.ainvoke(messages, config))


class ChatModel:
    """A model that is asked with `invoke` and told of its tools with `bind_tools`."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    @property
    def model(self) -> Model:
        """The core's model."""
        return self._bound.model

    @property
    def settings(self) -> Settings:
        """How it samples."""
        return self._bound.settings

    def bind_tools(
        self,
        tools: Iterable[Any],
        *,
        tool_choice: str | bool | None = None,
        strict: bool | None = None,
        parallel_tool_calls: bool | None = None,
    ) -> ChatModel:
        """The same model with tools.

        Args:
            tools: What it may call: also models, typed dicts and definitions in any provider's
                form, of which only the definition counts.
            tool_choice: ``auto``, ``none``, ``any`` (or ``required``, True), or a tool's name.
            strict: Whether the provider shall hold arguments to the schema.
            parallel_tool_calls: Whether it may call several at once.

        Raises:
            SetupError: if `tool_choice` names no tool of these.
        """
        choice = "required" if tool_choice is True else tool_choice or None
        own = self._bound.settings
        bound = bind_tools(
            self.model,
            [defined(tool) for tool in tools],
            tool_choice=choice,
            strict=strict,
            parallel_tool_calls=parallel_tool_calls,
        )
        settings = replace(
            own,
            tool_choice=bound.settings.tool_choice,
            parallel_tool_calls=bound.settings.parallel_tool_calls,
            strict=bound.settings.strict,
        )
        return ChatModel(Bound(bound.model, bound.tools, settings))

    def with_structured_output(self, schema: Any) -> StructuredModel:
        """The same model, which answers with an instance of a type.

        Args:
            schema: A pydantic model, a dataclass, a typed dict, or any other type.

        Raises:
            DefinitionError: it has no JSON form.
        """
        agent: Agent[Any, Any] = Agent(self.model, output_type=schema, settings=self.settings)
        return StructuredModel(agent)

    async def ainvoke(self, messages: object, config: Config = None) -> AIMessage:
        """Ask; see `invoke`."""
        [reply] = convert_to_messages([await self._bound.ainvoke(convert_to_messages(messages))])
        assert isinstance(reply, AIMessage)
        return reply

    def invoke(self, messages: object, config: Config = None) -> AIMessage:
        """Ask the model once.

        Args:
            messages: A text, or messages in any form `convert_to_messages` reads.
            config: Taken and not used.
        """
        return run_sync(lambda: self.ainvoke(messages, config))


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
