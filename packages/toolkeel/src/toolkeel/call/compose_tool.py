"""Composing a tool: its steps, guards, approval, locks and limits become one handler, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from toolkeel.call.arguments.canonical_arguments import revalidate_each_try, with_defaults
from toolkeel.call.arguments.edits import validate_change
from toolkeel.call.arguments.mask import collect_secrets
from toolkeel.call.arguments.model_validators import ModelValidators
from toolkeel.call.body.coroutine_deadline import stop_on_cancel
from toolkeel.call.body.run_body import check_output, invoke
from toolkeel.call.steps.approve import Approval, refuse_change
from toolkeel.call.steps.compose import Handler, argument_guards, check_enabled, compose
from toolkeel.call.steps.label_sources import labels_of, with_labels
from toolkeel.call.steps.rules import Rules
from toolkeel.call.steps.taint import check_target
from toolkeel.call.steps.turn_order import add_locks
from toolkeel.context import ToolContext
from toolkeel.define.options import external
from toolkeel.define.tool import AnyTool, Prepared, Step, StepPlace
from toolkeel.effects import UNKNOWN
from toolkeel.errors import SetupError
from toolkeel.messages import ToolOutput

PLACES = get_args(StepPlace)


def compose_tool(
    made: AnyTool,
    steps: Sequence[Step] = (),
    rules: Rules | None = None,
    last: Handler = invoke,
    *,
    watch: bool = False,
) -> Handler:
    """Compose a tool's body and everything around it into one handler.

    From the outside in: enabled, steps and guards, approval, locks, limits, cache, retries, body.

    Args:
        made: The tool.
        steps: Steps outside those of the tool, outermost first.
        rules: Rules that deny, ask about or allow calls; None: the tool's own approval decides.
        last: Runs the body.
        watch: True to require approval of its calls because of the run's taint labels.

    Raises:
        SetupError: a step, an approval or a target does not fit the tool.
    """
    if (check := getattr(made.executor, "check_tool", None)) is not None:
        check(made)
    outer, inner = _split_steps((*steps, *made.steps), made)
    guards = argument_guards(outer)
    if made.enabled is not True:
        outer.insert(0, check_enabled)
    outside = made.executor is external
    needs_approval = watch or outside or rules is not None or bool(made.approval)
    approval = Approval(made.approval, rules, guards) if needs_approval else None
    if made.effects.resources:
        add_locks(made, outer, inner, needs_approval)
    is_strict = rules is not None and rules.strict and made.effects == UNKNOWN
    last = _compose_body(made, last, inner, approval, is_strict=is_strict)
    if approval is not None:
        within = approval.require_approval(
            compose(inner, approval.run_approved(last), refuse_change)
        )
    else:
        within = compose(inner, last, refuse_change)
    if not (
        outer or inner or needs_approval
    ):  # only the body can wait, and it is watched on its own
        return within
    handler = stop_on_cancel(compose(outer, within, validate_change))
    return with_defaults(handler) if made.arguments.defaults else handler


def _compose_body(
    made: AnyTool,
    last: Handler,
    inner: Sequence[Step],
    approval: Approval | None,
    *,
    is_strict: bool,
) -> Handler:
    """Return the handler that runs the body with its innermost wrappers: external answers, labels, secrets, retries.

    With `is_strict`, the results of tools whose effects are not declared are labeled, too.
    Raises `DefinitionError` if the tool has no parameter that it names as its target.
    """
    if approval is not None:
        last = _with_external_answer(approval, last)
    if made.effects.target:
        check_target(made)
    if is_strict or labels_of(made):
        last = with_labels(made, last, is_strict=is_strict)
    if made.arguments.mask is not None:
        last = collect_secrets(made.arguments.mask, last)
    if any(getattr(step, "place", "") == "retry" for step in inner):
        last = revalidate_each_try(last)
    return last


def _with_external_answer(approval: Approval, body: Handler) -> Handler:
    """Return a handler that uses an external answer instead of running `body`."""

    async def unless_given(prepared: Prepared, context: ToolContext) -> object:
        """Return the answer from outside, or raise `InvalidOutput` for a wrong one; run the body if there is no answer."""
        answer = approval.external_answer(context)
        if answer is None:
            return await body(prepared, context)
        value = check_output(prepared.tool, answer.value, from_outside=True)
        return ToolOutput(value, None, {"answered": "from outside"})

    return unless_given


def _split_steps(steps: Sequence[Step], made: AnyTool) -> tuple[list[Step], list[Step]]:
    """Return the steps without a `place`, as given, and those with one, in the order of their places.

    The first run before approval, the others after it. The step that runs the model's own validators
    comes before all, if the tool's arguments are such a model.

    Raises:
        SetupError: a step cannot work with the tool, or its place does not exist.
    """
    inner: list[tuple[int, Step]] = []
    outer: list[Step] = []
    for step in steps:
        if (check := getattr(step, "check_tool", None)) is not None:
            check(made)
        place = getattr(step, "place", None)
        if place is None:
            outer.append(step)
        elif place in PLACES:
            inner.append((PLACES.index(place), step))
        else:
            raise SetupError(f"{made.name}: a step has the place {place!r}; places are {PLACES}")
    if made.arguments.model_validators is not None:
        outer.insert(0, ModelValidators())
    return outer, [step for _, step in sorted(inner, key=lambda item: item[0])]
