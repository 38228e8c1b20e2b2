"""Word an answer from the results of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.read_transcript import Done
from toolkeel.providers.offline.words import Language, ideas, said

_SHORT = 300
_LONG = 1200
_NOTICE = re.compile(r"\[(?P<text>[^\[\]\n]*)\]\s*$")
_COUNTED = re.compile(r"(?<![\d,])(?P<number>\d[\d,]{0,20})\s+(?P<noun>[a-z]+)")
_HOW_MANY = re.compile(
    r"how many\s+(?P<noun>[a-z]+)|number of\s+(?P<noun2>[a-z]+)|count (?:the )?(?P<noun3>[a-z]+)|多少(?P<han>[\u4e00-\u9fff])|几(?P<han2>[行个条页字])",
    re.I,
)
_HAN_NOUNS = {"行": "lines", "字": "characters", "个": "entries", "条": "matches"}
_NOUNS_IN_CHINESE = {"line": "行", "word": "个词", "character": "个字符", "match": "处匹配"}
_TEMPERATURES = ("temperature", "temp", "temperature_2m", "temp_c", "气温", "温度")
_SKIES = ("condition", "conditions", "weather", "description", "sky", "summary", "天气")
_PLACES = ("city", "location", "place", "name", "城市")
_WINDS = ("wind", "wind_speed", "windspeed", "风速")


def sentence(language: Language, prompt: str, done: Done) -> str:
    """What one call found, as one statement.

    Args:
        language: Of the answer.
        prompt: What was asked: "how many" wants a number, not the text itself.
        done: The call and its result.
    """
    counted = _count(language, prompt, done)
    if counted:
        return counted
    value = _json(done.text)
    if isinstance(value, Mapping):
        return _mapping(language, done, value)
    if isinstance(value, list):
        return _listing(language, done, value)
    return _text(language, done)


def call_text(done: Done) -> str:
    """A call as people write it, shortened: ``weather(city="Paris")``."""
    parts = [f"{key}={_brief(value)}" for key, value in done.arguments.items()]
    return f"{done.name}({', '.join(parts)})"


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _json(text: str) -> object:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _text(language: Language, done: Done) -> str:
    text = done.text.strip()
    expression = done.arguments.get("expression", done.arguments.get("expr"))
    if isinstance(expression, str) and len(text) <= _SHORT and "\n" not in text:
        return f"{expression} = {text}"
    if not text:
        return f"{call_text(done)}: {said(language, 'nothing came back.', '没有返回内容。')}"
    if re.fullmatch(r"-?[\d.,]+(?:e[+-]?\d+)?|true|false|null", text, re.I):
        return f"{call_text(done)} = {text}"
    if len(text) <= _SHORT:
        return text
    return f"{call_text(done)}:\n{_cut(language, text)}"


def _cut(language: Language, text: str) -> str:
    if len(text) <= _LONG:
        return text
    head = text[:_LONG].rsplit("\n", 1)[0]
    notice = _NOTICE.search(text[-400:])
    size = len(text)
    total = said(language, f"… ({size} characters in all)", f"……（共 {size} 个字符）")
    return f"{head}\n{total}" + (f"\n{notice[0].strip()}" if notice else "")


def _count(language: Language, prompt: str, done: Done) -> str:
    """The number asked for, from the tool's own notice, or counted in the result."""
    asked = _HOW_MANY.search(prompt)
    if asked is None:
        return ""
    latin = asked["noun"] or asked["noun2"] or asked["noun3"]
    noun = (latin or _HAN_NOUNS.get(asked["han"] or asked["han2"] or "", "")).lower()
    number = _stated(noun, done.text)
    number = _counted(noun, done.text) if number is None else number
    return "" if number is None else _count_sentence(language, noun, number, _subject(done))


def _count_sentence(language: Language, noun: str, number: int, subject: str) -> str:
    if language == "zh":
        unit = _NOUNS_IN_CHINESE.get(noun.removesuffix("s").removesuffix("e"), "")
        unit = unit or _NOUNS_IN_CHINESE.get(noun.removesuffix("s"), "项")
        return f"{subject} 共有 {number} {unit}。"
    if number == 1:
        noun = re.sub(r"(?:(?<=ch)e|(?<=x)e)?s$", "", re.sub("ies$", "y", noun))
    return f"{subject} has {number} {noun}."


def _stated(noun: str, text: str) -> int | None:
    """What the result's last line in brackets says: ``[README.md: 13 lines, 210 B]``."""
    notice = _NOTICE.search(text[-400:])
    if notice is None:
        return None
    for match in _COUNTED.finditer(notice["text"]):
        if ideas(match["noun"]) & ideas(noun):
            return int(match["number"].replace(",", ""))
    return None


