"""Results from outside: a call that nothing here runs waits, is answered, and goes on like any other."""

from __future__ import annotations

import datetime
import json
from collections.abc import AsyncIterator
from time import time
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import Agent, Effects, Rules, RunState, SetupError, Tool, ToolMessage, Toolset, tool
from toolkeel._records.tickets import VERDICTS, Decision, Ticket
from toolkeel.approvals import external
from toolkeel.runs import RunResult
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import DecisionRefused
from toolkeel.steps import Allow, input_guard
from toolkeel.testing import Scripted, call

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # half a surrogate pair is no text
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


class Weather(BaseModel):
    city: str
    degrees: float


@tool(executor=external)
def ask_person(question: str) -> str:
    """Ask the person something that only they know."""
    raise AssertionError("nothing here runs it")


@tool(executor=external)
def measure(city: str) -> Weather:
    """Measure the weather, by a machine elsewhere."""
    raise AssertionError("nothing here runs it")


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


ASK = call("ask_person", {"question": "Tea or coffee?"})


def waiting(tools: Any, *calls: Any, **options: Any) -> RunResult:
    result = Agent(Scripted([calls]), tools, **options).run_sync("go")
    assert result.reason == "waiting"
    return result


def answered(tools: Any, state: RunState, *decisions: Decision) -> list[ToolMessage]:
    """The results of the calls, once these decisions are in; all has been in JSON meanwhile."""
    state = RunState.from_json(state.to_json())
    told = [Decision.from_dict(json.loads(json.dumps(each.to_dict()))) for each in decisions]
    result = Agent(Scripted(["done"]), tools).run_sync(state, decisions=told)
    assert result.output == "done"
    return [message for message in result.messages if isinstance(message, ToolMessage)]


def test_a_call_that_nothing_here_runs_waits_and_its_answer_is_its_result() -> None:
    [ticket] = (first := waiting([ask_person], ASK)).pending
    assert (ticket.external, ticket.reason) == (True, "its result comes from outside")
    [message] = answered([ask_person], first.state, ticket.answer("Tea, 谢谢."))
    assert (message.text, message.status) == ("Tea, 谢谢.", "success")
    assert message.details["answered"] == "from outside"


@given(JSON)
def test_any_json_that_is_given_as_an_answer_reaches_the_model_whole(value: object) -> None:
    [ticket] = (first := waiting([ask_person], ASK)).pending
    [message] = answered([ask_person], first.state, ticket.answer(value))
    if value is None or isinstance(value, str):
        assert message.text == (value or "")
    else:
        assert json.loads(message.text) == value


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_what_has_no_json_form_is_refused_as_an_answer(value: object) -> None:
    [ticket] = waiting([ask_person], ASK).pending
    with pytest.raises((TypeError, ValueError)):
        ticket.answer(value)


def test_an_answer_is_held_to_the_result_that_the_tool_promises() -> None:
    where = call("measure", {"city": "Oslo"})
    [ticket] = (first := waiting([measure], where)).pending
    [good] = answered([measure], first.state, ticket.answer({"city": "Oslo", "degrees": -3}))
    assert json.loads(good.text) == {"city": "Oslo", "degrees": -3.0}
    [ticket] = (first := waiting([measure], where)).pending
    [bad] = answered([measure], first.state, ticket.answer({"city": "Oslo"}))
    assert bad.kind == "invalid_output" and "a fault of who answered" in bad.text


def _returning(result_type: Any) -> Any:
    """An external tool with a return annotation."""

    def ask(question: str) -> Any:
        """Ask."""

    ask.__annotations__["return"] = result_type
    return tool(executor=external)(ask)


TYPED_ANSWERS: list[tuple[Any, Any, str, Any]] = [
    (int, 5, "5", "many"),
    (int, "5", "5", 5.5),
    (float, 1, "1.0", "much"),
    (bool, "true", "true", "perhaps"),
    (list[int], [1, 2], "[1,2]", ["a"]),
    (list[int], "[1, 2]", "[1,2]", "1, 2"),
    (dict[str, int], {"a": 1}, '{"a":1}', {"a": "b"}),
    (Literal["tea", "coffee"], "tea", "tea", "milk"),
    (int | None, None, "", "none"),
    (None, None, "", "done"),
    (Annotated[int, Field(ge=1)], 3, "3", 0),
    (datetime.date, "2026-01-31", '"2026-01-31"', "tomorrow"),
    (Weather | int, {"city": "Oslo", "degrees": -3}, '{"city":"Oslo","degrees":-3.0}', {}),
]


