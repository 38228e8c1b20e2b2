"""The entire JSON of one tool, as each provider wants it.

A form is an envelope around a compiled schema. `FORMS` says for each target which dialect its
schema is compiled for, how the envelope is built, and which extras it has a place for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.define.dialect import Compiled, Loss, Target, compile_schema
from toolkeel.define.dialect.normal_form import json_copy
from toolkeel.define.dialect.provider_facts import Provider
from toolkeel.define.names import POLICIES, wire_name
from toolkeel.errors import DefinitionError

Form: TypeAlias = Literal["openai-chat", "openai-responses", Provider]
Strictness: TypeAlias = bool | Literal["verbatim"]
"""Whether a server enforces a schema; ``verbatim``: OpenAI's does, without a change to the schema."""


@record
class Definition:
    """One tool in the form that a provider expects.

    Args:
        body: The JSON to send.
        strict: True if the provider is asked to enforce the schema.
        losses: Constraints that `body` no longer expresses.
        keys: Wire name by own name of renamed properties (`toolkeel.define.dialect.Compiled`).
    """

    body: dict[str, Any]
    strict: bool
    losses: tuple[Loss, ...]
    keys: Mapping[str, str]


@record
class _Head:
    """Name, description and strict flag of a tool."""

    name: str
    description: str
    strict: bool | None


@record
class _Form:
    """Form of a target's tools.

    Args:
        dialect: What the schema is compiled for.
        strict: The same in strict mode; None: there is none.
        envelope: Puts name, description, strict flag and schema together.
        extras: Further keys it takes, and what they are called there.
    """

    dialect: Target
    strict: Target | None
    envelope: Callable[[_Head, dict[str, Any]], dict[str, Any]]
    extras: Mapping[str, str] = NOTHING  # type: ignore[assignment]


def _named(head: _Head) -> dict[str, Any]:
    """Return the name, and the description unless it is empty, which Bedrock refuses."""
    return {"name": head.name} | ({"description": head.description} if head.description else {})


def _flag(head: _Head) -> dict[str, Any]:
    """Return the strict flag as a dict; empty if it is None."""
    return {} if head.strict is None else {"strict": head.strict}


