"""Forms of calls written as text, one table row for each.

Each form starts with a marker and contains calls up to its end. A reader parses the text between and
returns the calls; it raises if that is not exactly what its form allows. The forms are those of the
models' own chat templates and of the parsers that model servers document
(https://docs.vllm.ai/en/latest/features/tool_calling.html).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from toolkeel._records.record import record
from toolkeel.providers.text_calls.argument_values import (
    convert_arguments,
    make_object,
    parameter_schema,
    parse_values,
    read_value,
    write_arguments,
)
from toolkeel.providers.wire.plain_json import Json, as_dict, as_text

Schemas: TypeAlias = Mapping[str, Mapping[str, object]]
"""Schemas of the parameters, by the tools' names on the wire."""

Call: TypeAlias = tuple[str, str]
"""A tool's name and its arguments as JSON text."""

ParsedCall: TypeAlias = tuple[str, Json]
"""A tool's name and its arguments, as a reader gives them."""

_UNREADABLE = (ValueError, LookupError, TypeError, SyntaxError, RecursionError, MemoryError)


@record
class TextForm:
    """A form of calls in text.

    Args:
        open: Marker at its start.
        close: Marker at its end; empty: the end of the reply.
        read: Parses the text between; raises for anything but calls.
        close_is_optional: True if the end of the reply may replace `close`.
    """

    open: str
    close: str
    read: Callable[[str, Schemas], Iterable[ParsedCall]]
    close_is_optional: bool = True

    def parse(self, text: str, schemas: Schemas) -> list[Call]:
        """Parse the calls that `text` consists of; none if there is anything else in it.

        Args:
            text: The text between `open` and `close`.
            schemas: Schemas of the known tools.
        """
        try:
            calls = [
                (name, write_arguments(arguments)) for name, arguments in self.read(text, schemas)
            ]
        except _UNREADABLE:
            return []
        return calls if all(name in schemas for name, _ in calls) else []


_NAMES = ("name", "tool_name", "function", "tool")
_ARGUMENTS = ("arguments", "parameters", "args")
# Spaces are taken in one way, before what is looked for: tried in every way they take cubic time.
_CODE = re.compile(r"```(?:json)?\s*+(.*?)```", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>\s*+(.*?)</function>\s*+", re.DOTALL)
_ARG = re.compile(r"<arg_key>([^<]*+)</arg_key>\s*+<arg_value>(.*?)</arg_value>\s*+", re.DOTALL)
_INVOKE = re.compile(r'<[^<>"]*invoke name="([^"]+)">\s*+(.*?)</[^<>"]*invoke>\s*+', re.DOTALL)
_INVOKED = re.compile(
    r'<[^<>"]*parameter name="([^"]+)"([^<>]*)>(.*?)</[^<>"]*parameter>\s*', re.DOTALL
)
FENCE_HEAD = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+.-]*)[ \t]*(?:\r?\n)?\s*")
"""Start of a code fence: its marks and its language."""
_BAR = "[|\uff5c]"
_SEPARATOR = re.compile(f"<{_BAR}tool\u2581sep{_BAR}>")
_DEEPSEEK = re.compile(
    f"<{_BAR}tool\u2581call\u2581begin{_BAR}>(.*?)<{_BAR}tool\u2581call\u2581end{_BAR}>\\s*",
    re.DOTALL,
)
_KIMI = re.compile(r"<\|tool_call_begin\|>(.*?)<\|tool_call_end\|>\s*", re.DOTALL)
_MISTRAL = re.compile(r"\s*+([^\s\[\]{}]++)\s*+(?:\[CALL_ID\]\S*?)?\s*+(?:\[ARGS\])?\s*+(?=\{)")


