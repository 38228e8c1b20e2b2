"""The date and time in any time zone."""

from __future__ import annotations

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from toolkeel._common.nearest_names import nearest_names
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError

_CITIES_BY_ZONE = {
    "Asia/Shanghai": "北京 上海 广州 深圳 中国 beijing guangzhou shenzhen china",
    "Asia/Hong_Kong": "香港",
    "Asia/Taipei": "台北",
    "Asia/Tokyo": "东京 japan osaka",
    "Asia/Seoul": "首尔",
    "Asia/Singapore": "新加坡",
    "Asia/Kolkata": "india mumbai delhi",
    "Australia/Sydney": "悉尼",
    "Europe/Moscow": "莫斯科",
    "Europe/Berlin": "柏林 germany munich",
    "Europe/Paris": "巴黎 france",
    "Europe/London": "伦敦 uk england",
    "Europe/Madrid": "spain barcelona",
    "Europe/Rome": "italy milan",
    "Europe/Zurich": "geneva",
    "America/New_York": "纽约 boston washington miami",
    "America/Los_Angeles": "洛杉矶 旧金山 san_francisco seattle",
}
_CITY_ZONES = {
    place.replace("_", " "): zone
    for zone, places in _CITIES_BY_ZONE.items()
    for place in places.split()
}
"""Places people name that the IANA database has no zone for; only used in hints."""


@tool(effects=Effects(read_only=True, open_world=False))
def clock(timezone: str = "local") -> dict[str, str]:
    """Tell the current date, day of the week and time.

    Args:
        timezone: IANA time zone such as "Asia/Shanghai" or "UTC"; "local" is this machine's.
    """
    zone = _find_zone(timezone)
    now = datetime.now(zone) if zone else datetime.now().astimezone()
    return {
        "date": now.strftime("%Y-%m-%d"),
        "weekday": now.strftime("%A"),
        "time": now.strftime("%H:%M:%S"),
        "timezone": timezone.strip() if zone else now.tzname() or "local",
        "iso": now.isoformat(timespec="seconds"),
    }


def tools() -> tuple[AnyTool, ...]:
    """Return the one tool of this file, `clock`."""
    return (clock,)


def _find_zone(name: str) -> tzinfo | None:
    """Return the time zone of a name; None for ``local``, this machine's own.

    Raises `ToolError` for an unknown name.
    """
    if name.strip().lower() in ("local", ""):
        return None
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(_describe_unknown_zone(name.strip())) from None


def _describe_unknown_zone(name: str) -> str:
    """Return the error text for an unknown time zone, with likely ones."""
    near = _suggest_zones(name)
    hint = f"Did you mean {' or '.join(near)}?" if near else 'Use a name such as "Asia/Tokyo".'
    return f"There is no time zone {name[:60]!r}. {hint}"


def _suggest_zones(name: str) -> list[str]:
    """Return up to three likely zones: for a place, a zone's city, or a similar spelling."""
    key = " ".join(name.lower().replace("_", " ").split())
    if key in _CITY_ZONES:
        return [_CITY_ZONES[key]]
    cities: dict[str, str] = {}
    for zone in sorted(available_timezones()):
        cities.setdefault(zone.rsplit("/", 1)[-1].replace("_", " ").lower(), zone)
        cities.setdefault(zone.lower(), zone)
    if key in cities:
        return [cities[key]]
    matches = nearest_names(key, [*cities, *_CITY_ZONES], 3, 0.75)
    return list(dict.fromkeys(cities.get(match) or _CITY_ZONES[match] for match in matches))
