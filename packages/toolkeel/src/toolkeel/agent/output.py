"""Structured output: answers of a given type, read from a model's replies, and corrected by the model.

If the wire can constrain replies to a schema, the reply's text is the answer; otherwise the model calls a
tool. The model decides (`SupportsStructuredOutput`); type, validation and the text of a correction are the
same (`toolkeel.define.output_type`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from typing_extensions import TypeForm

from toolkeel._records.record import record
from toolkeel._records.typed_values import UnknownValue, UnsavedValue
from toolkeel.agent.streamed_calls import PartialOutput
from toolkeel.agent.transcript import last_turn, turns_before_repeat
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.toolset import Toolset
from toolkeel.define.explain.validation_errors import list_errors
from toolkeel.define.output_type import (
    OutputForm,
    compile_output_form,
    read_output_tool,
    split_output_type,
)
from toolkeel.define.tool import AnyTool
from toolkeel.errors import (
    FieldError,
    InvalidArguments,
    MalformedArguments,
    OutputError,
    SetupError,
)
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import Model, OutputFormat, Settings, SupportsStructuredOutput

MAX_RETRIES = 3
"""How often a model may correct an answer that does not have its form."""


@record
class OutputPlan:
    """How a run's model returns answers of a type.

    Args:
        forms: The type, with its schema and validation; for a union whose members name a tool each, one
            for each of them.
        native: The schema that the wire constrains replies to; None if the model calls a tool instead.
        retries: How often the model may correct its answer.
        takes_text: A reply without calls is an answer as it is.
    """

    forms: Sequence[OutputForm]
    native: OutputFormat | None = None
    retries: int = MAX_RETRIES
    takes_text: bool = False

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        """The tools by which the model answers; empty if replies are constrained instead."""
        return () if self.native else tuple(form.tool for form in self.forms)

    @property
    def needs_success(self) -> bool:
        """True if an answer counts only where no call beside it failed. See `OutputTool`."""
        return any(form.needs_success for form in self.forms)

    def find_tool(self, name: str) -> AnyTool | None:
        """Return the tool of this name by which the model answers, or None."""
        return next((form.tool for form in self.forms if form.tool.name == name), None)

    def apply_to(self, settings: Settings) -> Settings:
        """Return settings that constrain replies to the type, or force a call.

        No call is forced if `tool_choice` is set, or text is an answer: then settings stay as they are.
        """
        if self.native:
            return dataclasses.replace(settings, output=self.native)
        if settings.tool_choice is None and not self.takes_text:
            return dataclasses.replace(settings, tool_choice="required")
        return settings

    def make_partial(self) -> PartialOutput:
        """Create a reader that returns an answer while it is still arriving."""
        return PartialOutput(
            {"" if self.native else form.tool.name: form.partial_value for form in self.forms}
        )


def plan_output(
    output_type: TypeForm[Any] | None, model: Model, taken: Toolset, tools: bool, retries: int
) -> OutputPlan | None:
    """Choose how a model returns answers of a type, or return None for plain text.

    Args:
        output_type: The type; `str` or None for plain text.
        model: The model; it decides if replies can be constrained to a schema.
        taken: Tools whose names the output tool must not have.
        tools: True if the model has tools to call.
        retries: How often the model may correct its answer.

    Raises:
        DefinitionError: the type has no JSON form.
    """
    if output_type is str or output_type is None:
        return None
    forms: list[OutputForm] = []
    members = split_output_type(output_type)
    for member in members:
        if member is not str:
            known = {*taken.names, *(form.tool.name for form in forms)}
            name = _free_name(read_output_tool(member).name, known)
            forms.append(compile_output_form(member, name))
    [first, *_] = forms
    if (
        len(members) == 1
        and read_output_tool(members[0]).by_text
        and isinstance(model, SupportsStructuredOutput)
        and model.supports_format(first.format, tools=tools)
    ):
        return OutputPlan(forms, first.format, retries)
    return OutputPlan(forms, None, retries, str in members)


def _free_name(wanted: str, taken: Container[str]) -> str:
    """Return the output tool's name, with a number appended if it is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


CORRECTABLE = ("tool_error", "invalid_arguments", "malformed_arguments", "timeout")
"""Kinds of failed results of calls that the model can make again."""