def json_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls of JSON objects, or of a list of them; raise `ValueError` for anything else.

    >>> [*json_calls('{"name": "f", "arguments": {"a": 1}}', {})]
    [('f', {'a': 1})]
    """
    values = [one for value in parse_values(text) for one in _list_calls(value)]
    if not values:
        raise ValueError("no call")
    for value in map(as_dict, values):
        call = as_dict(value["function"]) if isinstance(value.get("function"), dict) else value
        [arguments_given] = [call[key] for key in _ARGUMENTS if key in call] or [{}]
        arguments = (
            parse_values(arguments_given)[0]
            if isinstance(arguments_given, str)
            else arguments_given
        )  # text: written twice
        if not isinstance(arguments, dict):
            raise ValueError("no arguments")
        yield next((as_text(call[key]) for key in _NAMES if key in call), ""), arguments


def _list_calls(value: object) -> list[object]:
    """Return the calls of a list, or of an object like OpenAI's with its ``tool_calls``."""
    if isinstance(value, dict) and value.keys() == {"tool_calls"}:
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def python_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls, with literal keyword arguments alone, of a Python list or of one call.

    Raises `ValueError`, `SyntaxError` or `TypeError` for anything else.

    >>> [*python_calls('[f(a=1, b=[True, null]), g()]', {})]
    [('f', {'a': 1, 'b': [True, None]}), ('g', {})]
    """
    tree = ast.parse(text.strip(), mode="eval").body
    for node in tree.elts if isinstance(tree, ast.List) else [tree]:
        if not isinstance(node, ast.Call) or node.args or any(not one.arg for one in node.keywords):
            raise ValueError("no call with keyword arguments alone")
        arguments = make_object(
            (str(one.arg), ast.literal_eval(_Constants().visit(one.value))) for one in node.keywords
        )
        json.dumps(arguments, allow_nan=False)  # what JSON cannot hold is no argument
        yield ast.unparse(node.func), arguments


class _Constants(ast.NodeTransformer):
    """Replaces JSON's ``true``, ``false`` and ``null``, which models mix in, by Python's."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return a constant for ``true``, ``false`` or ``null``; any other name unchanged."""
        names = {"true": True, "false": False, "null": None}
        return ast.Constant(names[node.id]) if node.id in names else node


def tagged_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    r"""Yield the calls in ``<tool_call>``, or raise ValueError.

    They are JSON (Hermes, Qwen), XML (Qwen-Coder) or pairs (GLM).

    >>> [*tagged_calls("<function=f>\n<parameter=a>\nx\n</parameter>\n</function>", {"f": {}})]
    [('f', {'a': 'x'})]
    >>> [*tagged_calls("f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>",
    ...                {"f": {"properties": {"a": {"type": "integer"}}}})]
    [('f', {'a': 1})]
    """
    if text.lstrip()[:1] in ("{", "["):
        yield from json_calls(text, schemas)
    elif "<function=" in text:
        yield from function_calls(text, schemas)
    else:
        name, mark, rest = text.strip().partition("<arg_key>")
        yield (
            name.strip(),
            convert_arguments(schemas[name.strip()], _match_all(_ARG, rest and mark + rest)),
        )


def function_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls of ``<function=f>…</function>``, or raise ValueError.

    They hold JSON (Llama) or ``<parameter=a>…</parameter>``.
    """
    for name, body in _match_all(_FUNCTION, text):
        if body.startswith("{"):
            yield from _parse_named(name, body, schemas)
        else:
            yield name, convert_arguments(schemas[name], _match_all(_PARAMETER, body))


def invoked_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls of ``<invoke name="f"><parameter name="a">…`` (MiniMax, DeepSeek), or raise ValueError.

    A parameter with ``string="true"`` is text, one with ``string="false"`` is JSON.
    """
    kinds = {'string="true"': "string", 'string="false"': "json"}
    for name, body in _match_all(_INVOKE, text):
        yield (
            name,
            make_object(
                (
                    key,
                    read_value(
                        value, parameter_schema(schemas[name], key), kinds.get(output.strip(), "")
                    ),
                )
                for key, output, value in _match_all(_INVOKED, body)
            ),
        )


