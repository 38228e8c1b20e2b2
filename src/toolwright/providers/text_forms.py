"""Calls written as text: the forms that models were taught, as one table row each.

Each form opens with a marker of its own and holds calls up to its end. A parser takes what stands
between and gives the calls, or nothing if that is not exactly what its form allows. The forms are
those of the models' own chat templates and of the parsers that model servers document
(https://docs.vllm.ai/en/latest/features/tool_calling.html).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from toolwright.providers.wire import Json, as_dict, as_list, as_text, dumps
from toolwright.record import record

Schemas: TypeAlias = Mapping[str, Mapping[str, object]]
"""The parameters' schema of each tool there is, by its name on the wire."""

Call: TypeAlias = tuple[str, str]
"""A tool's name and its arguments as JSON text."""

Parser: TypeAlias = Callable[[str, Schemas], list[Call] | None]


@record
class TextForm:
    """A way to write calls.

    Args:
        open: What begins it.
        close: What ends it; empty: the end of the reply.
        parse: Reads what stands between.
        may_end: Whether the end of the reply may stand for `close`.
    """

    open: str
    close: str
    parse: Parser
    may_end: bool = True


_NAMES = ("name", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args")
_DECODER = json.JSONDecoder()
_CODE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>\s*(.*?)\s*</function>\s*", re.DOTALL)
_ARG = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)
_INVOKE = re.compile(r'<[^<>"]*invoke name="([^"]+)">\s*(.*?)\s*</[^<>"]*invoke>\s*', re.DOTALL)
_INVOKED = re.compile(
    r'<[^<>"]*parameter name="([^"]+)"([^<>]*)>(.*?)</[^<>"]*parameter>\s*', re.DOTALL
)
_BAR = "[|\uff5c]"
_SEPARATOR = re.compile(f"<{_BAR}tool\u2581sep{_BAR}>")
_DEEPSEEK = re.compile(
    f"<{_BAR}tool\u2581call\u2581begin{_BAR}>(.*?)<{_BAR}tool\u2581call\u2581end{_BAR}>\\s*",
    re.DOTALL,
)
_KIMI = re.compile(r"<\|tool_call_begin\|>(.*?)<\|tool_call_end\|>\s*", re.DOTALL)
_MISTRAL = re.compile(r"\s*([^\s\[\]{}]+?)\s*(?:\[CALL_ID\]\S*?)?\s*(?:\[ARGS\])?\s*(?=\{)")


def json_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """One JSON object, or several, or a list of them: ``{"name": …, "arguments": {…}}``.

    >>> json_calls('{"name": "f", "arguments": {"a": 1}}', {"f": {}})
    [('f', '{"a":1}')]
    """
    values = _values(text)
    if values is None:
        return None
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    calls = [_json_call(as_dict(item), schemas) for item in flat]
    return None if None in calls or not calls else [call for call in calls if call]


def _json_call(value: Json, schemas: Schemas) -> Call | None:
    if isinstance(value.get("function"), dict):
        value = as_dict(value["function"])
    name = next((as_text(value[key]) for key in _NAMES if key in value), "")
    keys = [key for key in _ARGUMENTS if key in value]
    if name not in schemas or len(keys) > 1:
        return None
    arguments = value[keys[0]] if keys else {}
    if isinstance(arguments, str):  # written twice
        arguments = (_values(arguments) or [None])[0]
    return (name, dumps(arguments)) if isinstance(arguments, dict) else None


def _values(text: str) -> list[object] | None:
    """The JSON values that `text` consists of; None if there is anything else in it."""
    values: list[object] = []
    at = _past(text, 0)
    try:
        while at < len(text):
            value, at = _DECODER.raw_decode(text, at)
            values.append(value)
            at = _past(text, at)
    except (ValueError, RecursionError):
        return None
    return values


def _past(text: str, at: int) -> int:
    """Where the next value begins: blanks and the separators ``;`` and ``,`` are passed."""
    while at < len(text) and (text[at].isspace() or text[at] in ";,"):
        at += 1
    return at


