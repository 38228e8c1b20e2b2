"""Reading a file of cases: YAML, JSON or Python.

YAML is read with the types of JSON alone: ``no``, ``12:30`` and ``2026-11-28`` are texts. A key that
occurs twice in a mapping is an error in both formats.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolkeel._common.needs_extra import needs_extra
from toolkeel.builtin.tools_by_place import load_object
from toolkeel_studio.evals.cases import Case, CaseError, parse_cases

NAME = "cases"
"""Name of the list in a Python file, unless ``file.py:name`` says another."""
_TYPES = {
    "tag:yaml.org,2002:bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "tag:yaml.org,2002:int": (r"^[-+]?[0-9]+$", "-+0123456789"),
    "tag:yaml.org,2002:float": (
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        "-+.0123456789",
    ),
    "tag:yaml.org,2002:null": (r"^(?:~|null|Null|NULL|)$", "~nN\0"),
}
"""Scalars of YAML 1.2's core schema: pattern and first letters by tag."""


def read_cases(place: str) -> list[Case]:
    """Read a file of cases. A Python file is imported.

    Args:
        place: ``cases.yaml``, ``cases.json``, ``cases.py`` or ``cases.py:name``.

    Raises:
        CaseError: the file is none of these, cannot be read, or holds no cases.
        MissingExtraError: reading YAML needs an extra.
    """
    path, _, _ = place.partition(".py:")
    suffix = Path(place).suffix.lower()
    if path != place or suffix == ".py":
        found = load_object(place if path != place else f"{place}:{NAME}")
        return parse_cases(found, place)
    readers: dict[str, Callable[[str, str], object]] = {
        ".json": _read_json,
        ".yaml": read_yaml,
        ".yml": read_yaml,
    }
    if suffix not in readers:
        raise CaseError(
            place, "", "", "no file of cases; name one that ends in .yaml, .json or .py"
        )
    try:
        text = Path(place).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CaseError(place, "", "", f"cannot be read: {problem}") from None
    return parse_cases(readers[suffix](text, place), place)


def _read_json(text: str, file: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise CaseError(file, "", "", f"no JSON: {error}") from None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ValueError(f"the key {twice!r} occurs twice; remove one")
    return found


def read_yaml(text: str, file: str) -> object:
    """Return the data of a YAML text, with the types of JSON.

    Raises:
        CaseError: it is no YAML, or a key occurs twice in a mapping.
    """
    with needs_extra("reading cases in YAML", "eval"):
        import yaml
    try:
        return yaml.load(text, _make_loader(yaml))  # a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CaseError(file, "", "", f"no YAML: {error}") from None


def _make_loader(yaml: Any) -> Any:
    """Return a `SafeLoader` with the types of JSON, for which a key that occurs twice is an error."""
    import re

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            known: set[object] = set()
            scalars = (key for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            for key in scalars:
                if key.value in known:
                    line = key.start_mark.line + 1
                    raise ValueError(f"line {line}: the key {key.value!r} occurs twice; remove one")
                known.add(key.value)
            return super().construct_mapping(node, deep)

    Loader.yaml_implicit_resolvers = {}
    for tag, (pattern, first) in _TYPES.items():
        letters = ["" if letter == "\0" else letter for letter in first]
        Loader.add_implicit_resolver(tag, re.compile(pattern), letters)
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value))
    return Loader
