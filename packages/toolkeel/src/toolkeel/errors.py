"""Exceptions of the library, grouped by who has to act on them.

::

    Exception
    ├── ToolkeelError
    │   ├── SetupError            for the developer: raised while tools are defined or wired up
    │   │   ├── DefinitionError       a function, schema or docstring that cannot become a tool
    │   │   │   └── SchemaAnnotationError   ``parameters: BaseModel = X`` instead of ``type[BaseModel]``
    │   │   ├── DuplicateToolError    two tools of one name, both owners named
    │   │   ├── InjectionError        a parameter to inject has no value in this run
    │   │   └── MissingExtraError     an optional package is not installed; says the install line
    │   ├── CallError             for the model: becomes a failed ToolMessage, never leaves a run
    │   │   ├── UnknownTool           unknown_tool: the called name is no tool of this run
    │   │   ├── MalformedArguments    malformed_arguments: they are not one JSON object
    │   │   ├── TruncatedCall         truncated_call
    │   │   ├── InvalidArguments      invalid_arguments, one FieldError per field
    │   │   ├── Disabled              disabled
    │   │   ├── Refused               refused: a guard said no
    │   │   │   └── RunStopped            a guard said no and ends the run with an exception of its own
    │   │   ├── Denied                denied
    │   │   ├── LimitReached          limit_reached
    │   │   ├── TimedOut              timeout; `details` says if the body may still be running
    │   │   ├── Cancelled             cancelled
    │   │   ├── Skipped               skipped
    │   │   ├── ToolError             tool_error: what tool authors raise
    │   │   ├── Crashed               crashed
    │   │   └── InvalidOutput         invalid_output: not of the declared type, or no content for a model
    │   │       (a CallError of no class of its own: unknown_outcome, it may have run)
    │   └── ModelError            the model or its server failed; the run ends with it
    │       ├── ModelUnavailable      no connection, 408, 409, 424, 425, 5xx: the same may work later
    │       │   └── RateLimited           429: too much at once
    │       ├── RequestRejected       any other 4xx: the same will be rejected again
    │       │   ├── AccessDenied          401, 402, 403: the key, its rights or its money
    │       │   └── RequestTooLarge       413, or more tokens than the model's context
    │       └── OutputError           it gave no answer of the form that was asked for
    BaseException
    └── Suspend                   for a person: a call waits for a decision; no step can catch it by mistake
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import ClassVar, Self

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import Kind as Kind
from toolkeel.messages import Usage


class ToolkeelError(Exception):
    """Root of every exception this library raises."""


def describe_error(error: BaseException) -> str:
    """Return an exception's type and text ("ValueError: ..."), even if its ``__str__`` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__} (its text cannot be read)"


# — for the developer —


class SetupError(ToolkeelError):
    """Raised for a wrong setup. The message names the fault and the fix."""


class DefinitionError(SetupError):
    """Raised if a function, class or schema cannot become a tool."""


class SchemaAnnotationError(DefinitionError):
    """Raised if a tool class annotates `parameters` with anything but a class."""


class DuplicateToolError(SetupError):
    """Raised if two tools in one set have the same name."""


class InjectionError(SetupError):
    """Raised if a parameter marked for injection has no value in this run."""


class MissingExtraError(SetupError):
    """Raised if an optional package is missing.

    Args:
        what: The feature that needs it, as the sentence's subject.
        extra: Name of the extra of this package that brings it.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'toolkeel[{extra}]'")


class ModelError(ToolkeelError):
    """Raised if the model or its server failed.

    A retry depends on the status and the headers of the answer, never on its text; `model_error`
    returns an error of the class that fits a status.

    Args:
        message: What happened.
        status: HTTP status, if there was an answer.
        retry_after: Seconds the server asked to wait, if it did.
        retryable: True if the same request may work later; None: as the subclass says.

    Attributes:
        text: Text that the model wrote before the failure, in an agent's run; else empty.
        usage: What the failed request cost, as the server reported; nothing if it did not say.
        mistake: The provider's description of a reply of the model that it did not accept; the
            next attempt passes it to the model.
    """

    is_transient: ClassVar[bool] = False  # if errors of this kind pass by themselves
    was_streamed = False  # if listeners received a part of the reply that broke off
    is_loading = False  # if the server is still loading the model
    text = ""
    usage = Usage()
    mistake = ""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.retryable = self.is_transient if retryable is None else retryable

    def with_model_name(self, model: str) -> Self:
        """Return a copy of the error with the model's name before its text."""
        error = copy(self)
        error.args = (f"{model}: {self}",)
        return error


class ModelUnavailable(ModelError):
    """Raised if the server is unreachable, overloaded or failed: the same request may work later."""

    is_transient = True


class RateLimited(ModelUnavailable):
    """Raised for too many requests or tokens. `retry_after` has the seconds to wait, if known."""


class RequestRejected(ModelError):
    """Raised if the server rejects the request; it would reject the same request again."""


class AccessDenied(RequestRejected):
    """Raised if the API key is missing, wrong, without permission or without credit."""


class RequestTooLarge(RequestRejected):
    """Raised if a request has more tokens than the model's context, or too many bytes.

    Attributes:
        tokens: Tokens of the request, or None if the server did not report them.
        token_limit: Tokens of the model's context, or None if the server did not report them.
    """

    tokens: int | None = None
    token_limit: int | None = None


