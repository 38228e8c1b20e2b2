"""The current weather from Open-Meteo, a public service that needs no key.

Each call makes two requests: the city's location (geocoding API), then the weather there (forecast API,
the parameter ``current``). Both addresses can be replaced by a proxy, a self-hosted instance or the
fixture of `toolkeel_studio.weather_fixture`.

Source: https://open-meteo.com/en/docs and https://open-meteo.com/en/docs/geocoding-api.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError
from toolkeel_workspace.web.service import parse_json, send_request

with needs_extra("toolkeel_studio.weather", "builtin"):
    import httpx2 as httpx2  # a missing package raises at import, not at the first call

FORECAST_URL = "https://api.open-meteo.com"
GEOCODING_URL = "https://geocoding-api.open-meteo.com"

CONDITIONS = {
    0: "clear sky", 1: "mainly clear", 2: "partly cloudy", 3: "overcast",
    45: "fog", 48: "freezing fog",
    51: "light drizzle", 53: "drizzle", 55: "heavy drizzle",
    56: "light freezing drizzle", 57: "freezing drizzle",
    61: "light rain", 63: "rain", 65: "heavy rain",
    66: "light freezing rain", 67: "freezing rain",
    71: "light snow", 73: "snow", 75: "heavy snow", 77: "snow grains",
    80: "light showers", 81: "showers", 82: "violent showers",
    85: "light snow showers", 86: "heavy snow showers",
    95: "thunderstorm", 96: "thunderstorm with light hail", 99: "thunderstorm with heavy hail",
}  # fmt: skip
"""Words for the WMO weather codes (WMO 4677) that the service uses."""

Unit = Literal["celsius", "fahrenheit"]


@checked
class Weather:
    """A weather service.

    Args:
        base_url: Root of the forecast API.
        geocoding_url: Root of the geocoding API; the forecast's if only that one is given.
        timeout: Seconds for each of the two requests.
    """

    def __init__(
        self, base_url: str = "", geocoding_url: str = "", *, timeout: float = 10.0
    ) -> None:
        self.base_url = (base_url or FORECAST_URL).rstrip("/")
        self.geocoding_url = (geocoding_url or base_url or GEOCODING_URL).rstrip("/")
        self.timeout = timeout

    @tool(effects=Effects(read_only=True, safe_after=("private", "stranger")))
    async def weather(self, city: str, unit: Unit = "celsius") -> dict[str, str | float]:
        """Look up the current weather in a city: temperature, sky and wind.

        Args:
            city: Name of the city, in any language, such as "Paris" or "北京".
            unit: Temperature unit.
        """
        return await self._get_current(await self._find_city(city.strip()), unit)

    async def _find_city(self, city: str) -> dict[str, object]:
        places = await self._search_cities(city) if city else []
        if places:
            return places[0]
        # The service matches from three letters on, so the beginning of a misspelt name helps.
        near = await self._search_cities(city[:3]) if len(city) > 3 else []
        names = list(dict.fromkeys(str(place.get("name")) for place in near))
        hint = f"Did you mean {', '.join(names[:5])}?" if names else "Check the spelling."
        raise ToolError(f"No city called {city[:60]!r} was found. {hint}")

    async def _search_cities(self, name: str) -> list[dict[str, object]]:
        language = "zh" if re.search("[\u4e00-\u9fff]", name) else "en"
        found = await _get_json(
            f"{self.geocoding_url}/v1/search",
            self.timeout,
            {"name": name, "count": "5", "language": language, "format": "json"},
        )
        results = found.get("results") or []
        if not isinstance(results, list):
            raise ToolError("The geocoding service sent an answer this tool cannot read.")
        return [place for place in results if isinstance(place, dict)]

    async def _get_current(self, place: dict[str, object], unit: Unit) -> dict[str, str | float]:
        forecast = await _get_json(
            f"{self.base_url}/v1/forecast",
            self.timeout,
            {
                "latitude": str(place.get("latitude")),
                "longitude": str(place.get("longitude")),
                "current": "temperature_2m,weather_code,wind_speed_10m",
                "temperature_unit": unit,
                "timezone": "auto",
            },
        )
        current = forecast.get("current")
        if not isinstance(current, dict) or "temperature_2m" not in current:
            raise ToolError("The weather service sent an answer this tool cannot read.")
        report: dict[str, str | float] = {
            "city": str(place.get("name")),
            "country": str(place.get("country", "")),
            "temperature": float(current["temperature_2m"]),
            "unit": unit,
            "condition": CONDITIONS.get(current.get("weather_code", -1), "unknown"),
            "wind": f"{current.get('wind_speed_10m')} km/h",
            "time": str(current.get("time", "")),
        }
        if "source" in forecast:  # the fixture says what it is
            report["source"] = str(forecast["source"])
        return report


def tools(
    base_url: str = "", geocoding_url: str = "", *, timeout: float = 10.0
) -> tuple[AnyTool, ...]:
    """Return the tools of this file, for a service at these addresses. See `Weather`."""
    return (Weather(base_url, geocoding_url, timeout=timeout).weather,)


async def _get_json(url: str, timeout: float, params: dict[str, str]) -> dict[str, object]:
    """Fetch a JSON object."""
    name = f"The weather service {urlsplit(url).hostname}"
    try:
        status, data = await send_request(name, "GET", url, timeout, params=params)
    except ToolError as error:
        hint = "There may be no network; do not guess the weather."
        raise ToolError(f"{error.text} {hint}") from None
    if status != 200:
        raise ToolError(f"{name} answered with HTTP status {status}.")
    body = parse_json(name, data)
    if not isinstance(body, dict):
        raise ToolError(f"{name} sent an answer this tool cannot read.")
    return body
