"""Description and schemas of a server's tool."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.schema import foreign
from toolkeel.mcp.tool_schemas import MAX_DESCRIPTION, ToolSchemas


@pytest.mark.parametrize(("definition", "shown"), [
    ({"description": "Act.", "title": "T"}, "Act."), ({"title": "T"}, "T"), ({}, "act now"),
    ({"inputSchema": {"description": "Acts."}}, "Acts."), ({"inputSchema": {"description": 5}}, "act now"),
    ({"description": "x" * 60_000}, "x" * MAX_DESCRIPTION + " [cut here]"),
])  # fmt: skip
def test_a_model_is_shown_the_first_description_there_is(
    definition: dict[str, Any], shown: str
) -> None:
    assert ToolSchemas("act_now", {"inputSchema": {}, **definition}).description == shown


def test_a_schema_is_compiled_once_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    compile = foreign.compile_json_schema
    monkeypatch.setattr(
        foreign, "compile_json_schema", lambda schema: compiled.append(schema) or compile(schema)
    )
    odd: dict[str, Any] = {"properties": {"x": {"pattern": "^a(?=b)"}}}
    schemas = ToolSchemas("act", {"inputSchema": odd, "outputSchema": odd})
    assert schemas.description and not compiled
    with pytest.raises(ValueError, match="act"):
        schemas.argument_schema().validate('{"x": "c"}')
    schemas.argument_schema()
    assert len(compiled) == 1 and schemas.problems() == ()
    with pytest.raises(ValueError, match="matching"):
        schemas.output_schema().check({"x": "c"})
    assert len(compiled) == 2


def test_results_whose_schema_is_none_are_not_checked() -> None:
    schemas = ToolSchemas("act", {"inputSchema": {}, "outputSchema": {"$schema": "urn:none"}})
    assert schemas.output_schema().check(5) == 5
    [problem] = schemas.problems()
    assert "dialect" in problem or "not checked" in problem
