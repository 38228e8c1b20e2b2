"""Models behind Chat Completions, through OpenAI's official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, ModelRequest, ToolDefinition
from toolkeel.providers.chat_servers import COMPATIBLE, OPENAI, ChatProfile
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.text_calls.decoder import TextCalls, find_calls
from toolkeel.providers.text_calls.think_tags import ThinkTags
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.retry import Deltas
from toolkeel.providers.wire.structured_output import gpt_has_structured_output

try:
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAIChat", "openai") from error

from toolkeel.providers.wire.openai_client import OpenAIModel, is_openai, open_clients


class ChatOptions(ModelOptions, total=False):
    """Options of `OpenAIChat`, beside `ModelOptions`.

    Attributes:
        profile: What the server accepts; by default OpenAI's profile for its own server, else
            that of most imitators.
        text_calls: ``auto``: calls in the reply's text count too, for servers that do not know
            their model's form (see `toolkeel.providers.text_calls.decoder`); ``never`` by
            default.
    """

    profile: ChatProfile | None
    text_calls: Literal["auto", "never"]


@checked
class OpenAIChat(OpenAIModel):
    """A model that answers over Chat Completions: OpenAI's, or any server's that imitates it.

    The SDK's environment variables stay in force: ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``,
    ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``. Failed requests are sent again as ``retry.py`` says.

    Args:
        model: The model's name on the server.
        base_url: Where the server is, ``/v1`` included; None: OpenAI's.
        api_key: None: from the environment; a server at `base_url` may need none.
        client: An `openai.AsyncOpenAI` (or Azure's) of your own, which then knows address, key
            and timeout by itself, and how often to send again if `max_retries` does not say.
        stream: True to request the answer as a stream.
        options: See `ChatOptions`.

    Raises:
        SetupError: if the client is no `AsyncOpenAI`, there is no key, or an option is unknown.
    """

    encoder = ChatEncoder
    output_dialect = "openai-strict"
    path = "/chat/completions"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        stream: bool = True,
        **options: Unpack[ChatOptions],
    ) -> None:
        check_options("OpenAIChat", options, ChatOptions.__annotations__)
        place = (base_url, api_key, options.get("timeout"))
        clients = open_clients(type(self), model, client, place)
        host = clients.first.sdk.base_url.host
        self.profile = options.get("profile") or (OPENAI if is_openai(host) else COMPATIBLE)
        self._text_calls = options.get("text_calls") == "auto"
        target = ChatTarget(model, stream, endpoint=host, server=self.profile)
        super().__init__(target, options, clients)

    def _has_structured_output(self, tools: bool) -> bool:
        if self.profile.grammar:  # all but what Ollama passes on to its cloud, which holds nothing
            return not tools and not self.name.endswith("-cloud")
        return self.profile.json_schema and gpt_has_structured_output(self.name)

    def _deltas(
        self, request: ModelRequest, prepared: PreparedRequest, body: object, decoder: Decoder
    ) -> AsyncGenerator[Deltas]:
        plain = super()._deltas(request, prepared, body, decoder)
        if self.profile.think_tags:
            plain = _with_reasoning(plain)
        return _with_calls(plain, request.tools) if self._text_calls else plain


async def _with_calls(
    plain: AsyncGenerator[Deltas], tools: Sequence[ToolDefinition]
) -> AsyncGenerator[Deltas]:
    """`plain`, with calls where they stand in its text."""
    texts = TextCalls(tools)
    async with aclosing(plain) as parts:
        async for deltas in parts:
            found: list[Delta | AssistantMessage] = []
            for delta in deltas:
                if isinstance(delta, AssistantMessage):
                    found.append(find_calls(delta, tools))
                else:
                    found += texts.feed(delta)
            yield found
    yield texts.finish()


async def _with_reasoning(plain: AsyncGenerator[Deltas]) -> AsyncGenerator[Deltas]:
    """`plain`, with text between ``<think>`` tags as reasoning."""
    tags = ThinkTags()
    async with aclosing(plain) as parts:
        async for deltas in parts:
            found: list[Delta | AssistantMessage] = []
            for delta in deltas:
                found += tags.feed(delta)
            yield found
    yield tags.finish()
