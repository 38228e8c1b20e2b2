r"""Tools as grammars for models on this machine (constrained decoding): a call that cannot be wrong.

A program that samples a model itself masks, before each token, what the grammar does not accept. The
tool accepts every text of its grammar, and every valid call can be written: with its keys in the
schema's order, and values as JSON writes them. Constraints that no grammar expresses are left to the
tool and named in `problems`. Three limits of llguidance remain: a number beyond a float's range
(``1e999``) is accepted, and refused by the tool; numbers with bounds are written without an exponent;
the control character DEL is written ``\u007f``. Servers that hold a reply to a schema are simply sent
it (`chat_servers`).

Based on llguidance (``pip install 'toolkeel[grammar]'``), whose grammars llama.cpp, vLLM and SGLang
read as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import map_children
from toolkeel.define.subschemas import Location
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DefinitionError, MissingExtraError

try:
    from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper
except ImportError as error:
    raise MissingExtraError("toolkeel.providers.grammar", "grammar") from error

_UNSUPPORTED = frozenset([
    "not", "if", "then", "else", "uniqueItems", "contains", "minContains", "maxContains",
    "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
    "unevaluatedItems",
])  # fmt: skip
_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29"
_DATE = rf"(?:(?:[1-9][0-9]{{3}}|0[1-9][0-9]{{2}}|00[1-9][0-9]|000[1-9])-{_DAY}|{_LEAP})"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ZONE = r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
_FORMATS: Mapping[str, str] = {
    "date": rf"^{_DATE}$",
    "time": rf"^{_TIME}{_ZONE}$",
    "date-time": rf"^{_DATE}T{_TIME}{_ZONE}$",
    "uuid": r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
}
"""Formats as exact patterns: llguidance's own admit 30 February."""


@record
class Grammar:
    """A grammar of a model's output.

    Args:
        text: The grammar, as llguidance reads it.
        problems: Constraints that it does not express and leaves to the tool, each with its place.
    """

    text: str
    problems: tuple[str, ...] = ()

    def matcher(self, tokenizer: LLTokenizer) -> LLMatcher:
        """Return a new matcher, which masks the tokens that the grammar does not accept.

        Args:
            tokenizer: The model's tokenizer, made by llguidance (``llguidance.hf.from_tokenizer`` and the like).
        """
        return LLMatcher(tokenizer, self.text, log_level=0)

    def admits(self, text: str) -> bool:
        """Return True if a text is complete and valid by the grammar.

        >>> from toolkeel import tool
        >>> @tool
        ... def add(a: int, b: int = 0) -> int:
        ...     "Add."
        ...     return a + b
        >>> grammar = arguments_grammar(add)
        >>> [grammar.admits(text) for text in ('{"a": 1}', '{"a": "1"}', '{"a": 1')]
        [True, False, False]
        """
        matcher, data = self.matcher(byte_tokenizer()), list(text.encode("utf-8", "surrogatepass"))
        return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


def arguments_grammar(tool: AnyTool) -> Grammar:
    """Return a grammar of one tool's arguments, as JSON.

    Raises:
        DefinitionError: if llguidance cannot make one of the schema.
    """
    return schema_grammar(tool.parameters)


def call_grammar(tools: Iterable[AnyTool]) -> Grammar:
    """Return a grammar of one call of one of several tools: ``{"name": ..., "arguments": {...}}``.

    `toolkeel.providers.text_calls` finds such a call in a reply.

    Raises:
        DefinitionError: there is no tool, or llguidance makes no grammar of one's schema.

    >>> from toolkeel import tool
    >>> @tool
    ... def add(a: int) -> int:
    ...     "Add."
    ...     return a
    >>> call_grammar([add]).admits('{"name": "add", "arguments": {"a": 2}}')
    True
    """
    problems: list[str] = []
    rules, calls = [], []
    for number, tool in enumerate(tools):
        schema = _dump_expressible(tool.parameters, tool.name, problems)
        before = json.dumps(f'{{"name": {json.dumps(tool.name, ensure_ascii=False)}, "arguments": ')
        calls.append(f"call{number}")
        rules += [f'call{number}: {before} args{number} "}}"', f"args{number}: %json {schema}"]
    if not calls:
        raise DefinitionError("a grammar of calls needs a tool")
    text = LLMatcher.grammar_from_lark("\n".join([f"start: {' | '.join(calls)}", *rules]))
    return Grammar(_require_valid(text, "the tools"), tuple(problems))


