"""A local server with made-up weather, in place of the weather service.

It implements the two endpoints that `toolkeel_studio.weather` uses, in the service's format, for a dozen
cities. Every forecast contains ``"source": "fixture"``, so that its weather is not mistaken for real. The
demo and the tests use it.
"""

from __future__ import annotations

import atexit
import json
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit


class _City(NamedTuple):
    name: str
    chinese: str
    country: str
    chinese_country: str
    latitude: float
    longitude: float
    celsius: float
    code: int
    wind: float


CITIES = (
    _City("Beijing", "北京", "China", "中国", 39.9075, 116.3972, 22.0, 0, 9.0),
    _City("Shanghai", "上海", "China", "中国", 31.2222, 121.4581, 24.5, 2, 14.4),
    _City("Guangzhou", "广州", "China", "中国", 23.1167, 113.25, 28.0, 80, 7.2),
    _City("Hong Kong", "香港", "Hong Kong", "香港", 22.2783, 114.1747, 27.5, 3, 18.0),
    _City("Tokyo", "东京", "Japan", "日本", 35.6895, 139.6917, 19.0, 61, 11.2),
    _City("Singapore", "新加坡", "Singapore", "新加坡", 1.2897, 103.8501, 31.0, 95, 6.1),
    _City("Paris", "巴黎", "France", "法国", 48.8534, 2.3488, 16.5, 2, 12.6),
    _City("London", "伦敦", "United Kingdom", "英国", 51.5085, -0.1257, 13.0, 63, 20.5),
    _City("Berlin", "柏林", "Germany", "德国", 52.5244, 13.4105, 11.0, 3, 15.8),
    _City("New York", "纽约", "United States", "美国", 40.7143, -74.006, 15.0, 1, 17.3),
    _City("San Francisco", "旧金山", "United States", "美国", 37.7749, -122.4194, 14.5, 45, 22.0),
    _City("Sydney", "悉尼", "Australia", "澳大利亚", -33.8679, 151.2073, 21.0, 0, 16.2),
)
"""The cities the fixture knows, with their fixed weather."""

TIME = "2026-01-01T12:00"


class WeatherFixture:
    """A server that runs while the block runs. The block gets its address.

    >>> with WeatherFixture() as url:
    ...     url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = Thread(
            target=self._server.serve_forever, args=(0.02,), name="weather-fixture", daemon=True
        )

    @property
    def url(self) -> str:
        """Root of both APIs."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> str:
        self._thread.start()
        return self.url

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5
    wbufsize = 65536  # head and body in one packet, or the peer's delayed acknowledgement shows

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        answer = {"/v1/search": _search, "/v1/forecast": _forecast}.get(parts.path)
        body = answer(query) if answer else None
        if body is None:
            self._send(400, {"error": True, "reason": "unknown endpoint or place"})
        else:
            self._send(200, body)

    def _send(self, status: int, body: dict[str, object]) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the fixture runs inside other programs' terminals."""


def _search(query: dict[str, str]) -> dict[str, object]:
    """Find places by name, or by the start of a name from three letters on."""
    wanted = query.get("name", "").casefold()
    chinese = query.get("language") == "zh"
    exact = [city for city in CITIES if wanted in (city.name.casefold(), city.chinese)]
    near = [city for city in CITIES if len(wanted) > 2 and city.name.casefold().startswith(wanted)]
    found = exact or near
    if not found:
        return {"generationtime_ms": 0.1}  # the real service leaves "results" out, too
    return {"results": [_place(city, chinese) for city in found], "generationtime_ms": 0.1}


def _place(city: _City, chinese: bool) -> dict[str, object]:
    return {
        "name": city.chinese if chinese else city.name,
        "country": city.chinese_country if chinese else city.country,
        "latitude": city.latitude,
        "longitude": city.longitude,
    }


def _forecast(query: dict[str, str]) -> dict[str, object] | None:
    """Return the weather of the city at these coordinates."""
    for city in CITIES:
        if query.get("latitude") == str(city.latitude):
            break
    else:
        return None
    fahrenheit = query.get("temperature_unit") == "fahrenheit"
    return {
        "source": "fixture",
        "latitude": city.latitude,
        "longitude": city.longitude,
        "current": {
            "time": TIME,
            "temperature_2m": round(city.celsius * 9 / 5 + 32, 1) if fahrenheit else city.celsius,
            "weather_code": city.code,
            "wind_speed_10m": city.wind,
        },
    }


@cache
def demo_options() -> Mapping[str, Mapping[str, object]]:
    """Start the stand-in and return the options that make the weather tool use it.

    It runs until the program ends.
    """
    fixture = WeatherFixture()
    atexit.register(fixture.__exit__, None, None, None)
    return {"weather": {"base_url": fixture.__enter__()}}
