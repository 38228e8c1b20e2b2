"""Requests to Bedrock have the address, the headers and the signature that boto3 would give them."""

from __future__ import annotations

import asyncio
import ssl
import struct
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import boto3
import botocore.session
import httpx2
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, CredentialRetrievalError, EndpointConnectionError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.bedrock.accounts import KEYS, Lent, account, by_boto3, lending, text
from tests.providers.loopback import saying
from tests.providers.recorded import frames, pieces
from toolkeel.errors import AccessDenied, ModelError, ModelUnavailable, SetupError
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.bedrock.aws import Aws, decode_frames
from toolkeel.providers.bedrock.model import BedrockConverse

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"
SIGNED = ("authorization", "content-type", "user-agent", "x-amz-date", "x-amz-security-token")
DENIED = {"ResponseMetadata": {"HTTPStatusCode": 403}}
LATER = (datetime.now(UTC) + timedelta(hours=5)).isoformat()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    account(monkeypatch, tmp_path, **KEYS, AWS_REGION="us-east-1")


def aws(model: str = CLAUDE, operation: str = "converse", session: Any = None, **place: Any) -> Aws:
    return Aws(session, model, operation, place.get("base_url"), place.get("region"))


def headers(ours: Aws, body: bytes = b"{}") -> dict[str, str]:
    return asyncio.run(ours.headers(body))


def alike(ours: Aws, model: str, body: bytes, operation: str = "converse", **place: Any) -> None:
    """Raise unless boto3 would send the same in the same second."""
    send = by_boto3(model, body, operation=operation, **place)
    while True:  # until both fall into one second
        given = {key.lower(): value for key, value in headers(ours, body).items()}
        theirs = send()
        expected = {key.lower(): text(value) for key, value in theirs.headers.items()}
        if given.get("x-amz-date") == expected.get("x-amz-date"):
            break
    agent = "user-agent"  # botocore counts what is used of it, and ours finds its keys later
    given[agent], expected[agent] = given[agent].split(" m/")[0], expected[agent].split(" m/")[0]
    assert {key: given.get(key) for key in SIGNED} == {key: expected.get(key) for key in SIGNED}
    assert given.keys() <= expected.keys()
    assert ours.url == theirs.url
    assert httpx2.URL(ours.url).raw_path.decode() == theirs.url.split("/", 3)[3].join(["/", ""])


SESSION = botocore.session.Session()
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(
    lambda one: one.strip(".")  # a path of dots is no path
)


@settings(max_examples=40)
@given(
    model=ids | st.sampled_from([CLAUDE, ARN]),
    body=st.binary(max_size=200),
    stream=st.booleans(),
    token=st.sampled_from([None, "FwoGZXIvYXdzEJr//+="]),
    region=st.sampled_from(["us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1", "ap-x-9"]),
    base_url=st.sampled_from(
        [None, "http://127.0.0.1:8080", "https://Proxy.example:443/base/", "https://h/a%20b"]
    ),
)
def test_any_model_and_any_body_are_sent_and_signed_as_boto3_does(
    model: str, body: bytes, stream: bool, token: str | None, region: str, base_url: str | None
) -> None:
    SESSION.set_credentials("AKID", "se/cret+", token)
    operation = "converse_stream" if stream else "converse"
    ours = aws(model, operation, SESSION, base_url=base_url, region=region)
    place = {"session": SESSION, "region_name": region, "endpoint_url": base_url}
    alike(ours, model, body, operation, **place)


@pytest.mark.parametrize(
    ("region", "fips", "dual"),
    [
        ("us-east-1", "false", "false"),
        ("us-east-1", "true", "false"),
        ("us-iso-east-1", "false", "true"),
        ("fips-us-west-2", "true", "true"),
        ("fips-us-west-2", "false", "false"),
        ("eu-west-3", "true", "true"),
    ],
)
def test_the_address_is_boto3s_for_every_kind_of_region_and_endpoint(
    monkeypatch: pytest.MonkeyPatch, region: str, fips: str, dual: str
) -> None:
    monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", fips)
    monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", dual)
    alike(aws(region=region), CLAUDE, b"{}", region_name=region)
    assert ("-fips." in aws(region=region).url) == (fips == "true" or "fips" in region)


PROFILES = """
[profile team]
region = eu-west-2
aws_access_key_id = AKIDTEAM
aws_secret_access_key = t
aws_session_token = tt
services = local
[profile shell]
region = eu-west-1
credential_process = echo '{"Version": 1, "AccessKeyId": "AKIDSHELL", "SecretAccessKey": "x"}'
[profile broken]
region = eu-west-1
credential_process = false
[profile half]
region = eu-west-1
aws_access_key_id = AKIDHALF
[profile fast]
region = eu-west-1
use_dualstack_endpoint = true
aws_access_key_id = AKIDFAST
aws_secret_access_key = f
[services local]
bedrock_runtime =
  endpoint_url = http://127.0.0.1:9/team
"""


