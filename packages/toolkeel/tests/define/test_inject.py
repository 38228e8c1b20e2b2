"""What the program fills: by marker, by type, from run, state and store; and never by the model."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from tests.define.calling import called
from toolkeel import (
    CancelToken,
    Injected,
    RunContext,
    ToolCall,
    ToolContext,
    Toolset,
    tool,
)
from toolkeel.define.inject import InjectedParameter, inject, marker_of
from toolkeel.errors import InjectionError
from toolkeel_compat.langchain import InjectedState, InjectedStore, InjectedToolCallId


class FromHeaders(Injected):
    """A marker of one's own."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.deps["headers"][name]


class Session:
    """A type that is made from the running call."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> Session:
        return cls(context.call.id)


@tool
def everything(
    n: int,
    call_id: Annotated[str, InjectedToolCallId],
    state: Annotated[dict[str, Any], InjectedState],
    count: Annotated[int, InjectedState("count")],
    store: Annotated[Any, InjectedStore()],
    token: Annotated[str, Injected],
    agent: Annotated[str, FromHeaders],
    session: Session,
    run: RunContext[Any],
    cancel: CancelToken,
    context: ToolContext[Any],
) -> list[object]:
    """Take all there is."""
    assert run is context.run and cancel is run.cancel and state is run.state
    return [n, call_id, count, store, token, agent, session.call_id]


def test_every_kind_of_injected_parameter_is_filled_and_hidden() -> None:
    given_run = RunContext(
        {"headers": {"agent": "curl"}},
        state={"count": 3},
        store="the store",
        inject={"token": "s3cret"},
    )
    assert list(everything.parameters["properties"]) == ["n"]  # type: ignore[call-overload]
    [result] = Toolset([everything]).run_sync([ToolCall("c9", "everything", {"n": 1})], given_run)
    assert result.content == '[1,"c9",3,"the store","s3cret","curl","c9"]'


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (Annotated[str, Injected], Injected),
        (Annotated[str, Injected()], Injected),
        (Annotated[str, "a description", InjectedToolCallId], InjectedToolCallId),
        (Annotated[Annotated[str, InjectedState("x")], "more"], InjectedState),
        (Optional[Annotated[str, FromHeaders]], FromHeaders),  # noqa: UP045
        (Annotated[str | None, InjectedStore], InjectedStore),
    ],
)
def test_a_marker_is_found_wherever_it_stands(annotation: Any, kind: type) -> None:
    assert type(marker_of(annotation)) is kind


@pytest.mark.parametrize(
    "annotation",
    [int, str | None, list[int], Annotated[int, "text"], Any, dict[str, Any], None, "x"],
)
def test_an_ordinary_annotation_has_no_marker(annotation: Any) -> None:
    assert marker_of(annotation) is None


@pytest.mark.parametrize(
    ("annotation", "fix"),
    [
        (Annotated[str, Injected], "inject={'x': ...}"),
        (Annotated[int, InjectedState("missing")], "state="),
        (Annotated[Any, InjectedStore], "store="),
    ],
)
def test_a_missing_value_names_tool_parameter_and_fix_or_leaves_the_default(
    annotation: Any, fix: str
) -> None:
    def needs(x: Any) -> str:
        return str(x)

    needs.__annotations__["x"] = annotation
    made = tool(needs)
    with pytest.raises(InjectionError, match=r"tool 'needs': .* parameter 'x'") as raised:
        made.invoke({})
    assert fix in str(raised.value)
    needs.__defaults__ = ("default",)
    assert tool(needs).invoke({}) == "default"


def test_none_is_a_value_like_any_other() -> None:
    @tool
    def shows(x: Annotated[str | None, Injected] = "default") -> str:
        """Show."""
        return repr(x)

    assert shows.invoke({}, RunContext(inject={"x": None})) == "None"


@given(st.dictionaries(st.sampled_from(["n", "secret", "context", "other"]), st.text(max_size=3)))
def test_whatever_the_model_sends_injected_values_are_the_programs(sent: dict[str, str]) -> None:
    context: ToolContext[Any] = ToolContext(
        ToolCall("1", "take"), "take", RunContext(inject={"secret": "s3cret"})
    )
    wanted = (
        InjectedParameter("secret", Injected()),
        InjectedParameter("absent", Injected(), optional=True),
    )
    filled = inject(wanted, {**sent, "absent": "forged"}, context)
    assert filled["secret"] == "s3cret"
    assert "absent" not in filled
    kept = {key: value for key, value in sent.items() if key != "secret"}
    assert {key: filled[key] for key in kept} == kept


def test_a_marker_that_fails_is_the_programs_mistake_not_the_models() -> None:
    class Broken(Injected):
        def resolve(self, context: ToolContext[Any], name: str) -> object:
            raise ValueError("broken marker")

    @tool
    def takes(x: Annotated[str, Broken]) -> None:
        """Take."""

    [result] = Toolset([takes]).run_sync([ToolCall("1", "takes", {})])
    assert result.kind == "crashed"
    assert "broken marker" in str(result.details["traceback"])


@tool
def with_fields(
    q: int,
    user: Annotated[str, Injected] = Field("nobody"),
    tags: Annotated[list[str], Injected] = Field(default_factory=list),  # noqa: B008
    *,
    unit: Annotated[str, Injected, Field(default="m")],
) -> list[object]:
    """Take what is there."""
    return [q, user, tags, unit]


@tool
def needs_field(q: int, user: Annotated[str, Injected] = Field(min_length=1)) -> str:
    """Take what is there."""
    return user


def test_the_default_of_a_field_stands_where_nothing_is_injected() -> None:
    assert called(with_fields, {"q": 1}) == '[1,"nobody",[],"m"]'
    run: RunContext[Any] = RunContext(inject={"user": "ada", "tags": ["x"], "unit": "km"})
    assert called(with_fields, {"q": 1}, run) == '[1,"ada",["x"],"km"]'


def test_a_field_without_a_default_is_none() -> None:
    with pytest.raises(InjectionError, match="'user'"):
        called(needs_field, {"q": 1})
    assert called(needs_field, {"q": 1}, RunContext(inject={"user": "ada"})) == "ada"
