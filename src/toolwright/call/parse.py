import json

from pydantic_core import to_json

from toolwright.errors import *
from toolwright.record import record


@record
class Parsed:
    value: dict
    repairs: tuple = ()


def parse_arguments(t):
    if not t.strip():
        return Parsed({})
    try:
        v = json.loads(t)
    except ValueError as e:
        raise MalformedArguments(str(e))
    if v is None:
        v = {}
    if not isinstance(v, dict):
        raise MalformedArguments("no object")
    return Parsed(v)


def normalise(r):
    return to_json(r).decode()


def overflows(t):
    return False


def needs_strict_check(text, values):
    if "NaN" in text or "Infinity" in text:
        return True
    return False
