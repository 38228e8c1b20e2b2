"""Differences of the servers that speak Chat Completions, one table row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack
from urllib.parse import urlsplit

from toolkeel._records.record import record
from toolkeel.providers.wire.sampling import LOCAL_SAMPLING, PENALTIES

if TYPE_CHECKING:  # the dialects are heavy, and a preset only names one
    from toolkeel.define.dialect.definition import Form
    from toolkeel.providers.constrained.server_facts import ServerKind


@record
class ChatProfile:
    """What a server accepts, where servers differ.

    Args:
        max_tokens_key: Key of the body for the longest reply.
        target: Dialect of JSON Schema, and strictness of tools.
        parallel: True if ``parallel_tool_calls`` is accepted.
        media: True if user messages may contain pictures, sounds and files.
        result_name: True if a result must name its tool.
        short_ids: True if call ids must be nine letters and digits (Mistral).
        stream_usage: True if ``stream_options`` may request the usage of a stream.
        reasoning: When reasoning is sent back with its calls: ``own`` if it is this model's,
            ``always`` even if empty, ``never``.
        bridge: True if an assistant message must come between results and a user message (Mistral).
        tools_with_calls: True if ``tools`` must be present, though empty, after calls.
        json_schema: True if replies are held to a schema (``response_format``), beside tools too.
        grammar: True if only replies without tools are: the server turns a schema into a grammar for
            the complete reply, which then cannot be a call.
        null_content: True if the content of a reply without text may be ``null``; else it is empty.
        think_tags: True if text between ``<think>`` tags is reasoning.
        kind: Server program behind the address, whose API reports context length and template.
        max_tokens: Longest reply by default, where the server would never stop; None: the server's.
        document_url: True if files are sent as ``document_url``, by their address or with their bytes.
        refused: Names of settings that are not sent.
        seed_key: Key of the body for ``Settings.seed``.
        custom_tools: True if calls may have the type ``custom``, with a freeform text; else such a call
            of another server is sent as a function's.
        max_calls: Most calls that an assistant message may have; more are sent as several. None: any.
    """

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    target: Form = "compatible"
    parallel: bool = True
    media: bool = True
    result_name: bool = False
    short_ids: bool = False
    stream_usage: bool = True
    reasoning: Literal["own", "always", "never"] = "own"
    bridge: bool = False
    tools_with_calls: bool = False
    json_schema: bool = False
    grammar: bool = False
    null_content: bool = True
    think_tags: bool = False
    kind: ServerKind = ""
    max_tokens: int | None = None
    custom_tools: bool = False
    max_calls: int | None = None
    document_url: bool = False
    refused: frozenset[str] = frozenset()
    seed_key: str = "seed"


OPENAI = ChatProfile(
    "max_completion_tokens",
    "openai-chat",
    json_schema=True,
    custom_tools=True,
    max_calls=128,
    refused=LOCAL_SAMPLING,
)
"""OpenAI's own service, and Azure's."""

COMPATIBLE = ChatProfile(think_tags=True)
"""A server of which nothing else is known; without a reasoning parser it sends reasoning as text."""

_OWN_FORM = ChatProfile()
"""A vendor that sends its own models' reasoning under keys of the message."""


@record
class Preset:
    """A known server.

    Args:
        base_url: Its usual address.
        keys: Environment variables that may hold its key; none: it needs no key.
        profile: What it accepts.
        checked: What the row was compared with, and the day: the vendor's document, the request
            models of the server's own package, or a report.
    """

    base_url: str
    keys: tuple[str, ...] = ()
    profile: ChatProfile = COMPATIBLE
    checked: str = ""


class _Differences(TypedDict, total=False):
    """What differs between the servers on this machine; see `ChatProfile`."""

    null_content: bool
    parallel: bool
    refused: frozenset[str]


_LONGEST = 8192
"""Tokens of the longest reply by default, of servers that go on until the context is full."""
_SEED_TOO = LOCAL_SAMPLING | {"seed"}
_REASONER = ChatProfile("max_completion_tokens", reasoning="always", refused=_SEED_TOO)
_DEEPSEEK = ChatProfile(media=False, reasoning="always", refused=_SEED_TOO)
_GLM_MODELS = ChatProfile(parallel=False, refused=_SEED_TOO | PENALTIES)
_QWEN = Preset(
    "https://dashscope.aliyuncs.com/compatible-mode/v1",
    ("DASHSCOPE_API_KEY",),
    _OWN_FORM,
    checked="docs.qwencloud.com/api-reference/chat/openai-chat, 2026-11-28",
)
_MOONSHOT = Preset(
    "https://api.moonshot.ai/v1",
    ("MOONSHOT_API_KEY",),
    _REASONER,
    checked="platform.kimi.ai/docs/api/chat, 2026-11-28",
)
_GLM = Preset(
    "https://open.bigmodel.cn/api/paas/v4",
    ("ZHIPUAI_API_KEY", "ZAI_API_KEY"),
    _GLM_MODELS,
    checked="docs.bigmodel.cn/cn/guide/capabilities/thinking-mode, 2026-11-28",
)


