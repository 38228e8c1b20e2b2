"""Other libraries' words for an option: an unknown keyword is refused with the right name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

from toolkeel.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")
Words = Mapping[str, str]


def by_word(rows: Mapping[str, str]) -> Words:
    """Theirs by ours, with blanks between, the other way round."""
    return MappingProxyType({word: ours for ours, words in rows.items() for word in words.split()})


TOOL: Final[Words] = by_word(
    {
        "parameters=": "args_schema input_schema",
        "name= and description=": "bind",
        "description=": "description_override tool_description",
        'docstring="strict"': "error_on_invalid_docstring require_parameter_descriptions",
        "unknown_keys=": "extra",
        "provider_options=": "extras",
        "provider_options={'defer_loading': True}": "defer_loading",
        "nothing: the style of a docstring is found out": "docstring_format docstring_style",
        "the function itself, as the first argument": "coroutine func",
        "Agent(max_turns=...)": "max_turns",
        "Agent.as_tool(prompt=..., output=...)": "custom_output_extractor input_builder",
        "run(prompt, listeners=[...]): each run has its own": "callbacks hooks verbose",
        "on_error= and on_crash=": "failure_error_function",
        "on_crash=": "handle_crash",
        "on_error=": "handle_tool_error",
        "on_invalid=": "handle_validation_error",
        "parameters= to describe them elsewhere": "infer_schema",
        "effects=Effects(read_only=True) and the like": "annotations destructive idempotent read_only",
        "enabled=": "is_enabled prepare",
        "steps=[Retry(2)], of toolkeel.steps": "max_retries retries",
        "name=": "name_override tool_name",
        "approval=": "needs_approval requires_approval require_confirmation",
        'docstring="parse" or "plain"': "parse_docstring use_docstring_info",
        "returns=": "response_format",
        "ends_run=": "return_direct",
        "settings=Settings(strict=True) of the agent": "strict strict_mode",
        "a parameter annotated ToolContext, which has the run's deps": "context deps takes_ctx",
        "timeout=": "max_execution_time timeout_seconds",
        'executor="ray", resources={...}': "num_cpus num_gpus",
        "steps=[input_guard(...)], of toolkeel.steps": "tool_input_guardrails",
        "steps=[output_guard(...)], of toolkeel.steps": "tool_output_guardrails",
    }
)
"""By word for an option of a tool: ours."""
_OF_SETTINGS = {
    f"settings=Settings({word}=...)": word
    for word in ("max_tokens", "parallel_tool_calls", "strict", "temperature", "tool_choice")
}
AGENT: Final[Words] = by_word(
    {
        "approval=True of the tool": "approval",
        "run(prompt, approver=...): each run has its own": "approver",
        "run(session=...)": "checkpointer conversation_id memory session session_id thread_id",
        "run(prompt, deps=...): each run has its own": "context deps",
        "used_tickets=": "decided",
        "deps_type=": "context_schema",
        "history=": "history_processors",
        "limits=RunLimits(...)": "usage_limits",
        "run([*messages, ...])": "message_history messages",
        "model=connect(name, api_key=..., base_url=...)": "api_key base_url",
        "tools=[MCPServer(...)], of toolkeel.mcp.client": "mcp_servers",
        "run(prompt, listeners=[...]): each run has its own": "callbacks event_stream_handler hooks",
        "model=": "llm",
        "max_turns=": "max_iter max_iterations max_steps",
        "steps=": "middleware",
        "settings=": "model_settings",
        "instructions=": "backstory developer_prompt goal prompt role system system_message system_prompt",
        "output_type=": "output_schema response_format response_model result_type",
        "output_retries=, or steps=[Retry(2)] of toolkeel.steps": "max_retries result_retries retries",
        "ends_run=True of the tool": "tool_use_behavior",
        "tools=": "builtin_tools functions toolsets",
        "run(prompt, listeners=[...]), or toolkeel inspect": "verbose",
    }
    | _OF_SETTINGS
)
"""By word for an option of an agent: ours."""
_SERVERS = (
    "frequency_penalty logit_bias presence_penalty reasoning reasoning_effort seed"
    " metadata service_tier stop stop_sequences store thinking top_k top_logprobs top_p truncation user"
    " verbosity"
)
SETTINGS: Final[Words] = by_word(
    {
        "provider_options={...}": "extra_args extra_body",
        "client= of the model, such as AsyncOpenAI(default_headers={...})": "extra_headers",
        "max_tokens=": "max_completion_tokens max_output_tokens",
        "run(prompt, timeout=...)": "timeout",
    }
    | {
        f"provider_options={{{word!r}: ...}}, as its server calls it": word
        for word in _SERVERS.split()
    }
)
"""By word for a setting: ours."""
RUN: Final[Words] = by_word(
    {
        "listeners=": "callbacks event_stream_handler hooks",
        "inject=": "config",
        "deps=": "context run_context",
        "session=": "checkpointer conversation_id memory previous_response_id session_id thread_id",
        "the prompt, as the first argument": "input",
        "max_turns= of the agent, or limits=RunLimits(requests=...)": "max_iterations max_turns",
        "the transcript as the prompt: run([*messages, ...])": "message_history",
        "the transcript as the prompt: run(messages)": "messages",
        "settings=": "model_settings",
        "model=, settings=, limits= and the like": "run_config",
        "output_type=": "response_format result_type",
        "Agent(..., instructions=..., tools=...)": "instructions system_prompt tools toolsets",
        "agent.stream(prompt) instead": "stream",
        "limits=RunLimits(requests=...)": "recursion_limit",
        "limits=RunLimits(...)": "usage_limits",
    }
    | _OF_SETTINGS
)
"""By word for an option of a run: ours."""
LIMITS: Final[Words] = by_word(
    {
        "requests=": "max_iterations max_requests max_turns request_limit",
        "tokens=": "max_tokens total_tokens_limit",
        "calls={name: number}": "tool_calls_limit",
        "cost=": "max_budget_usd",
        "seconds=": "max_execution_time timeout",
    }
)
"""By word for a limit of a run: ours."""
RESULT: Final[Words] = by_word(
    {
        ".output": "content data final_output response result text",
        ".messages": "all_messages new_items new_messages to_input_list",
        ".output, an object of the agent's output_type": "get",
        ".pending": "interruptions",
        ".agent": "last_agent",
        ".messages: an AssistantMessage has tool_calls": "tool_calls",
    }
)
"""By attribute that other libraries' results have: ours."""
AGENT_ATTRIBUTES: Final[Words] = by_word(
    {
        ".stream(prompt)": "iter run_stream run_stream_events run_streamed astream",
        ".run_sync(prompt)": "chat invoke kickoff",
        "Agent(model, tools=[...])": "add_tool tool tool_plain toolset",
        ".run(prompt)": "ainvoke",
        "Agent(...) anew, or a run's own model=, settings= and limits=": "clone",
        "output_guardrails=[...]": "output_validator",
        "instructions=, a text or a function of the run": "system_prompt",
    }
)
"""By attribute that other libraries' agents have: ours."""
TOOL_ATTRIBUTES: Final[Words] = by_word(
    {
        ".parameters": "args args_schema input_schema json_schema params_json_schema schema",
        ".ainvoke({...})": "arun on_invoke_tool",
        ".function": "func",
        ".invoke({...})": "run",
        "toolkeel.providers.openai_chat.encode_tools([...])": "to_openai",
    }
)
"""By attribute that other libraries' tools have: ours."""
NAMES: Final[Words] = MappingProxyType(
    {
        "InjectedState": "ToolContext; toolkeel.compat.langchain has InjectedState",
        "InjectedStore": "ToolContext; toolkeel.compat.langchain has InjectedStore",
        "InjectedToolArg": "Injected",
        "InjectedToolCallId": "ToolContext; toolkeel.compat.langchain has InjectedToolCallId",
        "ModelRetry": "ToolError",
        "RunContextWrapper": "ToolContext",
        "Runner": "Agent(...).run; toolkeel.compat.openai_agents has Runner",
        "StructuredTool": "Tool; toolkeel.compat.langchain has StructuredTool",
        "ToolException": "ToolError",
        "ToolNode": "Toolset; toolkeel.compat.langchain has ToolNode",
        "ToolRuntime": "ToolContext; toolkeel.compat.langchain has ToolRuntime",
        "create_agent": "Agent; toolkeel.compat.langchain has create_agent",
        "function_tool": "tool; toolkeel.compat.openai_agents has function_tool",
        "init_chat_model": "connect",
    }
)
"""By name that another library's users look for in the package: ours."""


