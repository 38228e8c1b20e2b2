"""The module that exports each name of Pydantic AI (2), and replacements for missing names."""

from __future__ import annotations

from collections.abc import Mapping

EXPORTS: Mapping[str, str] = {
    "toolkeel_compat.pydantic_ai.ag_ui.adapter": "AGUIAdapter",
    "toolkeel_compat.pydantic_ai.agent": "Agent",
    "toolkeel_compat.pydantic_ai.context": "RunContext StateDeps",
    "toolkeel_compat.pydantic_ai.deferred": "DeferredToolRequests DeferredToolResults ToolApproved ToolDenied",
    "toolkeel_compat.pydantic_ai.exceptions": "AgentRunError ApprovalRequired ModelHTTPError ModelRetry UnexpectedModelBehavior UsageLimitExceeded UserError",
    "toolkeel_compat.pydantic_ai.models.function_model": "AgentInfo FunctionModel",
    "toolkeel_compat.pydantic_ai.media": "BinaryContent BinaryImage DocumentUrl ImageUrl",
    "toolkeel_compat.pydantic_ai.messages": "ModelMessage ModelMessagesTypeAdapter ModelRequest ModelRequestPart ModelResponse ModelResponsePart SystemPromptPart TextPart ThinkingPart ToolCallPart ToolReturnPart UserPromptPart",
    "toolkeel_compat.pydantic_ai.history_processors": "ProcessHistory",
    "toolkeel_compat.pydantic_ai.models.settings": "AnthropicModelSettings GoogleModelSettings GroqModelSettings MistralModelSettings ModelSettings OpenAIChatModelSettings OpenAIModelSettings OpenAIResponsesModelSettings",
    "toolkeel_compat.pydantic_ai.options": "Caching",
    "toolkeel_compat.pydantic_ai.output.types": "NativeOutput PromptedOutput TextOutput ToolOutput",
    "toolkeel_compat.pydantic_ai.result": "AgentRunResult StreamedRunResult",
    "toolkeel_compat.pydantic_ai.models.test_model": "TestModel",
    "toolkeel_compat.pydantic_ai.toolsets": "FunctionToolset Tool ToolReturn",
    "toolkeel_compat.pydantic_ai.usage": "RequestUsage RunUsage UsageLimits",
    "toolkeel_compat.pydantic_ai.models.vendors": "AnthropicModel AnthropicProvider AzureProvider CerebrasModel CerebrasProvider DeepSeekProvider FireworksProvider GoogleModel GoogleProvider GroqModel GroqProvider LiteLLMProvider MistralModel MistralProvider MoonshotAIProvider OllamaModel OllamaProvider OpenAIChatModel OpenAIModel OpenAIProvider OpenAIResponsesModel OpenRouterModel OpenRouterProvider TogetherProvider VLLMProvider",
}
"""For each module of the library, the names it gives."""
REPLACEMENTS: Mapping[str, str] = {
    "ALLOW_MODEL_REQUESTS": "leave it out: agent.override(model=TestModel()) asks no server",
    "Delta(ToolCall|ThinkingPart)s?": "Scripted of toolkeel.testing, or a toolkeel.Model: name, and async def stream(request)",
    r"(OpenAI|Anthropic|Google|Groq|Mistral|Bedrock|Cohere)\w*|\w+Provider|infer_model|KnownModelName": "toolkeel.models.connect('vendor:model', base_url=..., api_key=...) makes a model",
    "format_as_xml": "json.dumps(value) gives data for a prompt",
    "ModelAPIError": "ModelHTTPError",
    "FallbackModel": "model_steps=[Fallback(...)] of toolkeel's Agent",
    r"Part(Start|Delta|End)Event|\w*Tool(Call|Result)Event|FinalResultEvent|AgentStreamEvent|\w+PartDelta": "read the events of toolkeel's Agent.stream: docs/streaming.md",
    r"RetryPromptPart|RetryFeedbackPart": "what the model shall correct is a ToolReturnPart of outcome 'retried'",
    r"ModelRequestNode|\w+Part": "a message has texts, thoughts, calls, results and prompts as parts",
    r"(Audio|Video|Uploaded)\w*|MultiModalContent|UserContent": "BinaryContent of the bytes is a part of a prompt",
    r"(Wrapper|Combined|Prefixed|Renamed|Filtered|Prepared|Abstract|External|Deferred\w*)Toolset": "Toolset of toolkeel has with_prefix, rename, filter and +",
    r"MCP\w*|FastMCP\w*": "an MCPServer of toolkeel.mcp is one of the agent's toolsets: docs/mcp-client.md",
    "StructuredDict": "output_type takes types: docs/output.md",
    r"\w*(WebSearch|WebFetch|CodeExecution|ImageGeneration|FileSearch|Memory|UrlContext)\w*": "toolkeel.tools has its counterpart: docs/hosted.md",
    r"Graph\w*|BaseNode|End|Edge|\w+Node": "there are no graphs: an Agent is the loop, and plain Python joins agents",
    r"Dataset|Case|Evaluator\w*|\w*Judge": "keep the import of pydantic_evals: it measures any async function, such as lambda text: agent.run(text)",
    "CancellationToken|RunCancelled": "CancelToken of toolkeel is the cancel= of a run: docs/runs.md",
    r"AGUI\w*|\w*UIAdapter|handle_ag_ui_request|run_ag_ui|StateHandler": "AGUIAdapter.dispatch_request(request, agent=agent) answers a request; toolkeel.serve has more front ends: docs/front-ends.md",
    "CallDeferred": "@tool(executor=external) of toolkeel is answered from outside: docs/approvals.md",
    "Instrumentation\\w*|InstrumentedModel": "listeners=[...] of a run, and OpenTelemetry: docs/watching.md",
    r"\w+Capability|Thinking|ReinjectSystemPrompt|Hooks": "steps=[...] and model_steps=[...] of toolkeel's Agent: docs/steps.md",
    r"Realtime\w*": "",
}
"""By regular expression of the name."""

