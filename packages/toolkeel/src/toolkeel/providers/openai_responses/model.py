"""Models behind the Responses API, through OpenAI's official SDK."""

from __future__ import annotations

from typing import Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError
from toolkeel.providers.openai_responses.encode import ResponsesEncoder
from toolkeel.providers.openai_responses.profile import WIRE
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.structured_output import gpt_has_structured_output

try:
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAIResponses", "openai") from error

from toolkeel.providers.wire.openai_client import OpenAIModel, is_openai, open_clients


class ResponsesOptions(ModelOptions, total=False):
    """Options of `OpenAIResponses`, beside `ModelOptions`.

    Attributes:
        hosts_tools: True if the server has tools of its own, such as web search; by default, if it
            is OpenAI's or Azure's.
    """

    hosts_tools: bool


@checked
class OpenAIResponses(OpenAIModel):
    """A model that answers over the Responses API: OpenAI's, or a server's that imitates it.

    Nothing is stored at the server: each request carries the transcript, with the model's own
    reasoning in its encrypted form. The SDK's environment variables stay in force:
    ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``. Failed
    requests are sent again as `wire.retry` says.

    Args:
        model: The model's name on the server.
        base_url: Where the server is, ``/v1`` included; None: OpenAI's.
        api_key: None: from the environment; a server at `base_url` may need none.
        client: An `openai.AsyncOpenAI` (or Azure's) of your own, which then knows address, key
            and timeout by itself, and how often to send again if `max_retries` does not say.
        stream: True to request the answer as a stream.
        options: See `ResponsesOptions`.

    Raises:
        SetupError: if the client is no `AsyncOpenAI`, there is no key, or an option is unknown.
    """

    encoder = ResponsesEncoder
    output_dialect = "openai-strict"
    path = "/responses"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        stream: bool = True,
        **options: Unpack[ResponsesOptions],
    ) -> None:
        check_options("OpenAIResponses", options, ResponsesOptions.__annotations__)
        place = (base_url, api_key, options.get("timeout"))
        clients = open_clients(type(self), model, client, place)
        host = clients.first.sdk.base_url.host
        self._own = is_openai(host)
        hosts = options.get("hosts_tools", self._own)
        self.hosts = WIRE if hosts else ""
        super().__init__(ModelProfile(model, stream, hosts, host), options, clients)

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if this is OpenAI's own server and its model holds replies to a schema."""
        return self._own and gpt_has_structured_output(self.name)
