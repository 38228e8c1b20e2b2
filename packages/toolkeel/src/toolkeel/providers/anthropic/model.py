"""Claude, through Anthropic's official SDK."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError, SetupError
from toolkeel.providers.anthropic.encode import AnthropicEncoder
from toolkeel.providers.anthropic.profile import WIRE, AnthropicProfile
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions
from toolkeel.providers.wire.plain_json import Json, as_list
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.structured_output import claude_has_structured_output

try:
    import anthropic
    import httpx2
    from anthropic.lib.bedrock import AsyncAnthropicBedrock, AsyncAnthropicBedrockMantle
    from anthropic.lib.vertex import AsyncAnthropicVertex

    from toolkeel.providers.wire.sdk_model import SdkModel, own_client, sdk_clients
except ImportError as error:
    raise MissingExtraError("AnthropicMessages", "anthropic") from error

Client: TypeAlias = (
    anthropic.AsyncAnthropic
    | AsyncAnthropicBedrock
    | AsyncAnthropicBedrockMantle
    | AsyncAnthropicVertex
)


class AnthropicModelOptions(ModelOptions, total=False):
    """Options of `AnthropicMessages`, beside `ModelOptions`.

    Attributes:
        prompt_cache: True to mark the part that the next request repeats for the server's cache,
            which makes it far cheaper; True by default.
        unsigned_thinking: True if the server accepts thinking without a signature; by default, if
            its replies have none.
        keep_container: True to use the last code execution container for the next question too;
            by default, it is used until the turn ends.
        hosts_tools: True if the server has tools of its own, such as web search; by default, if it
            is Anthropic's.
    """

    prompt_cache: bool
    unsigned_thinking: bool
    keep_container: bool
    hosts_tools: bool


@checked
class AnthropicMessages(SdkModel):
    """A model that answers over Anthropic's Messages API, or a server's that imitates it.

    The SDK's environment variables stay in force: ``ANTHROPIC_API_KEY``,
    ``ANTHROPIC_AUTH_TOKEN``, ``ANTHROPIC_BASE_URL``, ``ANTHROPIC_PROFILE`` and its kin. Failed
    requests are sent again as `wire.retry` says. A reply that pauses in a long turn of the
    server's own tools is asked to go on.

    Args:
        model: The model's name on the server.
        base_url: Where the server is; None: Anthropic's.
        api_key: None: from the environment; a server at `base_url` may need none.
        client: An `anthropic.AsyncAnthropic` (or Bedrock's, Vertex's) of your own, which then
            knows address, key and timeout by itself, and how often to send again if
            `max_retries` does not say.
        stream: True to request the answer as a stream.
        options: See `AnthropicModelOptions`.

    Raises:
        SetupError: if `client` has another type, there is no key, or an option is unknown.
    """

    encoder = AnthropicEncoder
    output_dialect = "anthropic-strict"
    package: ClassVar[Any] = anthropic
    path = "/v1/messages"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Client | None = None,
        stream: bool = True,
        **options: Unpack[AnthropicModelOptions],
    ) -> None:
        check_options("AnthropicMessages", options, AnthropicModelOptions.__annotations__)
        timeout = options.get("timeout")
        sdk_options: Json = {
            "base_url": base_url,
            "api_key": api_key,
            "timeout": anthropic.NOT_GIVEN if timeout is None else timeout,
        }
        new = partial(own_client, anthropic, self.path, partial(_new_client, model), sdk_options)
        clients = sdk_clients(new, client)
        host = clients.first.sdk.base_url.host
        self._own = provider_at(host) == WIRE
        hosts = options.get("hosts_tools", self._own)
        self.hosts = WIRE if hosts else ""
        profile = AnthropicProfile(
            model,
            stream,
            hosts,
            host,
            prompt_cache=options.get("prompt_cache", True),
            unsigned_thinking=options.get("unsigned_thinking", False),
            keep_container=options.get("keep_container", False),
            betas_in_header=True,
        )
        super().__init__(profile, options, clients)

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if this is Anthropic's own server and its model holds replies to a schema."""
        return self._own and claude_has_structured_output(self.name)

    def _betas(self, prepared: PreparedRequest) -> str:
        """Return the beta features that settings name or tools need, separated by commas."""
        asked = map(str, as_list(prepared.settings.extra_body.get("betas")))
        return ",".join(dict.fromkeys([*asked, *prepared.tools.betas]))

    def _needs_dict_body(self, sdk: Any) -> bool:  # clouds' read the model out of a dict
        """Return True for the SDK's cloud clients, which read the model's name from a dict."""
        return type(sdk) is not anthropic.AsyncAnthropic

    def _read(self, sdk: Any, answer: httpx2.Response) -> AsyncGenerator[Sequence[object]]:
        """Yield the events of a streamed answer, as SSE or in AWS's event frames."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/vnd.amazon.eventstream":
            return super()._read(sdk, answer)
        return _read_frames(
            anthropic.AsyncStream[object](cast_to=object, response=answer, client=sdk)
        )


async def _read_frames(stream: anthropic.AsyncStream[object]) -> AsyncGenerator[Sequence[object]]:
    """Yield the events of an answer that a cloud sends in AWS's event frames instead of SSE."""
    async with stream:
        async for event in stream:
            yield [event]


def _new_client(model: str, options: Mapping[str, Any]) -> anthropic.AsyncAnthropic:
    """Make the SDK's client; without a key only for a server other than Anthropic's.

    Raises:
        SetupError: if there is no key and no other server's address.
    """
    why = ""
    try:
        client = anthropic.AsyncAnthropic(**options)
        if client.api_key or client.auth_token or client.credentials:
            return client
    except anthropic.CredentialsError as error:
        why = f" ({error})"
    if options["base_url"] or os.environ.get("ANTHROPIC_BASE_URL"):
        return anthropic.AsyncAnthropic(**{**options, "api_key": "none"})
    raise SetupError(
        f"AnthropicMessages({model!r}): no API key; set ANTHROPIC_API_KEY or pass api_key={why}"
    )
