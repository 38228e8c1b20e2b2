"""Other libraries' words for our options, attributes and names: what is refused names ours.

The words stand in ``other_libraries_words.toml``, a table for each thing that is called or has attributes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from toolkeel._common.nearest_names import did_you_mean
from toolkeel._common.package_data import read_toml
from toolkeel.errors import DefinitionError

NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AIMessage": "AssistantMessage, of toolkeel.messages; toolkeel_compat.langchain has AIMessage",
        "AgentExecutor": "Agent",
        "AgentHooks": "Agent(...).run(prompt, listeners=[...]); toolkeel_compat.openai_agents has AgentHooks",
        "AgentMiddleware": "Step, of toolkeel.steps; toolkeel_compat.langchain has AgentMiddleware",
        "ApprovalRequired": "tool(approval=...); toolkeel_compat.pydantic_ai has ApprovalRequired",
        "ApprovalRequiredToolset": "tool(approval=True), or Rules(ask=[...]) of the agent",
        "BaseMessage": "Message, of toolkeel.messages; toolkeel_compat.langchain has BaseMessage",
        "BinaryContent": "Image(data, media_type), or File(data, name, media_type)",
        "BinaryImage": "Image(data, media_type)",
        "CallDeferred": "tool(executor=external), of toolkeel.approvals",
        "CombinedToolset": "Toolset([*first, *second])",
        "Command": "ToolOutput; toolkeel_compat.langchain has Command",
        "DeferredToolRequests": "RunResult; its pending tickets are what waits; toolkeel_compat.pydantic_ai has DeferredToolRequests",
        "DeferredToolResults": "Agent(...).run(state, decisions=[...]); toolkeel_compat.pydantic_ai has DeferredToolResults",
        "DocumentUrl": "File(url=...)",
        "ExternalToolset": "tool(executor=external), of toolkeel.approvals",
        "FastMCP": "ToolServer, of toolkeel.mcp.server",
        "FilteredToolset": "Toolset(tools).filter(function)",
        "FunctionModel": "Scripted, of toolkeel.testing, or a Model of your own, of toolkeel.models",
        "FunctionTool": "Tool; toolkeel_compat.openai_agents has FunctionTool",
        "FunctionToolset": "Toolset; toolkeel_compat.pydantic_ai has FunctionToolset",
        "GuardrailFunctionOutput": "Guardrail, of toolkeel.runs; toolkeel_compat.openai_agents has GuardrailFunctionOutput",
        "Handoff": "Handoff, of toolkeel.runs",
        "HostedMCPTool": "HostedMCP, of toolkeel.tools; toolkeel_compat.openai_agents has HostedMCPTool",
        "HumanInTheLoopMiddleware": "tool(approval=True), or Rules(ask=[...]) of the agent; toolkeel_compat.langchain has HumanInTheLoopMiddleware",
        "HumanMessage": "UserMessage; toolkeel_compat.langchain has HumanMessage",
        "ImageUrl": "Image(url=...)",
        "InMemorySaver": "Sessions, of toolkeel.sessions; toolkeel_compat.langchain has InMemorySaver",
        "InjectedState": "ToolContext; toolkeel_compat.langchain has InjectedState",
        "InjectedStore": "ToolContext; toolkeel_compat.langchain has InjectedStore",
        "InjectedToolArg": "Injected",
        "InjectedToolCallId": "ToolContext; toolkeel_compat.langchain has InjectedToolCallId",
        "InputGuardrail": "Guardrail, of toolkeel.runs; toolkeel_compat.openai_agents has InputGuardrail",
        "MCPServerSSE": "MCPServer, of toolkeel.mcp.client",
        "MCPServerSse": "MCPServer, of toolkeel.mcp.client",
        "MCPServerStdio": "MCPServer, of toolkeel.mcp.client",
        "MCPServerStreamableHTTP": "MCPServer, of toolkeel.mcp.client",
        "MCPServerStreamableHttp": "MCPServer, of toolkeel.mcp.client",
        "MCPToolset": "MCPServer, of toolkeel.mcp.client",
        "MemorySaver": "Sessions, of toolkeel.sessions; toolkeel_compat.langchain has MemorySaver",
        "ModelRetry": "ToolError",
        "ModelSettings": "Settings; toolkeel_compat.openai_agents has ModelSettings",
        "MultiServerMCPClient": "MCPServer, of toolkeel.mcp.client, once for each server; toolkeel_compat.langchain has MultiServerMCPClient",
        "NativeOutput": "Agent(output_type=...); toolkeel_compat.pydantic_ai has NativeOutput",
        "OutputGuardrail": "Guardrail, of toolkeel.runs; toolkeel_compat.openai_agents has OutputGuardrail",
        "PrefixedToolset": "Toolset(tools).with_prefix(prefix)",
        "PreparedToolset": "tool(enabled=...)",
        "PromptedOutput": "Agent(output_type=...)",
        "ProviderStrategy": "Agent(output_type=...); toolkeel_compat.langchain has ProviderStrategy",
        "RenamedToolset": "Toolset(tools).rename({old: new})",
        "RunConfig": "Agent(...).run(prompt, model=..., settings=...); toolkeel_compat.openai_agents has RunConfig",
        "RunContextWrapper": "ToolContext",
        "RunHooks": "Agent(...).run(prompt, listeners=[...]); toolkeel_compat.openai_agents has RunHooks",
        "Runner": "Agent(...).run; toolkeel_compat.openai_agents has Runner",
        "SQLiteSession": "session, of toolkeel.sessions; toolkeel_compat.openai_agents has SQLiteSession",
        "StopAtTools": "tool(ends_run=True); toolkeel_compat.openai_agents has StopAtTools",
        "StructuredTool": "Tool; toolkeel_compat.langchain has StructuredTool",
        "TestModel": "connect('offline'), or Scripted of toolkeel.testing; toolkeel_compat.pydantic_ai has TestModel",
        "ToolException": "ToolError",
        "ToolNode": "Toolset; toolkeel_compat.langchain has ToolNode",
        "ToolReturn": "ToolOutput; toolkeel_compat.pydantic_ai has ToolReturn",
        "ToolRuntime": "ToolContext; toolkeel_compat.langchain has ToolRuntime",
        "ToolStrategy": "Agent(output_type=...); toolkeel_compat.langchain has ToolStrategy",
        "UnexpectedModelBehavior": "OutputError, of toolkeel.errors; toolkeel_compat.pydantic_ai has UnexpectedModelBehavior",
        "UsageLimitExceeded": "LimitReached, of toolkeel.errors; toolkeel_compat.pydantic_ai has UsageLimitExceeded",
        "UsageLimits": "Agent(limits=RunLimits(...)), of toolkeel.runs; toolkeel_compat.pydantic_ai has UsageLimits",
        "WrapperToolset": "Step, of toolkeel.steps",
        "create_agent": "Agent; toolkeel_compat.langchain has create_agent",
        "create_react_agent": "Agent; toolkeel_compat.langchain has create_react_agent",
        "function_tool": "tool; toolkeel_compat.openai_agents has function_tool",
        "handoff": "Handoff, of toolkeel.runs; toolkeel_compat.openai_agents has handoff",
        "init_chat_model": "connect",
        "input_guardrail": "Guardrail, of toolkeel.runs; toolkeel_compat.openai_agents has input_guardrail",
        "interrupt": "tool(approval=True); toolkeel_compat.langchain has interrupt",
        "output_guardrail": "Guardrail, of toolkeel.runs; toolkeel_compat.openai_agents has output_guardrail",
        "tool_plain": "tool",
        "wrap_model_call": "ModelStep, of toolkeel.steps; toolkeel_compat.langchain has wrap_model_call",
        "wrap_tool_call": "Step, of toolkeel.steps; toolkeel_compat.langchain has wrap_tool_call",
    }
)
"""By name that another library's users look for in the package: ours."""