def _local_profile(
    kind: ServerKind, max_tokens: int | None = None, **differences: Unpack[_Differences]
) -> ChatProfile:
    """Return the profile of a server on this machine, with its differences from the others."""
    return ChatProfile(
        grammar=True, think_tags=True, kind=kind, max_tokens=max_tokens, **differences
    )


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # on this machine; by their manuals each holds a reply to the schema of ``response_format``:
        # docs.ollama.com/capabilities/structured-outputs: from 0.5.0; not for models in its cloud
        "ollama": Preset(
            "http://127.0.0.1:11434/v1",
            profile=_local_profile("ollama", _LONGEST, parallel=False, refused=LOCAL_SAMPLING),
            checked="docs.ollama.com/api/openai-compatibility, 2026-11-28",
        ),
        # lmstudio.ai/docs/developer/openai-compat/structured-output
        "lmstudio": Preset(
            "http://127.0.0.1:1234/v1",
            profile=_local_profile("lmstudio", _LONGEST, refused=frozenset({"min_p"})),
            checked="lmstudio.ai/docs/developer/openai-compat/chat-completions, 2026-11-28",
        ),
        # github.com/ggml-org/llama.cpp, tools/server/README.md; schema or tools, not both
        # llama-cpp-python's server, which is reached by that name too, refuses ``null``
        "llamacpp": Preset(
            "http://127.0.0.1:8080/v1",
            profile=_local_profile("llamacpp", _LONGEST, null_content=False),
            checked="mintlify.com/ggml-org/llama.cpp/api/rest/chat-completions, 2026-11-28",
        ),
        # docs.vllm.ai/en/latest/features/structured_outputs
        "vllm": Preset(
            "http://127.0.0.1:8000/v1",
            profile=_local_profile("vllm"),
            checked="request models of vllm 0.33.0, 2026-11-23",
        ),
        # docs.sglang.ai, advanced features, structured outputs
        "sglang": Preset(
            "http://127.0.0.1:30000/v1",
            profile=_local_profile("sglang"),
            checked="request models of sglang 0.5.23, 2026-11-23",
        ),
        "litellm": Preset(
            "http://127.0.0.1:4000/v1",
            profile=ChatProfile(tools_with_calls=True, think_tags=True),
            checked="a report, oh-my-pi#1227, 2026-11-28",
        ),
        # services
        "deepseek": Preset(
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            _DEEPSEEK,
            checked="api-docs.deepseek.com/guides/thinking_mode, 2026-11-28",
        ),
        "qwen": _QWEN,
        "dashscope": _QWEN,
        "moonshot": _MOONSHOT,
        "kimi": _MOONSHOT,
        "glm": _GLM,
        "zhipu": _GLM,
        "zai": Preset(
            "https://api.z.ai/api/paas/v4",
            ("ZAI_API_KEY",),
            _GLM_MODELS,
            checked="docs.z.ai/api-reference/llm/chat-completion, 2026-11-28",
        ),
        # its thinking goes back inside the content, as it came
        "minimax": Preset(
            "https://api.minimax.io/v1",
            ("MINIMAX_API_KEY",),
            ChatProfile(think_tags=True, refused=LOCAL_SAMPLING | PENALTIES),
            checked="platform.minimax.io/docs/api-reference/text-openai-api, 2026-11-28",
        ),
        "mimo": Preset(
            "https://api.xiaomimimo.com/v1",
            ("MIMO_API_KEY",),
            _REASONER,
            checked="platform.xiaomimimo.com/docs/en-US/api/chat/openai-api, 2026-11-28",
        ),
        "ark": Preset(
            "https://ark.cn-beijing.volces.com/api/v3",
            ("ARK_API_KEY",),
            ChatProfile(refused=LOCAL_SAMPLING),
            checked="volcengine.com/docs/82379/1298454, 2026-11-28",
        ),
        "siliconflow": Preset(
            "https://api.siliconflow.cn/v1",
            ("SILICONFLOW_API_KEY",),
            checked="docs.siliconflow.cn/cn/api-reference/chat-completions, 2026-11-28",
        ),
        "openrouter": Preset(
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            ChatProfile(think_tags=True, max_calls=128),
            checked="openrouter.ai/docs/api-reference/chat-completion, 2026-11-28",
        ),
        # refuses reasoning in a message of the model, as many reports say
        "groq": Preset(
            "https://api.groq.com/openai/v1",
            ("GROQ_API_KEY",),
            ChatProfile(reasoning="never", think_tags=True, refused=LOCAL_SAMPLING),
            checked="console.groq.com/docs/openai and gptel#774, 2026-11-28",
        ),
        "mistral": Preset(
            "https://api.mistral.ai/v1",
            ("MISTRAL_API_KEY",),
            ChatProfile(
                target="mistral",
                result_name=True,
                short_ids=True,
                bridge=True,
                document_url=True,
                stream_usage=False,
                reasoning="never",
                refused=LOCAL_SAMPLING,
                seed_key="random_seed",
            ),
            checked="docs.mistral.ai/api/endpoint/chat, 2026-11-28",
        ),
        "together": Preset(
            "https://api.together.xyz/v1",
            ("TOGETHER_API_KEY",),
            checked="docs.together.ai/docs/inference/chat/parameters, 2026-11-28",
        ),
        "fireworks": Preset(
            "https://api.fireworks.ai/inference/v1",
            ("FIREWORKS_API_KEY",),
            checked="docs.fireworks.ai/guides/reasoning, 2026-11-28",
        ),
        "cerebras": Preset(
            "https://api.cerebras.ai/v1",
            ("CEREBRAS_API_KEY",),
            ChatProfile(
                "max_completion_tokens",
                parallel=False,
                think_tags=True,
                refused=LOCAL_SAMPLING | PENALTIES,
            ),
            checked="inference-docs.cerebras.ai/api-reference/chat-completions, 2026-11-28",
        ),
        # its reasoning models refuse penalties and stop texts
        "xai": Preset(
            "https://api.x.ai/v1",
            ("XAI_API_KEY",),
            ChatProfile("max_completion_tokens", refused=LOCAL_SAMPLING | PENALTIES | {"stop"}),
            checked="docs.x.ai/docs/guides/reasoning, 2026-11-28",
        ),
        "nvidia": Preset(
            "https://integrate.api.nvidia.com/v1",
            ("NVIDIA_API_KEY",),
            checked="docs.nvidia.com/nim/large-language-models, 2026-11-28",
        ),
        "huggingface": Preset(
            "https://router.huggingface.co/v1",
            ("HF_TOKEN",),
            checked="huggingface.co/docs/inference-providers/tasks/chat-completion, 2026-11-28",
        ),
    }
)
"""Servers by the name that ``connect("name:model")`` knows them by."""