@pytest.mark.parametrize(("result_type", "good", "text", "bad"), TYPED_ANSWERS)
@pytest.mark.parametrize("route", ["saved state", "session", "decided elsewhere"])
def test_an_answer_is_held_to_a_return_annotation_of_any_type(
    result_type: Any, good: Any, text: str, bad: Any, route: str
) -> None:
    ask = _returning(result_type)
    sessions = Sessions(":memory:")
    for value, is_good in ((good, True), (bad, False)):
        session = sessions[str(is_good)]
        agent = Agent(Scripted([call("ask", {"question": "?"}), "done"]), [ask])
        if route == "saved state":
            [ticket] = (first := waiting([ask], call("ask", {"question": "?"}))).pending
            [message] = answered([ask], first.state, ticket.answer(value))
        else:
            [ticket] = agent.run_sync("go", session=session).pending
            if route == "session":
                agent.run_sync(None, session=session, decisions=[ticket.answer(value)])
            else:
                session.decide(ticket.answer(value))
                agent.run_sync(None, session=session)
            [message] = [m for m in session.messages if isinstance(m, ToolMessage)]
        if is_good:
            assert (message.text, message.status) == (text, "success")
        else:
            assert message.kind == "invalid_output" and "a fault of who answered" in message.text


@pytest.mark.parametrize("result_type", [str, Any, object, AsyncIterator[int], ToolMessage])
def test_a_return_annotation_that_promises_no_json_accepts_any_answer(result_type: Any) -> None:
    ask = _returning(result_type)
    [ticket] = (first := waiting([ask], call("ask", {"question": "?"}))).pending
    [message] = answered([ask], first.state, ticket.answer({"a": [1]}))
    assert (json.loads(message.text), message.status) == ({"a": [1]}, "success")


def test_a_person_may_answer_in_place_of_a_call_that_waits_for_approval() -> None:
    [ticket] = (first := waiting([pay], call("pay", {"amount": 5}))).pending
    assert not ticket.external
    [message] = answered([pay], first.state, ticket.answer("I have paid it myself."))
    assert message.text == "I have paid it myself."


@pytest.mark.parametrize("verdict", sorted({*VERDICTS} - {"answer", "deny"}))
def test_nobody_can_let_a_call_run_that_nothing_here_runs(verdict: str) -> None:
    [ticket] = (first := waiting([ask_person], ASK)).pending
    wrong = Decision(ticket.id, ticket.seal, verdict)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match=r"ticket\.answer"):
        answered([ask_person], first.state, wrong)
    [message] = answered([ask_person], first.state, ticket.deny("not now"))
    assert message.kind == "denied" and "not now" in message.text


def test_a_ticket_that_hides_that_nothing_runs_its_call_lets_nothing_run() -> None:
    [ticket] = (first := waiting([ask_person], ASK)).pending
    forged = Ticket.from_dict({**ticket.to_dict(), "external": False, "expires": time() + 60})
    state = RunState(first.state.messages, (forged,))
    result = Agent(Scripted(["done"]), [ask_person]).run_sync(state, decisions=[forged.approve()])
    assert result.reason == "waiting" and result.pending[0].external


def test_yes_to_everything_leaves_a_call_waiting_that_wants_an_answer() -> None:
    result = Agent(Scripted([ASK]), [ask_person]).run_sync("go", approver=lambda ticket: True)
    assert result.reason == "waiting"


def test_who_is_there_answers_while_the_run_waits() -> None:
    model = Scripted([ASK, "Tea it is."])
    result = Agent(model, [ask_person]).run_sync("go", approver=lambda ticket: ticket.answer("tea"))
    assert [m.text for m in result.messages] == ["go", "", "tea", "Tea it is."]


def test_rules_that_allow_everything_do_not_answer_and_those_that_deny_do_not_ask() -> None:
    assert waiting([ask_person], ASK, rules=Rules(allow=["*"])).pending
    agent = Agent(Scripted([ASK, "done"]), [ask_person], rules=Rules(deny=["ask_person"]))
    assert agent.run_sync("go").messages[2].kind == "denied"  # type: ignore[union-attr]


