"""The stand-in weather service speaks like the real one, and says what it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from toolkeel_studio.weather_fixture import CITIES, WeatherFixture


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with WeatherFixture() as address:
        yield address


def get(url: str, path: str, **query: object) -> dict[str, object]:
    with build_opener(ProxyHandler({})).open(
        f"{url}{path}?{urlencode(query)}", timeout=5
    ) as answer:
        body = json.load(answer)
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize(("name", "language"), [("Paris", "en"), ("paris", "en"), ("巴黎", "zh")])
def test_a_city_is_found_by_either_name(url: str, name: str, language: str) -> None:
    results = get(url, "/v1/search", name=name, language=language)["results"]
    assert isinstance(results, list)
    assert results[0]["latitude"] == 48.8534
    assert results[0]["name"] == ("巴黎" if language == "zh" else "Paris")


def test_three_letters_find_what_begins_with_them(url: str) -> None:
    results = get(url, "/v1/search", name="Sin")["results"]
    assert isinstance(results, list)
    assert [place["name"] for place in results] == ["Singapore"]


def test_no_results_are_left_out_as_the_real_service_does(url: str) -> None:
    assert "results" not in get(url, "/v1/search", name="Xy")


def test_every_city_has_a_forecast_marked_as_fixture(url: str) -> None:
    for city in CITIES:
        forecast = get(url, "/v1/forecast", latitude=city.latitude, longitude=city.longitude)
        current = forecast["current"]
        assert forecast["source"] == "fixture"
        assert isinstance(current, dict)
        assert current["temperature_2m"] == city.celsius


def test_degrees_are_converted_on_request(url: str) -> None:
    forecast = get(url, "/v1/forecast", latitude=48.8534, temperature_unit="fahrenheit")
    current = forecast["current"]
    assert isinstance(current, dict)
    assert current["temperature_2m"] == 61.7


@pytest.mark.parametrize("path", ["/", "/v1/forecast?latitude=0"])
def test_what_it_does_not_know_is_an_error_of_the_caller(url: str, path: str) -> None:
    with pytest.raises(HTTPError, match="400") as caught:
        build_opener(ProxyHandler({})).open(url + path, timeout=5)
    caught.value.close()


def test_the_address_is_free_again_after_the_block() -> None:
    with WeatherFixture() as first:
        pass
    with pytest.raises(OSError, match="refused"):
        build_opener(ProxyHandler({})).open(first, timeout=5)