def schema_grammar(schema: Mapping[str, Any]) -> Grammar:
    """Return a grammar of the JSON that a schema accepts.

    Args:
        schema: JSON Schema.

    Raises:
        DefinitionError: if llguidance cannot make one of it.
    """
    problems: list[str] = []
    text = LLMatcher.grammar_from_json_schema(_dump_expressible(schema, "$", problems))
    return Grammar(_require_valid(text, "the schema"), tuple(problems))


def _require_valid(text: str, what: str) -> str:
    """Return a grammar's text, or raise `DefinitionError` if llguidance rejects it."""
    if why := _grammar_error(text):
        raise DefinitionError(f"no grammar can be made of {what}: {why}")
    return text


def _grammar_error(text: str) -> str:
    """Return llguidance's error for a grammar, or an empty string if it is valid."""
    failed, schema_text = LLMatcher.validate_grammar_with_warnings(text)
    return schema_text[0] if failed else ""


def _dump_expressible(schema: Mapping[str, Any], where: str, problems: list[str]) -> str:
    """Return a schema as JSON without keywords llguidance lacks, and append those to `problems`.

    A ``oneOf`` that it cannot hold to one becomes "any of", which is a problem, too.
    """
    schema_text = _reduce_schema(
        schema, where, lambda place, key: problems.append(f"{place}: {key}")
    )
    if "oneOf constraints" in _grammar_error(LLMatcher.grammar_from_json_schema(schema_text)):
        problems.append(f"{where}: oneOf (any number of them may hold)")
        schema_text["x-guidance"] = {"coerce_one_of": True}
    return json.dumps(schema_text, ensure_ascii=False)


def _reduce_schema(node: Any, where: str, leave: Callable[[str, str], object]) -> Any:
    """Return a schema without unsupported keywords, each reported to `leave`, and with patterns for formats."""
    if not isinstance(node, Mapping):
        return node
    reduced: dict[str, Any] = {}
    for key, value in node.items():
        if key in _UNSUPPORTED:
            leave(where, key)
        elif key == "pattern" and not _is_supported_pattern(value):
            leave(where, f"pattern {value!r}")
        elif key != "format":
            reduced[key] = value
    reduced = map_children(
        reduced, lambda inner, keys: _reduce_schema(inner, _join_path(where, keys), leave)
    )
    _put_format(reduced, node.get("format"), where, leave)
    return reduced


def _join_path(where: str, keys: Location) -> str:
    """Return the path of a place below `where`, such as ``a.b[0]``."""
    return where + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)


def _put_format(reduced: dict[str, Any], format: object, where: str, leave: Any) -> None:
    """Express a ``format`` as a ``pattern`` of `reduced`, in place, if there is one; else report it to `leave`."""
    if format in _FORMATS and "pattern" not in reduced:
        reduced["pattern"] = _FORMATS[str(format)]
    elif format is not None:
        leave(where, f"format {format!r}")


@cache
def _is_supported_pattern(pattern: object) -> bool:
    """Return True if llguidance supports a pattern: no look-around, back-references or word boundaries."""
    if not isinstance(pattern, str) or re.search(r"\\[bB]", pattern):
        return False
    schema = {"type": "string", "pattern": pattern}
    return not _grammar_error(LLMatcher.grammar_from_json_schema(schema))


class _Bytes:
    """Tokenizer for llguidance with one token for each byte."""

    eos_token_id = 256
    bos_token_id = None
    tokens = (*(bytes([each]) for each in range(256)), b"<end>")
    special_token_ids = (256,)

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@cache
def byte_tokenizer() -> LLTokenizer:
    """Return the one tokenizer whose tokens are bytes, with 256 as the end."""
    return LLTokenizer(TokenizerWrapper(_Bytes()))