def _openai_chat(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in the form of OpenAI's Chat Completions."""
    return {"type": "function", "function": {**_named(head), "parameters": schema, **_flag(head)}}


def _openai_responses(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in the form of OpenAI's Responses, always with its strict flag."""
    # absent, the server would try strict mode by itself
    return {"type": "function", **_named(head), "parameters": schema, "strict": bool(head.strict)}


def _compatible(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in OpenAI's chat form without a strict flag, for its imitators."""
    return {"type": "function", "function": {**_named(head), "parameters": schema}}


def _anthropic(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in Anthropic's form."""
    return {**_named(head), "input_schema": schema, **({"strict": True} if head.strict else {})}


def _bedrock(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in Bedrock's form."""
    strict = {"strict": True} if head.strict else {}
    return {"toolSpec": {**_named(head), "inputSchema": {"json": schema}, **strict}}


def _gemini(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in Gemini's form."""
    return {**_named(head), "parametersJsonSchema": schema}


def _gemini_legacy(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in Gemini's older form; without parameters if there are none."""
    # an object without properties is refused; a function without parameters has none
    return _named(head) | ({"parameters": schema} if schema.get("properties") else {})


def _mcp(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool in MCP's form."""
    return {**_named(head), "inputSchema": schema}


def _plain(head: _Head, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with name and description as its title and description."""
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    described = {"description": head.description} if head.description else {}
    return {"title": head.name, **described, **rest}


def _same(*names: str) -> dict[str, str]:
    """Return a mapping of each name to itself."""
    return {name: name for name in names}


_GEMINI_EXTRAS = {
    **_same("behavior", "response"),
    "response_json_schema": "responseJsonSchema",
    "responseJsonSchema": "responseJsonSchema",
}

FORMS: Mapping[Form, _Form] = MappingProxyType(
    {
        "openai-chat": _Form("openai", "openai-strict", _openai_chat),
        "openai-responses": _Form(
            "openai",
            "openai-strict",
            _openai_responses,
            _same("defer_loading", "allowed_callers", "output_schema", "async"),
        ),
        "anthropic": _Form(
            "anthropic",
            "anthropic-strict",
            _anthropic,
            _same("cache_control", "defer_loading", "allowed_callers", "input_examples")
            | _same("eager_input_streaming"),
        ),
        "bedrock": _Form("bedrock", "anthropic-strict", _bedrock),
        "gemini": _Form("gemini", None, _gemini, _GEMINI_EXTRAS),
        "gemini-legacy": _Form("gemini-legacy", None, _gemini_legacy, _GEMINI_EXTRAS),
        "mistral": _Form("mistral", "openai-strict", _openai_chat),
        "compatible": _Form("compatible", None, _compatible),
        "mcp": _Form(
            "mcp",
            None,
            _mcp,
            _same("title", "annotations", "outputSchema", "icons", "_meta", "execution")
            | {"output_schema": "outputSchema"},
        ),
        "plain": _Form("plain", None, _plain),
    }
)
"""What each target's tools look like."""


def definition(
    name: str,
    description: str,
    schema: Mapping[str, object],
    target: Form,
    *,
    strict: Strictness | None = None,
    provider_options: Mapping[str, object] | None = None,
) -> Definition:
    """Build the JSON that describes one tool to a provider.

    Args:
        name: As the provider takes it: see `toolkeel.define.names.wire_names`.
        description: For the model; left out if empty.
        schema: JSON Schema of the parameters.
        target: A row of `FORMS`.
        strict: True asks the provider to enforce the schema; if the schema does not fit its
            strict mode, the tool goes out as an ordinary one and `losses` says why. False
            forbids it; None leaves the flag out where its absence means no. ``verbatim`` has
            OpenAI enforce the schema as it is written; elsewhere it is True.
        provider_options: Such as ``cache_control``. Those the target has no place for
            are left out and reported.

    Raises:
        DefinitionError: if the target is unknown or does not take the name, or the schema is none.

    >>> definition("now", "Tell the time.", {"type": "object", "properties": {}}, "anthropic").body
    {'name': 'now', 'description': 'Tell the time.', 'input_schema': {'type': 'object', 'properties': {}}}
    """
    form = FORMS.get(target)
    if form is None:
        raise DefinitionError(f"no target {target!r}; there are {', '.join(FORMS)}")
    if not POLICIES[target].accepts(name):
        raise DefinitionError(
            f"{target} takes no tool called {name!r}; send it as "
            f"{wire_name(name, POLICIES[target])!r} (see wire_names)"
        )
    compiled, losses = _compile(schema, form, target, strict or False)
    head = _Head(name, description, compiled.strict if strict is not None else None)
    body = form.envelope(head, compiled.schema)
    for key, value in (provider_options or {}).items():
        if key in form.extras:
            body[form.extras[key]] = json_copy(value)
        else:
            lost = Loss(f"provider_options/{key}", key, f"{target} has no place for it")
            losses = (*losses, lost)
    return Definition(body, compiled.strict, losses, compiled.keys)


def _compile(
    schema: Mapping[str, object], form: _Form, target: Form, strict: Strictness
) -> tuple[Compiled, tuple[Loss, ...]]:
    """Compile a schema for a target, in strict mode if wanted and possible.

    Also return the losses.

    Raises:
        DefinitionError: the schema is none that a provider accepts.
    """
    if strict == "verbatim" and form.strict == "openai-strict":
        compiled = replace(compile_schema(schema, "plain"), strict=True)
        return compiled, compiled.losses
    compiled = compile_schema(schema, form.strict if strict and form.strict else form.dialect)
    if strict and not form.strict:
        lost = Loss("strict", "strict", f"{target} has no strict mode")
        return compiled, (lost, *compiled.losses)
    return compiled, compiled.losses
