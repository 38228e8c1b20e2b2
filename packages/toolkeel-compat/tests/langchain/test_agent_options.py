"""Options of an agent: middleware is ours, and reducers come from all schemas."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest

from toolkeel.errors import SetupError
from toolkeel_compat.langchain import AgentMiddleware, AgentState, ModelCallLimitMiddleware
from toolkeel_compat.langchain.agent_options import check_middleware, merge_reducers


class Counts(AgentState):
    count: Annotated[int, operator.add]


class Middle(AgentMiddleware):
    state_schema = Counts


def test_reducers_of_a_middlewares_schema_count() -> None:
    reducers: Any = merge_reducers({"middleware": [Middle()]})
    assert reducers["count"](1, 2) == 3


def test_what_is_no_middleware_is_refused_with_what_to_write() -> None:
    with pytest.raises(SetupError, match="middleware"):
        check_middleware({"middleware": [object()]})
    limit = ModelCallLimitMiddleware(run_limit=1)
    with pytest.raises(SetupError, match="ModelCallLimitMiddleware is there twice"):
        check_middleware({"middleware": [limit, limit]})