@functools.cache
def load_tables() -> dict[str, dict[str, str]]:
    """Return, by table, our words with other libraries' words for each; the file is read once."""
    found = read_toml("toolkeel._common", "other_libraries_words.toml")
    return {
        kind: found[table["like"]] if "like" in table else table for kind, table in found.items()
    }


def translate(kind: str, word: str) -> str:
    """Return our word for another library's, or an empty string if there is none.

    Args:
        kind: Name of the table: the thing that is called or has attributes.
        word: The other library's word.
    """
    found = (ours for ours, theirs in load_tables().get(kind, {}).items() if word in theirs.split())
    return next(found, "").replace("%s", word)


def unknown_option_error(
    where: str, word: str, known: Iterable[str], kind: str = ""
) -> DefinitionError:
    """Return the error for an unknown keyword, which names the right one if that is known.

    Args:
        where: Name of what was called.
        word: The keyword.
        known: The existing keywords.
        kind: Name of the table of words, if it differs from `where`.

    >>> str(unknown_option_error("Agent", "system_prompt", ["instructions"]))
    "Agent: there is no option 'system_prompt'; write instructions="
    """
    ours = translate(kind or where, word)
    hint = f"; write {ours}" if ours else did_you_mean(word, known)
    return DefinitionError(f"{where}: there is no option {word!r}{hint}")


_PACKAGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "langchain": "langchain",
        "langchain_core": "langchain",
        "langgraph": "langchain",
        "agents.tool": "openai_agents",
        "agents.agent": "openai_agents",
        "pydantic_ai": "pydantic_ai",
    }
)
"""By module of another library, which counts with its submodules: that library's name here."""
_TOOL_CLASSES: Final = frozenset({"BaseTool", "FunctionTool", "Tool"})


def explain_foreign(item: object) -> str:
    """Return a sentence on what to pass instead of another library's object; "" for other objects.

    Args:
        item: Any object.
    """
    for cls in type(item).__mro__:
        root, _, rest = cls.__module__.partition(".")
        library = _PACKAGES.get(f"{root}.{rest.partition('.')[0]}") or _PACKAGES.get(root)
        if library is None:
            continue
        names = {base.__name__ for base in type(item).__mro__}
        name = type(item).__name__
        if names & _TOOL_CLASSES:
            bridge = f"from_{library}(tool), of toolkeel_compat.bridges"
            return f"{name} is a tool of {cls.__module__}: give {bridge}"
        if library == "pydantic_ai":
            return f"{name} is from {cls.__module__}: docs/coming-from-pydantic-ai.md has its counterpart"
        place = f"toolkeel_compat.{library}"
        return f"{name} is from {cls.__module__}: import {cls.__name__} from {place}"
    return ""


_WRITTEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Agent": "Agent('openai:gpt-5', [search, send], instructions='...')",
        "Agent.run": "run(prompt, deps=..., session=...), with messages as one list",
        "Toolset": "Toolset([search, send])",
        "tool": "tool(function, name='...', description='...')",
    }
)


def too_many_arguments(where: str, given: int, places: str) -> DefinitionError:
    """Return the error for too many positional arguments.

    Args:
        where: Name of what was called.
        given: Number of positional arguments.
        places: Names of the positional parameters, as text.

    >>> str(too_many_arguments("Toolset", 2, "tools"))
    'Toolset takes only tools by position, not 2 arguments; write Toolset([search, send])'
    """
    write = _WRITTEN.get(where, f"the others with their names, {where}(..., name=value)")
    only = f"only {places}" if places else "nothing"
    return DefinitionError(
        f"{where} takes {only} by position, not {given} arguments; write {write}"
    )


def check_argument_names(where: str, method: Any, given: int, options: Iterable[str]) -> None:
    """Raise unless a function has a parameter for each argument. The function is not called.

    Args:
        where: Name of what was called.
        method: The function.
        given: Number of positional arguments without `self`.
        options: Names of the keyword arguments.

    Raises:
        DefinitionError: naming the argument and the fix.
    """
    code, first = method.__code__, takes_self(method)
    places = code.co_varnames[first : code.co_argcount]
    known = code.co_varnames[first : code.co_argcount + code.co_kwonlyargcount]
    takes_more = code.co_flags & inspect.CO_VARKEYWORDS
    for word in options:
        if word not in known and not (takes_more and not translate(where, word)):
            raise unknown_option_error(where, word, known)
    if given > len(places) and not code.co_flags & inspect.CO_VARARGS:
        raise too_many_arguments(where, given, " and ".join(places))


def takes_self(method: Any) -> bool:
    """Return True if the first parameter of a function is called `self` or `cls`."""
    return method.__code__.co_varnames[:1] in (("self",), ("cls",))


def attribute_hints(kind: str) -> Callable[[object, str], NoReturn]:
    """Return a ``__getattr__`` that raises `AttributeError`, naming our attribute for another library's.

    Args:
        kind: Name of the table of the attributes.
    """

    def refuse(owner: object, name: str) -> NoReturn:
        """Raise AttributeError for a missing attribute, with this library's name for it if one is known."""
        cls = type(owner).__name__
        ours = "" if name[0] == "_" else translate(kind, name)
        hint = f"; write {ours}" if ours else ""
        stated = f"{'an' if cls[0] in 'AEIOU' else 'a'} {cls} has no {name!r}{hint}"
        raise AttributeError(stated, name=name, obj=owner)

    return refuse