def unknown_option(where: str, word: str, known: Iterable[str], words: Words) -> DefinitionError:
    """What is raised for a keyword that is not there: it names the one that is.

    Args:
        where: What was called.
        word: The keyword.
        known: Those there are.
        words: One of the tables of this module.

    >>> str(unknown_option("Agent", "system_prompt", ["instructions"], AGENT))
    "Agent: there is no option 'system_prompt'; write instructions="
    """
    import difflib  # late: for mistakes alone

    hint = f"; write {words[word]}" if word in words else ""
    if not hint and (near := difflib.get_close_matches(word, list(known), n=1)):
        hint = f"; did you mean {near[0]!r}?"
    return DefinitionError(f"{where}: there is no option {word!r}{hint}")


_WRITTEN: Final[Words] = MappingProxyType(
    {
        "Agent": "Agent('openai:gpt-5', [search, send], instructions='...')",
        "Agent.run": "run(prompt, deps=..., session=...), with messages as one list",
        "Toolset": "Toolset([search, send])",
        "tool": "tool(function, name='...', description='...')",
    }
)

_NO_WORDS: Final[Words] = MappingProxyType({})


def too_many(where: str, given: int, places: str) -> DefinitionError:
    """What is raised for more arguments by position than there are places for.

    Args:
        where: What was called.
        given: How many there were.
        places: Which there are.

    >>> str(too_many("Toolset", 2, "tools"))
    'Toolset takes only tools by position, not 2 arguments; write Toolset([search, send])'
    """
    write = _WRITTEN.get(where, f"the others with their names, {where}(..., name=value)")
    only = f"only {places}" if places else "nothing"
    return DefinitionError(
        f"{where} takes {only} by position, not {given} arguments; write {write}"
    )