_NONE = "there is no counterpart"
_EVENTS = "read the events of toolkeel's Agent.stream: docs/streaming.md"
AGENT_HINTS: Mapping[str, str] = {
    "run_stream_events event_stream_handler on_event": _EVENTS,
    "run_stream_sync": "asyncio.run of a function with run_stream, or the Run of toolkeel's Agent.stream",
    "to_cli to_cli_sync": "toolkeel chat talks with an agent in the terminal",
    "to_web to_a2a to_ag_ui": "AGUIAdapter.dispatch_request, or toolkeel.serve: docs/front-ends.md",
    "instrument instrument_all": "listeners=[...] of a run, and OpenTelemetry: docs/watching.md",
    "from_file from_spec": "write Agent(...) with what the file says",
    "is_call_tools_node is_end_node is_model_request_node is_user_prompt_node": _EVENTS,
    "set_mcp_sampling_model": "MCPServer of toolkeel.mcp has a handler for requests of the server: docs/mcp-client.md",
    "output_json_schema": "TypeAdapter(output_type).json_schema() of pydantic",
    "system_prompt_parts toolsets model_settings description": "keep what you gave to Agent(...)",
    "realtime": "there is no speech",
}
"""What to write instead of attributes of an agent, by their names."""
CONTEXT_HINTS: Mapping[str, str] = {
    "run_id run_step conversation_id metadata tools tool_manager usage_limits": "a tool of toolkeel asks for a ToolContext, whose run has them: docs/tools.md",
    "retries max_retries last_attempt": "ctx.retry counts; retries= of the tool or the agent is the maximum",
    "partial_output": "stream_output() of run_stream yields parts",
    "enqueue": "run.send(...) of toolkeel's Agent.stream: docs/runs.md",
    "tracer trace_include_content": "listeners=[...] of a run, and OpenTelemetry: docs/watching.md",
    "validation_context tool_call_metadata": _NONE,
}
"""What to write instead of attributes of a `RunContext`."""
USAGE_HINTS: Mapping[str, str] = {
    "cost": "multiply input_tokens and output_tokens by your prices",
    "details cache_hit_ratio output_reasoning_tokens input_audio_tokens output_audio_tokens": "run.usage of toolkeel's Agent.stream has reasoning_tokens and cached_tokens",
}
"""What to write instead of attributes of a `RunUsage`."""
STREAM_HINTS: Mapping[str, str] = {
    "stream_response stream_responses": _EVENTS,
    "cancel cancelled": "leave the block of run_stream, which ends the run",
    "timestamp run_id metadata conversation_id": _NONE,
}
"""What to write instead of attributes of a `StreamedRunResult`."""
