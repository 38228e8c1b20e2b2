"""The weather tool against servers that answer well, badly, late and not at all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from toolkeel import Toolset
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall
from toolkeel_studio.weather import FORECAST_URL, GEOCODING_URL, Weather, tools
from toolkeel_studio.weather_fixture import WeatherFixture
from toolkeel_workspace.web.service import MAX_RESPONSE_BYTES


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with WeatherFixture() as address:
        yield address


def look_up(service: Weather, city: str, **options: str) -> dict[str, str | float]:
    return asyncio.run(service.weather(city, **options))  # type: ignore[arg-type]


def test_the_current_weather_comes_as_a_few_fields(url: str) -> None:
    assert look_up(Weather(url), "Paris") == {
        "city": "Paris",
        "country": "France",
        "temperature": 16.5,
        "unit": "celsius",
        "condition": "partly cloudy",
        "wind": "12.6 km/h",
        "time": "2026-01-01T12:00",
        "source": "fixture",
    }


def test_a_chinese_city_is_answered_in_chinese(url: str) -> None:
    report = look_up(Weather(url), "北京", unit="fahrenheit")
    assert (report["city"], report["country"], report["temperature"]) == ("北京", "中国", 71.6)


def test_a_misspelt_city_is_answered_with_the_nearest_names(url: str) -> None:
    with pytest.raises(ToolError, match=r"No city called 'Sydny' was found. Did you mean Sydney\?"):
        look_up(Weather(url), "Sydny")


@pytest.mark.parametrize("city", ["", "Xy", "Xyzzy", "x" * 500])
def test_a_city_without_a_likeness_is_not_found(url: str, city: str) -> None:
    with pytest.raises(ToolError, match="Check the spelling") as caught:
        look_up(Weather(url), city)
    assert len(caught.value.text) < 200


def test_a_service_that_is_not_there_is_told_without_a_guess() -> None:
    with WeatherFixture() as gone:
        pass
    with pytest.raises(ToolError, match=r"cannot be reached .*do not guess"):
        look_up(Weather(gone), "Paris")


@asynccontextmanager
async def server(answer: bytes, delay: float = 0.0) -> AsyncIterator[str]:
    """An HTTP server that sends one answer to everything."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(delay)
            writer.write(answer)
        finally:
            writer.close()

    running = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{running.sockets[0].getsockname()[1]}"
    finally:
        running.close()


def http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


PLACE = {"name": "Paris", "latitude": 1, "longitude": 2}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (http("500 Oops", b"{}"), "HTTP status 500"),
        (http("200 OK", b"not json"), "did not send JSON"),
        (http("200 OK", b"[" * 5000), "did not send JSON"),
        (http("200 OK", b" " * (MAX_RESPONSE_BYTES + 1)), "more than 8,388,608 bytes"),
        (http("200 OK", b"[]"), "cannot read"),
        (http("200 OK", b'{"results": 3}'), "cannot read"),
        (http("200 OK", json.dumps({"results": [PLACE]}).encode()), "cannot read"),
        (b"garbage\r\n\r\n", "cannot be reached"),
    ],
)
def test_a_bad_answer_is_an_error_the_model_can_read(answer: bytes, told: str) -> None:
    async def run() -> None:
        async with server(answer) as address:
            await Weather(address).weather("Paris")

    with pytest.raises(ToolError, match=told):
        asyncio.run(run())


def test_a_slow_service_is_given_up_after_the_timeout() -> None:
    async def run() -> None:
        async with server(http("200 OK", b"{}"), delay=5) as address:
            await Weather(address, timeout=0.1).weather("Paris")

    with pytest.raises(ToolError, match="did not answer in time"):
        asyncio.run(run())


def test_without_an_address_the_public_service_is_meant() -> None:
    service = Weather()
    assert (service.base_url, service.geocoding_url) == (FORECAST_URL, GEOCODING_URL)
    assert Weather("http://a/").geocoding_url == "http://a"
    assert Weather("http://a", "http://b").geocoding_url == "http://b"


def test_it_runs_as_a_tool_with_its_unit_checked(url: str) -> None:
    calls = [
        ToolCall("1", "weather", '{"city": "Tokyo"}'),
        ToolCall("2", "weather", '{"city": "Tokyo", "unit": "kelvin"}'),
    ]
    good, bad = Toolset(tools(url)).run_sync(calls)
    assert '"temperature":19.0' in good.text.replace(" ", "")
    assert bad.kind == "invalid_arguments"
