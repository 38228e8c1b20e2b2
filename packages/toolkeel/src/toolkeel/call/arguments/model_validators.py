"""Model validators that see all fields, injected ones included."""

from __future__ import annotations

from toolkeel.call.arguments.canonical_arguments import revalidate
from toolkeel.context import ToolContext
from toolkeel.define.inject import injected_values
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import InvalidArguments, Refused


class ModelValidators:
    """A `Step`, outermost of a tool whose `parameters` has such validators and injected fields.

    It runs the model's validators after injection, and again after each later change of the arguments.
    Validators of models without injected fields run during validation instead.
    """

    guards_arguments = True
    step_timeout = None  # it never waits

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(self._validate(prepared, context))

    def _validate(self, prepared: Prepared, context: ToolContext) -> Prepared:
        """Run the model's own validators. Return the call with the arguments that they returned.

        Side effect: injected values that are secret are masked in the run and in logs from now on.

        Raises:
            InvalidArguments: the validators reject the arguments.
            Refused: the validators returned values that do not fit the fields.
            InjectionError: a value to inject is missing or does not fit.
        """
        tool = prepared.tool
        assert tool.arguments.model_validators is not None
        arguments = dict(prepared.arguments)
        validated = tool.arguments.model_validators(
            arguments, injected_values(tool.injected, arguments, context)
        )
        if validated == arguments:
            return prepared
        try:
            return revalidate(prepared.change(**validated))
        except InvalidArguments as error:
            raise Refused(
                f"The call of {tool.name!r} was refused: a check of its arguments changed them, "
                "but so that they are not valid. This is a fault of the tool, not of the call.",
                {"error": error.text},
            ) from error
