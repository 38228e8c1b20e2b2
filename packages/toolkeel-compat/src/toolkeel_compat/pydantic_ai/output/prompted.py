"""Answers that the model writes as JSON because its instructions say so, under the names of Pydantic AI."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import core_schema, to_json
from typing_extensions import TypedDict

from toolkeel._records.record import record
from toolkeel_compat.pydantic_ai.output.functions import NamedType

TEMPLATE: Final = """\
Always respond with a JSON object that's compatible with this schema:

{schema}

Don't include any text or Markdown fencing before or after."""
"""The instructions of 2.68, which say the schema."""
_KEY: Final = "response"
"""Key of an answer that is no object."""


@record
class _Form:
    """One type of a prompted answer.

    Args:
        name: Its name.
        schema: Its JSON Schema, of an object.
        is_wrapped: The answer is under `_KEY`.
        adapter: Validates the answer.
    """

    name: str
    schema: dict[str, Any]
    is_wrapped: bool
    adapter: TypeAdapter[Any]

    def read(self, value: Any) -> Any:
        """Return the valid answer, or raise `ValidationError`."""
        if self.is_wrapped and isinstance(value, Mapping) and _KEY in value:
            value = value[_KEY]
        return self.adapter.validate_json(to_json(value))


def prompt_output(
    types: Sequence[NamedType], template: str | None
) -> tuple[Callable[[str], Any], str]:
    """Return the function that reads a text as an answer, and the instructions that ask for such a text.

    The function raises pydantic's `ValidationError` for JSON of another form.

    Args:
        types: The types of the answer; of several, the answer says its kind.
        template: The instructions, with ``{schema}``; None for those of Pydantic AI.
    """
    forms = [_make_form(one) for one in _number(types)]
    schema = forms[0].schema if len(forms) == 1 else _join_schemas(forms, types)

    def read(text: str) -> Any:
        body = _strip_fences(text)
        if len(forms) == 1 and not forms[0].is_wrapped:
            return forms[0].adapter.validate_json(body)
        value = TypeAdapter[dict[str, Any]](dict[str, Any]).validate_json(body)
        if len(forms) == 1:
            return forms[0].read(value)
        return _pick(forms, TypeAdapter(_make_envelope(forms)).validate_python(value))

    said = json.dumps(schema, ensure_ascii=False)
    return read, (TEMPLATE if template is None else template).replace("{schema}", said)


def make_choice(types: Sequence[NamedType]) -> type:
    """Return a type whose JSON says which of several types an answer has, and whose values are theirs."""
    numbered = _number(types)
    forms = [_make_form(one) for one in numbered]

    class Choice:
        """An answer of one of several kinds."""

        @classmethod
        def __get_pydantic_core_schema__(
            cls, source: Any, handler: GetCoreSchemaHandler
        ) -> core_schema.CoreSchema:
            pick, envelope = partial(_pick, forms), handler.generate_schema(_make_envelope(forms))
            return core_schema.no_info_after_validator_function(pick, envelope)

        @classmethod
        def __get_pydantic_json_schema__(
            cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
        ) -> dict[str, Any]:
            # made by `handler`, which keeps the definitions that it knows alone
            made = [handler.resolve_ref_schema(handler(one.adapter.core_schema)) for one in forms]
            parts = zip(forms, made, numbered, strict=True)
            shown = [
                dataclasses.replace(form, schema=_shape(part, one)[0]) for form, part, one in parts
            ]
            return _join_schemas(shown, types)

    return Choice


def _make_envelope(forms: Sequence[_Form]) -> Any:
    """Return the type of ``{"result": {"kind": ..., "data": ...}}``."""
    make: Any = TypedDict
    kinds: Any = Literal[tuple(form.name for form in forms)]
    result = make("result", {"kind": kinds, "data": dict[str, Any]})
    return make("answer", {"result": result})


def _pick(forms: Sequence[_Form], answer: Mapping[str, Any]) -> Any:
    """Return the valid answer in an envelope, or raise `ValidationError`."""
    result = answer["result"]
    return next(one for one in forms if one.name == result["kind"]).read(result["data"])


def _number(types: Sequence[NamedType]) -> list[NamedType]:
    """Return the types with a number behind each name that one before has: ``list``, ``list_2``."""
    made: dict[str, NamedType] = {}
    for one in types:
        names = chain([one.name], (f"{one.name}_{n}" for n in count(2)))
        name = next(each for each in names if each not in made)
        made[name] = dataclasses.replace(one, name=name)
    return [*made.values()]


def _make_form(kind: NamedType) -> _Form:
    adapter: TypeAdapter[Any] = TypeAdapter(kind.type_)
    return _Form(kind.name, *_shape(adapter.json_schema(), kind), adapter)


def _shape(made: dict[str, Any], kind: NamedType) -> tuple[dict[str, Any], bool]:
    """Return the schema of an object with an answer of pydantic's schema; True if it is wrapped."""
    schema: Any = _without_titles(made)
    schema.pop("description", None)
    is_wrapped = schema.get("type") != "object"
    if is_wrapped:
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        schema = {"properties": {_KEY: schema}, "required": [_KEY], "type": "object", **definitions}
    elif kind.is_function:
        schema.pop("title", None)
    return schema, is_wrapped


def _join_schemas(forms: Sequence[_Form], types: Sequence[NamedType]) -> dict[str, Any]:
    """Return the schema of an answer of one of several kinds."""
    definitions: dict[str, Any] = {}
    kinds: list[dict[str, Any]] = []
    for form, kind in zip(forms, types, strict=True):
        data = {name: value for name, value in form.schema.items() if name != "title"}
        definitions |= data.pop("$defs", {})
        shown = {"kind": {"type": "string", "const": form.name}, "data": data}
        told = {"description": kind.description} if kind.description else {}
        kinds.append({**_close(shown), "title": form.name, **told})
    joined = _close({"result": {"anyOf": kinds}})
    return {**joined, "$defs": definitions} if definitions else joined


def _close(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    required = [*properties]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _without_titles(schema: Any, is_root: bool = True) -> Any:
    """Return a schema without the titles that pydantic makes of names of fields."""
    if isinstance(schema, list):
        return [_without_titles(one, False) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            inside = name == "properties"
            made[name] = {key: _without_titles(one, not inside) for key, one in value.items()}
        elif name != "title" or is_root:
            made[name] = _without_titles(value, False)
    return made


def _strip_fences(text: str) -> str:
    """Return the JSON of a text: without the fence around it, if there is one.

    >>> _strip_fences('```json\\n{"a": 1}\\n```')
    '{"a": 1}'
    """
    begin = re.search(r"```\w*\s*\n(?=\{)", text)
    ends = () if begin is None else re.compile(r"\}\s*```").finditer(text, begin.end())
    last = deque(ends, maxlen=1)
    return text[begin.end() : last[0].start() + 1] if begin and last else text.strip()
