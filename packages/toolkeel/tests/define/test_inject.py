"""What the program fills: by marker, by type, from run, state and store; and never by the model."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, Optional
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, SecretStr

from tests.define.calling import called
from toolkeel import (
    Agent,
    CancelToken,
    Injected,
    RunContext,
    ToolCall,
    ToolContext,
    Toolset,
    tool,
)
from toolkeel.define.inject import InjectedParameter, _may_be_credential, injected_values, marker_of
from toolkeel.errors import InjectionError, SetupError, ToolError
from toolkeel.events import Event, event_dict
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call


class FromHeaders(Injected):
    """A marker of one's own."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.deps["headers"][name]


class CallId(Injected):
    """A marker for the call's id."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class FromState(Injected):
    """A marker for the run's state, or one key of it."""

    def __init__(self, key: str | None = None) -> None:
        super().__init__(secret=False)
        self.key = key

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.state if self.key is None else context.state[self.key]


class FromStore(Injected):
    """A marker for the run's store."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store


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
    call_id: Annotated[str, CallId],
    state: Annotated[dict[str, Any], FromState],
    count: Annotated[int, FromState("count")],
    store: Annotated[Any, FromStore()],
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
        (Annotated[str, "a description", CallId], CallId),
        (Annotated[Annotated[str, FromState("x")], "more"], FromState),
        (Optional[Annotated[str, FromHeaders]], FromHeaders),  # noqa: UP045
        (Annotated[str | None, FromStore], FromStore),
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
        (Annotated[int, FromState("missing")], "state="),
        (Annotated[Any, FromStore], "store="),
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
    filled = injected_values(wanted, {**sent, "absent": "forged"}, context)
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


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[list[int], Field(default_factory=lambda: [1]), Injected],
        Annotated[list[int], Injected, Field(default_factory=lambda: [1])],
        Annotated[list[int], Field(default=[2]), Injected, Field(default=[1])],
    ],
)
def test_the_last_default_of_an_annotation_stands_wherever_its_field_is(annotation: Any) -> None:
    def body(n: Any) -> str:
        return str(n)

    body.__annotations__["n"] = annotation
    assert called(tool(description="Tell.")(body)) == "[1]"


def test_a_field_without_a_default_is_none() -> None:
    with pytest.raises(InjectionError, match="'user'"):
        called(needs_field, {"q": 1})
    assert called(needs_field, {"q": 1}, RunContext(inject={"user": "ada"})) == "ada"


# — injected values stay out of everything a run writes —

TOKEN = "tök en/+=9f&"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "repr": repr,
    "json": json.dumps,
    "quoted": lambda token: quote(token, safe=""),
    "quoted, lower case": lambda token: quote(token, safe="").lower(),
    "quoted with safe characters": lambda token: quote(token, safe="/="),
    "form": quote_plus,
    "basic": lambda token: base64.b64encode(f"ada:{token}".encode()).decode(),
    "bytes": lambda token: repr(token.encode()),
}


class Client(NamedTuple):
    token: str


@dataclasses.dataclass
class Settings:
    key: SecretStr


GIVEN: dict[str, object] = {
    "text": TOKEN,
    "bytes": TOKEN.encode(),
    "secret": SecretStr(TOKEN),
    "mapping": {"headers": [TOKEN]},
    "tuple": Client(TOKEN),
    "dataclass": Settings(SecretStr(TOKEN)),
}


def failing(how: str) -> Any:
    @tool
    async def fetch(form: str, token: Annotated[Any, Injected], context: ToolContext) -> str:
        """Fetch."""
        text = f"GET https://api/?key={FORMS[form](TOKEN)}"
        context.progress(text)
        context.emit(text)
        if how == "group":
            raise ExceptionGroup("several", [ConnectionError(text)])
        raise {"crash": ConnectionError, "error": ToolError, "setup": SetupError}[how](text)

    return fetch


@pytest.mark.parametrize("how", ["crash", "error", "group", "setup"])
@pytest.mark.parametrize("form", FORMS)
def test_a_failing_body_reveals_no_injected_value_on_any_route(
    form: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    sessions, events = Sessions(":memory:"), list[Event]()
    agent = Agent(Scripted([[call("fetch", {"form": form})], "done"]), [failing(how)])
    run = agent.start(
        "go", session=sessions["ada"], inject={"token": TOKEN}, listeners=[events.append]
    )
    with suppress(SetupError):
        asyncio.run(run_to_end(run))
    written = [
        *(json.dumps(event_dict(event), ensure_ascii=False) for event in events),
        run.state.to_json(),
        *sessions.export("ada"),
        caplog.text,
    ]
    assert any("***" in text for text in written)
    forms = [form_of(TOKEN) for form_of in FORMS.values()]
    assert [
        form for form in forms for text in written if form in text or dumped(form) in text
    ] == []


def dumped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


async def run_to_end(run: Any) -> None:
    await run


@pytest.mark.parametrize("kind", GIVEN)
def test_texts_within_an_injected_value_are_masked_as_well(kind: str) -> None:
    agent = Agent(Scripted([[call("fetch", {"form": "plain"})], "done"]), [failing("crash")])
    result = agent.run_sync("go", inject={"token": GIVEN[kind]})
    assert TOKEN not in result.state.to_json()


def test_an_injected_value_that_is_no_secret_is_shown() -> None:
    @tool
    def greet(city: Annotated[str, Injected(secret=False)]) -> str:
        """Greet."""
        raise ToolError(f"nobody in {city}")

    [message] = Toolset([greet]).run_sync(
        [ToolCall("1", "greet", {})], RunContext(inject={"city": "Paris"})
    )
    assert "nobody in Paris" in message.text


@pytest.mark.parametrize(("value", "is_masked"), [("Paris", False), ("sk-1234567", True)])
def test_an_ordinary_word_that_is_injected_stays_readable_in_the_logs_of_others(
    value: str, is_masked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def look(place: Annotated[str, Injected()]) -> str:
        """Look."""
        return "seen"

    run: RunContext[Any] = RunContext(inject={"place": value})
    [message] = asyncio.run(Toolset([look]).run([ToolCall("1", "look", {})], run))
    assert message.text == "seen"
    logging.getLogger("toolkeel").warning("another run says %s", value)
    assert (value not in caplog.text) is is_masked


@pytest.mark.parametrize("given", [SecretStr("rosebud"), Settings(SecretStr("rosebud"))])
def test_a_short_word_that_its_type_declares_a_secret_stays_out_of_logs(
    given: object, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def look(key: Annotated[Any, Injected()]) -> str:
        """Look."""
        raise ConnectionError("rosebud")

    run: RunContext[Any] = RunContext(inject={"key": given})
    Toolset([look]).run_sync([ToolCall("1", "look", {})], run)
    assert caplog.text and "rosebud" not in caplog.text
    logging.getLogger("toolkeel").warning("it was rosebud")
    assert "it was ***" in caplog.text


@pytest.mark.parametrize(
    ("text", "credential"),
    [
        ("abcdef12", True),
        ("abcdef1", False),
        ("abcdefgh", False),
        ("two words", False),
        ("two-words", True),
    ],
)
def test_a_long_text_with_a_digit_or_a_sign_may_be_a_credential(
    text: str, credential: bool
) -> None:
    assert _may_be_credential(text) is credential
