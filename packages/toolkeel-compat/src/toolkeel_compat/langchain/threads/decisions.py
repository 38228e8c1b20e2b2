"""Decisions of a person about a call, as types that check and describe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Union, get_type_hints

from pydantic import BaseModel, Discriminator, create_model
from typing_extensions import TypedDict

from toolkeel.define.subschemas import properties_of, required_of
from toolkeel.define.tool import AnyTool

DECISIONS = ("approve", "edit", "reject", "respond")


class ApproveDecision(TypedDict):
    """The call runs as it is."""

    type: Literal["approve"]


class RejectDecision(TypedDict):
    """The call does not run; the model gets the reason."""

    type: Literal["reject"]
    message: NotRequired[str]


class RespondDecision(TypedDict):
    """The call does not run; the model gets the message as its result."""

    type: Literal["respond"]
    message: str


_TYPES: Mapping[str, Any] = {
    "approve": ApproveDecision,
    "reject": RejectDecision,
    "respond": RespondDecision,
}


def make_decision_type(allowed: Sequence[str], tool: AnyTool | None) -> Any:
    """Return the type of the decisions that are allowed about a call of a tool."""
    kinds = [_TYPES[one] if one in _TYPES else _make_edit_type(tool) for one in allowed]
    return Annotated[Union[*kinds], Discriminator("type")] if len(kinds) > 1 else kinds[0]


def list_allowed(schema: Mapping[str, Any]) -> list[str]:
    """Return the decisions that the JSON Schema of a decision type allows."""
    if "discriminator" in schema:
        return [*schema["discriminator"]["mapping"]]
    return [schema["properties"]["type"]["const"]]


def _make_edit_type(tool: AnyTool | None) -> type[BaseModel]:
    """Return the model of an edit, whose arguments are those of the tool."""
    named: Any = str if tool is None else Literal[tool.name]
    arguments: Any = dict[str, Any] if tool is None else _make_arguments(tool)
    action = create_model("EditedAction", name=(named, ...), args=(arguments, ...))
    kind: Any = Literal["edit"]
    return create_model("EditDecision", type=(kind, ...), edited_action=(action, ...))


def _make_arguments(tool: AnyTool) -> type[BaseModel]:
    """Return a model of a tool's arguments, with the types of its function where it has them."""
    try:
        hints = get_type_hints(tool.function, include_extras=True)
    except (NameError, TypeError):  # a type that is not there at run time, or no function
        hints = {}
    required = required_of(tool.parameters)
    fields: dict[str, Any] = {
        name: (hints.get(name, Any), ... if name in required else None)
        for name in properties_of(tool.parameters)
    }
    return create_model(tool.name, __doc__=tool.description, **fields)
