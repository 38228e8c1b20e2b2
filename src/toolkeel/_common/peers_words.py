"""Other libraries' words for our options, attributes and names, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Words = Mapping[str, str]
"""Theirs, with blanks between, by ours: read when something is wrong, and never else."""

TOOL: Final[Words] = MappingProxyType(
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
_OF_SETTINGS = {
    f"settings=Settings({word}=...)": word
    for word in ("max_tokens", "parallel_tool_calls", "strict", "temperature", "tool_choice")
}
AGENT: Final[Words] = MappingProxyType(
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
_SERVERS = (
    "frequency_penalty logit_bias presence_penalty reasoning reasoning_effort seed"
    " metadata service_tier stop stop_sequences store thinking top_k top_logprobs top_p truncation user"
    " verbosity"
)
SETTINGS: Final[Words] = MappingProxyType(
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
RUN: Final[Words] = MappingProxyType(
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
LIMITS: Final[Words] = MappingProxyType(
    {
        "requests=": "max_iterations max_requests max_turns request_limit",
        "tokens=": "max_tokens total_tokens_limit",
        "calls={name: number}": "tool_calls_limit",
        "cost=": "max_budget_usd",
        "seconds=": "max_execution_time timeout",
    }
)
_MODEL: Final[Words] = MappingProxyType(
    {
        "the model's name, as the first argument": "deployment model_id model_name",
        "api_key=": "anthropic_api_key google_api_key openai_api_key",
        "base_url=": "api_base azure_endpoint endpoint endpoint_url host openai_api_base",
        "connect('vendor:model')": "model_provider provider vendor",
        "client=, one of the vendor's SDK": "anthropic_client http_client openai_client",
        "max_retries=": "num_retries retries",
        "region=, of BedrockConverse": "aws_region region_name",
        "settings=Settings(...) of the agent": "max_completion_tokens max_tokens model_settings n"
        " reasoning_effort settings stop temperature tool_choice top_p",
        "stream=": "streaming",
        "timeout=": "request_timeout",
    }
)
_HTTP: Final[Words] = MappingProxyType(
    {
        "allowed_hosts=": "transport_security",
        "token=": "api_key auth auth_server_provider bearer_token token_verifier",
    }
)
OPTIONS: Final[Mapping[str, Words]] = MappingProxyType(
    {
        "tool": TOOL,
        "Agent": AGENT,
        "Agent.run": RUN,
        "Settings": SETTINGS,
        "RunLimits": LIMITS,
        "connect": _MODEL,
        "OpenAIChat": _MODEL,
        "OpenAIResponses": _MODEL,
        "AnthropicMessages": _MODEL,
        "Gemini": _MODEL,
        "BedrockConverse": _MODEL,
        "Effects": {
            "destructive=": "destructiveHint destructive_hint",
            "idempotent=": "idempotentHint idempotent_hint",
            "open_world=": "openWorldHint open_world_hint",
            "read_only=": "readOnlyHint read_only_hint",
        },
        "RunContext": {
            "deps=": "context ctx run_context",
            "inject=": "config configurable",
            "listeners=": "callbacks event_stream_handler hooks",
            "Agent.run(prompt, session=...)": "memory messages session session_id thread_id usage",
        },
        "Toolset": {
            "the tools, as the first argument": "functions tool_list toolsets",
            "on_error= of each tool": "handle_tool_errors",
            "steps=": "awrap_tool_call middleware wrap_tool_call",
            "width=": "max_concurrency max_workers",
        },
        "Rules": {
            "allow=": "allow_list allowed allowed_tools",
            "ask=": "interrupt_on require_approval",
            "deny=": "blocked deny_list denied disallowed_tools",
        },
        "Handoff": {
            "description=": "handoff_description tool_description tool_description_override",
            "enabled=": "is_enabled",
            "name=": "tool_name tool_name_override",
        },
        "Guardrail": {
            "the check, as the first argument": "function guardrail guardrail_function",
            "first=": "blocking run_in_parallel",
        },
        "input_guard": {"the check, as the first argument": "function guardrail_function"},
        "output_guard": {"the check, as the first argument": "function guardrail_function"},
        "Retry": {
            "attempts=": "max_attempts max_retries retries stop_after_attempt tries",
            "longest_wait=": "max_delay max_interval max_wait",
            "wait=": "backoff delay initial_delay initial_interval",
        },
        "RateLimit": {
            "calls=": "limit max_calls max_rate rate requests",
            "patience=": "max_wait timeout",
            "seconds=": "interval per period time_period window",
        },
        "Budget": {"calls=": "limit max_calls max_uses run_limit"},
        "AtOnce": {"calls=": "limit max_concurrency"},
        "Cache": {"scope=": "key key_func", "size=": "max_size maxsize", "ttl=": "expire max_age"},
        "Fallback": {
            "the models, one after the other": "fallback_models models",
            "when=": "exceptions exceptions_to_handle fallback_on",
        },
        "Redact": {
            "by=": "mask replacement strategy",
            "the patterns, one after the other": "detector patterns pii_type",
        },
        "MCPServer": {
            "its command, address or file, as the first argument": "address args command config"
            " params script server_params server_url transport url",
            "auth=": "authorization oauth",
            'headers={"Authorization": "Bearer ..."}': "bearer_token token",
            "connect_timeout=": "client_session_timeout_seconds init_timeout",
            "elicit=": "elicitation_callback elicitation_handler",
            "headers=": "extra_headers http_headers",
            "name=": "id server_label tool_prefix",
            "only=": "allowed_tools include_tools tool_filter",
            "sample=": "sampling_callback sampling_handler sampling_model",
            "timeout=": "read_timeout sse_read_timeout",
            "trust=": "require_approval",
            "nothing: lists are kept until the server says that they change": "cache_tools_list",
        },
        "servers": {"the file of servers, as the first argument": "config config_path connections"},
        "ToolServer": {
            "serve_http(server, host=..., port=...)": "debug host json_response log_level path port"
            " stateless_http streamable_http_path transport",
            "serve_http(server, token=...)": "auth auth_server_provider token_verifier",
            "steps= of each tool": "middleware",
        },
        "asgi": _HTTP,
        "serve_http": _HTTP,
        "prompt": {
            "the function's own name": "name",
            "the function, as the first argument": "fn",
        },
        "resource": {
            "media_type=": "mimeType mime_type",
            "the URI, as the first argument": "uri_template",
        },
        "HostedMCP": {
            "approve=": "on_approval_request",
            "connector=": "connector_id",
            "name=": "server_label",
            "only=": "allowed_tools",
            "token=": "authorization",
            "trust=": "require_approval",
            "url=": "server_url",
        },
        "from_openapi": {
            "client=": "http_client httpx_client",
            "the document or its address, as the first argument": "openapi_spec spec url",
            "operations=": "include route_maps",
        },
        "Sessions": {"path=": "database db_path db_url engine file url"},
        "session": {"the name, as the first argument": "id session_id thread_id"},
        "KeepTurns": {"keep=": "last_n max_messages messages_to_keep"},
        "KeepTokens": {"high=": "max_tokens"},
        "Summarise": {
            "high=": "max_tokens max_tokens_before_summary trigger",
            "instructions=": "prompt summary_prompt",
            "low=": "keep messages_to_keep",
        },
        "VectorStore": {
            "embedder=": "embedding embedding_function embeddings",
            "path=": "persist_directory persist_path",
        },
        "Embeddings": {"base_url=": "api_base openai_api_base", "model=": "model_name"},
        "Process": {"width=": "max_workers"},
        "Thread": {"size=": "max_workers"},
        "Scripted": {"lines=": "messages replies responses"},
        "Cassette": {"mode=": "record_mode", "path=": "filename"},
    }
)
"""Other libraries' options of what is called, by its name here."""
RESULT: Final[Words] = MappingProxyType(
    {
        ".output": "content data final_output response result text",
        ".messages": "all_messages new_items new_messages to_input_list",
        ".output, an object of the agent's output_type": "get",
        ".pending": "interruptions",
        ".agent": "last_agent",
        ".messages: an AssistantMessage has tool_calls": "tool_calls",
    }
)
"""Attributes of other libraries' results."""
AGENT_ATTRIBUTES: Final[Words] = MappingProxyType(
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
"""Attributes of other libraries' agents."""
TOOL_ATTRIBUTES: Final[Words] = MappingProxyType(
    {
        ".parameters": "args args_schema input_schema json_schema params_json_schema schema",
        ".ainvoke({...})": "arun on_invoke_tool",
        ".function": "func",
        ".invoke({...})": "run",
        "toolkeel.providers.openai_chat.encode_tools([...])": "to_openai",
    }
)
"""Attributes of other libraries' tools."""
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
