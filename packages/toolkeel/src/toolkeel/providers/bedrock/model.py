"""Models on Amazon Bedrock: addressed, signed and framed by botocore, sent as on every other wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError, ModelUnavailable, SetupError
from toolkeel.providers.bedrock.encode import BedrockEncoder
from toolkeel.providers.bedrock.profile import BedrockProfile
from toolkeel.providers.wire.http import ClientPerLoop, check_options
from toolkeel.providers.wire.model import ModelOptions
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.server_errors import response_error
from toolkeel.providers.wire.structured_output import claude_has_structured_output

try:
    import httpx2
    from botocore import exceptions  # type: ignore[import-untyped]

    from toolkeel.providers.bedrock.aws import Aws, decode_frames
    from toolkeel.providers.wire.sdk_model import RequestTemplate, SdkClient, SdkModel, http_errors
except ImportError as error:
    raise MissingExtraError("BedrockConverse", "bedrock") from error

TIMEOUT = 600.0
"""Seconds to wait for an answer or its next bytes."""
_SETUP_ERRORS = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.InvalidEndpointConfigurationError,  # a bearer token over plain HTTP
)


class BedrockModelOptions(ModelOptions, total=False):
    """Options of `BedrockConverse`, beside `ModelOptions`.

    Attributes:
        prompt_cache: True to mark the part that the next request repeats for the cache, if the
            model accepts such marks; True by default.
    """

    prompt_cache: bool


@checked
class BedrockConverse(SdkModel):
    """A model on Amazon Bedrock, asked through the Converse API.

    Credentials, region and endpoint are those that boto3 would take, with its environment variables
    and files: ``AWS_DEFAULT_REGION`` (or ``AWS_REGION``), ``AWS_PROFILE``, ``AWS_ACCESS_KEY_ID``,
    ``AWS_BEARER_TOKEN_BEDROCK``, ``AWS_ENDPOINT_URL_BEDROCK_RUNTIME``, ``AWS_CA_BUNDLE`` and so on.
    Failed requests are sent again as `wire.retry` says.

    Args:
        model: The model's id, such as ``us.anthropic.claude-sonnet-4-5-20250929-v1:0``, or the
            ARN of an inference profile.
        base_url: Where the service is; None: where the region's is.
        region: None: from boto3's environment and files.
        session: A ``boto3.Session`` of your own, or one of botocore: whose profile and credentials
            are taken. Handlers of its events see one request that is not sent, when the model is
            made.
        stream: True to request the answer as a stream.
        options: See `BedrockModelOptions`.

    Raises:
        SetupError: if the session is none, there is no region, or an option is unknown.
    """

    encoder = BedrockEncoder
    output_dialect = "anthropic-strict"
    vendor = "aws.bedrock"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        region: str | None = None,
        session: Any = None,
        stream: bool = True,
        **options: Unpack[BedrockModelOptions],
    ) -> None:
        if "client" in options:
            raise SetupError("BedrockConverse(client=...): pass session=boto3.Session(...) instead")
        check_options("BedrockConverse", options, BedrockModelOptions.__annotations__)
        operation = "converse_stream" if stream else "converse"
        self._aws = Aws(session, model, operation, base_url, region)
        waits = options.get("timeout") or TIMEOUT
        timeout = httpx2.Timeout(waits, connect=min(waits, 10.0)).as_dict()
        self._template = RequestTemplate(self._aws.url, {}, timeout)
        clients = ClientPerLoop(partial(_new_client, self._aws.trust))
        marked, place = options.get("prompt_cache", True), base_url or region or ""
        profile = BedrockProfile(model, stream, endpoint=place, prompt_cache=marked)
        super().__init__(profile, options, clients)

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context that turns errors of AWS and HTTP into `ModelError`, of credentials into `SetupError`."""
        return _model_errors(self.name)

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if the model is a Claude that holds replies to a schema."""
        return claude_has_structured_output(self.name)

    async def _post(
        self, client: SdkClient, body: bytes, prepared: PreparedRequest
    ) -> httpx2.Response:
        """Sign the request, send it, and return the answer; the body of a streamed one is still unread."""
        headers = await self._aws.headers(body)
        return await self._send(
            client.sdk, self._template, body, headers, prepared.settings.timeout
        )

    def _read(self, sdk: Any, answer: httpx2.Response) -> AsyncGenerator[Sequence[object]]:
        """Yield the events of a streamed answer from AWS's event frames."""
        return decode_frames(answer.aiter_bytes())


def _new_client(trust: Any) -> SdkClient:
    """Make an HTTP client with up to 1,000 connections; `trust` is its TLS verification."""
    http = httpx2.AsyncClient(
        verify=trust, limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
    )
    return SdkClient(http, close=http.aclose)


@contextmanager
def _model_errors(model: str) -> Iterator[None]:
    """Raise errors of credentials and of requests in the block as `ModelError`.

    Credentials that are missing or incomplete raise `SetupError`.
    """
    with http_errors(model):
        try:
            yield
        except exceptions.ClientError as error:  # of the service that gives credentials
            details, meta = error.response["Error"], error.response.get("ResponseMetadata", {})
            name = {"x-amzn-errortype": details.get("Code", "")}
            raise response_error(meta.get("HTTPStatusCode"), details, name) from error
        except _SETUP_ERRORS as error:
            raise SetupError(f"BedrockConverse({model!r}): {error}; see boto3's guide") from error
        except exceptions.BotoCoreError as error:
            raise ModelUnavailable(str(error)) from error