def _counted(noun: str, text: str) -> int | None:
    value = _json(text)
    if isinstance(value, list):
        return len(value)
    if isinstance(value, Mapping):
        lists = [item for item in value.values() if isinstance(item, list)]
        return len(lists[0]) if len(lists) == 1 else None
    if re.fullmatch(r"\s*-?[\d,.]+\s*", text):
        return None
    counters = {"line": len(text.splitlines()), "word": len(text.split()), "character": len(text)}
    stem = counters.get(noun.removesuffix("s"))
    return next((counters[idea] for idea in ideas(noun) if idea in counters), stem)


def _subject(done: Done) -> str:
    """What the count is about: the path or other text the call was given."""
    texts = [value for value in done.arguments.values() if isinstance(value, str) and value]
    return texts[0] if texts else done.name


def _mapping(language: Language, done: Done, value: Mapping[str, object]) -> str:
    fields = {str(key).lower(): item for key, item in value.items()}
    told = _weather(language, done, fields) or _moment(language, fields)
    return told or _fields(language, done, value)


def _pick(fields: Mapping[str, object], names: Sequence[str]) -> object:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _weather(language: Language, done: Done, fields: Mapping[str, object]) -> str:
    temperature = _pick(fields, _TEMPERATURES)
    if temperature is None or isinstance(temperature, Mapping | list):
        return ""
    place = _pick(fields, _PLACES) or _subject(done)
    unit = concepts.DEGREES.get(str(_pick(fields, ("unit", "units")) or "").lower(), "")
    number = f"{temperature:g}" if isinstance(temperature, float) else str(temperature)
    degrees = f"{number} {unit}".strip()
    sky, wind = _pick(fields, _SKIES), _pick(fields, _WINDS)
    source = "" if "source" not in fields else str(fields["source"])
    if language == "zh":
        parts = [degrees, concepts.SKIES.get(str(sky), str(sky)) if sky else ""]
        parts += [f"风速 {wind}" if wind else ""]
        told = f"{place}：{'，'.join(filter(None, parts))}"
        return told + (f"（来源：{source}）" if source else "") + "。"
    parts = [degrees, str(sky or ""), f"wind {wind}" if wind else ""]
    told = f"{place}: {', '.join(filter(None, parts))}"
    return told + (f" (source: {source})" if source else "") + "."


def _moment(language: Language, fields: Mapping[str, object]) -> str:
    date, weekday = fields.get("date"), fields.get("weekday")
    if not date or not weekday:
        return ""
    time, zone = str(fields.get("time", ""))[:5], fields.get("timezone")
    if language == "zh":
        day = concepts.WEEKDAYS.get(str(weekday), str(weekday))
        return f"现在是 {date} {day} {time}".rstrip() + (f"（{zone}）。" if zone else "。")
    clock = f", {time}" if time else ""
    return f"It is {weekday}, {date}{clock}" + (f" ({zone})." if zone else ".")


def _fields(language: Language, done: Done, value: Mapping[str, object]) -> str:
    """Up to eight fields; what is nested is shown by its size."""
    colon, comma = ("：", "，") if language == "zh" else (": ", ", ")
    shown = [f"{key}{colon}{_field(language, item)}" for key, item in list(value.items())[:8]]
    if not shown:
        return f"{call_text(done)}: {said(language, 'an empty result.', '空结果。')}"
    more = len(value) - len(shown)
    if more > 0:
        shown.append(said(language, f"and {more} more", f"另有 {more} 项"))
    return f"{_subject(done)}{colon}{comma.join(shown)}" if done.arguments else comma.join(shown)


def _field(language: Language, item: object) -> str:
    if isinstance(item, list | Mapping) and len(json.dumps(item, default=str)) > 120:
        return said(language, f"{len(item)} entries", f"{len(item)} 项")
    if isinstance(item, str):
        return item if len(item) <= 200 else f"{item[:200]}..."
    return json.dumps(item, ensure_ascii=False, default=str)


def _listing(language: Language, done: Done, value: list[object]) -> str:
    what, size = call_text(done), len(value)
    if not value:
        return f"{what}: {said(language, 'no results.', '没有结果。')}"
    lines = [f"- {_item(item)}" for item in value[:10]]
    lines += [said(language, "- ...", "- ……")] * (size > 10)
    count = said(language, f"{size} result{'s' * (size > 1)}", f"{size} 个结果")
    return "\n".join([f"{what}: {count}", *lines])


def _item(item: object) -> str:
    if isinstance(item, Mapping):
        return ", ".join(f"{key}: {_field('en', part)}" for key, part in list(item.items())[:5])
    return _field("en", item)