def check_places(
    where: str, method: Any, given: int, options: Iterable[str], words: Words = _NO_WORDS
) -> None:
    """See that a method has a place for each argument.

    Args:
        where: What was called.
        method: What runs then.
        given: How many arguments there are by position, its object apart.
        options: The names of the others.
        words: One of the tables of this module.

    Raises:
        DefinitionError: naming the argument and the fix.
    """
    code = method.__code__
    places = code.co_varnames[1 : code.co_argcount]
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for word in () if code.co_flags & inspect.CO_VARKEYWORDS else options:
        if word not in known:
            raise unknown_option(where, word, known, words)
    if given > len(places) and not code.co_flags & inspect.CO_VARARGS:
        raise too_many(where, given, " and ".join(places))


def telling(words: Words) -> Callable[[object, str], NoReturn]:
    """A class's ``__getattr__`` that says which attribute takes the place of another library's.

    Args:
        words: One of the tables of this module.
    """

    def refuse(owner: object, name: str) -> NoReturn:
        kind = type(owner).__name__
        hint = f"; write {words[name]}" if name in words else ""
        said = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind} has no {name!r}{hint}"
        raise AttributeError(said, name=name, obj=owner)

    return refuse


def naming(words: Words) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a method refuse arguments that it has no place for by a text with the fix, no `TypeError`.

    Args:
        words: One of the tables of this module.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        where = function.__qualname__.replace(".__init__", "").replace(".__new__", "")

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            check_places(where, function, len(args) - 1, kwargs, words)
            return function(*args, **kwargs)

        return checked

    return wrap
