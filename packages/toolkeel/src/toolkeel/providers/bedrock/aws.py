"""AWS's own library on Bedrock: addresses, credentials, signatures, frames.

The parts of a request that botocore adds, beside its body, are always the same. So botocore makes one
request, with its profiles, regions, endpoints and environment; that one is not sent, but signed anew
with the time and the body of each request that is.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from threading import Lock
from types import SimpleNamespace
from typing import Any

from botocore import auth, eventstream, exceptions  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.session import Session  # type: ignore[import-untyped]

from toolkeel.call.body.thread_pool import ThreadPool
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import Json, as_dict, plain

_THREADS = ThreadPool(8)


class _Described(Exception):
    """Stops a request of botocore's before it is signed; carries its description."""


class Aws:
    """One operation of the service on one model.

    Args:
        session: Session of boto3 or botocore; None: a new one, from this process's environment.
        model: The model's id or ARN.
        operation: ``converse`` or ``converse_stream``.
        base_url: Address of the service; None: botocore's.
        region: None: the session's, or ``AWS_REGION``.

    Raises:
        SetupError: if there is no region, or no request can be made.
    """

    def __init__(
        self, session: Any, model: str, operation: str, base_url: str | None, region: str | None
    ) -> None:
        try:
            self._session = _botocore_session(session)
            made = _describe_request(self._session, model, operation, base_url, region)
            bundle = self._session.get_config_variable("ca_bundle")
            bundle = bundle or os.environ.get("REQUESTS_CA_BUNDLE")
            self.trust = ssl.create_default_context(cafile=bundle) if bundle else True
        except (exceptions.BotoCoreError, ValueError, AttributeError, OSError) as error:
            hint = isinstance(error, exceptions.NoRegionError) * " Set AWS_REGION or pass region=;"
            raise SetupError(
                f"BedrockConverse({model!r}): {error}{hint} see boto3's guide"
            ) from error
        self._version = made["signature_version"]
        if self._version not in ("v4", "bearer"):
            raise SetupError(f"BedrockConverse: no way to sign as {self._version!r} says")
        request, self._name = made["request"], made["signing_name"]
        self._region = request.context.get("signing", {}).get("region") or made["region_name"]
        self.url: str = request.url
        del request.headers["X-Amzn-Trace-Id"]  # of this moment
        self._headers = dict(request.headers.items())
        self._lock = Lock()
        self._credentials: Any = None
        self._cached_signer: tuple[Any, Callable[[bytes], dict[str, str]] | None] = (None, None)

    async def headers(self, body: bytes) -> dict[str, str]:
        """Return the signed headers of a request with `body`; store credentials and signer.

        What may block runs in a thread.
        """
        if self._credentials is None or getattr(self._credentials, "refresh_needed", bool)():
            keys = await _THREADS.submit(self._load_credentials).future
        else:
            keys = self._credentials.get_frozen_credentials()
        known, sign = self._cached_signer
        if sign is None or keys != known:
            sign = self._make_signer(keys)
            self._cached_signer = keys, sign
        return sign(body)

    def _load_credentials(self) -> object:
        """Return frozen AWS credentials or the bearer token, renewed if needed and stored.

        None if there are none.
        """
        with self._lock:
            if self._version == "bearer":
                token = self._session.get_auth_token(signing_name=self._name)
                self._credentials = SimpleNamespace(get_frozen_credentials=lambda: token)
            else:
                self._credentials = self._session.get_credentials()
            credentials = self._credentials
        return (
            credentials and credentials.get_frozen_credentials()
        )  # renewing them blocks no other thread

    def _make_signer(self, keys: Any) -> Callable[[bytes], dict[str, str]]:
        """Return a function from a body to the headers of its request, signed as botocore signs, at that time."""
        draft = AWSRequest("POST", self.url, headers=self._headers, data=b"")
        bearer = self._version == "bearer"
        signer: Any = (
            auth.BearerAuth(keys) if bearer else auth.SigV4Auth(keys, self._name, self._region)
        )
        signer.add_auth(draft)
        headers = dict(draft.headers.items())
        if bearer:
            return lambda body: headers
        del draft.headers["Authorization"]
        form = signer.canonical_request(draft).removesuffix(sha256(b"").hexdigest())
        before, after = form.split(f"x-amz-date:{headers['X-Amz-Date']}")
        names = signer.signed_headers(signer.headers_to_sign(draft))

        def sign(body: bytes) -> dict[str, str]:
            """Return the headers of a request with this body, signed for the current time."""
            now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            when = SimpleNamespace(context={"timestamp": now})
            asked = f"{before}x-amz-date:{now}{after}{sha256(body).hexdigest()}"
            signature = signer.signature(signer.string_to_sign(when, asked), when)
            who = f"Credential={signer.scope(when)}, SignedHeaders={names}, Signature={signature}"
            return {**headers, "X-Amz-Date": now, "Authorization": f"AWS4-HMAC-SHA256 {who}"}

        return sign


