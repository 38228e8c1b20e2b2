"""What somebody changed in a call is told to the model, and stands in its record."""

import asyncio
import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Effects, RunContext, Secret, Tool, ToolContext, Toolset, tool
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.arguments.edits import _changes, append_note, executed_arguments
from toolkeel.call.steps.guard import Allow, Reject, Verdict, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.call.steps.rules import Rules
from toolkeel.content import Text
from toolkeel.context import Edit
from toolkeel.define.tool import Prepared
from toolkeel.events import Event, ToolFinished
from toolkeel.messages import ToolCall, ToolMessage

Seen = list[Mapping[str, Any]]


def pay(amount: int, to: str = "rent", limit: float = 100.0, note: str | None = None) -> str:
    """Pay."""
    return f"paid {amount} for {to} up to {limit}, {note}"


FULL = {"amount": 5, "to": "rent", "limit": 100.0, "note": None}


def _guard(seen: Seen) -> Any:
    def look(prepared: Prepared, context: Any) -> Verdict:
        seen.append(dict(prepared.arguments))
        return Allow()

    return input_guard(look)


def _waiting_guard(seen: Seen) -> Any:
    async def look(prepared: Prepared, context: Any) -> Verdict:
        await asyncio.sleep(0)
        seen.append(dict(prepared.arguments))
        return Allow()

    return input_guard(look)


def _output_guard(seen: Seen) -> Any:
    def look(prepared: Prepared, outcome: Any, context: Any) -> Verdict:
        seen.append(dict(prepared.arguments))
        return Allow()

    return output_guard(look)


def _step(seen: Seen) -> Any:
    async def step(prepared: Prepared, context: Any, proceed: Any) -> object:
        seen.append(dict(prepared.arguments))
        return await proceed(prepared)

    return step


@pytest.mark.parametrize("make", [_guard, _waiting_guard, _output_guard, _step])
def test_whoever_stands_around_a_call_sees_the_defaults_it_will_run_with(
    make: Callable[[Seen], Any],
) -> None:
    seen: Seen = []
    tools = Toolset([tool(steps=[make(seen)])(pay)])
    [result] = tools.run_sync([ToolCall("1", "pay", '{"amount": 5}')])
    assert seen == [FULL]
    assert result.content == "paid 5 for rent up to 100.0, None"


def test_predicates_rules_tickets_and_approvers_see_the_defaults() -> None:
    asked: Seen = []
    tickets: list[Ticket] = []

    def needs(arguments: Mapping[str, Any]) -> bool:
        asked.append(dict(arguments))
        return True

    def approver(ticket: Ticket) -> bool:
        tickets.append(ticket)
        return True

    tools = Toolset([tool(approval=needs)(pay)])
    [result] = tools.run_sync(
        [ToolCall("1", "pay", '{"amount": 5}')], RunContext(approver=approver)
    )
    assert result.status == "success"
    assert asked == [FULL] and [ticket.arguments for ticket in tickets] == [FULL]
    denied = Toolset([pay], rules=Rules(deny=["pay(to=rent)"]))
    [refused] = denied.run_sync([ToolCall("1", "pay", '{"amount": 5}')])
    assert refused.kind == "denied"


def test_a_listener_is_told_what_ran_where_the_call_does_not_say_it_all() -> None:
    ends: list[ToolFinished] = []

    def listen(event: Event) -> None:
        if isinstance(event, ToolFinished):
            ends.append(event)

    @tool
    def whole(amount: int) -> int:
        """No defaults."""
        return amount

    calls = [ToolCall("1", "pay", '{"amount": "5"}'), ToolCall("2", "whole", '{"amount": 5}')]
    Toolset([pay, whole]).run_sync(calls, RunContext(listeners=(listen,)))
    told = {end.call_id: end.arguments for end in ends}
    assert told == {"1": FULL, "2": None}


