"""Models behind Chat Completions, through OpenAI's official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Literal, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError, ModelError
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta, Finish, ModelRequest, ToolDefinition
from toolkeel.providers.chat_servers import COMPATIBLE, OPENAI, ChatProfile
from toolkeel.providers.constrained.checks import (
    check_calls,
    is_same_name,
    lacks_tools,
    make_grammar_retry,
    with_call_mode,
)
from toolkeel.providers.constrained.send import send_constrained
from toolkeel.providers.constrained.server_facts import ServerClient
from toolkeel.providers.openai_chat.call_mode import CallMode, Calls, refuse_old_name
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.text_calls.decoder import TextCalls, find_calls
from toolkeel.providers.text_calls.think_tags import ThinkTags
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions, log
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
        calls: How the model calls tools. ``native``: by the server's own tools. ``text``: so, and
            calls in the reply's text count too, for servers that do not know their model's form
            (see `toolkeel.providers.text_calls.decoder`). ``grammar``: the tools are in the prompt,
            and the server holds the reply to the schema of a call or an answer. ``auto``: what
            suits the server, which is asked. By default ``auto`` for known local servers, else
            ``native``.
    """

    profile: ChatProfile | None
    calls: Literal["auto", "native", "text", "grammar"]


@checked
class OpenAIChat(OpenAIModel):
    """A model that answers over Chat Completions: OpenAI's, or any server's that imitates it.

    The SDK's environment variables stay in force: ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``,
    ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``. Failed requests are sent again as `wire.retry` says.

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
        refuse_old_name(options)
        check_options("OpenAIChat", options, ChatOptions.__annotations__)
        place = (base_url, api_key, options.get("timeout"))
        profile = options.get("profile")
        # llama.cpp closes a connection after a stream, which the next request would notice too late
        headers = {"Connection": "close"} if profile and profile.kind == "llamacpp" else None
        clients = open_clients(type(self), model, client, place, headers)
        host = clients.first.sdk.base_url.host
        self.profile = profile or (OPENAI if is_openai(host) else COMPATIBLE)
        server = ServerClient(str(clients.first.sdk.base_url), clients.first.sdk.api_key)
        self._call_mode = CallMode(model, options.get("calls"), self.profile, server)
        self._is_model_known = False
        target = ChatTarget(model, stream, endpoint=host, server=self.profile)
        super().__init__(target, options, clients)

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if the server holds replies to a schema, with tools if `tools` is True."""
        if self.profile.grammar:
            return self._call_mode.has_grammar and (not tools or self.calls in ("auto", "grammar"))
        return self.profile.json_schema and gpt_has_structured_output(self.name)

    def _deltas(
        self, request: ModelRequest, prepared: PreparedRequest, body: object, decoder: Decoder
    ) -> AsyncGenerator[Deltas]:
        """Yield the deltas of a reply, with reasoning and calls found in its text if so configured."""
        plain = super()._deltas(request, prepared, body, decoder)
        if self.profile.think_tags:
            plain = _with_reasoning(plain)
        reads_text = self.calls in ("auto", "text") and request.tools
        return _with_calls(plain, request.tools) if reads_text else plain

    @property
    def calls(self) -> Calls:
        """The option `calls`."""
        return self._call_mode.option

    @property
    def context_length(self) -> int | None:
        """Tokens of the model's context, or None until the server has reported it."""
        facts = self._call_mode.facts
        return facts.context_length if facts is not None else None

    def _report_other_model(self, deltas: Deltas) -> None:
        """Log once if a local server answers with another model, and record that it is known."""
        if not self.profile.kind or self._is_model_known:
            return
        end = next((one for one in deltas if isinstance(one, Finish | AssistantMessage)), None)
        if end is not None and end.model:
            self._is_model_known = True
            if not is_same_name(end.model, self.name):
                log.warning("%r: the server answers with another model: %s", self, end.model)

    async def _request_reply(
        self, request: ModelRequest, corrections: int = 0
    ) -> AsyncGenerator[Deltas]:
        """Yield the reply to a request, with native or constrained calls.

        Record a model whose native calls are unreliable, and raise the error so that the next try
        is constrained.
        """
        if request.settings.max_tokens is None and self.profile.max_tokens:
            settings = replace(request.settings, max_tokens=self.profile.max_tokens)
            request = replace(request, settings=settings)
        mode = self._call_mode
        has_tools = bool(request.tools) and request.settings.tool_choice != "none"
        calls = await mode.choose(request) if has_tools else "native"
        is_local = bool(self.profile.kind) and has_tools and mode.has_grammar
        if is_local and corrections:
            calls = "grammar"
        if calls == "grammar" and has_tools:
            parts = send_constrained(request, self.name, super()._request_reply)
        else:
            parts = super()._request_reply(request)
            if is_local:
                parts = check_calls(parts, request)
        async with aclosing(parts):
            try:
                async for deltas in parts:
                    self._report_other_model(deltas)
                    yield [with_call_mode(one, calls) for one in deltas] if is_local else deltas
            except ModelError as error:
                if is_local and calls != "grammar" and lacks_tools(error):
                    mode.is_unreliable = True
                    if self.calls == "auto":
                        raise make_grammar_retry(error) from error
                mode.is_unreliable = mode.is_unreliable or bool(
                    error.mistake and not error.retryable
                )
                raise


async def _with_calls(
    plain: AsyncGenerator[Deltas], tools: Sequence[ToolDefinition]
) -> AsyncGenerator[Deltas]:
    """Yield the deltas of `plain`, with calls where they are written in its text."""
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
    """Yield the deltas of `plain`, with text between ``<think>`` tags as reasoning."""
    tags = ThinkTags()
    async with aclosing(plain) as parts:
        async for deltas in parts:
            found: list[Delta | AssistantMessage] = []
            for delta in deltas:
                found += tags.feed(delta)
            yield found
    yield tags.finish()
