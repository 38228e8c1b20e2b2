"""What is written down of plain types is what pydantic says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from tests.gates.fresh import fresh
from toolkeel.define.schema.fragments import typed_dict
from toolkeel.define.schema.json_schema import SchemaMaker
from toolkeel.define.schema.plain_types import written

plain = st.recursive(
    st.sampled_from([str, int, float, bool, Any, Literal["a"], Literal["b", "a"]]),
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        inner.map(lambda each: Optional[each]),  # noqa: UP045
        inner.map(lambda each: Union[None, each]),  # noqa: UP007
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007
    ),
    max_leaves=4,
)


@given(plain)
def test_what_is_written_is_what_pydantic_says(annotation: Any) -> None:
    known = written(annotation)
    if known is None:
        return
    adapter: Any = TypeAdapter(typed_dict("t", {"x": annotation}))
    core, schema = known
    assert core == adapter.core_schema["fields"]["x"]["schema"]
    said = adapter.json_schema(schema_generator=SchemaMaker)
    assert json.dumps(schema) == json.dumps(said["properties"]["x"])


@pytest.mark.parametrize("annotation", [str, list[dict[str, float]], bool | None, Literal["a"]])
def test_most_parameters_need_nothing_else(annotation: Any) -> None:
    assert written(annotation) is not None


@pytest.mark.parametrize(
    "annotation",
    [bytes, list, dict[int, str], int | str, Literal[1], Annotated[int, "text"], BaseModel, None],
)
def test_any_other_type_is_left_to_pydantic(annotation: Any) -> None:
    assert written(annotation) is None


def test_the_first_tool_of_plain_types_loads_no_more_of_pydantic(tmp_path: Path) -> None:
    code = (
        "import json, sys\nfrom toolkeel import tool\n"
        "def find(text: str, most: int = 3, tags: list[str] | None = None) -> str:\n"
        '    """Find.\n\n    Args:\n        text: What.\n    """\n'
        "tool(find)\nprint(json.dumps(sorted(sys.modules)))"
    )
    assert not {"pydantic.fields", "pydantic.types", "importlib.metadata"} & set(
        fresh(code, tmp_path)
    )