def test_a_default_that_no_model_could_send_survives_a_change_of_other_arguments() -> None:
    def raise_it(prepared: Prepared, context: Any) -> Verdict:
        return Allow({**prepared.arguments, "amount": 6})

    def take(amount: int, most: float = math.inf, when: int = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
        """Take."""
        return f"{amount} {most} {when}"

    tools = Toolset([tool(steps=[input_guard(raise_it)])(take)])
    [result] = tools.run_sync([ToolCall("1", "take", '{"amount": 5}')])
    assert str(result.content).startswith("6 inf None\n")


def test_a_guards_edit_is_told_to_the_model_and_stands_in_the_result() -> None:
    def small(prepared: Prepared, context: Any) -> Verdict:
        return Allow({**prepared.arguments, "amount": min(prepared.arguments["amount"], 10)})

    tools = Toolset([tool(steps=[input_guard(small)])(pay)])
    [edited, same] = tools.run_sync(
        [ToolCall("1", "pay", '{"amount": 500}'), ToolCall("2", "pay", '{"amount": 5}')]
    )
    assert edited.content == (
        "paid 10 for rent up to 100.0, None\n\n"
        "[The guard small changed this call: amount from 500 to 10]"
    )
    [told] = edited.details["edited"]  # type: ignore[misc]
    assert told["by"] == "the guard small" and told["arguments"] == {**FULL, "amount": 10}
    assert same.content == "paid 5 for rent up to 100.0, None" and "edited" not in same.details


def test_a_persons_edit_is_told_to_the_model_also_when_the_tool_fails() -> None:
    @tool(approval=True)
    def fail(path: str) -> str:
        """Fail."""
        raise ValueError(path)

    def approver(ticket: Ticket) -> Decision:
        return ticket.edit({"path": "b"})

    run = RunContext[None](approver=approver)
    [result] = Toolset([fail]).run_sync([ToolCall("1", "fail", '{"path": "a"}')], run)
    assert result.kind == "crashed"
    assert str(result.content).endswith('[A person changed this call: path from "a" to "b"]')


def test_an_edit_that_is_refused_afterwards_is_told_as_well() -> None:
    def never(prepared: Prepared, context: Any) -> Verdict:
        return Reject("No.") if prepared.arguments["amount"] > 5 else Allow()

    def approver(ticket: Ticket) -> Decision:
        return ticket.edit({**ticket.arguments, "amount": 6})

    tools = Toolset([tool(approval=True, steps=[input_guard(never)])(pay)])
    [result] = tools.run_sync(
        [ToolCall("1", "pay", '{"amount": 5}')], RunContext(approver=approver)
    )
    assert result.content == "No.\n\n[A person changed this call: amount from 5 to 6]"


def test_no_secret_stands_in_what_is_told_of_an_edit() -> None:
    from typing import Annotated

    def rotate(prepared: Prepared, context: Any) -> Verdict:
        return Allow({**prepared.arguments, "key": "new-secret", "n": 2})

    @tool(steps=[input_guard(rotate)])
    def use(key: Annotated[str, Secret], n: int = 1) -> str:
        """Use."""
        return "used"

    [result] = Toolset([use]).run_sync([ToolCall("1", "use", '{"key": "old-secret"}')])
    text = json.dumps([result.content, str(result.details)])
    assert "n from 1 to 2" in text and "secret" not in text


def test_a_call_that_a_step_passes_on_to_another_tool_is_no_edit() -> None:
    def order(amount: int, urgent: bool = True) -> str:
        """Order."""
        return f"ordered {amount}"

    async def swap(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(replace(prepared, tool=tool(order), arguments={"amount": 5}))

    [result] = Toolset([tool(steps=[swap])(pay)]).run_sync([ToolCall("1", "pay", '{"amount": 5}')])
    assert result.content == "ordered 5" and "edited" not in result.details


def test_blocks_get_the_note_as_a_block_of_their_own() -> None:
    message = ToolMessage((Text("a"),), "1", "x", "success")
    note = append_note(message, (Edit("a person", {}, ("n from 1 to 2",)),)).content
    assert note == (Text("a"), Text("[A person changed this call: n from 1 to 2]"))


SCALARS: Any = st.one_of(
    st.integers(-5, 5), st.text(max_size=3), st.booleans(), st.none(), st.lists(st.integers(0, 3))
)


@given(
    st.dictionaries(st.sampled_from("abcd"), SCALARS),
    st.dictionaries(st.sampled_from("abcd"), SCALARS),
)
def test_what_is_seen_is_what_runs_whatever_was_left_out(
    defaults: dict[str, Any], sent: dict[str, Any]
) -> None:
    """For any defaults and any arguments: the guard, the event and the body agree."""
    ran: Seen = []
    seen: Seen = []
    told: list[Any] = []

    def body(**arguments: Any) -> None:
        """Run."""
        ran.append(arguments)

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, kind, default=defaults.get(name, 0), annotation=Any)
        for name in "abcd"
    ]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    body.__annotations__ = {}
    made: Tool[..., Any] = tool(steps=[_guard(seen)], effects=Effects(idempotent=True))(body)
    retried = tool(steps=[_guard(seen), Retry()], effects=Effects(idempotent=True))(body)

    def listen(event: Event) -> None:
        if isinstance(event, ToolFinished):
            told.append(event.arguments)

    for each in (made, retried):
        call = ToolCall("1", "body", sent)
        [result] = Toolset([each]).run_sync([call], RunContext(listeners=(listen,)))
        assert result.status == "success", result.content
    whole = {**{name: defaults.get(name, 0) for name in "abcd"}, **sent}
    assert ran == [whole, whole] and seen == [whole, whole] and told == [whole, whole]


def test_arguments_that_cannot_be_written_are_left_out_of_the_event() -> None:
    class Odd:
        pass

    made = tool(pay)
    prepared = Prepared(ToolCall("1", "pay", "{}"), made, {"amount": Odd()})
    assert executed_arguments(prepared, ToolContext(prepared.call, "pay", RunContext())) is None


def test_each_change_of_an_argument_is_told_in_its_own_words() -> None:
    before = {"same": 1, "gone": 2, "other": "a", "long": ["x"] * 99}
    after = {"same": 1, "other": "b", "long": [*["x"] * 98, "y"], "new": None}
    assert list(_changes(before, after)) == [
        "gone: 2 was taken out",
        'other from "a" to "b"',
        "long, now a list of 99 items",
        "new: null was put in",
    ]