@pytest.mark.parametrize(
    ("profile", "key", "where"),
    [
        ("team", "AKIDTEAM", "http://127.0.0.1:9/team/model/"),
        ("shell", "AKIDSHELL", "https://bedrock-runtime.eu-west-1.amazonaws.com/model/"),
        ("fast", "AKIDFAST", "https://bedrock-runtime.eu-west-1.api.aws/model/"),
    ],
)
def test_a_profile_says_region_keys_and_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str, key: str, where: str
) -> None:
    account(monkeypatch, tmp_path, PROFILES)
    session = boto3.Session(profile_name=profile)
    monkeypatch.setenv("AWS_PROFILE", profile)
    for ours in (aws(), aws(session=session)):
        assert ours.url.startswith(where)
        assert f"Credential={key}/" in headers(ours)["Authorization"]
    alike(aws(), CLAUDE, b"{}", region_name=session.region_name)


def test_an_address_in_the_environment_counts_and_base_url_counts_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert aws().url.startswith("http://127.0.0.1:1/model/")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:2")
    assert aws().url.startswith("http://127.0.0.1:2/model/")
    assert aws(base_url="http://127.0.0.1:3").url.startswith("http://127.0.0.1:3/model/")


def test_a_bearer_token_stands_in_the_place_of_a_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    ours = aws()
    assert headers(ours)["Authorization"] == "Bearer bedrock-api-key-1"
    assert "X-Amz-Date" not in headers(ours)
    alike(ours, CLAUDE, b"{}", region_name="us-east-1")


def test_a_bearer_token_is_never_sent_over_plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    with saying(b"") as server:
        model = BedrockConverse(CLAUDE, base_url=server.url)
        with pytest.raises(SetupError, match="HTTPS"):
            asyncio.run(said(model))
        assert server.requests == []


async def said(model: BedrockConverse) -> str:
    request = ModelRequest([UserMessage("几点?")])
    return "".join([getattr(one, "text", "") async for one in model.stream(request)])


# — who asks —


def test_credentials_are_looked_for_when_they_are_needed_once_and_not_on_the_loop() -> None:
    lent = Lent(LATER)
    ours = aws(session=lending(lent))
    assert lent.loads == 0

    async def ask() -> None:
        asked = await asyncio.gather(*(ours.headers(b"{}") for _ in range(20)))
        assert {one["X-Amz-Security-Token"] for one in asked} == {"token1"}

    asyncio.run(ask())
    asyncio.run(ask())
    assert lent.loads == 1
    assert threading.main_thread() not in lent.fetches


def test_credentials_that_run_out_are_renewed_beside_the_loop_and_signed_with_anew() -> None:
    lent = Lent((datetime.now(UTC) + timedelta(minutes=5)).isoformat())
    ours = aws(session=lending(lent))
    first, second = headers(ours), headers(ours)
    assert first["X-Amz-Security-Token"] != second["X-Amz-Security-Token"]
    assert f"lent{len(lent.fetches)}/" in second["Authorization"]
    assert threading.main_thread() not in lent.fetches


def test_a_service_of_credentials_that_hangs_holds_up_who_renews_them_alone() -> None:
    """As with boto3: what is good for minutes more is used by everybody else."""
    hangs, fetched = threading.Event(), threading.Event()

    class Slow(Lent):
        def _fetch(self) -> dict[str, str]:
            if self.fetches:
                fetched.set()
                hangs.wait(60)
            return super()._fetch()

    soon = datetime.now(UTC) + timedelta(minutes=12)
    ours = aws(session=lending(Slow(soon.isoformat())))

    async def ask() -> None:
        renews = asyncio.create_task(ours.headers(b"{}"))
        assert await asyncio.to_thread(fetched.wait, 30)
        others = await asyncio.gather(*(ours.headers(b"{}") for _ in range(20)))
        assert {one["X-Amz-Security-Token"] for one in others} == {"token1"}
        assert not renews.done()
        hangs.set()
        assert (await renews)["X-Amz-Security-Token"] == "token2"

    asyncio.run(asyncio.wait_for(ask(), 40))


def test_keys_that_the_program_changes_are_taken_at_the_next_request() -> None:
    session = botocore.session.Session()
    ours = aws(session=session)
    assert "AKIDEXAMPLE/" in headers(ours)["Authorization"]
    session.get_credentials().access_key = "AKIDNEW"
    assert "AKIDNEW/" in headers(ours)["Authorization"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (CredentialRetrievalError(provider="x", error_msg="no"), ModelUnavailable),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:9"), ModelUnavailable),
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}, **DENIED}, "X"),
            AccessDenied,
        ),
        (RuntimeError("odd"), ModelError),
    ],
)
def test_credentials_that_cannot_be_fetched_are_an_error_of_ours(
    error: Exception, kind: type[Exception]
) -> None:
    model = BedrockConverse(CLAUDE, session=lending(Lent(LATER, error)), max_retries=0)
    with pytest.raises(kind):
        asyncio.run(said(model))


def test_profiles_that_are_half_broken_or_missing_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    account(monkeypatch, tmp_path, PROFILES, AWS_PROFILE="half")
    with pytest.raises(SetupError, match="Partial credentials"):
        asyncio.run(said(BedrockConverse(CLAUDE)))
    monkeypatch.setenv("AWS_PROFILE", "broken")
    with pytest.raises(ModelUnavailable, match="custom-process"):
        asyncio.run(said(BedrockConverse(CLAUDE, max_retries=0)))
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with pytest.raises(SetupError, match="gone"):
        BedrockConverse(CLAUDE)


