r"""Untrusted regular expressions, matched in linear time.

Python's `re` can be made to backtrack forever, holding the interpreter lock. The engine here is the one
of the JSON Schema validator, which is installed anyway: Rust's `regex`, which ripgrep uses too, so that a
pattern means the same in both. (RE2 differs: its ``\w`` excludes Chinese.) A schema with one ``pattern``
accepts exactly the texts that contain a match, 200 000 lines in 20 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import jsonschema_rs

# ECMA 262, which a JSON Schema speaks, counts ASCII alone.
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
_UNICODE = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": r"\p{White_Space}", "S": r"\P{White_Space}"}
_TOKEN = re.compile(r"\\.|\[:\^?[a-z]+:\]|\[\^?\]?|\]", re.DOTALL)
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-\/:-@\[-`\{-~",
    "space": r"\t\n\x0b\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
"""Classes of POSIX within brackets, as ripgrep has them: of ASCII."""


def compile_regex(pattern: str) -> Callable[[str], bool]:
    r"""Compile a pattern to a function that searches a text; ``\w``, ``\d`` and ``\s`` are Unicode's.

    Raises:
        ValueError: if the pattern is invalid.

    >>> matches = compile_regex(r"^\w+:")
    >>> matches("猫: cat"), matches(": cat")
    (True, False)
    """
    options = jsonschema_rs.RegexOptions(size_limit=1_000_000)
    try:
        is_valid = jsonschema_rs.validator_for(
            {"pattern": _use_unicode_classes(pattern)}, pattern_options=options
        ).is_valid
    except jsonschema_rs.ValidationError as error:
        raise ValueError(error.message) from None

    def matches(text: str) -> bool:
        try:
            return is_valid(text)
        except UnicodeEncodeError:  # a file name with invalid UTF-8
            return is_valid(text.encode("utf-8", "replace").decode())

    return matches


def escape_regex(text: str) -> str:
    r"""Return a pattern that matches this text.

    >>> escape_regex("f(x).")
    'f\\(x\\)\\.'
    """
    return re.sub(r"([][\\.+*?(){}|^$])", r"\\\1", text)


def _use_unicode_classes(pattern: str) -> str:
    inside = False

    def meaning(token: re.Match[str]) -> str:
        nonlocal inside
        text = token[0]
        if text.startswith("[:"):
            name = text[2:-2]
            if inside and name not in _POSIX:
                raise ValueError(f"no class {name!r}")
            if inside:
                return _POSIX[name]
        if not text.startswith("\\"):
            inside = text.startswith("[")
            return text
        if text[1] == "w":
            return _WORD if inside else f"[{_WORD}]"
        if text[1] == "W" and not inside:
            return f"[^{_WORD}]"
        return _UNICODE.get(text[1], text)

    return _TOKEN.sub(meaning, pattern)