def _botocore_session(session: Any) -> Any:
    """Return the botocore session of a boto3 session, or a new one for None.

    Raises:
        SetupError: if it is no session, or its configuration has options that cannot be honored.
    """
    core = Session() if session is None else getattr(session, "_session", session)
    if not isinstance(core, Session):
        kind = type(session).__name__
        raise SetupError(f"BedrockConverse(session=...): expected a boto3.Session, got {kind}")
    default = core.get_default_client_config()
    named = ("proxies", "proxies_config", "client_cert")  # connections are not botocore's
    if found := [name for name in named if getattr(default, name, None)]:
        raise SetupError(
            f"BedrockConverse(session=...): {', '.join(found)} of its default configuration "
            "cannot be honoured; HTTPS_PROXY and AWS_CA_BUNDLE are"
        )
    return core


def _describe_request(
    core: Any, model: str, operation: str, base_url: str | None, region: str | None
) -> dict[str, Any]:
    """Let botocore prepare a minimal request; return its description instead of signing it.

    Without a base URL or region, botocore's own settings decide. Raises `AttributeError` if botocore
    prepares none.
    """
    default = getattr(core.get_default_client_config(), "region_name", None)
    client = core.create_client(
        "bedrock-runtime",
        region or default or core.get_config_variable("region") or os.environ.get("AWS_REGION"),
        endpoint_url=base_url,
        aws_access_key_id="-",  # real ones are looked for once they are needed: that may block
        aws_secret_access_key="-",
    )

    def take(**made: Any) -> None:
        """Raise `_Described` with the request that botocore is about to sign."""
        raise _Described(made)

    client.meta.events.register_last("before-sign.bedrock-runtime", take)
    try:
        getattr(client, operation)(modelId=model, messages=[])
    except _Described as made:
        return dict(made.args[0])
    raise AttributeError("botocore made no request")


async def decode_frames(pieces: AsyncIterable[bytes]) -> AsyncGenerator[Sequence[object]]:
    """Yield the events of an answer in AWS's frames, as each piece completes them.

    Raises:
        Exception: botocore's error for a broken frame, after the events before it.
    """
    frames = eventstream.EventStreamBuffer()
    async for piece in pieces:
        frames.add_data(piece)
        events: list[Json] = []
        try:
            events.extend(map(_decode_event, frames))
        except Exception:  # those before a broken one are valid
            yield events
            raise
        yield events


def _decode_event(frame: Any) -> Json:
    """Return an event as a dict with one key, its type.

    The key of an error ends in ``Exception``. Raises `ModelError` for a payload that is not JSON.
    """
    head = frame.headers
    if name := head.get(":event-type"):
        return {name: plain(frame.payload)}
    name = head.get(":exception-type") or head.get(":error-code") or ""
    data = as_dict(plain(frame.payload or b"{}"))
    data.setdefault("message", head.get(":error-message", ""))
    return {f"{name.removesuffix('Exception')}Exception": data}