# — what cannot be —


@pytest.mark.parametrize("base_url", ["nonsense", "ftp//x", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(SetupError, match="BedrockConverse"):
        BedrockConverse(CLAUDE, base_url=base_url)


def test_a_region_or_a_model_that_is_none_is_refused() -> None:
    with pytest.raises(SetupError):
        BedrockConverse(CLAUDE, region="not a region/")
    with pytest.raises(SetupError):
        BedrockConverse("")


@pytest.mark.parametrize(
    "config",
    [
        Config(proxies={"https": "http://127.0.0.1:9"}),
        Config(client_cert="cert.pem"),
        Config(signature_version=botocore.UNSIGNED),
    ],
)
def test_a_sessions_configuration_is_honoured_or_refused(config: Config) -> None:
    session = botocore.session.Session()
    session.set_default_client_config(config)
    with pytest.raises(SetupError, match=r"cannot be honoured|no way to sign"):
        aws(session=session)


def test_a_sessions_default_region_and_word_of_itself_are_honoured() -> None:
    session = botocore.session.Session()
    config = Config(region_name="eu-north-1", user_agent_extra="team-a", use_fips_endpoint=True)
    session.set_default_client_config(config)
    ours = aws(session=session)
    assert "bedrock-runtime-fips.eu-north-1" in ours.url
    assert "team-a" in headers(ours)["User-Agent"]


def test_whose_certificates_are_believed_stands_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert aws().trust is True
    bundle = tmp_path / "ca.pem"
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    with pytest.raises(SetupError):
        aws()
    bundle.write_bytes(Path(ssl.get_default_verify_paths().openssl_cafile).read_bytes())
    assert isinstance(aws().trust, ssl.SSLContext)


# — frames —


EVENTS = [{"messageStart": {"role": "assistant"}}, {"messageStop": {"stopReason": "end_turn"}}]


def read(*pieces: bytes) -> tuple[list[Any], str]:
    """The events in an answer, and the error that ends it."""

    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def take() -> tuple[list[Any], str]:
        events: list[Any] = []
        try:
            async for some in decode_frames(arriving()):
                events += some
        except Exception as error:  # which the model makes one of ours
            return events, repr(error)
        return events, ""

    return asyncio.run(take())


@given(st.integers(1, 40))
def test_frames_may_be_cut_anywhere(size: int) -> None:
    assert read(*pieces(frames(*EVENTS), size)) == (EVENTS, "")


def test_a_frame_that_was_changed_on_its_way_ends_the_answer_behind_what_was_whole() -> None:
    first, second = map(frames, EVENTS)
    for at in range(len(second)):
        broken = bytes([*second[:at], second[at] ^ 1, *second[at + 1 :]])
        events, error = read(first + broken)
        assert events == EVENTS[:1]
        assert "ChecksumMismatch" in error


def test_a_frame_that_was_cut_off_is_not_an_event() -> None:
    data = frames(*EVENTS)
    for cut in range(len(frames(EVENTS[0])), len(data)):
        assert read(data[:cut]) == (EVENTS[:1], "")


def framed_as(payload: bytes, **told: str) -> bytes:
    """One frame with headers of our own."""
    head = b"".join(
        bytes([len(name) + 1]) + b":" + name.encode() + b"\x07" + struct.pack("!H", len(value))
        + value.encode()
        for name, value in ((name.replace("_", "-"), value) for name, value in told.items())
    )  # fmt: skip
    begun = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    data = begun + struct.pack("!I", crc32(begun)) + head + payload
    return data + struct.pack("!I", crc32(data))


@pytest.mark.parametrize(
    ("payload", "told", "event"),
    [
        (
            b'{"message":"busy"}',
            {"message_type": "exception", "exception_type": "throttlingException"},
            {"throttlingException": {"message": "busy"}},
        ),
        (
            b"",
            {"message_type": "error", "error_code": "InternalError", "error_message": "gone"},
            {"InternalErrorException": {"message": "gone"}},
        ),
        (b"{}", {"message_type": "event", "event_type": "later"}, {"later": {}}),
        (b"", {}, {"Exception": {"message": ""}}),
    ],
)
def test_errors_stand_under_a_name_of_theirs(
    payload: bytes, told: dict[str, str], event: dict[str, Any]
) -> None:
    assert read(framed_as(payload, **told)) == ([event], "")


def test_a_frame_whose_payload_is_no_json_is_an_error() -> None:
    data = framed_as(b"{broken", message_type="event", event_type="messageStop")
    events, error = read(frames(EVENTS[0]) + data)
    assert events == EVENTS[:1] and "not JSON" in error


def test_a_frame_that_would_fill_the_memory_is_refused_at_its_first_bytes() -> None:
    begun = struct.pack("!II", 1 << 30, 0)
    assert "InvalidPayloadLength" in read(begun + struct.pack("!I", crc32(begun)))[1]