def python_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """A Python list of calls with literal keyword arguments: ``[f(a=1), g(b="x")]``.

    >>> python_calls('[f(a=1, b=[True, None]), g()]', {"f": {}, "g": {}})
    [('f', '{"a":1,"b":[true,null]}'), ('g', '{}')]
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    calls = [_python_call(node, schemas) for node in nodes]
    return None if None in calls or not calls else [call for call in calls if call]


def _python_call(node: ast.expr, schemas: Schemas) -> Call | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    name = ast.unparse(node.func)
    if name not in schemas or any(one.arg is None for one in node.keywords):
        return None
    try:
        arguments = {str(one.arg): _literal(one.value) for one in node.keywords}
        json.dumps(arguments, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return name, dumps(arguments)


def _literal(node: ast.expr) -> object:
    """A literal, with JSON's ``true``, ``false`` and ``null`` too, which models mix in."""
    names = {"true": True, "false": False, "null": None}
    for one in ast.walk(node):
        for field, child in ast.iter_fields(one):
            if isinstance(child, ast.Name) and child.id in names:
                setattr(one, field, ast.Constant(names[child.id]))
            elif isinstance(child, list):
                child[:] = [
                    ast.Constant(names[item.id])
                    if isinstance(item, ast.Name) and item.id in names
                    else item
                    for item in child
                ]
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    return ast.literal_eval(node)


def tagged_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """What stands in ``<tool_call>``: JSON (Hermes, Qwen), XML (Qwen-Coder) or pairs (GLM).

    >>> tagged_calls("<function=f>\\n<parameter=a>\\nx\\n</parameter>\\n</function>", {"f": {}})
    [('f', '{"a":"x"}')]
    >>> tagged_calls("f\\n<arg_key>a</arg_key>\\n<arg_value>1</arg_value>",
    ...              {"f": {"properties": {"a": {"type": "integer"}}}})
    [('f', '{"a":1}')]
    """
    if text.lstrip()[:1] in ("{", "["):
        return json_calls(text, schemas)
    if "<function=" in text:
        return function_calls(text, schemas)
    name, _, rest = text.strip().partition("<arg_key>")
    pairs = _whole(_ARG, f"<arg_key>{rest}") if rest else []
    if pairs is None:
        return None
    return _typed([(name.strip(), pairs)], schemas)


def function_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """``<function=f>…</function>``, in it JSON (Llama) or ``<parameter=a>…</parameter>``."""
    found = _whole(_FUNCTION, text)
    if found is None:
        return None
    calls: list[Call] = []
    for name, body in found:
        if body.startswith("{"):
            more = json_calls(f'{{"name": {json.dumps(name)}, "arguments": {body}}}', schemas)
        else:
            pairs = _whole(_PARAMETER, body)
            more = None if pairs is None else _typed([(name, pairs)], schemas)
        if more is None:
            return None
        calls += more
    return calls or None


def invoked_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """``<invoke name="f"><parameter name="a">…</parameter></invoke>`` (MiniMax, DeepSeek V3.2).

    A parameter that says ``string="true"`` is text, one that says ``string="false"`` is JSON.
    """
    found = _whole(_INVOKE, text)
    if found is None:
        return None
    calls: list[Call] = []
    for name, body in found:
        parameters = _whole(_INVOKED, body)
        if parameters is None or name not in schemas:
            return None
        arguments: Json = {}
        for key, said, value in parameters:
            told = {'string="true"': "string", 'string="false"': "json"}.get(said.strip(), "")
            arguments[key] = _value(value, _schema(schemas[name], key), told)
        calls.append((name, dumps(arguments)))
    return calls or None


def mistral_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """Behind ``[TOOL_CALLS]``: a JSON list, or ``f[ARGS]{…}`` and further markers like it.

    >>> mistral_calls('f[ARGS]{"a": 1}[TOOL_CALLS]g{}', {"f": {}, "g": {}})
    [('f', '{"a":1}'), ('g', '{}')]
    """
    calls: list[Call] = []
    for at, part in enumerate(text.split("[TOOL_CALLS]")):
        if part.lstrip()[:1] in ("[", "{"):
            more = json_calls(part, schemas)
        else:
            match = _MISTRAL.match(part)
            more = match and _named(match[1], part[match.end() :], schemas)
        if not more and (at or part.strip()):
            return None
        calls += more or []
    return calls or None


def deepseek_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """Between DeepSeek's tokens: ``function<sep>f`` and a block of code (V3, R1), or ``f<sep>{…}``."""
    return _sections(text, _DEEPSEEK, _deepseek, schemas)


def _deepseek(body: str, schemas: Schemas) -> list[Call] | None:
    name, *rest = _SEPARATOR.split(body, maxsplit=1)
    if not rest:
        return None
    arguments = rest[0]
    if name.strip() == "function":
        name, _, arguments = arguments.partition("\n")
        code = _CODE.fullmatch(arguments.strip())
        arguments = code[1] if code else arguments
    return _named(name.strip(), arguments, schemas)


