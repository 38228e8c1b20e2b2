"""A model of each wire that asks a server on loopback."""

from __future__ import annotations

from typing import Any

from tests.providers.loopback import Loopback
from toolkeel.providers.anthropic.model import AnthropicMessages
from toolkeel.providers.bedrock.model import BedrockConverse
from toolkeel.providers.gemini.model import Gemini
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.openai_responses.model import OpenAIResponses


def chat(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=server.url, api_key="x", **options)


def responses(server: Loopback, **options: Any) -> OpenAIResponses:
    return OpenAIResponses("m", base_url=server.url, api_key="x", **options)


def anthropic(server: Loopback, **options: Any) -> AnthropicMessages:
    return AnthropicMessages("m", base_url=server.url, api_key="x", **options)


def gemini(server: Loopback, **options: Any) -> Gemini:
    return Gemini("m", base_url=server.url, api_key="x", **options)


def bedrock(server: Loopback, **options: Any) -> BedrockConverse:
    return BedrockConverse("m", base_url=server.url, region="us-east-1", **options)


MODELS = [chat, responses, anthropic, gemini, bedrock]