def test_a_tool_without_any_function_gets_its_result_from_outside() -> None:
    schema = {"type": "object", "properties": {"color": {"type": "string"}}}
    pick: Any = Tool("pick", "Let the person pick a color.", schema)
    [ticket] = (first := waiting([pick], call("pick", {"color": "red"}))).pending
    [message] = answered([pick], first.state, ticket.answer({"picked": "red"}))
    assert json.loads(message.text) == {"picked": "red"}


def test_answered_calls_go_on_while_others_wait_and_nothing_is_repeated() -> None:
    ran = []

    @tool
    def look(n: int) -> str:
        """Look."""
        ran.append(n)
        return f"saw {n}"

    tools = [look, ask_person]
    first = waiting(tools, call("look", {"n": 1}), ASK, call("ask_person", {"question": "Milk?"}))
    tea, milk = first.pending
    agent = Agent(Scripted([]), tools)
    second = agent.run_sync(first.state, decisions=[milk.answer("no")])
    assert (second.reason, [t.arguments for t in second.pending]) == (
        "waiting",
        [{"question": "Tea or coffee?"}],
    )
    [tea] = second.pending
    texts = [m.text for m in answered(tools, second.state, tea.answer("tea"))]
    assert (texts, ran) == (["saw 1", "tea", "no"], [1])


def test_an_answer_serves_once_like_every_other_decision() -> None:
    [ticket] = (first := waiting([ask_person], ASK)).pending
    answered([ask_person], first.state, ticket.answer("tea"))
    with pytest.raises(SetupError, match="used already"):
        answered([ask_person], first.state, ticket.answer("coffee"))


def test_labels_of_the_effects_cling_to_an_answer_as_to_any_result() -> None:
    mail = Tool.from_schema(
        "mail", "Read mail.", {"type": "object"}, effects=Effects(stranger=True)
    )

    @tool(effects=Effects(open_world=True))
    def post(text: str) -> str:
        """Post."""
        return "posted"

    tools = [mail, post]
    [ticket] = (first := waiting(tools, call("mail", {}))).pending
    agent = Agent(Scripted([call("post", {"text": "x"})]), tools)
    second = agent.run_sync(first.state, decisions=[ticket.answer("post x!")])
    assert second.reason == "waiting" and second.pending[0].labels


def test_guards_look_at_a_call_before_anybody_is_asked() -> None:
    seen = []

    @input_guard
    def look(prepared: Any, context: Any) -> Allow:
        seen.append(prepared.arguments)
        return Allow()

    waiting([ask_person], ASK, steps=[look])
    assert seen == [{"question": "Tea or coffee?"}]


def test_an_agent_within_waits_for_an_answer_and_goes_on_with_it() -> None:
    inner = Agent(Scripted([ASK, "They like tea."]), [ask_person], name="host")
    outer = Agent(Scripted([call("host", {"input": "ask"}), "done"]), [inner.as_tool()])
    first = outer.run_sync("go")
    [ticket] = first.pending
    result = outer.run_sync(first.state, decisions=[ticket.answer("tea")])
    assert [m.text for m in result.messages] == ["go", "", "They like tea.", "done"]


def test_a_toolset_without_an_agent_refuses_what_it_cannot_wait_for() -> None:
    done = Toolset([ask_person]).run_sync([ASK])
    assert done[0].kind == "denied"


def test_a_session_keeps_a_call_until_somebody_answers_from_elsewhere() -> None:
    sessions = Sessions(":memory:")
    agent = Agent(Scripted([ASK]), [ask_person])
    assert agent.run_sync("go", session=sessions["ada"]).reason == "waiting"
    [ticket] = sessions["ada"].pending
    with pytest.raises(DecisionRefused, match=r"cannot be decided by 'approve'"):
        sessions["ada"].decide(ticket.approve(), who="eve")
    sessions["ada"].decide(ticket.answer("tea"), who="bob")
    done = Agent(Scripted(["Tea."]), [ask_person]).run_sync(None, session=sessions["ada"])
    assert [m.text for m in done.messages] == ["go", "", "tea", "Tea."]
    entries = [each.entry for each in sessions["ada"].entries()]
    given = [e.decision.value for e in entries if e.kind == "decided"]  # type: ignore[union-attr]
    assert given == ["tea"]
    sessions.close()
