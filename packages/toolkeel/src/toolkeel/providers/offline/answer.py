"""Word an answer from the result of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from toolkeel.providers.offline import lexicon
from toolkeel.providers.offline.lexicon import Language, ideas_of
from toolkeel.providers.offline.read_transcript import FinishedCall

_SHORT = 300
_LONG = 1200
_NOTICE = re.compile(r"\[(?P<text>[^\[\]\n]*)\]\s*$")
_COUNTED = re.compile(r"(?<![\d,])(?P<number>\d[\d,]{0,20})\s+(?P<noun>[a-z]+)")
_HOW_MANY = re.compile(
    r"how many\s+(?P<noun>[a-z]+)|number of\s+(?P<noun2>[a-z]+)|多少(?P<han>行|字)|几(?P<han2>行|字)",
    re.I,
)
_HAN_NOUNS = {"行": "lines", "字": "characters"}
_UNITS = {"lines": "行", "words": "个词", "characters": "个字符"}
_TEMPERATURES = ("temperature", "temp", "气温", "温度")
_SKIES = ("condition", "conditions", "weather", "description", "天气")
_PLACES = ("city", "location", "place", "name", "城市")
_WINDS = ("wind", "wind_speed", "风速")


def result_sentence(language: Language, prompt: str, call: FinishedCall) -> str:
    """Return one statement about what a call found.

    Args:
        language: Language of the answer.
        prompt: The person's message: "how many" asks for a number, not for the text.
        call: The call and its result.
    """
    if counted := _count(language, prompt, call):
        return counted
    value = parse_json(call.text)
    if isinstance(value, Mapping):
        fields = {str(key).lower(): item for key, item in value.items()}
        sentence = _describe_weather(language, call, fields) or _describe_moment(language, fields)
        return sentence or _describe_fields(language, call, value)
    if isinstance(value, list):
        return _describe_list(language, call, value)
    return _describe_text(language, call)


def call_text(call: FinishedCall) -> str:
    """Return a call as people write it, shortened: ``weather(city="Paris")``."""
    parts = [f"{name}={_shorten(_dump_json(value), 60)}" for name, value in call.arguments.items()]
    return f"{call.name}({', '.join(parts)})"


def parse_json(text: str) -> object:
    """Return an object or a list written as JSON, or None for any other text."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def _dump_json(value: object) -> str:
    """Return a value as JSON text with Unicode unescaped."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _shorten(text: str, most: int) -> str:
    """Return text cut to `most` characters, the last three of them dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _say(language: Language, english: str, chinese: str) -> str:
    """Return the English or the Chinese text, by language."""
    return chinese if language == "zh" else english


def _describe_text(language: Language, call: FinishedCall) -> str:
    """Return an answer about a plain text result.

    A calculation becomes ``expression = result``; a short text stays as it is, a long one is cut, with
    its length.
    """
    text = call.text.strip()
    expression = call.arguments.get("expression", call.arguments.get("expr"))
    if isinstance(expression, str) and len(text) <= _SHORT and "\n" not in text:
        return f"{expression} = {text}"
    if not text:
        return f"{call_text(call)}: {_say(language, 'nothing came back.', '没有返回内容。')}"
    if re.fullmatch(r"-?[\d.,]+(?:e[+-]?\d+)?|true|false|null", text, re.I):
        return f"{call_text(call)} = {text}"
    if len(text) <= _SHORT:
        return text
    if len(text) > _LONG:
        head = text[:_LONG].rsplit("\n", 1)[0]
        notice = _NOTICE.search(text[-400:])
        total = _say(language, f"… ({len(text)} characters in all)", f"……（共 {len(text)} 个字符）")
        text = f"{head}\n{total}" + (f"\n{notice[0].strip()}" if notice else "")
    return f"{call_text(call)}:\n{text}"


def _count(language: Language, prompt: str, call: FinishedCall) -> str:
    """Return the number asked for, from the tool's own notice or counted.

    Empty if there is none.
    """
    asked = _HOW_MANY.search(prompt)
    if asked is None:
        return ""
    noun = asked["noun"] or asked["noun2"] or _HAN_NOUNS[asked["han"] or asked["han2"]]
    number = _find_stated(noun.lower(), call.text)
    number = _count_items(noun.lower(), call.text) if number is None else number
    if number is None:
        return ""
    if language == "zh":
        return f"{_find_subject(call)} 共有 {number} {_UNITS.get(noun.lower(), '项')}。"
    noun = noun.lower() if number != 1 else re.sub(r"(?:(?<=ch)e|(?<=x)e)?s$", "", noun.lower())
    return f"{_find_subject(call)} has {number} {noun}."


