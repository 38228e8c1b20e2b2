"""Structured output: which models' servers hold replies to a schema, and the schema's form."""

from __future__ import annotations

import re
from dataclasses import replace

from toolkeel.define.dialect import Compiled, Target, compile_schema
from toolkeel.errors import DefinitionError
from toolkeel.model_interface import OutputFormat
from toolkeel.providers.wire.reasoning_ownership import model_family

_OLD_GPT = re.compile(r"gpt-3\.5|gpt-4($|-(?!5))|chatgpt|o1-(mini|preview)|davinci|babbage")
_NEW_CLAUDE = re.compile(r"claude-(opus|sonnet|haiku)-(4-[5-9]|[5-9])")
_GEMINI = re.compile(r"gemini-(\d+)(?:[.-](\d+))?")


def compile_format(output: OutputFormat, target: Target) -> Compiled:
    """Compile the schema of a reply for a wire; unchanged by its dialect if the format is not strict.

    A format that is strict ``verbatim`` is unchanged at OpenAI's servers, and enforced.

    Raises:
        DefinitionError: if it is not the schema of an object.
    """
    if output.strict == "verbatim" and target == "openai-strict":
        return replace(compile_schema(output.schema, "plain"), strict=True)
    return compile_schema(output.schema, target if output.strict else "plain")


def is_expressible(output: OutputFormat, target: Target) -> bool:
    """Return True if the wire's dialect enforces the complete schema, without renamed properties.

    A format that is not strict exists on OpenAI's wires alone.
    """
    if not output.strict:
        return target == "openai-strict"  # the others have no format that is not enforced
    try:
        compiled = compile_format(output, target)
    except DefinitionError:
        return False
    return not compiled.keys and (compiled.strict or target == "gemini")


def gpt_has_structured_output(model: str) -> bool:
    """Return True if a model of OpenAI's holds replies to a schema: all since GPT-4o.

    >>> gpt_has_structured_output("gpt-5"), gpt_has_structured_output("gpt-4o-mini"), gpt_has_structured_output("gpt-4-turbo")
    (True, True, False)
    """
    return _OLD_GPT.match(model_family(model)) is None


def claude_has_structured_output(model: str) -> bool:
    """Return True if a model of Anthropic's holds replies to a schema: all since Claude 4.5.

    >>> claude_has_structured_output("claude-sonnet-4-5-20250929"), claude_has_structured_output("claude-opus-4-1")
    (True, False)
    """
    return _NEW_CLAUDE.match(model_family(model)) is not None


def gemini_has_structured_output(model: str, *, tools: bool) -> bool:
    """Return True if a Gemini model does: since 2.5, and beside tools since 3.

    >>> gemini_has_structured_output("gemini-2.5-flash", tools=False), gemini_has_structured_output("gemini-2.5-flash", tools=True)
    (True, False)
    >>> gemini_has_structured_output("gemini-3-pro-preview", tools=True)
    True
    """
    version = _GEMINI.match(model_family(model))
    if version is None:
        return False
    known = (int(version[1]), int(version[2] or 0))
    return known >= ((3, 0) if tools else (2, 5))