def mistral_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls after ``[TOOL_CALLS]`` (a JSON list, or ``f[ARGS]{…}`` and more), or raise ValueError.

    >>> [*mistral_calls('f[ARGS]{"a": 1}[TOOL_CALLS]g{}', {})]
    [('f', {'a': 1}), ('g', {})]
    """
    first, *more = text.split("[TOOL_CALLS]")
    for part in [*filter(str.strip, [first]), *more]:
        if match := _MISTRAL.match(part):
            yield from _parse_named(match[1], part[match.end() :], schemas)
        else:
            yield from json_calls(part, schemas)


def deepseek_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls between DeepSeek's tokens, or raise ValueError.

    They are ``function<sep>f`` and code (V3, R1), or ``f<sep>{…}``.
    """
    for (body,) in _match_all(_DEEPSEEK, text):
        name, arguments = _SEPARATOR.split(body, maxsplit=1)
        if name.strip() == "function":
            name, _, arguments = arguments.partition("\n")
            code = _CODE.fullmatch(arguments.strip())
            arguments = code[1] if code else arguments
        yield from _parse_named(name.strip(), arguments, schemas)


def kimi_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls between Kimi's tokens, or raise ValueError.

    They are ``functions.f:0<|tool_call_argument_begin|>{…}``.
    """
    for (body,) in _match_all(_KIMI, text):
        id, _, arguments = body.partition("<|tool_call_argument_begin|>")
        name = id.strip().rpartition(":")[0].removeprefix("functions.")
        yield from _parse_named(name, arguments, schemas)


def fenced_calls(text: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the calls of another form inside a marked code fence, or raise `ValueError`.

    >>> [*fenced_calls('```json\\n{"name": "f", "arguments": {}}\\n```', {})]
    [('f', {})]
    """
    head = FENCE_HEAD.match(text)
    if head is None:
        raise ValueError("no fence")
    body = text[head.end() :].rstrip().removesuffix(head["fence"]).strip()
    for form in FORMS:
        if body.startswith(form.open):
            inner = body.removeprefix(form.open).removesuffix(form.close or "\0")
            between = re.escape(form.close) + r"\s*" + re.escape(form.open)
            for part in re.split(between, inner) if form.close else [inner]:
                yield from form.read(part, schemas)
            return
    if body.startswith("{") or head["language"] == "json":
        yield from json_calls(body, schemas)
    elif head["language"] == "tool_code" or body.startswith("["):
        json = body.startswith("[{") or body[1:].lstrip().startswith("{")
        yield from (json_calls if json else python_calls)(body, schemas)
    else:
        raise ValueError("no call")


def _parse_named(name: str, arguments: str, schemas: Schemas) -> Iterator[ParsedCall]:
    """Yield the call of a name with the JSON text of its arguments, whether a tool has it or not."""
    return json_calls(f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}', schemas)


def _match_all(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, ...]]:
    """Yield the groups of each match; raise `ValueError` for text between the matches."""
    text = text.strip()
    at = 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise ValueError("there is other text between the calls")
        yield match.groups()
        at = match.end()


FORMS: tuple[TextForm, ...] = (
    TextForm("<tool_call>", "</tool_call>", tagged_calls),
    TextForm(
        "<function=", "</function>", lambda t, s: function_calls(f"<function={t}</function>", s)
    ),
    *(
        TextForm(f"<{tag}>", f"</{tag}>", json_calls)
        for tag in ("tools", "tool_calls", "TOOLCALL", "function_call", "functioncall")
    ),
    TextForm("<seed:tool_call>", "</seed:tool_call>", tagged_calls),
    TextForm("<|START_ACTION|>", "<|END_ACTION|>", json_calls),
    TextForm("<|action_start|><|plugin|>", "<|action_end|>", json_calls),
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
"""Every form that begins with a marker of its own; the bare forms are in `toolkeel.providers.text_calls.decoder`."""

CLOSERS = tuple(form.close for form in FORMS if form.close.startswith("</"))
"""Closing tags, which some models write without the opening one."""