def model_error(
    message: str,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    retryable: bool | None = None,
) -> ModelError:
    """Build the error of the class that fits an HTTP status. See `ModelError` for the arguments.

    >>> error = model_error("slow down", status=429, retry_after=2.0)
    >>> type(error).__name__, error.retryable
    ('RateLimited', True)
    """
    kind = _KINDS.get(status or 0)
    if kind is None:
        rejected = RequestRejected if 400 <= (status or 0) < 500 else ModelError
        kind = ModelUnavailable if 500 <= (status or 0) < 600 else rejected
    return kind(message, status=status, retry_after=retry_after, retryable=retryable)


_KINDS: Mapping[int, type[ModelError]] = MappingProxyType(
    {
        **dict.fromkeys((401, 402, 403), AccessDenied),
        **dict.fromkeys((408, 409, 424, 425), ModelUnavailable),  # 424: Bedrock's broke down
        413: RequestTooLarge,
        429: RateLimited,
    }
)


class OutputError(ModelError):
    """Raised if the model gave no answer of the required form.

    Args:
        message: What happened.
        text: The last text of the model.
        errors: What was wrong with that, field by field.
        attempts: Number of answers of a wrong form, if these ended the run; else 0.
    """

    def __init__(
        self, message: str, text: str = "", errors: Sequence[FieldError] = (), attempts: int = 0
    ) -> None:
        super().__init__(message)
        self.text, self.errors, self.attempts = text, tuple(errors), attempts


# — for a person —


class Suspend(BaseException):
    """Raised for a call that waits for a person, or whose inner run has not finished.

    Args:
        tickets: The decisions it waits for. Without any, a limit or a cancel stopped the inner run.
        inner: The state of the inner run, if the call is one.

    Attributes:
        decision: Decision that applies when the call continues.
    """

    def __init__(self, *tickets: Ticket, inner: object = None) -> None:
        super().__init__(f"{tickets[0].tool!r} waits for approval" if tickets else "not finished")
        self.tickets = tickets
        self.inner = inner
        self.decision: Decision | None = None

    @property
    def ticket(self) -> Ticket:
        """The first ticket. Raises IndexError without tickets."""
        return self.tickets[0]


# — for the model —


@record
class FieldError:
    """One argument that failed validation.

    Args:
        path: Keys and indexes from the arguments' root to the value; empty for the root.
        expected: What would have been right, as a phrase ("an integer").
        got: The value received, shortened; empty if there was none.
    """

    path: tuple[str | int, ...]
    expected: str
    got: str = ""

    @property
    def where(self) -> str:
        """The path as people write it, keys that are no plain word quoted: ``items[0]['a.b'].id``."""
        text = ""
        for part in self.path:
            word = str(part).replace("-", "_").isidentifier()
            text += f"[{part!r}]" if not word else f".{part}" if text else str(part)
        return text or "arguments"

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}" + (f", got {self.got}" if self.got else "")


class CallError(ToolkeelError):
    """Raised if a call fails in a way that the model is shown.

    Args:
        text: For the model: what was wrong, what was expected, what to do next.
        details: For people and programs; never sent to the model.
    """

    kind: Kind = "crashed"

    def __init__(self, text: str, details: Mapping[str, object] = NOTHING) -> None:
        super().__init__(text)
        self.text = text
        self.details = details


class UnknownTool(CallError):
    """Raised if a call names a tool that the run does not have."""

    kind = "unknown_tool"


class MalformedArguments(CallError):
    """Raised if a call's arguments are not one JSON object."""

    kind = "malformed_arguments"


class TruncatedCall(CallError):
    """Raised if the model's reply ended before the call's arguments did."""

    kind = "truncated_call"


class InvalidArguments(CallError):
    """Raised for arguments that failed validation: `errors` has every failed field, `details` too."""

    kind = "invalid_arguments"

    def __init__(
        self, text: str, errors: Sequence[FieldError] = (), details: Mapping[str, object] = NOTHING
    ) -> None:
        self.args, self.text = (text,), text  # `super` would cost as much as all the rest
        self.errors = reported = tuple(errors)
        self.details = (
            {"errors": reported} if details is NOTHING else {**details, "errors": reported}
        )


class Disabled(CallError):
    """Raised if the tool's `enabled` is False, or its predicate returns False or too late."""

    kind = "disabled"


class Refused(CallError):
    """Raised if a guard refuses a call, or withholds its result."""

    kind = "refused"


class RunStopped(Refused):
    """Raised by a guard to end the run with `error`, once every call of the turn has its result."""

    def __init__(
        self, text: str, error: Exception, details: Mapping[str, object] = NOTHING
    ) -> None:
        super().__init__(text, details)
        self.error = error


class Denied(CallError):
    """Raised if a person, an approver or a rule denies a call, or nobody can be asked."""

    kind = "denied"


class LimitReached(CallError):
    """Raised if a limit on calls, spending, threads or workers leaves no room for a call."""

    kind = "limit_reached"


class TimedOut(CallError):
    """Raised if a call exceeds its timeout. `details` says if its body may still be running."""

    kind = "timeout"


class Cancelled(CallError):
    """Raised if a call, or its run, is cancelled. `details` says if its body may still be running."""

    kind = "cancelled"


class Skipped(CallError):
    """Raised for a call that is not run after a message of the person, or behind a waiting call."""

    kind = "skipped"


class ToolError(CallError):
    """Raise this in a tool's body to give the model an error message of your own."""

    kind = "tool_error"

    def __init__(
        self, text: str = "Tool execution error", details: Mapping[str, object] = NOTHING
    ) -> None:
        super().__init__(text, details)


class Crashed(CallError):
    """Raised if a tool's body raised an exception that is no `CallError`; it is the `__cause__`."""


class InvalidOutput(CallError):
    """Raised if a result does not fit the declared type, or is no content for a model."""

    kind = "invalid_output"
