"""Other libraries' words for an option: an unknown keyword is refused with the right name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, ParamSpec, TypeVar

from toolkeel.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")
Words = Mapping[str, str]

TOOL: Final[Words] = MappingProxyType(
    {
        "args_schema": "parameters=",
        "bind": "name= and description=",
        "description_override": "description=",
        "error_on_invalid_docstring": 'docstring="strict"',
        "extra": "unknown_keys=",
        "extras": "provider_options=",
        "failure_error_function": "on_error= and on_crash=",
        "handle_crash": "on_crash=",
        "handle_tool_error": "on_error=",
        "handle_validation_error": "on_invalid=",
        "infer_schema": "parameters= to describe them elsewhere",
        "input_schema": "parameters=",
        "is_enabled": "enabled=",
        "max_retries": "steps=[Retry(2)], of toolkeel.steps",
        "name_override": "name=",
        "needs_approval": "approval=",
        "parse_docstring": 'docstring="parse" or "plain"',
        "prepare": "enabled=",
        "requires_approval": "approval=",
        "require_confirmation": "approval=",
        "response_format": "returns=",
        "retries": "steps=[Retry(2)], of toolkeel.steps",
        "return_direct": "ends_run=",
        "strict": "settings=Settings(strict=True) of the agent",
        "strict_mode": "settings=Settings(strict=True) of the agent",
        "takes_ctx": "a parameter annotated ToolContext",
        "timeout_seconds": "timeout=",
        "tool_input_guardrails": "steps=[input_guard(...)], of toolkeel.steps",
        "tool_output_guardrails": "steps=[output_guard(...)], of toolkeel.steps",
        "use_docstring_info": 'docstring="parse" or "plain"',
    }
)
"""By word for an option of a tool: ours."""
AGENT: Final[Words] = MappingProxyType(
    {
        "approval": "approval=True of the tool",
        "approver": "run(prompt, approver=...): each run has its own",
        "checkpointer": "run(session=...)",
        "context": "run(prompt, deps=...): each run has its own",
        "decided": "used_tickets=",
        "deps": "run(prompt, deps=...): each run has its own",
        "hooks": "run(prompt, listeners=[...]): each run has its own",
        "llm": "model=",
        "max_iterations": "max_turns=",
        "max_steps": "max_turns=",
        "max_tokens": "settings=Settings(max_tokens=...)",
        "memory": "run(session=...)",
        "middleware": "steps=",
        "model_settings": "settings=",
        "prompt": "instructions=",
        "response_format": "output_type=",
        "result_type": "output_type=",
        "retries": "output_retries=, or steps=[Retry(2)] of toolkeel.steps",
        "system": "instructions=",
        "system_prompt": "instructions=",
        "temperature": "settings=Settings(temperature=...)",
        "tool_choice": "settings=Settings(tool_choice=...)",
        "tool_use_behavior": "ends_run=True of the tool",
        "toolsets": "tools=",
        "verbose": "run(prompt, listeners=[...]), or toolkeel inspect",
    }
)
"""By word for an option of an agent: ours."""
SETTINGS: Final[Words] = MappingProxyType(
    {
        "extra_body": "provider_options={...}",
        "extra_headers": "client= of the model, such as AsyncOpenAI(default_headers={...})",
        "max_completion_tokens": "max_tokens=",
        "max_output_tokens": "max_tokens=",
        "timeout": "run(prompt, timeout=...)",
    }
    | {
        word: f"provider_options={{{word!r}: ...}}, as its server calls it"
        for word in (
            "frequency_penalty",
            "logit_bias",
            "presence_penalty",
            "reasoning",
            "reasoning_effort",
            "seed",
            "service_tier",
            "stop",
            "stop_sequences",
            "thinking",
            "top_k",
            "top_p",
            "verbosity",
        )
    }
)
"""By word for a setting: ours."""
RUN: Final[Words] = MappingProxyType(
    {
        "callbacks": "listeners=",
        "config": "inject=",
        "context": "deps=",
        "conversation_id": "session=",
        "hooks": "listeners=",
        "input": "the prompt, as the first argument",
        "max_iterations": "max_turns= of the agent, or limits=RunLimits(requests=...)",
        "max_turns": "max_turns= of the agent, or limits=RunLimits(requests=...)",
        "memory": "session=",
        "message_history": "the transcript as the prompt: run([*messages, ...])",
        "messages": "the transcript as the prompt: run(messages)",
        "model_settings": "settings=",
        "recursion_limit": "limits=RunLimits(requests=...)",
        "run_context": "deps=",
        "session_id": "session=",
        "thread_id": "session=",
        "usage_limits": "limits=RunLimits(...)",
    }
)
"""By word for an option of a run: ours."""
RESULT: Final[Words] = MappingProxyType(
    dict.fromkeys(("content", "data", "final_output", "response", "result", "text"), ".output")
    | dict.fromkeys(("all_messages", "new_items", "new_messages", "to_input_list"), ".messages")
    | {
        "get": ".output, an object of the agent's output_type",
        "interruptions": ".pending",
        "last_agent": ".agent",
        "tool_calls": ".messages: an AssistantMessage has tool_calls",
    }
)
"""By attribute that other libraries' results have: ours."""
AGENT_ATTRIBUTES: Final[Words] = MappingProxyType(
    dict.fromkeys(("iter", "run_stream", "run_stream_events", "run_streamed"), ".stream(prompt)")
    | dict.fromkeys(("chat", "invoke", "kickoff"), ".run_sync(prompt)")
    | dict.fromkeys(("add_tool", "tool", "tool_plain", "toolset"), "Agent(model, tools=[...])")
    | {
        "ainvoke": ".run(prompt)",
        "astream": ".stream(prompt)",
        "clone": "Agent(...) anew, or a run's own model=, settings= and limits=",
        "output_validator": "output_guardrails=[...]",
        "system_prompt": "instructions=, a text or a function of the run",
    }
)
"""By attribute that other libraries' agents have: ours."""
TOOL_ATTRIBUTES: Final[Words] = MappingProxyType(
    dict.fromkeys(
        ("args", "args_schema", "input_schema", "json_schema", "params_json_schema", "schema"),
        ".parameters",
    )
    | {
        "arun": ".ainvoke({...})",
        "func": ".function",
        "on_invoke_tool": ".ainvoke({...})",
        "run": ".invoke({...})",
        "to_openai": "toolkeel.providers.openai_chat.encode_tools([...])",
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
    """Let a function refuse unknown keywords as `unknown_option` does, instead of by a `TypeError`.

    Args:
        words: One of the tables of this module.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for word in kwargs:
                if word not in known:
                    where = function.__qualname__.replace(".__init__", "").replace(".__new__", "")
                    raise unknown_option(where, word, known[1:], words)
            return function(*args, **kwargs)

        return checked

    return wrap
