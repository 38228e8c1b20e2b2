"""What we send, judged by the vendors' own types. No network, no keys.

Each check needs that vendor's package; without it the test says that it did not run.
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.define.schema_cases import MODEL_SCHEMAS
from tests.shared import cannot_run, shared_file
from toolkeel.define.dialect.definition import Form, definition
from toolkeel.define.names import POLICIES, wire_names

Json = Any


def vendor(module: str) -> Any:
    """A vendor's module, or the loud end of the test."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        return cannot_run(f"{module} is not installed ({error})")


@cache
def tools() -> tuple[Json, ...]:
    """The BFCL sample's tools, and one for each schema of our own."""
    lines = shared_file("data/bfcl-sample.jsonl").read_text("utf-8").splitlines()
    own = [
        {"name": f"制造.{n}", "description": "", "parameters": s} for n, s in MODEL_SCHEMAS.items()
    ]
    return (*(tool for line in lines for tool in json.loads(line)["tools"]), *own)


def bodies(target: Form, *stricts: bool | None) -> list[Json]:
    """Every tool as `target` gets it."""
    found = []
    for tool in tools():
        alias = wire_names([tool["name"]], POLICIES[target])[tool["name"]]
        for strict in stricts or (None,):
            made = definition(alias, tool["description"], tool["parameters"], target, strict=strict)
            found.append(made.body)
    assert len(found) > 190
    return found


def test_openai_chat_takes_every_tool() -> None:
    param = vendor("openai.types.chat").ChatCompletionFunctionToolParam
    adapter = TypeAdapter(param)
    for body in bodies("openai-chat", None, False, True):
        assert adapter.validate_python(body) == body  # an unknown key would be missing


def test_openai_responses_takes_every_tool() -> None:
    adapter = TypeAdapter(vendor("openai.types.responses").FunctionToolParam)
    for body in bodies("openai-responses", None, False, True):
        assert adapter.validate_python(body) == body


def test_openais_own_strict_converter_finds_nothing_to_mend() -> None:
    ensure = vendor("openai.lib._pydantic")._ensure_strict_json_schema
    strict = [b["function"] for b in bodies("openai-chat", True) if b["function"]["strict"]]
    assert len(strict) > 150
    for function in strict:
        schema = function["parameters"]
        mended = ensure(copy.deepcopy(schema), path=(), root=copy.deepcopy(schema))
        assert mended == schema


def test_anthropic_takes_every_tool() -> None:
    adapter = TypeAdapter(vendor("anthropic.types").ToolParam)
    for body in bodies("anthropic", None, True):
        assert adapter.validate_python(body) == body
        assert body["input_schema"]["type"] == "object"


def test_anthropics_own_strict_converter_finds_nothing_to_drop() -> None:
    transform = vendor("anthropic.lib._parse._transform").transform_schema
    strict = [b for b in bodies("anthropic", True) if b.get("strict")]
    assert len(strict) > 150
    for body in strict:
        schema = copy.deepcopy(body["input_schema"])
        theirs, ours = _words(transform(copy.deepcopy(schema))), _words(schema)
        # it tells defaults and patterns in the description; the guide lists both as supported
        assert ours - theirs <= {"default", "pattern", "type"}


def _words(schema: Json) -> set[str]:
    if isinstance(schema, list):
        return {word for item in schema for word in _words(item)}
    if not isinstance(schema, dict):
        return set()
    names = schema.get("properties", {})
    rest = {key: value for key, value in schema.items() if key not in ("properties", "enum")}
    inner = [*names.values(), *rest.pop("$defs", {}).values(), *rest.values()]
    return {*schema} | {word for item in inner for word in _words(item)}


def test_bedrocks_service_model_takes_every_tool() -> None:
    loaders = vendor("botocore.loaders")
    described = loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    model = vendor("botocore.model").ServiceModel(described)
    shape = model.shape_for("ToolConfiguration")
    validator = vendor("botocore.validate").ParamValidator()
    for body in bodies("bedrock", None, True):
        report = validator.validate({"tools": [body]}, shape)
        assert not report.has_errors(), report.generate_report()


def test_bedrocks_validator_would_refuse_a_wrong_tool() -> None:
    described = (
        vendor("botocore.loaders").Loader().load_service_model("bedrock-runtime", "service-2")
    )
    shape = vendor("botocore.model").ServiceModel(described).shape_for("ToolConfiguration")
    wrong = {"tools": [{"toolSpec": {"name": "w", "parameters": {}}}]}
    assert vendor("botocore.validate").ParamValidator().validate(wrong, shape).has_errors()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("target", ["gemini", "gemini-legacy"])
def test_google_genai_takes_every_tool(target: Form) -> None:
    declaration = vendor("google.genai.types").FunctionDeclaration
    for body in bodies(target):
        found = declaration.model_validate(body)  # unknown fields are refused
        assert found.name == body["name"]


def test_google_genai_would_refuse_a_wrong_schema() -> None:
    declaration = vendor("google.genai.types").FunctionDeclaration
    with pytest.raises(ValueError, match="const"):
        declaration.model_validate({"name": "w", "parameters": {"type": "OBJECT", "const": 1}})


def test_mcp_takes_every_tool_and_has_nothing_to_say_about_its_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tool = vendor("mcp.types").Tool
    validate = vendor("mcp.shared.tool_name_validation").validate_tool_name
    with caplog.at_level(logging.WARNING):
        for body in bodies("mcp"):
            found = tool.model_validate(body)
            assert found.input_schema == body["inputSchema"]
            assert validate(body["name"]).is_valid
    assert caplog.records == []


def test_mistral_takes_every_tool() -> None:
    tool = vendor("mistralai.client.models").Tool
    for body in bodies("mistral", None, True):
        found = tool.model_validate(body)
        assert found.function.parameters == body["function"]["parameters"]