class OutputAttempts:
    """The answers of a run's model so far, valid or not.

    Args:
        plan: How the model returns answers.
        are_saved: True to read answers of an ended run, which may have had another output type.

    Attributes:
        has_value: True if there is a valid answer.
        value: That answer.
    """

    def __init__(self, plan: OutputPlan, *, are_saved: bool = False) -> None:
        self._plan = plan
        self._are_saved = are_saved
        self._failed = 0
        self._errors: Sequence[FieldError] = ()
        self.has_value = False
        self.value: object = None

    def restart(self) -> OutputAttempts:
        """Return an empty copy, for a further answer of the same run."""
        return OutputAttempts(self._plan)

    def take_results(self, transcript: Sequence[Message]) -> None:
        """Read the last turn's results: store an accepted answer, else count one failed attempt if any was made.

        An answer accepted in the turn whose waiting calls the last turn repeats is the answer, too.

        Raises:
            OutputError: the model gave more invalid answers than it may correct.
        """
        self._take_turn(*last_turn(transcript))
        for calls, results in () if self.has_value else turns_before_repeat(transcript):
            if any(self._is_answer(each) and not each.failed for each in results):
                self._take_turn(calls, results)

    def _is_answer(self, result: ToolMessage) -> bool:
        """Return True for a result of the output tool."""
        return self._plan.find_tool(result.name) is not None

    def _take_turn(self, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> None:
        """Store the first accepted answer of a turn's results, else count the last failed one as an attempt.

        An answer that needs success, beside a call that the model can correct, is neither. Do nothing without results of the output tool, or if there is an answer already.

        Raises:
            OutputError: there were more failed attempts than the model may correct.
        """
        said = {call.id: call.arguments for call in calls}
        answers = [result for result in results if self._is_answer(result)]
        others = [result for result in results if not self._is_answer(result)]
        if self._plan.needs_success and any(each.kind in CORRECTABLE for each in others):
            answers = [each for each in answers if each.failed]
        for result in answers if not self.has_value else ():
            if not result.failed:
                self.has_value, self.value = True, self._value(result, said)
                return
        if answers and not self.has_value:  # the model has read none of the turn's errors yet
            result = answers[-1]
            errors = result.details.get("errors")
            given = said.get(result.tool_call_id, "")
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            self._count_failure(text, errors if isinstance(errors, tuple) else (), result.text)

    def _value(self, result: ToolMessage, said: Mapping[str, object]) -> object:
        """Return the accepted answer, rebuilt from its call if its value was not saved.

        Raises:
            InvalidArguments: a saved answer is not of this run's type.
        """
        arguments, tool = said.get(result.tool_call_id), self._plan.find_tool(result.name)
        unsaved = isinstance(result.artifact, UnsavedValue | UnknownValue)
        if not (unsaved or self._are_saved) or arguments is None or tool is None:
            return result.artifact
        prepared = prepare(ToolCall("", result.name, cast("Any", arguments)), tool)
        return tool.function(**prepared.arguments).artifact if unsaved else result.artifact

    def check_reply(self, reply: AssistantMessage) -> Message | None:
        """Read a reply without calls as an answer: store it and return None, or return a correction.

        Raises:
            OutputError: the model refused, or gave more invalid answers than it may correct.
        """
        text = reply.text
        if reply.finish_reason in ("refusal", "filtered"):
            raise OutputError(f"the model refused to answer: {text or 'without a reason'}", text)
        if self._plan.takes_text:
            self.has_value, self.value = True, text
            return None
        problem: InvalidArguments | MalformedArguments | None = None
        for form in self._plan.forms:
            for reading in form.candidate_arguments(text):
                try:
                    prepared = prepare(ToolCall("", form.tool.name, reading), form.tool)
                except (InvalidArguments, MalformedArguments) as error:
                    problem = problem or error
                else:
                    output = form.tool.function(**prepared.arguments)
                    self.has_value, self.value = True, output.artifact
                    return None
        assert problem is not None
        cut_off = reply.finish_reason in ("length", "incomplete")
        self._count_failure(text, problem.errors if isinstance(problem, InvalidArguments) else ())
        return UserMessage(self._correction(problem, cut_off), "correction")

    def _correction(self, problem: InvalidArguments | MalformedArguments, cut_off: bool) -> str:
        """Describe to the model what is wrong with its answer, and how to answer again."""
        if cut_off:
            how = "Your answer was cut off before it was complete. Give a shorter one."
        elif isinstance(problem, InvalidArguments):
            wrong = list_errors(problem.errors)
            how = f"Your answer does not have the form that is asked for:\n{wrong}"
        else:
            how = f"Your answer does not have the form that is asked for. {problem.text}"
        if not self._plan.native:
            names = " or ".join(tool.name for tool in self._plan.tools)
            return f"{how}\nGive your answer by calling {names}."
        schema = json.dumps(self._plan.native.schema, ensure_ascii=False)
        return f"{how}\nAnswer again with JSON alone, of this JSON Schema: {schema}"

    def _count_failure(self, text: str, errors: Sequence[FieldError], problem: str = "") -> None:
        """Count a failed attempt, and store its errors if there are any.

        Raises:
            OutputError: there were more than the model may correct.
        """
        self._failed += 1
        self._errors = errors = errors or self._errors
        if self._failed > self._plan.retries:
            why = "; ".join(map(str, errors[:3])) or (problem or text)[:300]
            raise OutputError(
                f"the model gave no answer of the form asked for, {self._failed} times: {why}",
                text,
                errors,
                self._failed,
            )


def check_no_tool_ends_run(tools: Toolset) -> None:
    """Raise if a tool's result would be the answer (`ends_run`), which a run with an output type cannot have.

    Raises:
        SetupError: naming the tool.
    """
    for tool in tools:
        if tool.ends_run:
            raise SetupError(
                f"{tool.name!r} answers the person itself (ends_run), but this run's answer "
                "must be of its output_type; leave one of the two out"
            )
