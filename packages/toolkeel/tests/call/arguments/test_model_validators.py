"""Validators of a whole model see what the program fills, and nothing of that reaches the model."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tests.define.calling import answered, called
from toolkeel import Injected, RunContext, Tool, ToolCall, Toolset, tool
from toolkeel._records.tickets import Ticket
from toolkeel.call.steps.guard import Allow, input_guard
from toolkeel.errors import CallError, InjectionError

SECRET = "injected-secret"


class Order(BaseModel):
    low: int
    high: int = Field(10, alias="upTo")
    user: Annotated[str, Injected]
    level: Annotated[int, Injected] = 0

    @field_validator("high")
    @classmethod
    def even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("it must be even")
        return value

    @model_validator(mode="before")
    @classmethod
    def no_nine(cls, data: Any) -> Any:
        if data.get("low") == 9:
            raise ValueError("nine is taken")
        return data

    @model_validator(mode="after")
    def in_order(self) -> Order:
        if self.low > self.high:
            raise ValueError("low is above upTo")
        if self.user == "bob" and self.low > 5:
            raise ValueError("bob may ask up to 5")
        return self


RAN: list[tuple[Any, ...]] = []


@tool(parameters=Order)
def order(low: int, high: int, user: str, level: int) -> str:
    """Order something."""
    RAN.append((low, high, user, level))
    return f"{low} to {high}"


@pytest.fixture(autouse=True)
def nothing_ran_yet() -> None:
    RAN.clear()


def run(user: object = "ada") -> RunContext[Any]:
    return RunContext(inject={"user": user})


def test_the_model_sees_the_fields_it_fills_and_their_own_validators_run() -> None:
    assert set(order.parameters["properties"]) == {"low", "upTo"}  # type: ignore[call-overload]
    assert called(order, {"low": 1, "upTo": 4}, run()) == "1 to 4"
    assert "it must be even" in answered(order, {"low": 1, "upTo": 3}, run()).text
    assert RAN == [(1, 4, "ada", 0)]


@pytest.mark.parametrize(
    ("sent", "user", "told"),
    [
        ({"low": 8, "upTo": 4}, "ada", "low is above upTo"),
        ({"low": 11}, "ada", "low is above upTo"),
        ({"low": 9}, "ada", "nine is taken"),
        ({"low": 6}, "bob", "bob may ask up to 5"),
    ],
)
def test_what_all_fields_together_must_be_is_told_to_the_model(
    sent: dict[str, int], user: str, told: str
) -> None:
    result = answered(order, sent, run(user))
    assert result.kind == "invalid_arguments"
    assert told in result.text
    assert not RAN


def test_an_injected_value_that_does_not_fit_is_the_programs_fault_and_is_not_told() -> None:
    with pytest.raises(InjectionError, match="'user' does not fit") as caught:
        answered(order, {"low": 1}, run([SECRET]))
    assert SECRET not in str(caught.value)
    with pytest.raises(InjectionError, match="nothing to inject for parameter 'user'"):
        answered(order, {"low": 1})


def test_nothing_injected_stands_in_what_the_model_reads() -> None:
    result = answered(order, {"low": 11}, run(SECRET))
    assert SECRET not in json.dumps([result.content, dict(result.details)], default=str)


def test_a_tool_called_by_itself_is_held_to_the_same() -> None:
    with pytest.raises(CallError, match="low is above upTo"):
        order.invoke({"low": 11}, run=run())


class Tidy(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    size: int = 0
    user: Annotated[str, Injected]

    @model_validator(mode="after")
    def measure(self) -> Tidy:
        self.text = self.text.strip()
        self.size = len(self.text)
        return self


def tidy(**options: Any) -> Tool[..., Any]:
    @tool("tidy", parameters=Tidy, **options)
    def made(text: str, size: int, user: str) -> str:
        """Tidy up."""
        return f"{text!r} {size}"

    return made


def test_what_validators_make_of_the_arguments_is_what_runs() -> None:
    assert called(tidy(), {"text": " 北京 "}, run()) == "'北京' 2"


def test_a_person_is_asked_about_what_will_run() -> None:
    asked: list[Ticket] = []

    def approver(ticket: Ticket) -> Any:
        asked.append(ticket)
        return ticket.edit({"text": " edited "}) if len(asked) == 1 else True

    calls = [ToolCall("1", "tidy", '{"text": " a "}')]
    state = RunContext[Any](inject={"user": "ada"}, approver=approver)
    [result] = Toolset([tidy(approval=True)]).run_sync(calls, state)
    assert [dict(ticket.arguments) for ticket in asked] == [
        {"text": "a", "size": 1},
        {"text": "edited", "size": 6},
    ]
    assert result.text.partition("\n")[0] == "'edited' 6"


def test_what_a_guard_changes_is_looked_at_again() -> None:
    guard = input_guard(lambda prepared, context: Allow({"text": prepared.arguments["text"] + " "}))

    def pad(prepared: Any, context: Any) -> Any:
        text = prepared.arguments["text"]
        return Allow({**prepared.arguments, "text": " padded" if text == "a" else text})

    assert (
        called(tidy(steps=[input_guard(pad)]), {"text": "a"}, run()).partition("\n")[0]
        == "'padded' 6"
    )
    [result] = Toolset([tidy(steps=[guard])]).run_sync(
        [ToolCall("1", "tidy", '{"text": "a"}')], run()
    )
    assert result.kind == "refused" and "keep changing" in result.text


class Wrong(BaseModel):
    n: int
    user: Annotated[str, Injected]

    def model_post_init(self, context: object, /) -> None:
        object.__setattr__(self, "n", "many")


def test_arguments_that_a_validator_made_invalid_are_the_tools_fault() -> None:
    @tool(parameters=Wrong)
    def count(n: int, user: str) -> str:
        """Count."""
        return str(n)

    result = answered(count, {"n": 1}, run())
    assert result.kind == "refused" and "fault of the tool" in result.text
    assert "was refused: a check of its arguments changed them" in result.text


def test_a_model_without_such_validators_costs_nothing() -> None:
    class Plain(BaseModel):
        n: int
        user: Annotated[str, Injected]

    @tool(parameters=Plain)
    def count(n: int, user: str) -> str:
        """Count."""
        return f"{n} {user}"

    assert count.arguments.model_validators is None
    assert called(count, {"n": 1}, run()) == "1 ada"


class Withdrawal(BaseModel):
    limit: Annotated[int, Injected]
    amount: int
    fee: Annotated[int, AfterValidator(lambda value: value + 1)] = 0

    @field_validator("amount")
    @classmethod
    def within(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data["limit"]:
            raise ValueError("it is above your limit")
        return value * 100


def withdrawal(model: type[BaseModel] = Withdrawal) -> Tool[..., Any]:
    @tool(parameters=model)
    def withdraw(amount: int, fee: int, limit: int) -> str:
        """Withdraw."""
        return f"{amount} less {fee}"

    return withdraw


def test_a_fields_validator_sees_the_injected_fields_before_it() -> None:
    injected = RunContext(inject={"limit": 50})
    assert called(withdrawal(), {"amount": 5, "fee": 1}, injected) == "500 less 2"
    refused = answered(withdrawal(), {"amount": 51, "fee": 1}, injected)
    assert refused.kind == "invalid_arguments"
    assert "amount: expected valid values: it is above your limit" in refused.text
    assert "50" not in refused.text.replace("51", "")


def test_a_fields_validator_that_changes_its_value_runs_once() -> None:
    class Both(Withdrawal):
        @model_validator(mode="after")
        def anything(self) -> Both:
            return self

    for model in (Withdrawal, Both):
        injected = RunContext(inject={"limit": 50})
        assert called(withdrawal(model), {"amount": 5, "fee": 1}, injected) == "500 less 2"