def _find_stated(noun: str, text: str) -> int | None:
    """Return the number of a noun, such as lines, that a last line ``[a.md: 13 lines]`` states, or None."""
    notice = _NOTICE.search(text[-400:])
    for match in _COUNTED.finditer(notice["text"] if notice else ""):
        if ideas_of(match["noun"]) & ideas_of(noun):
            return int(match["number"].replace(",", ""))
    return None


def _count_items(noun: str, text: str) -> int | None:
    """Return the number of list items, or of lines, words or characters of a text, or None."""
    value = parse_json(text)
    if isinstance(value, list):
        return len(value)
    if isinstance(value, Mapping) or re.fullmatch(r"\s*-?[\d,.]+\s*", text):
        return None
    counters = {
        "lines": len(text.splitlines()),
        "words": len(text.split()),
        "characters": len(text),
    }
    return counters.get(noun)


def _find_subject(call: FinishedCall) -> str:
    """Return a call's first text argument, or the tool's name without any."""
    texts = [value for value in call.arguments.values() if isinstance(value, str) and value]
    return texts[0] if texts else call.name


def _pick(fields: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the first field of these names with a value, or None."""
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _describe_weather(language: Language, call: FinishedCall, fields: Mapping[str, object]) -> str:
    """Return one sentence about the weather in a result, or an empty string."""
    temperature = _pick(fields, _TEMPERATURES)
    if temperature is None or isinstance(temperature, Mapping | list):
        return ""
    unit = lexicon.DEGREES.get(str(fields.get("unit") or "").lower(), "")
    number = f"{temperature:g}" if isinstance(temperature, float) else str(temperature)
    place, sky = _pick(fields, _PLACES) or _find_subject(call), _pick(fields, _SKIES)
    wind, source = _pick(fields, _WINDS), fields.get("source", "")
    parts = [f"{number} {unit}".strip()]
    if language == "zh":
        parts += [lexicon.SKIES.get(str(sky), str(sky))] if sky else []
        parts += [f"风速 {wind}"] if wind else []
        return f"{place}：{'，'.join(parts)}{f'（来源：{source}）' if source else ''}。"
    parts += [str(sky)] if sky else []
    parts += [f"wind {wind}"] if wind else []
    return f"{place}: {', '.join(parts)}{f' (source: {source})' if source else ''}."


def _describe_moment(language: Language, fields: Mapping[str, object]) -> str:
    """Return one sentence about date and time in a result, or an empty string."""
    date, weekday = fields.get("date"), fields.get("weekday")
    if not date or not weekday:
        return ""
    time, zone = str(fields.get("time", ""))[:5], fields.get("timezone")
    if language == "zh":
        day = lexicon.WEEKDAYS.get(str(weekday), str(weekday))
        return f"现在是 {date} {day} {time}".rstrip() + (f"（{zone}）。" if zone else "。")
    clock = f", {time}" if time else ""
    return f"It is {weekday}, {date}{clock}" + (f" ({zone})." if zone else ".")


def _describe_fields(language: Language, call: FinishedCall, value: Mapping[str, object]) -> str:
    """Describe a result by its first eight fields, and the number of further ones, in a sentence."""
    colon, comma = ("：", "，") if language == "zh" else (": ", ", ")
    shown = [
        f"{key}{colon}{_describe_item(language, item)}" for key, item in list(value.items())[:8]
    ]
    if not shown:
        return f"{call_text(call)}: {_say(language, 'an empty result.', '空结果。')}"
    if len(value) > 8:
        shown.append(_say(language, f"and {len(value) - 8} more", f"另有 {len(value) - 8} 项"))
    return (
        f"{_find_subject(call)}{colon}{comma.join(shown)}" if call.arguments else comma.join(shown)
    )


def _describe_item(language: Language, item: object) -> str:
    """Return one value as text: a long string shortened, an object or list of more than 120 characters as its size."""
    if isinstance(item, str):
        return _shorten(item, 203)
    text = _dump_json(item)
    if isinstance(item, list | Mapping) and len(text) > 120:
        return _say(language, f"{len(item)} entries", f"{len(item)} 项")
    return text


def _describe_list(language: Language, call: FinishedCall, value: list[object]) -> str:
    """Return the count of results and up to ten of them, one a line."""
    if not value:
        return f"{call_text(call)}: {_say(language, 'no results.', '没有结果。')}"
    lines = [
        f"- {', '.join(f'{key}: {_describe_item(language, part)}' for key, part in list(item.items())[:5])}"
        if isinstance(item, Mapping)
        else f"- {_describe_item(language, item)}"
        for item in value[:10]
    ]
    size = len(value)
    lines += [_say(language, "- ...", "- ……")] * (size > 10)
    count = _say(language, f"{size} result{'s' * (size > 1)}", f"{size} 个结果")
    return "\n".join([f"{call_text(call)}: {count}", *lines])