_NAMES: Mapping[str, str] = MappingProxyType({"mistral": "mistral_ai", "xai": "x_ai"})
"""What the conventions call a vendor, where it is not what `PRESETS` calls it."""
_ENDS: Sequence[tuple[str, str]] = (
    ("anthropic.com", "anthropic"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("openai.com", "openai"),
    ("amazonaws.com", "aws.bedrock"),
    ("api.aws", "aws.bedrock"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    *((urlsplit(made.base_url).hostname or "", name) for name, made in PRESETS.items()),
)


def provider_at(host: str) -> str:
    """Return a server's provider by OpenTelemetry's names, or an empty string for an unknown host.

    A server on this machine, or a proxy, may belong to anybody.

    >>> provider_at("api.x.ai"), provider_at("my.openai.azure.com"), provider_at("127.0.0.1")
    ('x_ai', 'azure.ai.openai', '')
    """
    for end, name in _ENDS:
        if end != "127.0.0.1" and (host == end or host.endswith(f".{end}")):
            return _NAMES.get(name, name)
    return ""


def base_url_of(vendor: str, environment: Mapping[str, str]) -> str:
    """Return a known server's address: ``<VENDOR>_BASE_URL``, else its usual one.

    Ollama's own variable ``OLLAMA_HOST`` counts too, if it has an address that clients can use.

    >>> base_url_of("ollama", {"OLLAMA_HOST": "0.0.0.0:8090"})
    'http://127.0.0.1:8090/v1'
    """
    configured = environment.get(f"{vendor.upper()}_BASE_URL")
    if configured:
        return configured
    if vendor == "ollama" and environment.get("OLLAMA_HOST"):
        return _parse_ollama_host(environment["OLLAMA_HOST"].strip())
    return PRESETS[vendor].base_url


def _parse_ollama_host(host: str) -> str:
    """Return ``OLLAMA_HOST`` as a base URL: with scheme, port, ``/v1`` and a reachable host."""
    scheme, _, place = host.rpartition("://")
    place = place.strip("/").replace("0.0.0.0", "127.0.0.1")
    if ":" not in place.rpartition("]")[2]:  # no port, IPv6 or not
        place += {"http": ":80", "https": ":443"}.get(scheme, ":11434")
    return f"{scheme or 'http'}://{place}/v1"