def kimi_calls(text: str, schemas: Schemas) -> list[Call] | None:
    """Between Kimi's tokens: ``functions.f:0<|tool_call_argument_begin|>{…}``."""
    return _sections(text, _KIMI, _kimi, schemas)


def _kimi(body: str, schemas: Schemas) -> list[Call] | None:
    id, separator, rest = body.partition("<|tool_call_argument_begin|>")
    name = id.strip().rpartition(":")[0].removeprefix("functions.")
    return _named(name, rest, schemas) if separator else None


def _sections(
    text: str,
    pattern: re.Pattern[str],
    parse: Callable[[str, Schemas], list[Call] | None],
    schemas: Schemas,
) -> list[Call] | None:
    """The calls in the matches of `pattern`, which `text` must be made of."""
    calls: list[Call] = []
    for (body,) in _whole(pattern, text) or ():
        more = parse(body, schemas)
        if more is None:
            return None
        calls += more
    return calls or None


def _named(name: str, arguments: str, schemas: Schemas) -> list[Call] | None:
    return json_calls(f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}', schemas)


def _whole(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]] | None:
    """The groups of each match of `pattern`; None if `text` is not made of matches alone."""
    found = []
    text = text.strip()
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            return None
        found.append(match.groups())
        at = match.end()
    return found


def _typed(
    calls: Sequence[tuple[str, Sequence[tuple[str, ...]]]], schemas: Schemas
) -> list[Call] | None:
    """Calls whose values were written as text; what each means, its schema says."""
    made: list[Call] = []
    for name, pairs in calls:
        if name not in schemas:
            return None
        schema = schemas[name]
        arguments = {key.strip(): _value(text, _schema(schema, key.strip())) for key, text in pairs}
        made.append((name, dumps(arguments)))
    return made


def _schema(parameters: Mapping[str, object], key: str) -> Mapping[str, object]:
    return as_dict(as_dict(parameters.get("properties")).get(key))


def _value(text: str, schema: Mapping[str, object], told: str = "") -> object:
    """What a value written as text means: text where text may stand, else the JSON it is."""
    if told == "string" or (not told and "string" in set(_types(schema))):
        return text
    values = _values(text.strip())
    return values[0] if values is not None and len(values) == 1 else text


def _types(schema: Mapping[str, object]) -> Iterator[object]:
    """Every type that `schema` names at its top; text if it names none."""
    kind = schema.get("type")
    among = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    if isinstance(kind, str):
        yield kind
    elif isinstance(kind, list):
        yield from kind
    elif among:
        for one in among:
            yield from _types(as_dict(one))
    elif "enum" in schema or "const" in schema:
        values = [*as_list(schema.get("enum")), schema.get("const")]
        yield "string" if any(isinstance(value, str) for value in values) else "number"
    elif "$ref" not in schema:
        yield "string"


FORMS: tuple[TextForm, ...] = (
    TextForm("<tool_call>", "</tool_call>", tagged_calls),
    TextForm(
        "<function=", "</function>", lambda t, s: function_calls(f"<function={t}</function>", s)
    ),
    TextForm("[TOOL_CALLS]", "", mistral_calls),
    TextForm("<|python_tag|>", "", json_calls),
    TextForm("<|tool_call_start|>", "<|tool_call_end|>", python_calls),
    TextForm("<|python_start|>", "<|python_end|>", python_calls),
    TextForm("<|tool_call|>", "<|/tool_call|>", json_calls),
    TextForm("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", kimi_calls),
    TextForm("<minimax:tool_call>", "</minimax:tool_call>", invoked_calls),
    *(  # DeepSeek's bars are the wide ones of Unicode, which some servers make plain
        form
        for bar in "\uff5c|"
        for form in (
            TextForm(
                f"<{bar}tool\u2581calls\u2581begin{bar}>",
                f"<{bar}tool\u2581calls\u2581end{bar}>",
                deepseek_calls,
            ),
            TextForm(
                f"<{bar}DSML{bar}function_calls>", f"</{bar}DSML{bar}function_calls>", invoked_calls
            ),
            TextForm(f"<{bar}DSML{bar}tool_calls>", f"</{bar}DSML{bar}tool_calls>", invoked_calls),
        )
    ),
)
"""Every form that begins with a marker of its own; the bare forms stand in ``text_calls.py``."""
