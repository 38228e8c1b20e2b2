"""What runs, under LangChain's names: a chat model with bound tools, `ToolNode`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolwright.agent.agent import Agent
from toolwright.agent.bind import Bound, bind_tools
from toolwright.call.bridge import run_sync
from toolwright.call.toolset import Toolish, Toolset, as_toolset
from toolwright.compat.langchain_convert import defined
from toolwright.compat.langchain_errors import HandleErrors, handling
from toolwright.compat.langchain_messages import AIMessage, convert_to_messages
from toolwright.context import Run
from toolwright.errors import SetupError
from toolwright.messages import AssistantMessage
from toolwright.model import Model, Settings
from toolwright.providers.connect import connect

Config = Mapping[str, Any] | None


def run_of(config: Config = None, **given: Any) -> Run[Any]:
    """What the calls of one `invoke` share.

    Args:
        config: Handed to tools that ask for a `RunnableConfig`.
        given: ``state``, ``store``, ``context`` of a `Run`; any other name is the value of the
            `InjectedToolArg` parameter of that name.
    """
    known = {key: given.pop(key) for key in ("state", "store", "context") if key in given}
    return Run(inject={"config": config or {}, **given}, **known)


class ToolNode:
    """Tools that answer the calls of the last message.

    Args:
        tools: Tools of any kind this package knows.
        handle_tool_errors: What the model is told when a tool raises; see `HandleErrors`. By
            default a `ToolException`'s text, and a masked sentence for anything else.
        messages_key: Where the state keeps its messages.
    """

    def __init__(
        self,
        tools: Iterable[Toolish],
        *,
        handle_tool_errors: HandleErrors | None = None,
        messages_key: str = "messages",
    ) -> None:
        self.tools = as_toolset(tools)
        if handle_tool_errors is not None:
            self.tools = self.tools.around(handling(handle_tool_errors))
        self._key = messages_key

    async def ainvoke(self, state: Any, /, config: Config = None, **given: Any) -> Any:
        """Run the calls; see `invoke`."""
        in_state = isinstance(state, Mapping) and self._key in state
        messages = convert_to_messages(state[self._key] if in_state else state)
        last = messages[-1]
        if not isinstance(last, AssistantMessage):
            raise SetupError("the last message is not an AIMessage: there are no calls to run")
        if in_state:
            given.setdefault("state", state)
        results = await self.tools.run(last.tool_calls, run_of(config, **given))
        return {self._key: results} if in_state else results

    def invoke(self, state: Any, /, config: Config = None, **given: Any) -> Any:
        """Run the calls of the last message, side by side.

        Args:
            state: A dict with the messages, or the messages.
            config: Handed to tools that ask for a `RunnableConfig`.
            given: See `run_of`.

        Returns:
            One `ToolMessage` per call, in order: in a dict if `state` was one.
        """
        return run_sync(lambda: self.ainvoke(state, config, **given))


class StructuredModel:
    """A model that answers with an instance of a type; made by `with_structured_output`."""

    def __init__(self, agent: Agent[Any]) -> None:
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
        bound = bind_tools(
            self.model,
            [defined(tool) for tool in tools],
            tool_choice=choice,
            strict=strict,
            parallel_tool_calls=parallel_tool_calls,
        )
        return ChatModel(bound)

    def with_structured_output(self, schema: Any) -> StructuredModel:
        """The same model, which answers with an instance of a type.

        Args:
            schema: A pydantic model, a dataclass, a typed dict, or any other type.

        Raises:
            DefinitionError: it has no JSON form.
        """
        agent: Agent[Any] = Agent(self.model, output_type=schema)
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


def init_chat_model(model: str | Model, **options: Any) -> ChatModel:
    """A chat model by name, such as ``openai:gpt-5`` or ``offline``, or of a core `Model`.

    Args:
        model: Name or model.
        options: See `toolwright.providers.connect.connect`.
    """
    return ChatModel(Bound(connect(model, **options), Toolset(), Settings()))
